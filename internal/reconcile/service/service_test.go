// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const class = "kube-octavia.io/octavia"

// ours are the Services of a controller that handles Services without a class.
var ours = Kind{Policy: claim.Policy{ClusterName: "prod", ClusterUID: "c", LoadBalancerClass: class, DefaultClass: true}}

// web is a Service of type LoadBalancer that our controller has claimed.
func web(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid-1", Finalizers: []string{claim.Finalizer},
			Annotations: map[string]string{annotation.Managed: "uid-1 " + class, annotation.LoadBalancerID: "lb-1"},
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func annotated(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[key] = value }
}

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func TestSpecSaysWhatAServiceRequests(t *testing.T) {
	ports := []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	for name, c := range map[string]struct {
		spec corev1.ServiceSpec
		want desired.Spec
	}{
		"nothing": {corev1.ServiceSpec{}, desired.Spec{}},
		"ports":   {corev1.ServiceSpec{Ports: ports}, desired.Spec{Ports: ports}},
		"both families": {
			corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack)},
			desired.Spec{Families: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}},
		},
		"both families, and not one alone": {
			corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyRequireDualStack)},
			desired.Spec{Families: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, RequireDualStack: true},
		},
		"source ranges": {corev1.ServiceSpec{LoadBalancerSourceRanges: []string{"10.0.0.0/8", "x"}}, desired.Spec{SourceRanges: []string{"10.0.0.0/8", "x"}}},
		"affinity":      {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP}, desired.Spec{SessionAffinity: true}},
		"affinity for a minute": {
			corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](60)}}},
			desired.Spec{SessionAffinity: true, AffinityTimeoutSeconds: 60},
		},
		"no affinity":    {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityNone}, desired.Spec{}},
		"an address":     {corev1.ServiceSpec{LoadBalancerIP: "203.0.113.5"}, desired.Spec{LoadBalancerIP: "203.0.113.5"}},
		"a headless one": {corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}}, desired.Spec{}},
		"two ClusterIPs": {
			corev1.ServiceSpec{ClusterIP: "10.96.0.7", ClusterIPs: []string{"10.96.0.7", "fd00::7"}},
			desired.Spec{ClusterIPs: map[corev1.IPFamily]netip.Addr{corev1.IPv4Protocol: netip.MustParseAddr("10.96.0.7"), corev1.IPv6Protocol: netip.MustParseAddr("fd00::7")}},
		},
		"local traffic": {
			corev1.ServiceSpec{ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 32000},
			desired.Spec{LocalTraffic: true, HealthCheckNodePort: 32000},
		},
		"traffic to all nodes": {corev1.ServiceSpec{ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster}, desired.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := web(func(s *corev1.Service) { s.Spec = c.spec })
			c.want.Backend, c.want.Annotations = "web", s.Annotations
			got := Spec(s, config.LoadBalancer{})
			got.Options = annotation.Options{}
			if d := cmp.Diff(c.want, *got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAnnotationsAreReadOverTheOperatorsSettings(t *testing.T) {
	s := web(annotated(annotation.MaxMembers, "5"), annotated(annotation.ConnectionLimit, "x"))
	spec := Spec(s, config.LoadBalancer{MaxMembers: 3, SubnetID: "subnet"})
	if spec.Options.MaxMembers != 5 || spec.Options.SubnetID != "subnet" || len(spec.Problems) != 1 || spec.Invalid() == nil {
		t.Errorf("%+v", spec)
	}
}

func TestAServiceSaysWhoseItIs(t *testing.T) {
	ofClass := func(name string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To(name) }
	}
	ofType := func(kind corev1.ServiceType) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Type = kind }
	}
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }
	copied := annotated(annotation.Managed, "uid-9 "+class)
	refused := func(s *corev1.Service) {
		s.Status.Conditions = []metav1.Condition{{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: desired.ReasonInvalidAnnotation}}
	}
	// says are the facts that are true.
	says := func(o claim.Owner) (all []string) {
		for _, f := range []struct {
			is   bool
			what string
		}{
			{o.Serves, "serves"}, {o.Leaves, "leaves"}, {o.Claimed, "claimed"}, {o.Unclaimed, "unclaimed"}, {o.MayOwn, "may own"},
			{o.LostMark, "lost its mark"}, {o.Copied, "copied"}, {o.Publishes, "publishes"}, {o.OfAnotherClass, "of another class"},
			{o.KeepsFinalizer, "keeps its finalizer"}, {o.NeverClaimed, "never claimed"}, {o.Deleting, "deleting"}, {o.Recorded.Refused, "refused"},
		} {
			if f.is {
				all = append(all, f.what)
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		service *corev1.Service
		want    []string
	}{
		"claimed":                       {web(), []string{"serves", "claimed", "may own", "publishes"}},
		"new":                           {web(fresh), []string{"serves", "unclaimed", "may own", "publishes"}},
		"refused":                       {web(fresh, refused), []string{"serves", "unclaimed", "may own", "publishes", "refused"}},
		"deleted":                       {web(deleted), []string{"leaves", "claimed", "may own", "publishes", "deleting"}},
		"deleted, and never claimed":    {web(fresh, deleted), []string{"unclaimed", "may own", "publishes", "deleting"}},
		"of another class":              {web(ofClass("other/x")), []string{"leaves", "claimed", "may own", "of another class", "keeps its finalizer"}},
		"of another class, unclaimed":   {web(fresh, ofClass("other/x")), []string{"unclaimed", "may own", "of another class", "keeps its finalizer"}},
		"of another type":               {web(ofType(corev1.ServiceTypeClusterIP)), []string{"leaves", "claimed", "may own"}},
		"of another type, never served": {web(fresh, ofType(corev1.ServiceTypeClusterIP)), []string{"unclaimed", "never claimed"}},
		"of another type, lost its mark": {
			web(ofType(corev1.ServiceTypeClusterIP), without(annotation.Managed), without(annotation.LoadBalancerID)), []string{"unclaimed", "lost its mark"},
		},
		"a copy": {web(copied), []string{"serves", "may own", "copied", "publishes"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, says(ours.Of(c.service))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAServiceSaysWhatControllersHaveRecordedOnIt(t *testing.T) {
	s := web(annotated(annotation.LoadBalancerID, " lb-1 "), annotated(annotation.LoadBalancerAddress, "203.0.113.5"),
		annotated(annotation.VIPAddress, "10.0.0.9 subnet"), annotated(annotation.Programmed, "digest"))
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.6"}}
	s.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue}}
	o := ours.Of(s)
	want := claim.Recorded{
		LoadBalancerID: "lb-1", Address: "203.0.113.5", Ingress: s.Status.LoadBalancer.Ingress, VIPAddress: "10.0.0.9 subnet", Note: "digest",
		Mark: "uid-1 " + class, Finalizer: true, Conditions: s.Status.Conditions, Served: true,
	}
	if d := cmp.Diff(want, o.Recorded); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if o.Key != owner.ServiceKey("shop", "web") || o.Identity.Name != "web" || o.Identity.ServiceUID != "uid-1" || o.Published() != "203.0.113.5" {
		t.Errorf("key %v, identity %+v, publishes %q", o.Key, o.Identity, o.Published())
	}
	for name, c := range map[string]struct {
		service *corev1.Service
		want    string
	}{
		"an address in the status only": {web(func(s *corev1.Service) { s.Status = *statusWith("203.0.113.6") }), "203.0.113.6"},
		"nothing":                       {web(), ""},
		"the address of another Service": {
			web(annotated(annotation.Managed, "uid-9 "+class), annotated(annotation.LoadBalancerAddress, "203.0.113.5")), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ours.Of(c.service).Published(); got != c.want {
				t.Errorf("it publishes %q, want %q", got, c.want)
			}
		})
	}
}

// statusWith is a status with the address.
func statusWith(address string) *corev1.ServiceStatus {
	return &corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address}}}}
}

func TestGroupsAreLimitedToANamespaceUnlessTheOperatorWidensThem(t *testing.T) {
	grouped := annotated(annotation.LoadBalancerGroup, "g")
	clusterIP := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }
	for name, c := range map[string]struct {
		scope   string
		service *corev1.Service
		want    string
	}{
		"by default":              {"", web(grouped), "shop/g"},
		"within a namespace":      {config.ShareInNamespace, web(grouped), "shop/g"},
		"within the cluster":      {config.ShareInCluster, web(grouped), "g"},
		"with any load balancer":  {config.ShareAny, web(grouped), "g"},
		"without a group":         {config.ShareInCluster, web(), ""},
		"of a type without a VIP": {config.ShareInCluster, web(grouped, clusterIP), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Kind{Policy: ours.Policy, Config: config.LoadBalancer{SharedScope: c.scope}}).Of(c.service).Group; got != c.want {
				t.Errorf("the group is %q, want %q", got, c.want)
			}
		})
	}
}

func TestClusterIPModeIsAnotherSetOfSettings(t *testing.T) {
	clusterIPs, err := claim.NewClusterIPs(config.ClusterIP{Enabled: true, ServiceSubnetID: "services"})
	if err != nil {
		t.Fatal(err)
	}
	kind := Kind{Policy: ours.Policy}
	kind.Policy.ClusterIPs = clusterIPs
	internal := func(s *corev1.Service) { s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.96.0.7" }
	o := kind.Of(web(internal))
	if o.AtClusterIP == nil || !o.AtClusterIP.Internal || o.Settings(config.LoadBalancer{}).AtClusterIP != o.AtClusterIP || o.Identity.ClusterIP != "10.96.0.7" {
		t.Errorf("%+v", o)
	}
	if o := kind.Of(web()); o.AtClusterIP != nil {
		t.Errorf("without a ClusterIP: %+v", o.AtClusterIP)
	}
}

func TestWhatControllersWriteIsNoRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		same   bool
	}{
		"an annotation of a controller": {annotated(annotation.LoadBalancerAddress, "203.0.113.5"), true},
		"a condition":                   {func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{Type: "x"}} }, true},
		"a label":                       {func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }, true},
		"an annotation of a user":       {annotated(annotation.KeepFloatingIP, "true"), false},
		"a port":                        {func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ours.SameRequest(web(), web(c.change)); got != c.same {
				t.Errorf("the same request: %t, want %t", got, c.same)
			}
		})
	}
}

// pages is an API server, or a cache, with three Services.
type pages struct {
	client.Reader
	cached bool
}

func (p pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	into, _ := list.(*corev1.ServiceList)
	all := []corev1.Service{*web(), *web(), *web()}
	switch {
	case p.cached: // as controller-runtime's cache answers
		into.Items, into.Continue = all, "continue-not-supported"
	case o.Limit == 0:
		return errors.New("the API server is asked for all at once")
	case o.Continue == "":
		into.Items, into.Continue = all[:2], "more"
	default:
		into.Items = all[2:]
	}
	return nil
}

func (p pages) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	into, _ := object.(*corev1.Service)
	if key.Name != "web" {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	web().DeepCopyInto(into)
	return nil
}

func TestAllServicesAreListedFromACacheAndInPagesFromTheAPIServer(t *testing.T) {
	cache := claim.Owners{Reader: pages{cached: true}, Kinds: []claim.Kind{ours}}
	for name, from := range map[string]claim.Owners{"cache": cache, "API server": cache.From(pages{})} {
		t.Run(name, func(t *testing.T) {
			all, err := from.List(t.Context())
			if err != nil || len(all) != 3 {
				t.Errorf("%d owners, %v", len(all), err)
			}
		})
	}
}

func TestTheOwnerBehindAnEndpointSliceIsItsService(t *testing.T) {
	for name, want := range map[string]int{"web": 1, "other": 0} {
		t.Run(name, func(t *testing.T) {
			all, err := ours.BackedBy(t.Context(), pages{}, "shop", name)
			if err != nil || len(all) != want {
				t.Errorf("%d owners, %v", len(all), err)
			}
		})
	}
}

func TestAnObjectOfAnotherKindIsNotServed(t *testing.T) {
	if o := ours.Owner(&corev1.ConfigMap{}); o.Serves || o.Spec == nil {
		t.Errorf("%+v", o)
	}
	if _, _, err := (claim.Owners{Kinds: []claim.Kind{ours}}).Get(t.Context(), owner.Key{Kind: "Gateway", Namespace: "shop", Name: "web"}); err == nil {
		t.Error("a kind without an adapter is no error")
	}
}
