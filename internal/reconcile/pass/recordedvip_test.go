// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestTheRecordedVIPIsNeededUntilALoadBalancerWorks(t *testing.T) {
	const recorded = "10.0.0.9 22222222-2222-4222-8222-222222222222"
	for name, c := range map[string]struct {
		recorded string
		l        *lb.LoadBalancer
		want     bool
	}{
		"there":              {recorded, &lb.LoadBalancer{VIP: lb.VIP{Address: "10.0.0.9"}, ProvisioningStatus: lb.Active}, true},
		"there, in ERROR":    {recorded, &lb.LoadBalancer{VIP: lb.VIP{Address: "10.0.0.9"}, ProvisioningStatus: lb.Error}, false},
		"at another address": {recorded, &lb.LoadBalancer{VIP: lb.VIP{Address: "10.0.0.7"}, ProvisioningStatus: lb.Active}, true},
		"no load balancer":   {recorded, nil, false},
		"nothing recorded":   {"", &lb.LoadBalancer{ProvisioningStatus: lb.Active}, false},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation.VIPAddress: c.recorded}}}
			if got := outlivedRecordedVIP(services.Of(service), c.l); got != c.want {
				t.Errorf("the record is not needed any more: %v, want %v", got, c.want)
			}
		})
	}
}
