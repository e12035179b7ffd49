// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package existence_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/existence"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

func TestObjectIsLookedUpAfterA500OnlyAndGoneOnlyIfAbsent(t *testing.T) {
	const there, absent = `{"ports": [{"id": "p"}]}`, `{"ports": []}`
	for name, c := range map[string]struct {
		err    error
		status int
		list   string
		want   openstack.Class
		calls  int
	}{
		"no error":                       {nil, 200, absent, "", 0},
		"a 500, and it is gone":          {&openstack.Error{Status: 500, Class: openstack.Transient}, 200, absent, openstack.Gone, 1},
		"a 500, wrapped":                 {fmt.Errorf("pass: %w", &openstack.Error{Status: 500, Class: openstack.Transient}), 200, absent, openstack.Gone, 1},
		"a 500, and it is there":         {&openstack.Error{Status: 500, Class: openstack.Transient}, 200, there, openstack.Transient, 1},
		"a 500, and only another":        {&openstack.Error{Status: 500, Class: openstack.Transient}, 200, `{"ports": [{"id": "other"}]}`, openstack.Gone, 1},
		"a 500, and it is shown deleted": {&openstack.Error{Status: 500, Class: openstack.Transient}, 200, `{"ports": [{"id": "p", "provisioning_status": "DELETED"}]}`, openstack.Gone, 1},
		"a 500, and the list fails":      {&openstack.Error{Status: 500, Class: openstack.Transient}, 500, ``, openstack.Transient, 1},
		"a 500, and there is no list":    {&openstack.Error{Status: 500, Class: openstack.Transient}, 200, `{}`, openstack.Transient, 1},
		"a 500, and the list is missing": {&openstack.Error{Status: 500, Class: openstack.Transient}, 404, ``, openstack.Transient, 1},
		"a quota":                        {&openstack.Error{Status: 500, Class: openstack.Quota}, 200, absent, openstack.Quota, 0},
		"a gateway":                      {&openstack.Error{Status: 502, Class: openstack.Transient}, 200, absent, openstack.Transient, 0},
		"no answer":                      {&openstack.Error{Class: openstack.Transient}, 200, absent, openstack.Transient, 0},
		"another error":                  {errors.New("cancelled"), 200, absent, openstack.Transient, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls++; r.URL.Path != "/v2.0/ports" || r.URL.Query().Get("id") != "p" {
					t.Errorf("a call of %s", r.URL)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.list)
			}))
			defer server.Close()
			service := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: *server.Client()}, Endpoint: server.URL + "/v2.0/"}
			err := existence.Explain(t.Context(), service, c.err, "ports", "p")
			if got := openstack.Classify(err); got != c.want || calls != c.calls {
				t.Errorf("class %s after %d calls, want %s after %d: %v", got, calls, c.want, c.calls, err)
			}
			if c.want == openstack.Gone && !strings.Contains(err.Error(), "does not exist") {
				t.Error(err)
			}
		})
	}
}

func TestObjectWithoutAnIDIsNotLookedUp(t *testing.T) {
	failed := &openstack.Error{Status: 500, Class: openstack.Transient}
	if err := existence.Explain(t.Context(), nil, failed, "ports", ""); openstack.Classify(err) != openstack.Transient {
		t.Error(err)
	}
}
