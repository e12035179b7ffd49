// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// The documents of Octavia's API v2, with the fields that are used. Pointers are fields that may be omitted in a
// request or null in a response.

type reference struct {
	ID string `json:"id"`
}

// document has the fields of all objects.
type document struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Tags               []string              `json:"tags"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
}

// healthDocument has the fields of an object that are read for its health.
type healthDocument struct {
	ID              string `json:"id"`
	OperatingStatus string `json:"operating_status"`
}

type loadBalancerDocument struct {
	document
	Description      string        `json:"description"`
	ProjectID        string        `json:"project_id"`
	Provider         string        `json:"provider"`
	FlavorID         *string       `json:"flavor_id"`
	AvailabilityZone *string       `json:"availability_zone"`
	VIPAddress       string        `json:"vip_address"`
	VIPSubnetID      *string       `json:"vip_subnet_id"`
	VIPNetworkID     string        `json:"vip_network_id"`
	VIPPortID        string        `json:"vip_port_id"`
	AdditionalVIPs   []vipDocument `json:"additional_vips"`
	VIPGroups        []string      `json:"vip_sg_ids"`
	OperatingStatus  string        `json:"operating_status"`
	UpdatedAt        *string       `json:"updated_at"`
}

// vipDocument is an additional VIP. Its address is null if the provider accepted the request and ignored it.
type vipDocument struct {
	SubnetID  string  `json:"subnet_id"`
	IPAddress *string `json:"ip_address,omitempty"`
}

// additionalVIPs returns the additional VIPs with an address.
func (d loadBalancerDocument) additionalVIPs() []lb.VIP {
	var vips []lb.VIP
	for _, v := range d.AdditionalVIPs {
		if address := value(v.IPAddress); address != "" {
			vips = append(vips, lb.VIP{Address: address, SubnetID: v.SubnetID})
		}
	}
	return vips
}

func (d loadBalancerDocument) model() lb.LoadBalancer {
	return lb.LoadBalancer{
		ID: d.ID, Name: d.Name, Description: d.Description, Tags: d.Tags, ProjectID: d.ProjectID,
		Provider: d.Provider, FlavorID: value(d.FlavorID), AvailabilityZone: value(d.AvailabilityZone),
		VIP:            lb.VIP{Address: d.VIPAddress, SubnetID: value(d.VIPSubnetID), NetworkID: d.VIPNetworkID, PortID: d.VIPPortID},
		AdditionalVIPs: d.additionalVIPs(), VIPSecurityGroups: d.VIPGroups,
		AdminDown: !d.AdminStateUp, ProvisioningStatus: d.ProvisioningStatus, OperatingStatus: d.OperatingStatus,
		UpdatedAt: value(d.UpdatedAt),
	}
}

type listenerDocument struct {
	document
	Protocol        lb.ListenerProtocol `json:"protocol"`
	ProtocolPort    int                 `json:"protocol_port"`
	ConnectionLimit int                 `json:"connection_limit"`
	AllowedCIDRs    []string            `json:"allowed_cidrs"`
	ClientData      *int                `json:"timeout_client_data"`
	MemberConnect   *int                `json:"timeout_member_connect"`
	MemberData      *int                `json:"timeout_member_data"`
	TCPInspect      *int                `json:"timeout_tcp_inspect"`
	InsertHeaders   map[string]any      `json:"insert_headers"`
	Certificate     *string             `json:"default_tls_container_ref"`
	SNI             []string            `json:"sni_container_refs"`
	HSTSMaxAge      *int                `json:"hsts_max_age"`
	HSTSSubdomains  bool                `json:"hsts_include_subdomains"`
	HSTSPreload     bool                `json:"hsts_preload"`
	DefaultPoolID   *string             `json:"default_pool_id"`
}

func (d listenerDocument) model() lb.Listener {
	return lb.Listener{
		ID: d.ID, Name: d.Name, Tags: d.Tags, Protocol: d.Protocol, Port: d.ProtocolPort,
		ConnectionLimit: d.ConnectionLimit, AllowedCIDRs: d.AllowedCIDRs, AdminDown: !d.AdminStateUp,
		Timeouts: d.timeouts(), InsertHeaders: d.headers(), TLS: d.tls(), HSTS: d.hsts(), ProvisioningStatus: d.ProvisioningStatus,
	}
}

// headers returns the enabled headers. The values are the strings "true" and "false", in upper or lower case.
func (d listenerDocument) headers() []string {
	var on []string
	for name, value := range d.InsertHeaders {
		if strings.EqualFold(fmt.Sprint(value), "true") {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return on
}

func (d listenerDocument) tls() *lb.TLS {
	if value(d.Certificate) == "" && len(d.SNI) == 0 {
		return nil
	}
	return &lb.TLS{Certificate: value(d.Certificate), SNI: d.SNI}
}

// hsts returns no header if Octavia is too old to show any.
func (d listenerDocument) hsts() lb.HSTS {
	if d.HSTSMaxAge == nil {
		return lb.HSTS{}
	}
	return lb.HSTS{Enabled: true, MaxAgeSeconds: *d.HSTSMaxAge, IncludeSubdomains: d.HSTSSubdomains, Preload: d.HSTSPreload}
}

// timeouts returns nil if Octavia is too old to show any.
func (d listenerDocument) timeouts() *lb.Timeouts {
	if d.ClientData == nil && d.MemberConnect == nil && d.MemberData == nil && d.TCPInspect == nil {
		return nil
	}
	return &lb.Timeouts{ClientData: value(d.ClientData), MemberConnect: value(d.MemberConnect), MemberData: value(d.MemberData), TCPInspect: value(d.TCPInspect)}
}

type poolDocument struct {
	document
	Protocol           lb.PoolProtocol      `json:"protocol"`
	Algorithm          lb.Algorithm         `json:"lb_algorithm"`
	SessionPersistence *persistenceDocument `json:"session_persistence"`
	MonitorID          *string              `json:"healthmonitor_id"`
	Members            []reference          `json:"members"`
}

type persistenceDocument struct {
	Type    string `json:"type"`
	Timeout *int   `json:"persistence_timeout,omitempty"`
}

func (d poolDocument) model() lb.Pool {
	p := lb.Pool{
		ID: d.ID, Name: d.Name, Tags: d.Tags, Protocol: d.Protocol, Algorithm: d.Algorithm,
		AdminDown: !d.AdminStateUp, ProvisioningStatus: d.ProvisioningStatus,
	}
	if s := d.SessionPersistence; s != nil {
		p.Persistence = &lb.Persistence{Type: s.Type, TimeoutSeconds: value(s.Timeout)}
	}
	return p
}

type memberDocument struct {
	document
	Address         string  `json:"address"`
	ProtocolPort    int     `json:"protocol_port"`
	SubnetID        *string `json:"subnet_id"`
	Weight          int     `json:"weight"`
	MonitorPort     *int    `json:"monitor_port"`
	Backup          bool    `json:"backup"`
	OperatingStatus string  `json:"operating_status"`
}

func (d memberDocument) model() lb.Member {
	return lb.Member{
		ID: d.ID, Name: d.Name, Address: d.Address, Port: d.ProtocolPort, SubnetID: value(d.SubnetID),
		Weight: d.Weight, MonitorPort: value(d.MonitorPort), Backup: d.Backup, AdminDown: !d.AdminStateUp,
		ProvisioningStatus: d.ProvisioningStatus, OperatingStatus: d.OperatingStatus,
	}
}

type monitorDocument struct {
	document
	Type           lb.MonitorType `json:"type"`
	Delay          int            `json:"delay"`
	Timeout        int            `json:"timeout"`
	MaxRetries     int            `json:"max_retries"`
	MaxRetriesDown int            `json:"max_retries_down"`
	HTTPMethod     *string        `json:"http_method"`
	URLPath        *string        `json:"url_path"`
	ExpectedCodes  *string        `json:"expected_codes"`
}

func (d monitorDocument) model() lb.HealthMonitor {
	return lb.HealthMonitor{
		ID: d.ID, Name: d.Name, Tags: d.Tags, Type: d.Type, DelaySeconds: d.Delay, TimeoutSeconds: d.Timeout,
		MaxRetries: d.MaxRetries, MaxRetriesDown: d.MaxRetriesDown, HTTPMethod: value(d.HTTPMethod),
		URLPath: value(d.URLPath), ExpectedCodes: value(d.ExpectedCodes), AdminDown: !d.AdminStateUp,
		ProvisioningStatus: d.ProvisioningStatus,
	}
}

// value reads a field that may be null.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
