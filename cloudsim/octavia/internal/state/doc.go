// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is Octavia's database and its workers: the objects by their ids, what
// projects have and may have of them, the lock of a load balancer while a change of it is
// under way, and the change itself, which ends after its time. It knows no HTTP and checks
// no request. It imports the packages provider, model and fault, and of the simulator
// package wire, whose fault injection can let a change fail.
package state
