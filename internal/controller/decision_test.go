// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

const ourClass = "kube-octavia.io/octavia"

// served is a Service of type LoadBalancer that we have claimed.
func served(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Finalizers: []string{claim.Finalizer},
			Annotations: map[string]string{annotation.Managed: "uid-1 " + ourClass, annotation.LoadBalancerID: "lb-1"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func class(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To(name) }
}

func clusterIP(s *corev1.Service) {
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
}

func deleted(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }

func unmarked(s *corev1.Service) { delete(s.Annotations, annotation.Managed) }

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func TestServicesThatAreServedAndThoseThatAreReleased(t *testing.T) {
	tests := map[string]struct {
		service        *corev1.Service
		explicitOnly   bool
		serves, leaves bool
	}{
		"without a class": {service: served(), serves: true},
		"without a class, where only classes are served":                {service: served(), explicitOnly: true},
		"without a class and deleted, where only classes are served":    {service: served(deleted), explicitOnly: true, leaves: true},
		"of another type, where only classes are served":                {service: served(clusterIP), explicitOnly: true, leaves: true},
		"of another type, which another controller is about to release": {service: served(clusterIP, func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" })},
		"of our class":                                                {service: served(class(ourClass)), explicitOnly: true, serves: true},
		"that another controller serves":                              {service: served(class("other/x"), unmarked)},
		"that went over to another class":                             {service: served(class("other/x")), leaves: true},
		"being deleted":                                               {service: served(deleted), leaves: true},
		"of openstack-cloud-controller-manager, deleted":              {service: served(unmarked, deleted), leaves: true},
		"of another type by now":                                      {service: served(clusterIP), leaves: true},
		"of another type, left by openstack-cloud-controller-manager": {service: served(clusterIP, unmarked), leaves: true},
		"the same, beside openstack-cloud-controller-manager":         {service: served(clusterIP, unmarked), explicitOnly: true},
		"of another type that never was ours":                         {service: served(clusterIP, unmarked, without(annotation.LoadBalancerID))},
		"of another type with a mark copied from another Service": {
			service: served(clusterIP, without(annotation.LoadBalancerID), func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }),
		},
		"that a controller of this project with another class serves": {
			service: served(class("other/x"), func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" }),
		},
		"without our finalizer": {service: served(deleted, func(s *corev1.Service) { s.Finalizers = nil })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: !test.explicitOnly}}
			if got := p.Serves(test.service); got != test.serves {
				t.Errorf("Serves: %t", got)
			}
			if got := p.Leaves(test.service); got != test.leaves {
				t.Errorf("Leaves: %t", got)
			}
		})
	}
}

func TestWhatWeWriteDoesNotBringAServiceBack(t *testing.T) {
	same := map[string]func(*corev1.Service){
		"status":           func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{Type: "x"}} },
		"our annotations":  func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = "203.0.113.1" },
		"a label":          func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} },
		"resource version": func(s *corev1.Service) { s.ResourceVersion = "2" },
	}
	other := map[string]func(*corev1.Service){
		"a port":        func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} },
		"an annotation": func(s *corev1.Service) { s.Annotations[annotation.KeepFloatingIP] = "true" },
		"the finalizer": func(s *corev1.Service) { s.Finalizers = nil },
		"deletion":      deleted,
		"another uid":   func(s *corev1.Service) { s.UID = "uid-2" },
	}
	for name, edit := range same {
		if !sameService(served(), served(edit)) {
			t.Errorf("a change of %s brings the Service back", name)
		}
	}
	for name, edit := range other {
		if sameService(served(), served(edit)) {
			t.Errorf("a change of %s is passed over", name)
		}
	}
	if !sameService(served(func(s *corev1.Service) { s.Finalizers = nil }), served()) {
		t.Error("the finalizer that we set brings the Service back")
	}
	s := served()
	before := maps.Clone(s.Annotations)
	sameService(s, served())
	if !maps.Equal(before, s.Annotations) {
		t.Error("comparing changed the Service in the cache")
	}
}

func TestCreateOfAKilledControllerIsLookedForOnceMore(t *testing.T) {
	one := &lb.LoadBalancer{ID: "lb-1"}
	other := &lb.LoadBalancer{ID: "lb-2"}
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	tests := map[string]struct {
		service *corev1.Service
		found   *lb.LoadBalancer
		want    bool
	}{
		"a new Service":                           {served(fresh), nil, false},
		"claimed, and nothing noted or found":     {served(without(annotation.LoadBalancerID)), nil, true},
		"claimed, and found what was never noted": {served(without(annotation.LoadBalancerID)), one, true},
		"noted and found":                         {served(), one, false},
		"noted, and another one found":            {served(), other, true},
		"noted and gone":                          {served(), nil, false},
		"of openstack-cloud-controller-manager":   {served(unmarked, without(annotation.LoadBalancerID)), one, false},
		"claimed and deleted before it was noted": {served(deleted, without(annotation.LoadBalancerID)), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pass{service: test.service, claimed: (&Planner{Policy: claim.Policy{LoadBalancerClass: ourClass}}).Claimed(test.service)}
			if got := mayStillAppear(p, test.found); got != test.want {
				t.Errorf("may still appear: %t", got)
			}
		})
	}
}

// patching is a client that can only patch, and keeps what was patched.
type patching struct {
	client.Client
	fails   error
	patched []client.Object
}

func (c *patching) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.patched = append(c.patched, o)
	return c.fails
}

func TestBeforeALoadBalancerIsMadeTheNoteOfAnEarlierOneGoes(t *testing.T) {
	for name, test := range map[string]struct {
		service          *corev1.Service
		fails            error
		patches, creates int
	}{
		"one was noted":                 {service: served(), patches: 1, creates: 1},
		"none was noted":                {service: served(without(annotation.LoadBalancerID)), creates: 1},
		"the note cannot be taken away": {service: served(), fails: errors.New("no"), patches: 1},
	} {
		t.Run(name, func(t *testing.T) {
			kube, creates := &patching{fails: test.fails}, 0
			r := calling(t, func(w http.ResponseWriter, _ *http.Request) {
				if creates++; test.service.Annotations[annotation.LoadBalancerID] != "" {
					t.Error("the create comes before the note is gone")
				}
				w.WriteHeader(http.StatusBadRequest)
			})
			r.Client = kube
			p := &pass{service: test.service, owner: r.Owner(test.service)}
			if err := r.write(t.Context(), p, diff.CreateLoadBalancer{}); err == nil {
				t.Error("what was refused went well")
			}
			if len(kube.patched) != test.patches || creates != test.creates {
				t.Errorf("%d patches and %d creates", len(kube.patched), creates)
			}
			if test.fails == nil && !mayStillAppear(&pass{service: test.service, claimed: true}, nil) {
				t.Error("the next controller does not look for what may still appear")
			}
		})
	}
}

// nothing is a Kubernetes API without objects.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestALoadBalancerInThePlaceOfOneThatHasGoneIsMadeAsTheCloudNeedsIt(t *testing.T) {
	r := calling(t, func(w http.ResponseWriter, request *http.Request) {
		answer := `{"loadbalancers": []}`
		if strings.HasSuffix(request.URL.Path, "/status") {
			answer = `{"statuses": {"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE"}}}`
		}
		fmt.Fprint(w, answer)
	})
	r.Reader, r.Capabilities.APIVersion = nothing{}, lb.Version{Major: 2, Minor: 26}
	r.Config = config.LoadBalancer{Provider: "amphora", Method: "ROUND_ROBIN", SubnetID: "configured", FloatingNetworkID: "public"}
	r.leavesParts.Store(true)
	service := served(without(annotation.LoadBalancerID), func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	})
	p := &pass{service: service, owner: r.Owner(service), record: record{known: true, observed: withPart(lb.Active, lb.Active)}}
	if err := r.gather(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	create, ok := p.plan.Ops[0].(diff.CreateLoadBalancer)
	if !ok || len(create.LoadBalancer.Listeners) > 0 || create.LoadBalancer.VIP.SubnetID != "configured" {
		t.Errorf("planned: %v", p.plan.Ops)
	}
}

func TestAnAdoptedLoadBalancerIsOneThatTheServiceKnows(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	unmarkedOne := lb.LoadBalancer{ID: "lb-1", Name: owner.LoadBalancerName(), Description: owner.Description(), Tags: []string{owner.LoadBalancerName()},
		VIP: lb.VIP{Address: "10.0.0.9", PortID: "port-1"}}
	leadsThere := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1", PortID: "port-1"}, {ID: "f-2", Address: "203.0.113.2", PortID: "port-2"}}
	ours := unmarkedOne
	ours.Tags = owner.Tags()
	publishes := func(i corev1.LoadBalancerIngress) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{i} }
	}
	external, internal := publishes(corev1.LoadBalancerIngress{IP: "203.0.113.1"}), publishes(corev1.LoadBalancerIngress{IP: "10.0.0.9"})
	fresh := func(s *corev1.Service) { s.Annotations = nil }
	new := lb.Version{Major: 2, Minor: 26}
	tests := map[string]struct {
		service *corev1.Service
		l       lb.LoadBalancer
		version lb.Version
		want    bool
	}{
		"ours by uid": {served(fresh), ours, new, true},
		"noted on the Service, at its floating IP":  {served(external), unmarkedOne, new, true},
		"noted on the Service, at its VIP":          {served(internal), unmarkedOne, new, true},
		"noted on the Service, under a host name":   {served(publishes(corev1.LoadBalancerIngress{Hostname: "203.0.113.1.nip.io"})), unmarkedOne, new, true},
		"noted on a copy, which has no status":      {served(), unmarkedOne, new, false},
		"noted on a Service that is elsewhere":      {served(publishes(corev1.LoadBalancerIngress{IP: "203.0.113.2"})), unmarkedOne, new, false},
		"of a Service with its address":             {served(fresh, external), unmarkedOne, new, true},
		"of a Service with another's address":       {served(fresh, publishes(corev1.LoadBalancerIngress{IP: "192.0.2.9"})), unmarkedOne, new, false},
		"of a Service with a host name and no note": {served(fresh, publishes(corev1.LoadBalancerIngress{Hostname: "web.example.com"})), unmarkedOne, new, false},
		"of a new Service":                          {served(fresh), unmarkedOne, new, false},
		"of a new Service, without tags":            {served(fresh), unmarkedOne, lb.Version{Major: 2, Minor: 4}, true},
		"of another name, without a mark":           {served(external), lb.LoadBalancer{ID: "lb-1", Name: "x"}, new, false},
		"of another cluster, by its uid":            {served(external), func() lb.LoadBalancer { l := unmarkedOne; l.Tags = []string{lb.ClusterTag("c-2")}; return l }(), new, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Capabilities: lb.Capabilities{APIVersion: test.version}}
			if got := p.claims(test.service, owner, test.l, leadsThere); got != test.want {
				t.Errorf("claims: %t", got)
			}
		})
	}
}

func TestARefusedOpDoesNotHoldUpMembership(t *testing.T) {
	observed := lb.Observed{LoadBalancer: &lb.LoadBalancer{DetachedPools: []lb.Pool{{ID: "detached"}}}}
	pool := "p-2"
	tests := map[string]struct {
		op   diff.Op
		want bool
	}{
		"members of a pool that is there":         {diff.SetMembers{PoolID: "p-1"}, true},
		"members of a pool that was not made":     {diff.SetMembers{}, false},
		"source ranges":                           {diff.UpdateListener{ID: "l-1", AllowedCIDRs: &[]string{}}, true},
		"another pool behind a port":              {diff.UpdateListener{ID: "l-1", PoolID: &pool}, false},
		"a port that nobody wants":                {diff.DeleteListener{ID: "l-1"}, true},
		"a pool that nothing uses":                {diff.DeletePool{ID: "detached"}, true},
		"a pool that may be in use":               {diff.DeletePool{ID: "p-1"}, false},
		"a port whose pool could not be made":     {diff.CreateListener{}, false},
		"the end of the load balancer altogether": {diff.DeleteLoadBalancer{ID: "lb-1"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := standsAlone(test.op, observed); got != test.want {
				t.Errorf("stands alone: %t", got)
			}
		})
	}
	if holdsUp(diff.DeletePool{ID: "detached", LeftBehind: true}) || !holdsUp(diff.CreatePool{}) {
		t.Error("a pool that cannot be deleted holds up what is to open, or one that cannot be made does not")
	}
	for _, class := range []openstack.Class{openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone} {
		if !refusal(&openstack.Error{Class: class}) {
			t.Errorf("%s is not taken for a refusal", class)
		}
	}
	for _, err := range []error{nil, errors.New("x"), &openstack.Error{Class: openstack.Busy}, &openstack.Error{Class: openstack.Transient}} {
		if refusal(err) {
			t.Errorf("%v is taken for a refusal", err)
		}
	}
}

func TestALoadBalancerThatIsRefusedForAPartIsCreatedAloneFromThenOn(t *testing.T) {
	complete := diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Listeners: []lb.Listener{{Port: 80}}}}
	bare := diff.CreateLoadBalancer{}
	refusal := func(class openstack.Class, message string) error {
		return &openstack.Error{Op: "create load balancer", Class: class, Message: message}
	}
	unreadable := refusal(openstack.Invalid, "The PKCS12 bundle is unreadable")
	for name, c := range map[string]struct {
		alone, want bool
		op          diff.Op
		failure     error
	}{
		"a certificate":                       {op: complete, failure: unreadable, want: true},
		"a conflict":                          {op: complete, failure: refusal(openstack.Conflict, "in use"), want: true},
		"the quota of a part":                 {op: complete, failure: refusal(openstack.Quota, "Quota has been met for resources: Listener"), want: true},
		"the quota of load balancers":         {op: complete, failure: refusal(openstack.Quota, "Quota has been met for resources: Load Balancer")},
		"that of load balancers, and a part":  {alone: true, op: bare, failure: refusal(openstack.Quota, "Quota has been met for resources: Load Balancer"), want: true},
		"no answer":                           {op: complete, failure: refusal(openstack.Transient, "connection reset")},
		"no answer, and a part before":        {alone: true, op: bare, failure: refusal(openstack.Transient, "connection reset"), want: true},
		"not for a part: it is refused alone": {alone: true, op: bare, failure: refusal(openstack.Invalid, "no such flavor")},
		"another op":                          {op: diff.CreateListener{}, failure: unreadable},
		"another op, and a part before":       {alone: true, op: diff.CreateListener{}, failure: unreadable, want: true},
	} {
		if alone := aloneAfter(c.alone, c.op, c.failure); alone != c.want {
			t.Errorf("%s: alone %t, want %t", name, alone, c.want)
		}
	}
}
