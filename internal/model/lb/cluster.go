// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"slices"
	"strings"
)

// Cluster identifies a cluster that may no longer exist. So only the cloud objects themselves show whether they were
// created for its Services. Name is --cluster-name, UID is the uid of namespace kube-system. One of them may be empty.
//
// An object with uids is recognized by UID only. Names are not unique: they are used only for objects without uids,
// which openstack-cloud-controller-manager created.
type Cluster struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// CreatedLoadBalancer reports whether the load balancer was created for a Service of the cluster. Without a uid, its
// name and its description must both name the cluster; a renamed cluster has load balancers with its new name and
// its old description.
func (c Cluster) CreatedLoadBalancer(l LoadBalancer) bool {
	if uids := valuesOf(l.Tags, clusterTag); len(uids) > 0 {
		return c.UID != "" && slices.Contains(uids, c.UID)
	}
	if c.Name == "" {
		return false
	}
	of, described := DescribedService(l.Description)
	owner := Owner{ClusterName: c.Name, Namespace: of.Namespace, Name: of.Name}
	switch {
	case described:
		return l.Description == owner.Description() && (l.Name == owner.LoadBalancerName() || legacyNamed(l.Name))
	case l.Description == "" || l.Description == descriptionPrefix+l.Name:
		return c.serviceNamed(l.Name) != ""
	}
	return false
}

// legacyNamed reports whether the name has the form of Owner.LegacyName.
func legacyNamed(name string) bool {
	rest, ok := strings.CutPrefix(name, "a")
	return ok && len(name) == longestLegacyName && strings.Trim(rest, "0123456789abcdef") == ""
}

// serviceNamed returns the Service in the name of a load balancer of the cluster, as namespace/name, or "".
func (c Cluster) serviceNamed(name string) string {
	return Owner{ClusterName: c.Name}.ServiceNamed([]string{name})
}

// OtherUser names another user of a load balancer that was created for a Service of the cluster: then it must not be
// deleted with the cluster. It returns "" if there is no other user.
func (c Cluster) OtherUser(l LoadBalancer) string {
	names := []string{c.Name}
	if of, ok := DescribedService(l.Description); ok {
		names = append(names, of.Cluster)
	}
	for _, tag := range valuesOf(l.Tags, clusterTag) {
		if tag != c.UID {
			return "its tags have the uid of another cluster (" + tag + ")"
		}
	}
	for _, tag := range NameTags(l) {
		ours := tag == l.Name || slices.ContainsFunc(names, func(name string) bool { return name != "" && Cluster{Name: name}.serviceNamed(tag) != "" })
		if !ours {
			return fmt.Sprintf("a Service of another cluster uses it, according to its tag %q", tag)
		}
	}
	for _, child := range childrenOf(l) {
		if uid := otherValue(child.tags, clusterTag, c.UID); uid != "" {
			return fmt.Sprintf("its %s %s was created for another cluster (uid %s)", child.kind, child.id, uid)
		}
	}
	return ""
}

// child is a listener or a pool.
type child struct {
	kind, id string
	tags     []string
}

// childrenOf returns the listeners and pools of the load balancer.
func childrenOf(l LoadBalancer) (all []child) {
	for _, listener := range l.Listeners {
		all = append(all, child{"listener", listener.ID, listener.Tags})
		if listener.Pool != nil {
			all = append(all, child{"pool", listener.Pool.ID, listener.Pool.Tags})
		}
	}
	for _, pool := range l.DetachedPools {
		all = append(all, child{"pool", pool.ID, pool.Tags})
	}
	return all
}

// Sharers returns the Services of the cluster that have listeners, pools or only their name on a load balancer that
// stays, because it belongs to a user or has other users. They are in the order of their first child. A Service
// that has only its name there has no uid in the result.
func (c Cluster) Sharers(l LoadBalancer) (owners []Owner) {
	for _, child := range childrenOf(l) {
		owner, ok := c.ownerOf(child.tags)
		owner.Sharer = !c.CreatedLoadBalancer(l) || !owner.Owns(l)
		if ok && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	creator, _ := DescribedService(l.Description)
	for _, tag := range NameTags(l) {
		named := Owner{ClusterName: c.Name, ClusterUID: c.UID, Sharer: true}
		var ok bool
		named.Namespace, named.Name, ok = strings.Cut(c.serviceNamed(tag), "/")
		known := slices.ContainsFunc(owners, func(o Owner) bool { return o.Namespace == named.Namespace && o.Name == named.Name })
		known = known || tag == l.Name || named.Namespace == creator.Namespace && named.Name == creator.Name
		if ok && c.Name != "" && !known && named.TraceOn(l) == TraceOfName {
			owners = append(owners, named)
		}
	}
	return owners
}

// ownerOf returns the Service of the cluster that the tags of a listener or pool name.
func (c Cluster) ownerOf(tags []string) (o Owner, ok bool) {
	o.ClusterName, o.ClusterUID = c.Name, c.UID
	mark, marked := MarkOf(tags)
	if marked && (c.UID == "" || mark.ClusterUID != c.UID) || !marked && otherValue(tags, clusterTag, "") != "" {
		return Owner{}, false
	}
	o.ServiceUID = mark.ServiceUID
	o.Namespace, o.Name, ok = strings.Cut(o.ServiceNamed(tags), "/")
	if !ok && marked {
		return o, true // the name is too long, or has the former name of the cluster; the uids are sufficient
	}
	return o, ok && c.Name != ""
}

// CreatedFloatingIP reports whether the floating IP was created for a Service of the cluster, so that it may be deleted
// with it. A floating IP that a Service left to the project may not be deleted. At is the load balancer of the cluster
// to which it is attached, or nil.
func (c Cluster) CreatedFloatingIP(f FloatingIP, at *LoadBalancer) bool {
	if mark, kept, ok := MarkOfFloatingIP(f); ok {
		return !kept && c.UID != "" && mark.ClusterUID == c.UID
	}
	rest, ok := strings.CutPrefix(f.Description, floatingIPPrefix)
	if !ok || strings.Contains(rest, clusterTag) {
		return false
	}
	service, cluster, ok := strings.Cut(rest, floatingIPSuffix)
	if !ok || service == "" {
		return false
	}
	if at != nil && ClusterUIDOf(at.Tags) != "" {
		// openstack-cloud-controller-manager created it for a load balancer that was taken over.
		of, described := DescribedService(at.Description)
		return described && service == of.Namespace+"/"+of.Name && cluster == of.Cluster
	}
	return c.Name != "" && cluster == c.Name
}

// ServiceOfFloatingIP returns the Service in the description of a floating IP that was created for a Service, as
// namespace/name, or "". A long name is truncated.
func ServiceOfFloatingIP(f FloatingIP) string {
	rest, ok := strings.CutPrefix(f.Description, floatingIPPrefix)
	service, _, _ := strings.Cut(strings.Replace(rest, " (", floatingIPSuffix, 1), floatingIPSuffix)
	if !ok {
		return ""
	}
	return service
}

// KeptDescription returns the description that a floating IP with a mark gets when it is left to the project, or "" if
// it has no mark.
func KeptDescription(f FloatingIP) string {
	if _, kept, ok := MarkOfFloatingIP(f); !ok || kept {
		return ""
	}
	return cut(strings.Replace(f.Description, " ("+clusterTag, " ("+keptWord+clusterTag, 1))
}

// CreatedSecurityGroup reports whether the security group was created for the nodes or a Service of the cluster.
func (c Cluster) CreatedSecurityGroup(name, description string) bool {
	if mark := nodesGroupMark.FindStringSubmatch(description); mark != nil {
		return c.UID != "" && mark[1] == c.UID
	}
	if rest, ok := strings.CutPrefix(name, nodesGroupPrefix); ok {
		return c.UID != "" && strings.HasPrefix(rest, c.UID+"-") && !strings.Contains(description, clusterTag)
	}
	of, ok := ServiceOfSecurityGroup(name, description)
	return ok && c.Name != "" && of.MadeInCluster(c.Name)
}

// FloatingIPClusterUID returns the uid in the description of a floating IP, if it was created for a cluster with the
// name; or "". A floating IP that was kept belongs to a user, so the result is "".
func FloatingIPClusterUID(name string, f FloatingIP) string {
	mark, kept, ok := MarkOfFloatingIP(f)
	if !ok || kept || !strings.HasSuffix(f.Description, ")"+floatingIPSuffix+name) {
		return ""
	}
	return mark.ClusterUID
}

// ClusterUIDOfNodesGroup returns the uid of the cluster for whose nodes a security group was created, by its
// description, or "".
func ClusterUIDOfNodesGroup(description string) string {
	if mark := nodesGroupMark.FindStringSubmatch(description); mark != nil {
		return mark[1]
	}
	return ""
}

// NodesGroupClusterUID returns the uid in the description of a security group, if it was created for the nodes of a
// cluster with the name; or "".
func NodesGroupClusterUID(name, description string) string {
	mark := nodesGroupMark.FindStringSubmatch(description)
	if mark == nil || description != (NodesGroup{ClusterName: name, ClusterUID: mark[1], Class: mark[2]}).Description() {
		return ""
	}
	return mark[1]
}

// LoadBalancerClusterUID returns the uid in the tags of a load balancer, if it was created for a cluster with the name;
// or "". Several clusters, with different uids, may have the same name.
func LoadBalancerClusterUID(name string, l LoadBalancer) string {
	of, described := DescribedService(l.Description)
	named := described && of.Cluster == name || !described && Cluster{Name: name}.serviceNamed(l.Name) != ""
	if uids := valuesOf(l.Tags, clusterTag); named && len(uids) == 1 {
		return uids[0]
	}
	return ""
}
