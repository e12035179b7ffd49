// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// What tests of whole passes need of the model of a cloud. They are in a package of
// their own, because they import packages that import this one.

// Web is the Service whose load balancer the model holds.
var Web = web

// Cloud is the model.
type Cloud = cloud

// NewCloud returns one in which everything wanted was done, if it is not nil, and
// after that what people, failures and other controllers did; apart is whether TCP
// and UDP may share a port number.
func NewCloud(t *rapid.T, wanted *lb.LoadBalancer, apart bool) *Cloud {
	c := newCloud(web)
	c.apart = apart
	if wanted != nil {
		c.create(copied(wanted), lb.Active)
		for range rapid.IntRange(0, 5).Draw(t, "drifts") {
			rapid.SampledFrom(drifts).Draw(t, "drift").do(t, c)
		}
		c.duplicates = []string{"lb-x", "lb-y"}[:rapid.IntRange(0, 2).Draw(t, "duplicates")]
	}
	for _, address := range []string{"198.51.100.1", "198.51.100.2"}[:rapid.IntRange(0, 2).Draw(t, "floatingIPs")] {
		anyFloating(t, c, address)
	}
	return c
}

// Observe returns what the cloud shows.
func (c *cloud) Observe() lb.Observed { return c.observe() }

// Travel leads the cloud to what is wanted, pass by pass, as TestWhateverIsThere...
// does, and looks at every state on the way.
func Travel(t *rapid.T, c *Cloud, decide func(lb.Observed) lb.Wanted, see func(Plan, lb.Observed)) {
	c.settle()
	(&journey{reporter: t, cloud: c, wanted: decide(c.observe()), decide: decide, see: see}).travel()
}
