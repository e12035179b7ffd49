// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func uidOf(name string) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012x", name[:min(len(name), 6)]))
}

func TestOutcomeOfASecurityGroup(t *testing.T) {
	clusterIPs, err := claim.NewClusterIPs(config.ClusterIP{Enabled: true, ServiceSubnetID: "services"})
	if err != nil {
		t.Fatal(err)
	}
	source := Source{Finder: &orphan.Finder{Policy: claim.Policy{ClusterName: "prod", LoadBalancerClass: "class", DefaultClass: true, ClusterIPs: clusterIPs}}}
	service := func(name string) corev1.Service {
		v := corev1.Service{}
		v.Namespace, v.Name, v.UID, v.Spec.Type = "shop", name, uidOf(name), corev1.ServiceTypeLoadBalancer
		return v
	}
	group := func(cluster, name string) securitygroup.Group {
		o := lb.Owner{ClusterName: cluster, Namespace: "shop", Name: name, ServiceUID: string(uidOf(name))}
		return securitygroup.Group{ID: name, Name: o.SecurityGroupName(), Description: o.SecurityGroupDescription()}
	}
	classy, plain, inside := service("classy"), service("plain"), service("inside")
	class := "other"
	classy.Spec.LoadBalancerClass, plain.Spec.Type = &class, corev1.ServiceTypeClusterIP
	inside.Spec.Type, inside.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.96.0.7"
	services := []corev1.Service{service("web"), classy, plain, inside}
	undescribed := group("prod", "gone")
	undescribed.Description = ""
	for _, c := range []struct {
		why     string
		g       securitygroup.Group
		mode    string
		outcome Outcome
		says    string
	}{
		{"of a Service", group("prod", "web"), config.ClusterSecurityGroup, OutcomeReplaced, "Service shop/web is detached"},
		{"of a Service, with a group for each Service", group("prod", "web"), config.ServiceSecurityGroups, OutcomeAdopted, "Service shop/web"},
		{"of another cluster", group("test", "web"), config.ClusterSecurityGroup, OutcomeLeftAlone, `of cluster "test", but --cluster-name is "prod"`},
		{"of a deleted Service", group("prod", "gone"), config.ClusterSecurityGroup, OutcomeOrphan, "shop/gone does not exist"},
		{"of a Service that no longer uses it", group("prod", "plain"), config.ClusterSecurityGroup, OutcomeOrphan, "no longer uses it"},
		{"of a Service at its ClusterIP", group("prod", "inside"), config.ClusterSecurityGroup, OutcomeReplaced, "Service shop/inside is detached"},
		{"of an unknown cluster", undescribed, config.ClusterSecurityGroup, OutcomeLeftAlone, "its cluster is unknown"},
		{"of a Service of another class", group("prod", "classy"), config.ClusterSecurityGroup, OutcomeLeftAlone, "not handled by this controller"},
		{"of no Service", securitygroup.Group{Name: "default"}, config.ClusterSecurityGroup, "", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			source.Finder.Config.SecurityGroupMode = c.mode
			if outcome, reason := source.securityGroup(c.g, services); outcome != c.outcome || !strings.Contains(reason, c.says) {
				t.Errorf("%q, %q; want %q that says %q", outcome, reason, c.outcome, c.says)
			}
		})
	}
}
