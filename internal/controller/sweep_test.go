// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
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
				FloatingIPs:  func(context.Context) ([]lb.FloatingIP, error) { return now.FloatingIPs, test.floatingIPs },
				Certificates: func(context.Context) ([]lb.Certificate, error) { return nil, nil },
				Listed:       func(lb.LoadBalancer) bool { return true },
				Enqueue:      func(key types.NamespacedName) { t.Errorf("%v is to be read again", key) },
				Logger:       logr.Discard(),
				memory:       m,
				now:          func() time.Time { return noon.Add(time.Hour) },
				nodes:        func(context.Context) error { return nil },
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

func TestCertificatesThatAreNotUsedBringTheirServiceBack(t *testing.T) {
	r := converged()
	m := remembering(r)
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "uid-1"}
	hash := strings.Repeat("0", 64)
	used := lb.Certificate{Name: owner.CertificateName(hash), Ref: "https://barbican.example.com/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}
	old := lb.Certificate{Name: owner.CertificateName(strings.Repeat("1", 64)), Ref: "https://barbican.example.com/v1/secrets/4f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}
	others := lb.Certificate{Name: lb.Owner{ClusterUID: "c", ServiceUID: "uid-2"}.CertificateName(hash), Ref: old.Ref}
	foreign := lb.Certificate{Name: lb.Owner{ClusterUID: "d", ServiceUID: "uid-1"}.CertificateName(hash), Ref: old.Ref}
	m.records[web].observed.LoadBalancer.Listeners = []lb.Listener{{TLS: &lb.TLS{Certificate: used.Ref}}}
	for name, c := range map[string]struct {
		all  []lb.Certificate
		want []types.NamespacedName
	}{
		"the one that is used": {[]lb.Certificate{used}, nil},
		"another Service's":    {[]lb.Certificate{used, others}, nil},
		"another cluster's":    {[]lb.Certificate{foreign}, nil},
		"an old one":           {[]lb.Certificate{used, old}, []types.NamespacedName{web}},
	} {
		if d := cmp.Diff(c.want, m.idle(c.all, "c")); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
}
