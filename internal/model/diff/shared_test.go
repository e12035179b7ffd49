// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestASharedLoadBalancerStaysWhenTheServiceIsDeleted(t *testing.T) {
	const other = "kube_service_kubernetes_shop_api"
	theirs := func(c *cloud) {
		l := port(lb.TCP, 9000, 30900)
		l.Name, l.Tags = "theirs", []string{other}
		p := *l.Pool
		p.Name, p.Tags = "theirs", []string{other}
		c.addListener(l, c.addPool(p))
	}
	for name, c := range map[string]struct {
		do   func(*cloud)
		want []string
	}{
		"with a tag of another Service":      {func(c *cloud) { c.balancer.Tags = append(slices.Clone(c.balancer.Tags), other) }, nil},
		"with a listener of another Service": {theirs, []string{"theirs"}},
		"in ERROR": {func(c *cloud) {
			theirs(c)
			c.balancer.ProvisioningStatus = lb.Error
		}, []string{"listener_0_kube_service_kubernetes_shop_web", "listener_1_kube_service_kubernetes_shop_web", "theirs"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := cloudWith(usual())
			c.do(cloud)
			floating := len(cloud.floating)
			plan := (&convergence{reporter: t, cloud: cloud, wanted: usual(nothing)}).converge()
			if len(plan.Refused) != 1 || plan.Refused[0].Reason != ReasonLoadBalancerInUse {
				t.Errorf("refused: %v", plan.Refused)
			}
			have := cloud.observe().LoadBalancer
			if have == nil || len(cloud.floating) != floating {
				t.Fatalf("the load balancer is %+v, of %d floating IPs %d are left", have, floating, len(cloud.floating))
			}
			var left []string
			for _, l := range have.Listeners {
				left = append(left, l.Name)
			}
			slices.Sort(left)
			if d := cmp.Diff(c.want, left); d != "" {
				t.Errorf("listeners (-want +left):\n%s", d)
			}
		})
	}
}

// sharedCloud returns a cloud with a load balancer of another Service, which has port 9000, with these additional
// tags.
func sharedCloud(tags ...string) *cloud {
	api := lb.Owner{ClusterName: "kubernetes", ClusterUID: web.ClusterUID, Namespace: "shop", Name: "api", ServiceUID: "uid-of-api"}
	c := cloudWith(usual(ports()))
	c.balancer.Name, c.balancer.Description, c.balancer.Tags = api.LoadBalancerName(), api.Description(), append(tags, api.Tags()...)
	l := port(lb.TCP, 9000, 30900)
	l.Name, l.Tags = api.ListenerName(0), api.Tags()
	p := *l.Pool
	p.Name, p.Tags = api.PoolName(0), api.Tags()
	c.addListener(l, c.addPool(p))
	return c
}

// sharer requests ports on a load balancer of another owner.
func sharer(w *lb.Wanted) {
	w.LoadBalancer.Name, w.LoadBalancer.Description, w.LoadBalancer.Tags = "", "", web.SharerTags()
	w.LoadBalancer.VIP = lb.VIP{}
	w.FloatingIP, w.KeepAddress = nil, true
}

func TestASharerGetsItsPortsAndNothingElseIsChanged(t *testing.T) {
	cloud := sharedCloud()
	bare := port(lb.TCP, 9001, 30901)
	bare.Name, bare.Tags = "by hand", nil
	handmade := *bare.Pool
	handmade.Name, handmade.Tags = "by hand", nil
	cloud.addListener(bare, cloud.addPool(handmade))
	cloud.balancer.Tags = lb.WithCustom(cloud.balancer.Tags, []string{"of-the-owner"})
	before := cloud.observe()
	(&convergence{reporter: t, cloud: cloud, wanted: usual(sharer)}).converge()
	after := cloud.observe()
	if l := after.LoadBalancer; l.Name != before.LoadBalancer.Name || l.Description != before.LoadBalancer.Description || len(l.Listeners) != 4 {
		t.Errorf("the load balancer was %+v and is %+v", before.LoadBalancer, l)
	}
	if d := cmp.Diff(append(before.LoadBalancer.Tags, web.LoadBalancerName()), after.LoadBalancer.Tags); d != "" {
		t.Errorf("tags (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before.FloatingIPs, after.FloatingIPs); d != "" {
		t.Errorf("floating IPs (-before +after):\n%s", d)
	}
	(&convergence{reporter: t, cloud: cloud, wanted: usual(nothing)}).converge()
	if d := cmp.Diff(before, cloud.observe()); d != "" {
		t.Errorf("after it left (-before +after):\n%s", d)
	}
}

// A Service whose own load balancer was deleted, and that has joined another one since, is served at the address there.
func TestTheFloatingIPThatASharerHadBeforeIsReleasedWhenItIsServed(t *testing.T) {
	stray := lb.FloatingIP{Address: "198.51.100.9", Description: web.FloatingIPDescription()}
	requestedElsewhere := func(w *lb.Wanted) { w.Addresses.Requested = []string{stray.Address} }
	for name, c := range map[string]struct {
		edit   edit
		exists bool
		is     string // its description
	}{
		"released": {func(*lb.Wanted) {}, false, ""},
		"left to the project if it was published": {func(w *lb.Wanted) { w.Addresses.Published = stray.Address }, true, web.KeptFloatingIPDescription()},
		"kept as the Service asks":                {keepFloatingIP, true, web.FloatingIPDescription()},
		"kept for another Service":                {requestedElsewhere, true, web.KeptFloatingIPDescription()},
		"left while it is refused":                {func(w *lb.Wanted) { keepFloatingIP(w); w.LoadBalancer.Listeners = nil }, true, web.FloatingIPDescription()},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := sharedCloud()
			cloud.addFloating(stray)
			first := New(usual(sharer, c.edit), cloud.observe(), web)
			releases := func(op Op) bool { _, is := op.(DeleteFloatingIP); return is }
			if slices.ContainsFunc(first.Ops, releases) {
				t.Errorf("it is released before the ports are open: %v", first.Ops)
			}
			(&convergence{reporter: t, cloud: cloud, wanted: usual(sharer, c.edit)}).converge()
			all := cloud.observe().FloatingIPs
			i := slices.IndexFunc(all, func(f lb.FloatingIP) bool { return f.Address == stray.Address })
			if exists := i >= 0; exists != c.exists {
				t.Fatalf("it exists: %v", exists)
			}
			if i >= 0 && all[i].Description != c.is {
				t.Errorf("it is described as %q", all[i].Description)
			}
		})
	}
}

func TestTheOwnerThatLeavesKeepsTheMarksOfOthersAndOfTheCluster(t *testing.T) {
	const sharer, byHand = "kube_service_kubernetes_shop_api", "by-hand"
	cluster := lb.ClusterTag(web.ClusterUID)
	theirs := func(c *cloud) {
		l := port(lb.TCP, 9000, 30900)
		l.Name, l.Tags = "theirs", []string{sharer}
		p := *l.Pool
		p.Name, p.Tags = "theirs", []string{sharer}
		c.addListener(l, c.addPool(p))
	}
	for name, c := range map[string]struct {
		has, want []string
	}{
		"with custom tags":                      {append(slices.Clone(usual(tagged("a")).LoadBalancer.Tags), sharer, byHand), []string{cluster, sharer, byHand}},
		"of openstack-cloud-controller-manager": {[]string{web.LoadBalancerName(), sharer}, []string{sharer, cluster}},
		// From a walk: it stayed for ever when the sharer had gone, too.
		"whose tags another client removed": {nil, []string{cluster}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := cloudWith(usual(tagged("a")))
			cloud.balancer.Tags = c.has
			theirs(cloud)
			(&convergence{reporter: t, cloud: cloud, wanted: usual(nothing)}).converge()
			if d := cmp.Diff(c.want, cloud.observe().LoadBalancer.Tags); d != "" {
				t.Errorf("tags (-want +left):\n%s", d)
			}
		})
	}
}

func TestTheLastSharerDeletesWhatTheClusterCreatedAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		tags []string
		goes bool
	}{
		"the owner has left":                {[]string{lb.ClusterTag(web.ClusterUID), web.LoadBalancerName()}, true},
		"a person made it":                  {[]string{web.LoadBalancerName()}, false},
		"another cluster made it":           {[]string{lb.ClusterTag("another"), web.LoadBalancerName()}, false},
		"another sharer is there":           {[]string{lb.ClusterTag(web.ClusterUID), web.LoadBalancerName(), "kube_service_kubernetes_shop_third"}, false},
		"the owner is there":                {[]string{lb.ClusterTag(web.ClusterUID), web.LoadBalancerName(), "kube-octavia.service=uid-of-api"}, false},
		"another cluster's sharer is there": {[]string{lb.ClusterTag(web.ClusterUID), web.LoadBalancerName(), "kube_service_other_shop_web"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := cloudWith(usual())
			cloud.balancer.Name, cloud.balancer.Tags = "kube_service_kubernetes_shop_api", c.tags
			(&convergence{reporter: t, cloud: cloud, wanted: usual(nothing)}).converge()
			if have := cloud.observe().LoadBalancer; (have == nil) != c.goes {
				t.Errorf("left is %+v", have)
			}
		})
	}
}

func TestAFloatingIPThatStaysIsDescribedAsTheLeavingOwnerWants(t *testing.T) {
	const legacy = "Floating IP for Kubernetes external service shop/web from cluster kubernetes"
	for name, c := range map[string]struct {
		keep          bool
		was, describe string
	}{
		"ours":                      {false, web.FloatingIPDescription(), ""},
		"ours, to be kept":          {true, web.FloatingIPDescription(), web.KeptFloatingIPDescription()},
		"the other controller's":    {false, legacy, web.FloatingIPDescription()},
		"the same, to be kept":      {true, legacy, web.KeptFloatingIPDescription()},
		"a person's, to be kept":    {true, "the shop's", ""},
		"another Service's":         {false, strings.Replace(legacy, "web", "api", 1), ""},
		"one that was kept already": {true, web.KeptFloatingIPDescription(), ""},
	} {
		cloud := cloudWith(usual())
		cloud.balancer.Tags = append(slices.Clone(cloud.balancer.Tags), "kube_service_kubernetes_shop_api")
		observed := cloud.observe()
		observed.FloatingIPs[0].Description = c.was
		var described []string
		for _, op := range New(lb.Wanted{KeepFloatingIP: c.keep}, observed, web).Ops {
			if stays, ok := op.(AssociateFloatingIP); ok && stays.PortID == observed.LoadBalancer.VIP.PortID {
				described = append(described, stays.Description)
			} else if !op.Octavia() {
				t.Errorf("%s: planned: %s", name, op)
			}
		}
		want := []string{c.describe}
		if c.describe == "" {
			want = nil
		}
		if d := cmp.Diff(want, described); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestObjectsOfOthersAreNeverMarkedAsOurs(t *testing.T) {
	cloud := sharedCloud()
	observed := cloud.observe()
	observed.Sharer = false // as if not remembered
	for _, op := range New(usual(), observed, web).Ops {
		if update, ok := op.(UpdateLoadBalancer); ok && update.Tags != nil && slices.Contains(*update.Tags, web.ServiceTag()) {
			t.Errorf("planned: %s", op)
		}
		if end, ok := op.(DeleteLoadBalancer); ok {
			t.Errorf("planned: %s", end)
		}
	}
}
