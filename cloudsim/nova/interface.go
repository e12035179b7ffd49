// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"cmp"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) listInterfaces(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	described := []any{}
	for _, nic := range server.Interfaces {
		described = append(described, describeInterface(nic, minor))
	}
	wire.JSON(w, http.StatusOK, map[string]any{"interfaceAttachments": described})
}

func (s *Service) showInterface(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	for _, nic := range server.Interfaces {
		if nic.PortID == r.PathValue("nic") {
			wire.JSON(w, http.StatusOK, map[string]any{"interfaceAttachment": describeInterface(nic, minor)})
			return
		}
	}
	notFound("Port id", r.PathValue("nic")).write(w)
}

func describeInterface(nic Interface, minor int) map[string]any {
	ips := []any{}
	for _, ip := range nic.FixedIPs {
		ips = append(ips, map[string]string{"subnet_id": ip.SubnetID, "ip_address": ip.Address.String()})
	}
	d := map[string]any{"port_id": nic.PortID, "net_id": nic.NetworkID, "mac_addr": nic.MAC, "port_state": cmp.Or(nic.Status, "ACTIVE"), "fixed_ips": ips}
	if minor >= 70 {
		d["tag"] = nil
	}
	return d
}
