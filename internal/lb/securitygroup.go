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
	name := g.ClusterName
	if room := maxText - len(text) - len(mark); len(name) > room {
		name = strings.ToValidUTF8(name[:max(room, 0)], "")
	}
	return cut(text + name + mark)
}

var nodesGroupMark = regexp.MustCompile(`\(` + regexp.QuoteMeta(clusterTag) + `(\S+) ` + regexp.QuoteMeta(classTag) + `([^\s)]+)\)$`)

// Owns tells whether a security group of the project is this one: by its name or, if
// somebody gave it another one, by its description. One whose description names another
// cluster is not, whatever its name.
func (g NodesGroup) Owns(name, description string) bool {
	if mark := nodesGroupMark.FindStringSubmatch(description); mark != nil {
		return mark[1] == g.ClusterUID && mark[2] == g.Class
	}
	return name == g.Name() && !strings.Contains(description, clusterTag)
}

// SecurityGroupName is the name of the security group that
// openstack-cloud-controller-manager makes for the Service.
func (o Owner) SecurityGroupName() string {
	return cut("lb-sg-" + o.ServiceUID + "-" + o.Namespace + "-" + o.Name)
}

// SecurityGroupDescription is that group's description.
func (o Owner) SecurityGroupDescription() string {
	return cut("Security Group for " + o.Namespace + "/" + o.Name + " Service LoadBalancer in cluster " + o.ClusterName)
}
