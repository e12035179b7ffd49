// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider has what depends on Octavia's provider, amphora or ovn: what it refuses, how
// long a change takes and which parts are ACTIVE after it, the operating statuses, and the
// configuration of the data plane. Its functions use one tree and nothing else of the state. It
// imports the packages model and fault, and the model of package dataplane.
package provider
