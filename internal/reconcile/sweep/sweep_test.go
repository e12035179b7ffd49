// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// The names of Services, after what a sweep finds for them.
const (
	changed, unknown, moved, unused, due = "changed-load-balancer", "unknown-load-balancer", "moved-floating-ip", "unused-certificate", "due-for-reading"
)

func ownerOf(service string) lb.Owner { return lb.Owner{ClusterUID: "cluster", ServiceUID: service} }

// driftedStore has a Service for each thing that a sweep finds.
func driftedStore() *memory.Store {
	store := memory.NewStore()
	put := func(service string, c memory.Cloud) {
		c.Known, c.Confirmed, c.Written = true, true, time.Now().Add(-time.Hour)
		store.Put(owner.ServiceKey("", service), memory.Record{ServiceUID: types.UID(service), OwnerUID: service, Cloud: c})
	}
	put(changed, memory.Cloud{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: changed, ProvisioningStatus: lb.Active, UpdatedAt: "before"}}})
	put(unknown, memory.Cloud{})
	put(moved, memory.Cloud{Observed: lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: moved, PortID: "before"}}}})
	put(unused, memory.Cloud{})
	put(due, memory.Cloud{Stale: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: due, ProvisioningStatus: lb.Active}}})
	return store
}

// TestSweepReadsLoadBalancersWithoutOurTag has two that failed and were repaired. One of them cannot be read.
func TestSweepReadsLoadBalancersWithoutOurTag(t *testing.T) {
	store := memory.NewStore()
	for _, name := range []string{"repaired", "unreadable", "as-it-was"} {
		store.Put(owner.ServiceKey("", name), memory.Record{ServiceUID: types.UID(name), Cloud: memory.Cloud{
			Known: true, Written: time.Now().Add(-time.Hour), Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: name, ProvisioningStatus: lb.Error}}}})
	}
	var asked, got []string
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &Sweeper{
		Options: Options{
			Finder: &orphan.Finder{Policy: claim.Policy{ClusterUID: "cluster"}}, Memory: store, Metrics: counted, Logger: logr.Discard(),
			Capabilities: lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 27}},
			Enqueue:      func(key owner.Key) { got = append(got, key.Name) },
		},
		heads: func(context.Context) ([]octavia.Head, error) { return nil, nil },
		headsOf: func(_ context.Context, ids []string) ([]octavia.Head, error) {
			asked = append(asked, ids...)
			return []octavia.Head{{ID: "as-it-was", ProvisioningStatus: lb.Error}, {ID: "repaired", ProvisioningStatus: lb.Active}}, errors.New("403")
		},
		floatingIPs:  func(context.Context) ([]lb.FloatingIP, error) { return nil, nil },
		certificates: func(context.Context) ([]lb.Certificate, error) { return nil, nil },
		nodes:        func(context.Context) error { return nil },
		orphans:      func(context.Context, orphan.Inventory) error { return nil },
	}
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(asked)
	if d := cmp.Diff([]string{"as-it-was", "repaired", "unreadable"}, asked); d != "" {
		t.Errorf("read (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"repaired"}, got); d != "" {
		t.Errorf("enqueued (-want +got):\n%s", d)
	}
}

func TestSweepUsesOnlyTheListsThatDidNotFail(t *testing.T) {
	down := errors.New("503")
	const orphans = "orphans"
	for name, test := range map[string]struct {
		heads, floatingIPs, certificates, nodes error
		want                                    []string
	}{
		"everything answers": {want: []string{changed, unknown, moved, unused, due, orphans}},
		"Octavia is down":    {heads: down, want: []string{moved, unused}},
		"Neutron is down":    {floatingIPs: down, want: []string{changed, unknown, unused}},
		"Barbican is down":   {certificates: down, want: []string{changed, unknown, moved, due}},
		"Kubernetes is down": {nodes: down, want: []string{changed, unknown, moved, unused}},
	} {
		t.Run(name, func(t *testing.T) {
			counted, err := metrics.New(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			s := &Sweeper{
				Options: Options{
					Finder: &orphan.Finder{Policy: claim.Policy{ClusterUID: "cluster"}}, Memory: driftedStore(), Metrics: counted, Logger: logr.Discard(),
					Enqueue: func(key owner.Key) { got = append(got, key.Name) },
				},
				heads: func(context.Context) ([]octavia.Head, error) {
					return []octavia.Head{
						{ID: changed, ProvisioningStatus: lb.Active, UpdatedAt: "now"}, {ID: due, ProvisioningStatus: lb.Active},
						{ID: unknown, ProvisioningStatus: lb.Active, Tags: ownerOf(unknown).Tags()},
					}, test.heads
				},
				floatingIPs: func(context.Context) ([]lb.FloatingIP, error) {
					return []lb.FloatingIP{{ID: moved, PortID: "now"}}, test.floatingIPs
				},
				certificates: func(context.Context) ([]lb.Certificate, error) {
					return []lb.Certificate{{Name: ownerOf(unused).CertificateName(strings.Repeat("0", 64)), Ref: "secrets/1"}}, test.certificates
				},
				nodes: func(context.Context) error { return test.nodes },
				orphans: func(context.Context, orphan.Inventory) error {
					got = append(got, orphans)
					return nil
				},
			}
			err = s.sweep(t.Context())
			if failed := errors.Join(test.heads, test.floatingIPs, test.certificates, test.nodes) != nil; errors.Is(err, down) != failed {
				t.Errorf("the sweep returned %v", err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("enqueued (-want +got):\n%s", d)
			}
		})
	}
}
