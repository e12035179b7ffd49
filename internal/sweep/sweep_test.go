// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

// remembered is a Memory that answers each question with one Service of the question's name.
type remembered struct{ dualStack bool }

func named(name string) []types.NamespacedName { return []types.NamespacedName{{Name: name}} }

func (*remembered) StaleLoadBalancers(map[string]octavia.Head, func(lb.LoadBalancer) bool, time.Time) []types.NamespacedName {
	return named("stale load balancer")
}

func (*remembered) UnknownLoadBalancers([]octavia.Head, time.Time) []types.NamespacedName {
	return named("unknown load balancer")
}

func (*remembered) StaleFloatingIPs([]lb.FloatingIP, string, time.Time) []types.NamespacedName {
	return named("stale floating IP")
}

func (*remembered) UnusedCertificates([]lb.Certificate, string) []types.NamespacedName {
	return named("unused certificate")
}

func (*remembered) DueForReading(int, time.Time) []types.NamespacedName { return named("due") }

func (r *remembered) DualStack(types.NamespacedName) bool { return r.dualStack }

func TestSweepThatFailsJudgesOnlyByWhatItSaw(t *testing.T) {
	down := errors.New("503")
	const balancer, unknown, floatingIP, certificate, due, orphans = "stale load balancer", "unknown load balancer",
		"stale floating IP", "unused certificate", "due", "orphans"
	for name, test := range map[string]struct {
		heads, floatingIPs, certificates, nodes error
		want                                    []string
	}{
		"everything answers": {want: []string{balancer, unknown, floatingIP, certificate, due, orphans}},
		"Octavia is down":    {heads: down, want: []string{floatingIP, certificate}},
		"Neutron is down":    {floatingIPs: down, want: []string{balancer, unknown, certificate}},
		"Barbican is down":   {certificates: down, want: []string{balancer, unknown, floatingIP, due}},
		"Kubernetes is down": {nodes: down, want: []string{balancer, unknown, floatingIP, certificate}},
	} {
		t.Run(name, func(t *testing.T) {
			counted, err := metrics.New(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			s := &Sweeper{
				Options: Options{
					Finder: &orphan.Finder{}, Memory: &remembered{}, Metrics: counted, Logger: logr.Discard(),
					Enqueue: func(key types.NamespacedName) { got = append(got, key.Name) },
				},
				heads:        func(context.Context) ([]octavia.Head, error) { return nil, test.heads },
				floatingIPs:  func(context.Context) ([]lb.FloatingIP, error) { return nil, test.floatingIPs },
				certificates: func(context.Context) ([]lb.Certificate, error) { return nil, test.certificates },
				nodes:        func(context.Context) error { return test.nodes },
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
				t.Errorf("done (-want +got):\n%s", d)
			}
		})
	}
}
