// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// wokenAtOnce is how many Services that wait for quota come back when something
// was freed. Of many that wait for one thing all but one would be refused again;
// with a few, no Service that cannot be helped holds up those behind it.
const wokenAtOnce = 8

// waiters are the Services that wait for quota, in the order in which they began
// to. It is safe for concurrent use.
type waiters struct {
	mu    sync.Mutex
	order []types.NamespacedName
	woken map[types.NamespacedName]bool
}

func newWaiters() *waiters { return &waiters{woken: map[types.NamespacedName]bool{}} }

// wait notes that the Service was refused, and tells whether it had come back
// because something was freed. It waits behind all others then.
func (w *waiters) wait(key types.NamespacedName) (woken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken = w.woken[key]
	delete(w.woken, key)
	if i := slices.Index(w.order, key); i >= 0 {
		if !woken {
			return false
		}
		w.order = slices.Delete(w.order, i, i+1)
	}
	w.order = append(w.order, key)
	return woken
}

// leave notes that the Service waits no more, and tells whether it did.
func (w *waiters) leave(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.woken, key)
	i := slices.Index(w.order, key)
	if i >= 0 {
		w.order = slices.Delete(w.order, i, i+1)
	}
	return i >= 0
}

// wake returns up to n Services, those that have waited the longest first, but for
// the ones that were woken and have not come back yet.
func (w *waiters) wake(n int) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []types.NamespacedName
	for _, key := range w.order {
		if len(keys) < n && !w.woken[key] {
			w.woken[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// freed lets Services that wait for quota try again: this controller has deleted
// something.
func (r *ServiceReconciler) freed() { r.wakeWaiters(wokenAtOnce) }

func (r *ServiceReconciler) wakeWaiters(n int) {
	keys := r.waiters.wake(n)
	if len(keys) > 0 {
		r.quotas.forget()
	}
	for _, key := range keys {
		r.enqueue(key)
	}
}

// frees tells whether an op leaves room for others when Octavia has ended it. What
// a load balancer had that another one replaces is not free.
func (r *ServiceReconciler) frees(p *pass, op diff.Op) bool {
	switch op.(type) {
	case diff.DeleteLoadBalancer:
		return !r.Serves(p.service)
	case diff.DeleteListener, diff.DeletePool, diff.DeleteMonitor:
		return true
	}
	members, ok := op.(diff.SetMembers)
	return ok && members.Removed > 0
}

// noteQuota notes whether the Service waits for quota after the pass, and looks up
// how much there is. One that waited and got something lets the next one try.
func (r *ServiceReconciler) noteQuota(ctx context.Context, p *pass, failure error) {
	key := client.ObjectKeyFromObject(p.service)
	if openstack.Classify(failure) != openstack.Quota {
		if failure == nil && (p.wrote || p.done) {
			p.record.quotaRefusals, p.record.quota, p.record.alone = 0, "", p.record.alone && !p.done
			if r.waiters.leave(key) {
				r.wakeWaiters(1)
			}
		}
		return
	}
	// Octavia leaves the port of the VIP behind when it refuses a load balancer for
	// one of its parts. So that this does not happen each time, the load balancer is
	// created alone from now on.
	p.record.alone = p.record.alone || refusesPart(failure)
	p.woken = r.waiters.wait(key)
	p.record.quotaRefusals = min(p.record.quotaRefusals+1, 10)
	p.record.quota = r.quotas.look(ctx, failure, r.timing.SlowRetry, r.now())
}

// refusesPart tells whether there can be no more of something that is below load
// balancers.
func refusesPart(failure error) bool {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return false
	}
	ofOctavia, _ := exhausted(cloud.Message)
	return ofOctavia != "" && ofOctavia != "Load Balancer"
}

// quotaDelay is how long a Service waits that was refused so often: longer and
// longer, but one that came back because something was freed asks once more soon.
func quotaDelay(refusals int, woken bool, t Timing) time.Duration {
	if woken && t.QuotaRetry > 0 {
		return jitter(t.QuotaRetry)
	}
	return jitter(max(t.SlowRetry, min(t.SlowRetry<<max(refusals-1, 0), t.LastQuotaRetry)))
}

// quotaWords are how Octavia and Neutron name what there can be no more of.
var quotaWords = regexp.MustCompile(`Quota has been met for resources: ([A-Za-z ]+)|Quota exceeded for resources: \[?'?([a-z_]+)`)

// exhausted returns what a refusal says there can be no more of: by Octavia's name
// or by Neutron's.
func exhausted(message string) (ofOctavia, ofNeutron string) {
	found := quotaWords.FindStringSubmatch(message)
	if found == nil {
		return "", ""
	}
	return strings.TrimSpace(found[1]), found[2]
}

// quotas looks up how much of a quota is in use. What it found serves all Services
// for a while. It is safe for concurrent use.
type quotas struct {
	octavia func(ctx context.Context, kind string) (limit, used int, err error)
	neutron func(ctx context.Context, kind string) (limit, used int, known bool, err error)

	mu    sync.Mutex
	known map[string]quotaText
}

type quotaText struct {
	text  string
	until time.Time
}

func newQuotas(p *Planner) *quotas {
	return &quotas{
		octavia: func(ctx context.Context, kind string) (limit, used int, err error) {
			return p.Octavia.Quota(ctx, p.Neutron.ProjectID(), kind)
		},
		neutron: p.Neutron.Quota,
		known:   map[string]quotaText{},
	}
}

func (q *quotas) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.known)
}

// look says how much of what the cloud refused is in use, or "" if that cannot be
// found out: what the cloud said is told in any case.
func (q *quotas) look(ctx context.Context, failure error, life time.Duration, now time.Time) string {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return ""
	}
	ofOctavia, ofNeutron := exhausted(cloud.Message)
	name := ofOctavia + ofNeutron
	if name == "" {
		return ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if k, there := q.known[name]; there && now.Before(k.until) {
		return k.text
	}
	text := ""
	if ofOctavia != "" {
		limit, used, err := q.octavia(ctx, ofOctavia)
		if err == nil {
			text = quotaUse(ofOctavia, limit, used)
		}
	} else if limit, used, known, err := q.neutron(ctx, ofNeutron); err == nil && known {
		text = quotaUse(ofNeutron, limit, used)
	}
	q.known[name] = quotaText{text, now.Add(life)}
	return text
}

// quotaNames are what people call what there are quotas for.
var quotaNames = map[string]string{
	"Load Balancer": "load balancers", "Listener": "listeners", "Pool": "pools", "Member": "members", "Health Monitor": "health monitors",
	"floatingip": "floating IPs", "port": "ports",
}

func quotaUse(kind string, limit, used int) string {
	name := quotaNames[kind]
	if name == "" {
		name = kind
	}
	switch {
	case limit < 0:
		return ""
	case used == octavia.Unknown:
		return fmt.Sprintf("the project may have %d %s", limit, name)
	}
	return fmt.Sprintf("%s of the project: %d of %d in use", name, used, limit)
}
