// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes the reports of the commands `status` and `migrate`: what the Services
// of a cluster have in the cloud, and what a controller that takes over would do. It writes
// nothing.
//
// It may import orphan and what that imports. What a Service is to have it asks a Planner.
package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

// Planner knows what a Service has, and what is to be done for it.
type Planner interface {
	// Plan returns what there is to do for the Service, and what it has.
	Plan(context.Context, *corev1.Service) (diff.Plan, lb.Observed, error)
	// Owns reports whether the load balancer is the Service's. Floating are floating IPs of
	// which some may lead to it.
	Owns(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool
	// Shares reports whether the Service has ports on the load balancer of another owner.
	Shares(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool
}

// Source is what reports are made from.
type Source struct {
	// Finder has the clients of cloud and cluster. Its Reader asks the API server.
	*orphan.Finder
	Capabilities lb.Capabilities
	Planner      Planner
}
