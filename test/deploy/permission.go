// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

// Permission is the smallest part of a role: one verb on one resource.
type Permission struct {
	// Namespace is where it holds; empty: everywhere.
	Namespace string
	Verb      string
	Group     string
	// Resource has its subresource behind a slash.
	Resource string
	// Name is that of the one object it is for; empty: all.
	Name string
}

// String returns the permission as a sentence's part: "patch services/status".
func (p Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Namespace != "" {
		text += " in namespace " + p.Namespace
	}
	return text
}

// Covers reports whether the permission is one that the request needed.
func (p Permission) Covers(r kube.Request) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return p.Verb == r.Verb && p.Group == r.Group && p.Resource == resource &&
		(p.Namespace == "" || p.Namespace == r.Namespace) && (p.Name == "" || p.Name == r.Name)
}

// Granted returns what the controller is allowed by the roles of the manifests, as
// they are in the cluster.
func Granted(ctx context.Context, client kubernetes.Interface) ([]Permission, error) {
	everywhere, err := client.RbacV1().ClusterRoles().Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the controller's ClusterRole: %w", err)
	}
	here, err := client.RbacV1().Roles(Namespace).Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the controller's Role: %w", err)
	}
	return append(expand("", everywhere.Rules), expand(Namespace, here.Rules)...), nil
}

// GatesGranted returns what the roles of deploy/readiness-gates allow the
// controller, as they are in the cluster.
func GatesGranted(ctx context.Context, client kubernetes.Interface) ([]Permission, error) {
	role, err := client.RbacV1().ClusterRoles().Get(ctx, GatesName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the ClusterRole for readiness gates: %w", err)
	}
	return expand("", role.Rules), nil
}

// PageGranted returns what the ClusterRole of deploy/ui allows the topology page, as it is in the cluster.
func PageGranted(ctx context.Context, client kubernetes.Interface) ([]Permission, error) {
	role, err := client.RbacV1().ClusterRoles().Get(ctx, PageName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the ClusterRole of the topology page: %w", err)
	}
	return expand("", role.Rules), nil
}

// expand takes rules apart.
func expand(namespace string, rules []rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, Permission{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Name: name})
					}
				}
			}
		}
	}
	return all
}

// Compare holds what is allowed against what was requested. Unused are the permissions that no
// request needed; lacking is what requests needed and no permission covers. Requests that are about
// no object, such as those for the list of APIs, are allowed to every user.
func Compare(granted []Permission, requests []kube.Request) (unused, lacking []Permission) {
	unused = slices.Clone(granted)
	for _, r := range requests {
		if r.Resource == "" {
			continue
		}
		covers := func(p Permission) bool { return p.Covers(r) }
		unused = slices.DeleteFunc(unused, covers)
		if !slices.ContainsFunc(granted, covers) {
			lacking = append(lacking, needed(r))
		}
	}
	slices.SortFunc(lacking, func(a, b Permission) int { return cmp.Compare(a.String(), b.String()) })
	return unused, slices.Compact(lacking)
}

// needed returns the least that allows the request.
func needed(r kube.Request) Permission {
	p := Permission{Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Name: r.Name}
	if r.Subresource != "" {
		p.Resource += "/" + r.Subresource
	}
	return p
}
