// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestLoadBalancerWithTheIDOnTheServiceIsUsedOnlyIfAllowed(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	own := `["kube_service_kubernetes_default_web", "kube-octavia.cluster=c-1", "kube-octavia.service=uid-1"]`
	open := `["kube-octavia.share=default"]`
	original := `["kube_service_kubernetes_default_other", "kube-octavia.cluster=c-1", "kube-octavia.service=uid-2"]`
	originalShared := `["kube_service_kubernetes_default_other", "kube-octavia.cluster=c-1", "kube-octavia.service=uid-2", "kube-octavia.share=default"]`
	elsewhere := `["kube_service_kubernetes_default_web", "kube-octavia.cluster=c-2", "kube-octavia.service=uid-9"]`
	left := `["kube_service_kubernetes_default_other", "kube-octavia.cluster=c-1", "kube-octavia.share=default"]`
	copiedFrom := func(uid string) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Annotations[annotation.Managed], s.Annotations[annotation.LoadBalancerAddress] = uid+" "+ourClass, "192.0.2.1"
		}
	}
	copiedFromOCCM := func(s *corev1.Service) {
		unclaimed(s)
		s.Annotations[annotation.LoadBalancerAddress] = "192.0.2.1"
	}
	grouped := func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerGroup] = "g" }
	both := func(one, other func(*corev1.Service)) func(*corev1.Service) {
		return func(s *corev1.Service) { one(s); other(s) }
	}
	for name, c := range map[string]struct {
		id            string
		code          int
		project, tags string
		hasOwn        bool
		edit          func(*corev1.Service)
		own, shared   bool
		copied        bool
		message       string
	}{
		"own":                          {id: id, tags: own, own: true},
		"own, deleted Service":         {id: id, tags: own, edit: deleted, own: true},
		"may be shared":                {id: id, tags: open, shared: true},
		"may be shared, but has own":   {id: id, tags: open, hasOwn: true},
		"another project":              {id: id, project: "p-2", tags: open, message: "another project"},
		"another project, deleted":     {id: id, project: "p-2", tags: open, edit: deleted, message: "another project"},
		"another project, but has own": {id: id, project: "p-2", tags: open, hasOwn: true},
		"forbidden":                    {id: id, code: http.StatusForbidden, message: "another project"},
		"forbidden, deleted":           {id: id, code: http.StatusForbidden, edit: deleted},
		"not an id":                    {id: "not/an id", message: "not an id"},
		"not an id, deleted":           {id: "not/an id", edit: deleted},
		"not found":                    {id: id, code: http.StatusNotFound},

		"copied from its owner":                               {id: id, tags: original, edit: copiedFrom("uid-2"), copied: true},
		"copied from its owner, which allows sharing":         {id: id, tags: originalShared, edit: copiedFrom("uid-2"), copied: true},
		"copied from another cluster":                         {id: id, tags: elsewhere, edit: copiedFrom("uid-9"), copied: true},
		"copied from another project":                         {id: id, code: http.StatusForbidden, edit: copiedFrom("uid-2"), copied: true},
		"copied, and gone":                                    {id: id, code: http.StatusNotFound, edit: copiedFrom("uid-2"), copied: true},
		"copied from a Service that shares it":                {id: id, tags: originalShared, edit: copiedFrom("uid-3"), shared: true},
		"copied from a Service that shares it, with a group":  {id: id, tags: originalShared, edit: both(copiedFrom("uid-3"), grouped), copied: true},
		"copied, of a person":                                 {id: id, tags: open, edit: copiedFrom("uid-2"), shared: true},
		"copied, left to those that share it":                 {id: id, tags: left, edit: copiedFrom("uid-2"), copied: true},
		"copied from openstack-cloud-controller-manager":      {id: id, tags: `["kube_service_kubernetes_default_other"]`, edit: copiedFromOCCM, copied: true},
		"copied from it, while its Service is taken over":     {id: id, tags: original, edit: copiedFromOCCM, copied: true},
		"copied from it, deleted":                             {id: id, tags: original, edit: both(copiedFromOCCM, deleted)},
		"copied, but own, as another client changed the mark": {id: id, tags: own, edit: copiedFrom("uid-2"), own: true},
		"copied, deleted":                                     {id: id, tags: original, edit: both(copiedFrom("uid-2"), deleted), copied: true},
	} {
		t.Run(name, func(t *testing.T) {
			ob := reading(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.code != 0 {
					w.WriteHeader(c.code)
					return
				}
				project := c.project
				if project == "" {
					project = "p-1"
				}
				fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "name": "x", "provisioning_status": "ACTIVE", "project_id": %q, "tags": %s}, "listeners": [], "pools": [], "healthmonitors": []}`, id, project, c.tags)
			})
			service := served(func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = c.id })
			if c.edit != nil {
				c.edit(service)
			}
			found, shared, requested, err := ob.searchFor(decide.Facts{Owner: of(service)}).annotated(t.Context(), c.id, c.hasOwn)
			if requested == c.copied {
				t.Errorf("requested: %v", requested)
			}
			if len(found) > 0 != c.own || (shared != nil) != c.shared || (err != nil) != (c.message != "") {
				t.Fatalf("own %v, shared %v, error %v", found, shared, err)
			}
			if err != nil && (openstack.Classify(err) != openstack.Foreign || !strings.Contains(err.Error(), c.message)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAServiceKeepsTheLoadBalancerWhoseIDWasRemovedOnlyIfItHasJoinedThat(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	for name, c := range map[string]struct {
		before lb.LoadBalancer
		shared bool
	}{
		"refused there":       {before: lb.LoadBalancer{ID: id, Listeners: []lb.Listener{{Tags: []string{"kube-octavia.service=uid-2"}}}}},
		"with its name there": {before: lb.LoadBalancer{ID: id, Tags: []string{"kube_service_kubernetes_default_web"}}, shared: true},
		"with a port there":   {before: lb.LoadBalancer{ID: id, Listeners: []lb.Listener{{Tags: []string{"kube-octavia.service=uid-1"}}}}, shared: true},
	} {
		ob := reading(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "name": "x", "provisioning_status": "ACTIVE", "project_id": "p-1", "tags": ["kube-octavia.share=default"]}}`, id)
		})
		service := served(without(annotation.LoadBalancerID))
		f := decide.Facts{Owner: of(service)}
		f.Record.Cloud.Observed = lb.Observed{LoadBalancer: &c.before, Sharer: true}
		if shared, err := ob.searchFor(f).findShared(t.Context(), ""); (shared != nil) != c.shared || err != nil {
			t.Errorf("%s: it shares %v, %v", name, shared, err)
		}
	}
}

// TestAServiceKeepsSharingALoadBalancerWhoseTagsAnotherClientRemoved is from a walk: the Service was refused for ever, because the
// owner was refused too and did not repair the tags.
func TestAServiceKeepsSharingALoadBalancerWhoseTagsAnotherClientRemoved(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	for name, c := range map[string]struct {
		port   string
		shared bool
	}{
		"with a port there":                    {`{"id": "l", "tags": ["kube-octavia.service=uid-1"]}`, true},
		"with a port there of its name only":   {`{"id": "l", "tags": ["kube_service_kubernetes_default_web"]}`, false},
		"with a port there of another Service": {`{"id": "l", "tags": ["kube-octavia.service=uid-2"]}`, false},
		"without a port on this load balancer": {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			ob := reading(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/listeners") {
					fmt.Fprintf(w, `{"listeners": [%s]}`, c.port)
					return
				}
				fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "name": "x", "provisioning_status": "ACTIVE", "project_id": "p-1", "tags": []}, "pools": [], "healthmonitors": []}`, id)
			})
			service := served(func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id })
			shared, err := ob.searchFor(decide.Facts{Owner: of(service)}).shareByID(t.Context(), id)
			if (shared != nil) != c.shared || (openstack.Classify(err) == openstack.Foreign) == c.shared {
				t.Errorf("it shares %v, %v", shared, err)
			}
		})
	}
}

func TestALoadBalancerThatOctaviaListsIsNotTakenForDeleted(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	for name, listed := range map[string]bool{"listed": true, "not listed": false} {
		ob := reading(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, id):
				w.WriteHeader(http.StatusNotFound)
			case listed:
				fmt.Fprintf(w, `{"loadbalancers": [{"id": %q, "name": "kube_service_kubernetes_default_web", "provisioning_status": "ACTIVE", "project_id": "p-1", "tags": ["kube-octavia.service=uid-2"]}]}`, id)
			default:
				fmt.Fprint(w, `{"loadbalancers": []}`)
			}
		})
		service := served(func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id })
		o, err := ob.searchFor(decide.Facts{Owner: of(service)}).find(t.Context())
		if (err != nil) != listed || o.LoadBalancer != nil {
			t.Errorf("%s: %+v, %v", name, o.LoadBalancer, err)
		}
	}
}

func TestAServiceThatLostItsAnnotationsKeepsALoadBalancerThatWasRenamed(t *testing.T) {
	const id = "11111111-1111-1111-1111-111111111111"
	for name, c := range map[string]struct {
		tags     string
		edit     func(*corev1.Service)
		keeps    bool
		searches bool
	}{
		"with an address":               {tags: `["kube-octavia.cluster=c-1", "kube-octavia.service=uid-1"]`, keeps: true, searches: true},
		"of another Service":            {tags: `["kube-octavia.cluster=c-1", "kube-octavia.service=uid-2"]`, searches: true},
		"of another cluster":            {tags: `["kube-octavia.cluster=c-2", "kube-octavia.service=uid-1"]`, searches: true},
		"without an address: a new one": {tags: `[]`, edit: func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			searched := false
			ob := reading(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("tags") == "" {
					fmt.Fprint(w, `{"loadbalancers": []}`) // it has another name
					return
				}
				searched = true
				fmt.Fprintf(w, `{"loadbalancers": [{"id": %q, "name": "by hand", "provisioning_status": "ACTIVE", "project_id": "p-1", "tags": %s}]}`, id, c.tags)
			})
			service := served(unclaimed, without(annotation.LoadBalancerID), func(s *corev1.Service) {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
			})
			if c.edit != nil {
				c.edit(service)
			}
			s := ob.searchFor(decide.Facts{Owner: of(service)})
			s.byTag = func(ctx context.Context, tag string) ([]lb.LoadBalancer, error) {
				if tag != "kube-octavia.service=uid-1" {
					return nil, nil // those that it may share
				}
				return ob.Octavia.FindByTag(ctx, tag)
			}
			o, err := s.find(t.Context())
			if err != nil || (o.LoadBalancer != nil) != c.keeps || searched != c.searches {
				t.Errorf("it has %+v, %v; it was searched for by tag: %v", o.LoadBalancer, err, searched)
			}
		})
	}
}

func TestLoadBalancerWithoutUIDIsOwnedOnlyIfTheServicePublishesIt(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	untagged := lb.LoadBalancer{ID: "lb-1", Name: owner.LoadBalancerName(), Description: owner.Description(), Tags: []string{owner.LoadBalancerName()},
		VIP: lb.VIP{Address: "10.0.0.9", PortID: "port-1"}}
	floating := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1", PortID: "port-1"}, {ID: "f-2", Address: "203.0.113.2", PortID: "port-2"}}
	ours := untagged
	ours.Tags = owner.Tags()
	publishes := func(i corev1.LoadBalancerIngress) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{i} }
	}
	external, internal := publishes(corev1.LoadBalancerIngress{IP: "203.0.113.1"}), publishes(corev1.LoadBalancerIngress{IP: "10.0.0.9"})
	fresh := func(s *corev1.Service) { s.Annotations = nil }
	current := lb.Version{Major: 2, Minor: 26}
	tests := map[string]struct {
		service *corev1.Service
		l       lb.LoadBalancer
		version lb.Version
		want    bool
	}{
		"uid":                           {served(fresh), ours, current, true},
		"id, and floating IP published": {served(external), untagged, current, true},
		"id, and VIP published":         {served(internal), untagged, current, true},
		"id, and host name published":   {served(publishes(corev1.LoadBalancerIngress{Hostname: "203.0.113.1.nip.io"})), untagged, current, true},
		"id on a copy of the Service, which has no status": {served(), untagged, current, false},
		"id, and another address published":                {served(publishes(corev1.LoadBalancerIngress{IP: "203.0.113.2"})), untagged, current, false},
		"floating IP published":                            {served(fresh, external), untagged, current, true},
		"another address published":                        {served(fresh, publishes(corev1.LoadBalancerIngress{IP: "192.0.2.9"})), untagged, current, false},
		"host name published":                              {served(fresh, publishes(corev1.LoadBalancerIngress{Hostname: "web.example.com"})), untagged, current, false},
		"nothing published":                                {served(fresh), untagged, current, false},
		"nothing published, Octavia without tags":          {served(fresh), untagged, lb.Version{Major: 2, Minor: 4}, true},
		"another name, without tags":                       {served(external), lb.LoadBalancer{ID: "lb-1", Name: "x"}, current, false},
		"uid of another cluster":                           {served(external), func() lb.LoadBalancer { l := untagged; l.Tags = []string{lb.ClusterTag("c-2")}; return l }(), current, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ob := reading(t, nil)
			ob.Capabilities = lb.Capabilities{APIVersion: test.version}
			if got := ob.Owns(of(test.service), test.l, floating); got != test.want {
				t.Errorf("owns: %t", got)
			}
		})
	}
}
