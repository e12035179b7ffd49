// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
	"github.com/kube-octavia/kube-octavia/internal/report"
)

// Finder returns what finds orphans, with the Planner's clients.
func (p *Planner) Finder() *orphan.Finder {
	return &orphan.Finder{
		Policy: p.Policy, Config: p.Config, Reader: p.Reader, Octavia: p.Octavia, Neutron: p.Neutron, Barbican: p.Barbican,
		KeepSecurityGroups: p.Adopt == AdoptObserve,
	}
}

// Source returns what the reports of `status` and `migrate` are made from.
func (p *Planner) Source() report.Source {
	return report.Source{Finder: p.Finder(), Capabilities: p.Capabilities, Planner: p}
}

// Owns implements report.Planner.
func (p *Planner) Owns(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.claims(service, p.Owner(service), l, floating)
}

// Shares implements report.Planner.
func (p *Planner) Shares(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.uses(service, l) || p.Owner(service).MayUse(l) && publishes(service, l, floating)
}

// sweepMemory implements sweep.Memory.
type sweepMemory struct{ *memory }

func (m sweepMemory) StaleLoadBalancers(heads map[string]octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []types.NamespacedName {
	return m.doubt(heads, listed, began)
}

func (m sweepMemory) UnknownLoadBalancers(heads []octavia.Head, began time.Time) []types.NamespacedName {
	return m.seconds(heads, began)
}

func (m sweepMemory) StaleFloatingIPs(all []lb.FloatingIP, clusterUID string, began time.Time) []types.NamespacedName {
	return m.moved(all, clusterUID, began)
}

func (m sweepMemory) UnusedCertificates(all []lb.Certificate, clusterUID string) []types.NamespacedName {
	return m.idle(all, clusterUID)
}

func (m sweepMemory) DueForReading(most int, began time.Time) []types.NamespacedName {
	return m.reread(most, began)
}

func (m sweepMemory) DualStack(key types.NamespacedName) bool { return m.dualStack(key) }
