// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron is the simulator's Neutron v2: networks, subnets, ports, routers, floating IPs,
// security groups, tags and quotas. Its errors have the types, statuses and messages of the real
// service (Neutron 21). The simulated Octavia requests VIP ports through Go calls.
//
// Of the project it imports only packages release and wire.
package neutron
