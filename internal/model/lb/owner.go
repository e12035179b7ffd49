// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is the maximum length of names, descriptions and tags in Octavia and Neutron, in characters.
const maxText = 255

// namePrefix begins the names of load balancers, as in openstack-cloud-controller-manager.
const namePrefix = "kube_service_"

// The tags that identify the owner of an object. They contain no comma and no slash: lists are filtered by
// comma-separated tags, and Neutron puts tags into URLs.
const (
	ownTags    = "kube-octavia."
	clusterTag = ownTags + "cluster="
	serviceTag = ownTags + "service="
	// replacesTag contains the id of the load balancer that this one replaces.
	replacesTag = ownTags + "replaces="
	// vipGroupsTag contains a digest of the security groups that we gave the VIP.
	vipGroupsTag = ownTags + "vip-security-groups="
	// shareTag is set by users: it names the namespace whose Services may use the load balancer, or * for all.
	shareTag = ownTags + "share="
)

// Owner is the Service that cloud objects belong to. It defines their names, tags and descriptions.
//
// Services can share a load balancer: its owner, the Service that it was created for, and sharers.
type Owner struct {
	// ClusterName is --cluster-name: part of the names, and not unique.
	ClusterName string `json:"clusterName"`
	// ClusterUID is the uid of the kube-system namespace.
	ClusterUID string `json:"clusterUID"`
	Namespace  string `json:"namespace"`
	// Name is owner.Key.CloudName.
	Name string `json:"name"`
	// ServiceUID is the uid of the Service. For default/kubernetes it is a value that stays the same when this Service
	// is deleted and created again.
	ServiceUID string `json:"serviceUID"`
	// Returns means that the Service is being deleted and will be created again with the same identity: its objects stay.
	Returns bool `json:"returns,omitempty"`
	// Sharer means that the load balancer was created for another owner, to whom untagged children belong.
	Sharer bool `json:"sharer,omitempty"`
	// ClusterIP and ServiceSubnetID are, in cluster-ip mode, the address and subnet of the VIP.
	ClusterIP       string `json:"clusterIP,omitempty"`
	ServiceSubnetID string `json:"serviceSubnetID,omitempty"`
}

// LoadBalancerName returns kube_service_<cluster>_<namespace>_<name>, truncated to 255 bytes, as in
// openstack-cloud-controller-manager.
func (o Owner) LoadBalancerName() string {
	return cut(namePrefix + o.ClusterName + "_" + o.Namespace + "_" + o.Name)
}

// NamespacedName returns namespace/name, as ServiceNamed does.
func (o Owner) NamespacedName() string { return o.Namespace + "/" + o.Name }

// CheckClusterName returns an error if no load balancer could be named with the --cluster-name. It accepts every other
// name that openstack-cloud-controller-manager accepts.
func CheckClusterName(name string) error {
	const rest = maxText - len(namePrefix) - len("_") - 1 // one byte for the part that differs from Service to Service
	switch {
	case name == "":
		return errors.New("must not be empty: it is part of the names of load balancers; kubernetes is the default")
	case !utf8.ValidString(name):
		return errors.New("must be UTF-8, as all names in OpenStack are")
	case len(name) > rest:
		return fmt.Errorf("must have at most %d bytes: load balancers are named %s<cluster>_<namespace>_<name>, which is cut at %d bytes, "+
			"so all would have the same name", rest, namePrefix, maxText)
	}
	return nil
}

// ListenerName returns the name of a new listener for the Service's i-th port. It is not unique over time, see
// Listener.Key.
func (o Owner) ListenerName(i int) string { return o.childName("listener", i) }

// MetricsListenerName returns the name of the listener for metrics.
func (o Owner) MetricsListenerName() string { return cut("listener_metrics_" + o.LoadBalancerName()) }

// PoolName returns the name of a new pool for the i-th port.
func (o Owner) PoolName(i int) string { return o.childName("pool", i) }

// MonitorName returns the name of a new health monitor for the i-th port.
func (o Owner) MonitorName(i int) string { return o.childName("monitor", i) }

func (o Owner) childName(kind string, i int) string {
	return cut(kind + "_" + strconv.Itoa(i) + "_" + o.LoadBalancerName())
}

// longestLegacyName is the maximum length of the names that openstack-cloud-controller-manager and its predecessors
// gave to load balancers up to version 1.14.
const longestLegacyName = 32

// LegacyName returns the name that openstack-cloud-controller-manager gave to the load balancer up to version 1.14,
// made of the Service's uid. Existing load balancers keep it.
func (o Owner) LegacyName() string {
	name := "a" + strings.ReplaceAll(o.ServiceUID, "-", "")
	return name[:min(len(name), longestLegacyName)]
}

// Description returns the description of the load balancer.
func (o Owner) Description() string {
	return cut(fmt.Sprintf("%s%s/%s%s%s", descriptionPrefix, o.Namespace, o.Name, fromCluster, o.ClusterName))
}

// The parts of a load balancer's description, as in openstack-cloud-controller-manager.
const (
	descriptionPrefix = "Kubernetes external service "
	fromCluster       = " from cluster "
)

// describes reports whether the description fits a load balancer of the Service: empty, the current form, or the
// old form with the name.
func (o Owner) describes(l LoadBalancer) bool {
	return l.Description == "" || l.Description == o.Description() || l.Description == descriptionPrefix+l.Name
}

// ServiceOfCluster is a Service as openstack-cloud-controller-manager describes it on a load balancer.
type ServiceOfCluster struct{ Namespace, Name, Cluster string }

// DescribedService parses the description of a load balancer that was created for a Service.
func DescribedService(description string) (_ ServiceOfCluster, ok bool) {
	rest, ours := strings.CutPrefix(description, descriptionPrefix)
	service, cluster, named := strings.Cut(rest, fromCluster)
	namespace, name, both := strings.Cut(service, "/")
	if !ours || !named || !both || namespace == "" || name == "" || strings.Contains(name, "/") {
		return ServiceOfCluster{}, false
	}
	return ServiceOfCluster{Namespace: namespace, Name: name, Cluster: cluster}, true
}

// MadeForAService reports whether the load balancer was created for a Service of any cluster, by its name,
// description or tags.
func MadeForAService(l LoadBalancer) bool {
	_, described := DescribedService(l.Description)
	return described || strings.HasPrefix(l.Name, namePrefix) || slices.ContainsFunc(l.Tags, func(t string) bool {
		return strings.HasPrefix(t, namePrefix) || strings.HasPrefix(t, clusterTag)
	})
}

// ClusterUIDOf returns the cluster uid in the tags, or "".
func ClusterUIDOf(tags []string) string { return otherValue(tags, clusterTag, "") }

// Tags returns the tags of the load balancer and its children: its name, with which
// openstack-cloud-controller-manager marks objects, the cluster's uid and the Service's uid.
func (o Owner) Tags() []string {
	return []string{o.LoadBalancerName(), ClusterTag(o.ClusterUID), o.ServiceTag()}
}

// SharerTags returns the tags that a sharer adds to the load balancer: openstack-cloud-controller-manager
// recognizes sharers by them.
func (o Owner) SharerTags() []string { return []string{o.LoadBalancerName()} }

// Joined reports whether the Service has its name or a port on the load balancer of another owner.
func (o Owner) Joined(l LoadBalancer) bool {
	return slices.Contains(l.Tags, o.LoadBalancerName()) ||
		slices.ContainsFunc(l.Listeners, func(port Listener) bool { return slices.Contains(port.Tags, o.ServiceTag()) })
}

// Trace is what shows that a Service may have left something on a load balancer of another owner.
type Trace string

// The traces, of which only the first is certain.
const (
	// TraceOfUID: a listener or a pool has the Service's uid.
	TraceOfUID Trace = "uid"
	// TraceOfName: the load balancer has the Service's name, but no child has it. So the Service has just joined, or
	// was about to leave; unless that was a Service with the same name in another cluster.
	TraceOfName Trace = "name"
	// TraceUnsure: listeners or pools have the Service's name and no uid, like those that
	// openstack-cloud-controller-manager creates.
	TraceUnsure Trace = "unsure"
	// NoTrace: there is no trace, or the objects with the Service's name belong to another cluster.
	NoTrace Trace = ""
)

// TraceOn returns the best trace of the Service on a load balancer of another owner.
func (o Owner) TraceOn(l LoadBalancer) Trace {
	named, others := false, false
	for _, child := range childrenOf(l) {
		switch {
		case slices.Contains(child.tags, o.ServiceTag()):
			return TraceOfUID
		case slices.Contains(child.tags, o.LoadBalancerName()):
			named = true
			others = others || o.MarkedByAnother(l, child.tags)
		}
	}
	ownName := l.Name == o.LoadBalancerName() || l.Name == o.LegacyName()
	switch {
	case others, !slices.Contains(l.Tags, o.LoadBalancerName()), ownName && !o.MayUse(l):
		return NoTrace
	case !named:
		return TraceOfName
	case o.MayUse(l):
		return TraceUnsure
	}
	return NoTrace
}

// Owns reports whether the load balancer was created for the Service, rather than for another owner.
func (o Owner) Owns(l LoadBalancer) bool {
	if ServiceUIDOf(l.Tags) != "" {
		return slices.Contains(l.Tags, o.ServiceTag())
	}
	return l.Name == o.LoadBalancerName() || l.Name == o.LegacyName() || o.MadeByKuryr(l)
}

// SharedMark has the users of a shared load balancer of one cluster, according to its tags.
type SharedMark struct {
	// ServiceUID is the uid of the Service for which the load balancer was created, or "" if this Service has left it.
	ServiceUID string
	// Users are the Services with their names on it, as namespace/name.
	Users []string
}

// SharedMarkOf returns the mark in the tags of a load balancer that Services of the owner's cluster share, or shared
// until all except one have left. ok is false if the tags also name another cluster, or a Service that cannot be
// identified.
func (o Owner) SharedMarkOf(tags []string) (_ SharedMark, ok bool) {
	clusters, services := valuesOf(tags, clusterTag), valuesOf(tags, serviceTag)
	if len(clusters) != 1 || clusters[0] != o.ClusterUID || o.ClusterUID == "" || len(services) > 1 || slices.Contains(services, "") {
		return SharedMark{}, false
	}
	mark := SharedMark{ServiceUID: ServiceUIDOf(tags)}
	for _, name := range NameTags(LoadBalancer{Tags: tags}) {
		user := o.ServiceNamed([]string{name})
		if user == "" {
			return SharedMark{}, false
		}
		mark.Users = append(mark.Users, user)
	}
	return mark, len(mark.Users) > 0
}

// Abandoned reports whether the load balancer was created for a Service of the owner's cluster that has left it to
// its sharers.
func (o Owner) Abandoned(l LoadBalancer) bool {
	return slices.Contains(l.Tags, ClusterTag(o.ClusterUID)) && otherValue(l.Tags, clusterTag, o.ClusterUID) == "" && ServiceUIDOf(l.Tags) == ""
}

// NameTags returns the tags with the names of the Services that have ports on the load balancer, as
// openstack-cloud-controller-manager counts them.
func NameTags(l LoadBalancer) []string {
	return slices.DeleteFunc(slices.Clone(l.Tags), func(t string) bool { return !strings.HasPrefix(t, namePrefix) })
}

// MayUse reports whether openstack-cloud-controller-manager may have let the owner share the load balancer: its tags
// contain the owner's name, and nothing names another cluster. If the load balancer itself has the owner's name, it
// must also have a sharer. Without a sharer it would be the owner's own load balancer, and something contradicts that.
func (o Owner) MayUse(l LoadBalancer) bool {
	of, described := DescribedService(l.Description)
	named := l.Name == o.LoadBalancerName() || l.Name == o.LegacyName()
	return slices.Contains(l.Tags, o.LoadBalancerName()) && otherValue(l.Tags, clusterTag, o.ClusterUID) == "" &&
		(!described || of.Cluster == o.ClusterName) && (!named || o.SharedBy(l) != "")
}

// AllowsSharing reports whether the tags of a load balancer, which belongs to a user or another Service, allow Services
// of the namespace to share it.
func AllowsSharing(tags []string, namespace string) bool {
	return slices.Contains(tags, shareTag+namespace) || slices.Contains(tags, shareTag+"*")
}

// ClusterTag returns the tag of all objects of a cluster.
func ClusterTag(clusterUID string) string { return clusterTag + clusterUID }

// ReplacesTag returns the tag of a load balancer that is to replace the one with the id. It is set at the creation,
// so that neither is mistaken for a duplicate.
func ReplacesTag(id string) string { return replacesTag + id }

// Replaces returns the id in such a tag, or "".
func Replaces(tags []string) string { return otherValue(tags, replacesTag, "") }

// ServiceUIDOf returns the Service uid in the tags, or "".
func ServiceUIDOf(tags []string) string { return otherValue(tags, serviceTag, "") }

// otherValue returns the first value of a tag with the prefix that is neither empty nor own, or "". Empty values are
// skipped, so that they do not hide the values after them.
func otherValue(tags []string, prefix, own string) string {
	for _, t := range tags {
		if v, ok := strings.CutPrefix(t, prefix); ok && v != "" && v != own {
			return v
		}
	}
	return ""
}

// The parts of a floating IP's description. Neutron sets no tags when it creates a floating IP, so the description
// identifies it. openstack-cloud-controller-manager deletes by the first part, Magnum by the last, so neither may
// change.
const (
	floatingIPPrefix = "Floating IP for Kubernetes external service "
	floatingIPSuffix = fromCluster
	// keptWord begins the mark of a floating IP that a Service left to the project.
	keptWord = "kept "
)

// FloatingIPDescription returns the description of a floating IP that is created for the Service. A long namespace
// and name are cut.
func (o Owner) FloatingIPDescription() string { return o.floatingIPDescription("") }

// KeptFloatingIPDescription returns the description of such a floating IP once the Service has left it to the project:
// it then belongs to a user, and does not count as orphaned.
func (o Owner) KeptFloatingIPDescription() string { return o.floatingIPDescription(keptWord) }

func (o Owner) floatingIPDescription(word string) string {
	mark := " (" + word + ClusterTag(o.ClusterUID) + " " + serviceTag + o.ServiceUID + ")"
	tail := mark + floatingIPSuffix + o.ClusterName
	name := cutTo(o.Namespace+"/"+o.Name, maxText-len(floatingIPPrefix)-len(tail))
	return cut(floatingIPPrefix + name + tail)
}

// MadeFloatingIP reports whether this cluster created the floating IP for the Service, so that it is deleted with it. A
// floating IP that a user provided is only detached. Floating IPs of openstack-cloud-controller-manager are recognized
// by the names of Service and cluster in the description. Floating IPs of Kuryr are recognized by the ClusterIP to
// which they lead.
func (o Owner) MadeFloatingIP(f FloatingIP) bool {
	if f.Description == KuryrFloatingIP {
		return o.ClusterIP != "" && f.KuryrVIP == o.ClusterIP
	}
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

// Inherits reports whether this cluster created the floating IP for a Service that has left the load balancer to its
// sharers, and whether the owner is one of these sharers. Such a floating IP belongs to the load balancer: the last
// sharer deletes both. The owner may also be a Service that was created again with the same name, and that has got the
// load balancer back.
func (o Owner) Inherits(l LoadBalancer, f FloatingIP) bool {
	mark, kept, ok := MarkOfFloatingIP(f)
	of, described := DescribedService(l.Description)
	return ok && !kept && mark.ClusterUID == o.ClusterUID && (o.Abandoned(l) || o.Owns(l) && l.Description == o.Description()) && f.PortID != "" && f.PortID == l.VIP.PortID &&
		described && ServiceOfFloatingIP(f) == of.Namespace+"/"+of.Name
}

// KeptFloatingIP reports whether the floating IP was created for the Service and then kept. It is not deleted, but
// the Service may use it again.
func (o Owner) KeptFloatingIP(f FloatingIP) bool {
	mark, kept, ok := MarkOfFloatingIP(f)
	return ok && kept && mark == o.mark()
}

func (o Owner) mark() Mark { return Mark{ClusterUID: o.ClusterUID, ServiceUID: o.ServiceUID} }

// Claim is the result of Claims.
type Claim struct {
	// Ours means that the owner may write to the load balancer.
	Ours bool
	// Adopted means that it is ours by name and description only, and has no cluster uid yet:
	// openstack-cloud-controller-manager created it.
	Adopted bool
	// Reason describes the owner of the load balancer, if it is not ours.
	Reason string
}

// Claims decides whether the load balancer belongs to the owner.
//   - If there are tags with uids, only these count, whatever the name.
//   - Otherwise name and description must both match or, for a load balancer of Kuryr, name and VIP.
//   - If there is any contradiction, the load balancer belongs to another owner.
//   - A shared load balancer of openstack-cloud-controller-manager belongs to its owner, by the name and the owner's
//     tag.
//   - If Services share a load balancer of ours and its owner has left it, it does not have the owner's uid any more.
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
	case o.MadeByKuryr(l):
		return Claim{Ours: true, Adopted: true}
	case o.ClusterIP != "" && l.Name == o.KuryrName():
		return Claim{Reason: fmt.Sprintf("load balancer %s has the name that Kuryr gave to the one of this Service, but its VIP is %s in subnet %s, and the ClusterIP is %s in subnet %s",
			l.ID, l.VIP.Address, l.VIP.SubnetID, o.ClusterIP, o.ServiceSubnetID)}
	case l.Name != o.LoadBalancerName() && l.Name != o.LegacyName():
		return Claim{Reason: fmt.Sprintf("load balancer %s is named %q and has no tag of this Service", l.ID, l.Name)}
	case !o.describes(l):
		return Claim{Reason: o.othersDescription(l)}
	case sharer != "" && (ClusterUIDOf(l.Tags) != "" || !slices.Contains(l.Tags, o.LoadBalancerName())):
		return Claim{Reason: fmt.Sprintf("load balancer %s also serves another Service, according to its tag %q", l.ID, sharer)}
	}
	return Claim{Ours: true, Adopted: true}
}

// othersDescription describes the owner of a load balancer that has the right name, but another
// description.
func (o Owner) othersDescription(l LoadBalancer) string {
	of, ok := DescribedService(l.Description)
	if ok && of.Cluster != o.ClusterName {
		return fmt.Sprintf("load balancer %s belongs to another cluster (%s), according to its description %q", l.ID, of.Cluster, l.Description)
	}
	return fmt.Sprintf("load balancer %s has the description %q", l.ID, l.Description)
}

// ServiceTag returns the tag that makes a load balancer this Service's.
func (o Owner) ServiceTag() string { return serviceTag + o.ServiceUID }

// SharedBy returns the name tag of another Service that has ports on the load balancer, or "". The name of the load
// balancer itself does not count: the cluster may have been renamed.
func (o Owner) SharedBy(l LoadBalancer) string { return o.otherName(l, l.Tags) }

func (o Owner) otherName(l LoadBalancer, tags []string) string {
	for _, t := range tags {
		if strings.HasPrefix(t, namePrefix) && t != o.LoadBalancerName() && t != l.Name {
			return t
		}
	}
	return ""
}

// ServiceNamed returns the Service whose name is among the tags, as namespace/name, or "". Namespaces and names
// contain no underscore.
func (o Owner) ServiceNamed(tags []string) string {
	for _, t := range tags {
		rest, ours := strings.CutPrefix(t, namePrefix+o.ClusterName+"_")
		if namespace, name, both := strings.Cut(rest, "_"); ours && both && !strings.Contains(name, "_") {
			return namespace + "/" + name
		}
	}
	return ""
}

// MarkedByAnother reports whether the tags of a child of the load balancer have the mark of another Service or
// cluster.
func (o Owner) MarkedByAnother(l LoadBalancer, tags []string) bool {
	return otherValue(tags, clusterTag, o.ClusterUID) != "" || otherValue(tags, serviceTag, o.ServiceUID) != "" ||
		!slices.Contains(tags, o.ServiceTag()) && o.otherName(l, tags) != ""
}

// OwnsListener reports whether a listener was created for this Service. Its tags show that. On the owner's own load
// balancer, a listener without tags also counts as created for the Service.
func (o Owner) OwnsListener(l Listener) bool {
	return o.ownsTagged(l.Tags) || o.ownsFromKuryr(l.Name, l.Tags)
}

// OwnsPool is OwnsListener for a pool that no listener uses. Pools of openstack-cloud-controller-manager have no
// tags and are recognized by name.
func (o Owner) OwnsPool(p Pool) bool {
	if o.ownsFromKuryr(p.Name, p.Tags) {
		return true
	}
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
		return !o.Sharer
	case otherValue(tags, clusterTag, o.ClusterUID) != "", otherValue(tags, serviceTag, o.ServiceUID) != "":
		return false
	}
	return slices.Contains(tags, o.ServiceTag()) || slices.Contains(tags, o.LoadBalancerName())
}

// cut shortens s to maxText bytes, as openstack-cloud-controller-manager does, but never within a character.
func cut(s string) string { return cutTo(s, maxText) }

// cutTo shortens s to at most the given number of bytes. If s is not valid UTF-8, it may remove a few more bytes.
func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most = max(most, 0)
	end := most
	for end > max(most-utf8.UTFMax, 0) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
