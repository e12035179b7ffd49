// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view writes the answers of the API: the documents of resources, in the form of
// the API's version, and lists of them, filtered, sorted and in pages. It imports the
// packages model and fault, and of the simulator package release.
package view
