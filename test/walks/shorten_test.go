// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import "slices"

// shorten leaves out steps of a story that fails as long as it still fails, and sets waits to zero.
func shorten(st story, log string, err error, walk func(story) (string, error)) (story, string, error) {
	for size := len(st) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(st); {
			next := slices.Concat(st[:at], st[at+size:])
			if nextLog, nextErr := walk(next); nextErr != nil {
				st, log, err, shorter = next, nextLog, nextErr, true
				continue
			}
			at += size
		}
		if !shorter || size > len(st) {
			size /= 2
		}
	}
	return st, log, err
}
