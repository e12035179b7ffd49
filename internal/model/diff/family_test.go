// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// twoVIPs is a load balancer with VIPs of both families.
func twoVIPs(w *lb.Wanted) { w.LoadBalancer.AdditionalVIPs = []lb.VIP{{SubnetID: "subnet-6"}} }

// bothFamilies gives the pools members of both families, each in the subnet of its family.
func bothFamilies(subnet6 string) edit {
	return each(func(l *lb.Listener) {
		l.Pool.Members = append(l.Pool.Members, lb.Member{Name: "node-11", Address: "2001:db8::11", Port: 30080, SubnetID: subnet6, Weight: 1})
	})
}

func TestAdditionalVIPsAreCreatedWithTheLoadBalancerAndNeverChanged(t *testing.T) {
	create, ok := New(usual(twoVIPs), lb.Observed{}, web).Ops[0].(CreateLoadBalancer)
	if !ok || len(create.LoadBalancer.AdditionalVIPs) != 1 {
		t.Fatalf("the first op is %+v", create)
	}
	made := Created{ID: "lb-1", VIP: lb.VIP{Address: "10.0.0.9"}, AdditionalVIPs: []lb.VIP{{Address: "2001:db8::9", SubnetID: "subnet-6"}}}
	if l := After(lb.Observed{}, create, made).LoadBalancer; !l.DualStack() {
		t.Errorf("afterwards the VIPs are %+v and %+v", l.VIP, l.AdditionalVIPs)
	}
	for name, c := range map[string]struct{ before, after []edit }{
		"one that is wanted now":    {nil, []edit{twoVIPs}},
		"one that is not any more":  {[]edit{twoVIPs}, nil},
		"one that stays as it is":   {[]edit{twoVIPs}, []edit{twoVIPs}},
		"one in another subnet now": {[]edit{twoVIPs}, []edit{func(w *lb.Wanted) { w.LoadBalancer.AdditionalVIPs = []lb.VIP{{SubnetID: "subnet-7"}} }}},
	} {
		have := cloudWith(usual(c.before...)).observe()
		if plan := New(usual(c.after...), have, web); len(plan.Ops)+len(plan.Refused) > 0 {
			t.Errorf("%s: %v, refused %v", name, plan.Ops, plan.Refused)
		}
	}
	have := cloudWith(usual(twoVIPs)).observe()
	plan := New(usual(twoVIPs, func(w *lb.Wanted) { w.LoadBalancer.AdditionalVIPs[0].Address = "2001:db8::1" }), have, web)
	if len(plan.Refused) != 1 || plan.Refused[0].Reason != ReasonAddressImmutable || !strings.Contains(plan.Refused[0].Message, "2001:db8::1") {
		t.Errorf("another address is asked for: %+v", plan.Refused)
	}
}

func TestPoolsWithMembersInAnotherSubnetAreReplaced(t *testing.T) {
	matter := func(w *lb.Wanted) { w.MoveMembers = true }
	have := cloudWith(usual(twoVIPs, bothFamilies("subnet-6"))).observe()
	if plan := New(usual(twoVIPs, matter, bothFamilies("subnet-6")), have, web); len(plan.Ops) > 0 {
		t.Errorf("members of two subnets, as they are to be: %v", plan.Ops)
	}
	if plan := New(usual(twoVIPs, bothFamilies("subnet-7")), have, web); len(plan.Ops) > 0 {
		t.Errorf("members whose subnet does not matter: %v", plan.Ops)
	}
	plan := New(usual(twoVIPs, matter, bothFamilies("subnet-7")), have, web)
	if !strings.Contains(strings.Join(texts(plan.Ops), "\n"), "create pool") {
		t.Errorf("no pool takes their place: %v", plan.Ops)
	}
}
