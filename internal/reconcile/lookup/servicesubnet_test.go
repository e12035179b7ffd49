// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// unreadable is a Kubernetes API that cannot be read.
type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not available")
}

func TestTheServiceSubnetIsCheckedUntilAServiceHadALoadBalancerThere(t *testing.T) {
	b := &Builder{Secrets: unreadable{}}
	for name, c := range map[string]struct {
		of       claim.Owner
		at       *config.AtClusterIP
		observed lb.Observed
		checked  bool
	}{
		"a new one":                       {at: &config.AtClusterIP{}, checked: true},
		"with a load balancer":            {at: &config.AtClusterIP{}, observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{}}},
		"whose load balancer was deleted": {at: &config.AtClusterIP{}, of: claim.Owner{WasAtClusterIP: true}},
		"not at its ClusterIP":            {},
	} {
		t.Run(name, func(t *testing.T) {
			c.of.Spec = &desired.Spec{}
			in := desired.Input{Spec: c.of.Spec, Config: config.LoadBalancer{AtClusterIP: c.at}}
			_, err := b.checkServiceSubnet(t.Context(), c.of, in, c.observed)
			if (err != nil) != c.checked {
				t.Error(err)
			}
		})
	}
}
