// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"io"
	"net/http"
	"testing"
)

func TestAQuotaLimitsChildrenUnlessItSaysOtherwise(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		limits bool
	}{
		"no limits":                   {`{"quota": {"load_balancer": 10, "listener": -1, "pool": -1, "member": -1, "health_monitor": -1}}`, false},
		"the older names":             {`{"quota": {"loadbalancer": 10, "listener": -1, "pool": -1, "member": -1, "healthmonitor": -1}}`, false},
		"a limit of pools":            {`{"quota": {"listener": -1, "pool": 50, "member": -1, "health_monitor": -1}}`, true},
		"no pools":                    {`{"quota": {"listener": -1, "pool": 0, "member": -1, "health_monitor": -1}}`, true},
		"an unknown limit of members": {`{"quota": {"listener": -1, "pool": -1, "member": null, "health_monitor": -1}}`, true},
		"the names of Octavia 19":     {`{"quota": {"project_id": "p", "tenant_id": "p", "loadbalancer": 10, "load_balancer": 10, "listener": -1, "pool": -1, "member": -1, "healthmonitor": -1, "health_monitor": -1}}`, false},
		"texts for numbers":           {`{"quota": {"listener": "-1", "pool": "-1", "member": "-1", "health_monitor": "-1", "used": {"pool": 1}}}`, false},
		"two spellings that differ":   {`{"quota": {"listener": -1, "pool": -1, "member": -1, "health_monitor": 5, "healthmonitor": -1}}`, true},
		"an empty answer":             {`{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.answer) })
			quota, err := c.Quota(t.Context())
			if err != nil || quota.LimitsChildren() != test.limits {
				t.Errorf("%v, %v", quota, err)
			}
		})
	}
}
