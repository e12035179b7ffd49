// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron is the simulator's Neutron v2: networks, subnets, ports,
// routers, floating IPs, security groups, tags and quotas, with the refusals
// of the real service (Neutron 21) under their own error types, statuses and
// messages. The simulated Octavia asks it for VIP ports through Go calls.
//
// Of the project it imports only packages release and wire.
package neutron
