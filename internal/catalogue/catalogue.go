// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue finds the endpoints of services in the service catalogue of a token. It reads and writes nothing, and
// may import calltable.
package catalogue

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
)

// missing holds the error for a service that the catalogue lacks.
var missing = map[string]string{
	calltable.ServiceNetwork: "the service catalogue has no network service (Neutron): check that the project may use it, with " +
		"\"openstack catalog list\"",
	calltable.ServiceLoadBalancer: "the service catalogue has no load-balancer service (Octavia): install Octavia in the cloud (Neutron's own " +
		"LBaaS, v1 and v2, which OpenStack has not had since its release Train, is not enough), or check that the project may use it, with \"openstack catalog list\"",
	calltable.ServiceCompute:    "the service catalogue has no compute service (Nova): check that the project may use it, with \"openstack catalog list\"",
	calltable.ServiceKeyManager: "the service catalogue has no key-manager service (Barbican)",
}

// Endpoint returns the first endpoint of a service in a region, or in any region if that is empty. endpointType is its
// interface; empty means public. The error says where there are endpoints.
func Endpoint(entries []tokens.CatalogEntry, service, region, endpointType string) (string, error) {
	if endpointType == "" {
		endpointType = "public"
	}
	var there []string
	for _, entry := range entries {
		if entry.Type != service {
			continue
		}
		for _, e := range entry.Endpoints {
			if e.Interface == endpointType && (region == "" || region == e.Region || region == e.RegionID) {
				return e.URL, nil
			}
			there = append(there, e.Region+" ("+e.Interface+")")
		}
	}
	if there == nil {
		return "", fmt.Errorf("%s", missing[service])
	}
	slices.Sort(there)
	return "", fmt.Errorf("the service catalogue has no %s endpoint of the %s service in region %q, but in %s: check region and "+
		"os-endpoint-type in [Global]", endpointType, service, region, strings.Join(slices.Compact(there), ", "))
}

// Services are the clients of the services of a cloud.
type Services struct {
	Network, LoadBalancer *gophercloud.ServiceClient
	// KeyManager is nil if the cloud has no Barbican.
	KeyManager *gophercloud.ServiceClient

	compute   *gophercloud.ServiceClient
	noCompute error // why it is nil
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

// Find finds the services in the catalogue, and passes the endpoint of each to add. It fails without Neutron or Octavia.
func Find(p *gophercloud.ProviderClient, entries []tokens.CatalogEntry, region, endpointType string, add func(service, endpoint string)) (Services, error) {
	find := func(service string) (*gophercloud.ServiceClient, error) {
		endpoint, err := Endpoint(entries, service, region, endpointType)
		if err != nil {
			return nil, err
		}
		client := Client(p, service, endpoint)
		add(service, client.Endpoint)
		return client, nil
	}
	var s Services
	var noNetwork, noLoadBalancer error
	s.Network, noNetwork = find(calltable.ServiceNetwork)
	s.LoadBalancer, noLoadBalancer = find(calltable.ServiceLoadBalancer)
	s.KeyManager, _ = find(calltable.ServiceKeyManager)
	s.compute, s.noCompute = find(calltable.ServiceCompute)
	return s, errors.Join(noNetwork, noLoadBalancer)
}

// versionTail matches the version at the end of an endpoint, and the id of the project after that of Nova.
var versionTail = regexp.MustCompile(`/v\d+(\.\d+)?(/[0-9a-f]{32})?/?$`)

// Client returns a client of p for version 2.0 of Neutron or Octavia, 2.1 of Nova, or version 1 of Barbican. Some
// catalogues include the version in the endpoint and some do not. Nova has not needed the project in its addresses since
// microversion 2.18.
func Client(p *gophercloud.ProviderClient, service, endpoint string) *gophercloud.ServiceClient {
	root := gophercloud.NormalizeURL(versionTail.ReplaceAllString(gophercloud.NormalizeURL(endpoint), "/"))
	version := "v2.0/"
	switch service {
	case calltable.ServiceKeyManager:
		version = "v1/"
	case calltable.ServiceCompute:
		version = "v2.1/"
	}
	return &gophercloud.ServiceClient{ProviderClient: p, Type: service, Endpoint: root, ResourceBase: root + version}
}
