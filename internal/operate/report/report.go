// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report creates the reports of the commands `status` and `migrate`: the cloud objects of a
// cluster's Services, and what a controller would do when it takes over. It does not write.
package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
)

// Source has the clients that a report is created with.
type Source struct {
	// Finder has the clients of OpenStack and Kubernetes. Its Reader reads from the API server.
	Finder  *orphan.Finder
	Planner *planner.Planner
	// Capabilities are those of the cloud.
	Capabilities lb.Capabilities
}

// NewSource returns the source that reads with the planner's clients.
func NewSource(p *planner.Planner) Source {
	return Source{Finder: p.Finder(), Capabilities: p.Options.Capabilities, Planner: p}
}

// services returns all Services of the cluster, sorted by namespace and name.
func (s Source) services(ctx context.Context) ([]corev1.Service, error) {
	var all corev1.ServiceList
	if err := s.Finder.Reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	slices.SortFunc(all.Items, func(a, b corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all.Items, nil
}

// of returns the Service as the owner of a load balancer.
func (s Source) of(v *corev1.Service) claim.Owner {
	return service.Kind{Policy: s.Finder.Policy, Config: s.Finder.Config}.Of(v)
}

// otherProject says that the load balancer belongs to another project, or returns "".
func (s Source) otherProject(l lb.LoadBalancer) string {
	if l.ProjectID == "" || l.ProjectID == s.Finder.Neutron.ProjectID() {
		return ""
	}
	return fmt.Sprintf("load balancer %s belongs to another project (%s)", l.ID, l.ProjectID)
}
