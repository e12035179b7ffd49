// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"testing"
	"time"
)

func TestBackoffGrowsUpToTheMaximum(t *testing.T) {
	b, now := Backoff{First: 10 * time.Second, Last: time.Minute}, time.Unix(1000, 0)
	var tries Tries
	if wait := tries.Wait(now); wait != 0 {
		t.Errorf("the first attempt waits %v", wait)
	}
	for i := range 20 {
		tries = tries.Again(now, b)
		least := min(b.First<<min(i, 9), b.Last)
		if wait := tries.Wait(now); wait < least || wait > least+least/5+1 {
			t.Errorf("after attempt %d it waits %v, want %v and a little", i+1, wait, least)
		}
	}
	if wait := tries.Wait(now.Add(time.Hour)); wait != 0 {
		t.Errorf("an hour later it waits %v", wait)
	}
}
