// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package octavia is the simulator's Octavia v2: load balancers, listeners,
// pools, members, health monitors, L7 policies and their rules, with their provisioning statuses,
// the lock on the whole tree during a change, and the errors of the real service (Octavia 11,
// providers amphora and ovn) with its status codes and messages. Amphorae are not simulated; their
// list is empty. L7 policies are stored and checked, but the data plane ignores them.
//
// Timestamps have whole seconds, as with the real service on MySQL: of two
// changes within one second updated_at shows only one.
//
// The package has the routes of the API: a table for each resource (see the type resource), and the
// steps of its creation, change and deletion. The other parts are separate packages. They import
// only packages below them, which a test checks:
//
//	view      documents and lists in JSON
//	validate  makes objects from requests, and refuses invalid combinations
//	schema    bodies of requests: their attributes, types and limits
//	state     the objects, quotas, the lock of a load balancer and its changes
//	provider  what amphora and ovn refuse, and the results of their changes
//	model     the types of the objects
//	fault     errors with Octavia's messages
//
// Of the simulator they import packages release and wire, the types of package neutron in the
// VIP calls, the errors of package barbican, and the model of package dataplane.
package octavia
