// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"strings"
	"testing"
)

const server = "0b5f3c0e-51f6-4c0f-9e0e-4f1f5a0c7b11"

func TestServerIDIsReadFromEachFormOfProviderID(t *testing.T) {
	for _, providerID := range []string{
		"openstack:///" + server, "openstack://RegionOne/" + server, "/" + server, "openstack:///" + strings.ToUpper(server),
	} {
		if id, err := ServerID(providerID); id != server || err != nil {
			t.Errorf("ServerID(%q) = %q, %v", providerID, id, err)
		}
	}
}

func TestProviderIDOfAnotherCloudHasNoServer(t *testing.T) {
	for _, test := range []struct{ providerID, says string }{
		{"", "is empty"},
		{"aws:///eu-west-1a/i-0123456789abcdef0", "is not of OpenStack"},
		{"k3s://node-1", "is not of OpenStack"},
		{"openstack://" + server, "does not have the form"},
		{"openstack:///node-1", "does not have the form"},
		{"openstack:///" + server + "/x", "does not have the form"},
		{server, "does not have the form"},
	} {
		id, err := ServerID(test.providerID)
		if id != "" || err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("ServerID(%q) = %q, %v; want an error that says %q", test.providerID, id, err, test.says)
		}
	}
}

func FuzzServerID(f *testing.F) {
	f.Add("openstack:///" + server)
	f.Add("openstack://r/" + server)
	f.Fuzz(func(t *testing.T, providerID string) {
		id, err := ServerID(providerID)
		if (err == nil) != serverID.MatchString(id) {
			t.Errorf("ServerID(%q) = %q, %v", providerID, id, err)
		}
		if err == nil && !strings.HasSuffix(strings.ToLower(providerID), "/"+id) {
			t.Errorf("ServerID(%q) = %q, which is not in it", providerID, id)
		}
	})
}
