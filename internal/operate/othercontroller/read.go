// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadOCCM reads the Lease of the leading cloud controller manager, nil if there is none. The reader must not have a cache.
// The Lease is read with a list, so that one right is sufficient for all Leases.
func ReadOCCM(ctx context.Context, reader client.Reader) (*Lease, error) {
	name := OCCMLease
	found, err := readLeases(ctx, reader, client.InNamespace(name.Namespace), client.MatchingFields{"metadata.name": name.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// ReadInstances reads the Leases of all instances of kube-octavia. The reader must not have a cache.
func ReadInstances(ctx context.Context, reader client.Reader) ([]Lease, error) {
	return readLeases(ctx, reader, client.HasLabels{ClassLabel})
}

func readLeases(ctx context.Context, reader client.Reader, which ...client.ListOption) ([]Lease, error) {
	var list coordinationv1.LeaseList
	if err := reader.List(ctx, &list, which...); err != nil {
		return nil, fmt.Errorf("list Leases: %w", err)
	}
	all := []Lease{}
	for i := range list.Items {
		all = append(all, NewLease(&list.Items[i]))
	}
	return all, nil
}

// NewLease returns the relevant fields of a Lease.
func NewLease(l *coordinationv1.Lease) Lease {
	lease := Lease{LeaseName: LeaseName{Namespace: l.Namespace, Name: l.Name},
		Class: l.Labels[ClassLabel], Default: l.Labels[DefaultLabel]}
	if holder := l.Spec.HolderIdentity; holder != nil {
		lease.Holder = *holder
	}
	if renewed := l.Spec.RenewTime; renewed != nil {
		lease.Renewed = renewed.Time
	}
	if seconds := l.Spec.LeaseDurationSeconds; seconds != nil {
		lease.Duration = time.Duration(*seconds) * time.Second
	}
	return lease
}

// ReadWorkloads reads the DaemonSets and Deployments that run openstack-cloud-controller-manager, in all namespaces. The reader
// must not have a cache. Rights for objects with these names are sufficient.
func ReadWorkloads(ctx context.Context, reader client.Reader) ([]Workload, error) {
	all := []Workload{}
	daemonSets, deployments := WorkloadNames()
	for _, name := range daemonSets {
		var list appsv1.DaemonSetList
		if err := reader.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
			return nil, fmt.Errorf("list DaemonSets of name %s: %w", name, err)
		}
		for _, d := range list.Items {
			all = append(all, Workload{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name, Ready: d.Status.NumberReady, Args: args(d.Spec.Template.Spec)})
		}
	}
	for _, name := range deployments {
		var list appsv1.DeploymentList
		if err := reader.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
			return nil, fmt.Errorf("list Deployments of name %s: %w", name, err)
		}
		for _, d := range list.Items {
			all = append(all, Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, Ready: d.Status.ReadyReplicas, Args: args(d.Spec.Template.Spec)})
		}
	}
	return all, nil
}

// args returns the commands and arguments of all containers, and the values of their environment
// variables.
func args(pod corev1.PodSpec) (all []string) {
	for _, c := range pod.Containers {
		var values []string
		for _, e := range c.Env {
			values = append(values, "$("+e.Name+")", e.Value)
		}
		env := strings.NewReplacer(values...)
		for _, arg := range append(c.Command, c.Args...) {
			all = append(all, env.Replace(arg))
		}
	}
	return all
}

// page is the number of Services that are read at once; they are not kept.
const page = 500

// ReadWrites reads the last writes to the addresses of the Services for which serves returns true. The reader must not have a
// cache: that of the controller has no managed fields.
func ReadWrites(ctx context.Context, reader client.Reader, serves func(*corev1.Service) bool) ([]Write, error) {
	all := []Write{}
	next := ""
	for {
		var services corev1.ServiceList
		if err := reader.List(ctx, &services, client.Limit(page), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		for i := range services.Items {
			if write, ok := LastWrite(&services.Items[i]); ok && serves(&services.Items[i]) {
				all = append(all, write)
			}
		}
		next = services.Continue
		if next == "" {
			return all, nil
		}
	}
}
