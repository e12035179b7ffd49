// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Methods lists the balancing methods that Octavia has, the default first.
var Methods = []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"}

// NodeAddressTypes lists the types of a node's addresses that may become members.
var NodeAddressTypes = []string{"InternalIP", "ExternalIP"}

// sections lists all sections, in the order of the reference page.
var sections = []Section{
	{Name: "Global", Doc: "Where the cloud is and how to authenticate there."},
	{Name: "LoadBalancer", Doc: "Cluster-wide settings of load balancers."},
	{Name: classSection, Named: true, Doc: "Settings of its own for Services that name it by annotation class. A key that it lacks is as in [LoadBalancer]; an annotation wins over both. A class that sets one of subnet-id and network-id, or floating-network-id, does not have the other, or the floating-subnet keys, from [LoadBalancer]."},
	{Name: vendorSection, Named: true, Doc: "What the provider of that name cannot do, for providers other than amphora and ovn, of which that is known, or for special ones of these. What needs it is then said on the Service, before any call is made."},
	{Name: "Metadata", Doc: "Holds the time limit of all OpenStack calls, for historical reasons."},
	{Name: "Networking", Doc: "How addresses of nodes are told apart."},
	{Name: "Route", Doc: "Routes for pod networks."},
	{Name: "BlockStorage", Doc: "Read by the Cinder CSI driver, which often shares the file."},
}

// table is the one list of all keys.
var table = slices.Concat(globalKeys, loadBalancerKeys, classKeys, vendorKeys, otherKeys)

var globalKeys = liveBut([]string{"auth-url", "region", "os-endpoint-type"}, section("Global", Used,
	Key{Name: "auth-url", field: func(c *Config) any { return &c.Global.AuthURL },
		Doc: "Address of Keystone, with or without its version: https://keystone.example.com:5000/v3."},
	Key{Name: "username", field: func(c *Config) any { return &c.Global.Username }, Doc: "Name of the user; needs a domain."},
	Key{Name: "user-id", field: func(c *Config) any { return &c.Global.UserID }, Doc: "Id of the user, instead of its name."},
	Key{Name: "password", Kind: Password, field: func(c *Config) any { return &c.Global.Password }, Doc: "Password of the user."},
	Key{Name: "tenant-id", field: func(c *Config) any { return &c.Global.TenantID },
		Doc: "Id of the project. Without id and name the user's default project is used."},
	Key{Name: "tenant-name", field: func(c *Config) any { return &c.Global.TenantName }, Doc: "Name of the project; needs a domain."},
	Key{Name: "domain-id", field: func(c *Config) any { return &c.Global.DomainID },
		Doc: "Id of the domain of user and project, where these name none of their own."},
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
	Key{Name: "trust-id", field: func(c *Config) any { return &c.Global.TrustID }, Doc: "Trust to act under; needs a trustee."},
	Key{Name: "trustee-id", field: func(c *Config) any { return &c.Global.TrusteeID },
		Doc: "Id of the user to whom the trust was given. Without it the user above is the trustee."},
	Key{Name: "trustee-password", Kind: Password, field: func(c *Config) any { return &c.Global.TrusteePassword },
		Doc: "Password of the trustee. Without it the password above is used."},
	Key{Name: "token", Kind: Password, field: func(c *Config) any { return &c.Global.Token },
		Doc: "A token made elsewhere. It cannot be renewed: when it expires, every call fails."},
	Key{Name: "region", field: func(c *Config) any { return &c.Global.Region },
		Doc: "Region whose endpoints are used. Without it the first endpoint of each service is used."},
	Key{Name: "os-endpoint-type", Default: "public", allowed: []string{"public", "internal", "admin"},
		field: func(c *Config) any { return &c.Global.EndpointType }, Doc: "Interface of the catalogue: public, internal or admin."},
	Key{Name: "ca-file", field: func(c *Config) any { return &c.Global.CAFile },
		Doc: "File with PEM certificates of the authorities that sign the endpoints' certificates."},
	Key{Name: "cafilecontents", field: func(c *Config) any { return &c.Global.CAFileContents },
		Doc: "Such PEM text itself, with \\n for line ends, in double quotes. ca-file wins over it."},
	Key{Name: "tls-insecure", Kind: TrueFalse, Default: "false", field: func(c *Config) any { return &c.Global.TLSInsecure },
		Doc: "true switches the check of the endpoints' certificates off."},
	Key{Name: "cert-file", field: func(c *Config) any { return &c.Global.CertFile }, Doc: "Client certificate (PEM); needs key-file."},
	Key{Name: "key-file", field: func(c *Config) any { return &c.Global.KeyFile }, Doc: "Key of the client certificate (PEM)."},
	Key{Name: "use-clouds", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.Global.UseClouds },
		Doc: "Take from clouds.yaml what this section leaves empty."},
	Key{Name: "clouds-file", field: func(c *Config) any { return &c.Global.CloudsFile },
		Doc: "The clouds.yaml to read. Without it: $OS_CLIENT_CONFIG_FILE, ./, the user's configuration directory, /etc/openstack/."},
	Key{Name: "cloud", field: func(c *Config) any { return &c.Global.Cloud },
		Doc: "Entry of clouds.yaml. Without it: $OS_CLOUD, or the only entry."},
))

var loadBalancerKeys = slices.Concat(section("LoadBalancer", Used,
	Key{Name: "enabled", Kind: Bool, Default: "true", field: func(c *Config) any { return &c.LoadBalancer.Enabled },
		Doc: "false: Services get no load balancers."},
	Key{Name: "lb-version", allowed: []string{"v2"}, field: func(c *Config) any { return &c.LoadBalancer.Version },
		Doc: "Only v2 exists."},
	Key{Name: "lb-provider", Default: "amphora", field: func(c *Config) any { return &c.LoadBalancer.Provider },
		Doc: "Octavia provider of new load balancers: amphora, ovn, or another that the cloud has."},
	Key{Name: "lb-method", Default: Methods[0], allowed: Methods, field: func(c *Config) any { return &c.LoadBalancer.Method },
		Doc: "Balancing method of pools. Provider ovn has SOURCE_IP_PORT only."},
	Key{Name: "subnet-id", field: func(c *Config) any { return &c.LoadBalancer.SubnetID },
		Doc: "Subnet of VIPs. Without subnet-id and network-id: the subnet of the nodes."},
	Key{Name: "network-id", field: func(c *Config) any { return &c.LoadBalancer.NetworkID },
		Doc: "Network of VIPs; Octavia chooses the subnet."},
	Key{Name: "additional-subnet-id", field: func(c *Config) any { return &c.LoadBalancer.AdditionalSubnetID },
		Doc: "Subnet of VIPs of the other IP family than subnet-id's, in the same network, for Services that have both families. Without it: the first by name."},
	Key{Name: "member-subnet-id", field: func(c *Config) any { return &c.LoadBalancer.MemberSubnetID },
		Doc: "Subnet from which members are reached. Without it: the subnet of the VIP."},
	Key{Name: "floating-network-id", field: func(c *Config) any { return &c.LoadBalancer.FloatingNetworkID },
		Doc: "External network of floating IPs. Without it: the first external network with an IPv4 subnet."},
	Key{Name: "floating-subnet-id", field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnetID },
		Doc: "Subnet of that network to take floating IPs from."},
	Key{Name: "floating-subnet", check: subnetName, field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnets.Name },
		Doc: "Which subnets of that network to take floating IPs from, where floating-subnet-id is not set: a name, a pattern with * and ?, or a regular expression after ~; each after ! for all others. They are tried one after the other."},
	Key{Name: "floating-subnet-tags", check: subnetTags, field: func(c *Config) any { return &c.LoadBalancer.FloatingSubnets.Tags },
		Doc: "Tags of those subnets: a,b for any of them, &a,b for all; each after ! for subnets that have not."},
	Key{Name: "flavor-id", field: func(c *Config) any { return &c.LoadBalancer.FlavorID },
		Doc: "Octavia flavor of new load balancers."},
	Key{Name: "availability-zone", field: func(c *Config) any { return &c.LoadBalancer.AvailabilityZone },
		Doc: "Octavia availability zone of new load balancers."},
	Key{Name: "source-ranges", check: cidrs, field: func(c *Config) any { return &c.LoadBalancer.SourceRanges },
		Doc: "CIDRs, separated by commas, that may connect to Services that name none. Without it: everybody."},
	Key{Name: "node-selector", check: nodeSelector, field: func(c *Config) any { return &c.LoadBalancer.NodeSelector },
		Doc: "Labels that nodes must have to become members: zone=a,disk=ssd,gpu. A key alone stands for any value."},
	Key{Name: "node-address-type", allowed: NodeAddressTypes, field: func(c *Config) any { return &c.LoadBalancer.NodeAddressType },
		Doc: "Which of a node's addresses is the member: one of this type (InternalIP, ExternalIP) if there is any, and else one of the other. Where member-subnet-id names a subnet, an address in that comes before both. Without it: one in the subnet of the members, else an InternalIP, else an ExternalIP."},
	Key{Name: "metrics-allowed-cidrs", check: cidrs, field: func(c *Config) any { return &c.LoadBalancer.MetricsAllowedCIDRs },
		Doc: "CIDRs, separated by commas, that may read the metrics of load balancers whose Services ask for a metrics-port and name none: where your Prometheus is, as the load balancers see it. Without it: nobody."},
	Key{Name: "tags", check: tags, field: func(c *Config) any { return &c.LoadBalancer.Tags },
		Doc: "Tags, separated by commas, of all load balancers, listeners, pools and floating IPs of Services, beside those that annotations ask for: cost-centre-7,production."},
	Key{Name: "create-monitor", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.CreateMonitor },
		Doc: "Give each pool a health monitor."},
	Key{Name: "monitor-delay", Kind: Duration, Default: "5s", check: wholeSeconds, field: func(c *Config) any { return &c.LoadBalancer.MonitorDelay },
		Doc: "Time between two probes."},
	Key{Name: "monitor-timeout", Kind: Duration, Default: "3s", check: wholeSeconds, field: func(c *Config) any { return &c.LoadBalancer.MonitorTimeout },
		Doc: "Time a probe may take; not above monitor-delay."},
	Key{Name: "monitor-max-retries", Kind: Int, Default: "1", check: oneToTen, field: func(c *Config) any { return &c.LoadBalancer.MonitorMaxRetries },
		Doc: "Good probes in a row that bring a member back, 1 to 10."},
	Key{Name: "monitor-max-retries-down", Kind: Int, Default: "3", check: oneToTen, field: func(c *Config) any { return &c.LoadBalancer.MonitorMaxRetriesDown },
		Doc: "Bad probes in a row that take a member out, 1 to 10."},
	Key{Name: "enable-ingress-hostname", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.IngressHostname },
		Doc: "Publish a host name made of the address, such as 203.0.113.5.nip.io, in place of the address of Services with ports that speak the PROXY protocol. Kubernetes before 1.30 needs it, to send what Pods of the cluster send to the address through the load balancer."},
	Key{Name: "ingress-hostname-suffix", Default: "nip.io", check: domain, field: func(c *Config) any { return &c.LoadBalancer.IngressHostnameSuffix },
		Doc: "Domain of that host name. Its DNS has to find the address in the name."},
	Key{Name: "default-tls-container-ref", check: secretRef, field: func(c *Config) any { return &c.LoadBalancer.TLSContainer },
		Doc: "Container or secret with a certificate and its key, with which all TCP ports of all Services end TLS that do not say otherwise."},
	Key{Name: "container-store", Default: BarbicanStore, allowed: []string{BarbicanStore, externalStore}, field: func(c *Config) any { return &c.LoadBalancer.ContainerStore },
		Doc: "Where certificates are kept: barbican, or external for another place that Octavia knows. A reference to Barbican is looked up before it is first used; one to another place is given to Octavia as it is."},
	Key{Name: "internal-lb", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.Internal },
		Doc: "true: every Service is internal and gets no floating IP."},
	Key{Name: "max-shared-lb", Kind: Int, Default: "2", check: positiveNumber, field: func(c *Config) any { return &c.LoadBalancer.MaxShared },
		Doc: "How many Services may share one load balancer."},
	Key{Name: "shared-lb-scope", Default: ShareInNamespace, allowed: []string{ShareInNamespace, ShareInCluster, ShareAny},
		field: func(c *Config) any { return &c.LoadBalancer.SharedScope },
		Doc:   "Which load balancers a Service may name by annotation load-balancer-id, and which Services are a group by load-balancer-group: namespace, those of its own namespace; cluster, those of the whole cluster; any, all of the project, as openstack-cloud-controller-manager has it. A load balancer with the tag kube-octavia.share=NAMESPACE, or kube-octavia.share=*, may always be named."},
	Key{Name: "provider-requires-serial-api-calls", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.SerialCreate },
		Doc: "true: a load balancer is created alone and its ports are added one by one; without it that is done as soon as a cloud is seen to need it."},
	Key{Name: "manage-security-groups", Kind: Bool, Default: "false", field: func(c *Config) any { return &c.LoadBalancer.ManageSecurityGroups },
		Doc: "true: one security group lets the load balancers of all Services reach the NodePorts; it is made, filled and put on the ports of the nodes."},
	Key{Name: "security-group-mode", Default: ClusterSecurityGroup, allowed: []string{ClusterSecurityGroup, ServiceSecurityGroups},
		field: func(c *Config) any { return &c.LoadBalancer.SecurityGroupMode },
		Doc:   "With manage-security-groups, which security groups there are: cluster, one for all Services, which takes the place of those that openstack-cloud-controller-manager made; service, one for each Service, as openstack-cloud-controller-manager has them, whose groups are taken over."},
), section("LoadBalancer", Accepted,
	Key{Name: "cascade-delete", Kind: Bool, Default: "true",
		Doc: "Delete a load balancer together with its children in one call, which is always done."},
))

// classKeys are the keys of [LoadBalancer] that may differ from class to class.
var classKeys = perClass("floating-network-id", "floating-subnet-id", "floating-subnet", "floating-subnet-tags",
	"network-id", "subnet-id", "additional-subnet-id", "member-subnet-id", "lb-provider", "lb-method", "flavor-id", "availability-zone", "node-selector", "node-address-type",
	"create-monitor", "monitor-delay", "monitor-timeout", "monitor-max-retries", "monitor-max-retries-down",
	"internal-lb", "source-ranges", "metrics-allowed-cidrs", "tags", "default-tls-container-ref")

var otherKeys = slices.Concat(section("Metadata", Used,
	Key{Name: "request-timeout", Kind: Duration, Default: "60s", check: positive, field: func(c *Config) any { return &c.RequestTimeout },
		Doc: "Time that each call to OpenStack may take."},
), section("Metadata", Accepted,
	Key{Name: "search-order", Default: "configDrive,metadataService", check: searchOrder, Doc: "Where metadata of a node is looked for."},
), section("Networking", Accepted,
	Key{Name: "ipv6-support-disabled", Kind: Bool, Default: "false", Doc: "Disregard the nodes' IPv6 addresses."},
	Key{Name: "public-network-name", Kind: Strings, Doc: "Networks whose addresses are external; may be repeated."},
	Key{Name: "internal-network-name", Kind: Strings, Doc: "Networks whose addresses are internal; may be repeated."},
	Key{Name: "address-sort-order", Doc: "CIDRs in the order in which addresses are preferred."},
), section("Route", Accepted,
	Key{Name: "router-id", Doc: "Router that gets the routes of pod networks."},
), section("BlockStorage", Accepted,
	Key{Name: "bs-version", Default: "auto", Doc: "Version of the Cinder API."},
	Key{Name: "trust-device-path", Kind: Bool, Default: "false", Doc: "Trust the device path that Cinder reports."},
	Key{Name: "ignore-volume-az", Kind: Bool, Default: "false", Doc: "Disregard the availability zone of volumes."},
	Key{Name: "ignore-volume-microversion", Kind: Bool, Default: "false", Doc: "Use the oldest microversion of Cinder."},
	Key{Name: "node-volume-attach-limit", Kind: Int, Default: "256", Doc: "Volumes that one node may have."},
	Key{Name: "rescan-on-resize", Kind: Bool, Default: "false", Doc: "Rescan a block device after it was resized."},
))

// classSection is the section that stands once per class.
const classSection = "LoadBalancerClass"

// perClass makes keys of [LoadBalancer] keys of a class.
func perClass(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		at := slices.IndexFunc(loadBalancerKeys, func(k Key) bool { return k.Name == name })
		keys[i] = loadBalancerKeys[at]
		keys[i].Section, keys[i].Doc = classSection, "As in [LoadBalancer], for Services of this class."
	}
	return keys
}

// section puts keys into a section and gives those without a kind the kind String.
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

// wholeSeconds holds for what Octavia takes: a positive number of seconds.
func wholeSeconds(v value) string {
	if v.duration < time.Second || v.duration%time.Second != 0 {
		return "must be whole seconds, at least 1s"
	}
	return ""
}

func positiveNumber(v value) string {
	if v.number < 1 {
		return "must be 1 or more"
	}
	return ""
}

// domain holds for names in the DNS, in lower case.
func domain(v value) string {
	if !domainPattern.MatchString(v.text) || len(v.text) > 200 {
		return "must be a DNS name in lower case, such as nip.io"
	}
	return ""
}

var domainPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func positive(v value) string {
	if v.duration <= 0 {
		return "must be above 0"
	}
	return ""
}

func nodeSelector(v value) string {
	if _, err := ParseNodeSelector(v.text); err != nil {
		return "selects no nodes: " + err.Error()
	}
	return ""
}

func subnetName(v value) string { return unreadable(SubnetPattern{Name: v.text}.Matcher()) }

func subnetTags(v value) string { return unreadable(SubnetPattern{Tags: v.text}.Matcher()) }

func tags(v value) string { return unreadable(ParseTags(v.text)) }

func cidrs(v value) string { return unreadable(ParseCIDRs(strings.Split(v.text, ","))) }

func unreadable[T any](_ T, err error) string {
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return ""
}

func oneToTen(v value) string {
	if v.number < 1 || v.number > 10 {
		return "must be between 1 and 10"
	}
	return ""
}

func searchOrder(v value) string {
	for _, place := range strings.Split(v.text, ",") {
		if place = strings.TrimSpace(place); place != "configDrive" && place != "metadataService" {
			return "must list configDrive, metadataService or both, separated by commas"
		}
	}
	return ""
}
