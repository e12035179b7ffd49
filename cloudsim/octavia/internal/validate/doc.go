// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validate makes objects of requests and applies requests to them, and refuses
// what makes no sense: with the object itself, with those around it, with the project's
// quota, with the API's version, with the caller's networks and certificates. It changes
// nothing in the state. It imports the packages schema, state, provider, model and fault,
// and of the simulator release and wire, and what neutron and barbican answer.
package validate
