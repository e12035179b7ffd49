// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

func TestALoadBalancerThatOthersUseStaysWhenTheServiceGoes(t *testing.T) {
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
			plan := (&journey{reporter: t, cloud: cloud, wanted: usual(nothing)}).travel()
			if len(plan.Refused) != 1 || plan.Refused[0].Reason != ReasonSharedLoadBalancer {
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
