// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
)

// ProspectiveGroup is a security group that was made for a Service, and what would become of
// it.
type ProspectiveGroup struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Outcome Fate   `json:"outcome"`
	// Reason says why.
	Reason string `json:"reason"`
}

// Fate is what would become of a security group.
type Fate string

// The fates.
const (
	// FateReplaced: it would be taken off the nodes and deleted, when that of the cluster is
	// in its place.
	FateReplaced Fate = "replaced"
	// FateAdopted: it would be taken over, and its rules be those that the Service needs.
	FateAdopted Fate = "adopted"
	// FateOrphan: its Service does not exist, or is to have no load balancer.
	FateOrphan Fate = "orphan"
	// FateLeft: it would stay as it is.
	FateLeft Fate = "left-alone"
)

// prospectiveGroups says of each group that was made for a Service what would become of it.
func (p *Planner) prospectiveGroups(groups []securitygroup.Group, services []corev1.Service) []ProspectiveGroup {
	all := []ProspectiveGroup{}
	for _, g := range groups {
		if fate, reason := p.fate(g, services); fate != "" {
			all = append(all, ProspectiveGroup{ID: g.ID, Name: g.Name, Outcome: fate, Reason: reason})
		}
	}
	slices.SortFunc(all, func(a, b ProspectiveGroup) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all
}

// fate says what would become of a group, or "" of one that was made for no Service.
func (p *Planner) fate(g securitygroup.Group, services []corev1.Service) (fate Fate, reason string) {
	of, described := lb.ServiceOfSecurityGroup(g.Name, g.Description)
	uid := lb.SecurityGroupOfService(p.ClusterName, g.Name, g.Description)
	i := slices.IndexFunc(services, func(s corev1.Service) bool { return string(s.UID) == uid })
	switch {
	case uid == "" && !described:
		return "", ""
	case uid == "":
		return FateLeft, fmt.Sprintf("it was made for Service %s/%s of cluster %q, and --cluster-name is %q", of.Namespace, of.Name, of.ClusterName, p.ClusterName)
	case i < 0 && !described:
		return FateLeft, "its Service does not exist, and nothing says of which cluster that was"
	case i < 0 || !claim.MayOwn(&services[i]):
		return FateOrphan, fmt.Sprintf("Service %s/%s does not exist in this cluster, or has given it up", of.Namespace, of.Name)
	case !p.Serves(&services[i]) && !p.Leaves(&services[i]):
		return FateLeft, fmt.Sprintf("Service %s/%s is not for this controller", services[i].Namespace, services[i].Name)
	case p.Config.SecurityGroupMode == config.ServiceSecurityGroups:
		return FateAdopted, fmt.Sprintf("it stays that of Service %s/%s, with the rules that this needs", services[i].Namespace, services[i].Name)
	}
	return FateReplaced, fmt.Sprintf("one group lets the load balancers of all Services in; when it is complete and on the ports of the nodes, that of Service %s/%s is taken off them and deleted",
		services[i].Namespace, services[i].Name)
}
