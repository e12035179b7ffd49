// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The Services of a group share one load balancer: the one that most of them have. If there
// is none, one of them creates it, and the others wait until its id is on that Service. All
// this depends on the Services alone, so it survives a restart.

// GroupOf returns the name of the Service's group, or "". It contains the namespace unless
// Services of several namespaces may share a load balancer.
func (p *Planner) GroupOf(s *corev1.Service) string {
	name := annotation.Value(s.Annotations, annotation.LoadBalancerGroup)
	switch {
	case name == "" || !p.Serves(s):
		return ""
	case p.Config.SharedScope == config.ShareInCluster || p.Config.SharedScope == config.ShareAny:
		return name
	}
	return s.Namespace + "/" + name
}

// Group returns the Services of the Service's group, the oldest first.
func (p *Planner) Group(ctx context.Context, service *corev1.Service) ([]corev1.Service, error) {
	name := p.GroupOf(service)
	if name == "" {
		return nil, nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	group := slices.DeleteFunc(all.Items, func(s corev1.Service) bool { return p.GroupOf(&s) != name })
	slices.SortFunc(group, func(a, b corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return group, nil
}

// knownLoadBalancer returns the id of the Service's load balancer, or "". The id on a Service
// that is not claimed and has no address was written by a user, as a request. The id of a new
// load balancer may be only in memory.
func (p *Planner) knownLoadBalancer(s *corev1.Service) string {
	id := ""
	if p.Claimed(s) || len(s.Status.LoadBalancer.Ingress) > 0 && !claim.Copied(s) {
		id = strings.TrimSpace(s.Annotations[annotation.LoadBalancerID])
	}
	if id == "" && p.Remembered != nil {
		id = p.Remembered.LoadBalancerOf(owner.ServiceKey(s.Namespace, s.Name))
	}
	return id
}

// namesIDAndGroup reports whether a user requests sharing both by id and by group.
func (p *Planner) namesIDAndGroup(s *corev1.Service) bool {
	return p.GroupOf(s) != "" && s.Annotations[annotation.LoadBalancerID] != "" && p.knownLoadBalancer(s) == "" && !claim.Copied(s)
}

// loadBalancersOf returns the ids of the load balancers of a group's Services. The first one is that of most Services;
// if several have the same number of Services, it is that of the oldest Service. The others are deleted, or belong to
// Services that had a load balancer before they joined the group.
func loadBalancersOf(group []corev1.Service, known func(*corev1.Service) string) []string {
	var ids []string
	users := map[string]int{}
	for i := range group {
		id := known(&group[i])
		if users[id]++; id != "" && users[id] == 1 {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return users[b] - users[a] })
	return ids
}

// checkGroup refuses a Service that requests sharing both by id and by group, and one that has
// another load balancer than its group: Services are not moved between load balancers.
func (p *Planner) checkGroup(ctx context.Context, in *desired.Input, _ annotation.Options, observed lb.Observed) error {
	service := in.Service
	if p.namesIDAndGroup(service) {
		return &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: fmt.Sprintf(
			"annotations %s and %s both name a load balancer to share; remove one of them", annotation.TypedKey(service.Annotations, annotation.LoadBalancerGroup), annotation.LoadBalancerID)}
	}
	if observed.LoadBalancer == nil {
		return nil
	}
	group, err := p.Group(ctx, service)
	if err != nil {
		return err
	}
	known := func(s *corev1.Service) string {
		if s.UID == service.UID {
			return observed.LoadBalancer.ID // its id may not be on the Service yet
		}
		return p.knownLoadBalancer(s)
	}
	for _, id := range loadBalancersOf(group, known) {
		if id == observed.LoadBalancer.ID {
			return nil
		}
		l, err := p.Octavia.Get(ctx, id)
		if openstack.Classify(err) == openstack.Gone || err == nil && l.ProvisioningStatus == lb.PendingDelete {
			continue
		} else if err != nil {
			return err
		}
		return &desired.Invalid{Reason: desired.ReasonRequiresReplacement, Message: fmt.Sprintf(
			"the Service has load balancer %s, but group %q of annotation %s has %s; remove the annotation, or delete the Service and create it again",
			observed.LoadBalancer.ID, annotation.Value(service.Annotations, annotation.LoadBalancerGroup), annotation.TypedKey(service.Annotations, annotation.LoadBalancerGroup), id)}
	}
	return nil
}

// awaitGroup returns a *decide.GroupWait if another Service of the group has to create the load
// balancer.
func (p *Planner) awaitGroup(ctx context.Context, service *corev1.Service, observed lb.Observed) error {
	if observed.LoadBalancer != nil {
		return nil
	}
	group, err := p.Group(ctx, service)
	if err != nil || len(group) == 0 {
		return err
	}
	if creator := p.creatorOf(group); creator.UID != service.UID {
		return &decide.GroupWait{For: creator.Namespace + "/" + creator.Name}
	}
	return nil
}

// creatorOf returns the Service of a group that creates its load balancer. It prefers Services that are not refused,
// then Services whose create the cloud has not just rejected, then one that may have started the create, and then the
// oldest one.
func (p *Planner) creatorOf(group []corev1.Service) corev1.Service {
	rejected := func(s corev1.Service) bool {
		return p.Remembered != nil && p.Remembered.CreateRejected(owner.ServiceKey(s.Namespace, s.Name), time.Now())
	}
	for _, out := range []func(corev1.Service) bool{Refused, rejected} {
		if others := slices.DeleteFunc(slices.Clone(group), out); len(others) > 0 {
			group = others
		}
	}
	started := slices.IndexFunc(group, func(s corev1.Service) bool {
		return p.Claimed(&s) || p.Remembered != nil && p.Remembered.MayAppear(owner.ServiceKey(s.Namespace, s.Name))
	})
	return group[max(started, 0)]
}

// Refused reports whether the Service was refused as a whole in its last pass.
func Refused(s corev1.Service) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, status.Accepted)
	return c != nil && c.Status == metav1.ConditionFalse && desired.Refuses(c.Reason)
}
