// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler answers requests without a network.
type handler func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements http.RoundTripper.
func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result(), nil
}

// against returns a client of a Neutron that handle answers for.
func against(handle handler) *neutron.Client {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: handle}}
	return neutron.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://neutron.test/", ResourceBase: "http://neutron.test/v2.0/", Type: "network"})
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// plain decodes JSON; empty text is nil.
func plain(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return v
}

// simulated is a simulated cloud and clients that work on it.
type simulated struct {
	*cloudsim.Cloud
	*neutron.Client
	session *openstack.Session
}

// simulate starts a cloud and opens a session with it.
func simulate(t *testing.T) simulated {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	settings, err := config.Parse("cloud.conf", []byte(cloud.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: settings.Global})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return simulated{Cloud: cloud, Client: neutron.New(session.Network()), session: session}
}

// calls returns how often each route of Neutron was called while f ran.
func (s simulated) calls(f func()) map[string]int {
	s.Recorder().Reset()
	f()
	counts := map[string]int{}
	for _, c := range s.Recorder().Calls() {
		if c.Service == cloudsim.Network {
			counts[c.Method+" "+c.Route]++
		}
	}
	return counts
}
