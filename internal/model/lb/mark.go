// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"slices"
	"strings"
)

// Mark identifies the owner of a cloud object: the uids of a cluster and of a Service.
type Mark struct {
	ClusterUID, ServiceUID string
}

// MarkOf returns the mark in the tags of a load balancer or a child. ok is false if there is no mark. It is also false
// if the tags name another cluster, another Service or, in tags of openstack-cloud-controller-manager, a Service of
// another name.
func MarkOf(tags []string) (_ Mark, ok bool) {
	clusters, services, names := valuesOf(tags, clusterTag), valuesOf(tags, serviceTag), valuesOf(tags, namePrefix)
	if len(clusters) != 1 || len(services) != 1 || len(names) > 1 || clusters[0] == "" || services[0] == "" {
		return Mark{}, false
	}
	return Mark{ClusterUID: clusters[0], ServiceUID: services[0]}, true
}

// valuesOf returns the different values of the tags with the prefix, including empty ones.
func valuesOf(tags []string, prefix string) (values []string) {
	for _, t := range tags {
		if v, ok := strings.CutPrefix(t, prefix); ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// Marked reports whether the load balancer has the mark of a Service, so that it may be deleted while the Service
// stays. A load balancer of openstack-cloud-controller-manager gets the mark once it is ACTIVE. If the cloud has no
// tags, no mark is needed.
func (c Capabilities) Marked(l LoadBalancer) bool {
	return ServiceUIDOf(l.Tags) != "" || !c.Has(FeatureTags)
}

// floatingIPMark matches the beginning of FloatingIPDescription and KeptFloatingIPDescription, up to the mark.
var floatingIPMark = regexp.MustCompile(
	"^" + floatingIPPrefix + `\S* \((` + keptWord + ")?" + regexp.QuoteMeta(clusterTag) + `(\S+) ` + regexp.QuoteMeta(serviceTag) + `([^\s)]+)\)`)

// MarkOfFloatingIP returns the mark in the description of a floating IP, and whether it was kept for a user. Floating
// IPs of users or of openstack-cloud-controller-manager have no mark.
func MarkOfFloatingIP(f FloatingIP) (_ Mark, kept, ok bool) {
	found := floatingIPMark.FindStringSubmatch(f.Description)
	if found == nil {
		return Mark{}, false, false
	}
	return Mark{ClusterUID: found[2], ServiceUID: found[3]}, found[1] != "", true
}
