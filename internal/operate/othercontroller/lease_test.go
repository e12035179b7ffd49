// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

func TestTheLeaseOfAControllerIsFoundByItsClass(t *testing.T) {
	const class = "kube-octavia.io.octavia"
	named := instance("c", class, "true", 0)
	named.Name = "east"
	for name, test := range map[string]struct {
		instances []Lease
		name      string
		want      []LeaseName
	}{
		"none":                       {nil, "", nil},
		"one":                        {[]Lease{instance("a", class, "true", 0)}, "", []LeaseName{{"a", "kube-octavia"}}},
		"one of another class":       {[]Lease{instance("a", "example.com.x", "true", 0)}, "", nil},
		"one that has ended":         {[]Lease{instance("a", class, "true", time.Hour)}, "", []LeaseName{{"a", "kube-octavia"}}},
		"one that works, one ended":  {[]Lease{instance("a", class, "true", time.Hour), instance("b", class, "true", 0)}, "", []LeaseName{{"b", "kube-octavia"}}},
		"one renewed in the future":  {[]Lease{instance("a", class, "true", -time.Hour), instance("b", class, "true", 0)}, "", []LeaseName{{"b", "kube-octavia"}}},
		"several":                    {[]Lease{instance("a", class, "true", 0), named}, "", []LeaseName{{"a", "kube-octavia"}, {"c", "east"}}},
		"several, one with the name": {[]Lease{instance("a", class, "true", 0), named}, "east", []LeaseName{{"c", "east"}}},
	} {
		t.Run(name, func(t *testing.T) {
			policy := claim.Policy{LoadBalancerClass: "kube-octavia.io/octavia"}
			if d := cmp.Diff(test.want, LeasesOf(test.instances, policy, test.name, noon)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
