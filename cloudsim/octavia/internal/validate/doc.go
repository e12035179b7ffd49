// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validate makes objects from requests and applies requests to them. It refuses requests
// that contradict the object itself, related objects, the project's quota, the API's version, or
// the caller's networks and certificates. It does not change the state. It imports the packages
// schema, state, provider, model and fault, and of the simulator release and wire, and the types
// that neutron and barbican return.
package validate
