// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package walks_test

// With the race detector walks are five times as slow. A few show races; the others, and the oracle, are tested without it.
func init() { *count = 8 }
