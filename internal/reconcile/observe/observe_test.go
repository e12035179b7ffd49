// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestAFloatingIPOfKuryrThatIsReadAgainAfterItWasDetachedIsStillThatOfItsClusterIP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"floatingips": [{"id": "f-1", "floating_ip_address": "203.0.113.5", "description": "kuryr_lb"}]}`)
	}))
	defer server.Close()
	ob := &Observer{Neutron: neutron.New(&gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "network"}, "p-1")}
	before := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.5", Description: lb.KuryrFloatingIP, KuryrVIP: "10.96.0.7"}}
	now, err := ob.ReadAgain(t.Context(), before, "203.0.113.5")
	if d := cmp.Diff(before, now); d != "" || err != nil {
		t.Errorf("%v, (-before +now):\n%s", err, d)
	}
}

func TestCreateOfAKilledControllerMayBePending(t *testing.T) {
	one := &lb.LoadBalancer{ID: "lb-1"}
	other := &lb.LoadBalancer{ID: "lb-2"}
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	tests := map[string]struct {
		service *corev1.Service
		found   *lb.LoadBalancer
		want    bool
	}{
		"new Service":                           {served(fresh), nil, false},
		"claimed, no id, nothing found":         {served(without(annotation.LoadBalancerID)), nil, true},
		"claimed, no id, load balancer found":   {served(without(annotation.LoadBalancerID)), one, true},
		"id found":                              {served(), one, false},
		"another one found":                     {served(), other, true},
		"id not found":                          {served(), nil, false},
		"of openstack-cloud-controller-manager": {served(unclaimed, without(annotation.LoadBalancerID)), one, false},
		"claimed, no id, deleted":               {served(deleted, without(annotation.LoadBalancerID)), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := new(Observer).createMayBePending(decide.Facts{Owner: of(test.service)}, lb.Observed{LoadBalancer: test.found}); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// converged is a state of the cloud that needs no operation.
func converged() lb.Observed {
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "11:59", VIP: lb.VIP{PortID: "port-1"}}}
}

func TestOnlyChangesThatOctaviaCannotMakeAreForeign(t *testing.T) {
	failed := diff.Clone(converged())
	failed.LoadBalancer.ProvisioningStatus = lb.Error
	pending := diff.Clone(converged())
	pending.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	for name, test := range map[string]struct {
		before, found lb.Observed
		believed      bool
	}{
		"changed":            {converged(), pending, true},
		"deleted":            {converged(), lb.Observed{}, true},
		"failed":             {converged(), failed, false},
		"had failed before":  {failed, converged(), false},
		"did not exist":      {lb.Observed{}, converged(), false},
		"was PENDING before": {pending, converged(), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.Cloud{Observed: test.before, Written: noon}
			if got := expected(c, test.found) != nil; got != test.believed {
				t.Errorf("believed: %v, want %v", got, test.believed)
			}
		})
	}
	c := memory.Cloud{Observed: converged(), Written: noon}
	c.Expected = expected(c, pending)
	c.Observed = pending
	if b := expected(c, lb.Observed{}); b == nil || b.LoadBalancer.ProvisioningStatus != lb.Active {
		t.Errorf("the state before the change is forgotten: %+v", b)
	}
}

func TestBeforeAnOperationOnlyWhatItDependsOnIsReadAgain(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	tags := diff.SetTags{Of: "pool", ID: "pool-1"}
	otherPool := diff.SetTags{Of: "pool", ID: "pool-9"}
	for name, c := range map[string]struct {
		need  decide.Reread
		gone  bool
		paths []string
		fails openstack.Class
		check func(decide.Reread) bool
	}{
		"the load balancer": {
			need: decide.Reread{LoadBalancerID: id}, paths: []string{"loadbalancers/" + id},
			check: func(r decide.Reread) bool { return !r.Gone && r.LoadBalancer.VIPSecurityGroups[0] == "g1" },
		},
		"its children too": {
			need: decide.Reread{LoadBalancerID: id, Tree: true}, paths: []string{"loadbalancers/" + id, "listeners", "pools"},
			check: func(r decide.Reread) bool {
				return len(r.LoadBalancer.Listeners) == 1 && r.LoadBalancer.Listeners[0].ID == "listener-1"
			},
		},
		"the tags of one child": {
			need: decide.Reread{LoadBalancerID: id, TagsOf: &tags}, paths: []string{"pools"},
			check: func(r decide.Reread) bool { return len(r.Tags) == 1 && r.Tags[0] == "a" },
		},
		"the tags of a child that is gone": {
			need: decide.Reread{LoadBalancerID: id, TagsOf: &otherPool}, paths: []string{"pools"}, fails: openstack.Gone,
		},
		"one that is gone":              {need: decide.Reread{LoadBalancerID: id}, gone: true, paths: []string{"loadbalancers/" + id}, fails: openstack.Gone},
		"one that is gone, and may be":  {need: decide.Reread{LoadBalancerID: id, Tree: true, MayBeGone: true}, gone: true, paths: []string{"loadbalancers/" + id}, check: func(r decide.Reread) bool { return r.Gone }},
		"one that may be gone, and not": {need: decide.Reread{LoadBalancerID: id, MayBeGone: true}, paths: []string{"loadbalancers/" + id}, check: func(r decide.Reread) bool { return !r.Gone }},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			ob := reading(t, func(w http.ResponseWriter, r *http.Request) {
				_, path, _ := strings.Cut(r.URL.Path, "/lbaas/")
				paths = append(paths, path)
				switch {
				case c.gone:
					w.WriteHeader(http.StatusNotFound)
				case path == "listeners":
					fmt.Fprint(w, `{"listeners": [{"id": "listener-1", "protocol": "TCP", "protocol_port": 80}]}`)
				case path == "pools" && c.need.TagsOf != nil:
					fmt.Fprint(w, `{"pools": [{"id": "pool-2", "tags": ["b"]}, {"id": "pool-1", "tags": ["a"]}]}`)
				case path == "pools":
					fmt.Fprint(w, `{"pools": []}`)
				default:
					fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "provisioning_status": "ACTIVE", "vip_sg_ids": ["g1"]}}`, id)
				}
			})
			have, err := ob.Reread(t.Context(), []decide.Reread{c.need})
			if got := openstack.Classify(err); got != c.fails {
				t.Fatalf("the error is %v of class %q, want %q", err, got, c.fails)
			}
			if d := cmp.Diff(c.paths, paths); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			if c.fails == "" && (len(have) != 1 || !c.check(have[0])) {
				t.Errorf("read %+v", have)
			}
		})
	}
}
