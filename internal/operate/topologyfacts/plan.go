// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// plan is the last plan of a Service.
type plan struct {
	// on identifies what it depends on, and made is the time at which it was made.
	on   [sha256.Size]byte
	made time.Time
	planner.ListedPlan
	err error
}

// topology returns the topology of the facts that were read.
func (w *Watcher) topology(ctx context.Context) topology.Topology {
	if w.kube.synced {
		if err := w.readServices(ctx); err != nil {
			w.noteUnlessEnded(ctx, ofKubernetes, err)
		}
	}
	return topology.Build(topology.Facts{
		Cluster: w.Policy.ClusterName, ReadAt: w.lists.readAt, ServicesAt: w.servicesAt, Services: w.services, Events: w.events, Note: w.nothing,
		Status: w.status, Problems: w.sortedProblems(),
	})
}

// readServices reads the Services of the cluster with their events, and finds their objects in the
// lists.
func (w *Watcher) readServices(ctx context.Context) error {
	var services corev1.ServiceList
	var events corev1.EventList
	if err := errors.Join(w.kube.reader.List(ctx, &services), w.kube.reader.List(ctx, &events)); err != nil {
		return err
	}
	w.events = map[types.UID][]corev1.Event{}
	for _, e := range events.Items {
		w.events[e.InvolvedObject.UID] = append(w.events[e.InvolvedObject.UID], e)
	}
	w.services, w.nothing = nil, ""
	w.used = map[string]bool{}
	plans := map[owner.Key]plan{}
	shared := w.sharedState()
	for i := range services.Items {
		service := &services.Items[i]
		if !w.Policy.Serves(service) && !w.Policy.Leaves(service) {
			continue
		}
		key := owner.ServiceKey(service.Namespace, service.Name)
		p := w.plan(ctx, service, shared)
		plans[key] = p
		facts := topology.ServiceFacts{Service: service, Observed: p.Observed, Plan: p.Plan, Drift: p.Drift, Err: p.err}
		if l := p.Observed.LoadBalancer; l != nil {
			w.used[l.ID] = true
			facts.Observed.LoadBalancer, facts.Details = w.shown(*l), w.lists.detailsOf(l.ID)
		}
		w.services = append(w.services, facts)
	}
	w.plans = plans
	if len(w.services) == 0 {
		w.nothing = report.Unhandled(w.Policy, "the cluster", services.Items)
	}
	return nil
}

// sharedState identifies what the plans of all Services depend on.
func (w *Watcher) sharedState() [sha256.Size]byte {
	var ids []string
	for _, b := range w.lists.balancers {
		ids = append(ids, b.Bare.ID)
	}
	return digest(w.kube.members.Load(), w.lists.readAt.IsZero(), ids, w.lists.floating)
}

func digest(state ...any) [sha256.Size]byte {
	text, err := json.Marshal(state)
	if err != nil {
		text = fmt.Append(nil, err, time.Now()) // always different
	}
	return sha256.Sum256(text)
}

// plan returns the plan for the Service: the last one, if nothing has changed and it is not old.
func (w *Watcher) plan(ctx context.Context, s *corev1.Service, shared [sha256.Size]byte) plan {
	key := owner.ServiceKey(s.Namespace, s.Name)
	before, known := w.plans[key]
	id := s.Annotations[annotation.LoadBalancerID]
	if l := before.Observed.LoadBalancer; known && l != nil {
		id = l.ID
	}
	on := digest(s.UID, s.ResourceVersion, shared, w.lists.details[id].version, w.lists.find(id))
	if known && before.on == on && time.Since(before.made) < planAge {
		return before
	}
	p := plan{on: on, made: time.Now()}
	if w.planner == nil || w.lists.readAt.IsZero() {
		p.err = errors.New("the load balancers were not read yet")
		return p
	}
	p.ListedPlan, p.err = w.planner.PlanFromLists(ctx, service.Kind{Policy: w.planner.Options.Policy, Config: w.planner.Options.Config}.Of(s), &w.lists)
	return p
}

// shown returns the load balancer from the lists, even if it is PENDING, with its last known members.
func (w *Watcher) shown(l lb.LoadBalancer) *lb.LoadBalancer {
	b := w.lists.find(l.ID)
	if b == nil {
		return &l
	}
	full, err := b.WithMembers(func(pool lb.Pool, _ *lb.Listener) ([]lb.Member, error) {
		return w.lists.details[l.ID].members[pool.ID], nil
	})
	if err != nil {
		return &l
	}
	return &full
}
