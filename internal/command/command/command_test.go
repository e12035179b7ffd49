// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import "testing"

func TestAVersionIsNeverEmpty(t *testing.T) {
	if got := Version(""); got == "" {
		t.Error("without a version of the build nothing is said")
	}
}
