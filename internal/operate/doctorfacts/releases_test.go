// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctorfacts

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	simulated "github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inCloud starts a cloud and returns its reader.
func inCloud(t *testing.T, options cloudsim.Options) cloud {
	t.Helper()
	sim, err := cloudsim.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	conf, err := config.Parse("cloud.conf", []byte(sim.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return cloud{config: conf, session: session}
}

func TestTheQuotaOfOctaviaIsReadInEachRelease(t *testing.T) {
	for _, r := range release.All {
		t.Run(r.String(), func(t *testing.T) {
			c := inCloud(t, cloudsim.Options{Release: r, Octavia: simulated.Options{DefaultQuota: &simulated.Quota{LoadBalancers: 10, Listeners: -1, Pools: 50, Members: -1, HealthMonitors: -1}}})
			var found doctor.Octavia
			c.readOctavia(t.Context(), &found)
			want := doctor.Value(map[string]int{"load_balancer": 10, "listener": -1, "pool": 50, "member": -1, "health_monitor": -1})
			if diff := cmp.Diff(want, found.Quota); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	c := inCloud(t, cloudsim.Options{Nodes: []cloudsim.Node{{Name: "node-1"}}})
	read := func() (facts doctor.Cloud) {
		c.readOctavia(t.Context(), &facts.Octavia)
		c.readNetwork(t.Context(), &facts.Network, doctor.Controllers{Route: true})
		return facts
	}
	want := read()
	for what, missing := range map[string]doctor.Missing{
		"quota of Octavia": want.Octavia.Quota.Missing, "quota of Neutron": want.Network.Quota.Missing, "ports": want.Network.Ports.Missing,
		"free addresses": want.Network.Availability.Missing, "security groups": want.Network.Groups.Missing, "networks": want.Network.Networks.Missing,
	} {
		if missing.Kind != doctor.Present {
			t.Errorf("%s: %+v", what, missing)
		}
	}
	direct := &http.Transport{} // without the rate limit
	t.Cleanup(direct.CloseIdleConnections)
	client := &c.session.Network().HTTPClient // shared by all services
	rapid.Check(t, func(t *rapid.T) {
		client.Transport = mutate.Newer{Next: direct, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		got := read()
		maps.DeleteFunc(got.Network.Quota.Value, func(kind string, _ doctor.Quota) bool { return strings.HasPrefix(kind, "zz_new_") })
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
