// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// unanswered makes a request go to the API or not, and ends its connection.
func unanswered(carriedOut bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
		if carriedOut {
			forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	}
}

// TestRotationDeletesNoCredentialThatTheSecretMayHold lets the write to the Secret
// fail, with and without being carried out.
func TestRotationDeletesNoCredentialThatTheSecretMayHold(t *testing.T) {
	simulatorOnly(t, "the cloud's part is the same in TestCredentialIsCreatedAndRotatedInItsSecret")
	s := newStage(t, settings{off: true, nodes: []string{}})
	person, session := s.person()
	secret, inUse := s.credentialSecret(person)
	held := func() string {
		_, id := inUse()
		return id
	}
	count := func() int {
		keystone := s.cloud.backend.(simulated).Keystone()
		return keystone.Counts()["application_credentials"]
	}
	front := s.frontAs(s.adminKubeconfig())
	for _, c := range []struct {
		name string
		how  func(http.ResponseWriter, *http.Request, http.Handler)
		// times is how many writes fail, blind whether nothing can be read after the
		// first of them.
		times int
		blind bool
		// fails is what the command then says, rotated whether the Secret holds another
		// one, and more how many credentials are there that were not before.
		fails   string
		rotated bool
		more    int
	}{
		{"the answer is lost", unanswered(true), 9, false, "", true, 0},
		{"the first write is lost", unanswered(false), 1, false, "", true, 0},
		{"all writes are lost", unanswered(false), 9, false, "it is unknown whether", false, 1},
		{"the answer is lost, and nothing can be read", unanswered(true), 9, true, "it is unknown whether", true, 1},
		{"the write is lost, and nothing can be read", unanswered(false), 9, true, "it is unknown whether", false, 1},
		{"the write is refused", answerStatus(http.StatusForbidden), 9, false, "write Secret", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			before, there := held(), count()
			writes := 0
			front.spoil(func(r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/secrets/") {
					return false
				}
				if r.Method == http.MethodPatch {
					writes++
					return writes <= c.times
				}
				return c.blind && writes > 0
			}, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method == http.MethodPatch {
					c.how(w, r, forward)
					return
				}
				w.WriteHeader(http.StatusInternalServerError)
			})
			_, err := s.credential("rotate", "--cloud-config="+person, "--kubeconfig="+front.kubeconfig, "--secret="+secret, "--delete-old-after=0s")
			front.spoil(nil, nil)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Error(err)
			}
			now := held()
			if (now != before) != c.rotated {
				t.Errorf("the Secret held %s and holds %s", before, now)
			}
			if _, err := session.ApplicationCredential(t.Context(), now); err != nil {
				t.Errorf("the Secret holds one that is none: %v", err)
			}
			if n := count() - there; n != c.more {
				t.Errorf("there are %d more application credentials, not %d", n, c.more)
			}
		})
	}
}
