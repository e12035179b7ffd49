// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

func TestASweepThatFailsHasNothingReadAgain(t *testing.T) {
	down := errors.New("503")
	for name, test := range map[string]struct{ heads, floatingIPs error }{
		"Octavia is down": {heads: down}, "Neutron is down": {floatingIPs: down},
	} {
		t.Run(name, func(t *testing.T) {
			r := converged()
			r.unread = true
			m := remembering(r)
			now := m.recall(web, "uid-1").observed
			s := &Sweeper{
				Heads: func(context.Context) ([]octavia.Head, error) {
					l := now.LoadBalancer
					return []octavia.Head{{ID: l.ID, ProvisioningStatus: l.ProvisioningStatus, UpdatedAt: l.UpdatedAt}}, test.heads
				},
				FloatingIPs: func(context.Context) ([]lb.FloatingIP, error) { return now.FloatingIPs, test.floatingIPs },
				Listed:      func(lb.LoadBalancer) bool { return true },
				Enqueue:     func(key types.NamespacedName) { t.Errorf("%v is to be read again", key) },
				Logger:      logr.Discard(),
				memory:      m,
				now:         func() time.Time { return noon.Add(time.Hour) },
			}
			if err := s.sweep(t.Context()); !errors.Is(err, down) {
				t.Errorf("the sweep returned %v", err)
			}
			if !m.recall(web, "uid-1").known {
				t.Error("what was known is doubted")
			}
		})
	}
}
