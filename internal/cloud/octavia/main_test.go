// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// amphora is a cloud with everything that this package uses.
var amphora = lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 27}, Provider: "amphora"}

var owner = lb.Owner{
	ClusterName: "kubernetes", ClusterUID: "c1", Namespace: "shop", Name: "web", ServiceUID: "s1",
}

// against returns a client of an Octavia that handle implements.
func against(t *testing.T, can lb.Capabilities, handle http.HandlerFunc) *octavia.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	provider := &gophercloud.ProviderClient{HTTPClient: *server.Client()}
	return octavia.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}, "", can)
}

// simulated is a simulated cloud with a session and a client.
type simulated struct {
	*cloudsim.Cloud
	*octavia.Client
	can lb.Capabilities
}

// simulate starts a cloud and opens a session with it.
func simulate(t *testing.T, o cloudsim.Options) simulated {
	t.Helper()
	cloud, err := cloudsim.Start(o)
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
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: settings.Global, Rate: openstack.Rate{PerSecond: 10000, Burst: 10000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	can := lb.Capabilities{Provider: o.Provider}
	if can.Provider == "" {
		can.Provider = "amphora"
	}
	if can.APIVersion.Major, can.APIVersion.Minor, err = session.OctaviaVersion(t.Context()); err != nil {
		t.Fatal(err)
	}
	return simulated{Cloud: cloud, Client: octavia.New(session.LoadBalancer(), session.ProjectID(), can), can: can}
}

// settled waits until the load balancer is no longer PENDING.
func (s simulated) settled(t *testing.T, id string) lb.LoadBalancer {
	t.Helper()
	var l lb.LoadBalancer
	eventually(t, "the load balancer settled", func() bool {
		var err error
		if l, err = s.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return !l.ProvisioningStatus.Pending()
	})
	return l
}

// calls returns how often each route of Octavia was called while f ran.
func (s simulated) calls(f func()) map[string]int {
	s.Recorder().Reset()
	f()
	counts := map[string]int{}
	for _, c := range s.Recorder().Calls() {
		if c.Service == cloudsim.LoadBalancer {
			counts[c.Method+" "+c.Route]++
		}
	}
	return counts
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.Done():
			t.Fatalf("still not: %s", what)
		case <-tick.C:
		}
	}
}
