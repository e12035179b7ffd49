// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// unreadable is a Kubernetes API that cannot be read.
type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not available")
}

func TestTheServiceSubnetIsCheckedUntilAServiceHadALoadBalancerThere(t *testing.T) {
	clusterIPs, err := claim.NewClusterIPs(config.ClusterIP{Enabled: true, ServiceSubnetID: "services"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Planner{Secrets: unreadable{}, Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterIPs: clusterIPs}}
	atIP := func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.7" }
	wasThere := func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = "10.96.0.7" }
	for name, c := range map[string]struct {
		service  *corev1.Service
		observed lb.Observed
		checked  bool
	}{
		"a new one":                       {service: served(clusterIP, atIP), checked: true},
		"with a load balancer":            {service: served(clusterIP, atIP), observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{}}},
		"whose load balancer was deleted": {service: served(clusterIP, atIP, wasThere)},
		"not at its ClusterIP":            {service: served()},
	} {
		of := p.of(c.service)
		in := desired.Input{Spec: of.Spec, Config: of.Settings(p.Config)}
		if err := p.checkServiceSubnet(t.Context(), of, &in, c.observed); (err != nil) != c.checked {
			t.Errorf("%s: %v", name, err)
		}
	}
}
