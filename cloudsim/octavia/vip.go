// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"errors"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
)

// networkView is the project whose networks the caller sees, "" for all.
func (r *request) networkView() string {
	if r.admin() {
		return ""
	}
	return r.who.ProjectID
}

// subnet finds a subnet as Octavia does for a check: it asks Neutron with the
// caller's own token, which may be for an application credential that has no
// access rule for that.
func (s *Service) subnet(r *request, id string) (neutron.SubnetInfo, bool) {
	if !r.mayAskNetwork("subnets", id) {
		return neutron.SubnetInfo{}, false
	}
	return s.options.Network.Subnet(r.networkView(), id)
}

func (r *request) mayAskNetwork(collection, id string) bool {
	return r.who.May("network", http.MethodGet, "/v2.0/"+collection+"/"+id)
}

// vipRequest reads and checks where the request wants its VIPs.
func (s *Service) vipRequest(r *request, v values) (neutron.VIPRequest, error) {
	req := neutron.VIPRequest{
		SubnetID: v.text("vip_subnet_id"), NetworkID: v.text("vip_network_id"),
		PortID: v.text("vip_port_id"), Address: v.text("vip_address"),
	}
	if req.SubnetID == "" && req.NetworkID == "" && req.PortID == "" {
		return req, invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	if req.PortID != "" && !r.mayAskNetwork("ports", req.PortID) {
		return req, badSubresource("Port", req.PortID)
	}
	if req.PortID == "" && req.NetworkID != "" &&
		(!r.mayAskNetwork("networks", req.NetworkID) || !s.options.Network.Network(r.networkView(), req.NetworkID)) {
		return req, badSubresource("Network", req.NetworkID)
	}
	if req.SubnetID != "" {
		sub, ok := s.subnet(r, req.SubnetID)
		if !ok || req.PortID == "" && req.NetworkID != "" && sub.NetworkID != req.NetworkID {
			return req, badSubresource("Subnet", req.SubnetID)
		}
		req.NetworkID = sub.NetworkID
	}
	return req, s.additionalVIPs(&req, v)
}

func (s *Service) additionalVIPs(req *neutron.VIPRequest, v values) error {
	seen := map[string]bool{req.SubnetID: true}
	for _, a := range v.objects("additional_vips") {
		id := a.text("subnet_id")
		if seen[id] {
			return invalid("Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet.")
		}
		seen[id] = true
		sub, ok := s.options.Network.Subnet("", id)
		if !ok {
			return faultf(http.StatusInternalServerError, "subnet not found (subnet id: %s).", id)
		}
		if req.NetworkID != "" && sub.NetworkID != req.NetworkID {
			return invalid("All VIP subnets must belong to the same network.")
		}
		req.Additional = append(req.Additional, neutron.VIPAddress{SubnetID: id, Address: a.text("ip_address")})
	}
	return nil
}

// vipFault words a refusal of Neutron. Apart from ports that are not there,
// they reach the client as errors of the provider.
func vipFault(err error, req neutron.VIPRequest) error {
	onlyNetwork := req.SubnetID == "" && req.PortID == ""
	text := "Error creating neutron port on network " + req.NetworkID + "."
	var used *neutron.PortInUseError
	switch {
	case errors.As(err, &used):
		return invalid("Port %s is already used by device %s ", used.PortID, used.DeviceID)
	case errors.Is(err, neutron.ErrAmbiguous):
		return invalid("VIP port's subnet could not be determined. Please specify either a VIP subnet or address.")
	case errors.Is(err, neutron.ErrInvalidAddress) && req.PortID != "" && req.SubnetID != "":
		return invalid("No VIP address found on the specified VIP port within the specified subnet.")
	case errors.Is(err, neutron.ErrNotFound) && req.PortID != "":
		return badSubresource("Port", req.PortID)
	case errors.Is(err, neutron.ErrNotFound):
		return badSubresource("Subnet", req.SubnetID)
	case errors.Is(err, neutron.ErrInvalidAddress) && req.PortID != "":
		return invalid("Specified VIP address not found on the specified VIP port.")
	case errors.Is(err, neutron.ErrInvalidAddress) && onlyNetwork && req.Address != "":
		return invalid("Supplied network does not contain a subnet for VIP address specified.")
	case errors.Is(err, neutron.ErrInvalidAddress) && onlyNetwork:
		return invalid("Supplied network does not contain a subnet.")
	case errors.Is(err, neutron.ErrInvalidAddress):
		text = "IP address " + req.Address + " is not a valid IP for the specified subnet."
	case errors.Is(err, neutron.ErrAddressInUse):
		text = "IP address " + req.Address + " already allocated in subnet " + req.SubnetID
	case errors.Is(err, neutron.ErrQuota):
		text = "Quota exceeded for resources: ['port']."
	case errors.Is(err, neutron.ErrNoAddresses):
		text = "No more IP addresses available on network " + req.NetworkID + "."
	}
	return faultf(http.StatusInternalServerError, "Provider '%s' reports error: %s", req.Provider, text)
}

// missingSubnet returns the first of the subnets that are not found for the
// caller, "" if they all are.
func (s *Service) missingSubnet(r *request, ids []string) string {
	seen := map[string]bool{"": true}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, ok := s.subnet(r, id); !ok {
			return id
		}
	}
	return ""
}

// treeSubnets lists the member subnets of a fully populated create.
func treeSubnets(v values) []string {
	var ids []string
	pools := v.objects("pools")
	for _, l := range v.objects("listeners") {
		pools = append(pools, l.object("default_pool"))
	}
	for _, p := range pools {
		ids = append(ids, memberSubnets(p)...)
	}
	return ids
}

func memberSubnets(v values) []string {
	var ids []string
	for _, m := range v.objects("members") {
		ids = append(ids, m.text("subnet_id"))
	}
	return ids
}
