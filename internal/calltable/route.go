// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package calltable

import (
	"net/url"
	"slices"
	"strings"
	"sync"
)

// The services, by the names that metrics and logs give them. They are the types of the catalogue.
const (
	ServiceIdentity     = "identity"
	ServiceNetwork      = "network"
	ServiceLoadBalancer = "load-balancer"
	ServiceKeyManager   = "key-manager"
	ServiceOther        = "other"
)

// Routes tells of an address which service it belongs to and, with ids taken out, which route. There are as many routes as
// the words below can make, however many objects there are.
type Routes struct {
	mu    sync.RWMutex
	bases []base // the longest first
}

type base struct{ service, host, path string }

// Add makes the addresses below endpoint those of service.
func (r *Routes) Add(service, endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return // an endpoint that cannot be parsed cannot be called either
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bases = append(r.bases, base{service: service, host: u.Host, path: strings.TrimSuffix(u.Path, "/")})
	slices.SortStableFunc(r.bases, func(a, b base) int { return len(b.path) - len(a.path) })
}

// Find returns the service and route of an address: "load-balancer", "/v2.0/lbaas/loadbalancers/{id}".
func (r *Routes) Find(u *url.URL) (service, route string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, b := range r.bases {
		if rest, below := strings.CutPrefix(u.Path, b.path); u.Host == b.host && below && (rest == "" || rest[0] == '/') {
			return b.service, template(rest)
		}
	}
	return ServiceOther, "/"
}

// maxSegments bounds the length of a route; no API goes that deep.
const maxSegments = 8

// template replaces what is not a word of an API by {id}.
func template(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) > maxSegments {
		segments = segments[:maxSegments]
	}
	for i, s := range segments {
		if s != "" && !words[s] {
			segments[i] = "{id}"
		}
	}
	return "/" + strings.Join(segments, "/")
}

// words are the fixed parts of the routes in use.
var words = wordSet(
	"v2 v2.0 v2.1 v3 auth tokens users application_credentials access_rules OS-TRUST trusts",
	"lbaas octavia loadbalancers listeners pools members healthmonitors l7policies rules status stats failover quotas defaults",
	"flavors flavorprofiles availabilityzones providers capabilities amphorae",
	"networks subnets ports floatingips routers security-groups security-group-rules tags extensions subnetpools",
	"add_router_interface remove_router_interface details",
	"servers detail os-interface os-security-groups",
	"v1 secrets containers",
)

func wordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		for _, word := range strings.Fields(line) {
			set[word] = true
		}
	}
	return set
}
