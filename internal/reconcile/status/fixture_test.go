// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// The addresses of the load balancer in these tests.
const (
	vip      = "10.0.0.5"
	floating = "203.0.113.7"
)

// members is an op that only moves members.
var members = diff.SetMembers{PoolID: "p-1", PoolName: "pool_0", Added: 1, Members: []lb.Member{{Address: "10.0.0.9", Port: 30080, Weight: 1}}}

// closePort is an op that is not about members.
var closePort = diff.DeleteListener{ID: "l-2", Key: lb.ListenerKey{Transport: lb.TCP, Port: 81}}

// observed is a load balancer in the given state with as many listeners, whose
// VIP has a floating IP.
func observed(state lb.ProvisioningStatus, listeners int) lb.Observed {
	return lb.Observed{
		LoadBalancer: &lb.LoadBalancer{
			ID: "lb-1", ProvisioningStatus: state, VIP: lb.VIP{Address: vip, PortID: "port-1"}, Listeners: make([]lb.Listener, listeners),
		},
		FloatingIPs: []lb.FloatingIP{{ID: "fip-1", Address: floating, PortID: "port-1"}},
	}
}

// internalOnly takes the floating IP away.
func internalOnly(o lb.Observed) lb.Observed {
	o.FloatingIPs = nil
	return o
}

// done is a pass that saw everything wanted.
func done() Pass {
	return Pass{Observed: observed(lb.Active, 1), Publication: Publication{External: true}, Done: true}
}

// vip6 is the IPv6 address of a load balancer that has both.
const vip6 = "fd00::5"

// dual is done, of a load balancer with VIPs of both families.
func dual(families ...corev1.IPFamily) Pass {
	p := done()
	p.Observed.LoadBalancer.AdditionalVIPs = []lb.VIP{{Address: vip6}}
	p.Families = families
	return p
}

// after is what a Service has after passes, the oldest first, all of generation
// 1.
func after(passes ...Pass) []metav1.Condition {
	var conditions []metav1.Condition
	for _, p := range passes {
		conditions = Conditions(conditions, 1, p)
	}
	return conditions
}

// said is the part of a condition that a user reads.
type said struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

func find(t *testing.T, conditions []metav1.Condition, kind string) said {
	t.Helper()
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		t.Fatalf("no condition %s in %v", kind, conditions)
	}
	return said{c.Status, c.Reason, c.Message}
}

// addresses are those of an ingress.
func addresses(ingress []corev1.LoadBalancerIngress) []string {
	var all []string
	for _, i := range ingress {
		all = append(all, i.IP)
	}
	return all
}
