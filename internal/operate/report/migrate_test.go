// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

func TestOutcomeOfAService(t *testing.T) {
	in := func(s lb.ProvisioningStatus) *lb.LoadBalancer {
		return &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: s}
	}
	tags := diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"ours"}}
	members := diff.SetMembers{PoolID: "p-1"}
	plan := func(ops ...diff.Op) diff.Plan { return diff.Plan{Ops: ops} }
	refused := diff.Plan{Ops: []diff.Op{members}, Refused: []diff.Refusal{{Reason: "x", Message: "y"}}}
	for name, c := range map[string]struct {
		facts facts
		want  Outcome
	}{
		"it gets our tags":                              {facts{plan: plan(tags), balancer: in(lb.Active), serves: true}, OutcomeAdopted},
		"there are no tags":                             {facts{plan: plan(), balancer: in(lb.Active), serves: true}, OutcomeAdopted},
		"its members differ":                            {facts{plan: plan(tags, members), balancer: in(lb.Active), serves: true}, OutcomeChanged},
		"it was taken over before":                      {facts{plan: plan(), balancer: in(lb.Active), serves: true, adopted: true}, OutcomeServed},
		"the same, and its members differ":              {facts{plan: plan(members), balancer: in(lb.Active), serves: true, adopted: true}, OutcomeChanged},
		"it is refused":                                 {facts{plan: refused, balancer: in(lb.Active), serves: true}, OutcomeRefused},
		"it waits for its group":                        {facts{plan: diff.Plan{Refused: []diff.Refusal{{Reason: status.ReasonWaitingForGroup}}}, serves: true}, OutcomeCreated},
		"it has no load balancer":                       {facts{plan: plan(diff.CreateLoadBalancer{}), serves: true}, OutcomeCreated},
		"a load balancer of another owner has its name": {facts{plan: plan(diff.CreateLoadBalancer{}), serves: true, foreign: true}, OutcomeForeign},
		"a load balancer of another owner has its id":   {facts{serves: true, err: openstack.NewForeign("use it", "not ours")}, OutcomeForeign},
		"it no longer needs a load balancer":            {facts{plan: plan(diff.DeleteLoadBalancer{}), balancer: in(lb.Active)}, OutcomeReleased},
		"it is PENDING":                                 {facts{balancer: in(lb.PendingUpdate), serves: true}, OutcomeBusy},
		"it is in ERROR":                                {facts{balancer: in(lb.Error), serves: true}, OutcomeBusy},
		"a call failed":                                 {facts{serves: true, err: errors.New("no answer")}, OutcomeUnknown},
		"a call failed during the release":              {facts{err: errors.New("no answer")}, OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcome(c.facts); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnchangedOutcomes(t *testing.T) {
	for _, o := range []Outcome{OutcomeServed, OutcomeAdopted, OutcomeLeftAlone} {
		t.Run(string(o), func(t *testing.T) {
			if !o.Unchanged() {
				t.Errorf("%s counts as changed", o)
			}
		})
	}
	for _, o := range []Outcome{OutcomeChanged, OutcomeRefused, OutcomeForeign, OutcomeCreated, OutcomeReleased, OutcomeBusy, OutcomeUnknown, OutcomeOrphan, OutcomeReplaced} {
		t.Run(string(o), func(t *testing.T) {
			if o.Unchanged() {
				t.Errorf("%s counts as unchanged", o)
			}
		})
	}
}

func TestOwnerOfALoadBalancerWithoutAService(t *testing.T) {
	s := Source{Finder: &orphan.Finder{Policy: claim.Policy{ClusterName: "prod", ClusterUID: "uid-c", LoadBalancerClass: "a", DefaultClass: true}, Neutron: neutron.New(nil, "project")}}
	web := corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	web.Namespace, web.Name, web.UID = "shop", "web", "uid-web"
	classed := *web.DeepCopy()
	classed.Name, classed.UID, classed.Spec.LoadBalancerClass = "classed", "uid-classed", ptr.To("b")
	described := func(text string) lb.LoadBalancer { return lb.LoadBalancer{ProjectID: "project", Description: text} }
	tagged := func(tag string) lb.LoadBalancer {
		return lb.LoadBalancer{Description: "Kubernetes external service shop/web from cluster prod", Tags: []string{tag}}
	}
	for name, c := range map[string]struct {
		l    lb.LoadBalancer
		want string
	}{
		"another project's":      {lb.LoadBalancer{ProjectID: "other"}, "another project (other)"},
		"another cluster's uid":  {tagged("kube-octavia.cluster=uid-x"), "uid of another cluster (uid-x)"},
		"our uid, of no Service": {tagged("kube-octavia.cluster=uid-c"), "its Service does not exist any more"},
		"our uid, of a Service that these flags leave alone": {
			lb.LoadBalancer{Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-classed"}},
			`Service shop/classed, which these flags leave alone: spec.loadBalancerClass is "b", and --load-balancer-class is "a"`},
		"our uid, of a Service under another cluster name": {
			lb.LoadBalancer{Description: "Kubernetes external service shop/web from cluster test", Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-web"}},
			`Service shop/web, but was created with --cluster-name "test", and this is "prod"`},
		"our uid, of a Service with another": {
			lb.LoadBalancer{Description: "Kubernetes external service shop/web from cluster prod", Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-web"}},
			"Service shop/web, which uses another one"},
		"a Service that these flags leave alone": {described("Kubernetes external service shop/classed from cluster prod"), "shop/classed, which these flags leave alone"},
		"another cluster's name":                 {described("Kubernetes external service shop/web from cluster test"), `Service shop/web of cluster "test", but --cluster-name is "prod"`},
		"a deleted Service":                      {described("Kubernetes external service shop/api from cluster prod"), "shop/api, which does not exist"},
		"a Service with another":                 {described("Kubernetes external service shop/web from cluster prod"), "shop/web, which has another one"},
		"not described":                          {described(""), "its Service is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.describeOwner(c.l, []corev1.Service{web, classed}); !strings.Contains(got, c.want) {
				t.Errorf("%q does not say %q", got, c.want)
			}
		})
	}
}
