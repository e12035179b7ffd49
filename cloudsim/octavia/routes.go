// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// request is one call of the API.
type request struct {
	*http.Request
	who   wire.Identity
	query url.Values
	body  []byte
}

// answer is what a call is answered with; an empty body sends none.
type answer struct {
	status int
	body   []byte
}

type handler func(*request) (answer, error)

// bases are the paths that all resources are under; clients mostly use the
// first.
var bases = []string{"/v2.0/lbaas", "/v2/lbaas", "/v2.0", "/v2"}

// Mux returns the API's routes: the versions at "/", everything else under
// /v2.0/lbaas/, /v2/lbaas/, /v2.0/ and /v2/. "GET /{$}" is the only route that
// needs no token.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.versions)
	for _, base := range bases {
		mux.HandleFunc("GET "+base, func(w http.ResponseWriter, _ *http.Request) { wire.JSON(w, http.StatusOK, "v2") })
		route := func(method, path string, h handler) {
			mux.HandleFunc(method+" "+base+path, serve(h))
			mux.HandleFunc(method+" "+base+path+"/{$}", serve(h))
		}
		s.treeRoutes(route)
		s.catalogueRoutes(route)
		oddRoutes(route, map[string]handler{
			"loadbalancers": s.showLoadBalancer, "listeners": s.showListener, "pools": s.showPool, "l7policies": s.showPolicy, "healthmonitors": s.showMonitor,
		})
	}
	return mux
}

// oddRoutes are what the real service makes of paths and methods that nobody
// means: what follows an id is a field to show, and a change must have an id.
func oddRoutes(route func(method, path string, h handler), show map[string]handler) {
	for _, collection := range sortedKeys(show) {
		route("GET", "/"+collection+"/{id}/{field}", func(r *request) (answer, error) {
			r.query.Set("fields", r.PathValue("field"))
			return show[collection](r)
		})
		for _, method := range []string{"PUT", "DELETE"} {
			route(method, "/"+collection, func(*request) (answer, error) {
				return answer{}, faultf(http.StatusBadRequest, "Missing argument: %q", "id")
			})
		}
	}
}

func (s *Service) treeRoutes(route func(method, path string, h handler)) {
	route("GET", "/loadbalancers", s.listLoadBalancers)
	route("POST", "/loadbalancers", s.createLoadBalancer)
	route("GET", "/loadbalancers/{id}", s.showLoadBalancer)
	route("PUT", "/loadbalancers/{id}", s.updateLoadBalancer)
	route("DELETE", "/loadbalancers/{id}", s.deleteLoadBalancer)
	route("GET", "/loadbalancers/{id}/status", s.loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/statuses", s.loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/stats", s.loadBalancerStats)
	route("PUT", "/loadbalancers/{id}/failover", s.failover)

	route("GET", "/listeners", s.listListeners)
	route("POST", "/listeners", s.createListener)
	route("GET", "/listeners/{id}", s.showListener)
	route("PUT", "/listeners/{id}", s.updateListener)
	route("DELETE", "/listeners/{id}", s.deleteListener)
	route("GET", "/listeners/{id}/stats", s.listenerStats)

	route("GET", "/pools", s.listPools)
	route("POST", "/pools", s.createPool)
	route("GET", "/pools/{id}", s.showPool)
	route("PUT", "/pools/{id}", s.updatePool)
	route("DELETE", "/pools/{id}", s.deletePool)

	route("GET", "/pools/{id}/members", s.listMembers)
	route("POST", "/pools/{id}/members", s.createMember)
	route("PUT", "/pools/{id}/members", s.replaceMembers)
	route("GET", "/pools/{id}/members/{member}", s.showMember)
	route("PUT", "/pools/{id}/members/{member}", s.updateMember)
	route("DELETE", "/pools/{id}/members/{member}", s.deleteMember)

	route("GET", "/l7policies", s.listPolicies)
	route("POST", "/l7policies", s.createPolicy)
	route("GET", "/l7policies/{id}", s.showPolicy)
	route("PUT", "/l7policies/{id}", s.updatePolicy)
	route("DELETE", "/l7policies/{id}", s.deletePolicy)

	route("GET", "/l7policies/{id}/rules", s.listRules)
	route("POST", "/l7policies/{id}/rules", s.createRule)
	route("GET", "/l7policies/{id}/rules/{rule}", s.showRule)
	route("PUT", "/l7policies/{id}/rules/{rule}", s.updateRule)
	route("DELETE", "/l7policies/{id}/rules/{rule}", s.deleteRule)

	route("GET", "/healthmonitors", s.listMonitors)
	route("POST", "/healthmonitors", s.createMonitor)
	route("GET", "/healthmonitors/{id}", s.showMonitor)
	route("PUT", "/healthmonitors/{id}", s.updateMonitor)
	route("DELETE", "/healthmonitors/{id}", s.deleteMonitor)
}

func serve(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone away
		}
		a, err := h(&request{Request: r, who: wire.Caller(r.Context()), query: r.URL.Query(), body: body})
		if err != nil {
			writeFault(w, err)
			return
		}
		if len(a.body) > 0 {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have gone away
	}
}

// document returns an empty answer body for the request. Its ?fields= count for
// GET only.
func (s *Service) document(r *request) *document {
	if r.Method != http.MethodGet {
		return newDocument(s.version(), nil)
	}
	return newDocument(s.version(), r.query["fields"])
}

// one answers with a single resource: {"key": {...}}.
func (s *Service) one(r *request, status int, key string, render func(*document)) answer {
	return answer{status, s.document(r).one(key, render)}
}

func list[T row](s *Service, r *request, l listing[T]) (answer, error) {
	body, err := l.write(s.document(r), r.Request, r.query)
	return answer{http.StatusOK, body}, err
}

// flag reads a boolean query parameter the way Octavia does: what is not
// understood is false.
func (r *request) flag(name string) bool {
	v := r.query.Get(name)
	b, err := strconv.ParseBool(v)
	return err == nil && b || v == "yes" || v == "on" || v == "y"
}

// The roles that Octavia's policy knows, besides admin.
const (
	roleAdmin          = "load-balancer_admin"
	roleMember         = "load-balancer_member"
	roleObserver       = "load-balancer_observer"
	roleGlobalObserver = "load-balancer_global_observer"
)

func (r *request) admin() bool { return r.who.Admin() || r.who.HasRole(roleAdmin) }

func (r *request) seesAll() bool { return r.admin() || r.who.HasRole(roleGlobalObserver) }

func (r *request) mayRead(project string) error {
	own := r.who.ProjectID == project && (r.who.HasRole(roleMember) || r.who.HasRole(roleObserver))
	if !own && !r.seesAll() {
		return errForbidden
	}
	return nil
}

func (r *request) mayWrite(project string) error {
	if !r.admin() && (r.who.ProjectID != project || !r.who.HasRole(roleMember)) {
		return errForbidden
	}
	return nil
}

func (r *request) mayAdmin() error {
	if !r.admin() {
		return errForbidden
	}
	return nil
}

// access finds an object, with the policy: mayRead or mayWrite.
func access[T any](found T, ok bool, resource, id string, project func(T) string, may func(string) error) (T, error) {
	var none T
	if !ok {
		return none, notFound(resource, id)
	}
	if err := may(project(found)); err != nil {
		return none, err
	}
	return found, nil
}

func (s *Service) loadBalancer(id string, may func(string) error) (*loadBalancer, error) {
	lb, ok := s.lbs[parseID(id)]
	return access(lb, ok, "Load Balancer", id, func(lb *loadBalancer) string { return lb.project }, may)
}

func (s *Service) listener(id string, may func(string) error) (*listener, error) {
	l, ok := s.listeners[parseID(id)]
	return access(l, ok, "Listener", id, func(l *listener) string { return l.lb.project }, may)
}

func (s *Service) pool(id string, may func(string) error) (*pool, error) {
	p, ok := s.pools[parseID(id)]
	return access(p, ok, "Pool", id, func(p *pool) string { return p.lb.project }, may)
}

func (s *Service) monitor(id string, may func(string) error) (*monitor, error) {
	m, ok := s.monitors[parseID(id)]
	return access(m, ok, "Health Monitor", id, func(m *monitor) string { return m.pool.lb.project }, may)
}

func (s *Service) policy(id string, may func(string) error) (*l7policy, error) {
	policy, ok := s.policies[parseID(id)]
	return access(policy, ok, "L7 Policy", id, func(policy *l7policy) string { return policy.listener.lb.project }, may)
}

// poolInPath finds the pool whose members the path names.
func (s *Service) poolInPath(r *request, may func(string) error) (*pool, error) {
	id := r.PathValue("id")
	if s.pools[parseID(id)] == nil {
		return nil, outsideFault(http.StatusNotFound, "Pool %s not found.", id)
	}
	return s.pool(id, may)
}

// member finds a member of the pool that the path names.
func (s *Service) member(r *request, may func(string) error) (*member, error) {
	if _, err := s.poolInPath(r, may); err != nil {
		return nil, err
	}
	id := r.PathValue("member")
	m, ok := s.members[parseID(id)]
	if ok && m.pool.id.String() != r.PathValue("id") {
		return nil, notFound("Member", id)
	}
	return access(m, ok, "Member", id, func(m *member) string { return m.pool.lb.project }, may)
}

// newTags copies the tags of a request for a new object; a tag that comes twice
// is refused.
func newTags(v values) ([]string, error) {
	tags := v.texts("tags")
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if seen[t] {
			return nil, errDuplicateID
		}
		seen[t] = true
	}
	return sorted(tags), nil
}

// sorted are the tags in the order in which Octavia's database keeps them.
func sorted(tags []string) []string {
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return tags
}

// changedTags copies the tags of a request to change an object. Here the real
// service does not expect its database to refuse a tag that comes twice.
func changedTags(v values) ([]string, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, faultf(http.StatusInternalServerError, "duplicate tag")
	}
	return tags, nil
}

// writeFault answers with the refusal, or with 500 if the error is none.
func writeFault(w http.ResponseWriter, err error) {
	var f *fault
	if !errors.As(err, &f) {
		f = faultf(http.StatusInternalServerError, "%v", err)
	}
	if f.outside {
		wire.JSON(w, f.status, struct {
			Code        int    `json:"code"`
			Title       string `json:"title"`
			Description string `json:"description"`
		}{f.status, "Bad Request", f.text}) // whatever the status
		return
	}
	code := "Client"
	if f.status >= http.StatusInternalServerError {
		code = "Server"
	}
	wire.JSON(w, f.status, struct {
		Code   string  `json:"faultcode"`
		Text   string  `json:"faultstring"`
		Detail *string `json:"debuginfo"`
	}{code, f.text, nil})
}
