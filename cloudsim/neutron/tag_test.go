// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestTagsOfMissingObjectsAre500Since2025AndThoseOfOtherProjectsStay404(t *testing.T) {
	for r, missing := range map[release.Release]int{release.Zed: http.StatusNotFound, release.Epoxy: http.StatusInternalServerError, release.Newest: http.StatusInternalServerError} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			port := c.port()
			for path, want := range map[string]int{
				"/v2.0/ports/5d9e3b5a-0000-4000-8000-000000000001/tags":       missing,
				"/v2.0/floatingips/5d9e3b5a-0000-4000-8000-000000000001/tags": missing,
				"/v2.0/ports/" + port + "/tags":                               http.StatusNotFound,
			} {
				for _, method := range []string{"GET", "PUT", "DELETE"} {
					c.call(bob, method, path, `{"tags": ["a"]}`).must(want)
				}
			}
		})
	}
}
