// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"slices"
	"testing"
)

func TestSecurityGroupsOfTheVIPAreOursOnlyIfExactlyTheseWereSet(t *testing.T) {
	ours := WithVIPGroups([]string{"a", vipGroupsTagOf([]string{"former"})}, []string{"g2", "g1"})
	if len(ours) != 2 || ours[0] != "a" {
		t.Errorf("the tags are %q", ours)
	}
	for name, c := range map[string]struct {
		l            LoadBalancer
		ours, others bool
	}{
		"ours, in another order": {LoadBalancer{Tags: ours, VIPSecurityGroups: []string{"g1", "g2"}}, true, false},
		"with one more":          {LoadBalancer{Tags: ours, VIPSecurityGroups: []string{"g1", "g2", "g3"}}, false, true},
		"one of them":            {LoadBalancer{Tags: ours, VIPSecurityGroups: []string{"g1"}}, false, true},
		"without the tag":        {LoadBalancer{Tags: []string{"a"}, VIPSecurityGroups: []string{"g1", "g2"}}, false, true},
		"none":                   {LoadBalancer{Tags: ours}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.l.VIPGroupsAreOurs() != c.ours || c.l.VIPGroupsAreOthers() != c.others {
				t.Errorf("ours %v, others' %v", c.l.VIPGroupsAreOurs(), c.l.VIPGroupsAreOthers())
			}
		})
	}
	if tags := WithVIPGroups(ours, nil); !slices.Equal(tags, []string{"a"}) {
		t.Errorf("without groups the tags are %q", tags)
	}
}

func TestTheWholeAddressSpaceAdmitsEveryClient(t *testing.T) {
	for _, c := range []struct {
		name string

		cidrs        []string
		single, dual bool
	}{
		{"no source ranges", nil, true, true},
		{"all of IPv4", []string{"0.0.0.0/0"}, true, false},
		{"all of IPv6", []string{"::/0"}, true, false},
		{"all of both families", []string{"0.0.0.0/0", "::/0"}, true, true},
		{"all of both families and another range", []string{"10.0.0.0/8", "0.0.0.0/0", "::/0"}, true, true},
		{"all of IPv6 and a range of IPv4", []string{"10.0.0.0/8", "::/0"}, true, false},
		{"a range of IPv4", []string{"10.0.0.0/8"}, false, false},
		{"a range of each family", []string{"10.0.0.0/8", "2001:db8::/32"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if single, dual := AdmitsEveryClient(c.cidrs, false), AdmitsEveryClient(c.cidrs, true); single != c.single || dual != c.dual {
				t.Errorf("%v: %v with VIPs of one family, %v of both", c.cidrs, single, dual)
			}
		})
	}
}
