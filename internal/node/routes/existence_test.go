// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

// Neutron 26 and 29 answer 500 to calls about tags of a port that does not exist.
func TestTagsOfADeletedPortAreGoneInEachRelease(t *testing.T) {
	for _, r := range release.All {
		t.Run(r.String(), func(t *testing.T) {
			_, routes := inCloudOf(t, cloudsim.Options{Release: r}, openstack.Rate{})
			port := Port{ID: "5d9e3b5a-0000-4000-8000-000000000001"}
			if _, err := routes.Cloud.mark(t.Context(), port, "ours"); openstack.Classify(err) != openstack.Gone {
				t.Errorf("mark: %v", err)
			}
			if _, err := routes.Cloud.unmark(t.Context(), port, "ours"); openstack.Classify(err) != openstack.Gone {
				t.Errorf("unmark: %v", err)
			}
		})
	}
}
