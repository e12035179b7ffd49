// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// sameMember compares the properties that a batch write can change. Names do not matter: other controllers use other
// names. Octavia cannot change the subnet of an existing member.
func sameMember(want, have lb.Member) bool {
	return want.Weight == have.Weight && want.MonitorPort == have.MonitorPort &&
		want.Backup == have.Backup && want.AdminDown == have.AdminDown
}

// sameTags compares sets of tags.
func sameTags(want, have []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(have)))
}

// sameAddress compares IP addresses in any notation.
func sameAddress(want, have string) bool {
	a, errA := netip.ParseAddr(want)
	b, errB := netip.ParseAddr(have)
	return want == have || errA == nil && errB == nil && a == b
}

// samePersistence compares session persistence. Kubernetes sets a default timeout, which
// openstack-cloud-controller-manager does not send: its pools stay as they are until a user requests another timeout.
func samePersistence(want, have *lb.Persistence) bool {
	if want == nil || have == nil {
		return want == have
	}
	requested := want.TimeoutSeconds != 0 && (want.TimeoutSeconds != lb.DefaultPersistenceSeconds || have.TimeoutSeconds != 0)
	return want.Type == have.Type && (!requested || want.TimeoutSeconds == have.TimeoutSeconds)
}

func sameMonitor(want, have lb.HealthMonitor) bool {
	http := want.Type != lb.MonitorHTTP || want.HTTPMethod == have.HTTPMethod &&
		want.URLPath == have.URLPath && want.ExpectedCodes == have.ExpectedCodes
	return http && want.DelaySeconds == have.DelaySeconds && want.TimeoutSeconds == have.TimeoutSeconds &&
		want.MaxRetries == have.MaxRetries && want.MaxRetriesDown == have.MaxRetriesDown &&
		want.AdminDown == have.AdminDown
}

// sameTLS compares references; SNI is a set.
func sameTLS(want, have *lb.TLS) bool {
	if want == nil || have == nil {
		return want == have
	}
	return want.Certificate == have.Certificate && slices.Equal(lb.TLS{SNI: want.SNI}.Refs(), lb.TLS{SNI: have.SNI}.Refs())
}

// sameSources compares sets of source ranges. On a load balancer of both families, both an empty list and the whole
// address space of both families mean that every client may connect.
func sameSources(want, have []string, dualStack bool) bool {
	return slices.Equal(sources(want, dualStack), sources(have, dualStack))
}

func sources(cidrs []string, dualStack bool) []string {
	if lb.AdmitsEveryClient(cidrs, dualStack) {
		return nil
	}
	var set []string
	for _, c := range cidrs {
		if p, err := netip.ParsePrefix(c); err == nil {
			c = p.Masked().String()
		}
		set = append(set, c)
	}
	slices.Sort(set)
	return slices.Compact(set)
}
