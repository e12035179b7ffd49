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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var (
	noon         = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	kindsInOrder = []kind{{name: loadBalancerKind}, {name: floatingIPKind}}
)

func marked(kind, id, service string) Object {
	return Object{Kind: kind, ID: id, Name: id, ServiceUID: service}
}

func TestObjectsWithoutAServiceAreOrphansAndDueAfterTheGracePeriod(t *testing.T) {
	hour := time.Hour
	since := func(kind, id string, d time.Duration) map[key]orphan {
		return map[key]orphan{{kind, id}: {since: noon.Add(-d)}}
	}
	busy := marked(loadBalancerKind, "b1", "dead")
	busy.InUse = "Octavia is working on it"
	services := owners{all: map[string]bool{"alive": true}, addresses: map[string]bool{"keeper": true}}
	both := []Object{marked(loadBalancerKind, "b1", "dead"), marked(floatingIPKind, "f1", "dead")}
	old := orphan{since: noon.Add(-hour)}
	bothOld := map[key]orphan{{loadBalancerKind, "b1"}: old, {floatingIPKind, "f1"}: old}
	for name, c := range map[string]struct {
		marked       []Object
		known        map[key]orphan
		never        bool
		orphans, due []string
	}{
		"of a Service":                            {marked: []Object{marked(loadBalancerKind, "b1", "alive")}, known: since(loadBalancerKind, "b1", 2*hour)},
		"of no Service, seen for the first time":  {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, orphans: []string{"b1"}},
		"of a Service that keeps its address":     {marked: []Object{marked(loadBalancerKind, "b1", "keeper"), marked(floatingIPKind, "f1", "keeper")}, known: bothOld, orphans: []string{"b1"}, due: []string{"b1"}},
		"just before the end of the grace period": {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: since(loadBalancerKind, "b1", hour-1), orphans: []string{"b1"}},
		"at the end of the grace period":          {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: since(loadBalancerKind, "b1", hour), orphans: []string{"b1"}, due: []string{"b1"}},
		"with grace period Never":                 {marked: []Object{marked(loadBalancerKind, "b1", "dead")}, known: since(loadBalancerKind, "b1", 1000*hour), never: true, orphans: []string{"b1"}},
		"same id, another kind":                   {marked: []Object{marked(floatingIPKind, "b1", "dead")}, known: since(loadBalancerKind, "b1", hour), orphans: []string{"b1"}},
		"without a Service uid":                   {marked: []Object{marked(loadBalancerKind, "b1", "")}, known: since(loadBalancerKind, "b1", hour)},
		"in use":                                  {marked: []Object{busy}, known: since(loadBalancerKind, "b1", hour), orphans: []string{"b1"}},
		"floating IP and load balancer":           {marked: both, known: bothOld, orphans: []string{"b1", "f1"}, due: []string{"b1"}},
		"floating IP after the load balancer":     {marked: both[1:], known: bothOld, orphans: []string{"f1"}, due: []string{"f1"}},
		"load balancer of another Service":        {marked: []Object{marked(loadBalancerKind, "b1", "other"), both[1]}, known: since(floatingIPKind, "f1", hour), orphans: []string{"f1", "b1"}, due: []string{"f1"}},
		"two, the oldest first": {
			marked: []Object{marked(loadBalancerKind, "b1", "dead"), marked(loadBalancerKind, "b2", "dead")},
			known:  map[key]orphan{{loadBalancerKind, "b1"}: old, {loadBalancerKind, "b2"}: {since: noon.Add(-2 * hour)}}, orphans: []string{"b2", "b1"}, due: []string{"b2"},
		},
		"two, one of which was tried": {
			marked: []Object{marked(loadBalancerKind, "b1", "dead"), marked(loadBalancerKind, "b2", "dead")}, orphans: []string{"b1", "b2"}, due: []string{"b1"},
			known: map[key]orphan{{loadBalancerKind, "b1"}: old, {loadBalancerKind, "b2"}: {since: noon.Add(-2 * hour), tried: noon.Add(-time.Minute)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			grace := hour
			if c.never {
				grace = Never
			}
			orphans, due := judge(c.marked, services, c.known, kindsInOrder, noon, grace)
			if d := cmp.Diff([][]string{c.orphans, c.due}, [][]string{idsOf(orphans), idsOf(due)}); d != "" {
				t.Errorf("orphans and due ones (-want +got):\n%s", d)
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

// TestOnlyOrphansOfAWholeGracePeriodAreEverDue judges random clouds and Services, one after the
// other.
func TestOnlyOrphansOfAWholeGracePeriodAreEverDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grace := time.Duration(rapid.IntRange(0, 4).Draw(t, "grace")) * time.Minute
		now := noon
		var known map[key]orphan
		seen := map[key]time.Time{} // since when each object has been an orphan in every sweep
		for range rapid.IntRange(1, 12).Draw(t, "sweeps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			services := map[string]bool{}
			for i := range 3 {
				services[fmt.Sprint("s", i)] = rapid.Bool().Draw(t, "owns")
			}
			var all []Object
			here := map[key]time.Time{}
			for i := range 4 {
				o := Object{Kind: rapid.SampledFrom([]string{loadBalancerKind, floatingIPKind}).Draw(t, "kind"), ID: fmt.Sprint("o", i),
					ServiceUID: rapid.SampledFrom([]string{"", "s0", "s1", "s2"}).Draw(t, "Service"), InUse: rapid.SampledFrom([]string{"", "in use"}).Draw(t, "use")}
				if !rapid.Bool().Draw(t, "exists") {
					continue
				}
				all = append(all, o)
				if o.ServiceUID != "" && !services[o.ServiceUID] {
					here[o.key()] = now
					if since, before := seen[o.key()]; before {
						here[o.key()] = since
					}
				}
			}
			seen = here
			orphans, due := judge(all, owners{all: services}, known, kindsInOrder, now, grace)
			if len(orphans) != len(here) || grace == Never && len(due) > 0 {
				t.Fatalf("orphans %v, due %v; want orphans %v", orphans, due, here)
			}
			known = map[key]orphan{}
			for _, o := range orphans {
				known[o.key()] = o
			}
			for i, o := range due {
				since, is := here[o.key()]
				balancer := slices.ContainsFunc(all, func(b Object) bool { return b.Kind == loadBalancerKind && b.ServiceUID == o.ServiceUID })
				switch {
				case !is || now.Sub(since) < grace:
					t.Fatalf("%v is due at %v, and has been an orphan since %v", o, now, since)
				case o.InUse != "", o.Kind == floatingIPKind && balancer:
					t.Fatalf("%v is due while it is in use", o)
				case slices.ContainsFunc(due[:i], func(b orphan) bool { return b.Kind == o.Kind }):
					t.Fatalf("two of a kind are due: %v", due)
				}
				o.tried = now
				known[o.key()] = o
			}
		}
	})
}

func TestOnlyObjectsMarkedByThisClusterAloneMayBeOrphans(t *testing.T) {
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
		{floatingIPKind, "ours", ""}, {floatingIPKind, "in use", "it is attached to port p"},
		{certificateKind, secretID, ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("marked (-want +got):\n%s", d)
	}
}

func TestExistingServiceOwnsItsLoadBalancerWhateverOtherClientsRemoveFromIt(t *testing.T) {
	clusterIPs, err := claim.NewClusterIPs(config.ClusterIP{Enabled: true, ServiceSubnetID: "services", Selector: "octavia=yes"})
	if err != nil {
		t.Fatal(err)
	}
	own := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	all := Inventory{LoadBalancers: []octavia.Head{{ID: "b1", Tags: own.Tags()}}}
	unfinalized := func(s *corev1.Service) { s.Finalizers = nil }
	bare := func(s *corev1.Service) { s.Annotations = nil }
	unselected := func(s *corev1.Service) { s.Labels = nil }
	balancer := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }
	for name, c := range map[string]struct {
		edits  []func(*corev1.Service)
		orphan bool
	}{
		"at its ClusterIP":                                 {},
		"at its ClusterIP, without finalizer":              {edits: []func(*corev1.Service){unfinalized}},
		"at its ClusterIP, without annotations":            {edits: []func(*corev1.Service){bare}},
		"at its ClusterIP, without both":                   {edits: []func(*corev1.Service){unfinalized, bare}},
		"not selected":                                     {edits: []func(*corev1.Service){unselected}},
		"not selected, without finalizer":                  {edits: []func(*corev1.Service){unselected, unfinalized}, orphan: true},
		"not selected, without annotations":                {edits: []func(*corev1.Service){unselected, bare}, orphan: true},
		"of type LoadBalancer, not selected, without both": {edits: []func(*corev1.Service){balancer, unselected, unfinalized, bare}},
	} {
		t.Run(name, func(t *testing.T) {
			s := corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "s", Labels: map[string]string{"octavia": "yes"},
					Finalizers: []string{claim.Finalizer}, Annotations: map[string]string{annotation.Managed: "s kube-octavia.io/octavia"}},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.7"},
			}
			for _, edit := range c.edits {
				edit(&s)
			}
			f := &Finder{Policy: claim.Policy{ClusterUID: "c", LoadBalancerClass: "kube-octavia.io/octavia", ClusterIPs: clusterIPs}}
			if found := f.Among(owned(f, s), all); (len(found) == 1) != c.orphan {
				t.Errorf("orphans: %+v", found)
			}
		})
	}
}

func TestLoadBalancerWithAnotherOwnersTagsIsKept(t *testing.T) {
	own := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	other := own
	other.ServiceUID = "t"
	f := &Finder{Policy: claim.Policy{ClusterUID: "c"}, Neutron: neutron.New(nil, "project")}
	for name, c := range map[string]struct {
		balancer lb.LoadBalancer
		keep     bool
	}{
		"all of it belongs to the Service":                          {lb.LoadBalancer{ProjectID: "project", Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Pool: &lb.Pool{ID: "p", Tags: own.Tags()}}}}, false},
		"its project is unknown":                                    {lb.LoadBalancer{Tags: own.Tags()}, false},
		"it is in another project":                                  {lb.LoadBalancer{ProjectID: "another", Tags: own.Tags()}, true},
		"it lost its tags":                                          {lb.LoadBalancer{ProjectID: "project"}, true},
		"it has the tags of another Service":                        {lb.LoadBalancer{ProjectID: "project", Tags: other.Tags()}, true},
		"a listener has the tags of another Service":                {lb.LoadBalancer{Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Tags: other.Tags()}}}, true},
		"the pool of a listener has the tags of another Service":    {lb.LoadBalancer{Tags: own.Tags(), Listeners: []lb.Listener{{ID: "l", Pool: &lb.Pool{ID: "p", Tags: other.Tags()}}}}, true},
		"a pool without a listener has the tags of another Service": {lb.LoadBalancer{Tags: own.Tags(), DetachedPools: []lb.Pool{{ID: "p", Tags: other.Tags()}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if keep := f.otherOwner(c.balancer, marked(loadBalancerKind, "b1", "s")); (keep != "") != c.keep {
				t.Errorf("%q", keep)
			}
		})
	}
}

func TestASharedLoadBalancerIsAnOrphanWhenNoneOfItsServicesUsesIt(t *testing.T) {
	one := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "one", ServiceUID: "s1"}
	two, other := one, one
	two.Name, two.ServiceUID = "two", "s2"
	other.ClusterName = "test"
	f := &Finder{Policy: claim.Policy{ClusterName: "prod", ClusterUID: "c", DefaultClass: true}, Neutron: neutron.New(nil, "project")}
	service := func(name, uid string, annotations map[string]string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), Annotations: annotations},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}
	notes := func(id string) map[string]string { return map[string]string{annotation.LoadBalancerID: id} }
	abandoned := append([]string{lb.ClusterTag("c")}, two.SharerTags()...)
	untyped := service("two", "s3", nil)
	untyped.Spec.Type = corev1.ServiceTypeClusterIP
	for name, c := range map[string]struct {
		tags     []string
		services []corev1.Service
		orphan   bool
	}{
		"its owner has left, and the sharer is gone": {abandoned, nil, true},
		"owner and sharer are gone":                  {append(one.Tags(), two.SharerTags()...), nil, true},
		"only the owner is gone":                     {append(one.Tags(), two.SharerTags()...), []corev1.Service{service("two", "s2", notes("b1"))}, false},
		"only the sharer is gone":                    {append(one.Tags(), two.SharerTags()...), []corev1.Service{service("one", "s1", notes("b1"))}, false},
		"the sharer may be joining":                  {abandoned, []corev1.Service{service("two", "s2", nil)}, false},
		"one with its name has another one":          {abandoned, []corev1.Service{service("two", "s3", notes("b2"))}, true},
		"one with its name has another type":         {abandoned, []corev1.Service{untyped}, true},
		"another Service names it by its id":         {abandoned, []corev1.Service{service("three", "s3", notes("b1"))}, false},
		"another cluster's sharer is there":          {append(slices.Clone(abandoned), other.SharerTags()...), nil, false},
		"another cluster made it":                    {append([]string{lb.ClusterTag("d")}, two.SharerTags()...), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := f.Among(owned(f, c.services...), Inventory{LoadBalancers: []octavia.Head{{ID: "b1", Tags: c.tags}}})
			if (len(found) == 1) != c.orphan {
				t.Errorf("orphans %+v", found)
			}
		})
	}
	o, _ := f.loadBalancer(octavia.Head{ID: "b1", Tags: abandoned})
	for name, c := range map[string]struct {
		child []string
		keep  bool
	}{
		"of the sharer that is gone":       {two.Tags(), false},
		"of a Service that exists":         {lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "three", ServiceUID: "alive"}.Tags(), true},
		"of another cluster":               {lb.Owner{ClusterName: "prod", ClusterUID: "d", Namespace: "shop", Name: "two", ServiceUID: "s2"}.Tags(), true},
		"created by hand":                  {nil, true},
		"with the sharer's name, of OCCM":  {two.SharerTags(), false},
		"with the name of another cluster": {other.SharerTags(), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := lb.LoadBalancer{ProjectID: "project", Tags: abandoned, Listeners: []lb.Listener{{ID: "l", Tags: c.child}}}
			if keep := f.otherSharer(l, o, owners{all: map[string]bool{"alive": true}}); (keep != "") != c.keep {
				t.Errorf("with a listener %s: %q", name, keep)
			}
		})
	}
}
