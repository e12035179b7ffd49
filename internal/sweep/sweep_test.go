// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

// upToDate is the memory of a controller of which nothing in the lists is stale, and of
// which one load balancer is due for reading.
type upToDate struct{ dualStack bool }

func (upToDate) StaleLoadBalancers(map[string]octavia.Head, func(lb.LoadBalancer) bool, time.Time) []types.NamespacedName {
	return nil
}

func (upToDate) UnknownLoadBalancers([]octavia.Head, time.Time) []types.NamespacedName { return nil }

func (upToDate) StaleFloatingIPs([]lb.FloatingIP, string, time.Time) []types.NamespacedName {
	return nil
}

func (upToDate) UnusedCertificates([]lb.Certificate, string) []types.NamespacedName { return nil }

func (upToDate) DueForReading(int, time.Time) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: "default", Name: "web"}}
}

func (m upToDate) DualStack(types.NamespacedName) bool { return m.dualStack }

func TestASweepThatFailsHasNothingReadAgain(t *testing.T) {
	down := errors.New("503")
	for name, test := range map[string]struct {
		heads, floatingIPs error
		read               int
	}{
		"all is well":     {read: 1},
		"Octavia is down": {heads: down}, "Neutron is down": {floatingIPs: down},
	} {
		t.Run(name, func(t *testing.T) {
			read := 0
			s := &Sweeper{
				Options: Options{
					Finder: &orphan.Finder{Policy: claim.Policy{ClusterUID: "c"}}, Memory: upToDate{}, Logger: logr.Discard(),
					Enqueue: func(types.NamespacedName) { read++ },
				},
				heads:        func(context.Context) ([]octavia.Head, error) { return nil, test.heads },
				floatingIPs:  func(context.Context) ([]lb.FloatingIP, error) { return nil, test.floatingIPs },
				certificates: func(context.Context) ([]lb.Certificate, error) { return nil, nil },
				nodes:        func(context.Context) error { return nil },
				orphans:      func(context.Context, orphan.Inventory) error { return nil },
			}
			if err := s.sweep(t.Context()); !errors.Is(err, errors.Join(test.heads, test.floatingIPs)) && !errors.Is(err, down) {
				t.Errorf("the sweep returned %v", err)
			}
			if read != test.read {
				t.Errorf("%d Services are to be read again, want %d", read, test.read)
			}
		})
	}
}
