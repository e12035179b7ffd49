// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// resetCalls begins the count of calls anew.
func (s *stage) resetCalls() { s.cloud.Recorder().Reset() }

// calls are the calls that passes over Services made since resetCalls, each as
// "METHOD route", oldest first.
//
// All calls of one pass carry the same global request id, and every other call
// has one of its own. So those of the watcher, the sweeper and the session are told apart
// without asking them: they are reads of the kinds that those make
// (see looks), whose global request id is on no other call. Every other call
// counts, also a request for a token.
func (s *stage) calls() []string {
	s.t.Helper()
	recorded := s.cloud.Recorder().Calls()
	alike := map[string]int{}
	for _, c := range recorded {
		alike[c.GlobalRequestID]++
	}
	var counted []string
	for _, c := range recorded {
		if looks(c) && c.GlobalRequestID != "" && alike[c.GlobalRequestID] == 1 {
			continue
		}
		counted = append(counted, c.Method+" "+c.Route)
	}
	return counted
}

// looks reports whether the call is one that those others make: the list of load balancers, of
// pools or of floating IPs with fields only they request, a look at one load balancer, or the
// question whether VIP ports are still there.
func looks(c wire.Call) bool {
	query, err := url.ParseQuery(c.Query)
	if err != nil || c.Method != http.MethodGet {
		return false
	}
	switch {
	case c.Service == cloudsim.Identity: // when the credential expires
		return true
	case c.Service == cloudsim.LoadBalancer && (strings.HasSuffix(c.Route, "/lbaas/loadbalancers") || strings.HasSuffix(c.Route, "/lbaas/pools")):
		return query.Has("fields") && !query.Has("name")
	case c.Service == cloudsim.LoadBalancer && strings.HasSuffix(c.Route, "/lbaas/loadbalancers/{id}"):
		return c.Query == ""
	case c.Service == cloudsim.KeyManager && strings.HasSuffix(c.Route, "/secrets"):
		return !query.Has("name")
	case c.Service == cloudsim.Network && strings.HasSuffix(c.Route, "/ports"):
		return query.Has("id")
	case c.Service == cloudsim.Network && strings.HasSuffix(c.Route, "/floatingips"):
		return query.Has("fields")
	}
	return false
}

// writes are the calls that change something, since resetCalls.
func (s *stage) writes() []string {
	s.t.Helper()
	var found []string
	for _, c := range s.cloud.Recorder().Calls() {
		// A real Octavia that sets the tags of several load balancers at a time runs into
		// deadlocks of its database: it answers 500, has changed nothing, and is asked again.
		deadlock := *stateDir != "" && c.Status == http.StatusInternalServerError && c.Fault == ""
		if c.Method != http.MethodGet && c.Method != http.MethodHead && c.Service != cloudsim.Identity && !deadlock {
			found = append(found, c.Method+" "+c.Path)
		}
	}
	return found
}

// requireCallsAtMost fails the test when passes made more calls since resetCalls than they may.
func (s *stage) requireCallsAtMost(what string, most int) {
	s.t.Helper()
	if calls := s.calls(); len(calls) > most {
		s.t.Errorf("%s took %d calls, more than %d:\n%s", what, len(calls), most, strings.Join(calls, "\n"))
	} else {
		s.t.Logf("%s took %d of %d calls", what, len(calls), most)
	}
}
