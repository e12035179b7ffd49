// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault words refusals as Octavia does, with its status codes. It imports
// nothing of the project.
package fault
