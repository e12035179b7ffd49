// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model has the objects that Octavia knows: a load balancer with the tree
// of what is below it, and what a cloud offers for load balancers. The functions only
// look around in a tree or move something in it; who may change an object, and when, is
// decided elsewhere. It imports nothing of the project.
package model
