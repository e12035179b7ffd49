// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// count is how many OpenStack calls the controller made.
type count struct {
	// Passes are the calls of passes over Services, Writes those of them that
	// change something. What is neither the watcher's nor the sweeper's counts
	// here, requests for tokens too.
	Passes int `json:"passes"`
	Writes int `json:"writesOfPasses"`
	// Background are the calls of the watcher and the sweeper, which all Services
	// share.
	Background int `json:"watcherAndSweeper"`
	// PassRoutes and BackgroundRoutes have them by "METHOD route".
	PassRoutes       map[string]int `json:"passesByRoute,omitempty"`
	BackgroundRoutes map[string]int `json:"watcherAndSweeperByRoute,omitempty"`
}

// resetCalls forgets the calls so far.
func (s *stage) resetCalls() { s.cloud.Recorder().Reset() }

// count counts the calls since resetCalls.
func (s *stage) count() count { return countOf(s.cloud.Recorder().Calls()) }

// countOf tells the calls of passes from those of the watcher and the sweeper.
//
// All calls of one pass carry the same global request id, and every other call
// has one of its own. So a call of the watcher or the sweeper is a read of the
// kinds that those make whose id is on no other call.
func countOf(recorded []wire.Call) count {
	sameID := map[string]int{}
	for _, c := range recorded {
		sameID[c.GlobalRequestID]++
	}
	n := count{PassRoutes: map[string]int{}, BackgroundRoutes: map[string]int{}}
	for _, c := range recorded {
		operation := c.Method + " " + c.Route
		if isBackground(c) && c.GlobalRequestID != "" && sameID[c.GlobalRequestID] == 1 {
			n.Background++
			n.BackgroundRoutes[operation]++
			continue
		}
		n.Passes++
		n.PassRoutes[operation]++
		if c.Method != http.MethodGet && c.Service != cloudsim.Identity {
			n.Writes++
		}
	}
	return n
}

// isBackground reports whether the call is of a kind that the watcher or the sweeper
// makes: the list of load balancers with few fields, one load balancer, or VIP ports
// by id.
func isBackground(c wire.Call) bool {
	query, err := url.ParseQuery(c.Query)
	if err != nil || c.Method != http.MethodGet {
		return false
	}
	switch {
	case c.Service == cloudsim.LoadBalancer && strings.HasSuffix(c.Route, "/lbaas/loadbalancers"):
		return query.Has("fields") && !query.Has("name")
	case c.Service == cloudsim.LoadBalancer && strings.HasSuffix(c.Route, "/lbaas/loadbalancers/{id}"):
		return c.Query == ""
	case c.Service == cloudsim.Network && strings.HasSuffix(c.Route, "/ports"):
		return query.Has("id")
	}
	return false
}

// lastCall is when the operation, "METHOD route", was last called since resetCalls,
// or zero.
func (s *stage) lastCall(operation string) time.Time {
	var last time.Time
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Method+" "+c.Route == operation {
			last = c.At
		}
	}
	return last
}

// lastPassCall is when a pass made its last call since resetCalls, or zero.
func (s *stage) lastPassCall() time.Time {
	var last time.Time
	for _, c := range s.cloud.Recorder().Calls() {
		if !isBackground(c) {
			last = c.At
		}
	}
	return last
}
