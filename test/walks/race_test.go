// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package walks_test

// The race detector makes walks five times as slow. A few show races; all else is tested without it.
func init() { *count, withRaceDetector = 8, true }
