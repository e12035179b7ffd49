// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/netip"

type loadBalancer struct {
	object
	name, description, project string
	provider, flavor, zone     string
	subnet, network, port      string
	address                    string
	cidr                       netip.Prefix // of the VIP's subnet
	additional                 []additionalVIP
	adminUp                    bool

	listeners []*listener
	pools     []*pool
	changing  bool // a change of it is under way
	held      bool // its changes do not end
	built     bool // has been ACTIVE once
}

type additionalVIP struct{ subnet, address string }
