// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault words refusals as Octavia does, with its status codes. Of the project it
// imports only package wire.
package fault
