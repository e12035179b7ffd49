// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// How long the simulated Octavia takes.
const buildTime, updateTime = 20 * time.Millisecond, 10 * time.Millisecond

// simulated is a simulated OpenStack.
type simulated struct {
	*cloudsim.Cloud
	balancers, networks, secrets http.Handler
}

// simulate starts one.
func simulate() (*cloud, error) {
	c := &cloud{}
	// Octavia's times are whole seconds, and of two changes within one the sweep
	// sees one. Here each has a second of its own.
	var second atomic.Int64
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	sim, err := cloudsim.Start(cloudsim.Options{
		APIVersion: "2.26", BuildTime: buildTime, UpdateTime: updateTime, DeleteTime: updateTime,
		Octavia: octavia.Options{
			Now:      func() time.Time { return begin.Add(time.Duration(second.Add(1)) * time.Second) },
			OnChange: c.changed,
		},
	})
	if err != nil {
		return nil, err
	}
	s := simulated{Cloud: sim, balancers: sim.Octavia().Mux(), networks: sim.Neutron().Mux(), secrets: sim.Barbican().Mux()}
	c.backend = s
	return c, s.makeFlavor()
}

// sim is the cloud as a simulated one; the test of a real one has no use for it.
func (c *cloud) sim() simulated { return c.backend.(simulated) }

// makeFlavor makes the flavor as the cloud's administrator would.
func (s simulated) makeFlavor() error {
	var made map[string]struct{ ID string }
	for _, o := range []struct{ collection, body string }{
		{"flavorprofiles", `{"flavorprofile": {"name": "test", "provider_name": "amphora", "flavor_data": "{\"loadbalancer_topology\": \"SINGLE\"}"}}`},
		{"flavors", `{"flavor": {"name": "` + flavorName + `", "flavor_profile_id": "%s", "enabled": true}}`},
	} {
		body := strings.Replace(o.body, "%s", made["flavorprofile"].ID, 1)
		status, answer, _ := s.as("admin", cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/"+o.collection, []byte(body))
		if err := json.Unmarshal(answer, &made); err != nil || status != http.StatusCreated {
			return fmt.Errorf("make the flavor: %d: %s %w", status, answer, err)
		}
	}
	return nil
}

// request does not go over the network.
func (s simulated) request(service, method, path string, body []byte) (status int, answer []byte, err error) {
	return s.as("load-balancer_member", service, method, path, body)
}

// as makes a request of a user with the role.
func (s simulated) as(role, service, method, path string, body []byte) (status int, answer []byte, err error) {
	ids := s.IDs()
	caller := wire.Identity{UserID: ids.User, ProjectID: ids.Project, Roles: []string{"member", "reader", "creator", role}}
	handler := s.balancers
	switch service {
	case cloudsim.Network:
		handler = s.networks
	case cloudsim.KeyManager:
		handler = s.secrets
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), caller)))
	return w.Code, w.Body.Bytes(), nil
}

func (s simulated) subnet() string        { return s.IDs().PrivateSubnet }
func (s simulated) publicNetwork() string { return s.IDs().PublicNetwork }
func (s simulated) close() error          { return s.Close() }
