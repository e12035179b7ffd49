// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "slices"

// acceptedKeys are keys without effect: of openstack-cloud-controller-manager, of the cloud provider that was part of
// Kubernetes, and of the Cinder CSI driver. Existing files contain them, so they must not be an error.
var acceptedKeys = slices.Concat(section(globalSection, Accepted,
	Key{Name: "secret-name", Doc: "Secret with the credentials, for the cloud provider in Kubernetes.",
		Instead: "kube-octavia reads credentials from this file, or with use-clouds from clouds.yaml."},
	Key{Name: "secret-namespace", Doc: "Namespace of that Secret.",
		Instead: "kube-octavia does not read that Secret."},
	Key{Name: "kubeconfig-path", Doc: "Access to Kubernetes, to read that Secret.",
		Instead: "kube-octavia has the flag --kubeconfig."},
	Key{Name: "api-key", Kind: Password, Doc: "Key of the user, for old clouds.",
		Instead: "Keystone v3 needs a password, an application credential, a trust or a token."},
), section("LoadBalancer", Accepted,
	Key{Name: "use-octavia", Kind: Bool, Default: "true", Doc: "Use Octavia, and not the load balancers of Neutron.",
		Instead: "kube-octavia always uses Octavia."},
	Key{Name: "node-security-group", Doc: "Security group of the nodes in which rules for load balancers were created.",
		Instead: "With manage-security-groups = true, kube-octavia creates a security group of its own for that."},
	Key{Name: "cascade-delete", Kind: Bool, Default: "true", Doc: "Delete a load balancer and its children in one call.",
		Instead: "kube-octavia always does so."},
	Key{Name: "floating-subnet-pattern", Doc: "Older name of floating-subnet.",
		Instead: "openstack-cloud-controller-manager ignores it, too.", do: "Write floating-subnet instead, or remove the key."},
), section("Networking", Accepted,
	Key{Name: "InternalNetworkName", Doc: "Misspelt internal-network-name.",
		Instead: "openstack-cloud-controller-manager ignores it, too.", do: "Write internal-network-name instead, or remove the key."},
	Key{Name: "PublicNetworkName", Doc: "Misspelt public-network-name.",
		Instead: "openstack-cloud-controller-manager ignores it, too.", do: "Write public-network-name instead, or remove the key."},
), section("Metadata", Accepted,
	Key{Name: "search-order", Default: "configDrive,metadataService", Doc: "Where to look for the metadata of a node.",
		Instead: "kube-octavia reads servers from Nova and Neutron, never from the metadata of a node."},
), section("BlockStorage", Accepted,
	Key{Name: "bs-version", Default: "auto", Doc: "Version of the Cinder API.", Instead: noVolumes},
	Key{Name: "trust-device-path", Kind: Bool, Default: "false", Doc: "Trust the device path that Cinder reports.", Instead: noVolumes},
	Key{Name: "ignore-volume-az", Kind: Bool, Default: "false", Doc: "Ignore the availability zone of volumes.", Instead: noVolumes},
	Key{Name: "ignore-volume-microversion", Kind: Bool, Default: "false", Doc: "Use the oldest microversion of Cinder.", Instead: noVolumes},
	Key{Name: "node-volume-attach-limit", Kind: Int, Default: "256", Doc: "Maximum number of volumes of a node.", Instead: noVolumes},
	Key{Name: "rescan-on-resize", Kind: Bool, Default: "false", Doc: "Rescan a block device after it was resized.", Instead: noVolumes},
), section("KeyManager", Accepted,
	Key{Name: "key-id", Doc: "Id of the key in Barbican.", Instead: "It is for the encryption of Secrets by kube-apiserver, which kube-octavia has nothing to do with."},
))

const noVolumes = "It is for volumes, which kube-octavia does not use."
