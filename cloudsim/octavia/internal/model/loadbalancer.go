// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "net/netip"

// LoadBalancer is a load balancer with its VIPs, listeners and pools.
type LoadBalancer struct {
	Object
	Name, Description, Project string
	Provider, Flavor, Zone     string
	Subnet, Network, Port      string
	Address                    string
	CIDR                       netip.Prefix // of the VIP's subnet
	Additional                 []AdditionalVIP
	VIPGroups                  []string // security groups instead of source ranges
	VIPIsDirect                bool     // the port of the VIP is of type direct
	AdminUp                    bool
	Listeners                  []*Listener
	Pools                      []*Pool
	Changing                   bool // a change of it is in progress
	Held                       bool // its changes do not end
	Built                      bool // has been ACTIVE once
}

// Tree returns the load balancer.
func (lb *LoadBalancer) Tree() *LoadBalancer { return lb }

// AdditionalVIP is a VIP besides the first.
type AdditionalVIP struct{ Subnet, Address string }
