// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"strings"
	"testing"
)

// TestToolsThatDeleteClustersFindTheObjects holds names and descriptions to the rules by which tools that delete clusters
// select what openstack-cloud-controller-manager created. docs/magnum-and-cluster-api.md lists them.
func TestToolsThatDeleteClustersFindTheObjects(t *testing.T) {
	const uuid = "5d12f6fd-a196-4bf0-ae4c-1f639a523a52"
	// Octavia and Neutron store 255 bytes.
	longest := Owner{ClusterName: uuid, ClusterUID: uuid, ServiceUID: uuid, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("s", 63)}
	usual := Owner{ClusterName: uuid, ClusterUID: uuid, ServiceUID: uuid, Namespace: "shop", Name: "web"}
	affixes := func(prefix, suffix string) func(string) bool {
		return func(s string) bool { return strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix) }
	}
	// Python's re.match looks at the beginning only.
	magnumBalancer := regexp.MustCompile("^Kubernetes .+ from cluster " + uuid).MatchString
	magnumFloatingIP := regexp.MustCompile("^Floating IP for Kubernetes .+ from cluster " + uuid + "$").MatchString
	for name, o := range map[string]Owner{
		"usual names":   usual,
		"longest names": longest,
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				rule, text string
				matches    func(string) bool
			}{
				{"load balancers of Magnum", o.Description(), magnumBalancer},
				{"floating IPs of Magnum", o.FloatingIPDescription(), magnumFloatingIP},
				{"floating IPs of Magnum, although the Service kept it", o.KeptFloatingIPDescription(), magnumFloatingIP},
				{"load balancers of the janitor", o.LoadBalancerName(), affixes("kube_service_"+uuid+"_", "")},
				{"floating IPs of the janitor", o.FloatingIPDescription(), affixes("Floating IP for Kubernetes external service", "from cluster "+uuid)},
				{"floating IPs of the janitor, although the Service kept it", o.KeptFloatingIPDescription(), affixes("Floating IP for Kubernetes external service", "from cluster "+uuid)},
				{"security groups of the janitor", o.SecurityGroupDescription(), affixes("Security Group for", "Service LoadBalancer in cluster "+uuid)},
			} {
				t.Run(c.rule, func(t *testing.T) {
					if !c.matches(c.text) {
						t.Errorf("%q is not found", c.text)
					}
				})
			}
			another := o
			another.ClusterName = "another"
			if magnumBalancer(another.Description()) || magnumFloatingIP(another.FloatingIPDescription()) {
				t.Error("Magnum finds what another cluster has")
			}
		})
	}
	nodes := NodesGroup{ClusterName: uuid, ClusterUID: uuid, Class: "kube-octavia.io/octavia"}
	if affixes("Security Group for", "Service LoadBalancer in cluster "+uuid)(nodes.Description()) {
		t.Error("the page says that the janitor leaves the security group of the nodes")
	}
}
