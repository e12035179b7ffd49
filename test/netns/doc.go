// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netns opens sockets in other network namespaces than that of the
// process, so that one test can be several nodes and their clients. A socket belongs for ever to
// the namespace in which it was opened, regardless of which goroutine uses it later. Entering a
// namespace takes root.
//
// The package imports golang.org/x/sys and nothing of the project.
package netns
