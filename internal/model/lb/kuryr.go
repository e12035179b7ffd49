// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"slices"
	"strings"
)

// KuryrFloatingIP is the description that Kuryr-Kubernetes gave to the floating IPs that it created. It names no
// Service.
const KuryrFloatingIP = "kuryr_lb"

// KuryrName returns the name that Kuryr-Kubernetes gave to the Service's load balancer. It set no tags that distinguish
// Services.
func (o Owner) KuryrName() string { return o.Namespace + "/" + o.Name }

// MadeByKuryr reports whether Kuryr created the load balancer for the Service: its name and its VIP are those of the
// Service. An address occurs only once in a subnet, so it cannot be the load balancer of another cluster.
func (o Owner) MadeByKuryr(l LoadBalancer) bool {
	return o.ClusterIP != "" && l.Name == o.KuryrName() && l.VIP.Address == o.ClusterIP && l.VIP.SubnetID == o.ServiceSubnetID
}

// ownsFromKuryr is ownsTagged for a listener or pool of Kuryr, named <namespace>/<name>:<protocol>:<port>, and with the
// tags that an operator requested for all objects.
func (o Owner) ownsFromKuryr(name string, tags []string) bool {
	return !o.Sharer && strings.HasPrefix(name, o.KuryrName()+":") &&
		otherValue(tags, clusterTag, o.ClusterUID) == "" && otherValue(tags, serviceTag, o.ServiceUID) == ""
}

// KuryrService returns the namespace and name of the Service of a load balancer with a name of Kuryr.
func KuryrService(l LoadBalancer) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(l.Name, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

// KeepKuryrVIPs returns the floating IPs of Kuryr with the VIPs that they led to before: for a detached floating IP,
// Neutron does not show the former VIP.
func KeepKuryrVIPs(now, before []FloatingIP) []FloatingIP {
	now = slices.Clone(now)
	for i, f := range now {
		was := slices.IndexFunc(before, func(b FloatingIP) bool { return b.ID == f.ID })
		if was >= 0 && f.PortID == "" && f.Description == KuryrFloatingIP {
			now[i].KuryrVIP = before[was].KuryrVIP
		}
	}
	return now
}
