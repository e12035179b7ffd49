// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is Octavia's database and its workers: the objects by id, the quotas and usage of
// projects, the lock of a load balancer during a change, and the change itself, which ends after a
// time. It does not handle HTTP, and does not check requests. It imports the packages provider,
// model and fault, and package wire of the simulator, whose fault injection can make a change fail.
package state
