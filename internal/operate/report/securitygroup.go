// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// SecurityGroupMigration is what would happen to a security group that was created for a Service.
type SecurityGroupMigration struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
}

// securityGroups returns what would happen to the groups that were created for Services.
func (s Source) securityGroups(groups []securitygroup.Group, services []corev1.Service) []SecurityGroupMigration {
	all := []SecurityGroupMigration{}
	for _, g := range groups {
		if outcome, reason := s.securityGroup(g, services); outcome != "" {
			all = append(all, SecurityGroupMigration{ID: g.ID, Name: g.Name, Outcome: outcome, Reason: reason})
		}
	}
	slices.SortFunc(all, func(a, b SecurityGroupMigration) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// securityGroup returns what would happen to a group, or "" if it was not created for a Service.
func (s Source) securityGroup(g securitygroup.Group, services []corev1.Service) (outcome Outcome, reason string) {
	of, described := lb.ServiceOfSecurityGroup(g.Name, g.Description)
	uid := lb.SecurityGroupOfService(s.Finder.Policy.ClusterName, g.Name, g.Description)
	i := slices.IndexFunc(services, func(v corev1.Service) bool { return s.Finder.Policy.Owner(&v).ServiceUID == uid })
	switch {
	case uid == "" && !described:
		return "", ""
	case uid == "":
		return OutcomeLeftAlone, fmt.Sprintf("it was created for Service %s/%s of cluster %q, but --cluster-name is %q", of.Namespace, of.Name, of.ClusterName, s.Finder.Policy.ClusterName)
	case i < 0 && !described:
		return OutcomeLeftAlone, "its Service does not exist, and its cluster is unknown"
	case i < 0 || !s.Finder.Policy.MayOwn(&services[i]):
		return OutcomeOrphan, fmt.Sprintf("Service %s/%s does not exist in this cluster, or no longer uses it", of.Namespace, of.Name)
	case !s.Finder.Policy.Serves(&services[i]) && !s.Finder.Policy.Leaves(&services[i]):
		return OutcomeLeftAlone, fmt.Sprintf("Service %s/%s is not handled by this controller", services[i].Namespace, services[i].Name)
	case s.Finder.Config.SecurityGroupMode == config.ServiceSecurityGroups:
		return OutcomeAdopted, fmt.Sprintf("it remains the group of Service %s/%s, with the rules that the Service needs", services[i].Namespace, services[i].Name)
	}
	return OutcomeReplaced, fmt.Sprintf("one group admits the load balancers of all Services; when it is complete and attached to the nodes' ports, the group of Service %s/%s is detached and deleted",
		services[i].Namespace, services[i].Name)
}
