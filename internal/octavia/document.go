// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// The documents of Octavia's API v2, as far as they are used. Pointers are
// fields that are left out of a request, or null in an answer.

type reference struct {
	ID string `json:"id"`
}

// taggedDocument is anything with tags.
type taggedDocument struct {
	ID   string   `json:"id"`
	Tags []string `json:"tags"`
}

func (d taggedDocument) id() string { return d.ID }

type loadBalancerDocument struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Description        string                `json:"description"`
	Tags               []string              `json:"tags"`
	ProjectID          string                `json:"project_id"`
	Provider           string                `json:"provider"`
	FlavorID           *string               `json:"flavor_id"`
	AvailabilityZone   *string               `json:"availability_zone"`
	VIPAddress         string                `json:"vip_address"`
	VIPSubnetID        *string               `json:"vip_subnet_id"`
	VIPNetworkID       string                `json:"vip_network_id"`
	VIPPortID          string                `json:"vip_port_id"`
	AdditionalVIPs     []vipDocument         `json:"additional_vips"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
	OperatingStatus    string                `json:"operating_status"`
	UpdatedAt          *string               `json:"updated_at"`
}

// vipDocument is an additional VIP. Its address is null where a provider took the wish
// and did not carry it out.
type vipDocument struct {
	SubnetID  string  `json:"subnet_id"`
	IPAddress *string `json:"ip_address,omitempty"`
}

func (d loadBalancerDocument) id() string { return d.ID }

// additionalVIPs are those that there are.
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
		AdditionalVIPs: d.additionalVIPs(),
		AdminDown:      !d.AdminStateUp, ProvisioningStatus: d.ProvisioningStatus, OperatingStatus: d.OperatingStatus,
		UpdatedAt: value(d.UpdatedAt),
	}
}

type listenerDocument struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Tags               []string              `json:"tags"`
	Protocol           lb.ListenerProtocol   `json:"protocol"`
	ProtocolPort       int                   `json:"protocol_port"`
	ConnectionLimit    int                   `json:"connection_limit"`
	AllowedCIDRs       []string              `json:"allowed_cidrs"`
	ClientData         *int                  `json:"timeout_client_data"`
	MemberConnect      *int                  `json:"timeout_member_connect"`
	MemberData         *int                  `json:"timeout_member_data"`
	TCPInspect         *int                  `json:"timeout_tcp_inspect"`
	InsertHeaders      map[string]any        `json:"insert_headers"`
	Certificate        *string               `json:"default_tls_container_ref"`
	SNI                []string              `json:"sni_container_refs"`
	DefaultPoolID      *string               `json:"default_pool_id"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
}

func (d listenerDocument) id() string { return d.ID }

func (d listenerDocument) model() lb.Listener {
	return lb.Listener{
		ID: d.ID, Name: d.Name, Tags: d.Tags, Protocol: d.Protocol, Port: d.ProtocolPort,
		ConnectionLimit: d.ConnectionLimit, AllowedCIDRs: d.AllowedCIDRs, AdminDown: !d.AdminStateUp,
		Timeouts: d.timeouts(), InsertHeaders: d.headers(), TLS: d.tls(), ProvisioningStatus: d.ProvisioningStatus,
	}
}

// headers are those that are switched on: Octavia takes "true" and "false" as texts, in
// any case.
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

// timeouts is nil where Octavia is too old to show any.
func (d listenerDocument) timeouts() *lb.Timeouts {
	if d.ClientData == nil && d.MemberConnect == nil && d.MemberData == nil && d.TCPInspect == nil {
		return nil
	}
	return &lb.Timeouts{ClientData: value(d.ClientData), MemberConnect: value(d.MemberConnect), MemberData: value(d.MemberData), TCPInspect: value(d.TCPInspect)}
}

type poolDocument struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Tags               []string              `json:"tags"`
	Protocol           lb.PoolProtocol       `json:"protocol"`
	Algorithm          lb.Algorithm          `json:"lb_algorithm"`
	SessionPersistence *persistenceDocument  `json:"session_persistence"`
	MonitorID          *string               `json:"healthmonitor_id"`
	Members            []reference           `json:"members"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
}

type persistenceDocument struct {
	Type    string `json:"type"`
	Timeout *int   `json:"persistence_timeout,omitempty"`
}

func (d poolDocument) id() string { return d.ID }

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
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Address            string                `json:"address"`
	ProtocolPort       int                   `json:"protocol_port"`
	SubnetID           *string               `json:"subnet_id"`
	Weight             int                   `json:"weight"`
	MonitorPort        *int                  `json:"monitor_port"`
	Backup             bool                  `json:"backup"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
	OperatingStatus    string                `json:"operating_status"`
}

func (d memberDocument) id() string { return d.ID }

func (d memberDocument) model() lb.Member {
	return lb.Member{
		ID: d.ID, Name: d.Name, Address: d.Address, Port: d.ProtocolPort, SubnetID: value(d.SubnetID),
		Weight: d.Weight, MonitorPort: value(d.MonitorPort), Backup: d.Backup, AdminDown: !d.AdminStateUp,
		ProvisioningStatus: d.ProvisioningStatus, OperatingStatus: d.OperatingStatus,
	}
}

type monitorDocument struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	Tags               []string              `json:"tags"`
	Type               lb.MonitorType        `json:"type"`
	Delay              int                   `json:"delay"`
	Timeout            int                   `json:"timeout"`
	MaxRetries         int                   `json:"max_retries"`
	MaxRetriesDown     int                   `json:"max_retries_down"`
	HTTPMethod         *string               `json:"http_method"`
	URLPath            *string               `json:"url_path"`
	ExpectedCodes      *string               `json:"expected_codes"`
	AdminStateUp       bool                  `json:"admin_state_up"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
}

func (d monitorDocument) id() string { return d.ID }

func (d monitorDocument) model() lb.HealthMonitor {
	return lb.HealthMonitor{
		ID: d.ID, Name: d.Name, Tags: d.Tags, Type: d.Type, DelaySeconds: d.Delay, TimeoutSeconds: d.Timeout,
		MaxRetries: d.MaxRetries, MaxRetriesDown: d.MaxRetriesDown, HTTPMethod: value(d.HTTPMethod),
		URLPath: value(d.URLPath), ExpectedCodes: value(d.ExpectedCodes), AdminDown: !d.AdminStateUp,
		ProvisioningStatus: d.ProvisioningStatus,
	}
}

// value reads a field that may be null.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
