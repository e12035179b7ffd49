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
	{serviceIdentity, http.MethodGet, credentialsPath + "/*", FeatureSession, "read when the application credential in use expires"},
	{serviceIdentity, http.MethodGet, "/v3/OS-TRUST/trusts/*", FeatureSession, "read when the trust in use expires"},
	{serviceLoadBalancer, http.MethodGet, "/", FeatureSession, "learn what this Octavia can do"},

	{serviceLoadBalancer, http.MethodGet, balancersPath, FeatureLoadBalancers, "find a load balancer by name; see what changed"},
	{serviceLoadBalancer, http.MethodPost, balancersPath, FeatureLoadBalancers, "create a load balancer"},
	{serviceLoadBalancer, http.MethodGet, balancersPath + "/*", FeatureLoadBalancers, "read a load balancer; see whether Octavia has ended its work"},
	{serviceLoadBalancer, http.MethodPut, balancersPath + "/*", FeatureLoadBalancers, "set name, description and tags"},
	{serviceLoadBalancer, http.MethodDelete, balancersPath + "/*", FeatureLoadBalancers, "delete a load balancer and all below it"},
	{serviceLoadBalancer, http.MethodGet, balancersPath + "/*/status", FeatureLoadBalancers, "see that all parts are as they should be"},
	{serviceLoadBalancer, http.MethodPut, balancersPath + "/*/failover", FeatureLoadBalancers, "have a load balancer that failed rebuilt, where the policy allows it"},
	{serviceLoadBalancer, http.MethodGet, listenersPath, FeatureLoadBalancers, "read the listeners of a load balancer; see whether one has a certificate that is to be deleted"},
	{serviceLoadBalancer, http.MethodPost, listenersPath, FeatureLoadBalancers, "open a port"},
	{serviceLoadBalancer, http.MethodPut, listenersPath + "/*", FeatureLoadBalancers, "change who may connect to a port, and its pool"},
	{serviceLoadBalancer, http.MethodDelete, listenersPath + "/*", FeatureLoadBalancers, "close a port"},
	{serviceLoadBalancer, http.MethodGet, poolsPath, FeatureLoadBalancers, "read the pools of a load balancer"},
	{serviceLoadBalancer, http.MethodPost, poolsPath, FeatureLoadBalancers, "make a port's pool"},
	{serviceLoadBalancer, http.MethodPut, poolsPath + "/*", FeatureLoadBalancers, "change how a pool balances"},
	{serviceLoadBalancer, http.MethodDelete, poolsPath + "/*", FeatureLoadBalancers, "delete a pool"},
	{serviceLoadBalancer, http.MethodGet, poolsPath + "/*/members", FeatureLoadBalancers, "read the members of a pool"},
	{serviceLoadBalancer, http.MethodPut, poolsPath + "/*/members", FeatureLoadBalancers, "let a pool follow the nodes"},
	{serviceLoadBalancer, http.MethodGet, monitorsPath, FeatureLoadBalancers, "read the health monitors of a load balancer"},
	{serviceLoadBalancer, http.MethodPost, monitorsPath, FeatureLoadBalancers, "give a pool a health monitor"},
	{serviceLoadBalancer, http.MethodGet, monitorsPath + "/*", FeatureLoadBalancers, "read the health monitor of a pool"},
	{serviceLoadBalancer, http.MethodPut, monitorsPath + "/*", FeatureLoadBalancers, "change a health monitor"},
	{serviceLoadBalancer, http.MethodDelete, monitorsPath + "/*", FeatureLoadBalancers, "delete a health monitor"},

	{serviceNetwork, http.MethodGet, floatingIPsPath, FeatureFloatingIPs, "find floating IPs by port or address"},
	{serviceNetwork, http.MethodPost, floatingIPsPath, FeatureFloatingIPs, "make a floating IP"},
	{serviceNetwork, http.MethodPut, floatingIPsPath + "/*", FeatureFloatingIPs, "attach and detach a floating IP"},
	{serviceNetwork, http.MethodPut, floatingIPsPath + "/*/tags", FeatureFloatingIPs, "set the tags that are asked for on a floating IP"},
	{serviceNetwork, http.MethodDelete, floatingIPsPath + "/*", FeatureFloatingIPs, "delete a floating IP"},

	{serviceNetwork, http.MethodGet, "/v2.0/networks", FeatureNetworks, "find the external network; see whose a network is"},
	{serviceNetwork, http.MethodGet, "/v2.0/subnets", FeatureNetworks, "find an external network that has IPv4; read from where load balancers reach the nodes, and at which of several addresses"},
	{serviceNetwork, http.MethodGet, "/v2.0/ports", FeatureNetworks, "see whether VIP ports are gone; find the subnet and the ports of the nodes"},

	{serviceNetwork, http.MethodGet, groupsPath, FeatureSecurityGroups, "find the security groups of the nodes, and see what changed"},
	{serviceNetwork, http.MethodPost, groupsPath, FeatureSecurityGroups, "make the security groups of the nodes"},
	{serviceNetwork, http.MethodDelete, groupsPath + "/*", FeatureSecurityGroups, "delete that of a Service that goes, one that is replaced, or a second one after a create whose answer was lost"},
	{serviceNetwork, http.MethodPost, rulesPath, FeatureSecurityGroups, "let load balancers reach NodePorts"},
	{serviceNetwork, http.MethodDelete, rulesPath + "/*", FeatureSecurityGroups, "close NodePorts that no Service has any more"},
	{serviceNetwork, http.MethodPut, "/v2.0/ports/*", FeatureSecurityGroups, "put security groups on the ports of nodes, and take them off"},

	{serviceKeyManager, http.MethodGet, secretsPath, FeatureCertificates, "find the certificates that were stored for Services"},
	{serviceKeyManager, http.MethodPost, secretsPath, FeatureCertificates, "store the certificate of a Kubernetes Secret that a Service names"},
	{serviceKeyManager, http.MethodGet, secretsPath + "/*", FeatureCertificates, "see that a certificate is there before it is used"},
	{serviceKeyManager, http.MethodDelete, secretsPath + "/*", FeatureCertificates, "delete such a certificate when nothing uses it any more"},
	{serviceKeyManager, http.MethodGet, containerPath, FeatureCertificates, "see that a certificate in a container is there before it is used"},

	{serviceNetwork, http.MethodGet, "/v2.0/subnets/*", FeatureOctavia, "Octavia asks with our token: is there the subnet of a VIP or a member"},
	{serviceNetwork, http.MethodGet, "/v2.0/networks/*", FeatureOctavia, "Octavia asks with our token: is there the network of a VIP"},
	{serviceNetwork, http.MethodGet, "/v2.0/ports/*", FeatureOctavia, "Octavia asks with our token: is there the port of a VIP"},

	{serviceIdentity, http.MethodPost, credentialsPath, FeatureCredentialCommand, "make an application credential"},
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
