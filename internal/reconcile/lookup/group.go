// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkGroup refuses an owner that requests sharing both by id and by group, and one that has another load balancer than
// its group: owners are not moved between load balancers.
func (b *Builder) checkGroup(ctx context.Context, f decide.Facts, observed lb.Observed) error {
	of := f.Owner
	if decide.NamesIDAndGroup(f) {
		return &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: fmt.Sprintf(
			"annotations %s and %s both name a load balancer to share; remove one of them", of.Spec.Key(annotation.LoadBalancerGroup), annotation.LoadBalancerID)}
	}
	if observed.LoadBalancer == nil {
		return nil
	}
	group := slices.Clone(f.Group)
	for i := range group {
		if group[i].Owner.UID == of.UID {
			group[i].LoadBalancerID = observed.LoadBalancer.ID // it may not be on the owner yet
		}
	}
	for _, id := range decide.LoadBalancersOf(group) {
		if id == observed.LoadBalancer.ID {
			return nil
		}
		l, err := b.Octavia.Get(ctx, id)
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
