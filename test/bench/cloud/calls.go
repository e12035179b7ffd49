// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// Calls are the calls that the controller made.
type Calls struct {
	Total, Writes int
	// Connect are those of Total that log in, or request versions, extensions and quotas.
	Connect int
	// Routes has them by "METHOD route".
	Routes map[string]int
}

// Reset forgets calls and times.
func (c *Cloud) Reset() {
	c.recorder.Reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished, c.changes = map[string]time.Time{}, map[string]int{}
}

// Calls returns those since Reset.
func (c *Cloud) Calls() Calls { return count(c.recorder.Counts()) }

// Throttled returns when the controller made the calls since Reset that were answered with 429.
func (c *Cloud) Throttled() []time.Time {
	var times []time.Time
	for _, call := range c.recorder.Calls() {
		if call.Status == http.StatusTooManyRequests {
			times = append(times, call.At)
		}
	}
	return times
}

// CallTimes returns when the controller made calls since Reset: the latest 100,000.
func (c *Cloud) CallTimes() []time.Time {
	var times []time.Time
	for _, call := range c.recorder.Calls() {
		times = append(times, call.At)
	}
	return times
}

func count(routes map[string]int) Calls {
	calls := Calls{Routes: maps.Clone(routes)}
	for operation, n := range routes {
		calls.Total += n
		method, route, _ := strings.Cut(operation, " ")
		if connects(route) {
			calls.Connect += n
		}
		if method != http.MethodGet && method != http.MethodHead && !strings.HasPrefix(route, "/v3/auth/") {
			calls.Writes += n
		}
	}
	return calls
}

// connects reports whether the controller makes the call once, when it connects.
func connects(route string) bool {
	return strings.HasPrefix(route, "/v3") || strings.Count(route, "/") < 2 ||
		strings.HasSuffix(route, "/extensions") || strings.Contains(route, "/quotas/")
}
