// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
)

// Call is one kind of request that this program makes.
type Call struct {
	// Service is the type of the service in the catalogue.
	Service string
	Method  string
	// Path is below the service's address, with * for each id: the form of Keystone's access rules.
	Path string
	// Feature is the part of the program that makes the call.
	Feature Feature
	// Purpose says what for.
	Purpose string
}

// Feature is a part of the program, by which the calls are grouped.
type Feature string

// The features.
const (
	FeatureSession       Feature = "session"
	FeatureLoadBalancers Feature = "load balancers"
	FeatureFloatingIPs   Feature = "floating IPs"
	FeatureNetworks      Feature = "networks"
	// FeatureCertificates is for Services that end TLS.
	FeatureCertificates Feature = "certificates"
	// FeatureSecurityGroups is used where cloud.conf says manage-security-groups.
	FeatureSecurityGroups Feature = "security groups"
	// FeatureOctavia is what Octavia itself asks of Neutron with the token of the request that it checks, and is held to
	// the same access rules.
	FeatureOctavia Feature = "checks by Octavia"
	// FeatureCredentialCommand is `kube-octavia credential`, which runs with a person's own login. No access rule is made of
	// its calls.
	FeatureCredentialCommand Feature = "credential command"
)

const (
	balancersPath   = "/v2.0/lbaas/loadbalancers"
	listenersPath   = "/v2.0/lbaas/listeners"
	poolsPath       = "/v2.0/lbaas/pools"
	monitorsPath    = "/v2.0/lbaas/healthmonitors"
	floatingIPsPath = "/v2.0/floatingips"
	groupsPath      = "/v2.0/security-groups"
	rulesPath       = "/v2.0/security-group-rules"
	credentialsPath = "/v3/users/*/application_credentials"
	secretsPath     = "/v1/secrets"
	containerPath   = "/v1/containers/*"
)

// calls is the one list of all calls. What is not on it an application credential that was made by `kube-octavia credential
// create` may not do, and a test compares it with the calls that all end-to-end tests made.
var calls = []Call{
	{serviceIdentity, http.MethodGet, credentialsPath + "/*", FeatureSession, "read the expiry of the application credential in use"},
	{serviceIdentity, http.MethodGet, "/v3/OS-TRUST/trusts/*", FeatureSession, "read the expiry of the trust in use"},
	{serviceLoadBalancer, http.MethodGet, "/", FeatureSession, "read the API versions of Octavia"},

	{serviceLoadBalancer, http.MethodGet, balancersPath, FeatureLoadBalancers, "find a load balancer by name; detect drift"},
	{serviceLoadBalancer, http.MethodPost, balancersPath, FeatureLoadBalancers, "create a load balancer"},
	{serviceLoadBalancer, http.MethodGet, balancersPath + "/*", FeatureLoadBalancers, "read a load balancer and its status"},
	{serviceLoadBalancer, http.MethodPut, balancersPath + "/*", FeatureLoadBalancers, "set name, description and tags"},
	{serviceLoadBalancer, http.MethodDelete, balancersPath + "/*", FeatureLoadBalancers, "delete a load balancer and its children"},
	{serviceLoadBalancer, http.MethodGet, balancersPath + "/*/status", FeatureLoadBalancers, "check the status of all children"},
	{serviceLoadBalancer, http.MethodPut, balancersPath + "/*/failover", FeatureLoadBalancers, "fail over a load balancer, if the policy allows it"},
	{serviceLoadBalancer, http.MethodGet, listenersPath, FeatureLoadBalancers, "read the listeners of a load balancer; check that no listener uses a certificate before it is deleted"},
	{serviceLoadBalancer, http.MethodPost, listenersPath, FeatureLoadBalancers, "create the listener of a port"},
	{serviceLoadBalancer, http.MethodPut, listenersPath + "/*", FeatureLoadBalancers, "change a listener, such as its source ranges and pool"},
	{serviceLoadBalancer, http.MethodDelete, listenersPath + "/*", FeatureLoadBalancers, "delete the listener of a port"},
	{serviceLoadBalancer, http.MethodGet, poolsPath, FeatureLoadBalancers, "read the pools of a load balancer"},
	{serviceLoadBalancer, http.MethodPost, poolsPath, FeatureLoadBalancers, "create the pool of a port"},
	{serviceLoadBalancer, http.MethodPut, poolsPath + "/*", FeatureLoadBalancers, "change a pool"},
	{serviceLoadBalancer, http.MethodDelete, poolsPath + "/*", FeatureLoadBalancers, "delete a pool"},
	{serviceLoadBalancer, http.MethodGet, poolsPath + "/*/members", FeatureLoadBalancers, "read the members of a pool"},
	{serviceLoadBalancer, http.MethodPut, poolsPath + "/*/members", FeatureLoadBalancers, "update the members of a pool"},
	{serviceLoadBalancer, http.MethodGet, monitorsPath, FeatureLoadBalancers, "read the health monitors of a load balancer"},
	{serviceLoadBalancer, http.MethodPost, monitorsPath, FeatureLoadBalancers, "create the health monitor of a pool"},
	{serviceLoadBalancer, http.MethodGet, monitorsPath + "/*", FeatureLoadBalancers, "read the health monitor of a pool"},
	{serviceLoadBalancer, http.MethodPut, monitorsPath + "/*", FeatureLoadBalancers, "change a health monitor"},
	{serviceLoadBalancer, http.MethodDelete, monitorsPath + "/*", FeatureLoadBalancers, "delete a health monitor"},

	{serviceNetwork, http.MethodGet, floatingIPsPath, FeatureFloatingIPs, "find floating IPs by port or address"},
	{serviceNetwork, http.MethodPost, floatingIPsPath, FeatureFloatingIPs, "create a floating IP"},
	{serviceNetwork, http.MethodPut, floatingIPsPath + "/*", FeatureFloatingIPs, "attach and detach a floating IP"},
	{serviceNetwork, http.MethodPut, floatingIPsPath + "/*/tags", FeatureFloatingIPs, "set custom tags of a floating IP"},
	{serviceNetwork, http.MethodDelete, floatingIPsPath + "/*", FeatureFloatingIPs, "delete a floating IP"},

	{serviceNetwork, http.MethodGet, "/v2.0/networks", FeatureNetworks, "find the external network; check the owner of a network"},
	{serviceNetwork, http.MethodGet, "/v2.0/subnets", FeatureNetworks, "find an external network with IPv4; read the subnets of VIPs and members"},
	{serviceNetwork, http.MethodGet, "/v2.0/ports", FeatureNetworks, "check that VIP ports are deleted; find the ports and subnets of the nodes"},

	{serviceNetwork, http.MethodGet, groupsPath, FeatureSecurityGroups, "find the security groups of the nodes and detect drift"},
	{serviceNetwork, http.MethodPost, groupsPath, FeatureSecurityGroups, "create the security groups of the nodes"},
	{serviceNetwork, http.MethodDelete, groupsPath + "/*", FeatureSecurityGroups, "delete the group of a deleted Service, a replaced group, or a duplicate"},
	{serviceNetwork, http.MethodPost, rulesPath, FeatureSecurityGroups, "allow load balancers to reach NodePorts"},
	{serviceNetwork, http.MethodDelete, rulesPath + "/*", FeatureSecurityGroups, "remove access to unused NodePorts"},
	{serviceNetwork, http.MethodPut, "/v2.0/ports/*", FeatureSecurityGroups, "attach security groups to the ports of nodes, and detach them"},

	{serviceKeyManager, http.MethodGet, secretsPath, FeatureCertificates, "list the certificates that kube-octavia stored"},
	{serviceKeyManager, http.MethodPost, secretsPath, FeatureCertificates, "store the certificate of a Kubernetes Secret"},
	{serviceKeyManager, http.MethodGet, secretsPath + "/*", FeatureCertificates, "check that a certificate exists before it is used"},
	{serviceKeyManager, http.MethodDelete, secretsPath + "/*", FeatureCertificates, "delete a stored certificate that nothing uses"},
	{serviceKeyManager, http.MethodGet, containerPath, FeatureCertificates, "check that a certificate container exists before it is used"},

	{serviceNetwork, http.MethodGet, "/v2.0/subnets/*", FeatureOctavia, "Octavia, with our token: check the subnet of a VIP or member"},
	{serviceNetwork, http.MethodGet, "/v2.0/networks/*", FeatureOctavia, "Octavia, with our token: check the network of a VIP"},
	{serviceNetwork, http.MethodGet, "/v2.0/ports/*", FeatureOctavia, "Octavia, with our token: check the port of a VIP"},

	{serviceIdentity, http.MethodPost, credentialsPath, FeatureCredentialCommand, "create an application credential"},
	{serviceIdentity, http.MethodDelete, credentialsPath + "/*", FeatureCredentialCommand, "delete an application credential"},
}

// Calls returns all kinds of requests that the program makes, but for the one for a token.
func Calls() []Call { return slices.Clone(calls) }

// String is the call as people write it: "GET /v2.0/ports of network".
func (c Call) String() string { return c.Method + " " + c.Path + " of " + c.Service }

// FindCall returns the kind of a request: path is the one that the service sees. False means that it stands in no table.
func FindCall(service, method, path string) (Call, bool) {
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

// MissingRules returns the calls that the application credential in use may not make, although the program does make them: it
// was made for an older version. Of credentials without access rules there are none.
func (s *Session) MissingRules() []Call {
	result, ok := s.provider.GetAuthResult().(tokenResult)
	if !ok {
		return nil
	}
	var t struct {
		ApplicationCredential struct {
			AccessRules []applicationcredentials.AccessRule `json:"access_rules"`
		} `json:"application_credential"`
	}
	if result.ExtractInto(&t) != nil || t.ApplicationCredential.AccessRules == nil {
		return nil
	}
	return missingRules(t.ApplicationCredential.AccessRules)
}

// missingRules returns the calls that none of the rules allows. Rules that other programs wrote may have {name} for *, and **
// for any number of segments: of those with ** the calls of the service count as allowed.
func missingRules(rules []applicationcredentials.AccessRule) []Call {
	var missing []Call
	for _, c := range calls {
		allowed := c.Feature == FeatureCredentialCommand || slices.ContainsFunc(rules, func(r applicationcredentials.AccessRule) bool {
			path := placeholder.ReplaceAllString(r.Path, "*")
			return r.Service == c.Service && r.Method == c.Method && (strings.Contains(path, "**") || strings.HasSuffix(path, c.Path))
		})
		if !allowed {
			missing = append(missing, c)
		}
	}
	return missing
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// accessRules returns what an application credential must be allowed to do so that the program can work with it. roots are
// the addresses of the services, by type. A service that is published below a path may or may not see that path, which is the
// choice of whoever installed it, so there is a rule for each.
func accessRules(roots map[string]string) []applicationcredentials.AccessRule {
	var rules []applicationcredentials.AccessRule
	for _, c := range calls {
		if c.Feature == FeatureCredentialCommand {
			continue
		}
		prefixes := []string{""}
		if u, err := url.Parse(roots[c.Service]); err == nil && strings.Trim(u.Path, "/") != "" {
			prefixes = append(prefixes, strings.TrimSuffix(u.Path, "/"))
		}
		for _, prefix := range prefixes {
			rules = append(rules, applicationcredentials.AccessRule{Service: c.Service, Method: c.Method, Path: prefix + c.Path})
		}
	}
	return rules
}
