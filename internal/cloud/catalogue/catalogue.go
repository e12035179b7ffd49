// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue finds the endpoints of services in the service catalogue of a token. It reads and writes nothing.
package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// Lack is the error for a service without a usable endpoint in the catalogue.
type Lack struct {
	// Fact says what the catalogue lacks.
	Fact string
	// Advice says what to change. It is "" if that depends on the use of the service.
	Advice string
}

// Error returns fact and advice.
func (l *Lack) Error() string {
	if l.Advice == "" {
		return l.Fact
	}
	return l.Fact + ": " + l.Advice
}

// checkProject is the advice about a service that every cloud has.
const checkProject = "check that the project may use it, with \"openstack catalog list\""

// missing has the errors for services that the catalogue lacks.
var missing = map[string]*Lack{
	calls.ServiceNetwork: {"the service catalogue has no network service (Neutron)", checkProject},
	calls.ServiceLoadBalancer: {"the service catalogue has no load-balancer service (Octavia)", "install Octavia in the cloud (Neutron's own " +
		"LBaaS, v1 and v2, which OpenStack has not had since its release Train, is not enough), or " + checkProject},
	calls.ServiceCompute:    {"the service catalogue has no compute service (Nova)", checkProject},
	calls.ServiceKeyManager: {"the service catalogue has no key-manager service (Barbican)", ""},
}

// Endpoint returns the first endpoint of a service in a region, or in any region if that is empty. endpointType is its
// interface; empty means public. The error says where there are endpoints.
func Endpoint(entries []tokens.CatalogEntry, service, region, endpointType string) (string, error) {
	endpointType = cmp.Or(endpointType, defaultType)
	var there []string
	for _, e := range endpointsOf(entries, service) {
		if e.Interface == endpointType && (region == "" || region == e.Region || region == e.RegionID) {
			return e.URL, nil
		}
		there = append(there, e.Region+" ("+e.Interface+")")
	}
	if there == nil {
		return "", missing[service]
	}
	slices.Sort(there)
	return "", &Lack{
		Fact:   fmt.Sprintf("the service catalogue has no %s endpoint of the %s service in region %q, but in %s", endpointType, service, region, strings.Join(slices.Compact(there), ", ")),
		Advice: "check region and os-endpoint-type in [Global]",
	}
}

// defaultType is the interface of the endpoints if none is configured.
const defaultType = "public"

func endpointsOf(entries []tokens.CatalogEntry, service string) []tokens.Endpoint {
	var all []tokens.Endpoint
	for _, entry := range entries {
		if entry.Type == service {
			all = append(all, entry.Endpoints...)
		}
	}
	return all
}

// Services are the clients of the services of a cloud.
type Services struct {
	Network, LoadBalancer *gophercloud.ServiceClient
	// KeyManager is nil if the cloud has no Barbican.
	KeyManager *gophercloud.ServiceClient

	compute   *gophercloud.ServiceClient
	noCompute error // why compute is nil
}

// Compute returns a client of Nova that requests the microversion, or an error that says what to check.
func (s Services) Compute(microversion string) (*gophercloud.ServiceClient, error) {
	if s.compute == nil {
		return nil, s.noCompute
	}
	client := *s.compute
	client.Microversion = microversion
	return &client, nil
}

// Wanted says which endpoints to use.
type Wanted struct {
	// Region is empty if there is only one. Type is the interface of the endpoints; empty means public.
	Region, Type string
	// ProjectID is the project of the token.
	ProjectID string
	// Overrides are endpoints to use instead of those in the catalogue, by service. %(project_id)s in them stands for
	// the id of the project. Empty ones are ignored.
	Overrides map[string]string
}

// Find finds the services in the catalogue, and passes the endpoint of each to add. It fails without Neutron or Octavia, and
// with a *RegionError if there are several regions and none is wanted.
func Find(p *gophercloud.ProviderClient, entries []tokens.CatalogEntry, wanted Wanted, add func(service, endpoint string)) (Services, error) {
	region, err := wanted.region(entries)
	if err != nil {
		return Services{}, err
	}
	find := func(service string) (*gophercloud.ServiceClient, error) {
		endpoint, err := wanted.endpoint(entries, service, region)
		if err != nil {
			return nil, err
		}
		client := Client(p, service, endpoint, wanted.ProjectID)
		add(service, client.Endpoint)
		return client, nil
	}
	var s Services
	var noNetwork, noLoadBalancer error
	s.Network, noNetwork = find(calls.ServiceNetwork)
	s.LoadBalancer, noLoadBalancer = find(calls.ServiceLoadBalancer)
	s.KeyManager, _ = find(calls.ServiceKeyManager)
	s.compute, s.noCompute = find(calls.ServiceCompute)
	return s, errors.Join(noNetwork, noLoadBalancer)
}

// endpoint returns the endpoint of a service.
func (w Wanted) endpoint(entries []tokens.CatalogEntry, service, region string) (string, error) {
	if override := w.Overrides[service]; override != "" {
		return strings.NewReplacer("%(project_id)s", w.ProjectID, "%(tenant_id)s", w.ProjectID).Replace(override), nil
	}
	switch regions := w.regionsOf(entries, service); {
	case w.Region != "":
	case len(regions) == 1:
		region = "" // the service has only one region, which may differ from that of others
	case len(regions) > 1 && region == "":
		return "", &RegionError{Regions: regions}
	}
	return Endpoint(entries, service, region, w.Type)
}

// Client returns a client of p for version 2.0 of Neutron or Octavia, 2.1 of Nova, or version 1 of Barbican. Some
// catalogues include the version in the endpoint and some do not. Nova has not needed the project in its addresses since
// microversion 2.18.
func Client(p *gophercloud.ProviderClient, service, endpoint, projectID string) *gophercloud.ServiceClient {
	root := rootOf(service, endpoint, projectID)
	version := "v2.0/"
	switch service {
	case calls.ServiceKeyManager:
		version = "v1/"
	case calls.ServiceCompute:
		version = "v2.1/"
	}
	return &gophercloud.ServiceClient{ProviderClient: p, Type: service, Endpoint: root, ResourceBase: root + version}
}
