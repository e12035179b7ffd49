// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// differences are between what the Services ask for and what the cloud has, of all
// Services and of everything in the cloud. Given are the floating IPs that a person
// made, which stay whatever becomes of the Services.
func (s state) differences(services []corev1.Service, nodes []string, given []floatingIP) []error {
	var all []error
	wants := map[string]bool{}
	for i := range services {
		v := &services[i]
		wants["kube-octavia.service="+string(v.UID)] = wanted(v, nodes).Balancers > 0
		if err := s.serves(v, nodes); err != nil {
			all = append(all, err)
		}
		if err := told(v); err != nil {
			all = append(all, err)
		}
	}
	return append(all, s.leaks(wants, given)...)
}

// leaks are what the cloud has that none of the Services with these tags wants.
func (s state) leaks(wants map[string]bool, given []floatingIP) []error {
	var all []error
	ports := map[string]bool{}
	for _, b := range s.Balancers {
		ports[b.Port] = true
		if !slices.ContainsFunc(b.Tags, func(tag string) bool { return wants[tag] }) {
			all = append(all, fmt.Errorf("load balancer %s (%s, %s, tags %v) is no Service's", b.ID, b.Name, b.Status, b.Tags))
		}
	}
	for _, o := range s.VIPPorts {
		if !ports[o.ID] {
			all = append(all, fmt.Errorf("port %s of %s is no load balancer's", o.ID, o.DeviceID))
		}
	}
	there := map[string]bool{}
	for _, f := range s.FloatingIPs {
		there[f.ID] = true
		if !ports[f.Port] && !slices.ContainsFunc(given, func(g floatingIP) bool { return g.ID == f.ID }) {
			all = append(all, fmt.Errorf("floating IP %s (%q) leads nowhere", f.Address, f.Description))
		}
	}
	for _, f := range given {
		if !there[f.ID] {
			all = append(all, fmt.Errorf("the floating IP %s, which a person made, is gone", f.Address))
		}
	}
	if s.Monitors > 0 {
		all = append(all, fmt.Errorf("there are %d monitors that nobody wants", s.Monitors))
	}
	return all
}
