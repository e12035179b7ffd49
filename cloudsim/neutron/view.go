// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import "time"

// view is the JSON form of any object.
type view interface{ base() *standardView }

// standardView has the fields that the JSON forms of all resources share.
type standardView struct {
	ID             string `json:"id"`
	TenantID       string `json:"tenant_id"`
	ProjectID      string `json:"project_id"`
	Description    string `json:"description"`
	RevisionNumber int    `json:"revision_number"`
	CreatedAt      string `json:"created_at"`
	UpdatedAt      string `json:"updated_at"`
	updated        time.Time
}

func (v *standardView) base() *standardView { return v }

func (s *standard) view() standardView {
	const layout = "2006-01-02T15:04:05Z"
	return standardView{
		ID: s.id, TenantID: s.project, ProjectID: s.project, Description: s.description, RevisionNumber: s.revision,
		CreatedAt: s.created.Format(layout), UpdatedAt: s.updated.Format(layout), updated: s.updated.Truncate(time.Second),
	}
}

type networkView struct {
	standardView
	Name                 string   `json:"name"`
	Tags                 []string `json:"tags"`
	AdminStateUp         bool     `json:"admin_state_up"`
	Status               string   `json:"status"`
	Subnets              []string `json:"subnets"`
	Shared               bool     `json:"shared"`
	External             bool     `json:"router:external"`
	IsDefault            *bool    `json:"is_default,omitempty"` // external networks only
	MTU                  int      `json:"mtu"`
	PortSecurity         bool     `json:"port_security_enabled"`
	AvailabilityZones    []string `json:"availability_zones"`
	AvailabilityHints    []string `json:"availability_zone_hints"`
	IPv4AddressScope     *string  `json:"ipv4_address_scope"`
	IPv6AddressScope     *string  `json:"ipv6_address_scope"`
	*networkProviderView          // for admins
	*networkTagsView              // since the newest release
}

// networkTagsView shows whether a network passes VLAN tags on.
type networkTagsView struct {
	QinQ            bool `json:"qinq"`
	VLANTransparent bool `json:"vlan_transparent"`
}

type networkProviderView struct {
	NetworkType     string  `json:"provider:network_type"`
	PhysicalNetwork *string `json:"provider:physical_network"`
	SegmentationID  *int    `json:"provider:segmentation_id"`
}

type subnetView struct {
	standardView
	Name            string      `json:"name"`
	Tags            []string    `json:"tags"`
	NetworkID       string      `json:"network_id"`
	IPVersion       int         `json:"ip_version"`
	CIDR            string      `json:"cidr"`
	GatewayIP       *string     `json:"gateway_ip"`
	AllocationPools []poolView  `json:"allocation_pools"`
	EnableDHCP      bool        `json:"enable_dhcp"`
	DNSNameservers  []string    `json:"dns_nameservers"`
	HostRoutes      []hostRoute `json:"host_routes"`
	ServiceTypes    []string    `json:"service_types"`
	IPv6RAMode      *string     `json:"ipv6_ra_mode"`
	IPv6AddressMode *string     `json:"ipv6_address_mode"`
	SubnetPoolID    *string     `json:"subnetpool_id"`
	External        *bool       `json:"router:external,omitempty"` // since 2025.1
}

type poolView struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

type portView struct {
	standardView
	Name                string            `json:"name"`
	Tags                []string          `json:"tags"`
	NetworkID           string            `json:"network_id"`
	MACAddress          string            `json:"mac_address"`
	AdminStateUp        bool              `json:"admin_state_up"`
	Status              string            `json:"status"`
	DeviceID            string            `json:"device_id"`
	DeviceOwner         string            `json:"device_owner"`
	FixedIPs            []FixedIP         `json:"fixed_ips"`
	SecurityGroups      []string          `json:"security_groups"`
	AllowedAddressPairs []addressPair     `json:"allowed_address_pairs"`
	PortSecurity        bool              `json:"port_security_enabled"`
	VNICType            string            `json:"binding:vnic_type"`
	ExtraDHCPOptions    []any             `json:"extra_dhcp_opts"`         // always empty
	TrunkDetails        *trunkDetailsView `json:"trunk_details,omitempty"` // parents of trunks only
	*portBindingView                      // for admins
}

type portBindingView struct {
	HostID     string         `json:"binding:host_id"`
	Profile    map[string]any `json:"binding:profile"`
	VIFType    string         `json:"binding:vif_type"`
	VIFDetails map[string]any `json:"binding:vif_details"`
}

type routerView struct {
	standardView
	Name              string       `json:"name"`
	Tags              []string     `json:"tags"`
	AdminStateUp      bool         `json:"admin_state_up"`
	Status            string       `json:"status"`
	Gateway           *gatewayView `json:"external_gateway_info"`
	Routes            []hostRoute  `json:"routes"`
	FlavorID          *string      `json:"flavor_id"`
	AvailabilityZones []string     `json:"availability_zones"`
	AvailabilityHints []string     `json:"availability_zone_hints"`
}

type gatewayView struct {
	NetworkID        string    `json:"network_id"`
	EnableSNAT       bool      `json:"enable_snat"`
	ExternalFixedIPs []FixedIP `json:"external_fixed_ips"`
}

type floatingIPView struct {
	standardView
	Tags              []string         `json:"tags"`
	FloatingNetworkID string           `json:"floating_network_id"`
	FloatingIPAddress string           `json:"floating_ip_address"`
	FixedIPAddress    *string          `json:"fixed_ip_address"`
	PortID            *string          `json:"port_id"`
	RouterID          *string          `json:"router_id"`
	Status            string           `json:"status"`
	PortDetails       *portDetailsView `json:"port_details"`
}

type portDetailsView struct {
	Name         string `json:"name"`
	NetworkID    string `json:"network_id"`
	MACAddress   string `json:"mac_address"`
	AdminStateUp bool   `json:"admin_state_up"`
	Status       string `json:"status"`
	DeviceID     string `json:"device_id"`
	DeviceOwner  string `json:"device_owner"`
}

type securityGroupView struct {
	standardView
	Name     string         `json:"name"`
	Tags     []string       `json:"tags"`
	Stateful bool           `json:"stateful"`
	Shared   bool           `json:"shared"`
	Rules    []*ruleOfGroup `json:"security_group_rules"`
}

// ruleOfGroup is a rule as its group shows it, with more fields than the rule alone.
type ruleOfGroup struct {
	*securityGroupRuleView
	Tags           []string `json:"tags"`
	StandardAttrID int      `json:"standard_attr_id"`
}

type securityGroupRuleView struct {
	standardView
	Description     *string `json:"description"` // null for rules that a group has from the start
	SecurityGroupID string  `json:"security_group_id"`
	Direction       string  `json:"direction"`
	EtherType       string  `json:"ethertype"`
	Protocol        *string `json:"protocol"`
	PortRangeMin    *int    `json:"port_range_min"`
	PortRangeMax    *int    `json:"port_range_max"`
	RemoteIPPrefix  *string `json:"remote_ip_prefix"`
	NormalizedCIDR  *string `json:"normalized_cidr"`
	RemoteGroupID   *string `json:"remote_group_id"`
	RemoteAddresses *string `json:"remote_address_group_id"` // always null
	// OfDefault is nil before 2025.1, and a *bool since.
	OfDefault any `json:"belongs_to_default_sg,omitempty"`
}

// orNone returns nil for an empty string, which is shown as null.
func orNone(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
