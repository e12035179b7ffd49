// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"strings"
)

// Mark is whose an object in the cloud is, by uid: that of one cluster and that
// of one Service of it.
type Mark struct {
	ClusterUID, ServiceUID string
}

// MarkOf reads the mark in the tags of a load balancer or of anything below it.
// There is none, ok is false, where a uid is missing, and where another cluster,
// another Service or, by openstack-cloud-controller-manager's tags, a Service of
// another name says that the object is its own, too.
func MarkOf(tags []string) (_ Mark, ok bool) {
	clusters, services, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range tags {
		if uid, is := strings.CutPrefix(t, clusterTag); is {
			clusters[uid] = true
		} else if uid, is := strings.CutPrefix(t, serviceTag); is {
			services[uid] = true
		} else if strings.HasPrefix(t, namePrefix) {
			names[t] = true
		}
	}
	if len(clusters) != 1 || len(services) != 1 || len(names) > 1 {
		return Mark{}, false
	}
	m := Mark{ClusterUID: only(clusters), ServiceUID: only(services)}
	return m, m.ClusterUID != "" && m.ServiceUID != ""
}

// Marked reports whether the load balancer bears the mark of a Service, so that it may be
// deleted though the Service stays. One that openstack-cloud-controller-manager made gets
// the mark when it is ACTIVE. Where there are no tags, nothing needs one.
func (c Capabilities) Marked(l LoadBalancer) bool {
	return ServiceUIDOf(l.Tags) != "" || !c.Has(FeatureTags)
}

// only returns the one member of the set.
func only(set map[string]bool) string {
	for one := range set {
		return one
	}
	return ""
}

// floatingIPMark is what FloatingIPDescription and KeptFloatingIPDescription put
// into a description, with all that comes before it.
var floatingIPMark = regexp.MustCompile(
	"^" + floatingIPPrefix + `\S* \((` + keptWord + ")?" + regexp.QuoteMeta(clusterTag) + `(\S+) ` + regexp.QuoteMeta(serviceTag) + `([^\s)]+)\)`)

// MarkOfFloatingIP reads the mark in the description of a floating IP, and
// whether it is kept for a person. One that nobody marked, or that
// openstack-cloud-controller-manager made, has none.
func MarkOfFloatingIP(f FloatingIP) (_ Mark, kept, ok bool) {
	found := floatingIPMark.FindStringSubmatch(f.Description)
	if found == nil {
		return Mark{}, false, false
	}
	return Mark{ClusterUID: found[2], ServiceUID: found[3]}, found[1] != "", true
}
