// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Exports for the tests of whole passes, which are in a package of their own because they import packages that
// import this one.

// Web is the Service whose load balancer the model holds.
var Web = web

// Cloud is the model.
type Cloud = cloud

// NewCloud returns a cloud in which everything wanted, if not nil, was done, followed by changes of people,
// failures and other controllers. sharedPorts means that TCP and UDP may share a port number.
func NewCloud(t *rapid.T, wanted *lb.LoadBalancer, sharedPorts bool) *Cloud {
	c := newCloud(web)
	c.sharedPorts = sharedPorts
	if wanted != nil {
		c.create(copied(wanted), lb.Active)
		for range rapid.IntRange(0, 5).Draw(t, "drifts") {
			rapid.SampledFrom(drifts).Draw(t, "drift").do(t, c)
		}
		c.duplicates = []string{"lb-x", "lb-y"}[:rapid.IntRange(0, 2).Draw(t, "duplicates")]
	}
	for _, address := range []string{"198.51.100.1", "198.51.100.2"}[:rapid.IntRange(0, 2).Draw(t, "floatingIPs")] {
		// A Service may have requested it as an address of a VIP. No address is used twice.
		if wanted == nil || !wanted.Has(address) {
			anyFloating(t, c, address)
		}
	}
	return c
}

// Observe returns the state of the cloud.
func (c *cloud) Observe() lb.Observed { return c.observe() }

// Converge runs passes until everything wanted is done, as TestAnyStateBecomesTheWantedOneInLegalSteps does, and shows every state to
// see.
func Converge(t *rapid.T, c *Cloud, decide func(lb.Observed) lb.Wanted, see func(Plan, lb.Observed)) {
	c.settle()
	(&convergence{reporter: t, cloud: c, wanted: decide(c.observe()), decide: decide, see: see}).converge()
}
