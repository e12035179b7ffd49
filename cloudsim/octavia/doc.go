// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package octavia is the simulator's Octavia v2: load balancers, listeners,
// pools, members, health monitors, L7 policies and their rules with their
// provisioning states, the lock on the whole tree while a change is under way,
// and the refusals of the real service (Octavia 11, providers amphora and ovn)
// with its status codes and fault texts. Amphorae are left out; their list is
// empty. L7 policies are kept and checked, and the data plane does not follow
// them.
//
// Timestamps have whole seconds, as with the real service on MySQL: of two
// changes within one second updated_at tells only one.
//
// Of the project it imports package wire, the types of package neutron in the
// VIP calls, and the model of package dataplane.
package octavia
