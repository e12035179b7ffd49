// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema reads the bodies of requests: which attributes a resource has in which
// version of the API, their types and limits, and the faults for invalid values. It does not use any state. It imports
// the packages model, for the names of quotas, and fault, and of the simulator package wire.
package schema
