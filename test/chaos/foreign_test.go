// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// foreign is what another cluster of the same name has in the same project, for a
// Service of the same name.
type foreign struct {
	balancer   balancer
	floatingIP floatingIP
	// before is how all of it looked at first.
	before map[string]string
}

const otherCluster = "kube-octavia.cluster=8f5e2f7c-0000-4000-8000-00000000beef"
const otherService = "kube-octavia.service=8f5e2f7c-0000-4000-8000-00000000cafe"

// addForeign makes another cluster's load balancer and floating IP.
func (c *cloud) addForeign(namespace string) (foreign, error) {
	var f foreign
	name := "kube_service_kubernetes_" + namespace + "_" + serviceName
	var made struct{ LoadBalancer balancer }
	err := c.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "vip_subnet_id": c.subnet(), "tags": []string{name, otherCluster, otherService},
		"description": "Kubernetes external service " + namespace + "/" + serviceName + " from cluster kubernetes",
	}}, &made)
	if err != nil {
		return f, err
	}
	f.balancer = made.LoadBalancer
	var answer struct{ FloatingIP floatingIP }
	err = c.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": c.publicNetwork(), "port_id": f.balancer.Port,
		"description": "Floating IP for Kubernetes external service " + namespace + "/" + serviceName + " (" + otherCluster + " " + otherService + ") from cluster kubernetes",
	}}, &answer)
	if err != nil {
		return f, err
	}
	f.floatingIP = answer.FloatingIP
	for late := time.Now().Add(pace().deadline); time.Now().Before(late); time.Sleep(pace().pause) {
		if f.before = c.looks(f); strings.Contains(f.before["load balancer"], `"ACTIVE"`) {
			return f, nil
		}
	}
	return f, errors.New("another cluster's load balancer does not become ACTIVE")
}

// looks is how the other cluster's objects are shown.
func (c *cloud) looks(f foreign) map[string]string {
	var b, a json.RawMessage
	// If one cannot be read, it does not look as before.
	_ = c.octavia(http.MethodGet, "loadbalancers/"+f.balancer.ID, nil, &b)
	_ = c.neutron(http.MethodGet, "floatingips/"+f.floatingIP.ID, nil, &a)
	return map[string]string{"load balancer": string(b), "floating IP": string(a)}
}

// untouched reports whether anybody has written to the other cluster's objects.
func (c *cloud) untouched(f foreign) error {
	if d := cmp.Diff(f.before, c.looks(f)); d != "" {
		return fmt.Errorf("another cluster's objects were changed (-before +now):\n%s", d)
	}
	for _, call := range c.Recorder().Calls() {
		theirs := strings.Contains(call.Path, f.balancer.ID) || strings.Contains(call.Path, f.floatingIP.ID) || strings.Contains(call.Path, f.balancer.Port)
		if theirs && call.Method != http.MethodGet {
			return fmt.Errorf("another cluster's object was written to: %s %s", call.Method, call.Path)
		}
	}
	return nil
}

func (c *cloud) removeForeign(f foreign) error {
	return errors.Join(
		c.neutron(http.MethodDelete, "floatingips/"+f.floatingIP.ID, nil, nil),
		c.octavia(http.MethodDelete, "loadbalancers/"+f.balancer.ID+"?cascade=true", nil, nil))
}
