// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report creates the reports of the commands `status` and `migrate`: the cloud objects of
// a cluster's Services, and what a controller would do when it takes over. It writes nothing.
//
// A Planner makes the plans for Services.
package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
)

// Planner makes plans for Services.
type Planner interface {
	// Plan returns the plan for the Service, and the observed state of its cloud objects.
	Plan(context.Context, *corev1.Service) (diff.Plan, lb.Observed, error)
	// PlanListed is Plan from lists of the project. It reads members only if the load balancer has changed since a
	// controller last confirmed it.
	PlanListed(context.Context, *corev1.Service, *survey.Lists) (diff.Plan, lb.Observed, error)
	// Owns reports whether the load balancer belongs to the Service. Some of the floating IPs may be
	// attached to it.
	Owns(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool
	// Shares reports whether the Service has ports on the load balancer of another owner.
	Shares(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool
}

// Source has what a report is created from.
type Source struct {
	// Finder has the clients of OpenStack and Kubernetes. Its Reader reads from the API server.
	*orphan.Finder
	Capabilities lb.Capabilities
	Planner      Planner
}

// services returns all Services of the cluster, sorted by namespace and name.
func (s Source) services(ctx context.Context) ([]corev1.Service, error) {
	var all corev1.ServiceList
	if err := s.Reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	slices.SortFunc(all.Items, func(a, b corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all.Items, nil
}

// otherProject says that the load balancer belongs to another project, or returns "".
func (s Source) otherProject(l lb.LoadBalancer) string {
	if l.ProjectID == "" || l.ProjectID == s.Neutron.ProjectID() {
		return ""
	}
	return fmt.Sprintf("load balancer %s belongs to another project (%s)", l.ID, l.ProjectID)
}
