// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
)

// SecurityGroups are the security groups that were created for Services of a cluster with the name
// of this one, and whose Service is not in the cache.
type SecurityGroups struct {
	groups []securitygroup.Group
	// ports are those to which one of the groups is attached.
	ports []securitygroup.Port
	// servers are the ids of the cluster's nodes in Nova.
	servers map[string]bool
}

// SecurityGroups reads all such groups, or those with the ids. It returns none if the controller
// does not manage security groups.
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
		if made && of.MadeInCluster(f.Policy.ClusterName) && !owners.all[of.ServiceUID] {
			found.groups = append(found.groups, g)
			foundIDs = append(foundIDs, g.ID)
		}
	}
	found.ports, err = f.Neutron.PortsWithGroups(ctx, foundIDs...)
	if err != nil || len(foundIDs) == 0 {
		return found, err
	}
	var nodes corev1.NodeList
	if err := f.Reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return found, fmt.Errorf("list nodes: %w", err)
	}
	found.servers = map[string]bool{}
	for i := range nodes.Items {
		if id, err := member.ServerID(nodes.Items[i].Spec.ProviderID); err == nil && id != "" {
			found.servers[id] = true
		}
	}
	return found, nil
}

// unproven says why nothing proves that the group was created for this cluster, or returns "". The
// group itself contains only the name of the cluster, which other clusters may have too: it is
// kubernetes by default. So its ports have to prove it: they must all belong to nodes of this
// cluster.
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
		inUse := found.SecurityGroups.unproven(g.ID, f.Policy.ClusterName, f.proven[g.ID])
		if inUse == "" && f.KeepSecurityGroups {
			inUse = "--adopt=observe keeps it"
		}
		all = append(all, Object{Kind: securityGroupKind, ID: g.ID, Name: g.Name, ServiceUID: of.ServiceUID, InUse: inUse})
	}
	return all
}

// checkSecurityGroup keeps a group that was changed, for example attached to other ports.
func (f *Finder) checkSecurityGroup(ctx context.Context, o Object, _ owners) (keep string, _ error) {
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

// removeSecurityGroup detaches the group from all ports and deletes it. A port that another client
// changes at the same time is not changed.
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
