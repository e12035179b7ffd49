// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

func TestTheLeaseIsWhereTheFlagSays(t *testing.T) {
	if got := (&controllerOptions{leaseNamespace: "ns"}).namespace(); got != "ns" {
		t.Errorf("got %q", got)
	}
}
