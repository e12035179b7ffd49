// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

var (
	noon         = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	kindsInOrder = []string{loadBalancerKind, floatingIPKind}
)

func marked(kind, id, service string) Object {
	return Object{Kind: kind, ID: id, Name: id, ServiceUID: service}
}

func TestWhatHasNoServiceIsAnOrphanAndDueAfterTheGracePeriod(t *testing.T) {
	hour := time.Hour
	ago := func(kind, id string, d time.Duration) map[key]time.Time {
		return map[key]time.Time{{kind, id}: noon.Add(-d)}
	}
	busy := marked(loadBalancerKind, "b1", "dead")
	busy.InUse = "Octavia is working on it"
	services := owners{all: map[string]bool{"alive": true}, addresses: map[string]bool{"keeper": true}}
	both := []Object{marked(loadBalancerKind, "b1", "dead"), marked(floatingIPKind, "f1", "dead")}
	bothOld := map[key]time.Time{{loadBalancerKind, "b1"}: noon.Add(-hour), {floatingIPKind, "f1"}: noon.Add(-hour)}
	for name, c := range map[string]struct {
		marked       []Object
		known, tried map[key]time.Time
		never        bool
		orphans, due []string
	}{
		"an owner's":                               {marked: []Object{marked(loadBalancerKind, "b1", "alive")}, known: ago(loadBalancerKind, "b1", 2*hour)},
		"no Service's, seen for the first time":    {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, orphans: []string{"b1"}},
		"one that asks for its address to be kept": {marked: []Object{marked(loadBalancerKind, "b1", "keeper"), marked(floatingIPKind, "f1", "keeper")}, known: bothOld, orphans: []string{"b1"}, due: []string{"b1"}},
		"just before the end of the grace period":  {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: ago(loadBalancerKind, "b1", hour-1), orphans: []string{"b1"}},
		"at the end of the grace period":           {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: ago(loadBalancerKind, "b1", hour), orphans: []string{"b1"}, due: []string{"b1"}},
		"with no end of the grace period":          {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: ago(loadBalancerKind, "b1", 1000*hour), never: true, orphans: []string{"b1"}},
		"another kind's time does not count":       {marked: []Object{marked(floatingIPKind, "b1", "dead")}, known: ago(loadBalancerKind, "b1", hour), orphans: []string{"b1"}},
		"without a Service's uid":                  {marked: []Object{marked(loadBalancerKind, "b1", "")}, known: ago(loadBalancerKind, "b1", hour)},
		"in use":                                   {marked: []Object{busy}, known: ago(loadBalancerKind, "b1", hour), orphans: []string{"b1"}},
		"the floating IP goes after the balancer":  {marked: both, known: bothOld, orphans: []string{"b1", "f1"}, due: []string{"b1"}},
		"the floating IP goes when that has gone":  {marked: both[1:], known: bothOld, orphans: []string{"f1"}, due: []string{"f1"}},
		"another Service's balancer is not waited": {marked: []Object{marked(loadBalancerKind, "b1", "other"), both[1]}, known: ago(floatingIPKind, "f1", hour), orphans: []string{"f1", "b1"}, due: []string{"f1"}},
		"one at a time, the oldest first": {
			marked: []Object{marked(loadBalancerKind, "b1", "dead"), marked(loadBalancerKind, "b2", "dead")},
			known:  map[key]time.Time{{loadBalancerKind, "b1"}: noon.Add(-hour), {loadBalancerKind, "b2"}: noon.Add(-2 * hour)}, orphans: []string{"b2", "b1"}, due: []string{"b2"},
		},
		"one that could not be deleted lets others go first": {
			marked: []Object{marked(loadBalancerKind, "b1", "dead"), marked(loadBalancerKind, "b2", "dead")}, tried: ago(loadBalancerKind, "b2", time.Minute),
			known: map[key]time.Time{{loadBalancerKind, "b1"}: noon.Add(-hour), {loadBalancerKind, "b2"}: noon.Add(-2 * hour)}, orphans: []string{"b1", "b2"}, due: []string{"b1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			grace := hour
			if c.never {
				grace = Never
			}
			v := history{c.known, c.tried}.judge(c.marked, services, kindsInOrder, noon, grace)
			if d := cmp.Diff([][]string{c.orphans, c.due}, [][]string{idsOf(v.orphans), idsOf(v.due)}); d != "" {
				t.Errorf("orphans and those due (-want +got):\n%s", d)
			}
		})
	}
}

func idsOf(all []orphan) []string {
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return ids
}

// TestNothingIsEverDueThatWasNotAnOrphanForTheWholeGracePeriod makes looks at random
// clouds and Services, one after the other.
func TestNothingIsEverDueThatWasNotAnOrphanForTheWholeGracePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grace := time.Duration(rapid.IntRange(0, 4).Draw(t, "grace")) * time.Minute
		now := noon
		var known map[key]time.Time
		tried := map[key]time.Time{}
		seen := map[key]time.Time{} // since when it was an orphan at each look, kept apart
		for range rapid.IntRange(1, 12).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			services := map[string]bool{}
			for i := range 3 {
				services[fmt.Sprint("s", i)] = rapid.Bool().Draw(t, "owns")
			}
			var all []Object
			here := map[key]time.Time{}
			for i := range 4 {
				o := Object{Kind: rapid.SampledFrom(kindsInOrder).Draw(t, "kind"), ID: fmt.Sprint("o", i),
					ServiceUID: rapid.SampledFrom([]string{"", "s0", "s1", "s2"}).Draw(t, "Service"), InUse: rapid.SampledFrom([]string{"", "in use"}).Draw(t, "use")}
				if !rapid.Bool().Draw(t, "there") {
					continue
				}
				all = append(all, o)
				if o.ServiceUID != "" && !services[o.ServiceUID] {
					here[o.key()] = now
					if since, there := seen[o.key()]; there {
						here[o.key()] = since
					}
				}
			}
			seen = here
			v := history{known, tried}.judge(all, owners{all: services}, kindsInOrder, now, grace)
			if len(v.orphans) != len(here) || grace == Never && len(v.due) > 0 {
				t.Fatalf("orphans %v, due %v; there are %v", v.orphans, v.due, here)
			}
			known = map[key]time.Time{}
			for _, o := range v.orphans {
				known[o.key()] = o.since
			}
			for i, o := range v.due {
				since, is := here[o.key()]
				balancer := slices.ContainsFunc(all, func(b Object) bool { return b.Kind == loadBalancerKind && b.ServiceUID == o.ServiceUID })
				switch {
				case !is || now.Sub(since) < grace:
					t.Fatalf("%v is due and was an orphan since %v, it is %v", o, since, now)
				case o.InUse != "", o.Kind == floatingIPKind && balancer:
					t.Fatalf("%v is due while it is needed", o)
				case slices.ContainsFunc(v.due[:i], func(b orphan) bool { return b.Kind == o.Kind }):
					t.Fatalf("two of a kind are due: %v", v.due)
				}
				tried[o.key()] = now
			}
		}
	})
}

func TestOnlyWhatBearsThisClustersMarkAndNoOtherIsLookedAt(t *testing.T) {
	own := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	other := own
	other.ClusterUID = "d"
	const secretID = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	cloudController := "Floating IP for Kubernetes external service shop/web from cluster prod"
	found := Inventory{
		LoadBalancers: []octavia.Head{
			{ID: "ours", Tags: own.Tags()}, {ID: "busy", Tags: own.Tags(), ProvisioningStatus: lb.PendingUpdate},
			{ID: "another cluster's", Tags: other.Tags()}, {ID: "untagged"}, {ID: "by name only", Tags: own.Tags()[:1]},
			{ID: "both clusters'", Tags: append(own.Tags(), other.Tags()...)}, {ID: "shared", Tags: append(own.Tags(), "kube_service_prod_shop_other")},
		},
		FloatingIPs: []lb.FloatingIP{
			{ID: "ours", Description: own.FloatingIPDescription()}, {ID: "in use", Description: own.FloatingIPDescription(), PortID: "p"},
			{ID: "kept", Description: own.KeptFloatingIPDescription()}, {ID: "another cluster's", Description: other.FloatingIPDescription()},
			{ID: "the cloud controller's", Description: cloudController}, {ID: "a person's", Description: "by hand"},
		},
		Certificates: []lb.Certificate{
			{Name: own.CertificateName(strings.Repeat("0", 64)), Ref: "https://barbican.example.com/v1/secrets/" + secretID},
			{Name: other.CertificateName(strings.Repeat("0", 64)), Ref: "https://barbican.example.com/v1/secrets/" + secretID},
			{Name: "by hand", Ref: "https://barbican.example.com/v1/secrets/" + secretID},
		},
	}
	type line struct{ Kind, ID, InUse string }
	var got []line
	for _, o := range (&Finder{Policy: claim.Policy{ClusterUID: "c"}}).marked(found) {
		got = append(got, line{o.Kind, o.ID, o.InUse})
	}
	want := []line{
		{loadBalancerKind, "ours", ""}, {loadBalancerKind, "busy", "Octavia is working on it: PENDING_UPDATE"},
		{floatingIPKind, "ours", ""}, {floatingIPKind, "in use", "it leads to port p"},
		{certificateKind, secretID, ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("marked (-want +got):\n%s", d)
	}
}

func TestAnOrphanStaysOfWhichAnyPartBearsAnotherMark(t *testing.T) {
	own := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	other := own
	other.ServiceUID = "t"
	f := &Finder{Policy: claim.Policy{ClusterUID: "c"}, Neutron: neutron.New(nil, "project")}
	for name, c := range map[string]struct {
		balancer lb.LoadBalancer
		left     bool
	}{
		"all of it is the Service's":          {lb.LoadBalancer{ProjectID: "project", Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Pool: &lb.Pool{ID: "p", Tags: own.Tags()}}}}, false},
		"nobody says whose project it is in":  {lb.LoadBalancer{Tags: own.Tags()}, false},
		"it is in another project":            {lb.LoadBalancer{ProjectID: "another", Tags: own.Tags()}, true},
		"it bears no mark any more":           {lb.LoadBalancer{ProjectID: "project"}, true},
		"it is another Service's by now":      {lb.LoadBalancer{ProjectID: "project", Tags: other.Tags()}, true},
		"a listener is another Service's":     {lb.LoadBalancer{Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Tags: other.Tags()}}}, true},
		"a listener's pool is":                {lb.LoadBalancer{Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Pool: &lb.Pool{ID: "p", Tags: other.Tags()}}}}, true},
		"a pool that no listener uses is too": {lb.LoadBalancer{Tags: own.Tags(), DetachedPools: []lb.Pool{{ID: "p", Tags: other.Tags()}}}, true},
	} {
		if left := f.otherOwner(c.balancer, marked(loadBalancerKind, "b1", "s")); (left != "") != c.left {
			t.Errorf("%s: %q", name, left)
		}
	}
}
