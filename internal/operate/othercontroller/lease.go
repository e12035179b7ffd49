// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"time"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// LeasesOf returns the Leases of the controllers for the class of the policy, and with the name, unless it is "". It
// returns those that are alive or, if none is, all.
func LeasesOf(instances []Lease, policy claim.Policy, name string, now time.Time) (names []LeaseName) {
	class := Labels(policy)[ClassLabel]
	var ended []LeaseName
	for _, l := range instances {
		switch {
		case l.Class != class || name != "" && l.Name != name:
		case l.Alive(now):
			names = append(names, l.LeaseName)
		default:
			ended = append(ended, l.LeaseName)
		}
	}
	if len(names) == 0 {
		return ended
	}
	return names
}
