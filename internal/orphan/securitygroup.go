// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// SecurityGroups is what one look saw of the security groups that were made for Services of a
// cluster with the name of this one, and whose Service is not in the cache.
type SecurityGroups struct {
	groups []securitygroup.Group
	// ports bear one of the groups.
	ports []securitygroup.Port
	// servers are those of the cluster's nodes.
	servers map[string]bool
}

// SecurityGroups looks at security groups: at all of them, or at those with the ids. It finds
// none where the controller manages none.
func (f *Finder) SecurityGroups(ctx context.Context, ids ...string) (found SecurityGroups, err error) {
	if !f.Config.ManageSecurityGroups {
		return found, nil
	}
	owners, err := f.cachedOwners(ctx)
	if err != nil {
		return found, err
	}
	all, err := f.Neutron.SecurityGroups(ctx, ids...)
	if err != nil {
		return found, err
	}
	var foundIDs []string
	for _, g := range all {
		of, made := lb.ServiceOfSecurityGroup(g.Name, g.Description)
		if made && of.MadeInCluster(f.ClusterName) && !owners.all[of.ServiceUID] {
			found.groups = append(found.groups, g)
			foundIDs = append(foundIDs, g.ID)
		}
	}
	if found.ports, err = f.Neutron.PortsWithGroups(ctx, foundIDs...); err != nil || len(foundIDs) == 0 {
		return found, err
	}
	var nodes corev1.NodeList
	if err := f.Reader.List(ctx, &nodes); err != nil {
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
// the ports are what proves it: the group of a cluster is on the ports of its nodes.
func (s SecurityGroups) unproven(groupID, clusterName string, proven bool) string {
	const doubt = "nothing proves that it was created for this cluster, and not for another one named %s: "
	for _, p := range s.ports {
		if !slices.Contains(p.Groups, groupID) {
			continue
		}
		if !s.servers[p.ServerID] {
			return fmt.Sprintf(doubt+"it is attached to port %s of server %q, which is not a node of this cluster", clusterName, p.ID, p.ServerID)
		}
		proven = true
	}
	if !proven {
		return fmt.Sprintf(doubt+"it is attached to no port; if it belongs to this cluster, delete it by hand", clusterName)
	}
	return ""
}

func (f *Finder) securityGroups(found Inventory) (all []Object) {
	for _, g := range found.SecurityGroups.groups {
		of, _ := lb.ServiceOfSecurityGroup(g.Name, g.Description)
		stays := found.SecurityGroups.unproven(g.ID, f.ClusterName, f.proven[g.ID])
		if stays == "" && f.KeepSecurityGroups {
			stays = "with --adopt=observe it is kept"
		}
		all = append(all, Object{securityGroupKind, g.ID, g.Name, of.ServiceUID, stays})
	}
	return all
}

// checkSecurityGroup keeps a group that another client has put on other ports, say.
func (f *Finder) checkSecurityGroup(ctx context.Context, o Object) (stays string, _ error) {
	now, err := f.SecurityGroups(ctx, o.ID)
	if err != nil {
		return "", err
	}
	if !slices.Contains(f.securityGroups(Inventory{SecurityGroups: now}), o) {
		return changed, nil
	}
	if f.proven == nil {
		f.proven = map[string]bool{}
	}
	f.proven[o.ID] = true
	return "", nil
}

// removeSecurityGroup takes a group off all ports, each unless another client changes the port
// at the same time, and deletes the group.
func (f *Finder) removeSecurityGroup(ctx context.Context, o Object) error {
	ports, err := f.Neutron.PortsWithGroups(ctx, o.ID)
	if err != nil {
		return err
	}
	var ops []securitygroup.Op
	for _, port := range ports {
		rest := slices.DeleteFunc(slices.Clone(port.Groups), func(id string) bool { return id == o.ID })
		ops = append(ops, securitygroup.SetGroups{Port: port, Groups: rest})
	}
	for _, op := range append(ops, securitygroup.DeleteGroup{ID: o.ID, Name: o.Name}) {
		if _, err := f.Neutron.ApplySecurityGroup(ctx, op); err != nil {
			return err
		}
	}
	return nil
}
