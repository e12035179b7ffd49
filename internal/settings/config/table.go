// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Methods lists the balancing methods of Octavia, the default first.
var Methods = []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"}

// The types of the members of pools.
const (
	// NodeTargets means the NodePorts of the nodes.
	NodeTargets = "node"
	// PodTargets means the addresses and ports of the endpoints.
	PodTargets = "pod"
)

// TargetTypes lists the types of members.
var TargetTypes = []string{NodeTargets, PodTargets}

// NodeAddressTypes lists the types of a node's addresses that may become members.
var NodeAddressTypes = []string{"InternalIP", "ExternalIP"}

// sections lists all sections, in the order of the reference page.
var sections = []Section{
	{Name: globalSection, Doc: "Where the cloud is and how to authenticate there."},
	{Name: "LoadBalancer", Doc: "Cluster-wide settings of load balancers."},
	{Name: classSection, Named: true, Doc: "Settings for Services that name this class in annotation class. They take precedence over [LoadBalancer], and annotations take precedence over both. A class that sets subnet-id or network-id inherits neither of them from [LoadBalancer]. A class that sets floating-network-id, floating-subnet-id, floating-subnet or floating-subnet-tags inherits none of the last three."},
	{Name: vendorSection, Named: true, Doc: "Limits of an Octavia provider that kube-octavia does not know, or of a modified amphora or ovn. A Service that needs a missing feature gets a condition, without a call to Octavia."},
	{Name: ClusterIPSection, Doc: "Load balancers at the ClusterIPs of Services, for clusters without kube-proxy: see [Services on Octavia without kube-proxy](../how-to.md#services-on-octavia-without-kube-proxy)."},
	{Name: "Metadata", Doc: "Contains, for historical reasons, the time limit of OpenStack calls."},
	{Name: "Networking", Doc: "How the addresses of nodes are classified, with --controllers=node."},
	{Name: "Route", Doc: "Routes for Pod networks, with --controllers=route."},
	{Name: "BlockStorage", Doc: "For the Cinder CSI driver, which often shares the file."},
	{Name: "KeyManager", Doc: "For the KMS plugin for Barbican, which sometimes shares the file."},
}

// table has all keys.
var table = slices.Concat(globalKeys, loadBalancerKeys, classKeys, vendorKeys, clusterIPKeys, metadataKeys, networkingKeys, routeKeys, acceptedKeys)

var globalKeys = liveBut([]string{"auth-url", "region", "os-endpoint-type",
	"network-endpoint-override", "load-balancer-endpoint-override", "compute-endpoint-override", "key-manager-endpoint-override"}, section(globalSection, Used,
	Key{Name: "auth-url", field: func(c *Config) any { return &c.Global.AuthURL },
		Doc: "Address of Keystone, with or without its version: https://keystone.example.com:5000/v3."},
	Key{Name: "username", field: func(c *Config) any { return &c.Global.Username }, Doc: "Name of the user; needs a domain."},
	Key{Name: "user-id", field: func(c *Config) any { return &c.Global.UserID }, Doc: "Id of the user, instead of username."},
	Key{Name: "password", Kind: Password, field: func(c *Config) any { return &c.Global.Password }, Doc: "Password of the user."},
	Key{Name: "tenant-id", field: func(c *Config) any { return &c.Global.TenantID },
		Doc: "Id of the project. Default: the user's default project."},
	Key{Name: "tenant-name", field: func(c *Config) any { return &c.Global.TenantName }, Doc: "Name of the project; needs a domain."},
	Key{Name: "domain-id", field: func(c *Config) any { return &c.Global.DomainID },
		Doc: "Id of the domain of user and project, if they set none of their own."},
	Key{Name: "domain-name", field: func(c *Config) any { return &c.Global.DomainName }, Doc: "Name of that domain, instead of its id."},
	Key{Name: "user-domain-id", field: func(c *Config) any { return &c.Global.UserDomainID }, Doc: "Id of the user's domain."},
	Key{Name: "user-domain-name", field: func(c *Config) any { return &c.Global.UserDomainName }, Doc: "Name of the user's domain."},
	Key{Name: "tenant-domain-id", field: func(c *Config) any { return &c.Global.TenantDomainID }, Doc: "Id of the project's domain."},
	Key{Name: "tenant-domain-name", field: func(c *Config) any { return &c.Global.TenantDomainName }, Doc: "Name of the project's domain."},
	Key{Name: "application-credential-id", field: func(c *Config) any { return &c.Global.ApplicationCredentialID },
		Doc: "Id of an application credential, instead of user and password."},
	Key{Name: "application-credential-name", field: func(c *Config) any { return &c.Global.ApplicationCredentialName },
		Doc: "Name of an application credential; needs the user."},
	Key{Name: "application-credential-secret", Kind: Password, field: func(c *Config) any { return &c.Global.ApplicationCredentialSecret },
		Doc: "Secret of the application credential."},
	Key{Name: "trust-id", field: func(c *Config) any { return &c.Global.TrustID }, Doc: "Id of a trust; needs a trustee."},
	Key{Name: "trustee-id", field: func(c *Config) any { return &c.Global.TrusteeID },
		Doc: "Id of the trustee. Default: the user above."},
	Key{Name: "trustee-password", Kind: Password, field: func(c *Config) any { return &c.Global.TrusteePassword },
		Doc: "Password of the trustee. Default: the password above."},
	Key{Name: "token", Kind: Password, field: func(c *Config) any { return &c.Global.Token },
		Doc: "An existing token. It cannot be renewed: when it expires, every call fails."},
	Key{Name: "region", field: func(c *Config) any { return &c.Global.Region },
		Doc: "Region of the endpoints. Default: the only region of the service catalogue; if it has several, the program lists them and exits."},
	Key{Name: "os-endpoint-type", Default: "public", allowed: []string{"public", "internal", "admin"},
		field: func(c *Config) any { return &c.Global.EndpointType }, Doc: "Interface of the endpoints in the service catalogue: public, internal or admin."},
	Key{Name: "network-endpoint-override", check: address, field: func(c *Config) any { return &c.Global.NetworkEndpoint },
		Doc: "Address of Neutron, instead of the one in the service catalogue. %(project_id)s in it stands for the id of the project."},
	Key{Name: "load-balancer-endpoint-override", check: address, field: func(c *Config) any { return &c.Global.LoadBalancerEndpoint },
		Doc: "Address of Octavia, in the same way."},
	Key{Name: "compute-endpoint-override", check: address, field: func(c *Config) any { return &c.Global.ComputeEndpoint },
		Doc: "Address of Nova, in the same way."},
	Key{Name: "key-manager-endpoint-override", check: address, field: func(c *Config) any { return &c.Global.KeyManagerEndpoint },
		Doc: "Address of Barbican, in the same way."},
	Key{Name: "ca-file", field: func(c *Config) any { return &c.Global.CAFile },
		Doc: "File with the PEM certificates of the CAs that sign the endpoints' certificates."},
	Key{Name: "cafilecontents", field: func(c *Config) any { return &c.Global.CAFileContents },
		Doc: "The same certificates as text in double quotes, with \\n for line ends. ca-file takes precedence."},
	Key{Name: "tls-insecure", Kind: TrueFalse, Default: "false", field: func(c *Config) any { return &c.Global.TLSInsecure },
		Doc: "true disables the verification of the endpoints' certificates."},
	Key{Name: "cert-file", field: func(c *Config) any { return &c.Global.CertFile }, Doc: "Client certificate (PEM); needs key-file."},
	Key{Name: "key-file", field: func(c *Config) any { return &c.Global.KeyFile }, Doc: "Key of the client certificate (PEM)."},
	Key{Name: "use-clouds", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.Global.UseClouds },
		Doc: "Take missing values of this section from clouds.yaml."},
	Key{Name: "clouds-file", field: func(c *Config) any { return &c.Global.CloudsFile },
		Doc: "The clouds.yaml to read. Default: $OS_CLIENT_CONFIG_FILE, ./, the user's configuration directory, ~/.config/openstack/, /etc/openstack/."},
	Key{Name: "cloud", field: func(c *Config) any { return &c.Global.Cloud },
		Doc: "Entry of clouds.yaml. Default: $OS_CLOUD, or the only entry."},
))

var loadBalancerKeys = section("LoadBalancer", Used,
	Key{Name: "enabled", Kind: Bool, Default: "true", field: func(c *Config) any { return &c.LoadBalancer.Enabled },
		Doc: "false disables the controller: Services get no load balancers."},
	Key{Name: "lb-version", allowed: []string{"v2"}, field: func(c *Config) any { return &c.LoadBalancer.Version },
		Doc: "Only v2 is supported."},
	Key{Name: "lb-provider", Default: "amphora", field: func(c *Config) any { return &c.LoadBalancer.Provider },
		Doc: "Octavia provider of new load balancers: amphora, ovn or another provider of the cloud. If Octavia does not have it, `plan` says so, and the controller logs it at the start."},
	Key{Name: "lb-method", Default: Methods[0], allowed: Methods, field: func(c *Config) any { return &c.LoadBalancer.Method },
		Doc: "Balancing method of pools. Providers that do not support it use their own default: see methods in LoadBalancerProvider."},
	Key{Name: "subnet-id", Kind: ID, object: value.Subnet, field: func(c *Config) any { return &c.LoadBalancer.SubnetID },
		Doc: "Subnet of VIPs. Default, if network-id is not set either: the subnet of the nodes."},
	Key{Name: "network-id", Kind: ID, object: value.Network, field: func(c *Config) any { return &c.LoadBalancer.NetworkID },
		Doc: "Network of VIPs; Octavia chooses the subnet. For Services with IPv6 it is the first by name of each family."},
	Key{Name: "additional-subnet-id", Kind: ID, object: value.Subnet, field: func(c *Config) any { return &c.LoadBalancer.AdditionalSubnetID },
		Doc: "For dual-stack Services: subnet of the second VIP, of the other IP family than subnet-id, in the same network. Default: the first by name."},
	Key{Name: "member-subnet-id", Kind: ID, object: value.Subnet, field: func(c *Config) any { return &c.LoadBalancer.MemberSubnetID },
		Doc: "Subnet of the members. Default: the subnet of the VIP."},
	Key{Name: "floating-network-id", Kind: ID, object: value.Network, field: func(c *Config) any { return &c.LoadBalancer.FloatingNetworkID },
		Doc: "External network of floating IPs. Default: of several external networks with IPv4, the one that the router of the VIP's subnet leads to, or the first by name if the project does not see that router."},
	Key{Name: "floating-subnet-id", Kind: ID, object: value.FloatingSubnet, field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnetID },
		Doc: "Subnet of that network for floating IPs."},
	Key{Name: "floating-subnet", check: subnetName, field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnets.Name },
		Doc: "Subnets of that network, tried one after the other if floating-subnet-id is not set: a name, a pattern with * and ?, or ~ and a regular expression. A leading ! selects all other subnets."},
	Key{Name: "floating-subnet-tags", check: subnetTags, field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnets.Tags },
		Doc: "Tags of those subnets: a,b for any of them, &a,b for all. A leading ! selects all other subnets."},
	Key{Name: "flavor-id", Kind: ID, object: value.Flavor, field: func(c *Config) any { return &c.LoadBalancer.FlavorID },
		Doc: "Octavia flavor of new load balancers."},
	Key{Name: "availability-zone", field: func(c *Config) any { return &c.LoadBalancer.AvailabilityZone },
		Doc: "Octavia availability zone of new load balancers."},
	Key{Name: "source-ranges", check: cidrs, field: func(c *Config) any { return &c.LoadBalancer.SourceRanges },
		Doc: "CIDRs, separated by commas, that may connect to Services without source ranges. Default: all clients."},
	Key{Name: "node-selector", check: nodeSelector, field: func(c *Config) any { return &c.LoadBalancer.NodeSelector },
		Doc: "Labels that nodes must have to become members: zone=a,disk=ssd,gpu. A key without a value matches any value."},
	Key{Name: "max-members", Kind: Int, Default: "0", check: notNegative, field: func(c *Config) any { return &c.LoadBalancer.MaxMembers },
		Doc: "For [large clusters](../how-to.md#large-clusters): how many nodes become members of each pool. 0: all. kube-octavia chooses them for each Service, evenly from all availability zones. Use at least 4, and two for each zone. Has no effect on Services with externalTrafficPolicy Local."},
	Key{Name: "node-address-type", allowed: NodeAddressTypes, field: func(c *Config) any { return &c.LoadBalancer.NodeAddressType },
		Doc: "Type of the node address that becomes the member, InternalIP or ExternalIP; a node without that type uses the other. An address in member-subnet-id comes first. Default: an address in the members' subnet, else an InternalIP, else an ExternalIP."},
	Key{Name: "target-type", Default: NodeTargets, allowed: TargetTypes, field: func(c *Config) any { return &c.LoadBalancer.TargetType },
		Doc: "What the members of pools are. node: the NodePorts of the nodes. pod: the Pods themselves, see [Pods as members](../how-to.md#pods-as-members)."},
	Key{Name: "pod-network-ids", check: networkIDs, field: func(c *Config) any { return &c.LoadBalancer.PodNetworkIDs },
		Doc: "With target-type pod: ids of the networks, separated by commas, in whose subnets Pods have their addresses. Each member is then in the subnet that contains its address. Default: load balancers reach Pods through the router of the members' subnet."},
	Key{Name: "metrics-allowed-cidrs", check: cidrs, field: func(c *Config) any { return &c.LoadBalancer.MetricsAllowedCIDRs },
		Doc: "CIDRs, separated by commas, that may read the metrics of load balancers. Applies to Services with annotation kube-octavia.io/metrics-port but without kube-octavia.io/metrics-allowed-cidrs. Use the addresses of your Prometheus that the load balancers see. Default: none."},
	Key{Name: "tags", check: tags, field: func(c *Config) any { return &c.LoadBalancer.Tags },
		Doc: "Tags, separated by commas, of all load balancers, listeners, pools and floating IPs of Services, in addition to those of annotations: cost-centre-7,production."},
	Key{Name: createMonitor, Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.CreateMonitor },
		Doc: "Give each pool a health monitor."},
	Key{Name: "monitor-delay", Kind: Duration, Default: "5s", check: wholeSeconds, zero: noMonitor, zeroUnless: createMonitor, field: func(c *Config) any { return &c.LoadBalancer.MonitorDelay },
		Doc: "Time between two probes."},
	Key{Name: "monitor-timeout", Kind: Duration, Default: "3s", check: wholeSeconds, zero: noMonitor, zeroUnless: createMonitor, field: func(c *Config) any { return &c.LoadBalancer.MonitorTimeout },
		Doc: "Time that a probe may take; not above monitor-delay."},
	Key{Name: "monitor-max-retries", Kind: Int, Default: "1", check: oneToTen, zero: noMonitor, zeroUnless: createMonitor, field: func(c *Config) any { return &c.LoadBalancer.MonitorMaxRetries },
		Doc: "Successful probes in a row until a member is ONLINE, 1 to 10."},
	Key{Name: "monitor-max-retries-down", Kind: Int, Default: "3", check: oneToTen, zero: noMonitor, zeroUnless: createMonitor, field: func(c *Config) any { return &c.LoadBalancer.MonitorMaxRetriesDown },
		Doc: "Failed probes in a row until a member gets no traffic, 1 to 10."},
	Key{Name: "enable-ingress-hostname", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.IngressHostname },
		Doc: "For Services with PROXY protocol ports: publish a host name that contains the address, such as 203.0.113.5.nip.io, instead of the address. Needed before Kubernetes 1.30, where traffic from Pods to the address itself would bypass the load balancer."},
	Key{Name: "ingress-hostname-suffix", Default: "nip.io", check: domain, field: func(c *Config) any { return &c.LoadBalancer.IngressHostnameSuffix },
		Doc: "Domain of that host name. Its DNS must resolve the name to the address in it."},
	Key{Name: "default-tls-container-ref", check: secretRef, field: func(c *Config) any { return &c.LoadBalancer.TLSContainer },
		Doc: "Barbican container or secret with a certificate and its key. All TCP ports of Services that do not set this themselves terminate TLS with it."},
	Key{Name: "container-store", Default: BarbicanStore, allowed: []string{BarbicanStore, externalStore}, field: func(c *Config) any { return &c.LoadBalancer.ContainerStore },
		Doc: "Where certificates are stored: barbican, or external for another certificate manager of Octavia. References to Barbican are checked before their first use; others are passed to Octavia unchecked."},
	Key{Name: "internal-lb", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.Internal },
		Doc: "true: every Service is internal and gets no floating IP. Annotations cannot change that."},
	Key{Name: "max-shared-lb", Kind: Int, Default: "2", check: positiveNumber, field: func(c *Config) any { return &c.LoadBalancer.MaxShared },
		Doc: "How many Services may share one load balancer."},
	Key{Name: "shared-lb-scope", Default: ShareInNamespace, allowed: []string{ShareInNamespace, ShareInCluster, ShareAny},
		field: func(c *Config) any { return &c.LoadBalancer.SharedScope },
		Doc:   "Which load balancers a Service may share (annotations loadbalancer.openstack.org/load-balancer-id and loadbalancer.openstack.org/load-balancer-group). namespace: those of its own namespace. cluster: those of the cluster. any: all of the project, as in openstack-cloud-controller-manager. A load balancer with tag kube-octavia.share=NAMESPACE or kube-octavia.share=* may always be shared."},
	Key{Name: "provider-requires-serial-api-calls", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.SerialCreate },
		Doc: "true: create each load balancer without children, and add its ports one by one. false: do so only after kube-octavia has detected that the cloud needs it."},
	Key{Name: "manage-security-groups", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.ManageSecurityGroups },
		Doc: "true: kube-octavia manages the security groups that allow load balancers to reach the NodePorts."},
	Key{Name: "security-group-mode", Default: ClusterSecurityGroup, allowed: []string{ClusterSecurityGroup, ServiceSecurityGroups},
		field: func(c *Config) any { return &c.LoadBalancer.SecurityGroupMode },
		Doc:   "With manage-security-groups = true. cluster: one security group for all Services, which replaces those of openstack-cloud-controller-manager. service: one for each Service, as in openstack-cloud-controller-manager, whose groups are taken over."},
	Key{Name: "security-group-pod-ports", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.SecurityGroupPodPorts },
		Doc: "With manage-security-groups = true and Pods as members. true: the security groups of the nodes also allow the ports of these Pods, which is necessary if packets to Pods enter through the ports of their nodes. Then authors of Services can open any port of all nodes, also those of kubelet and sshd."},
)

// classKeys are the keys of [LoadBalancer] that may differ from class to class.
var classKeys = perClass("floating-network-id", "floating-subnet-id", "floating-subnet", "floating-subnet-tags",
	"network-id", "subnet-id", "additional-subnet-id", "member-subnet-id", "lb-provider", "lb-method", "flavor-id", "availability-zone", "node-selector", "max-members", "node-address-type",
	"target-type", "pod-network-ids",
	"create-monitor", "monitor-delay", "monitor-timeout", "monitor-max-retries", "monitor-max-retries-down",
	"internal-lb", "source-ranges", "metrics-allowed-cidrs", "tags", "default-tls-container-ref")

var clusterIPKeys = section(ClusterIPSection, Used,
	Key{Name: "enabled", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.ClusterIP.Enabled },
		Doc: "true: Services with a ClusterIP, of every type, get a load balancer whose VIP is the ClusterIP, with their Pods as members. A Service of type LoadBalancer also gets a floating IP, as usual."},
	Key{Name: "service-subnet-id", Kind: ID, object: value.Subnet, field: func(c *Config) any { return &c.ClusterIP.ServiceSubnetID },
		Doc: "Subnet of the VIPs. It contains the Service range of the cluster; its gateway and its allocation pools are outside of that range. Required with enabled = true."},
	Key{Name: "provider", field: func(c *Config) any { return &c.ClusterIP.Provider },
		Doc: "Octavia provider of new load balancers. ovn is recommended: it needs no VM for each Service. Default: lb-provider of [LoadBalancer]."},
	Key{Name: "selector", check: labelSelector, field: func(c *Config) any { return &c.ClusterIP.Selector },
		Doc: "Label selector of Services, in the syntax of kubectl: tier in (web, api),!internal. Default: all Services."},
	Key{Name: "namespaces", check: namespaceNames, field: func(c *Config) any { return &c.ClusterIP.Namespaces },
		Doc: "Namespaces of these Services, separated by commas. Default: all namespaces."},
)

var metadataKeys = section("Metadata", Used,
	Key{Name: "request-timeout", Kind: Duration, Default: "60s", check: positive, zero: "openstack-cloud-controller-manager waits without a limit then. kube-octavia does not: 60s is used.", field: func(c *Config) any { return &c.RequestTimeout },
		Doc: "Time limit of each call to OpenStack."},
)

var networkingKeys = section("Networking", Used,
	Key{Name: "ipv6-support-disabled", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.Networking.IPv6Disabled },
		Doc: "true: Nodes get no IPv6 addresses."},
	Key{Name: "public-network-name", Kind: Strings, field: func(c *Config) any { return &c.Networking.PublicNetworks },
		Doc: "Name of a network whose addresses are ExternalIP of Nodes; may be repeated. Floating IPs always are."},
	Key{Name: "internal-network-name", Kind: Strings, field: func(c *Config) any { return &c.Networking.InternalNetworks },
		Doc: "Name of a network whose addresses are InternalIP of Nodes; may be repeated. Then addresses of other networks are ignored. Default: all networks that are not public."},
	Key{Name: "address-sort-order", check: cidrList, field: func(c *Config) any { return &c.Networking.SortOrder },
		Doc: "CIDRs, separated by commas, in the order of preference of the addresses of Nodes. Addresses outside of all of them come last."},
)

var routeKeys = section("Route", Used,
	Key{Name: "router-id", Kind: ID, object: value.Router, field: func(c *Config) any { return &c.Route.RouterID },
		Doc: "Router that gets the routes to the Pods of each Node."},
)

// createMonitor is the key that gives pools health monitors.
const createMonitor = "create-monitor"

// noMonitor is the notice about a 0 if there are no health monitors.
const noMonitor = "0 is the same as no value. Services whose annotations request a health monitor get the default."

// classSection is the section that stands once per class.
const classSection = "LoadBalancerClass"

// perClass returns the keys of a class for these keys of [LoadBalancer].
func perClass(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		at := slices.IndexFunc(loadBalancerKeys, func(k Key) bool { return k.Name == name })
		keys[i] = loadBalancerKeys[at]
		keys[i].Section, keys[i].Doc = classSection, "As in [LoadBalancer], for Services of this class."
	}
	return keys
}

// section sets the section of keys, and sets the kind String for those without a kind.
func section(name string, use Use, keys ...Key) []Key {
	for i := range keys {
		keys[i].Section, keys[i].Use = name, use
		if keys[i].Kind == "" {
			keys[i].Kind = String
		}
	}
	return keys
}

// liveBut makes all keys but the named ones Live.
func liveBut(fixed []string, keys []Key) []Key {
	for i := range keys {
		keys[i].Live = !slices.Contains(fixed, keys[i].Name)
	}
	return keys
}

// wholeSeconds checks for what Octavia accepts: a positive number of seconds.
func wholeSeconds(v parsed) string {
	if v.duration < time.Second || v.duration%time.Second != 0 {
		return "must be whole seconds, at least 1s"
	}
	return ""
}

// projectPlaceholders replaces the placeholders of the project id in the address of a service, so that it can be
// checked. Package catalogue replaces them by the real id.
var projectPlaceholders = strings.NewReplacer("%(project_id)s", "id", "%(tenant_id)s", "id")

// address checks for the address of a service.
func address(v parsed) string {
	text := projectPlaceholders.Replace(v.text)
	if v.text == "" || isAddress(text) {
		return ""
	}
	problem := "must be an http or https address, such as https://network.example.com:9696"
	if strings.Contains(text, "%(") {
		problem += "; only %(project_id)s and %(tenant_id)s are replaced in it"
	}
	return problem
}

func positiveNumber(v parsed) string {
	if v.number < 1 {
		return "must be 1 or more"
	}
	return ""
}

func notNegative(v parsed) string {
	if v.number < 0 {
		return "must be 0 or more"
	}
	return ""
}

// domain checks for a DNS name in lower case.
func domain(v parsed) string {
	if !domainPattern.MatchString(v.text) || len(v.text) > 200 {
		return "must be a DNS name in lower case, such as nip.io"
	}
	return ""
}

var domainPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func positive(v parsed) string {
	if v.duration <= 0 {
		return "must be above 0"
	}
	return ""
}

func cidrList(v parsed) string {
	if _, err := parseCIDRs(v.text); err != nil {
		return "is invalid: " + err.Error()
	}
	return ""
}

// parseCIDRs parses CIDRs that are separated by commas.
func parseCIDRs(text string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		cidr, err := netip.ParsePrefix(word)
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/16 or fd00::/64", word)
		}
		all = append(all, cidr.Masked())
	}
	return all, nil
}

func nodeSelector(v parsed) string {
	if _, err := value.ParseNodeSelector(v.text); err != nil {
		return "is invalid: " + err.Error()
	}
	return ""
}

func subnetName(v parsed) string { return unreadable(value.SubnetPattern{Name: v.text}.Matcher()) }

func subnetTags(v parsed) string { return unreadable(value.SubnetPattern{Tags: v.text}.Matcher()) }

func tags(v parsed) string { return unreadable(value.ParseTags(v.text)) }

func networkIDs(v parsed) string { return unreadable(value.ParseIDs(value.Network, v.text)) }

func cidrs(v parsed) string { return unreadable(value.ParseCIDRs(strings.Split(v.text, ","))) }

func unreadable[T any](_ T, err error) string {
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return ""
}

func oneToTen(v parsed) string {
	if v.number < 1 || v.number > 10 {
		return "must be between 1 and 10"
	}
	return ""
}
