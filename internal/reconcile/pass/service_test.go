// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// ourClass is the class of the controllers under test.
const ourClass = "kube-octavia.io/octavia"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

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

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func deleted(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }

// withOctavia returns a Reconciler with an Octavia that handle answers for.
func withOctavia(t *testing.T, handle http.HandlerFunc) *Reconciler {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}
	return New(Options{Planner: planner.New(planner.Options{Octavia: octavia.New(client, "", lb.Capabilities{}), Policy: services.Policy, Kinds: []claim.Kind{services}}), Metrics: counted, Timing: timing.Default(), Now: func() time.Time { return noon }})
}

func TestOwnWritesRequestNoPass(t *testing.T) {
	same := func(a, b *corev1.Service) bool {
		return services.SameRequest(a, b) && sameOwner(services.Of(a), services.Of(b))
	}
	unchanged := map[string]func(*corev1.Service){
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
	for name, edit := range unchanged {
		if !same(served(), served(edit)) {
			t.Errorf("a change of %s requests a pass", name)
		}
	}
	for name, edit := range other {
		if same(served(), served(edit)) {
			t.Errorf("a change of %s requests no pass", name)
		}
	}
	if !same(served(func(s *corev1.Service) { s.Finalizers = nil }), served()) {
		t.Error("our own finalizer requests a pass")
	}
	s := served()
	before := maps.Clone(s.Annotations)
	same(s, served())
	if !maps.Equal(before, s.Annotations) {
		t.Error("comparing changed the Service in the cache")
	}
}

// fakeClient is a client that can only patch, and keeps what was patched.
type fakeClient struct {
	client.Client
	fails   error
	patched []client.Object
}

func (c *fakeClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.patched = append(c.patched, o)
	return c.fails
}

func TestTheIdOfADeletedLoadBalancerIsRemovedBeforeACreate(t *testing.T) {
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
			kube, creates := &fakeClient{fails: test.fails}, 0
			r := withOctavia(t, func(w http.ResponseWriter, _ *http.Request) {
				if creates++; test.service.Annotations[annotation.LoadBalancerID] != "" {
					t.Error("the create comes before the note is gone")
				}
				w.WriteHeader(http.StatusBadRequest)
			})
			r.Client = kube
			f := r.Planner.Facts(services.Of(test.service), memory.Record{}, noon, timing.Default())
			if _, err := r.write(t.Context(), newSubject(services, test.service), f, decide.Decision{}, diff.CreateLoadBalancer{}); err == nil {
				t.Error("a rejected write succeeded")
			}
			if len(kube.patched) != test.patches || creates != test.creates {
				t.Errorf("%d patches and %d creates", len(kube.patched), creates)
			}
			if _, noted := test.service.Annotations[annotation.LoadBalancerID]; test.fails == nil && noted {
				t.Error("the next controller does not look for the load balancer that may still appear")
			}
		})
	}
}

func TestAControllerThatIsStoppedDuringACreateHasNotFailed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r := withOctavia(t, func(w http.ResponseWriter, _ *http.Request) {
		stop()
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"loadbalancer": {"id": "lb-2", "provisioning_status": "PENDING_CREATE", "vip_port_id": "port-2"}}`))
	})
	web := served(without(annotation.LoadBalancerID))
	f := r.Planner.Facts(services.Of(web), memory.Record{}, noon, timing.Default())
	d := decide.Decision{Plan: diff.Plan{Ops: []diff.Op{diff.CreateLoadBalancer{}, diff.CreateFloatingIP{}}}}
	// The Reconciler has no Neutron to create the floating IP with.
	d, wrote, err := r.carryOut(ctx, newSubject(services, web), f, d)
	if err != nil {
		t.Errorf("what was done is not published, because of %v", err)
	}
	if l := d.Record.Cloud.Observed.LoadBalancer; wrote.octavia == nil || l == nil || l.ID != "lb-2" {
		t.Errorf("the create is lost: %+v, %+v", wrote, l)
	}
}

// accepting is a Kubernetes API that accepts all writes.
type accepting struct{ client.Client }

func (accepting) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

func TestTheIDOfASharedLoadBalancerIsWrittenOnlyToAServiceThatHasJoinedIt(t *testing.T) {
	for name, c := range map[string]struct {
		observed lb.Observed
		want     string
	}{
		"own":            {lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-2"}}, "lb-2"},
		"shared":         {lb.Observed{Sharer: true, LoadBalancer: &lb.LoadBalancer{ID: "lb-2", Tags: []string{"kube_service_kubernetes_default_web"}}}, "lb-2"},
		"of others only": {lb.Observed{Sharer: true, LoadBalancer: &lb.LoadBalancer{ID: "lb-2", Tags: []string{"kube_service_kubernetes_default_api"}}}, ""},
	} {
		r := withOctavia(t, nil)
		r.Client = accepting{}
		service := served(without(annotation.LoadBalancerID))
		if err := r.annotate(t.Context(), newSubject(services, service), status.Pass{Observed: c.observed}); err != nil {
			t.Fatal(err)
		}
		if got := service.Annotations[annotation.LoadBalancerID]; got != c.want {
			t.Errorf("%s: the id on the Service is %q, want %q", name, got, c.want)
		}
	}
}

func TestSourceRangesAreNotRemovedWhenAnotherClientHasRemovedTheGroups(t *testing.T) {
	known := lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, VIPSecurityGroups: []string{"g1"}}
	for name, c := range map[string]struct {
		now      string
		conflict bool
	}{
		"the groups are there":        {`["g1"]`, false},
		"another client removed them": {`[]`, true},
		"another client changed them": {`["g1", "g2"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			wrote := false
			r := withOctavia(t, func(w http.ResponseWriter, request *http.Request) {
				if request.Method != http.MethodGet {
					wrote = true
					w.WriteHeader(http.StatusBadRequest) // what follows a write is not tested here
					return
				}
				_, _ = w.Write([]byte(`{"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE", "vip_sg_ids": ` + c.now + `}}`))
			})
			web := served()
			f := r.Planner.Facts(services.Of(web), memory.Record{}, noon, timing.Default())
			f.FromMemory = true
			var d decide.Decision // with the load balancer as it is after the operations before this one
			d.Record.Cloud = memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &known}}
			op := diff.UpdateListener{ID: "l-1", AllowedCIDRs: &[]string{}}

			err := r.mayWrite(t.Context(), f, d, op)
			if conflict := openstack.Classify(err) == openstack.Conflict; conflict != c.conflict || err != nil && !conflict {
				t.Errorf("the error is %v", err)
			}
			after, err := r.write(t.Context(), newSubject(services, web), f, d, op)
			if wrote == c.conflict || err == nil {
				t.Errorf("it wrote: %t, error %v", wrote, err)
			}
			if c.conflict && after.Record.Cloud.Known {
				t.Error("the next pass does not read the cloud")
			}
		})
	}
}
