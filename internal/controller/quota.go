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
	"github.com/kube-octavia/kube-octavia/internal/timing"
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

// wait notes that the Service was refused, and reports whether it had come back
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

// leave notes that the Service waits no more, and reports whether it did.
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

// frees reports whether an op leaves room for others when Octavia has ended it. What
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
			p.record.quotaRefusals, p.record.quota = 0, ""
			if r.waiters.leave(key) {
				r.wakeWaiters(1)
			}
		}
		return
	}
	p.woken = r.waiters.wait(key)
	p.record.quotaRefusals = min(p.record.quotaRefusals+1, 10)
	p.record.quota = r.quotas.look(ctx, failure, r.timing.SlowRetry, r.now())
}

// exhaustedPart reports whether there can be no more of something that is below load
// balancers.
func exhaustedPart(failure error) bool {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return false
	}
	ofOctavia, _ := exhausted(cloud.Message)
	return ofOctavia != "" && ofOctavia != "Load Balancer"
}

// quotaDelay is how long a Service waits that was refused so often: longer and
// longer, but one that came back because something was freed asks once more soon.
func quotaDelay(refusals int, woken bool, t timing.Delays) time.Duration {
	if woken && t.QuotaRetry > 0 {
		return timing.Jitter(t.QuotaRetry)
	}
	return timing.Jitter(max(t.SlowRetry, min(t.SlowRetry<<max(refusals-1, 0), t.LastQuotaRetry)))
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
// for a while. It is safe for concurrent use, and holds its lock over no call:
// whoever tells that something was freed must not wait for the cloud.
type quotas struct {
	octavia func(ctx context.Context, kind string) (limit, used int, err error)
	neutron func(ctx context.Context, kind string) (limit, used int, known bool, err error)
	// patience is how long passes wait for an answer, which only adds to what they
	// have to tell. One that comes later is there for those that come after it.
	patience time.Duration

	mu    sync.Mutex
	known map[string]*quotaAnswer
}

// quotaAnswer is the answer to one question, which all share who have the same one.
type quotaAnswer struct {
	// answered is closed when text is there.
	answered chan struct{}
	text     string
	// patience ends when nobody waits for the answer any longer, and until is how
	// long it is told.
	patience context.Context
	until    time.Time
}

func newQuotas(p *Planner, patience time.Duration) *quotas {
	return &quotas{
		patience: patience,
		octavia: func(ctx context.Context, kind string) (limit, used int, err error) {
			return p.Octavia.Quota(ctx, p.Neutron.ProjectID(), kind)
		},
		neutron: p.Neutron.Quota,
		known:   map[string]*quotaAnswer{},
	}
}

// forget lets the next one ask anew.
func (q *quotas) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.known)
}

// look says how much of what the cloud refused is in use, or "" if that cannot be
// found out soon: what the cloud said is told in any case.
func (q *quotas) look(ctx context.Context, failure error, life time.Duration, now time.Time) string {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return ""
	}
	ofOctavia, ofNeutron := exhausted(cloud.Message)
	if ofOctavia+ofNeutron == "" {
		return ""
	}
	a := q.question(ctx, ofOctavia, ofNeutron, now, life)
	select {
	case <-a.answered:
	case <-a.patience.Done():
	}
	select {
	case <-a.answered:
		return a.text
	default:
		return ""
	}
}

// question returns the answer to a question, which may be under way. If nobody has
// asked it lately it is asked, for all Services and so not only as long as one pass
// has patience: the context of a pass ends with the controller.
func (q *quotas) question(ctx context.Context, ofOctavia, ofNeutron string, now time.Time, life time.Duration) *quotaAnswer {
	q.mu.Lock()
	defer q.mu.Unlock()
	name := ofOctavia + ofNeutron
	if a, there := q.known[name]; there && now.Before(a.until) {
		return a
	}
	patience, cancel := context.WithTimeout(ctx, q.patience)
	a := &quotaAnswer{answered: make(chan struct{}), patience: patience, until: now.Add(life)}
	q.known[name] = a
	go func() {
		defer cancel()
		defer close(a.answered)
		a.text = q.ask(ctx, ofOctavia, ofNeutron)
	}()
	return a
}

// ask asks the cloud.
func (q *quotas) ask(ctx context.Context, ofOctavia, ofNeutron string) string {
	if ofOctavia != "" {
		if limit, used, err := q.octavia(ctx, ofOctavia); err == nil {
			return quotaUse(ofOctavia, limit, used)
		}
		return ""
	}
	if limit, used, known, err := q.neutron(ctx, ofNeutron); err == nil && known {
		return quotaUse(ofNeutron, limit, used)
	}
	return ""
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
