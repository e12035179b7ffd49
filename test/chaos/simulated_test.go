// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// How long the simulated Octavia takes.
const buildTime, updateTime = 20 * time.Millisecond, 10 * time.Millisecond

// simulated is a simulated OpenStack.
type simulated struct {
	*cloudsim.Cloud
	client *openstack.SimulatedClient
}

// startSimulated starts a simulated cloud of the release.
func startSimulated(played release.Release) (*cloud, error) {
	c := &cloud{}
	// Octavia's times are whole seconds, and of two changes within one the sweep
	// sees one. Here each has a second of its own.
	var second atomic.Int64
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	sim, err := cloudsim.Start(cloudsim.Options{
		Release: played, BuildTime: buildTime, UpdateTime: updateTime, DeleteTime: updateTime,
		Octavia: octavia.Options{
			Now:      func() time.Time { return begin.Add(time.Duration(second.Add(1)) * time.Second) },
			OnChange: c.changed,
		},
	})
	if err != nil {
		return nil, err
	}
	s := simulated{Cloud: sim, client: openstack.SimulatedUser(sim)}
	c.backend = s
	return c, s.makeFlavor()
}

// sim returns the cloud as a simulated one; the test of a real one has no use for it.
func (c *cloud) sim() simulated { return c.backend.(simulated) }

// makeFlavor creates the flavor as the cloud's administrator would.
func (s simulated) makeFlavor() error {
	admin := openstack.SimulatedAdmin(s.Cloud)
	var made map[string]struct{ ID string }
	for _, o := range []struct{ collection, body string }{
		{"flavorprofiles", `{"flavorprofile": {"name": "test", "provider_name": "amphora", "flavor_data": "{\"loadbalancer_topology\": \"SINGLE\"}"}}`},
		{"flavors", `{"flavor": {"name": "` + flavorName + `", "flavor_profile_id": "%s", "enabled": true}}`},
	} {
		body := json.RawMessage(strings.Replace(o.body, "%s", made["flavorprofile"].ID, 1))
		if err := openstack.Call(context.Background(), admin, cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/"+o.collection, body, &made); err != nil {
			return fmt.Errorf("make the flavor: %w", err)
		}
	}
	return nil
}

func (s simulated) user() openstack.Requester { return s.client }
func (s simulated) subnet() string            { return s.IDs().PrivateSubnet }
func (s simulated) publicNetwork() string     { return s.IDs().PublicNetwork }
func (s simulated) close() error              { return s.Close() }
