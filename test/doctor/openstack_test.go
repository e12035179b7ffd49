// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// unusedID is the id of no object.
const unusedID = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

const listBalancers = "/v2.0/lbaas/loadbalancers"

var ofServicesOfOpenStack = []situation{
	{name: "The region does not exist", arise: func(s *setup) { s.global("region", "nowhere") },
		check: doctor.Catalogue, status: doctor.Error, what: `in region "nowhere", but in RegionOne`, do: "Check region and os-endpoint-type"},
	{name: "There is no Octavia", arise: func(s *setup) { s.withoutServices(cloudsim.LoadBalancer) },
		check: doctor.Catalogue, status: doctor.Error, what: "no load-balancer service (Octavia)", do: "Install Octavia in the cloud", lie: "region"},
	{name: "There is neither Neutron nor Octavia", arise: func(s *setup) { s.withoutServices(cloudsim.LoadBalancer, cloudsim.Network) },
		check: doctor.Catalogue, status: doctor.Error, what: "no network service (Neutron)", do: "Check that the project may use it"},
	{name: "There is no Barbican for a certificate", arise: func(s *setup) {
		s.withoutServices(cloudsim.KeyManager)
		s.change(s.web, func(web *corev1.Service) { web.Annotations[annotation.TLSSecret] = "certificate" })
	}, check: doctor.Catalogue, status: doctor.Error, what: "no key-manager service (Barbican)", do: "container-store = external"},
	{name: "There is no Nova for Nodes", arise: func(s *setup) {
		s.args = []string{"--controllers=service,node"}
		s.withoutServices(cloudsim.Compute)
	}, check: doctor.Catalogue, status: doctor.Error, what: "no compute service (Nova)", do: "remove node and node-lifecycle from --controllers"},
	{name: "Nothing listens at the endpoint of Octavia", arise: func(s *setup) { s.moved(cloudsim.LoadBalancer, s.closedPort()) },
		check: doctor.Features, status: doctor.Error, what: "connection refused", do: "check host and port in the endpoint of the load-balancer service", lie: createCredential, also: ofReaders},
	{name: "The endpoint of Octavia is that of a web page", arise: func(s *setup) { s.moved(cloudsim.LoadBalancer, s.webPage()) },
		check: doctor.Features, status: doctor.Error, what: "", do: "ask the operator of the cloud whether that is right", also: ofReaders},
	{name: "The name of the host of Neutron is unknown", arise: func(s *setup) { s.moved(cloudsim.Network, "http://neutron.invalid") },
		check: doctor.Networks, status: doctor.Unknown, what: "no such host", do: "Check the host in the endpoint of the network service", lie: createCredential,
		also: []doctor.Check{doctor.Addresses, doctor.Quotas, doctor.SecurityGroups, doctor.Orphans}},
	{name: "Octavia fails", arise: func(s *setup) {
		s.fails(cloudsim.LoadBalancer, listBalancers, http.StatusInternalServerError, `{"faultstring": "'NoneType' object has no attribute 'ip_address'"}`)
	}, check: doctor.LoadBalancers, status: doctor.Unknown, what: "500", do: "finds the call in the logs by its request id", also: ofReaders},
	{name: "A gateway before Octavia fails", arise: func(s *setup) {
		s.fails(cloudsim.LoadBalancer, listBalancers, http.StatusBadGateway, "<html>Bad Gateway</html>")
	}, check: doctor.LoadBalancers, status: doctor.Unknown, what: "502", do: "The service fails: try again later", also: ofReaders},
	{name: "Octavia limits the calls", arise: func(s *setup) {
		s.cloud.faults.Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: listBalancers, Kind: wire.FaultStatus, Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}})
	}, check: doctor.LoadBalancers, status: doctor.Unknown, what: "429", do: "The service limits calls", also: ofReaders},
	{name: "Octavia cuts the connection", arise: func(s *setup) { s.breaks(cloudsim.LoadBalancer, listBalancers, wire.FaultResetBefore) },
		check: doctor.LoadBalancers, status: doctor.Unknown, what: "no answer", do: "The service was reached, but did not answer correctly", also: ofReaders},
	{name: "Octavia answers half", arise: func(s *setup) { s.breaks(cloudsim.LoadBalancer, listBalancers, wire.FaultHalfBody) },
		check: doctor.LoadBalancers, status: doctor.Unknown, what: "the answer cannot be read", do: "The service was reached, but did not answer correctly", also: ofReaders},
	{name: "Octavia answers what is no JSON", arise: func(s *setup) { s.breaks(cloudsim.LoadBalancer, listBalancers, wire.FaultGarbage) },
		check: doctor.LoadBalancers, status: doctor.Unknown, what: "the answer cannot be read", do: "Another program answers instead of the service", also: ofReaders},
	{name: "The policy of Neutron does not let the project list ports", arise: func(s *setup) {
		s.fails(cloudsim.Network, "/v2.0/ports", http.StatusForbidden, `{"NeutronError": {"type": "PolicyNotAuthorized", "message": "rule:get_ports is disallowed by policy", "detail": ""}}`)
	}, check: doctor.Credentials, status: doctor.Error, what: "rule:get_ports is disallowed by policy", do: "The policy of the service does not permit this to the roles of the login", lie: "does not need",
		also: []doctor.Check{doctor.Networks, doctor.Addresses, doctor.SecurityGroups, doctor.Orphans}},
	{name: "Neutron fails", arise: func(s *setup) {
		s.fails(cloudsim.Network, "/v2.0/networks", http.StatusInternalServerError, `{"NeutronError": {"type": "HTTPInternalServerError", "message": "Request Failed: internal server error while processing your request."}}`)
	}, check: doctor.Networks, status: doctor.Unknown, what: "Request Failed", do: "ask the operator of the cloud"},
	{name: "Neutron has no list of routers", arise: func(s *setup) {
		s.fails(cloudsim.Network, "/v2.0/routers", http.StatusNotFound, `{"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found."}}`)
	}, check: doctor.Networks, status: doctor.Unknown, what: "list routers: 404", do: "which extensions it has"},
	{name: "An old Octavia has no source ranges", simulator: true, arise: func(s *setup) {
		s.must(s.cloud.simulator.Octavia().SetOffer("2.11", ""))
		s.change(s.web, func(web *corev1.Service) { web.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })
	}, check: doctor.Features, status: doctor.Error, what: "2.12", do: "Remove the setting that the message names"},
	{name: "A provider of cloud.conf does not exist", arise: func(s *setup) { s.balancing("lb-provider = vmware") },
		check: doctor.Providers, status: doctor.Error, what: "lb-provider is vmware", do: "openstack loadbalancer provider list"},
	{name: "A flavor does not exist", arise: func(s *setup) { s.balancing("flavor-id = " + unusedID) },
		check: doctor.Providers, status: doctor.Error, what: "there is no such flavor", do: "openstack loadbalancer flavor list"},
	{name: "A flavor is disabled", arise: func(s *setup) {
		s.balancing("flavor-id = " + s.disabledFlavor())
	}, check: doctor.Providers, status: doctor.Error, what: "this flavor is disabled", do: "openstack loadbalancer flavor set --enable"},
	{name: "An availability zone of a Service does not exist", arise: func(s *setup) {
		s.change(s.web, func(web *corev1.Service) { web.Annotations[annotation.AvailabilityZone] = "nowhere" })
	}, check: doctor.Providers, status: doctor.Error, what: "of Service default/web is nowhere", do: "openstack loadbalancer availabilityzone list"},
}
