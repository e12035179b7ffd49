// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dataplane makes the simulator's load balancers carry traffic: it
// opens their listeners on loopback addresses and forwards to their members
// the way an amphora's haproxy and keepalived would.
//
// VIPs, floating IPs, members and monitors are addresses of 127.0.0.0/8 (or
// ::1); the package never uses any other address, unless the caller sets a [Place], such as a
// network namespace, in which sockets are opened. The package does not depend on the OpenStack
// APIs: its input are plain [LoadBalancer] values, and it reports the operating status of members.
//
// It imports the standard library, logr, a TCP proxy and a PROXY protocol
// library, and nothing of this project.
package dataplane
