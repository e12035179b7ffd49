// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// securityGroupKind is the kind of object as events, metrics and `status` have it.
const securityGroupKind = "securitygroup"

// groupInventory is what one look saw of the security groups that were made for Services of a
// cluster with the name of this one.
type groupInventory struct {
	groups []securitygroup.Group
	// ports bear one of the groups.
	ports []securitygroup.Port
	// servers are those of the cluster's nodes.
	servers map[string]bool
}

// seeGroups looks at the security groups of which the cache has no Service, or at the one
// with the id.
func (p *Planner) seeGroups(ctx context.Context, ids ...string) (found groupInventory, err error) {
	owners, err := p.cachedOwners(ctx)
	if err != nil {
		return found, err
	}
	all, err := p.Neutron.SecurityGroups(ctx, ids...)
	if err != nil {
		return found, err
	}
	var lonely []string
	for _, g := range all {
		of, made := lb.ServiceOfSecurityGroup(g.Name, g.Description)
		if made && of.MadeInCluster(p.ClusterName) && !owners[of.ServiceUID] {
			found.groups = append(found.groups, g)
			lonely = append(lonely, g.ID)
		}
	}
	if found.ports, err = p.Neutron.PortsWithGroups(ctx, lonely...); err != nil || len(lonely) == 0 {
		return found, err
	}
	var nodes corev1.NodeList
	if err := p.Reader.List(ctx, &nodes); err != nil {
		return found, fmt.Errorf("list nodes: %w", err)
	}
	found.servers = map[string]bool{}
	for i := range nodes.Items {
		if id, err := target.ServerID(nodes.Items[i].Spec.ProviderID); err == nil && id != "" {
			found.servers[id] = true
		}
	}
	return found, nil
}

// unproven says why it is not sure that the group was made for a Service of this very cluster,
// or "". All that it says itself is the cluster's name, which others may have as well:
// openstack-cloud-controller-manager calls each cluster kubernetes that is not given a name. So
// the ports are what proves it: that group of a cluster is on the ports of its nodes.
func (i groupInventory) unproven(groupID, clusterName string, proven bool) string {
	const doubt = "nothing proves that it was made for this cluster, and not for another one named %s: "
	for _, p := range i.ports {
		if !slices.Contains(p.Groups, groupID) {
			continue
		}
		if !i.servers[p.ServerID] {
			return fmt.Sprintf(doubt+"it is on port %s of server %q, which is no node of this cluster", clusterName, p.ID, p.ServerID)
		}
		proven = true
	}
	if !proven {
		return fmt.Sprintf(doubt+"it is on no port; if it is this cluster's, delete it by hand", clusterName)
	}
	return ""
}

// groupKind is the kind of security groups that were made for one Service each.
func (p *Planner) groupKind() orphanKind {
	// proven are groups that were seen on nothing but ports of the cluster's nodes: one may be
	// taken off them, and its deletion fail.
	proven := map[string]bool{}
	marked := func(found inventory, _ string) (all []object) {
		for _, g := range found.groups.groups {
			of, _ := lb.ServiceOfSecurityGroup(g.Name, g.Description)
			why := found.groups.unproven(g.ID, p.ClusterName, proven[g.ID])
			if why == "" && p.Adopt == AdoptObserve {
				why = "with --adopt=observe it stays"
			}
			all = append(all, object{objectKey{securityGroupKind, g.ID}, of.ServiceUID, g.Name, why})
		}
		return all
	}
	return orphanKind{
		name:   securityGroupKind,
		bears:  "was made, as it is named and described, for a cluster with the name of this one and for Service uid",
		marked: marked,
		look: func(ctx context.Context, o object) (left string, _ error) {
			now, err := p.seeGroups(ctx, o.id)
			if err != nil {
				return "", err
			}
			if !slices.Contains(marked(inventory{groups: now}, ""), o) {
				return "it is not what it was a moment ago", nil
			}
			proven[o.id] = true
			return "", nil
		},
		remove: p.removeGroup,
	}
}

// removeGroup takes a group off all ports, each if nobody has changed it meanwhile, and deletes
// it.
func (p *Planner) removeGroup(ctx context.Context, o object) error {
	ports, err := p.Neutron.PortsWithGroups(ctx, o.id)
	if err != nil {
		return err
	}
	var ops []securitygroup.Op
	for _, port := range ports {
		rest := slices.DeleteFunc(slices.Clone(port.Groups), func(id string) bool { return id == o.id })
		ops = append(ops, securitygroup.SetGroups{Port: port, Groups: rest})
	}
	for _, op := range append(ops, securitygroup.DeleteGroup{ID: o.id, Name: o.name}) {
		if _, err := p.Neutron.ApplySecurityGroup(ctx, op); err != nil {
			return err
		}
	}
	return nil
}
