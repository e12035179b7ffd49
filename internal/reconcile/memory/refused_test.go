// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Nodes that an autoscaler adds and removes have new addresses each time.
func TestRefusedMembersThatAreWantedNoMoreAreForgotten(t *testing.T) {
	b := timing.Backoff{First: time.Minute, Last: 10 * time.Minute}
	now := time.Now()
	var r RefusedMembers
	for i := range 100 {
		r = r.With(lb.Member{Address: fmt.Sprintf("192.0.2.%d", i), Port: 80}, "reserved", now, b)
		now = now.Add(5 * time.Minute)
	}
	if len(r.Single) > 4 {
		t.Errorf("%d members are remembered", len(r.Single))
	}
	latest := lb.Member{Address: "192.0.2.99", Port: 80}
	if _, known := r.Single[latest.Key()]; !known {
		t.Error("the latest one is forgotten")
	}
}
