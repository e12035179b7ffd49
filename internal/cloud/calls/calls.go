// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calls lists the calls of the program to OpenStack. The access rules of application credentials are
// computed from it.
package calls

import (
	"net/http"
	"slices"
	"strings"
)

// Call is one kind of request.
type Call struct {
	// Service is the type of the service in the catalogue.
	Service string
	Method  string
	// Path is the path below the address of the service, with * for each id, as in Keystone's access rules.
	Path string
	// Feature is the part of the program that makes the call.
	Feature Feature
	// Purpose is the purpose of the call.
	Purpose string
}

// Feature is a part of the program, for grouping.
type Feature string

// The features.
const (
	FeatureSession       Feature = "session"
	FeatureLoadBalancers Feature = "load balancers"
	FeatureFloatingIPs   Feature = "floating IPs"
	FeatureNetworks      Feature = "networks"
	// FeatureCertificates is for Services that terminate TLS.
	FeatureCertificates Feature = "certificates"
	// FeatureCertificateGrants has the calls with which the Octavia of OpenStack 2025.1 and newer allows itself to read
	// a certificate, with the token of the request. That of 2022.2 does not make them.
	FeatureCertificateGrants Feature = "certificates that Octavia reads"
	// FeatureVIPGroups is for Services that request security groups for their VIP.
	FeatureVIPGroups Feature = "security groups of VIPs"
	// FeatureSecurityGroups is used with manage-security-groups in cloud.conf.
	FeatureSecurityGroups Feature = "security groups"
	// FeatureNodes is for controllers node and node-lifecycle, FeatureRoutes for controller route.
	FeatureNodes  Feature = "nodes"
	FeatureRoutes Feature = "routes"
	// FeatureOctavia has the calls that Octavia makes to Neutron with the token of the request that it checks, so
	// that they need access rules, too.
	FeatureOctavia Feature = "checks by Octavia"
	// FeatureCredentialCommand is `kube-octavia credential`, which uses the user's own login. Its calls get no
	// access rules.
	FeatureCredentialCommand Feature = "credential command"
	// FeatureCleanupCommand has the calls that only `kube-octavia cleanup` makes. They get no access rules either:
	// the controller does not need them.
	FeatureCleanupCommand Feature = "cleanup command"
	// FeatureDoctorCommand has the calls that only `kube-octavia doctor` makes. They get no access rules either: the
	// controller does not need them.
	FeatureDoctorCommand Feature = "doctor command"
)

// OfController reports whether the controller makes the calls of the feature, so that its application credential needs
// access rules for them.
func (f Feature) OfController() bool {
	return f != FeatureCredentialCommand && f != FeatureCleanupCommand && f != FeatureDoctorCommand
}

// ProvidersPath is the path of the list of Octavia's providers.
const ProvidersPath = "/v2.0/lbaas/providers"

// QuotaPath is the path of the quota of a project in Octavia.
const QuotaPath = "/v2.0/lbaas/quotas/*"

// SecretsPath is the path of the list of secrets in Barbican.
const SecretsPath = "/v1/secrets"

const (
	balancersPath   = "/v2.0/lbaas/loadbalancers"
	listenersPath   = "/v2.0/lbaas/listeners"
	poolsPath       = "/v2.0/lbaas/pools"
	monitorsPath    = "/v2.0/lbaas/healthmonitors"
	floatingIPsPath = "/v2.0/floatingips"
	groupsPath      = "/v2.0/security-groups"
	rulesPath       = "/v2.0/security-group-rules"
	credentialsPath = "/v3/users/*/application_credentials"
	containerPath   = "/v1/containers/*"
	accessList      = "/acl" // below a secret or a container: its ACL
)

// calls lists all calls. Application credentials that `kube-octavia credential create` creates allow nothing else,
// and a test compares the list with the calls of all end-to-end tests.
var calls = []Call{
	{ServiceIdentity, http.MethodGet, credentialsPath + "/*", FeatureSession, "read the expiry of the application credential in use"},
	{ServiceIdentity, http.MethodGet, "/v3/OS-TRUST/trusts/*", FeatureSession, "read the expiry of the trust in use"},
	{ServiceLoadBalancer, http.MethodGet, "/", FeatureSession, "read the API versions of Octavia"},
	{ServiceLoadBalancer, http.MethodGet, ProvidersPath, FeatureSession, "check that Octavia has the providers of cloud.conf"},
	{ServiceLoadBalancer, http.MethodGet, QuotaPath, FeatureSession, "in cluster-ip mode, find out whether a quota can refuse a part of a load balancer"},

	{ServiceLoadBalancer, http.MethodGet, balancersPath, FeatureLoadBalancers, "find a load balancer by name; detect drift"},
	{ServiceLoadBalancer, http.MethodPost, balancersPath, FeatureLoadBalancers, "create a load balancer"},
	{ServiceLoadBalancer, http.MethodGet, balancersPath + "/*", FeatureLoadBalancers, "read a load balancer and its status"},
	{ServiceLoadBalancer, http.MethodPut, balancersPath + "/*", FeatureLoadBalancers, "set name, description and tags"},
	{ServiceLoadBalancer, http.MethodDelete, balancersPath + "/*", FeatureLoadBalancers, "delete a load balancer and its children"},
	{ServiceLoadBalancer, http.MethodGet, balancersPath + "/*/status", FeatureLoadBalancers, "check the status of all children"},
	{ServiceLoadBalancer, http.MethodPut, balancersPath + "/*/failover", FeatureLoadBalancers, "fail over a load balancer, if the policy allows it"},
	{ServiceLoadBalancer, http.MethodGet, listenersPath, FeatureLoadBalancers, "read the listeners of a load balancer; check that no listener uses a certificate before it is deleted"},
	{ServiceLoadBalancer, http.MethodPost, listenersPath, FeatureLoadBalancers, "create the listener of a port"},
	{ServiceLoadBalancer, http.MethodPut, listenersPath + "/*", FeatureLoadBalancers, "change a listener, such as its source ranges and pool"},
	{ServiceLoadBalancer, http.MethodDelete, listenersPath + "/*", FeatureLoadBalancers, "delete the listener of a port"},
	{ServiceLoadBalancer, http.MethodGet, poolsPath, FeatureLoadBalancers, "read the pools of a load balancer, and each minute the health of all monitored ones"},
	{ServiceLoadBalancer, http.MethodPost, poolsPath, FeatureLoadBalancers, "create the pool of a port"},
	{ServiceLoadBalancer, http.MethodPut, poolsPath + "/*", FeatureLoadBalancers, "change a pool"},
	{ServiceLoadBalancer, http.MethodDelete, poolsPath + "/*", FeatureLoadBalancers, "delete a pool"},
	{ServiceLoadBalancer, http.MethodGet, poolsPath + "/*/members", FeatureLoadBalancers, "read the members of a pool"},
	{ServiceLoadBalancer, http.MethodPut, poolsPath + "/*/members", FeatureLoadBalancers, "update the members of a pool"},
	{ServiceLoadBalancer, http.MethodGet, monitorsPath, FeatureLoadBalancers, "read the health monitors of a load balancer"},
	{ServiceLoadBalancer, http.MethodPost, monitorsPath, FeatureLoadBalancers, "create the health monitor of a pool"},
	{ServiceLoadBalancer, http.MethodGet, monitorsPath + "/*", FeatureLoadBalancers, "read the health monitor of a pool"},
	{ServiceLoadBalancer, http.MethodPut, monitorsPath + "/*", FeatureLoadBalancers, "change a health monitor"},
	{ServiceLoadBalancer, http.MethodDelete, monitorsPath + "/*", FeatureLoadBalancers, "delete a health monitor"},

	{ServiceNetwork, http.MethodGet, floatingIPsPath, FeatureFloatingIPs, "find floating IPs by port or address"},
	{ServiceNetwork, http.MethodPost, floatingIPsPath, FeatureFloatingIPs, "create a floating IP"},
	{ServiceNetwork, http.MethodPut, floatingIPsPath + "/*", FeatureFloatingIPs, "attach and detach a floating IP"},
	{ServiceNetwork, http.MethodPut, floatingIPsPath + "/*/tags", FeatureFloatingIPs, "set custom tags of a floating IP"},
	{ServiceNetwork, http.MethodDelete, floatingIPsPath + "/*", FeatureFloatingIPs, "delete a floating IP"},

	{ServiceNetwork, http.MethodGet, "/v2.0/networks", FeatureNetworks, "find the external network; check the owner of a network"},
	{ServiceNetwork, http.MethodGet, "/v2.0/subnets", FeatureNetworks, "find an external network with IPv4; read the subnets of VIPs and members"},
	{ServiceNetwork, http.MethodGet, "/v2.0/routers", FeatureNetworks, "with several external networks, find the one that the router of a VIP's subnet leads to"},
	{ServiceNetwork, http.MethodGet, groupsPath, FeatureVIPGroups, "find the security groups that a Service requests for its VIP"},
	{ServiceNetwork, http.MethodGet, "/v2.0/ports", FeatureNetworks, "check that VIP ports are deleted; find the ports and subnets of the nodes"},

	{ServiceNetwork, http.MethodGet, groupsPath, FeatureSecurityGroups, "find the security groups of the nodes and detect drift"},
	{ServiceNetwork, http.MethodPost, groupsPath, FeatureSecurityGroups, "create the security groups of the nodes"},
	{ServiceNetwork, http.MethodDelete, groupsPath + "/*", FeatureSecurityGroups, "delete the group of a deleted Service, a replaced group, or a duplicate"},
	{ServiceNetwork, http.MethodPost, rulesPath, FeatureSecurityGroups, "allow load balancers to reach NodePorts"},
	{ServiceNetwork, http.MethodDelete, rulesPath + "/*", FeatureSecurityGroups, "remove access to unused NodePorts"},
	{ServiceNetwork, http.MethodPut, "/v2.0/ports/*", FeatureSecurityGroups, "attach security groups to the ports of nodes, and detach them"},

	{ServiceKeyManager, http.MethodGet, SecretsPath, FeatureCertificates, "list the certificates that kube-octavia stored"},
	{ServiceKeyManager, http.MethodPost, SecretsPath, FeatureCertificates, "store the certificate of a Kubernetes Secret"},
	{ServiceKeyManager, http.MethodGet, SecretsPath + "/*", FeatureCertificates, "check that a certificate exists before it is used"},
	{ServiceKeyManager, http.MethodDelete, SecretsPath + "/*", FeatureCertificates, "delete a stored certificate that nothing uses"},
	{ServiceKeyManager, http.MethodGet, containerPath, FeatureCertificates, "check that a certificate container exists before it is used"},
	{ServiceKeyManager, http.MethodGet, SecretsPath + "/*" + accessList, FeatureCertificateGrants, "Octavia, with our token: read the ACL of a certificate (since 2025.1 or a release before it)"},
	{ServiceKeyManager, http.MethodPut, SecretsPath + "/*" + accessList, FeatureCertificateGrants, "Octavia, with our token: allow itself to read a certificate (likewise)"},
	{ServiceKeyManager, http.MethodGet, containerPath + accessList, FeatureCertificateGrants, "Octavia, with our token: read the ACL of a certificate container (likewise)"},
	{ServiceKeyManager, http.MethodPut, containerPath + accessList, FeatureCertificateGrants, "Octavia, with our token: allow itself to read a certificate container (likewise)"},

	{ServiceCompute, http.MethodGet, "/v2.1/servers/detail", FeatureNodes, "list the servers of the project"},
	{ServiceCompute, http.MethodGet, "/v2.1/servers/*", FeatureNodes, "check that a server does not exist before its Node is deleted"},
	{ServiceCompute, http.MethodGet, "/v2.1/flavors", FeatureNodes, "find the id of a flavor whose name cannot be a label"},

	{ServiceNetwork, http.MethodGet, "/v2.0/extensions", FeatureRoutes, "find out with which calls routers can be changed"},
	{ServiceNetwork, http.MethodGet, "/v2.0/routers/*", FeatureRoutes, "read the routes"},
	{ServiceNetwork, http.MethodPut, "/v2.0/routers/*", FeatureRoutes, "change the routes, if add_extraroutes does not exist"},
	{ServiceNetwork, http.MethodPut, "/v2.0/routers/*/add_extraroutes", FeatureRoutes, "add routes to Pods"},
	{ServiceNetwork, http.MethodPut, "/v2.0/routers/*/remove_extraroutes", FeatureRoutes, "remove routes to Pods"},
	{ServiceNetwork, http.MethodPut, "/v2.0/ports/*", FeatureRoutes, "let packets of Pods leave the port of their Node"},
	{ServiceNetwork, http.MethodPut, "/v2.0/ports/*/tags/*", FeatureRoutes, "tag a port that is the next hop of a route"},
	{ServiceNetwork, http.MethodDelete, "/v2.0/ports/*/tags/*", FeatureRoutes, "remove that tag"},

	{ServiceNetwork, http.MethodGet, "/v2.0/subnets/*", FeatureOctavia, "Octavia, with our token: check the subnet of a VIP or member"},
	{ServiceNetwork, http.MethodGet, "/v2.0/networks/*", FeatureOctavia, "Octavia, with our token: check the network of a VIP"},
	{ServiceNetwork, http.MethodGet, "/v2.0/ports/*", FeatureOctavia, "Octavia, with our token: check the port of a VIP"},
	{ServiceNetwork, http.MethodGet, groupsPath + "/*", FeatureVIPGroups, "Octavia, with our token: check the security groups of a VIP"},

	{ServiceNetwork, http.MethodDelete, "/v2.0/ports/*", FeatureCleanupCommand, "delete a VIP port that Octavia left behind"},

	{ServiceIdentity, http.MethodGet, "/v3/auth/projects", FeatureDoctorCommand, "find the projects of a user, if Keystone rejects the project of cloud.conf"},
	{ServiceLoadBalancer, http.MethodGet, "/v2.0/lbaas/flavors", FeatureDoctorCommand, "list the flavors, if one is used"},
	{ServiceLoadBalancer, http.MethodGet, "/v2.0/lbaas/availabilityzones", FeatureDoctorCommand, "list the availability zones, if one is used"},
	{ServiceNetwork, http.MethodGet, "/v2.0/quotas/*/details.json", FeatureDoctorCommand, "read the quota of the project and its usage"},
	{ServiceNetwork, http.MethodGet, "/v2.0/routers", FeatureDoctorCommand, "find the router between VIPs and the external network"},
	{ServiceNetwork, http.MethodGet, "/v2.0/network-ip-availabilities", FeatureDoctorCommand, "count free addresses"},

	{ServiceIdentity, http.MethodPost, credentialsPath, FeatureCredentialCommand, "create an application credential"},
	{ServiceIdentity, http.MethodDelete, credentialsPath + "/*", FeatureCredentialCommand, "delete an application credential"},
}

// All returns all calls except the request for a token.
func All() []Call { return slices.Clone(calls) }

// optional are the features that are used only if cloud.conf or a Service requests them, including those of
// additional.
var optional = []Feature{FeatureCertificates, FeatureSecurityGroups, FeatureNodes, FeatureRoutes}

// additional are the features that are used only with --controllers.
var additional = []Feature{FeatureNodes, FeatureRoutes}

// Additional returns the optional features for which an application credential gets access rules only on request.
func Additional() []Feature { return slices.Clone(additional) }

// OnRequest returns the features that only some Services need, and that application credentials of older versions lack.
// The access rules of a new one allow them. An older one is sufficient until a Service requests such a feature.
func OnRequest() []Feature { return []Feature{FeatureCertificateGrants, FeatureVIPGroups} }

// Optional returns the names, as in flags, of the features for which an application credential needs no access rules if
// they are not used.
func Optional() []string {
	var names []string
	for _, f := range optional {
		names = append(names, f.Name())
	}
	return names
}

// Name returns the feature as a word for flags: "security-groups".
func (f Feature) Name() string { return strings.ReplaceAll(string(f), " ", "-") }

// FindOptional returns the optional feature with the name.
func FindOptional(name string) (Feature, bool) {
	i := slices.IndexFunc(optional, func(f Feature) bool { return f.Name() == name })
	if i < 0 {
		return "", false
	}
	return optional[i], true
}

// FindAddress returns the kind of a request from the path of its complete URL, which may begin with the path of the
// service.
func FindAddress(method, path string) (Call, bool) {
	for _, c := range calls {
		for rest := path; c.Method == method && c.Path != "/" && rest != ""; {
			if c.matches(rest) {
				return c, true
			}
			_, after, _ := strings.Cut(rest[1:], "/")
			rest = "/" + after
			if after == "" {
				break
			}
		}
	}
	return Call{}, false
}

// String returns the call as "GET /v2.0/ports of network".
func (c Call) String() string { return c.Method + " " + c.Path + " of " + c.Service }

// Find returns the kind of a request. path is the one that the service sees. It returns false if the call is
// not listed.
func Find(service, method, path string) (Call, bool) {
	for _, c := range calls {
		if c.Service == service && c.Method == method && c.matches(path) {
			return c, true
		}
	}
	return Call{}, false
}

func (c Call) matches(path string) bool {
	want, got := strings.Split(c.Path, "/"), strings.Split(path, "/")
	return len(want) == len(got) && !slices.ContainsFunc(want, func(segment string) bool {
		other := got[0]
		got = got[1:]
		return segment != other && (segment != "*" || other == "")
	})
}
