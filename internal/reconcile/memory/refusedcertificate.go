// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"maps"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// RefusedCertificates are the certificates that Octavia could not read for a login. Listeners do not use them for a
// while. The map is replaced, never changed in place.
type RefusedCertificates struct {
	// Login identifies the login. With another one, Octavia may read them.
	Login string
	// By has the refusals. The keys are the references of the certificates.
	By map[string]RefusedCertificate
	// Again is whether the pass should be decided once more, without these certificates.
	Again bool
}

// RefusedCertificate is one certificate that Octavia could not read.
type RefusedCertificate struct {
	// Said is what Octavia said, with the id of the request.
	Said string
	// Tries says when it is tried again.
	Tries timing.Tries
}

// Of returns what Octavia said about certificates, by their references: waiting has the certificates that are not to be
// tried yet, due has those that are to be tried now.
func (r RefusedCertificates) Of(login string, now time.Time) (waiting, due map[string]string) {
	waiting, due = map[string]string{}, map[string]string{}
	for ref, one := range r.By {
		switch {
		case login != r.Login:
		case one.Tries.Wait(now) > 0:
			waiting[ref] = one.Said
		default:
			due[ref] = one.Said
		}
	}
	return waiting, due
}

// With returns the certificates with some more that were refused together. Certificates that were due for longer than
// the longest wait of b, but were not tried, are not wanted any more, and are forgotten.
func (r RefusedCertificates) With(refs []string, login, said string, now time.Time, b timing.Backoff) RefusedCertificates {
	by := map[string]RefusedCertificate{}
	if login == r.Login {
		maps.Copy(by, r.By)
	}
	maps.DeleteFunc(by, func(_ string, one RefusedCertificate) bool { return now.Sub(one.Tries.Next) > b.Last })
	for _, ref := range refs {
		by[ref] = RefusedCertificate{Said: said, Tries: by[ref].Tries.Again(now, b)}
	}
	return RefusedCertificates{Login: login, By: by}
}

// Accepted returns what remains after Octavia accepted certificates.
func (r RefusedCertificates) Accepted(refs []string) RefusedCertificates {
	by := maps.Clone(r.By)
	for _, ref := range refs {
		delete(by, ref)
	}
	return RefusedCertificates{Login: r.Login, By: by}
}
