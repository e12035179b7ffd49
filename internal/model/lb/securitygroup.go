// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"strings"
)

const (
	// nodesGroupPrefix begins the names of our security groups.
	nodesGroupPrefix = "kube-octavia-nodes-"
	classTag         = "kube-octavia.class="
)

// NodesGroup identifies the security group of a cluster's nodes for load balancer traffic. Controllers of different
// classes have one each, so that they do not undo each other's changes.
type NodesGroup struct {
	// ClusterName is only informative; ClusterUID and Class identify the group.
	ClusterName, ClusterUID, Class string
}

// Name returns the name of the group, with the cluster's uid and the class.
func (g NodesGroup) Name() string { return cut(nodesGroupPrefix + g.ClusterUID + "-" + g.Class) }

// Description returns the description of the group. Neutron sets no tags when it creates a group, so name and
// description identify it. A long cluster name is cut.
func (g NodesGroup) Description() string {
	const text = "NodePorts of load balancers of Kubernetes cluster "
	mark := " (" + ClusterTag(g.ClusterUID) + " " + classTag + g.Class + ")"
	return cut(text + cutTo(g.ClusterName, maxText-len(text)-len(mark)) + mark)
}

var nodesGroupMark = regexp.MustCompile(`\(` + regexp.QuoteMeta(clusterTag) + `(\S+) ` + regexp.QuoteMeta(classTag) + `([^\s)]+)\)$`)

// Owns reports whether a security group is this one: by its name or, if that was changed, by its description. A group
// whose description names another cluster is a different group, whatever its name.
func (g NodesGroup) Owns(name, description string) bool {
	if mark := nodesGroupMark.FindStringSubmatch(description); mark != nil {
		return mark[1] == g.ClusterUID && mark[2] == g.Class
	}
	return name == g.Name() && !strings.Contains(description, clusterTag)
}

// The parts of the name and description of openstack-cloud-controller-manager's security group for a Service.
const (
	serviceGroupPrefix = "lb-sg-"
	serviceGroupText   = "Security Group for "
	serviceGroupOf     = " Service LoadBalancer in cluster "
)

// SecurityGroupName returns the name of openstack-cloud-controller-manager's security group for the
// Service.
func (o Owner) SecurityGroupName() string {
	return cut(serviceGroupPrefix + o.ServiceUID + "-" + o.Namespace + "-" + o.Name)
}

// SecurityGroupDescription returns the description of openstack-cloud-controller-manager's security group for the
// Service.
func (o Owner) SecurityGroupDescription() string {
	return cut(serviceGroupText + o.Namespace + "/" + o.Name + serviceGroupOf + o.ClusterName)
}

// ServiceOfSecurityGroup returns the Service for which a security group was created. ok is false unless name and
// description are unchanged and agree. A long cluster name may be cut: see MadeInCluster.
func ServiceOfSecurityGroup(name, description string) (o Owner, ok bool) {
	text, described := strings.CutPrefix(description, serviceGroupText)
	service, cluster, whole := strings.Cut(text, serviceGroupOf)
	o.ServiceUID, o.ClusterName = uidOfSecurityGroup(name), cluster
	o.Namespace, o.Name, ok = strings.Cut(service, "/")
	return o, ok && described && whole && o.ServiceUID != "" && name == o.SecurityGroupName()
}

// MadeInCluster reports whether the owner, as returned by ServiceOfSecurityGroup, is of this cluster.
func (o Owner) MadeInCluster(clusterName string) bool {
	there := o
	there.ClusterName = clusterName
	return o.SecurityGroupDescription() == there.SecurityGroupDescription()
}

// SecurityGroupOfService returns the uid of the Service in the cluster for which a security group was created, or
// "". The description may be missing; but if it names another cluster or Service, the result is "".
func SecurityGroupOfService(clusterName, name, description string) (serviceUID string) {
	if strings.Contains(description, serviceGroupOf) {
		if o, ok := ServiceOfSecurityGroup(name, description); !ok || !o.MadeInCluster(clusterName) {
			return ""
		}
	}
	return uidOfSecurityGroup(name)
}

// uidOfSecurityGroup returns the Service's uid in the name of a security group, or "".
func uidOfSecurityGroup(name string) string {
	if match := serviceGroupName.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}

var serviceGroupName = regexp.MustCompile(`^` + serviceGroupPrefix + `([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-.`)
