// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

// The documents of Neutron's API v2, with only the fields that are used, so that other fields cannot cause errors.
// gophercloud's types have more fields, and expect a certain form of each.

type floatingIPDocument struct {
	ID          string   `json:"id"`
	Address     string   `json:"floating_ip_address"`
	NetworkID   string   `json:"floating_network_id"`
	Description string   `json:"description"`
	ProjectID   string   `json:"project_id"`
	PortID      string   `json:"port_id"`
	RouterID    string   `json:"router_id"`
	Fixed       string   `json:"fixed_ip_address"`
	Tags        []string `json:"tags"`
}

type portDocument struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	NetworkID   string            `json:"network_id"`
	DeviceID    string            `json:"device_id"`
	DeviceOwner string            `json:"device_owner"`
	ProjectID   string            `json:"project_id"`
	FixedIPs    []fixedIPDocument `json:"fixed_ips"`
}

type fixedIPDocument struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

type networkDocument struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	ProjectID string   `json:"project_id"`
	Subnets   []string `json:"subnets"`
}

type subnetDocument struct {
	ID              string         `json:"id"`
	Name            string         `json:"name"`
	NetworkID       string         `json:"network_id"`
	IPVersion       int            `json:"ip_version"`
	CIDR            string         `json:"cidr"`
	GatewayIP       string         `json:"gateway_ip"`
	EnableDHCP      bool           `json:"enable_dhcp"`
	Tags            []string       `json:"tags"`
	AllocationPools []poolDocument `json:"allocation_pools"`
}

type poolDocument struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

type routerDocument struct {
	ID          string `json:"id"`
	GatewayInfo struct {
		NetworkID string `json:"network_id"`
	} `json:"external_gateway_info"`
}
