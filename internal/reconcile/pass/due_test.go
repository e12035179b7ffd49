// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"slices"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

func TestAServiceIsDueOncePerRequestedTime(t *testing.T) {
	var d due
	web := owner.ServiceKey("default", "web")
	expect := func(at time.Duration, want bool, left time.Duration) {
		t.Helper()
		if is, wait := d.take(web, noon.Add(at)); is != want || wait != left {
			t.Errorf("after %v: due %t in %v, want %t in %v", at, is, wait, want, left)
		}
	}
	expect(0, false, 0)
	d.at(web, time.Time{})
	expect(0, true, 0)
	expect(0, false, 0)
	d.at(web, noon.Add(time.Minute))
	expect(time.Second, false, 59*time.Second)
	d.at(web, noon.Add(time.Hour)) // the earlier time counts
	expect(time.Minute, true, 0)
	expect(time.Hour, false, 0)
	d.at(web, noon.Add(time.Minute))
	d.forget(web)
	expect(time.Hour, false, 0)
	d.at(web, time.Time{}) // another Service of the name was created while the pass over this one ended
	d.forget(web)
	expect(time.Hour, true, 0)
}

func TestAServiceThatWaitsUnderAQueueKeyIsNotLostWhenItGetsAnother(t *testing.T) {
	var d due
	name := func(name string) owner.Key { return owner.ServiceKey("default", name) }
	first, guest, other := name("owner"), name("guest"), name("other")
	expect := func(want []owner.Key, members ...owner.Key) {
		t.Helper()
		if have := d.movedAway(first, members); !slices.Equal(have, want) {
			t.Errorf("with %v, the others that wait are %v, want %v", members, have, want)
		}
	}
	expect(nil, first)
	d.noteWaiting(first, guest)
	d.noteWaiting(other, other)
	expect(nil, first, guest)
	d.noteWaiting(first, first)
	d.noteWaiting(first, guest)
	expect([]owner.Key{guest}, first)
	expect(nil, first)
}
