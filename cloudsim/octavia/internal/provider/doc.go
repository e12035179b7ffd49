// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is what differs between Octavia's providers, amphora and ovn, or is
// up to them: what they refuse, how long a change takes and which parts are ACTIVE after
// it, the operating statuses, and what the data plane is to do. The functions see one
// tree and know nothing of the rest of the state. It imports the packages model and fault,
// and the model of package dataplane.
package provider
