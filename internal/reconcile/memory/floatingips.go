// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// floatingIPs is a list of floating IPs, indexed by id, port and mark.
type floatingIPs struct {
	byID   map[string]lb.FloatingIP
	byPort map[string][]lb.FloatingIP
	byMark map[lb.Mark][]lb.FloatingIP
}

func newFloatingIPs(all []lb.FloatingIP) floatingIPs {
	l := floatingIPs{map[string]lb.FloatingIP{}, map[string][]lb.FloatingIP{}, map[lb.Mark][]lb.FloatingIP{}}
	for _, f := range all {
		l.byID[f.ID] = f
		if f.PortID != "" {
			l.byPort[f.PortID] = append(l.byPort[f.PortID], f)
		}
		if mark, _, ok := lb.MarkOfFloatingIP(f); ok {
			l.byMark[mark] = append(l.byMark[mark], f)
		}
	}
	return l
}

// of returns the floating IPs of a Service, sorted by id: those attached to its load balancers,
// those that were observed before and still exist, and those with its mark.
func (l floatingIPs) of(o lb.Observed, mark lb.Mark) []lb.FloatingIP {
	found := slices.Clone(l.byMark[mark])
	for _, balancer := range []*lb.LoadBalancer{o.LoadBalancer, o.Predecessor} {
		if balancer != nil {
			found = append(found, l.byPort[balancer.VIP.PortID]...)
		}
	}
	for _, f := range o.FloatingIPs {
		if now, exists := l.byID[f.ID]; exists {
			found = append(found, now)
		}
	}
	return slices.CompactFunc(byID(lb.KeepKuryrVIPs(found, o.FloatingIPs)), func(a, b lb.FloatingIP) bool { return a.ID == b.ID })
}

func byID(all []lb.FloatingIP) []lb.FloatingIP {
	return slices.SortedFunc(slices.Values(all), func(a, b lb.FloatingIP) int { return strings.Compare(a.ID, b.ID) })
}

func sameFloatingIP(a, b lb.FloatingIP) bool {
	return a.ID == b.ID && a.PortID == b.PortID && a.Description == b.Description &&
		slices.Equal(slices.Sorted(slices.Values(a.Tags)), slices.Sorted(slices.Values(b.Tags)))
}
