// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestAdminChangesSettings(t *testing.T) {
	c := start(t, cloudsim.Options{BuildTime: time.Second})
	status, got := admin(t, c, "PUT", "/settings", `{"api_version":"2.10","provider":"ovn","update_time":"2s","token_lifetime":"5m"}`)
	want := map[string]any{"api_version": "2.10", "provider": "ovn", "build_time": "1s", "update_time": "2s", "delete_time": "0s", "token_lifetime": "5m0s"}
	if diff := cmp.Diff(want, got); diff != "" || status != 200 {
		t.Error(status, diff)
	}
	for name, bad := range map[string]string{
		"unknown version":          `{"api_version":"9.9"}`,
		"unknown provider":         `{"provider":"nonsense"}`,
		"negative time":            `{"build_time":"-1s"}`,
		"number instead of a time": `{"build_time":1}`,
		"unknown key":              `{"typo":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			if status, answer := admin(t, c, "PUT", "/settings", bad); status != 400 || answer["error"] == nil {
				t.Errorf("%s: got %d %v", bad, status, answer)
			}
		})
	}
	if _, after := admin(t, c, "GET", "/settings", ""); cmp.Diff(want, after) != "" {
		t.Errorf("a refused change changed something: %v", after)
	}
	octavia, _ := balancers(t, c)
	lb, err := loadbalancers.Create(t.Context(), octavia, loadbalancers.CreateOpts{VipSubnetID: c.IDs().PrivateSubnet}).Extract()
	if err != nil || lb.Provider != "ovn" {
		t.Errorf("got %+v %v", lb, err)
	}
}
