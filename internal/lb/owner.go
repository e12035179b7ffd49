// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is the longest name, description or tag that Octavia and Neutron
// take, in characters.
const maxText = 255

// namePrefix begins the names of load balancers, as
// openstack-cloud-controller-manager has them.
const namePrefix = "kube_service_"

// The tags that say whose an object is. They hold no comma and no slash: lists
// are filtered by comma-separated tags, and Neutron has tags in its paths.
const (
	ownTags    = "kube-octavia."
	clusterTag = ownTags + "cluster="
	serviceTag = ownTags + "service="
	// replacesTag names, by its id, the load balancer in whose place this one was built.
	replacesTag = ownTags + "replaces="
	// shareTag is what people set: who may use the load balancer.
	shareTag = ownTags + "share="
)

// Owner is the Service that objects in the cloud belong to. Names, tags and
// descriptions of all of them are made here.
type Owner struct {
	// ClusterName is --cluster-name: part of the names that people read, and
	// not unique.
	ClusterName string `json:"clusterName"`
	// ClusterUID is the uid of the kube-system namespace.
	ClusterUID string `json:"clusterUID"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// ServiceUID is the uid of the Service.
	ServiceUID string `json:"serviceUID"`
	// Guest reports whether the load balancer was created for another owner: what bears no mark
	// is the other one's then.
	Guest bool `json:"guest,omitempty"`
}

// LoadBalancerName is kube_service_<cluster>_<namespace>_<name>, cut at 255
// bytes, as openstack-cloud-controller-manager names its load balancers.
func (o Owner) LoadBalancerName() string {
	return cut(namePrefix + o.ClusterName + "_" + o.Namespace + "_" + o.Name)
}

// ListenerName is the name of the listener made for the Service's port number
// i at the time. It is not unique over time, see Listener.Key.
func (o Owner) ListenerName(i int) string { return o.childName("listener", i) }

// MetricsListenerName is the name of the listener that tells about the load balancer.
func (o Owner) MetricsListenerName() string { return cut("listener_metrics_" + o.LoadBalancerName()) }

// PoolName is the name of the pool made for port number i.
func (o Owner) PoolName(i int) string { return o.childName("pool", i) }

// MonitorName is the name of the health monitor made for port number i.
func (o Owner) MonitorName(i int) string { return o.childName("monitor", i) }

func (o Owner) childName(kind string, i int) string {
	return cut(kind + "_" + strconv.Itoa(i) + "_" + o.LoadBalancerName())
}

// longestLegacyName is how long the names of load balancers were that
// openstack-cloud-controller-manager and its predecessors made up to version 1.14.
const longestLegacyName = 32

// LegacyName is how openstack-cloud-controller-manager named the load balancer up to
// version 1.14: by the Service's uid. It keeps those that it has, and so do we.
func (o Owner) LegacyName() string {
	name := "a" + strings.ReplaceAll(o.ServiceUID, "-", "")
	return name[:min(len(name), longestLegacyName)]
}

// Description is the load balancer's description.
func (o Owner) Description() string {
	return cut(fmt.Sprintf("%s%s/%s%s%s", descriptionPrefix, o.Namespace, o.Name, fromCluster, o.ClusterName))
}

// The parts of a load balancer's description, as openstack-cloud-controller-manager
// has them.
const (
	descriptionPrefix = "Kubernetes external service "
	fromCluster       = " from cluster "
)

// describes reports whether the description is one that the load balancer would have if it
// was made for the Service: none, the one of today, or, as of old, the name.
func (o Owner) describes(l LoadBalancer) bool {
	return l.Description == "" || l.Description == o.Description() || l.Description == descriptionPrefix+l.Name
}

// ServiceOfCluster is a Service as openstack-cloud-controller-manager describes it on a
// load balancer.
type ServiceOfCluster struct{ Namespace, Name, Cluster string }

// DescribedService reads the description of a load balancer that was made for a Service.
func DescribedService(description string) (_ ServiceOfCluster, ok bool) {
	rest, ours := strings.CutPrefix(description, descriptionPrefix)
	service, cluster, named := strings.Cut(rest, fromCluster)
	namespace, name, both := strings.Cut(service, "/")
	if !ours || !named || !both || namespace == "" || name == "" || strings.Contains(name, "/") {
		return ServiceOfCluster{}, false
	}
	return ServiceOfCluster{Namespace: namespace, Name: name, Cluster: cluster}, true
}

// MadeForAService reports whether the load balancer was made for a Service of some
// cluster, by its name, description or tags.
func MadeForAService(l LoadBalancer) bool {
	_, described := DescribedService(l.Description)
	return described || strings.HasPrefix(l.Name, namePrefix) || slices.ContainsFunc(l.Tags, func(t string) bool {
		return strings.HasPrefix(t, namePrefix) || strings.HasPrefix(t, clusterTag)
	})
}

// ClusterUIDOf returns the cluster's uid in the tags, or "".
func ClusterUIDOf(tags []string) string { return otherValue(tags, clusterTag, "") }

// Tags are the tags of the load balancer and of everything below it: its name,
// which is how openstack-cloud-controller-manager marks what it made, the
// cluster's uid and the Service's.
func (o Owner) Tags() []string {
	return []string{o.LoadBalancerName(), ClusterTag(o.ClusterUID), o.ServiceTag()}
}

// GuestTags are the tags of a load balancer of another owner on which the Service has
// ports: that by which openstack-cloud-controller-manager tells who uses it.
func (o Owner) GuestTags() []string { return []string{o.LoadBalancerName()} }

// Owns reports whether a load balancer that the Service uses was made for it, rather than
// for another owner.
func (o Owner) Owns(l LoadBalancer) bool {
	if ServiceUIDOf(l.Tags) != "" {
		return slices.Contains(l.Tags, o.ServiceTag())
	}
	return l.Name == o.LoadBalancerName() || l.Name == o.LegacyName()
}

// Abandoned reports whether the load balancer was made for a Service of the owner's cluster
// that does not use it any more, and left it to those that do.
func (o Owner) Abandoned(l LoadBalancer) bool {
	return slices.Contains(l.Tags, ClusterTag(o.ClusterUID)) && otherValue(l.Tags, clusterTag, o.ClusterUID) == "" && ServiceUIDOf(l.Tags) == ""
}

// Users are the tags of the Services that have ports on the load balancer, as
// openstack-cloud-controller-manager counts them.
func Users(l LoadBalancer) []string {
	return slices.DeleteFunc(slices.Clone(l.Tags), func(t string) bool { return !strings.HasPrefix(t, namePrefix) })
}

// MayUse reports whether the load balancer, which is not the owner's alone, may be one that
// openstack-cloud-controller-manager let the owner use: it bears the owner's name among its
// tags, and nothing on it names another cluster. One that has the owner's name for its own
// has to be shared: otherwise it would be the owner's, and something contradicts that.
func (o Owner) MayUse(l LoadBalancer) bool {
	of, described := DescribedService(l.Description)
	named := l.Name == o.LoadBalancerName() || l.Name == o.LegacyName()
	return slices.Contains(l.Tags, o.LoadBalancerName()) && otherValue(l.Tags, clusterTag, o.ClusterUID) == "" &&
		(!described || of.Cluster == o.ClusterName) && (!named || o.SharedBy(l) != "")
}

// Shares reports whether the tags of a load balancer that people made, or that is another
// Service's, let Services of the namespace have ports on it.
func Shares(tags []string, namespace string) bool {
	return slices.Contains(tags, shareTag+namespace) || slices.Contains(tags, shareTag+"*")
}

// ClusterTag is the tag that everything of one cluster bears.
func ClusterTag(clusterUID string) string { return clusterTag + clusterUID }

// ReplacesTag is the tag of a load balancer that is built beside the one with the id, to
// take its place. It is there from the create on, so that neither is ever taken for one
// that was made twice.
func ReplacesTag(id string) string { return replacesTag + id }

// Replaces returns the id in such a tag, or "".
func Replaces(tags []string) string { return otherValue(tags, replacesTag, "") }

// ServiceUIDOf returns the Service uid in the tags, or "".
func ServiceUIDOf(tags []string) string { return otherValue(tags, serviceTag, "") }

// otherValue returns what the first tag with the prefix says that does not say
// own, or "".
func otherValue(tags []string, prefix, own string) string {
	for _, t := range tags {
		if v, ok := strings.CutPrefix(t, prefix); ok && v != own {
			return v
		}
	}
	return ""
}

// The parts of a floating IP's description. Neutron takes no tags in the call
// that makes a floating IP, so the description is what carries its identity.
// openstack-cloud-controller-manager deletes by the first part, Magnum by the
// last, so both stay as those know them.
const (
	floatingIPPrefix = "Floating IP for Kubernetes external service "
	floatingIPSuffix = fromCluster
	// keptWord begins the mark of one that a Service left to the project.
	keptWord = "kept "
)

// FloatingIPDescription is the description of a floating IP made for the
// Service. Namespace and name give way when it would be too long.
func (o Owner) FloatingIPDescription() string { return o.floatingIPDescription("") }

// KeptFloatingIPDescription is the description that such a floating IP gets when
// the Service is to leave it to the project: from then on it is a person's, and
// nobody takes it for one that was forgotten.
func (o Owner) KeptFloatingIPDescription() string { return o.floatingIPDescription(keptWord) }

func (o Owner) floatingIPDescription(word string) string {
	mark := " (" + word + ClusterTag(o.ClusterUID) + " " + serviceTag + o.ServiceUID + ")"
	tail := mark + floatingIPSuffix + o.ClusterName
	name := cutTo(o.Namespace+"/"+o.Name, maxText-len(floatingIPPrefix)-len(tail))
	return cut(floatingIPPrefix + name + tail)
}

// MadeFloatingIP reports whether the floating IP was made for a Service by this
// Service's cluster, and so may be deleted with it; any other one was given by
// a person and is only detached. One that openstack-cloud-controller-manager
// made is known by the Service and cluster name in its description.
func (o Owner) MadeFloatingIP(f FloatingIP) bool {
	rest, ok := strings.CutPrefix(f.Description, floatingIPPrefix)
	if !ok {
		return false
	}
	if strings.Contains(rest, clusterTag) {
		mark, kept, ok := MarkOfFloatingIP(f)
		return ok && !kept && mark == o.mark()
	}
	return rest == o.Namespace+"/"+o.Name+floatingIPSuffix+o.ClusterName
}

// KeptFloatingIP reports whether the floating IP was made for the Service and then
// kept. It is not deleted any more, and may serve the Service again.
func (o Owner) KeptFloatingIP(f FloatingIP) bool {
	mark, kept, ok := MarkOfFloatingIP(f)
	return ok && kept && mark == o.mark()
}

func (o Owner) mark() Mark { return Mark{ClusterUID: o.ClusterUID, ServiceUID: o.ServiceUID} }

// Claim is what the marks on a load balancer say of an owner's right to it.
type Claim struct {
	// Ours is whether the owner may write to the load balancer.
	Ours bool
	// Adopted is set when it is ours by name and description only and bears
	// no cluster's uid yet: openstack-cloud-controller-manager made it.
	Adopted bool
	// Reason says, for one that is not ours, whose it is.
	Reason string
}

// Claims decides whether the load balancer is the owner's. Tags with uids
// decide where there are any, whatever the name; only without them do name and
// description together count. The least contradiction makes it foreign. One that
// openstack-cloud-controller-manager lets Services share is its owner's by its name and the
// owner's tag; one that we let them share has lost its owner's uid when that has left it.
func (o Owner) Claims(l LoadBalancer) Claim {
	if uid := otherValue(l.Tags, clusterTag, o.ClusterUID); uid != "" {
		return Claim{Reason: fmt.Sprintf("load balancer %s has the uid of another cluster (%s)", l.ID, uid)}
	}
	if uid := otherValue(l.Tags, serviceTag, o.ServiceUID); uid != "" {
		return Claim{Reason: fmt.Sprintf("load balancer %s belongs to another Service (uid %s)", l.ID, uid)}
	}
	if slices.Contains(l.Tags, o.ServiceTag()) {
		return Claim{Ours: true}
	}
	sharer := o.SharedBy(l)
	switch {
	case l.Name != o.LoadBalancerName() && l.Name != o.LegacyName():
		return Claim{Reason: fmt.Sprintf("load balancer %s is named %q and has no tag of this Service", l.ID, l.Name)}
	case !o.describes(l):
		return Claim{Reason: o.othersDescription(l)}
	case sharer != "" && (ClusterUIDOf(l.Tags) != "" || !slices.Contains(l.Tags, o.LoadBalancerName())):
		return Claim{Reason: fmt.Sprintf("load balancer %s also serves another Service, according to its tag %q", l.ID, sharer)}
	}
	return Claim{Ours: true, Adopted: true}
}

// othersDescription says whose a load balancer is that has the right name and another
// description.
func (o Owner) othersDescription(l LoadBalancer) string {
	of, ok := DescribedService(l.Description)
	if ok && of.Cluster != o.ClusterName {
		return fmt.Sprintf("load balancer %s belongs to another cluster (%s), according to its description %q", l.ID, of.Cluster, l.Description)
	}
	return fmt.Sprintf("load balancer %s has the description %q", l.ID, l.Description)
}

// ServiceTag is the tag that makes a load balancer this Service's.
func (o Owner) ServiceTag() string { return serviceTag + o.ServiceUID }

// SharedBy returns the tag of a Service with another name that has ports on the load
// balancer, as openstack-cloud-controller-manager sets it, or "". The load balancer's own
// name is no other Service's: the cluster may have had another name.
func (o Owner) SharedBy(l LoadBalancer) string { return o.anothersName(l, l.Tags) }

func (o Owner) anothersName(l LoadBalancer, tags []string) string {
	i := slices.IndexFunc(tags, func(t string) bool {
		return strings.HasPrefix(t, namePrefix) && t != o.LoadBalancerName() && t != l.Name
	})
	if i < 0 {
		return ""
	}
	return tags[i]
}

// ServiceNamed returns the Service, as namespace/name, whose name is among the tags, or "".
// Namespaces and names of Services hold no underscore.
func (o Owner) ServiceNamed(tags []string) string {
	for _, t := range tags {
		rest, ours := strings.CutPrefix(t, namePrefix+o.ClusterName+"_")
		if namespace, name, both := strings.Cut(rest, "_"); ours && both && !strings.Contains(name, "_") {
			return namespace + "/" + name
		}
	}
	return ""
}

// MarkedByAnother reports whether the tags of a part of the owner's load balancer bear the
// mark of another Service or cluster.
func (o Owner) MarkedByAnother(l LoadBalancer, tags []string) bool {
	return otherValue(tags, clusterTag, o.ClusterUID) != "" || otherValue(tags, serviceTag, o.ServiceUID) != "" ||
		!slices.Contains(tags, o.ServiceTag()) && o.anothersName(l, tags) != ""
}

// OwnsListener reports whether a listener of the load balancer was made for this
// Service: by its tags, or, on the owner's own, because it has none at all.
func (o Owner) OwnsListener(l Listener) bool { return o.ownsTagged(l.Tags) }

// OwnsPool tells the same of a pool that no listener uses. Pools made by
// openstack-cloud-controller-manager bear no tags; they are known by name.
func (o Owner) OwnsPool(p Pool) bool {
	if len(p.Tags) > 0 {
		return o.ownsTagged(p.Tags)
	}
	rest, _ := strings.CutPrefix(p.Name, "pool_")
	index, _, _ := strings.Cut(rest, "_")
	i, err := strconv.Atoi(index)
	return err == nil && i >= 0 && p.Name == o.PoolName(i)
}

func (o Owner) ownsTagged(tags []string) bool {
	switch {
	case len(tags) == 0:
		return !o.Guest
	case otherValue(tags, clusterTag, o.ClusterUID) != "", otherValue(tags, serviceTag, o.ServiceUID) != "":
		return false
	}
	return slices.Contains(tags, o.ServiceTag()) || slices.Contains(tags, o.LoadBalancerName())
}

// cut shortens s to the longest text the cloud takes, by bytes as
// openstack-cloud-controller-manager does, yet never in the middle of a
// character.
func cut(s string) string { return cutTo(s, maxText) }

// cutTo shortens s to so many bytes. What is no UTF-8 loses no more than a few others.
func cutTo(s string, most int) string {
	most = max(most, 0)
	if len(s) <= most {
		return s
	}
	end := most
	for end > max(most-utf8.UTFMax, 0) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
