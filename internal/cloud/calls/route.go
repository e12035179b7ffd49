// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Names of services in metrics and logs, which are their types in the catalogue.
const (
	ServiceIdentity     = "identity"
	ServiceNetwork      = "network"
	ServiceLoadBalancer = "load-balancer"
	ServiceKeyManager   = "key-manager"
	ServiceCompute      = "compute"
	ServiceOther        = "other"
)

// Routes maps URLs to services and routes, which contain no ids. The words below limit the number of routes,
// regardless of the number of objects.
type Routes struct {
	mu    sync.RWMutex
	bases []base // the longest first
}

type base struct{ service, host, path string }

// Add registers the endpoint of a service.
func (r *Routes) Add(service, endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return // an unparsable endpoint cannot be called either
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bases = append(r.bases, base{service: service, host: u.Host, path: strings.TrimSuffix(u.Path, "/")})
	slices.SortStableFunc(r.bases, func(a, b base) int { return len(b.path) - len(a.path) })
}

// Find returns the service and route of a URL: "load-balancer", "/v2.0/lbaas/loadbalancers/{id}".
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

// maxSegments limits the length of a route; no API has longer ones.
const maxSegments = 8

// template replaces every segment that is not a word of an API by {id}.
func template(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	segments = segments[:min(len(segments), maxSegments)]
	for i, s := range segments {
		if s != "" && !words.Has(s) {
			segments[i] = "{id}"
		}
	}
	return "/" + strings.Join(segments, "/")
}

// words has the fixed parts of the routes.
var words = sets.New(strings.Fields(`
	v2 v2.0 v2.1 v3 auth tokens users application_credentials access_rules OS-TRUST trusts
	lbaas octavia loadbalancers listeners pools members healthmonitors l7policies rules status stats failover quotas defaults
	flavors flavorprofiles availabilityzones providers capabilities amphorae
	networks subnets ports floatingips routers security-groups security-group-rules tags extensions subnetpools
	add_router_interface remove_router_interface add_extraroutes remove_extraroutes details
	servers detail os-interface os-security-groups
	v1 secrets containers
`)...)
