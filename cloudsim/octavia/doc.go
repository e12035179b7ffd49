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
// changes within one second updated_at shows only one.
//
// The package has the routes of the API: a table for each resource (see the type
// resource), and what is done in which order when it is created, changed and
// deleted. What else there is to it has packages of its own. They import only those
// below them, which a test holds:
//
//	view      documents and lists in JSON
//	validate  makes objects of requests, and refuses what makes no sense
//	schema    bodies of requests: their attributes, types and limits
//	state     the objects, quotas, the lock of a load balancer and its changes
//	provider  what amphora and ovn refuse, and what comes of a change with them
//	model     the types of the objects
//	fault     refusals in Octavia's words
//
// Of the simulator they import packages release and wire, the types of package neutron in the
// VIP calls, the errors of package barbican, and the model of package dataplane.
package octavia
