// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// monitorsAsFound returns want with the health monitors that the ports have now,
// and with none for others, so that none is planned for. A pool that was left
// unfinished will be replaced: the other has none.
func monitorsAsFound(want, have *lb.LoadBalancer) *lb.LoadBalancer {
	if want == nil {
		return nil
	}
	kept := cloneLoadBalancer(*want)
	for _, l := range kept.Listeners {
		if l.Pool == nil {
			continue
		}
		l.Pool.Monitor = nil
		if have == nil {
			continue
		}
		i := slices.IndexFunc(have.Listeners, func(there lb.Listener) bool { return there.Key() == l.Key() })
		if i < 0 {
			continue
		}
		if there := have.Listeners[i].Pool; there != nil && !there.Unfinished() {
			l.Pool.Monitor = there.Monitor
		}
	}
	return &kept
}
