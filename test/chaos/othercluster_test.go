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

// otherCluster has the objects of another cluster of the same name in the same project, for
// a Service of the same name.
type otherCluster struct {
	balancer   balancer
	floatingIP floatingIP
	// before has the objects as they were first.
	before map[string]string
}

const otherClusterTag = "kube-octavia.cluster=8f5e2f7c-0000-4000-8000-00000000beef"
const otherServiceTag = "kube-octavia.service=8f5e2f7c-0000-4000-8000-00000000cafe"

// createOtherCluster creates another cluster's load balancer and floating IP.
func (c *cloud) createOtherCluster(namespace string) (otherCluster, error) {
	var other otherCluster
	name := "kube_service_kubernetes_" + namespace + "_" + serviceName
	var made struct{ LoadBalancer balancer }
	err := c.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "vip_subnet_id": c.subnet(), "tags": []string{name, otherClusterTag, otherServiceTag},
		"description": "Kubernetes external service " + namespace + "/" + serviceName + " from cluster kubernetes",
	}}, &made)
	if err != nil {
		return other, err
	}
	other.balancer = made.LoadBalancer
	var answer struct{ FloatingIP floatingIP }
	err = c.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": c.publicNetwork(), "port_id": other.balancer.Port,
		"description": "Floating IP for Kubernetes external service " + namespace + "/" + serviceName + " (" + otherClusterTag + " " + otherServiceTag + ") from cluster kubernetes",
	}}, &answer)
	if err != nil {
		return other, err
	}
	other.floatingIP = answer.FloatingIP
	for late := time.Now().Add(cloudDurations().deadline); time.Now().Before(late); time.Sleep(cloudDurations().pollInterval) {
		if other.before = c.otherClusterNow(other); strings.Contains(other.before["load balancer"], `"ACTIVE"`) {
			return other, nil
		}
	}
	return other, errors.New("another cluster's load balancer does not become ACTIVE")
}

// otherClusterNow has the other cluster's objects as they are now.
func (c *cloud) otherClusterNow(other otherCluster) map[string]string {
	var b, a json.RawMessage
	// One that cannot be read differs from what it was before.
	_ = c.octavia(http.MethodGet, "loadbalancers/"+other.balancer.ID, nil, &b)
	_ = c.neutron(http.MethodGet, "floatingips/"+other.floatingIP.ID, nil, &a)
	return map[string]string{"load balancer": string(b), "floating IP": string(a)}
}

// checkOtherCluster returns an error if the other cluster's objects were written to.
func (c *cloud) checkOtherCluster(other otherCluster) error {
	if d := cmp.Diff(other.before, c.otherClusterNow(other)); d != "" {
		return fmt.Errorf("another cluster's objects were changed (-before +now):\n%s", d)
	}
	for _, call := range c.Recorder().Calls() {
		theirs := strings.Contains(call.Path, other.balancer.ID) || strings.Contains(call.Path, other.floatingIP.ID) || strings.Contains(call.Path, other.balancer.Port)
		if theirs && call.Method != http.MethodGet {
			return fmt.Errorf("another cluster's object was written to: %s %s", call.Method, call.Path)
		}
	}
	return nil
}

func (c *cloud) deleteOtherCluster(other otherCluster) error {
	return errors.Join(
		c.neutron(http.MethodDelete, "floatingips/"+other.floatingIP.ID, nil, nil),
		c.octavia(http.MethodDelete, "loadbalancers/"+other.balancer.ID+"?cascade=true", nil, nil))
}
