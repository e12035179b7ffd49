// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

var (
	web  = owner.ServiceKey("default", "web")
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// converged is the record of a Service whose desired state was reached.
func converged() Record {
	l := &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "11:59", VIP: lb.VIP{PortID: "port-1"}, Tags: []string{"ours"}}
	return Record{
		ServiceUID: "uid-1", OwnerUID: "owner-1", Progress: Progress{Reached: lb.Wanted{LoadBalancer: l}.Fingerprint()},
		Cloud: Cloud{Known: true, Confirmed: true, Written: noon,
			Observed: lb.Observed{LoadBalancer: l, FloatingIPs: []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1", PortID: "port-1"}}}},
	}
}

func remembering(r Record) *Store {
	m := NewStore()
	m.Put(web, r)
	return m
}

func TestAllThatUseALoadBalancerKnowWhenItsFloatingIPsWereChanged(t *testing.T) {
	m, api, other := remembering(converged()), owner.ServiceKey("default", "api"), owner.ServiceKey("default", "other")
	sharer, stranger := converged(), converged()
	stranger.Cloud.Observed.LoadBalancer = &lb.LoadBalancer{ID: "lb-2"}
	m.Put(api, sharer)
	m.Put(other, stranger)
	changed := m.Get(web, "uid-1")
	changed.Cloud.Addressed = noon
	m.Put(web, changed)
	for key, want := range map[owner.Key]time.Time{web: noon, api: noon, other: {}} {
		if got := m.Get(key, "uid-1").Cloud.Addressed; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

func TestStaleRecordIsReadOnce(t *testing.T) {
	m, key := NewStore(), owner.ServiceKey("shop", "web")
	m.Put(key, Record{ServiceUID: "uid-1", Cloud: Cloud{Known: true}})
	m.MarkStale(key)
	if m.Get(key, "uid-1").Cloud.Known {
		t.Error("the record is still known")
	}
	if !m.Get(key, "uid-1").Cloud.Known {
		t.Error("the record is still unknown after it was read")
	}
}

func TestAQuestionAboutTheRecordDoesNotMakeAStaleOneKnown(t *testing.T) {
	m := remembering(converged())
	m.MarkStale(web)
	if m.HasPredecessor(web, "uid-1") {
		t.Error("it has a predecessor")
	}
	if m.Get(web, "uid-1").Cloud.Known {
		t.Error("asking whether there is a predecessor made the record known")
	}
}

func TestRecordBelongsToOneServiceUID(t *testing.T) {
	m := remembering(converged())
	if got := m.Get(web, "uid-1"); !got.Cloud.Known {
		t.Error("there is no record")
	}
	if got := m.Get(web, "uid-2"); got.Cloud.Known || got.Cloud.Observed.LoadBalancer != nil {
		t.Errorf("a later Service of the same name gets %+v", got)
	}
}

func TestRecordsAreCopies(t *testing.T) {
	m := remembering(converged())
	out := m.Get(web, "uid-1")
	out.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	if got := m.Get(web, "uid-1").Cloud.Observed.LoadBalancer.ProvisioningStatus; got != lb.Active {
		t.Errorf("a change of the copy changed the record to %s", got)
	}
}

func TestSettleStoresWhatTheWatcherSaw(t *testing.T) {
	pending := converged()
	pending.Cloud.Observed = diff.Clone(pending.Cloud.Observed)
	pending.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	m := remembering(pending)
	users := m.Settle("lb-1", octavia.Head{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "12:01"}, noon)
	if len(users) != 1 || users[0] != web {
		t.Fatalf("settled %v", users)
	}
	got := m.Get(web, "uid-1").Cloud.Observed.LoadBalancer
	if got.ProvisioningStatus != lb.Active || got.UpdatedAt != "12:01" {
		t.Errorf("the record has %s, updated at %s", got.ProvisioningStatus, got.UpdatedAt)
	}
	if users := m.Settle("lb-2", octavia.Head{}, noon); len(users) > 0 {
		t.Error("an unknown load balancer has a Service")
	}
}

func TestSettleUpdatesThePredecessor(t *testing.T) {
	r := converged()
	r.Cloud.Observed.Predecessor = &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.PendingUpdate}
	m := remembering(r)
	statuses := func() (head, old lb.ProvisioningStatus) {
		o := m.Get(web, "uid-1").Cloud.Observed
		return o.LoadBalancer.ProvisioningStatus, o.Predecessor.ProvisioningStatus
	}
	if users := m.Settle("old", octavia.Head{ID: "old", ProvisioningStatus: lb.Active}, noon); len(users) != 1 || users[0] != web {
		t.Fatalf("settled %v", users)
	}
	if head, old := statuses(); head != lb.Active || old != lb.Active || !m.Get(web, "uid-1").Cloud.Known {
		t.Errorf("the load balancer is %s, its predecessor %s", head, old)
	}
	m.Settle("old", octavia.Head{ID: "old", ProvisioningStatus: lb.Error}, noon)
	if head, old := statuses(); head != lb.Active || old != lb.Error || m.Get(web, "uid-1").Cloud.Known {
		t.Errorf("the load balancer is %s, its predecessor %s", head, old)
	}
	m.Settle("old", octavia.Head{ID: "old", Gone: true}, noon)
	if o := m.Get(web, "uid-1").Cloud.Observed; o.Predecessor != nil || o.LoadBalancer == nil {
		t.Errorf("the load balancer is %+v, its predecessor %+v", o.LoadBalancer, o.Predecessor)
	}
	if id := m.Forget(web); id != "lb-1" || len(m.users) > 0 {
		t.Errorf("forgot %q; users that are left: %v", id, m.users)
	}
}

func TestChangeOfASharedLoadBalancerMakesItsOtherServicesReadIt(t *testing.T) {
	m := remembering(converged())
	guest := converged()
	guest.ServiceUID, guest.OwnerUID, guest.Cloud.Observed.Sharer = "uid-2", "owner-2", true
	guest.Cloud.Observed = diff.Clone(guest.Cloud.Observed)
	guest.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	other := owner.ServiceKey("default", "other")
	m.Put(other, guest)
	if own, shared := m.LoadBalancerOf(web), m.LoadBalancerOf(other); own != "lb-1" || shared != "" {
		t.Errorf("the load balancers that were created for them are %q and %q", own, shared)
	}
	if got := m.Get(web, "uid-1"); got.Cloud.Known || !got.Progress.Reached.None() || got.Cloud.Observed.LoadBalancer.ProvisioningStatus != lb.PendingUpdate {
		t.Errorf("after the change the other Service has record %+v", got)
	}
	users := m.Settle("lb-1", octavia.Head{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "12:01"}, noon)
	if len(users) != 2 {
		t.Errorf("settled for %v", users)
	}
	if id := m.Forget(web); id != "" {
		t.Errorf("load balancer %s counts as unused, but %s uses it", id, other)
	}
	if id := m.Forget(other); id != "lb-1" {
		t.Errorf("forgotten is %q", id)
	}
}

func TestDeletedLoadBalancerLeavesItsFloatingIPDetached(t *testing.T) {
	m := remembering(converged())
	m.Settle("lb-1", octavia.Head{ID: "lb-1", Gone: true}, noon)
	got := m.Get(web, "uid-1")
	want := lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1"}}}
	if diff := cmp.Diff(want, got.Cloud.Observed); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	if !got.Progress.Reached.None() {
		t.Error("the desired state still counts as reached")
	}
	if users := m.Settle("lb-1", octavia.Head{}, noon); len(users) > 0 {
		t.Error("the deleted load balancer still has a Service")
	}
}

func TestStaleLoadBalancers(t *testing.T) {
	unchanged := octavia.Head{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "11:59"}
	tests := map[string]struct {
		change func(*Record)
		heads  []octavia.Head
		began  time.Time
		stale  bool
	}{
		"unchanged":                   {heads: []octavia.Head{unchanged}},
		"changed by another client":   {heads: []octavia.Head{{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "12:02"}}, stale: true},
		"failed":                      {heads: []octavia.Head{{ID: "lb-1", ProvisioningStatus: lb.Error, UpdatedAt: "11:59"}}, stale: true},
		"deleted by another client":   {heads: nil, stale: true},
		"not listed because unmarked": {change: func(r *Record) { r.Cloud.Observed.LoadBalancer.Tags = nil }, heads: nil},
		"written since the list began": {
			change: func(r *Record) { r.Cloud.Written = noon.Add(time.Hour) }, heads: nil,
		},
		"PENDING because of our write": {
			change: func(r *Record) { r.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate },
			heads:  []octavia.Head{{ID: "lb-1", ProvisioningStatus: lb.PendingUpdate, UpdatedAt: "12:02"}},
		},
		"no load balancer": {change: func(r *Record) { r.Cloud.Observed = lb.Observed{} }},
		"without our tag, in ERROR, and repaired": {
			change: func(r *Record) {
				r.Cloud.Observed.LoadBalancer.Tags, r.Cloud.Observed.LoadBalancer.ProvisioningStatus = nil, lb.Error
			},
			heads: []octavia.Head{{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "12:02"}}, stale: true,
		},
		"without our tag, and deleted": {
			change: func(r *Record) { r.Cloud.Observed.LoadBalancer.Tags = nil },
			heads:  []octavia.Head{{ID: "lb-1", Gone: true}}, stale: true,
		},
		"with a predecessor that did not change": {change: replacing, heads: []octavia.Head{unchanged, {ID: "old", ProvisioningStatus: lb.Error, UpdatedAt: "12:02"}}},
		"with a predecessor that was repaired":   {change: replacing, heads: []octavia.Head{unchanged, {ID: "old", ProvisioningStatus: lb.Active}}, stale: true},
		"with a predecessor that was deleted":    {change: replacing, heads: []octavia.Head{unchanged}, stale: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := converged()
			if test.change != nil {
				test.change(&r)
			}
			m := remembering(r)
			marked := func(l lb.LoadBalancer) bool { return len(l.Tags) > 0 }
			stale := m.StaleLoadBalancers(test.heads, marked, noon.Add(time.Minute))
			if got := len(stale) == 1; got != test.stale {
				t.Fatalf("stale: %v", stale)
			}
			after := m.Get(web, "uid-1")
			if after.Cloud.Known == test.stale || after.Progress.Reached.None() != test.stale {
				t.Errorf("known: %t, reached: %v", after.Cloud.Known, after.Progress.Reached)
			}
		})
	}
}

// replacing gives the record a predecessor that failed.
func replacing(r *Record) {
	r.Cloud.Observed.Predecessor = &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Error, Tags: []string{"ours"}}
}

func TestUnlistedLoadBalancersAreThoseThatTheListCannotShow(t *testing.T) {
	r := converged()
	r.Cloud.Observed.Predecessor = &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Error}
	for name, test := range map[string]struct {
		tags    []string
		status  lb.ProvisioningStatus
		heads   []octavia.Head
		written time.Time
		want    []string
	}{
		"with our tag":    {tags: []string{"ours"}, want: []string{"old"}},
		"without our tag": {want: []string{"lb-1", "old"}},
		"listed":          {heads: []octavia.Head{{ID: "lb-1"}, {ID: "old"}}},
		"PENDING":         {status: lb.PendingUpdate, want: []string{"old"}},
		"written since":   {written: noon.Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
			l := r.Cloud.Observed.LoadBalancer
			if l.Tags = test.tags; test.status != "" {
				l.ProvisioningStatus = test.status
			}
			if !test.written.IsZero() {
				r.Cloud.Written = test.written
			}
			m := remembering(r)
			m.Put(owner.ServiceKey("", "sharer"), r)
			ours := func(l lb.LoadBalancer) bool { return len(l.Tags) > 0 }
			if d := cmp.Diff(test.want, m.UnlistedLoadBalancers(test.heads, ours, noon.Add(time.Minute))); d != "" {
				t.Errorf("unlisted (-want +got):\n%s", d)
			}
		})
	}
}

func TestStaleFloatingIPs(t *testing.T) {
	described := lb.Owner{ClusterUID: "cluster", Namespace: "default", Name: "web", ServiceUID: "owner-1"}.FloatingIPDescription()
	as := func(id, port string) lb.FloatingIP {
		return lb.FloatingIP{ID: id, Address: "203.0.113.1", PortID: port, Description: described}
	}
	for name, test := range map[string]struct {
		change func(*Record)
		busy   bool
		list   []lb.FloatingIP
		// want are the ids in the record afterwards; nil means unchanged.
		want []string
	}{
		"unchanged":             {list: []lb.FloatingIP{as("f-1", "port-1"), {ID: "other", PortID: "port-2"}}},
		"detached":              {list: []lb.FloatingIP{as("f-1", "")}, want: []string{"f-1"}},
		"moved":                 {list: []lb.FloatingIP{as("f-1", "port-2")}, want: []string{"f-1"}},
		"deleted":               {list: nil, want: []string{}},
		"described differently": {list: []lb.FloatingIP{{ID: "f-1", PortID: "port-1", Description: "by hand"}}, want: []string{"f-1"}},
		"a second one attached": {list: []lb.FloatingIP{as("f-1", ""), {ID: "f-2", PortID: "port-1"}}, want: []string{"f-1", "f-2"}},
		"one with our mark that is not in the record": {list: []lb.FloatingIP{as("f-1", "port-1"), as("f-0", "")}, want: []string{"f-0", "f-1"}},
		"one of another Service":                      {list: []lb.FloatingIP{as("f-1", "port-1"), {ID: "f-2", Description: strings.Replace(described, "owner-1", "owner-2", 1)}}},
		"one of another cluster":                      {list: []lb.FloatingIP{as("f-1", "port-1"), {ID: "f-2", Description: strings.Replace(described, "=cluster", "=other", 1)}}},
		"written since the list began":                {list: nil, change: func(r *Record) { r.Cloud.Written = noon.Add(time.Hour) }},
		"a pass is in progress":                       {list: nil, busy: true},
		"to be read anyway":                           {list: nil, change: func(r *Record) { r.Cloud.Known = false }},
	} {
		t.Run(name, func(t *testing.T) {
			r := converged()
			r.Cloud.Observed.FloatingIPs = []lb.FloatingIP{as("f-1", "port-1")}
			if test.change != nil {
				test.change(&r)
			}
			m := remembering(r)
			if test.busy {
				done, _ := m.Take(web)
				defer done()
			}
			stale := m.StaleFloatingIPs(test.list, "cluster", noon.Add(time.Minute))
			got := m.Get(web, "uid-1")
			if (len(stale) > 0) != (test.want != nil) || got.Drift.Detected != (test.want != nil) || got.Progress.Reached.None() != (test.want != nil) {
				t.Fatalf("stale %v, drifted %t, reached %v", stale, got.Drift.Detected, got.Progress.Reached)
			}
			ids := []string{}
			for _, f := range got.Cloud.Observed.FloatingIPs {
				ids = append(ids, f.ID)
			}
			if test.want == nil {
				test.want = []string{"f-1"}
			} else if d := cmp.Diff(byID(test.list), got.Cloud.Observed.FloatingIPs, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("record (-listed +got):\n%s", d)
			}
			if d := cmp.Diff(test.want, ids); d != "" {
				t.Errorf("ids in the record (-want +got):\n%s", d)
			}
			if again := m.StaleFloatingIPs(test.list, "cluster", noon.Add(time.Minute)); len(again) > 0 {
				t.Errorf("the same list shows drift again: %v", again)
			}
		})
	}
}

func TestBusyServicesAreNotComparedWithAList(t *testing.T) {
	m := remembering(converged())
	done, ok := m.Take(web)
	if _, again := m.Take(web); !ok || again {
		t.Errorf("taken %t, and again %t", ok, again)
	}
	all := func(lb.LoadBalancer) bool { return true }
	if stale := m.StaleLoadBalancers(nil, all, noon.Add(time.Minute)); len(stale) > 0 {
		t.Errorf("stale during a pass: %v", stale)
	}
	done()
	if stale := m.StaleLoadBalancers(nil, all, noon.Add(time.Minute)); len(stale) != 1 {
		t.Errorf("stale after the pass: %v", stale)
	}
}

func TestWrittenLoadBalancersAreReadOnceTheOldestWriteFirst(t *testing.T) {
	tests := map[string]struct {
		edit func(*Record)
		due  bool
	}{
		"written since it was read": {edit: func(r *Record) { r.Cloud.Stale = true }, due: true},
		"read since":                {edit: func(*Record) {}},
		"not confirmed yet":         {edit: func(r *Record) { r.Cloud.Stale, r.Cloud.Confirmed = true, false }},
		"written since the list began": {
			edit: func(r *Record) { r.Cloud.Stale, r.Cloud.Written = true, noon.Add(time.Hour) },
		},
		"PENDING": {
			edit: func(r *Record) {
				r.Cloud.Stale, r.Cloud.Observed.LoadBalancer.ProvisioningStatus = true, lb.PendingUpdate
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := converged()
			test.edit(&r)
			m := remembering(r)
			if due := m.DueForReading(1, noon.Add(time.Minute)); len(due) == 1 != test.due {
				t.Fatalf("due: %v", due)
			}
			if after := m.Get(web, "uid-1"); after.Cloud.Known == test.due {
				t.Errorf("known: %t", after.Cloud.Known)
			}
			if due := m.DueForReading(1, noon.Add(time.Minute)); len(due) > 0 {
				t.Errorf("due again: %v", due)
			}
		})
	}
	m := NewStore()
	for i, name := range []string{"young", "old", "middle"} {
		r := converged()
		r.Cloud.Stale, r.Cloud.Written = true, noon.Add(-time.Duration((i*2)%3)*time.Minute)
		r.Cloud.Observed.LoadBalancer.ID = name
		m.Put(owner.ServiceKey("", name), r)
	}
	want := []owner.Key{owner.ServiceKey("", "old"), owner.ServiceKey("", "middle")}
	if diff := cmp.Diff(want, m.DueForReading(2, noon.Add(time.Minute))); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
}

func TestUnknownLoadBalancerIsReadOnce(t *testing.T) {
	m := remembering(converged())
	heads := []octavia.Head{{ID: "lb-1", Tags: lb.Owner{ClusterUID: "c", ServiceUID: "owner-1"}.Tags()}, {ID: "lb-2", Tags: lb.Owner{ClusterUID: "c", ServiceUID: "owner-1"}.Tags()}}
	if found := m.UnknownLoadBalancers(heads, noon.Add(time.Minute)); len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	r := m.Get(web, "uid-1")
	if diff := cmp.Diff([]string{"lb-2"}, r.Cloud.Others); diff != "" || r.Cloud.Known {
		t.Errorf("known: %t, others (-want +got):\n%s", r.Cloud.Known, diff)
	}
	r.Cloud.Known = true
	m.Put(web, r)
	if found := m.UnknownLoadBalancers(heads, noon.Add(time.Minute)); len(found) != 0 {
		t.Errorf("found again: %v", found)
	}
	m.UnknownLoadBalancers(heads[:1], noon.Add(time.Minute))
	if r := m.Get(web, "uid-1"); len(r.Cloud.Others) > 0 {
		t.Errorf("a deleted load balancer is still in the record: %v", r.Cloud.Others)
	}
}

func TestUnusedCertificates(t *testing.T) {
	r := converged()
	m := remembering(r)
	ours := lb.Owner{ClusterUID: "c", ServiceUID: "owner-1"}
	hash := strings.Repeat("0", 64)
	used := lb.Certificate{Name: ours.CertificateName(hash), Ref: "https://barbican.example.com/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}
	old := lb.Certificate{Name: ours.CertificateName(strings.Repeat("1", 64)), Ref: "https://barbican.example.com/v1/secrets/4f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}
	others := lb.Certificate{Name: lb.Owner{ClusterUID: "c", ServiceUID: "uid-2"}.CertificateName(hash), Ref: old.Ref}
	foreign := lb.Certificate{Name: lb.Owner{ClusterUID: "d", ServiceUID: "uid-1"}.CertificateName(hash), Ref: old.Ref}
	m.records[web].Cloud.Observed.LoadBalancer.Listeners = []lb.Listener{{TLS: &lb.TLS{Certificate: used.Ref}}}
	for name, c := range map[string]struct {
		all  []lb.Certificate
		want []owner.Key
	}{
		"the one that is used": {[]lb.Certificate{used}, nil},
		"another Service's":    {[]lb.Certificate{used, others}, nil},
		"another cluster's":    {[]lb.Certificate{foreign}, nil},
		"an old one":           {[]lb.Certificate{used, old}, []owner.Key{web}},
	} {
		if d := cmp.Diff(c.want, m.UnusedCertificates(c.all, "c", noon), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
}

func TestAFloatingIPOfKuryrThatWasDetachedIsStillThatOfItsClusterIP(t *testing.T) {
	r := converged()
	r.Cloud.Observed.FloatingIPs = []lb.FloatingIP{{ID: "f-1", PortID: "port-1", Description: lb.KuryrFloatingIP, KuryrVIP: "10.96.0.7"}}
	m := remembering(r)
	m.StaleFloatingIPs([]lb.FloatingIP{{ID: "f-1", Description: lb.KuryrFloatingIP}}, "cluster", noon.Add(time.Minute))
	want := []lb.FloatingIP{{ID: "f-1", Description: lb.KuryrFloatingIP, KuryrVIP: "10.96.0.7"}}
	if d := cmp.Diff(want, m.Get(web, "uid-1").Cloud.Observed.FloatingIPs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
