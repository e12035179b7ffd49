// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"errors"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// networkView returns the project whose networks the caller sees, or "" for all.
func (c *Checks) networkView() string {
	if c.Admin {
		return ""
	}
	return c.Caller.ProjectID
}

// subnet finds a subnet as Octavia does for a check: it calls Neutron with the caller's own token,
// which may belong to an application credential without an access rule for this call.
func (c *Checks) subnet(id string) (neutron.SubnetInfo, bool) {
	if !c.mayAskNetwork("subnets", id) {
		return neutron.SubnetInfo{}, false
	}
	return c.Network.Subnet(c.networkView(), id)
}

func (c *Checks) mayAskNetwork(collection, id string) bool {
	return c.Caller.May("network", http.MethodGet, "/v2.0/"+collection+"/"+id)
}

// VIPRequest reads and checks the requested networks and addresses of the VIPs.
func (c *Checks) VIPRequest(v schema.Values) (neutron.VIPRequest, error) {
	req := neutron.VIPRequest{
		SubnetID: v.Text("vip_subnet_id"), NetworkID: v.Text("vip_network_id"),
		PortID: v.Text("vip_port_id"), Address: v.Text("vip_address"),
	}
	if req.SubnetID == "" && req.NetworkID == "" && req.PortID == "" {
		return req, fault.Invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	if req.PortID != "" && !c.mayAskNetwork("ports", req.PortID) {
		return req, fault.BadSubresource("Port", req.PortID)
	}
	if req.PortID == "" && req.NetworkID != "" &&
		(!c.mayAskNetwork("networks", req.NetworkID) || !c.Network.Network(c.networkView(), req.NetworkID)) {
		return req, fault.BadSubresource("Network", req.NetworkID)
	}
	if req.SubnetID != "" {
		sub, ok := c.subnet(req.SubnetID)
		if !ok || req.PortID == "" && req.NetworkID != "" && sub.NetworkID != req.NetworkID {
			return req, fault.BadSubresource("Subnet", req.SubnetID)
		}
		req.NetworkID = sub.NetworkID
	}
	return req, c.additionalVIPs(&req, v)
}

func (c *Checks) additionalVIPs(req *neutron.VIPRequest, v schema.Values) error {
	seen := map[string]bool{req.SubnetID: true}
	for _, a := range v.Objects("additional_vips") {
		id := a.Text("subnet_id")
		if seen[id] {
			return fault.Invalid("Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet.")
		}
		seen[id] = true
		sub, ok := c.Network.Subnet("", id)
		switch {
		case !ok && c.Release >= release.Newest:
			return fault.Invalid("Subnet %s not found", id)
		case !ok:
			return fault.New(http.StatusInternalServerError, "subnet not found (subnet id: %s).", id)
		}
		if req.NetworkID != "" && sub.NetworkID != req.NetworkID {
			return fault.Invalid("All VIP subnets must belong to the same network.")
		}
		req.Additional = append(req.Additional, neutron.VIPAddress{SubnetID: id, Address: a.Text("ip_address")})
	}
	return nil
}

// VIPGroups reads and checks the requested security groups of the VIP. Octavia calls Neutron with the caller's token.
func (c *Checks) VIPGroups(v schema.Values) ([]string, error) {
	groups := slices.Compact(slices.Sorted(slices.Values(v.Texts("vip_sg_ids"))))
	for _, id := range groups {
		if !c.mayAskNetwork("security-groups", id) || !c.Network.SecurityGroup(c.networkView(), id) {
			return nil, fault.BadSubresource("Security Group", id)
		}
	}
	return groups, nil
}

// checkAccess refuses source ranges, including those that admit all clients, if the VIP has security groups. In the
// reverse order, Octavia accepts security groups for a VIP whose listeners already have source ranges.
func checkAccess(groups, cidrs []string) error {
	if len(groups) > 0 && len(cidrs) > 0 {
		return fault.Invalid("Allowed CIDRs are not allowed when using custom VIP Security Groups.")
	}
	return nil
}

// CheckVIPType refuses security groups for a VIP whose port is of type direct.
func CheckVIPType(lb *model.LoadBalancer, groups []string) error {
	if len(groups) > 0 && lb.VIPIsDirect {
		return fault.Invalid("VIP Security Groups are not allowed with VNIC direct type")
	}
	return nil
}

// VIPFault returns the fault for an error of Neutron. Except for missing ports, clients see an error of the provider.
// Since 2025.1 provider amphora calls Neutron through the OpenStack SDK, and passes on only the SDK's error; the newest
// release passes on the message of a 409 of Neutron.
func (c *Checks) VIPFault(err error, req neutron.VIPRequest) error {
	onlyNetwork := req.SubnetID == "" && req.PortID == ""
	text := "Error creating neutron port on network " + req.NetworkID + "."
	const refused = "ConflictException: 409"
	var raised string // the SDK's error
	var used *neutron.PortInUseError
	switch {
	case errors.As(err, &used):
		return fault.Invalid("Port %s is already used by device %s ", used.PortID, used.DeviceID)
	case errors.Is(err, neutron.ErrAmbiguous):
		return fault.Invalid("VIP port's subnet could not be determined. Please specify either a VIP subnet or address.")
	case errors.Is(err, neutron.ErrInvalidAddress) && req.PortID != "" && req.SubnetID != "":
		return fault.Invalid("No VIP address found on the specified VIP port within the specified subnet.")
	case errors.Is(err, neutron.ErrNotFound) && req.PortID != "":
		return fault.BadSubresource("Port", req.PortID)
	case errors.Is(err, neutron.ErrNotFound):
		return fault.BadSubresource("Subnet", req.SubnetID)
	case errors.Is(err, neutron.ErrInvalidAddress) && req.PortID != "":
		return fault.Invalid("Specified VIP address not found on the specified VIP port.")
	case errors.Is(err, neutron.ErrInvalidAddress) && onlyNetwork && req.Address != "":
		return fault.Invalid("Supplied network does not contain a subnet for VIP address specified.")
	case errors.Is(err, neutron.ErrInvalidAddress) && onlyNetwork:
		return fault.Invalid("Supplied network does not contain a subnet.")
	case errors.Is(err, neutron.ErrInvalidAddress):
		text, raised = "IP address "+req.Address+" is not a valid IP for the specified subnet.", "BadRequestException: 400"
	case errors.Is(err, neutron.ErrAddressInUse):
		text, raised = "IP address "+req.Address+" already allocated in subnet "+req.SubnetID, refused
	case errors.Is(err, neutron.ErrQuota):
		text, raised = "Quota exceeded for resources: ['port'].", refused
	case errors.Is(err, neutron.ErrNoAddresses):
		text, raised = "No more IP addresses available on network "+req.NetworkID+".", refused
	}
	switch {
	case c.Release < release.Epoxy || req.Provider == provider.OVN || raised == "":
		// Neutron's message is passed on.
	case c.Release >= release.Newest && raised == refused:
		return fault.New(http.StatusConflict, "The VIP IP address is already in use: %s", text)
	default:
		text = raised
	}
	return fault.New(http.StatusInternalServerError, "Provider '%s' reports error: %s", req.Provider, text)
}

// CheckSubnets refuses subnets of members that do not exist for the caller.
func (c *Checks) CheckSubnets(ids []string) error {
	seen := map[string]bool{"": true}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, ok := c.subnet(id); !ok {
			return fault.BadSubresource("Subnet", id)
		}
	}
	return nil
}

// SubnetsLost reports whether the subnet of a member in a fully populated create does not exist:
// Octavia detects this only when it builds, and only if there are listeners.
func (c *Checks) SubnetsLost(v schema.Values) bool {
	return len(v.Objects("listeners")) > 0 && slices.ContainsFunc(treeSubnets(v), func(id string) bool {
		_, found := c.Network.Subnet("", id)
		return id != "" && !found
	})
}

// treeSubnets lists the member subnets of a fully populated create.
func treeSubnets(v schema.Values) []string {
	var ids []string
	pools := v.Objects("pools")
	for _, l := range v.Objects("listeners") {
		pools = append(pools, l.Object("default_pool"))
	}
	for _, p := range pools {
		ids = append(ids, MemberSubnets(p)...)
	}
	return ids
}

// MemberSubnets returns the subnets of the members in a request.
func MemberSubnets(v schema.Values) []string {
	var ids []string
	for _, m := range v.Objects("members") {
		ids = append(ids, m.Text("subnet_id"))
	}
	return ids
}
