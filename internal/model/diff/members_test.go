// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Octavia carries out one operation at a time, and while it does, the Pods of a Deployment that is rolled out change again.
func TestEachPoolHasItsTurnWhileMembersKeepChanging(t *testing.T) {
	c, generation := cloudWith(usual()), 0
	written := map[string]bool{}
	names := []string{"11", "12", "13", "14", "15"}
	for range 4 {
		generation++
		plan := New(usual(nodes(names[generation], names[(generation+1)%len(names)])), c.observe(), web)
		set, ok := plan.Ops[0].(SetMembers)
		if !ok {
			t.Fatalf("the plan begins with %s", plan.Ops[0])
		}
		written[set.PoolID] = true
		c.changePool(map[string]int{c.poolID(80): 80, c.poolID(443): 443}[set.PoolID], func(p *lb.Pool) { p.Members = set.Members })
	}
	if len(written) != 2 {
		t.Errorf("%d of 2 pools were written: %v", len(written), written)
	}
}

func TestWithoutQuotaForMoreMembersAreExchanged(t *testing.T) {
	for name, c := range map[string]struct {
		have, want, less []string
	}{
		"new ones take the places of those that leave":       {[]string{"11", "12"}, []string{"12", "13", "14"}, []string{"12", "13"}},
		"all are exchanged, though there should be more":     {[]string{"11", "12"}, []string{"13", "14", "15"}, []string{"13", "14"}},
		"more alone are not possible":                        {[]string{"11", "12"}, []string{"11", "12", "13"}, nil},
		"as many need no quota":                              {[]string{"11", "12"}, []string{"12", "13"}, nil},
		"a pool without members has no places":               {nil, []string{"11"}, nil},
		"those that leave without a successor need no quota": {[]string{"11", "12"}, []string{"12"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			observed := cloudWith(usual(ports(port(lb.TCP, 80, 30080)), nodes(c.have...))).observe()
			plan := New(usual(ports(port(lb.TCP, 80, 30080)), nodes(c.want...)), observed, web)
			less, ok := WithoutMore(plan.Ops[0], observed)
			if ok != (c.less != nil) {
				t.Fatalf("%t: %s", ok, less)
			} else if !ok {
				return
			}
			var want []lb.Member
			for _, n := range c.less {
				want = append(want, member(n, 30080))
			}
			if diff := cmp.Diff(want, less.Members); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutQuotaForMoreALoadBalancerThatIsReplacedKeepsItsMembers(t *testing.T) {
	old := cloudWith(usual(ports(port(lb.TCP, 80, 30080)), nodes("11", "12"))).observe()
	plan := New(usual(ports(port(lb.TCP, 80, 30080)), nodes("12", "13", "14")), old, web)
	observed := lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "new"}, Predecessor: old.LoadBalancer}
	less, ok := WithoutMore(plan.Ops[0], observed)
	if want := []lb.Member{member("12", 30080), member("13", 30080)}; !ok || !cmp.Equal(want, less.Members) {
		t.Errorf("%t: %v", ok, less.Members)
	}
	observed.Predecessor = nil
	if less, ok := WithoutMore(plan.Ops[0], observed); ok {
		t.Errorf("of a pool that is not known: %v", less.Members)
	}
}

func TestMembersWithoutMoreAreNeverMoreAndAlwaysWanted(t *testing.T) {
	someNodes := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"11", "12", "13", "14", "15", "16"}), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		have, want := someNodes.Draw(t, "have"), someNodes.Draw(t, "want")
		observed := cloudWith(usual(ports(port(lb.TCP, 80, 30080)), nodes(have...))).observe()
		plan := New(usual(ports(port(lb.TCP, 80, 30080)), nodes(want...)), observed, web)
		if len(plan.Ops) == 0 {
			return
		}
		less, ok := WithoutMore(plan.Ops[0], observed)
		if !ok {
			return
		}
		if len(less.Members) > len(have) {
			t.Errorf("%d members of %d", len(less.Members), len(have))
		}
		if again, more := WithoutMore(less, observed); more {
			t.Errorf("%v can be made smaller: %v", less, again)
		}
		wanted := map[lb.MemberKey]bool{}
		for _, m := range plan.Ops[0].(SetMembers).Members {
			wanted[m.Key()] = true
		}
		for _, m := range less.Members {
			if !wanted[m.Key()] {
				t.Errorf("member %v is not wanted", m.Key())
			}
		}
	})
}
