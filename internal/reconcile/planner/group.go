// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// The Services of a group share one load balancer: the one that most of them have. If there
// is none, one of them creates it, and the others wait until its id is on that Service. All
// this depends on the Services alone, so it survives a restart.

// Group returns the owners of the owner's group, the oldest first.
func (p *Planner) Group(ctx context.Context, of claim.Owner) ([]decide.GroupMember, error) {
	if of.Group == "" {
		return nil, nil
	}
	all, err := p.Owners().List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(o claim.Owner) bool { return o.Group != of.Group })
	slices.SortFunc(all, func(a, b claim.Owner) int {
		return cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Kind, b.Key.Kind))
	})
	group := make([]decide.GroupMember, len(all))
	for i, o := range all {
		group[i] = decide.GroupMember{Owner: o, LoadBalancerID: p.knownLoadBalancer(o)}
		if p.Remembered != nil {
			group[i].CreateRejected, group[i].MayAppear = p.Remembered.CreateRejected(o.Key, time.Now()), p.Remembered.MayAppear(o.Key)
		}
	}
	return group, nil
}

// knownLoadBalancer returns the id of the Service's load balancer, or "". The id on a Service
// that is not claimed and has no address was written by a user, as a request. The id of a new
// load balancer may be only in memory.
func (p *Planner) knownLoadBalancer(s claim.Owner) string {
	id := ""
	if s.Claimed || len(s.Recorded.Ingress) > 0 && !s.Copied {
		id = s.Recorded.LoadBalancerID
	}
	if id == "" && p.Remembered != nil {
		id = p.Remembered.LoadBalancerOf(s.Key)
	}
	return id
}

// namesIDAndGroup reports whether a user requests sharing both by id and by group.
func (p *Planner) namesIDAndGroup(s claim.Owner) bool {
	return s.Group != "" && s.Recorded.LoadBalancerID != "" && p.knownLoadBalancer(s) == "" && !s.Copied
}

// checkGroup refuses a Service that requests sharing both by id and by group, and one that has
// another load balancer than its group: Services are not moved between load balancers.
func (p *Planner) checkGroup(ctx context.Context, of claim.Owner, _ *desired.Input, observed lb.Observed) error {
	if p.namesIDAndGroup(of) {
		return &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: fmt.Sprintf(
			"annotations %s and %s both name a load balancer to share; remove one of them", of.Spec.Key(annotation.LoadBalancerGroup), annotation.LoadBalancerID)}
	}
	if observed.LoadBalancer == nil {
		return nil
	}
	group, err := p.Group(ctx, of)
	if err != nil {
		return err
	}
	for i := range group {
		if group[i].Owner.UID == of.UID {
			group[i].LoadBalancerID = observed.LoadBalancer.ID // it may not be on the owner yet
		}
	}
	for _, id := range decide.LoadBalancersOf(group) {
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
			observed.LoadBalancer.ID, annotation.Value(of.Spec.Annotations, annotation.LoadBalancerGroup), of.Spec.Key(annotation.LoadBalancerGroup), id)}
	}
	return nil
}

// awaitGroup returns a *decide.GroupWait if another owner of the group has to create the load
// balancer.
func (p *Planner) awaitGroup(ctx context.Context, of claim.Owner, observed lb.Observed) error {
	if observed.LoadBalancer != nil {
		return nil
	}
	group, err := p.Group(ctx, of)
	if err != nil || len(group) == 0 {
		return err
	}
	creator := decide.CreatorOf(group)
	if creator.UID != of.UID {
		return &decide.GroupWait{For: creator.Key.String()}
	}
	return nil
}
