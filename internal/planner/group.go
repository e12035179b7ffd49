// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// The Services of a group share one load balancer, that which most of them are known to
// have, as if its id stood on each. Where there is none, one of them makes it for itself,
// and the others wait until its id is noted on that one. Everything is decided from the
// Services alone, which a controller that has just started sees as well.

// GroupOf names the group that the Service is in, apart from those of other namespaces
// unless the operator lets these share; "" is none.
func (p *Planner) GroupOf(s *corev1.Service) string {
	name := strings.TrimSpace(s.Annotations[annotation.LoadBalancerGroup])
	switch {
	case name == "" || !p.Serves(s):
		return ""
	case p.Config.SharedScope == config.ShareInCluster || p.Config.SharedScope == config.ShareAny:
		return name
	}
	return s.Namespace + "/" + name
}

// Group returns the Services of the Service's group, the oldest first; none if it is in none.
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

// knownBalancer is the id of the load balancer that the Service is known to have, or "".
// What stands on a Service that was not taken over and has no address is a user's wish. The
// one that was just made for a Service may not be noted on it yet.
func (p *Planner) knownBalancer(s *corev1.Service) string {
	id := ""
	if p.Claimed(s) || len(s.Status.LoadBalancer.Ingress) > 0 {
		id = strings.TrimSpace(s.Annotations[annotation.LoadBalancerID])
	}
	if id == "" && p.Remembered != nil {
		id = p.Remembered.LoadBalancerOf(client.ObjectKeyFromObject(s))
	}
	return id
}

// askedTwice reports whether a user says by group and by id which load balancer to share.
func (p *Planner) askedTwice(s *corev1.Service) bool {
	return p.GroupOf(s) != "" && s.Annotations[annotation.LoadBalancerID] != "" && p.knownBalancer(s) == ""
}

// balancersOf are the ids of the load balancers that the Services of a group have,
// that of most of them first, and of those of as many that of the oldest. All but the
// first are gone, or those of Services that had one before they joined the group.
func balancersOf(group []corev1.Service, known func(*corev1.Service) string) []string {
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

// groupHost returns the load balancer of the Service's group, without its tree, or nil
// where there is none. Own is the id noted on the Service, whose load balancer is gone.
func (p *Planner) groupHost(ctx context.Context, service *corev1.Service, owner lb.Owner, own string) (*lb.LoadBalancer, error) {
	group, err := p.Group(ctx, service)
	if err != nil {
		return nil, err
	}
	for _, id := range balancersOf(group, p.knownBalancer) {
		if id == own {
			continue
		}
		host, err := p.host(ctx, service, owner, id)
		if openstack.Classify(err) == openstack.Gone {
			continue
		}
		return host, err
	}
	return nil, nil
}

// checkGroup refuses a Service that says twice what to share, and one that has another
// load balancer than its group: nothing moves a Service from one to another.
func (p *Planner) checkGroup(ctx context.Context, service *corev1.Service, observed lb.Observed) error {
	if p.askedTwice(service) {
		return &build.Invalid{Reason: build.ReasonInvalidAnnotation, Message: fmt.Sprintf(
			"annotations %s and %s both say which load balancer to share; remove one", annotation.LoadBalancerGroup, annotation.LoadBalancerID)}
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
			return observed.LoadBalancer.ID // perhaps not noted yet
		}
		return p.knownBalancer(s)
	}
	for _, id := range balancersOf(group, known) {
		if id == observed.LoadBalancer.ID {
			return nil
		}
		there, err := p.Octavia.Get(ctx, id)
		if openstack.Classify(err) == openstack.Gone || err == nil && there.ProvisioningStatus == lb.PendingDelete {
			continue
		} else if err != nil {
			return err
		}
		return &build.Invalid{Reason: build.ReasonRequiresReplacement, Message: fmt.Sprintf(
			"the Service has load balancer %s, and group %q of annotation %s has %s; take the annotation back, or delete the Service and make it again",
			observed.LoadBalancer.ID, service.Annotations[annotation.LoadBalancerGroup], annotation.LoadBalancerGroup, id)}
	}
	return nil
}

// awaitGroup returns a *decide.GroupWait unless the Service is to have a load balancer made, or has
// one.
func (p *Planner) awaitGroup(ctx context.Context, service *corev1.Service, observed lb.Observed) error {
	if observed.LoadBalancer != nil {
		return nil
	}
	group, err := p.Group(ctx, service)
	if err != nil || len(group) == 0 {
		return err
	}
	maker := p.mayMake(group)[0]
	if maker.UID == service.UID {
		return nil
	}
	return &decide.GroupWait{For: maker.Namespace + "/" + maker.Name}
}

// mayMake are the Services of a group that may make its load balancer, the first before
// the others. One that is claimed may have begun; one that is refused comes to nothing,
// unless all are.
func (p *Planner) mayMake(group []corev1.Service) []corev1.Service {
	able := slices.DeleteFunc(slices.Clone(group), Refused)
	if len(able) == 0 {
		able = slices.Clone(group)
	}
	begun := func(s *corev1.Service) int {
		if p.Claimed(s) || p.Remembered != nil && p.Remembered.MayAppear(client.ObjectKeyFromObject(s)) {
			return -1
		}
		return 0
	}
	slices.SortStableFunc(able, func(a, b corev1.Service) int { return begun(&a) - begun(&b) })
	return able
}

// Refused reports whether the Service was refused as a whole when it was last looked at.
func Refused(s corev1.Service) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, status.Accepted)
	return c != nil && c.Status == metav1.ConditionFalse && build.Refuses(c.Reason)
}
