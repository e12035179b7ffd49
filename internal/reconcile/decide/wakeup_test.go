// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// wakeUp is what ends a wait.
type wakeUp string

const (
	byTimer   wakeUp = "a timer"
	byWatcher wakeUp = "the watcher, which polls what is PENDING"
	bySweep   wakeUp = "a sweep, which sees that the load balancer has changed"
	byService wakeUp = "an event of the Service only"
)

// TestEveryWaitEnds has each state in which a pass ends without everything that is requested, and what ends it. A state
// that only a change of the Service ends must be one for which the Service itself is the reason.
func TestEveryWaitEnds(t *testing.T) {
	f := factsOf(web(publishing), "10.0.0.11")
	in := func(s lb.ProvisioningStatus, tags ...string) *lb.LoadBalancer {
		l := f.built("lb-1")
		l.ProvisioningStatus, l.UpdatedAt, l.Tags = s, "11:00", tags
		return &l
	}
	ours := webOwner.Tags()
	type edit func(*Decision)
	of := func(l *lb.LoadBalancer, edits ...edit) Decision {
		d := Decision{Record: memory.Record{Cloud: memory.Cloud{Known: true, Confirmed: true, Written: noon, Observed: lb.Observed{LoadBalancer: l}}}}
		for _, e := range edits {
			e(&d)
		}
		return d
	}
	refused := func(reason string) edit {
		return func(d *Decision) { d.Goal.Refused, d.Goal.MembersOnly = &desired.Invalid{Reason: reason}, true }
	}
	unknown := func(d *Decision) { d.Record.Cloud.Known = false }
	withheld := func(reason string) edit {
		return func(d *Decision) { d.Plan.Refused = []diff.Refusal{{Reason: reason}} }
	}
	delayed := func(d *Decision) { d.Delay = time.Minute }
	failed := func(class openstack.Class) Outcome { return Outcome{Failure: &openstack.Error{Class: class}} }

	states := map[string]struct {
		d    Decision
		o    Outcome
		want wakeUp
	}{
		"invalid annotation":                       {d: of(in(lb.Active, ours...), refused(desired.ReasonInvalidAnnotation)), want: byService},
		"invalid source ranges":                    {d: of(in(lb.Active, ours...), refused(desired.ReasonInvalidSourceRanges)), want: byService},
		"no NodePort":                              {d: of(in(lb.Active, ours...), refused(desired.ReasonNoNodePort)), want: byService},
		"unsupported by this cloud":                {d: of(in(lb.Active, ours...), refused(desired.ReasonUnsupported)), want: byService},
		"requested floating IP does not exist":     {d: of(in(lb.Active, ours...), refused(desired.ReasonInvalidAddress)), want: byTimer},
		"certificate does not exist":               {d: of(in(lb.Active, ours...), refused(desired.ReasonCertificateUnusable)), want: byTimer},
		"no subnet":                                {d: of(nil, refused(desired.ReasonNoSubnet)), want: byTimer},
		"service subnet unusable":                  {d: of(nil, refused(desired.ReasonServiceSubnetUnusable)), want: byTimer},
		"no subnet of the second family":           {d: of(nil, refused(desired.ReasonDualStackUnsupported)), want: byTimer},
		"other users must leave":                   {d: of(in(lb.Active, ours...), refused(desired.ReasonRequiresReplacement)), want: byTimer},
		"sharing refused":                          {d: of(in(lb.Active), refused(desired.ReasonSharingRefused)), want: byTimer},
		"another Service of the group creates":     {d: of(nil, func(d *Decision) { d.Goal.Waits = &GroupWait{"default/api"} }), want: byTimer},
		"port in use":                              {d: of(in(lb.Active, ours...), withheld(diff.ReasonPortInUse)), want: byTimer},
		"floating IP in use":                       {d: of(in(lb.Active, ours...), withheld(diff.ReasonFloatingIPInUse)), want: byTimer},
		"being created":                            {d: of(in(lb.PendingCreate, ours...)), o: Outcome{Wrote: true}, want: byWatcher},
		"being changed":                            {d: of(in(lb.PendingUpdate, ours...)), o: Outcome{Wrote: true}, want: byWatcher},
		"being changed by another client":          {d: of(in(lb.PendingUpdate)), o: failed(openstack.Busy), want: byTimer},
		"being deleted":                            {d: of(in(lb.PendingDelete, ours...), unknown), want: byWatcher},
		"predecessor being changed":                {d: of(in(lb.Active, ours...), func(d *Decision) { d.Record.Cloud.Observed.Predecessor = in(lb.PendingUpdate, ours...) }), want: byWatcher},
		"in ERROR":                                 {d: of(in(lb.Error, ours...), unknown), want: bySweep},
		"in ERROR, without our tags":               {d: of(in(lb.Error), unknown), want: bySweep},
		"in ERROR, before the next attempt":        {d: of(in(lb.Error, ours...), unknown, delayed), want: byTimer},
		"predecessor in ERROR":                     {d: of(in(lb.Error, ours...), unknown, func(d *Decision) { d.Record.Cloud.Observed.Predecessor = in(lb.Error, ours...) }), want: bySweep},
		"drifted":                                  {d: of(in(lb.Active, ours...), func(d *Decision) { d.Held = []diff.Op{diff.DeletePool{}} }), want: bySweep},
		"drifted, without our tags":                {d: of(in(lb.Active), func(d *Decision) { d.Held = []diff.Op{diff.UpdateLoadBalancer{}} }), want: bySweep},
		"children in ERROR":                        {d: of(in(lb.Active, ours...), delayed, func(d *Decision) { d.Unready = "x" }), want: byTimer},
		"children PENDING":                         {d: of(in(lb.Active, ours...), func(d *Decision) { d.Unready = "x" }), want: byTimer},
		"a create without an answer":               {d: of(nil, func(d *Decision) { d.Record.Cloud.Unanswered = noon }), want: byTimer},
		"state unknown":                            {d: of(in(lb.Active, ours...), unknown), want: byTimer},
		"only Neutron was written":                 {d: of(in(lb.Active, ours...)), o: Outcome{Wrote: true}, want: byTimer},
		"quota exhausted":                          {d: of(nil), o: failed(openstack.Quota), want: byTimer},
		"rejected by the cloud":                    {d: of(nil), o: failed(openstack.Invalid), want: byTimer},
		"of another owner":                         {d: of(nil), o: failed(openstack.Foreign), want: byTimer},
		"throttled":                                {d: of(nil), o: failed(openstack.Throttled), want: byTimer},
		"the cloud does not answer":                {d: of(nil), o: failed(openstack.Transient), want: byTimer},
		"Keystone rejects the credentials":         {d: of(nil), o: failed(openstack.Unauthorized), want: byTimer},
		"an object vanished":                       {d: of(in(lb.Active, ours...)), o: failed(openstack.Gone), want: byTimer},
		"something conflicts":                      {d: of(in(lb.Active, ours...)), o: failed(openstack.Conflict), want: byTimer},
		"busy without a load balancer to watch":    {d: of(nil), o: failed(openstack.Busy), want: byTimer},
		"only observed, before the next look":      {d: of(in(lb.Active)), want: byTimer},
		"in ERROR and only observed":               {d: of(in(lb.Error), unknown), want: byTimer},
		"members are late, Octavia is still at it": {d: of(in(lb.PendingUpdate, ours...), func(d *Decision) { d.Record.Progress.SteadyFor = lb.Wanted{}.Fingerprint() }), want: byTimer},
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			f := f
			f.Preview = name == "only observed, before the next look" || name == "in ERROR and only observed"
			if got := wakeUpOf(f, state.d, state.o); got != state.want {
				t.Errorf("it is ended by %s, want %s", got, state.want)
			}
		})
	}
}

// wakeUpOf returns the first thing that ends the wait after a pass.
func wakeUpOf(f Facts, d Decision, o Outcome) wakeUp {
	if wait, err := Next(f, d, o); wait > 0 || err != nil {
		return byTimer
	}
	observed := d.Record.Cloud.Observed
	for _, l := range []*lb.LoadBalancer{observed.LoadBalancer, observed.Predecessor} {
		if l != nil && l.ProvisioningStatus.Pending() {
			return byWatcher
		}
	}
	if swept(d.Record) && d.Goal.Refused == nil {
		return bySweep
	}
	return byService
}

// swept reports whether a sweep requests a pass after another client has repaired the load balancer. The list of the
// cluster's load balancers has those with its tag; others are looked at if the memory asks for them.
func swept(r memory.Record) bool {
	store, key := memory.NewStore(), owner.ServiceKey("", "web")
	store.Put(key, r)
	l := r.Cloud.Observed.LoadBalancer
	if l == nil {
		return false
	}
	began := noon.Add(timing.Default().SlowRetry)
	listed := func(l lb.LoadBalancer) bool { return len(l.Tags) > 0 }
	repaired := octavia.Head{ID: l.ID, ProvisioningStatus: lb.Active, UpdatedAt: "12:30"}
	var heads []octavia.Head
	if listed(*l) || len(store.UnlistedLoadBalancers(nil, listed, began)) > 0 {
		heads = append(heads, repaired)
	}
	return len(store.StaleLoadBalancers(heads, listed, began)) == 1
}
