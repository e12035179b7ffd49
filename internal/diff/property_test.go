// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// What holds on the way is in journey_test.go and guard_test.go.
func TestWhateverIsThereBecomesWhatIsWantedStepByLegalStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		apart := rapid.Bool().Draw(t, "apart")
		wanted := anyWanted(t, apart)
		(&journey{reporter: t, cloud: anyCloud(t, wanted, apart), wanted: wanted}).travel()
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
		(&journey{reporter: t, cloud: c, wanted: wanted}).travel()
		if c.balancer != nil {
			return // others use it, and its addresses
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

// A Service whose needs change while an earlier change is on its way does not
// wait for it, and nothing of the earlier one is left.
func TestAChangeOnTheWayIsFoldedIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		earlier, later := anyWanted(t, true), anyWanted(t, true)
		c := anyCloud(t, earlier, true)
		c.settle()
		j := &journey{reporter: t, cloud: c, wanted: earlier, start: c.observe()}
		for range rapid.IntRange(1, 8).Draw(t, "passes") {
			j.pass(j.plan())
		}
		(&journey{reporter: t, cloud: c, wanted: later}).travel()
	})
}
