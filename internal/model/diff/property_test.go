// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// What must hold in every state is in converge_test.go and guard_test.go.
func TestAnyStateBecomesTheWantedOneInLegalSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sharedPorts := rapid.Bool().Draw(t, "sharedPorts")
		wanted := anyWanted(t, sharedPorts)
		(&convergence{reporter: t, cloud: anyCloud(t, wanted, sharedPorts), wanted: wanted}).converge()
	})
}

func TestWhenNothingIsWantedNothingOfOursIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := lb.Wanted{KeepFloatingIP: rapid.Bool().Draw(t, "keep")}
		c := anyCloud(t, wanted, true)
		before := map[string]lb.FloatingIP{}
		for id, f := range c.floating {
			before[id] = f
		}
		if c.balancer != nil && rapid.Bool().Draw(t, "failed") {
			c.balancer.ProvisioningStatus = lb.Error
		}
		vip := ""
		if c.balancer != nil {
			vip = c.balancer.VIP.PortID
		}
		(&convergence{reporter: t, cloud: c, wanted: wanted}).converge()
		if c.balancer != nil {
			return // it has sharers, who keep its addresses
		}
		for id, f := range before {
			now, there := c.floating[id]
			ours := f.Description == web.FloatingIPDescription() || f.Description == cloudControllerFloating
			elsewhere := f.PortID != "" && f.PortID != vip
			switch {
			case there && elsewhere && now.PortID != f.PortID:
				t.Errorf("%+v, which serves elsewhere, became %+v", f, now)
			case !there && (!ours || elsewhere || wanted.KeepFloatingIP):
				t.Errorf("%+v is gone", f)
			case there && ours && !elsewhere && !wanted.KeepFloatingIP:
				t.Errorf("%+v is left", now)
			}
		}
	})
}

// If a Service changes while an earlier change is carried out, it does not wait for that, and nothing of the
// earlier change remains.
func TestAChangeDuringAnotherChangeIsIncluded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		earlier, later := anyWanted(t, true), anyWanted(t, true)
		c := anyCloud(t, earlier, true)
		c.settle()
		j := &convergence{reporter: t, cloud: c, wanted: earlier, start: c.observe()}
		for range rapid.IntRange(1, 8).Draw(t, "passes") {
			j.pass(j.plan())
		}
		(&convergence{reporter: t, cloud: c, wanted: later}).converge()
	})
}
