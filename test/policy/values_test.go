// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Keys without the prefix, as the tables have them.
const (
	internal         = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	sources          = "service.beta.kubernetes.io/load-balancer-source-ranges"
	statusAddresses  = annotation.OwnPrefix + "status-addresses"
	additionalSubnet = annotation.OwnPrefix + "additional-subnet-id"
)

// someID is the id of something.
const someID = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

// value is a value of an annotation.
type value struct {
	// key is without the prefix if it has the usual one.
	key, value string
	// told is the message for a bad one, after key and value.
	told string
}

// Key returns the whole key.
func (v value) Key() string {
	if strings.Contains(v.key, "/") {
		return v.key
	}
	return annotation.Prefix + v.key
}

const (
	tellsBoolean   = "must be true or false"
	tellsFloating  = "must be the IPv4 address of a floating IP, such as 203.0.113.7, or its id"
	tellsAddresses = "must be one of floating, vip, both"
	tellsID        = "must be the id of a"
	tellsRanges    = "must be CIDRs such as 192.0.2.0/24 or 2001:db8::/32, separated by commas"
	tellsLabels    = "must be labels such as zone=a,disk=ssd,gpu, each key once"
	tellsName      = "must be a name, a pattern such as public-*, or a regular expression (RE2) after ~"
	tellsTags      = "must be tags, separated by commas"
	tellsWantedTag = "must be tags of up to 255 characters, separated by commas; none may be empty or begin with kube-octavia. or kube_service_"
	tellsHost      = "must be a DNS name in lower case, such as www.example.com, not an address"
	tellsMethod    = "must be one of ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT"
	tellsMembers   = "must be a whole number of nodes from 0 to 2147483647"
	tellsGroups    = "must be ids or names of security groups, separated by commas, each of at most 255 bytes"
	tellsAge       = "must be a whole number of seconds from 0 to 2147483647"
	tellsLimit     = "must be a whole number of connections from -1 to 2147483647"
	tellsTimeout   = "must be a whole number of milliseconds from 0 to 2073600000"
	tellsPort      = "must be a whole number from 1 to 65535"
	tellsSeconds   = "must be a whole number of seconds from 1 to 86400"
	tellsRetries   = "must be a whole number of health checks from 1 to 10"
	tellsDrift     = "must be one of repair, report, ignore"
	tellsLength    = "must not be longer than 255 bytes"
	tellsSecret    = "must be the name of a Secret in the Service's namespace, such as web-tls"
	tellsProxy     = "must be true or v1 for version 1, v2 for version 2, or false"
	tellsProtocols = "must be appProtocol, or a port number or name, =, and one of HTTP, TERMINATED_HTTPS, HTTPS, PROXY, PROXYV2, TCP, UDP, SCTP; several are separated by commas"
)

// bad are values that are refused.
var bad = []value{
	{internal, "yes", tellsBoolean},
	{internal, "True", tellsBoolean},
	{"keep-floatingip", "FALSE", tellsBoolean},
	{"keep-floatingip", "tru e", tellsBoolean},
	{annotation.AllowReplacement, "yes", tellsBoolean},
	{"enable-health-monitor", "on", tellsBoolean},
	{sources, "10.0.0.1", tellsRanges + `, and "10.0.0.1" is none`},
	{sources, "10.0.0.0/33", tellsRanges},
	{sources, "10.0.0.0/8;192.0.2.0/24", tellsRanges},
	{sources, "10.0.0.0/8, example.com,192.0.2.0/24", tellsRanges + `, and "example.com" is none`},
	{sources, "fe80::%eth0/64", tellsRanges},
	{sources, "::ffff:10.0.0.0/104", tellsRanges},
	{sources, "010.0.0.0/8", tellsRanges},
	{annotation.FloatingIP, "203.0.113.256", tellsFloating},
	{annotation.FloatingIP, "2001:db8::7", tellsFloating},
	{annotation.FloatingIP, "203.0.113.7, 203.0.113.8", tellsFloating},
	{statusAddresses, "Both", tellsAddresses},
	{"floating-network-id", "public", tellsID},
	{"floating-subnet-id", someID + "0", tellsID},
	{"subnet-id", "3f2b1a90-0c5d-4e8e-9d43", tellsID},
	{"network-id", "../" + someID, tellsID},
	{"port-id", "x" + someID[1:], tellsID},
	{"member-subnet-id", someID + "," + someID, tellsID},
	{additionalSubnet, "private-v6", tellsID},
	{"flavor-id", "gold", tellsID},
	{"floating-subnet", "!", tellsName},
	{"floating-subnet", "~", tellsName},
	{"floating-subnet", "!~", tellsName},
	{"floating-subnet", "~(", "error parsing regexp: missing closing )"},
	{"floating-subnet", "!~[z-a]", "error parsing regexp: invalid character class range"},
	{"floating-subnet-tags", "!&", tellsTags},
	{"floating-subnet-tags", "&", tellsTags},
	{"floating-subnet-tags", " , ", tellsTags},
	{"hostname", "WWW.example.com", tellsHost},
	{"hostname", "192.0.2.1", tellsHost},
	{"hostname", "2001:db8::1", tellsHost},
	{"hostname", "*.example.com", tellsHost},
	{"hostname", "a..b", tellsHost},
	{"hostname", strings.Repeat("a.", 127), tellsHost},
	{"availability-zone", strings.Repeat("z", 256), tellsLength},
	{"class", strings.Repeat("ü", 128), tellsLength},
	{"load-balancer-group", strings.Repeat("g", 256), tellsLength},
	{annotation.MaxMembers, "-1", tellsMembers},
	{annotation.MaxMembers, "all", tellsMembers},
	{annotation.MaxMembers, "2147483648", tellsMembers},
	{"kube-octavia.io/target-type", "nodes", "must be one of node, pod"},
	{"kube-octavia.io/target-type", "Pod", "must be one of node, pod"},
	{"node-address-type", "internalip", "must be one of InternalIP, ExternalIP"},
	{"node-address-type", "InternalIP,ExternalIP", "must be one of InternalIP, ExternalIP"},
	{"node-selector", "zone in (a)", tellsLabels + `, and "zone in (a)" is none`},
	{"node-selector", "zone=a, zone=b", tellsLabels},
	{"node-selector", "gpu, =", tellsLabels + `, and "=" is none`},
	{"node-selector", "!zone", tellsLabels},
	{"node-selector", "zone=a=b", tellsLabels},
	{"node-selector", "a/b/c=d", tellsLabels},
	{"node-selector", strings.Repeat("k", 64), tellsLabels},
	{"lb-method", "round_robin", tellsMethod},
	{"lb-method", "ROUND_ROBIN,SOURCE_IP", tellsMethod},
	{"connection-limit", "-2", tellsLimit},
	{"connection-limit", "2147483648", tellsLimit},
	{"connection-limit", "1e3", tellsLimit},
	{"connection-limit", "99999999999999999999", tellsLimit},
	{"timeout-client-data", "50s", tellsTimeout},
	{"timeout-member-connect", "-1", tellsTimeout},
	{"timeout-member-data", "2073600001", tellsTimeout},
	{"timeout-tcp-inspect", "0.5", tellsTimeout},
	{"health-monitor-delay", "0", tellsSeconds},
	{"health-monitor-delay", "5s", tellsSeconds},
	{"health-monitor-timeout", "86401", tellsSeconds},
	{"health-monitor-timeout", "six", tellsSeconds},
	{"health-monitor-max-retries", "11", tellsRetries},
	{"health-monitor-max-retries-down", "1-2", tellsRetries},
	{annotation.MetricsPort, "0", tellsPort},
	{annotation.MetricsPort, "65536", tellsPort},
	{annotation.MetricsPort, "metrics", tellsPort},
	{annotation.MetricsAllowedCIDRs, "10.0.0.1", tellsRanges + `, and "10.0.0.1" is none`},
	{"load-balancer-tags", "cost=7,,prod", tellsWantedTag},
	{"load-balancer-tags", "prod, kube-octavia.share=*", tellsWantedTag + `, and "kube-octavia.share=*" is none`},
	{"listener-tags", "prod,", tellsWantedTag},
	{"listener-tags", strings.Repeat("ü", 256), tellsWantedTag},
	{"pool-tags", "a kube_service_kubernetes_shop_web", tellsWantedTag},
	{annotation.FloatingIPTags, ",", tellsWantedTag},
	{annotation.DriftPolicy, "Repair", tellsDrift},
	{annotation.DriftPolicy, "none", tellsDrift},
	{"default-tls-container-ref", strings.Repeat("r", 256), tellsLength},
	{"tls-secret", "shop/web-tls", tellsSecret},
	{"tls-secret", "Web-TLS", tellsSecret},
	{"tls-secret", strings.Repeat("w", 254), tellsSecret},
	{annotation.SNIContainers, "a," + strings.Repeat("r", 256), tellsLength},
	{"proxy-protocol", "True", tellsProxy},
	{"proxy-protocol", "v3", tellsProxy},
	{"x-forwarded-for", "For", tellsBoolean},
	{annotation.VIPSecurityGroups, " , ", tellsGroups},
	{annotation.VIPSecurityGroups, "web," + strings.Repeat("g", 256), tellsGroups},
	{annotation.HSTSMaxAge, "-1", tellsAge},
	{annotation.HSTSMaxAge, "1y", tellsAge},
	{annotation.HSTSMaxAge, "2147483648", tellsAge},
	{annotation.HSTSIncludeSubdomains, "yes", tellsBoolean},
	{annotation.HSTSPreload, "1", tellsBoolean},
	{annotation.ProtocolsKey, "80", tellsProtocols + `, and "80" is none`},
	{annotation.ProtocolsKey, "80=HTTP,81=http", tellsProtocols + `, and "81=http" is none`},
	{annotation.ProtocolsKey, "80=HTTP=HTTP", tellsProtocols},
	{annotation.ProtocolsKey, "=HTTP", tellsProtocols},
	{annotation.ProtocolsKey, "web_1=HTTP", tellsProtocols},
}

// good are values that pass.
var good = []value{
	{internal, "true", ""},
	{internal, " false\n", ""},
	{internal, "", ""},
	{"keep-floatingip", "true", ""},
	{"enable-health-monitor", "\u00a0true", ""},
	{sources, "10.0.0.0/8", ""},
	{annotation.ProtocolsKey, "80=HTTP, web-1 =TERMINATED_HTTPS,,53=UDP,", ""},
	{annotation.ProtocolsKey, "appProtocol", ""},
	{annotation.ProtocolsKey, "", ""},
	{"proxy-protocol", " v2", ""},
	{"proxy-protocol", "", ""},
	{"x-forwarded-for", "true", ""},
	{annotation.VIPSecurityGroups, " web ,, " + someID, ""},
	{annotation.VIPSecurityGroups, "", ""},
	{annotation.HSTSMaxAge, " 31536000", ""},
	{annotation.HSTSMaxAge, "0", ""},
	{annotation.HSTSPreload, "true", ""},
	{annotation.HSTSIncludeSubdomains, "true", ""},
	{"default-tls-container-ref", "https://barbican.example.com/v1/containers/" + someID, ""},
	{"default-tls-container-ref", "", ""},
	{"tls-secret", " web-tls.example", ""},
	{"tls-secret", "", ""},
	{annotation.SNIContainers, "https://barbican.example.com/v1/secrets/" + someID + ", my-certificate", ""},
	{sources, " 10.1.2.3/8 ,, 2001:DB8::1/32,", ""},
	{sources, "", ""},
	{sources, " , ", ""},
	{sources, "0.0.0.0/0,::/0", ""},
	{sources, strings.TrimSuffix(strings.Repeat("192.0.2.0/24,2001:db8:1:2::/64,", 2000), ","), ""},
	{annotation.AllowReplacement, "true", ""},
	{annotation.FloatingIP, "203.0.113.7 ", ""},
	{annotation.FloatingIP, someID, ""},
	{annotation.FloatingIP, "", ""},
	{statusAddresses, "both", ""},
	{statusAddresses, "vip", ""},
	{"floating-network-id", someID, ""},
	{"floating-subnet-id", "", ""},
	{"subnet-id", strings.ReplaceAll(someID, "-", ""), ""},
	{"network-id", strings.ToUpper(someID), ""},
	{"port-id", " " + someID, ""},
	{"member-subnet-id", someID, ""},
	{additionalSubnet, someID, ""},
	{"flavor-id", someID, ""},
	{"floating-subnet", "public", ""},
	{"floating-subnet", "!public-*", ""},
	{"floating-subnet", "~^public-[ab]$", ""},
	{"floating-subnet", "!~(?i)public", ""},
	{"floating-subnet", "(", ""},
	{"floating-subnet", "", ""},
	{"floating-subnet-tags", "a", ""},
	{"floating-subnet-tags", "&a, b,", ""},
	{"floating-subnet-tags", "!&a b", ""},
	{"floating-subnet-tags", "!!", ""},
	{"hostname", "www.example.com", ""},
	{"hostname", "localhost", ""},
	{"hostname", "1.2.3", ""},
	{"hostname", "", ""},
	{"class", "gold", ""},
	{"load-balancer-group", "shop", ""},
	{"class", strings.Repeat("ü", 127), ""},
	{"availability-zone", "az 1", ""},
	{"availability-zone", "", ""},
	{annotation.MaxMembers, "0", ""},
	{annotation.MaxMembers, " 6 ", ""},
	{annotation.MaxMembers, "", ""},
	{"kube-octavia.io/target-type", "node", ""},
	{"kube-octavia.io/target-type", " pod ", ""},
	{"node-address-type", "InternalIP", ""},
	{"node-address-type", " ExternalIP ", ""},
	{"node-selector", "zone=b, gpu", ""},
	{"node-selector", "topology.kubernetes.io/zone = a,disk=", ""},
	{"node-selector", "zone=a,zone=a", ""},
	{"node-selector", "", ""},
	{"node-selector", strings.Repeat("k", 63) + "=" + strings.Repeat("v", 63), ""},
	{"lb-method", "LEAST_CONNECTIONS", ""},
	{"lb-method", "SOURCE_IP_PORT", ""},
	{"connection-limit", "-1", ""},
	{"connection-limit", "2147483647", ""},
	{"connection-limit", "+0100", ""},
	{"timeout-client-data", "2073600000", ""},
	{"timeout-member-connect", "0", ""},
	{"timeout-member-data", " 600000 ", ""},
	{"timeout-tcp-inspect", "5", ""},
	{"health-monitor-delay", "86400", ""},
	{"health-monitor-timeout", "1", ""},
	{"health-monitor-max-retries", "1", ""},
	{"health-monitor-max-retries-down", "10", ""},
	{annotation.MetricsPort, "9100", ""},
	{annotation.MetricsAllowedCIDRs, "10.0.0.0/8, 2001:db8::/32", ""},
	{annotation.MetricsAllowedCIDRs, "", ""},
	{"load-balancer-tags", "cost=7, prod,a b", ""},
	{"listener-tags", strings.Repeat("ü", 255) + ",a", ""},
	{"pool-tags", "kube-octavia,my-kube_service_", ""},
	{annotation.FloatingIPTags, " ", ""},
	{annotation.DriftPolicy, "report", ""},
	{annotation.DriftPolicy, "", ""},
	// Lists that are too long for kube-apiserver are left to the controller.
	{sources, strings.Repeat("x,", 1001), ""},
	{"node-selector", strings.Repeat("topology.kubernetes.io/zone=a,topology.kubernetes.io/zone=b,", 17), ""},
	// Annotations that the controller writes are not checked.
	{annotation.LoadBalancerID, "whatever", ""},
	{annotation.Managed, "whatever", ""},
	// Nor are annotations that the controller does not know.
	{"keep-floating-ip", "maybe", ""},
	{"example.com/class", "maybe", ""},
}
