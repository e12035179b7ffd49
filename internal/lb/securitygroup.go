// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"strings"
)

const (
	// nodesGroupPrefix begins the names of the security groups that are made here.
	nodesGroupPrefix = "kube-octavia-nodes-"
	classTag         = "kube-octavia.class="
)

// NodesGroup is the one security group by which a cluster's nodes let in what load
// balancers send. Controllers of different classes have one each, so that none undoes
// what the other does.
type NodesGroup struct {
	// ClusterName is for people, ClusterUID and Class tell the group from all others.
	ClusterName, ClusterUID, Class string
}

// Name is the group's name. It holds the cluster's uid and the class.
func (g NodesGroup) Name() string { return cut(nodesGroupPrefix + g.ClusterUID + "-" + g.Class) }

// Description is the group's description. Neutron takes no tags in the call that makes a
// group, so name and description carry its identity. The cluster's name gives way when it
// would be too long.
func (g NodesGroup) Description() string {
	const text = "NodePorts of load balancers of Kubernetes cluster "
	mark := " (" + ClusterTag(g.ClusterUID) + " " + classTag + g.Class + ")"
	return cut(text + cutTo(g.ClusterName, maxText-len(text)-len(mark)) + mark)
}

var nodesGroupMark = regexp.MustCompile(`\(` + regexp.QuoteMeta(clusterTag) + `(\S+) ` + regexp.QuoteMeta(classTag) + `([^\s)]+)\)$`)

// Owns reports whether a security group of the project is this one: by its name or, if
// somebody gave it another one, by its description. One whose description names another
// cluster is not, whatever its name.
func (g NodesGroup) Owns(name, description string) bool {
	if mark := nodesGroupMark.FindStringSubmatch(description); mark != nil {
		return mark[1] == g.ClusterUID && mark[2] == g.Class
	}
	return name == g.Name() && !strings.Contains(description, clusterTag)
}

// The parts of name and description of the security group of one Service, as
// openstack-cloud-controller-manager has them.
const (
	serviceGroupPrefix = "lb-sg-"
	serviceGroupText   = "Security Group for "
	serviceGroupOf     = " Service LoadBalancer in cluster "
)

// SecurityGroupName is the name of the security group that
// openstack-cloud-controller-manager makes for the Service.
func (o Owner) SecurityGroupName() string {
	return cut(serviceGroupPrefix + o.ServiceUID + "-" + o.Namespace + "-" + o.Name)
}

// SecurityGroupDescription is that group's description.
func (o Owner) SecurityGroupDescription() string {
	return cut(serviceGroupText + o.Namespace + "/" + o.Name + serviceGroupOf + o.ClusterName)
}

// ServiceOfSecurityGroup returns the Service for which a security group was made, by its
// name and its description. ok is false unless both are as they were made, and agree. A
// cluster's name that was too long is not complete: see MadeInCluster.
func ServiceOfSecurityGroup(name, description string) (o Owner, ok bool) {
	text, described := strings.CutPrefix(description, serviceGroupText)
	service, cluster, whole := strings.Cut(text, serviceGroupOf)
	o.ServiceUID, o.ClusterName = uidOfSecurityGroup(name), cluster
	o.Namespace, o.Name, ok = strings.Cut(service, "/")
	return o, ok && described && whole && o.ServiceUID != "" && name == o.SecurityGroupName()
}

// MadeInCluster reports whether a description of a security group, that says for which
// Service of which cluster it was made, names this cluster.
func (o Owner) MadeInCluster(clusterName string) bool {
	there := o
	there.ClusterName = clusterName
	return o.SecurityGroupDescription() == there.SecurityGroupDescription()
}

// SecurityGroupOfService returns the uid of the Service of a cluster of this name for which a
// security group was made, or "" if it is none such. Its description may be gone; if it names
// another cluster, or another Service than the name, the group is not this cluster's.
func SecurityGroupOfService(clusterName, name, description string) (serviceUID string) {
	if strings.Contains(description, serviceGroupOf) {
		if o, ok := ServiceOfSecurityGroup(name, description); !ok || !o.MadeInCluster(clusterName) {
			return ""
		}
	}
	return uidOfSecurityGroup(name)
}

// uidOfSecurityGroup is the Service's uid in the name of a security group, or "".
func uidOfSecurityGroup(name string) string {
	if match := serviceGroupName.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}

var serviceGroupName = regexp.MustCompile(`^` + serviceGroupPrefix + `([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-.`)
