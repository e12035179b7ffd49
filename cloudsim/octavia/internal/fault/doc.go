// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault has the errors of Octavia, with its messages and status codes. Of the project it
// imports only package wire.
package fault
