// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import "testing"

func TestAFingerprintIsThatOfEqualStates(t *testing.T) {
	of := func(port int, addresses ...string) Wanted {
		pool := &Pool{Name: "p"}
		for _, a := range addresses {
			pool.Members = append(pool.Members, Member{Address: a})
		}
		return Wanted{LoadBalancer: &LoadBalancer{Listeners: []Listener{{Port: port, Pool: pool}, {Port: 9100}}}}
	}
	one, weighted := of(80, "10.0.0.1"), of(80, "10.0.0.1")
	weighted.LoadBalancer.Listeners[0].Pool.Members[0].Weight = 1
	for name, c := range map[string]struct {
		other               Wanted
		same, exceptMembers bool
	}{
		"the same state":      {of(80, "10.0.0.1"), true, true},
		"another member":      {of(80, "10.0.0.1", "10.0.0.2"), false, true},
		"no member":           {of(80), false, true},
		"a member's weight":   {weighted, false, true},
		"another port":        {of(81, "10.0.0.1"), false, false},
		"no load balancer":    {Wanted{}, false, false},
		"another flag":        {Wanted{LoadBalancer: one.LoadBalancer, KeepAddress: true}, false, false},
		"a floating IP":       {Wanted{LoadBalancer: one.LoadBalancer, FloatingIP: &FloatingIP{}}, false, false},
		"something withheld":  {Wanted{LoadBalancer: one.LoadBalancer, Withheld: []Withheld{{Reason: "r"}}}, false, false},
		"nothing is withheld": {Wanted{LoadBalancer: one.LoadBalancer, Withheld: []Withheld{}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := one.Fingerprint(), c.other.Fingerprint()
			if same, except := a == b, a.EqualExceptMembers(b); same != c.same || except != c.exceptMembers || b.None() {
				t.Errorf("equal %t, except members %t, none %t", same, except, b.None())
			}
		})
	}
	if len(one.LoadBalancer.Listeners[0].Pool.Members) != 1 {
		t.Error("the state was changed")
	}
	if none := (Fingerprint{}); !none.None() || none.EqualExceptMembers(one.Fingerprint()) {
		t.Error("no fingerprint is that of a state")
	}
}
