// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dataplane makes the simulator's load balancers carry traffic: it
// opens their listeners on loopback addresses and forwards to their members
// the way an amphora's haproxy and keepalived would.
//
// VIPs, floating IPs, members and monitors are addresses of 127.0.0.0/8 (or
// ::1); nothing else is ever listened on or dialled, unless the user of the
// package says in which [Place], such as a network namespace, it is to be done.
// The package knows nothing of the OpenStack APIs: it is given plain
// [LoadBalancer] values and tells the operating status of members back.
//
// It imports the standard library, logr, a TCP proxy and a PROXY protocol
// library, and nothing of this project.
package dataplane
