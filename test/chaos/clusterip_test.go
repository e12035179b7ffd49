// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterIPLabel selects a Service for cluster-ip mode.
const clusterIPLabel = "at-cluster-ip"

// clusterIPMode returns the lines of cloud.conf for it.
func clusterIPMode(subnetID string) string {
	return fmt.Sprintf("\n[ClusterIP]\nenabled = true\nservice-subnet-id = %q\nselector = %s\n", subnetID, clusterIPLabel)
}

// atClusterIP creates a Service of type ClusterIP that gets a load balancer there.
func atClusterIP(v *corev1.Service) {
	ofType(corev1.ServiceTypeClusterIP)(v)
	metav1.SetMetaDataLabel(&v.ObjectMeta, clusterIPLabel, "yes")
}

func notSelected(v *corev1.Service) { delete(v.Labels, clusterIPLabel) }

// hasClusterIPMode reports whether the Service gets a load balancer at its ClusterIP.
func hasClusterIPMode(v *corev1.Service) bool { return v.Labels[clusterIPLabel] != "" }

// serviceSubnet finds or creates the subnet of the ClusterIPs, in the network of the other VIPs.
func (c *cloud) serviceSubnet() (id string, err error) {
	const name = "chaos-cluster-ips"
	var there struct{ Subnets []struct{ ID string } }
	if err := c.neutron(http.MethodGet, "subnets?name="+name, nil, &there); err != nil {
		return "", err
	}
	if len(there.Subnets) > 0 {
		return there.Subnets[0].ID, nil
	}
	var beside struct {
		Subnet struct {
			NetworkID string `json:"network_id"`
		}
	}
	if err := c.neutron(http.MethodGet, "subnets/"+c.subnet(), nil, &beside); err != nil {
		return "", err
	}
	var routers struct{ Routers []struct{ ID string } }
	if err := c.neutron(http.MethodGet, "routers", nil, &routers); err != nil || len(routers.Routers) == 0 {
		return "", fmt.Errorf("find a router: %d, %w", len(routers.Routers), err)
	}
	var made struct{ Subnet struct{ ID string } }
	err = c.neutron(http.MethodPost, "subnets", map[string]any{"subnet": map[string]any{
		"network_id": beside.Subnet.NetworkID, "name": name, "ip_version": 4, "cidr": "10.96.0.0/15", "gateway_ip": "10.97.0.1", "enable_dhcp": false,
		"allocation_pools": []any{map[string]any{"start": "10.97.0.2", "end": "10.97.255.254"}},
	}}, &made)
	if err != nil {
		return "", err
	}
	return made.Subnet.ID, c.neutron(http.MethodPut, "routers/"+routers.Routers[0].ID+"/add_router_interface", map[string]any{"subnet_id": made.Subnet.ID}, nil)
}
