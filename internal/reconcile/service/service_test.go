// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
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
		"one family": {
			corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack)},
			desired.Spec{Families: []corev1.IPFamily{corev1.IPv6Protocol}},
		},
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
		"affinity with settings that have no timeout": {
			corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{}}},
			desired.Spec{SessionAffinity: true},
		},
		"affinity with empty settings": {
			corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityConfig: &corev1.SessionAffinityConfig{}},
			desired.Spec{SessionAffinity: true},
		},
		"no affinity":             {corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityNone}, desired.Spec{}},
		"an address":              {corev1.ServiceSpec{LoadBalancerIP: "203.0.113.5"}, desired.Spec{LoadBalancerIP: "203.0.113.5"}},
		"an address that is none": {corev1.ServiceSpec{LoadBalancerIP: "x"}, desired.Spec{LoadBalancerIP: "x"}},
		"one ClusterIP": {
			corev1.ServiceSpec{ClusterIP: "fd00::7"},
			desired.Spec{ClusterIPs: map[corev1.IPFamily]netip.Addr{corev1.IPv6Protocol: netip.MustParseAddr("fd00::7")}},
		},
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

// says returns the facts that are true of the owner.
func says(o claim.Owner) (all []string) {
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
	partly := func(s *corev1.Service) {
		s.Status.Conditions = []metav1.Condition{{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: desired.ReasonHealthMonitorUnsupported}}
	}
	accepted := func(s *corev1.Service) {
		s.Status.Conditions = []metav1.Condition{{Type: status.Accepted, Status: metav1.ConditionTrue, Reason: desired.ReasonInvalidAnnotation}}
	}
	elsewhere := func(s *corev1.Service) {
		s.Status.Conditions = []metav1.Condition{{Type: "example.com/Accepted", Status: metav1.ConditionFalse, Reason: desired.ReasonInvalidAnnotation}}
	}
	explicit, drained := ours, ours
	explicit.Policy.DefaultClass, drained.Policy.Drain = false, true
	atClusterIP := ours
	atClusterIP.Policy.ClusterIPs = clusterIPMode(t, config.ClusterIP{})
	clusterIP := func(s *corev1.Service) { s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.96.0.7" }
	for name, c := range map[string]struct {
		kind    *Kind // ours by default
		service *corev1.Service
		want    []string
	}{
		"claimed":                       {service: web(), want: []string{"serves", "claimed", "may own", "publishes"}},
		"new":                           {service: web(fresh), want: []string{"serves", "unclaimed", "may own", "publishes"}},
		"refused":                       {service: web(fresh, refused), want: []string{"serves", "unclaimed", "may own", "publishes", "refused"}},
		"deleted":                       {service: web(deleted), want: []string{"leaves", "claimed", "may own", "publishes", "deleting"}},
		"deleted, and never claimed":    {service: web(fresh, deleted), want: []string{"unclaimed", "may own", "publishes", "deleting"}},
		"of another class":              {service: web(ofClass("other/x")), want: []string{"leaves", "claimed", "may own", "of another class", "keeps its finalizer"}},
		"of another class, unclaimed":   {service: web(fresh, ofClass("other/x")), want: []string{"unclaimed", "may own", "of another class", "keeps its finalizer"}},
		"of another type":               {service: web(ofType(corev1.ServiceTypeClusterIP)), want: []string{"leaves", "claimed", "may own"}},
		"of another type, never served": {service: web(fresh, ofType(corev1.ServiceTypeClusterIP)), want: []string{"unclaimed", "never claimed"}},
		"of another type, lost its mark": {
			service: web(ofType(corev1.ServiceTypeClusterIP), without(annotation.Managed), without(annotation.LoadBalancerID)), want: []string{"unclaimed", "lost its mark"},
		},
		"a copy":                 {service: web(copied), want: []string{"serves", "may own", "copied", "publishes"}},
		"refused in part":        {service: web(partly), want: []string{"serves", "claimed", "may own", "publishes"}},
		"accepted":               {service: web(accepted), want: []string{"serves", "claimed", "may own", "publishes"}},
		"refused by another one": {service: web(elsewhere), want: []string{"serves", "claimed", "may own", "publishes"}},
		"of our class":           {kind: &explicit, service: web(ofClass(class)), want: []string{"serves", "claimed", "may own", "publishes"}},
		"without a class, which is not handled": {
			kind: &explicit, service: web(), want: []string{"claimed", "may own", "of another class"},
		},
		"of another class, with the mark of that class": {
			service: web(ofClass("other/x"), annotated(annotation.Managed, "uid-1 other/x")), want: []string{"may own", "of another class", "keeps its finalizer"},
		},
		"without the finalizer": {
			service: web(func(s *corev1.Service) { s.Finalizers = nil }), want: []string{"serves", "unclaimed", "may own", "publishes"},
		},
		"changed to another type, with the mark only": {
			service: web(ofType(corev1.ServiceTypeNodePort), func(s *corev1.Service) { s.Finalizers = nil }), want: []string{"leaves", "unclaimed"},
		},
		"a copy of another type": {
			service: web(copied, ofType(corev1.ServiceTypeClusterIP), without(annotation.LoadBalancerID)), want: []string{"may own", "copied"},
		},
		"a copy of another type, with an id": {
			service: web(copied, ofType(corev1.ServiceTypeClusterIP)), want: []string{"leaves", "may own", "copied"},
		},
		"a copy without a mark, with an address": {
			service: web(without(annotation.Managed), annotated(annotation.LoadBalancerAddress, "203.0.113.5")),
			want:    []string{"serves", "unclaimed", "may own", "copied", "publishes"},
		},
		"drained":                   {kind: &drained, service: web(), want: []string{"leaves", "claimed", "may own", "publishes"}},
		"drained, and only refused": {kind: &drained, service: web(fresh, refused), want: []string{"unclaimed", "may own", "publishes", "never claimed", "refused"}},
		"drained, of another class": {kind: &drained, service: web(fresh, ofClass("other/x")), want: []string{"unclaimed", "may own", "of another class", "keeps its finalizer"}},
		"at its ClusterIP":          {kind: &atClusterIP, service: web(clusterIP), want: []string{"serves", "claimed", "may own"}},
		"at its ClusterIP, new":     {kind: &atClusterIP, service: web(fresh, clusterIP), want: []string{"serves", "unclaimed", "may own", "never claimed"}},
		"of another class, with its ClusterIP before": {
			kind: &atClusterIP, service: web(ofClass("other/x"), func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.7" }),
			want: []string{"leaves", "claimed", "may own", "of another class"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind := ours
			if c.kind != nil {
				kind = *c.kind
			}
			if d := cmp.Diff(c.want, says(kind.Of(c.service))); d != "" {
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
		Mark: "uid-1 " + class, Annotations: s.Annotations, Finalizer: true, Conditions: s.Status.Conditions, Served: true,
	}
	if d := cmp.Diff(want, o.Recorded); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if o.Key != owner.ServiceKey("shop", "web") || o.Identity.Name != "web" || o.Identity.ServiceUID != "uid-1" || o.Published() != "203.0.113.5" {
		t.Errorf("key %v, identity %+v, publishes %q", o.Key, o.Identity, o.Published())
	}
	if d := cmp.Diff(claim.Recorded{}, ours.Of(&corev1.Service{}).Recorded); d != "" {
		t.Errorf("of a Service without anything (-want +got):\n%s", d)
	}
	for name, c := range map[string]struct {
		service *corev1.Service
		want    string
	}{
		"an address in the status only": {web(func(s *corev1.Service) { s.Status = *statusWith("203.0.113.6") }), "203.0.113.6"},
		"a host name in the status only": {web(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "web.example.com"}}
		}), ""},
		"nothing": {web(), ""},
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

func TestAServiceWasServedIfAControllerForServicesWithoutAClassHasWorkedForIt(t *testing.T) {
	explicit := ours
	explicit.Policy.DefaultClass = false
	programmed := func(is metav1.ConditionStatus) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: is}}
		}
	}
	for name, c := range map[string]struct {
		kind    Kind
		service *corev1.Service
		want    bool
	}{
		"everything is done":               {ours, web(programmed(metav1.ConditionTrue)), true},
		"something is left to do":          {ours, web(programmed(metav1.ConditionFalse)), true},
		"it was only observed":             {ours, web(programmed(metav1.ConditionUnknown)), false},
		"there is no condition":            {ours, web(), false},
		"without a class is not our class": {explicit, web(programmed(metav1.ConditionTrue)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.kind.Of(c.service).Recorded.Served; got != c.want {
				t.Errorf("it was served: %t, want %t", got, c.want)
			}
		})
	}
}

func TestAnOwnerHasTheIdentityOfItsService(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	s := web(func(s *corev1.Service) { s.CreationTimestamp, s.Generation = created, 7 })
	o := ours.Of(s)
	want := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "uid-1"}
	if d := cmp.Diff(want, o.Identity); d != "" {
		t.Errorf("identity (-want +got):\n%s", d)
	}
	if o.Key != owner.ServiceKey("shop", "web") || o.UID != "uid-1" || !o.Created.Equal(&created) || o.Generation != 7 || o.Mark != "uid-1 "+class || o.Original != "" {
		t.Errorf("%+v", o)
	}
	if o := ours.Of(web(annotated(annotation.Managed, "uid-9 "+class))); o.Original != "uid-9" || o.Mark != "uid-1 "+class {
		t.Errorf("a copy: the original is %q, the mark %q", o.Original, o.Mark)
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
		"with the other prefix":   {"", web(annotated(annotation.OwnPrefix+"load-balancer-group", "g")), "shop/g"},
		"being deleted":           {"", web(grouped, func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }), ""},
		"of another class":        {"", web(grouped, func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("other/x") }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Kind{Policy: ours.Policy, Config: config.LoadBalancer{SharedScope: c.scope}}).Of(c.service).Group; got != c.want {
				t.Errorf("the group is %q, want %q", got, c.want)
			}
		})
	}
}

// clusterIPMode is cluster-ip mode with these settings.
func clusterIPMode(t *testing.T, mode config.ClusterIP) *claim.ClusterIPs {
	t.Helper()
	mode.Enabled, mode.ServiceSubnetID, mode.Provider = true, "services", "ovn"
	selected, err := claim.NewClusterIPs(mode)
	if err != nil {
		t.Fatal(err)
	}
	return selected
}

func TestClusterIPModeIsAnotherSetOfSettings(t *testing.T) {
	const ip = "10.96.0.7"
	at := func(s *corev1.Service) { s.Spec.ClusterIP = ip }
	clusterIP := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	selected := func(s *corev1.Service) { s.Labels = map[string]string{"tier": "web"} }
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, map[string]string{} }
	kuryr := func(s *corev1.Service) { s.Finalizers = []string{claim.KuryrFinalizer} }
	internal, external := &config.AtClusterIP{SubnetID: "services", Provider: "ovn", Internal: true}, &config.AtClusterIP{SubnetID: "services", Provider: "ovn"}
	for name, c := range map[string]struct {
		mode           config.ClusterIP
		service        *corev1.Service
		want           *config.AtClusterIP
		was, fromKuryr bool
	}{
		"of type ClusterIP":    {service: web(fresh, clusterIP, at), want: internal},
		"of type LoadBalancer": {service: web(fresh, at), want: external},
		"headless":             {service: web(clusterIP, headless)},
		"without a ClusterIP":  {service: web()},
		"not selected":         {mode: config.ClusterIP{Selector: "tier=web"}, service: web(clusterIP, at)},
		"selected":             {mode: config.ClusterIP{Selector: "tier=web"}, service: web(fresh, clusterIP, at, selected), want: internal},
		"claimed":              {service: web(clusterIP, at), want: internal, fromKuryr: true},
		"served":               {service: web(clusterIP, at, annotated(annotation.LoadBalancerAddress, ip)), want: internal, was: true, fromKuryr: true},
		"being replaced":       {service: web(clusterIP, at, annotated(annotation.VIPAddress, ip+" services")), want: internal, was: true, fromKuryr: true},
		"of Kuryr":             {service: web(fresh, clusterIP, at, kuryr), want: internal, fromKuryr: true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := Kind{Policy: ours.Policy, Config: config.LoadBalancer{Provider: "amphora", SubnetID: "configured"}}
			kind.Policy.ClusterIPs = clusterIPMode(t, c.mode)
			o := kind.Of(c.service)
			if d := cmp.Diff(c.want, o.AtClusterIP); d != "" {
				t.Errorf("settings (-want +got):\n%s", d)
			}
			if o.WasAtClusterIP != c.was || o.FromKuryr != c.fromKuryr {
				t.Errorf("was at its ClusterIP: %t, of Kuryr: %t", o.WasAtClusterIP, o.FromKuryr)
			}
			if got := o.Settings(kind.Config); got.AtClusterIP != o.AtClusterIP || got.SubnetID != "configured" {
				t.Errorf("its settings are %+v", got)
			}
			// The annotations are read over the settings of the mode.
			provider, identity, subnet := "amphora", "", ""
			if c.want != nil {
				provider, identity, subnet = "ovn", ip, "services"
			}
			if o.Spec.Options.Provider != provider || o.Identity.ClusterIP != identity || o.Identity.ServiceSubnetID != subnet {
				t.Errorf("provider %q, identity %+v", o.Spec.Options.Provider, o.Identity)
			}
		})
	}
	t.Run("the mode is off", func(t *testing.T) {
		if o := ours.Of(web(at)); o.AtClusterIP != nil || o.Identity.ClusterIP != "" || o.WasAtClusterIP || o.FromKuryr {
			t.Errorf("%+v", o)
		}
	})
}

// A pass reads annotations of users once, and what controllers record again after each of its writes.
func TestAnOwnerThatIsRefreshedAfterOwnWritesIsTheOwnerThatTheServiceIs(t *testing.T) {
	for name, write := range map[string]func(*corev1.Service){
		"nothing":             func(*corev1.Service) {},
		"the mark":            func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 " + class },
		"the mark of another": func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-2 " + class },
		"the finalizer":       func(s *corev1.Service) { s.Finalizers = append(s.Finalizers, claim.Finalizer) },
		"no finalizer":        func(s *corev1.Service) { s.Finalizers = nil },
		"the load balancer":   func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = "lb-2" },
		"no note":             func(s *corev1.Service) { delete(s.Annotations, annotation.Programmed) },
		"an address":          func(s *corev1.Service) { s.Status = *statusWith("203.0.113.6") },
		"a refusal": func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: "InvalidAnnotation"}}
		},
		"that Octavia accepts": func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := web(annotated(annotation.LoadBalancerID, "lb-1"), annotated(annotation.Programmed, "digest"), annotated(annotation.KeepFloatingIP, "true"))
			before := ours.Of(s)
			write(s)
			now := ours.Refresh(before, s)
			if now.Spec != before.Spec {
				t.Error("the Spec was read again")
			}
			want := ours.Of(s)
			want.Spec = before.Spec
			if d := cmp.Diff(want, now, cmpopts.EquateComparable(netip.Addr{})); d != "" {
				t.Errorf("(-read anew +refreshed):\n%s", d)
			}
		})
	}
}
