// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calltable lists the calls that the program makes of OpenStack: what the access rules
// of application credentials come from. It may import nothing of the project.
package calltable

import (
	"net/http"
	"slices"
	"strings"
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
	{ServiceIdentity, http.MethodGet, credentialsPath + "/*", FeatureSession, "read when the application credential in use expires"},
	{ServiceIdentity, http.MethodGet, "/v3/OS-TRUST/trusts/*", FeatureSession, "read when the trust in use expires"},
	{ServiceLoadBalancer, http.MethodGet, "/", FeatureSession, "learn what this Octavia can do"},

	{ServiceLoadBalancer, http.MethodGet, balancersPath, FeatureLoadBalancers, "find a load balancer by name; see what changed"},
	{ServiceLoadBalancer, http.MethodPost, balancersPath, FeatureLoadBalancers, "create a load balancer"},
	{ServiceLoadBalancer, http.MethodGet, balancersPath + "/*", FeatureLoadBalancers, "read a load balancer; see whether Octavia has ended its work"},
	{ServiceLoadBalancer, http.MethodPut, balancersPath + "/*", FeatureLoadBalancers, "set name, description and tags"},
	{ServiceLoadBalancer, http.MethodDelete, balancersPath + "/*", FeatureLoadBalancers, "delete a load balancer and all below it"},
	{ServiceLoadBalancer, http.MethodGet, balancersPath + "/*/status", FeatureLoadBalancers, "see that all parts are as they should be"},
	{ServiceLoadBalancer, http.MethodPut, balancersPath + "/*/failover", FeatureLoadBalancers, "have a load balancer that failed rebuilt, where the policy allows it"},
	{ServiceLoadBalancer, http.MethodGet, listenersPath, FeatureLoadBalancers, "read the listeners of a load balancer; see whether one has a certificate that is to be deleted"},
	{ServiceLoadBalancer, http.MethodPost, listenersPath, FeatureLoadBalancers, "open a port"},
	{ServiceLoadBalancer, http.MethodPut, listenersPath + "/*", FeatureLoadBalancers, "change who may connect to a port, and its pool"},
	{ServiceLoadBalancer, http.MethodDelete, listenersPath + "/*", FeatureLoadBalancers, "close a port"},
	{ServiceLoadBalancer, http.MethodGet, poolsPath, FeatureLoadBalancers, "read the pools of a load balancer"},
	{ServiceLoadBalancer, http.MethodPost, poolsPath, FeatureLoadBalancers, "make a port's pool"},
	{ServiceLoadBalancer, http.MethodPut, poolsPath + "/*", FeatureLoadBalancers, "change how a pool balances"},
	{ServiceLoadBalancer, http.MethodDelete, poolsPath + "/*", FeatureLoadBalancers, "delete a pool"},
	{ServiceLoadBalancer, http.MethodGet, poolsPath + "/*/members", FeatureLoadBalancers, "read the members of a pool"},
	{ServiceLoadBalancer, http.MethodPut, poolsPath + "/*/members", FeatureLoadBalancers, "let a pool follow the nodes"},
	{ServiceLoadBalancer, http.MethodGet, monitorsPath, FeatureLoadBalancers, "read the health monitors of a load balancer"},
	{ServiceLoadBalancer, http.MethodPost, monitorsPath, FeatureLoadBalancers, "give a pool a health monitor"},
	{ServiceLoadBalancer, http.MethodGet, monitorsPath + "/*", FeatureLoadBalancers, "read the health monitor of a pool"},
	{ServiceLoadBalancer, http.MethodPut, monitorsPath + "/*", FeatureLoadBalancers, "change a health monitor"},
	{ServiceLoadBalancer, http.MethodDelete, monitorsPath + "/*", FeatureLoadBalancers, "delete a health monitor"},

	{ServiceNetwork, http.MethodGet, floatingIPsPath, FeatureFloatingIPs, "find floating IPs by port or address"},
	{ServiceNetwork, http.MethodPost, floatingIPsPath, FeatureFloatingIPs, "make a floating IP"},
	{ServiceNetwork, http.MethodPut, floatingIPsPath + "/*", FeatureFloatingIPs, "attach and detach a floating IP"},
	{ServiceNetwork, http.MethodPut, floatingIPsPath + "/*/tags", FeatureFloatingIPs, "set the tags that are asked for on a floating IP"},
	{ServiceNetwork, http.MethodDelete, floatingIPsPath + "/*", FeatureFloatingIPs, "delete a floating IP"},

	{ServiceNetwork, http.MethodGet, "/v2.0/networks", FeatureNetworks, "find the external network; see whose a network is"},
	{ServiceNetwork, http.MethodGet, "/v2.0/subnets", FeatureNetworks, "find an external network that has IPv4; read from where load balancers reach the nodes, and at which of several addresses"},
	{ServiceNetwork, http.MethodGet, "/v2.0/ports", FeatureNetworks, "see whether VIP ports are gone; find the subnet and the ports of the nodes"},

	{ServiceNetwork, http.MethodGet, groupsPath, FeatureSecurityGroups, "find the security groups of the nodes, and see what changed"},
	{ServiceNetwork, http.MethodPost, groupsPath, FeatureSecurityGroups, "make the security groups of the nodes"},
	{ServiceNetwork, http.MethodDelete, groupsPath + "/*", FeatureSecurityGroups, "delete that of a Service that goes, one that is replaced, or a second one after a create whose answer was lost"},
	{ServiceNetwork, http.MethodPost, rulesPath, FeatureSecurityGroups, "let load balancers reach NodePorts"},
	{ServiceNetwork, http.MethodDelete, rulesPath + "/*", FeatureSecurityGroups, "close NodePorts that no Service has any more"},
	{ServiceNetwork, http.MethodPut, "/v2.0/ports/*", FeatureSecurityGroups, "put security groups on the ports of nodes, and take them off"},

	{ServiceKeyManager, http.MethodGet, secretsPath, FeatureCertificates, "find the certificates that were stored for Services"},
	{ServiceKeyManager, http.MethodPost, secretsPath, FeatureCertificates, "store the certificate of a Kubernetes Secret that a Service names"},
	{ServiceKeyManager, http.MethodGet, secretsPath + "/*", FeatureCertificates, "see that a certificate is there before it is used"},
	{ServiceKeyManager, http.MethodDelete, secretsPath + "/*", FeatureCertificates, "delete such a certificate when nothing uses it any more"},
	{ServiceKeyManager, http.MethodGet, containerPath, FeatureCertificates, "see that a certificate in a container is there before it is used"},

	{ServiceNetwork, http.MethodGet, "/v2.0/subnets/*", FeatureOctavia, "Octavia asks with our token: is there the subnet of a VIP or a member"},
	{ServiceNetwork, http.MethodGet, "/v2.0/networks/*", FeatureOctavia, "Octavia asks with our token: is there the network of a VIP"},
	{ServiceNetwork, http.MethodGet, "/v2.0/ports/*", FeatureOctavia, "Octavia asks with our token: is there the port of a VIP"},

	{ServiceIdentity, http.MethodPost, credentialsPath, FeatureCredentialCommand, "make an application credential"},
	{ServiceIdentity, http.MethodDelete, credentialsPath + "/*", FeatureCredentialCommand, "delete an application credential"},
}

// All returns all kinds of requests that the program makes, but for the one for a token.
func All() []Call { return slices.Clone(calls) }

// String is the call as people write it: "GET /v2.0/ports of network".
func (c Call) String() string { return c.Method + " " + c.Path + " of " + c.Service }

// Find returns the kind of a request: path is the one that the service sees. False means that it stands in no table.
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
