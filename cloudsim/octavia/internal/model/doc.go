// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model has Octavia's objects: a load balancer with the tree of its parts, flavors,
// availability zones and quotas. Its functions only read a tree or move parts of it; other packages
// decide who may change an object, and when. It imports nothing of the project.
package model
