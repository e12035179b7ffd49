// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// request is one call of the API, with what it is checked against.
type request struct {
	*http.Request
	release release.Release
	state   *state.State
	network VIPNetwork
	checks  *validate.Checks
	query   url.Values
	body    []byte
}

// answer is the answer to a call; an empty body is not sent.
type answer struct {
	status int
	body   []byte
}

type handler func(*request) (answer, error)

// router adds a route under each of the bases.
type router func(method, path string, h handler)

// bases are the prefixes of the paths of all resources; most clients use the first.
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
			mux.HandleFunc(method+" "+base+path, s.serve(h))
			mux.HandleFunc(method+" "+base+path+"/{$}", s.serve(h))
		}
		treeRoutes(route)
		route("GET", "/providers", listProviders)
		quotaRoutes(route)
		flavorOffers.routes(since(6, route))
		zoneOffers.routes(since(14, route))
	}
	return mux
}

func treeRoutes(route router) {
	loadBalancerRoutes(route)
	listenerResource.routes(route)
	route("GET", "/listeners/{id}/stats", listenerStats)
	poolResource.routes(route)
	memberResource.routes(route)
	route("PUT", "/pools/{id}/members", replaceMembers)
	monitorResource.routes(route)
	policyResource.routes(route)
	ruleResource.routes(route)
	oddRoutes(route, map[string]handler{
		"loadbalancers": loadBalancerResource.show, "listeners": listenerResource.show, "pools": poolResource.show,
		"l7policies": policyResource.show, "healthmonitors": monitorResource.show,
	})
}

// oddRoutes are the real service's answers to paths and methods that have no meaning: it treats
// what follows an id as a field to show, and requires an id for a change.
func oddRoutes(route router, show map[string]handler) {
	for _, collection := range slices.Sorted(maps.Keys(show)) {
		route("GET", "/"+collection+"/{id}/{field}", func(r *request) (answer, error) {
			r.query.Set("fields", r.PathValue("field"))
			return show[collection](r)
		})
		for _, method := range []string{"PUT", "DELETE"} {
			route(method, "/"+collection, func(*request) (answer, error) {
				return answer{}, fault.New(http.StatusBadRequest, "Missing argument: %q", "id")
			})
		}
	}
}

// since returns a router for routes that exist since an API version.
func since(minor int, route router) router {
	return func(method, path string, h handler) {
		route(method, path, func(r *request) (answer, error) {
			if r.checks.Minor < minor {
				return answer{}, fault.New(http.StatusNotFound, "The resource could not be found.")
			}
			return h(r)
		})
	}
}

func (s *Service) serve(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		who := wire.Caller(r.Context())
		a, err := h(&request{Request: r, query: r.URL.Query(), body: body, release: s.release, state: s.state, network: s.network, checks: &validate.Checks{
			State: s.state, Network: s.network, Secrets: s.secrets, Minor: int(s.minor.Load()), Release: s.release, ReservedIPs: s.reserved,
			Caller: who, Admin: who.Admin() || hasRole(who, roleAdmin, s.release),
		}})
		if err != nil {
			writeFault(w, err)
			return
		}
		if len(a.body) > 0 {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have disconnected
	}
}

// writeFault answers with the Fault, or with 500 for any other error.
func writeFault(w http.ResponseWriter, err error) {
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = fault.New(http.StatusInternalServerError, "%v", err)
	}
	if f.Outside {
		wire.JSON(w, f.Status, struct {
			Code        int    `json:"code"`
			Title       string `json:"title"`
			Description string `json:"description"`
		}{f.Status, "Bad Request", f.Text}) // for every status
		return
	}
	code := "Client"
	if f.Status >= http.StatusInternalServerError {
		code = "Server"
	}
	wire.JSON(w, f.Status, struct {
		Code   string  `json:"faultcode"`
		Text   string  `json:"faultstring"`
		Detail *string `json:"debuginfo"`
	}{code, f.Text, nil})
}

// document returns an empty answer body for the request. Its ?fields= apply only to a GET.
func (r *request) document() *view.Document {
	if r.Method != http.MethodGet {
		return view.NewDocument(r.release, r.checks.Minor, nil)
	}
	return view.NewDocument(r.release, r.checks.Minor, r.query["fields"])
}

// parse reads a body with one object.
func (r *request) parse(root, key string, of []schema.Attribute) (schema.Values, error) {
	return schema.Parse(r.checks.Minor, r.body, root, key, of, false)
}

// flag reads a boolean query parameter as Octavia does: unknown values are false.
func (r *request) flag(name string) bool {
	v := r.query.Get(name)
	b, err := strconv.ParseBool(v)
	return err == nil && b || v == "yes" || v == "on" || v == "y"
}
