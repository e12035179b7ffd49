// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/keystone"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
)

// The services' types in the catalogue.
const (
	identity     = "identity"
	network      = "network"
	compute      = "compute"
	loadBalancer = "load-balancer"
)

// routes returns what the calls to each service are recorded as: the routes that the simulated
// services have. They serve nothing here.
func routes() (map[string]*http.ServeMux, error) {
	networks := neutron.New(neutron.Options{})
	balancers, err := octavia.New(octavia.Options{Network: networks})
	if err != nil {
		return nil, fmt.Errorf("the routes of Octavia: %w", err)
	}
	defer balancers.Close()
	return map[string]*http.ServeMux{
		identity: keystone.New(keystone.Options{}).Mux(), network: networks.Mux(),
		compute: nova.New(nova.Options{}).Mux(), loadBalancer: balancers.Mux(),
	}, nil
}
