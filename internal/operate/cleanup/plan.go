// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleanup deletes what a cluster has left in the cloud, when the cluster itself is gone, or when its Services
// were released and will have no load balancers.
//
// NewPlan decides, only from lists of the project, what was created for the cluster and what must stay. A Cleaner reads
// the lists, carries out what is possible now, and begins again, until nothing is left. It stores no state, so it can
// be killed and restarted at any time.
//
// It does not read from Kubernetes.
package cleanup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

// Kind is the kind of a cloud object.
type Kind string

// The kinds, in the order in which the objects are deleted. A load balancer is deleted after the objects that are found
// only through it, so that a cleanup that was killed finds them again.
const (
	FloatingIP    Kind = "floating IP"
	SecurityGroup Kind = "security group"
	LoadBalancer  Kind = "load balancer"
	Certificate   Kind = "certificate"
	Port          Kind = "port"
	Route         Kind = "route"
)

var kinds = []Kind{FloatingIP, SecurityGroup, LoadBalancer, Certificate, Port, Route}

// Inventory has the objects of the project in the cloud.
type Inventory struct {
	LoadBalancers []octavia.Listed
	FloatingIPs   []lb.FloatingIP
	// SecurityGroups are all groups of the project. GroupPorts are the ports that have a group of the
	// cluster.
	SecurityGroups []securitygroup.Group
	GroupPorts     []securitygroup.Port
	// Certificates are those that were stored for Services of the cluster.
	Certificates []lb.Certificate
	// Ports are the ports that Octavia created for VIPs.
	Ports []neutron.VIPPort
	// Routes are the routes to Pods, or empty if routes are not cleaned up.
	Routes []routes.Left
	// Unread lists what could not be read.
	Unread []string
}

// Options determine what is cleaned up.
type Options struct {
	Cluster lb.Cluster
	// KeepFloatingIPs detaches the floating IPs of the cluster and keeps them in the project.
	KeepFloatingIPs bool
	// Deleted has the load balancers that were deleted before: Octavia may have left their VIP ports behind.
	Deleted map[string]bool
	// Spared has the Services whose objects stay, by uid, with the reason. Without a reason they are not part of the
	// plan: another controller is responsible for them.
	Spared map[string]string
	// Class excludes the security groups of the nodes for other classes; "" means all classes.
	Class string
}

// Object is a cloud object of the cluster.
type Object struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Name is a name for users, such as the address of a floating IP.
	Name string `json:"name,omitempty"`
	// Service is the Service as namespace/name, or "" if unknown, or if the object is for all Services.
	Service string `json:"service,omitempty"`
	// State is Octavia's provisioning status of a load balancer.
	State lb.ProvisioningStatus `json:"state,omitempty"`
	// Keep is the reason why the object stays, or "".
	Keep string `json:"keep,omitempty"`
	// Waits is what the deletion waits for now, or "".
	Waits string `json:"waits,omitempty"`
	// Detach means that it is detached and kept in the project, instead of deleted.
	Detach bool `json:"detach,omitempty"`
	// steps are the writes that are possible now, in order.
	steps []step
	// portID is the port to which a floating IP is attached, or the VIP port of a load balancer.
	portID string
	// heldBack means that it waits only for other objects of the plan.
	heldBack bool
}

// step is one write: a diff.Op, a securitygroup.Op, an lb.Certificate to delete, a portDeletion or a routeDeletion.
type step any

// portDeletion deletes a VIP port that Octavia left behind.
type portDeletion struct{ id string }

// routeDeletion removes a route to Pods.
type routeDeletion struct{ routes.Route }

// Plan has what will be deleted, and what stays.
type Plan struct {
	Cluster lb.Cluster `json:"cluster"`
	// Objects are the objects of the cluster, sorted by Service and kind.
	Objects []Object `json:"items"`
	// OtherClusters are the uids of other clusters with the same name. If there are none, objects that have only the
	// name belong to this cluster.
	OtherClusters []string `json:"otherClusters,omitempty"`
	// Unread lists what could not be read, so that more objects may be left.
	Unread []string `json:"unread,omitempty"`
	// uids are the uids of all clusters in the tags of the project's objects, sorted.
	uids []string
}

// CheckFound returns an error if no object of the cluster was found, and its uid is not a valid
// uid.
func (p Plan) CheckFound() error {
	uid := p.Cluster.UID
	if uid == "" || len(p.Objects) > 0 || uuid.Validate(uid) == nil {
		return nil
	}
	return fmt.Errorf("--cluster-uid %s: no object of the project has it, and it is not a uid such as 1b4e28ba-2fa1-11d2-883f-0016d3cca427; %s", uid, p.describeUIDs())
}

// Doubt returns a warning that the uid of the cluster may be wrong, because no object has it, but some have the uid of
// another cluster. Otherwise it returns "". This is not an error: the cluster may have had no Service, or may have been
// cleaned up before.
func (p Plan) Doubt() string {
	uid := p.Cluster.UID
	if uid == "" || len(p.Objects) > 0 || len(p.uids) == 0 || slices.Contains(p.uids, uid) {
		return ""
	}
	return fmt.Sprintf("Warning: no object of the project has --cluster-uid %s. The cluster left nothing, or the uid is wrong; %s.", uid, p.describeUIDs())
}

func (p Plan) describeUIDs() string {
	if len(p.uids) == 0 {
		return "no object of the project has the uid of a cluster"
	}
	return "the project has objects of clusters with these uids: " + strings.Join(p.uids, ", ")
}

// clusterUIDs returns the uids of all clusters in the tags of the project's objects, sorted.
func clusterUIDs(all Inventory) (uids []string) {
	for _, listed := range all.LoadBalancers {
		uids = append(uids, lb.ClusterUIDOf(listed.Bare.Tags))
	}
	for _, f := range all.FloatingIPs {
		mark, _, _ := lb.MarkOfFloatingIP(f)
		uids = append(uids, mark.ClusterUID)
	}
	for _, g := range all.SecurityGroups {
		uids = append(uids, lb.ClusterUIDOfNodesGroup(g.Description))
	}
	slices.Sort(uids)
	return slices.DeleteFunc(slices.Compact(uids), func(uid string) bool { return uid == "" })
}

// Remaining returns the objects that will be deleted.
func (p Plan) Remaining() []Object {
	return slices.DeleteFunc(slices.Clone(p.Objects), func(o Object) bool { return o.Keep != "" })
}

// NewPlan decides which objects of the inventory were created for the cluster.
func NewPlan(o Options, all Inventory) Plan {
	p := planner{Options: o, all: all, plan: Plan{Cluster: o.Cluster, Objects: []Object{}, Unread: all.Unread}}
	p.plan.OtherClusters, p.plan.uids = otherClusters(o.Cluster, all), clusterUIDs(all)
	for _, listed := range all.LoadBalancers {
		p.loadBalancer(listed)
	}
	for _, f := range all.FloatingIPs {
		p.floatingIP(f)
	}
	for _, g := range all.SecurityGroups {
		p.securityGroup(g)
	}
	for _, c := range all.Certificates {
		p.certificate(c)
	}
	for _, port := range all.Ports {
		p.port(port)
	}
	for _, r := range all.Routes {
		p.route(r)
	}
	p.holdBack()
	slices.SortStableFunc(p.plan.Objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return p.plan
}

// Check returns an error unless it is clear which cluster is meant: objects with uids belong to it only if the uid is
// given, and if both are given, its load balancers must have been created with the name.
func Check(c lb.Cluster, all Inventory) error {
	uids := namedUIDs(c.Name, all)
	if c.UID == "" && len(uids) > 0 {
		return fmt.Errorf("the project has objects of the cluster %s with the uid %s: if this is the cluster that is gone, and no existing cluster has this uid, add --cluster-uid=%s",
			c.Name, strings.Join(uids, " or "), uids[0])
	}
	if c.UID == "" || c.Name == "" {
		return nil
	}
	other := ""
	for _, listed := range all.LoadBalancers {
		of, ok := lb.DescribedService(listed.Bare.Description)
		if !ok || !c.CreatedLoadBalancer(listed.Bare) || lb.ClusterUIDOf(listed.Bare.Tags) != c.UID {
			continue
		}
		if of.Cluster == c.Name {
			return nil
		}
		other = of.Cluster
	}
	if other != "" {
		return fmt.Errorf("the load balancers of the cluster with the uid %s were created for a cluster named %s, not %s: correct --cluster-name, or leave it out", c.UID, other, c.Name)
	}
	return nil
}

// namedUIDs returns the uids of the clusters with the name that objects of the project have, sorted.
func namedUIDs(name string, all Inventory) (uids []string) {
	if name == "" {
		return nil
	}
	add := func(uid string) {
		if uid != "" && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	for _, listed := range all.LoadBalancers {
		add(lb.LoadBalancerClusterUID(name, listed.Bare))
	}
	for _, f := range all.FloatingIPs {
		add(lb.FloatingIPClusterUID(name, f))
	}
	for _, g := range all.SecurityGroups {
		add(lb.NodesGroupClusterUID(name, g.Description))
	}
	slices.Sort(uids)
	return uids
}

func otherClusters(c lb.Cluster, all Inventory) []string {
	return slices.DeleteFunc(namedUIDs(c.Name, all), func(uid string) bool { return uid == c.UID })
}

// planner builds one Plan.
type planner struct {
	Options
	all  Inventory
	plan Plan
}

// holdBack makes a load balancer wait for the floating IPs and the security group that can be recognized only by it: if
// the cleanup is killed, the next one must find them.
func (p *planner) holdBack() {
	for i := range p.plan.Objects {
		balancer := &p.plan.Objects[i]
		if balancer.Kind != LoadBalancer || len(balancer.steps) == 0 {
			continue
		}
		for _, o := range p.plan.Objects {
			first := o.Kind == FloatingIP && o.portID != "" && o.portID == balancer.portID || o.Kind == SecurityGroup && o.Service != "" && o.Service == balancer.Service
			if first && o.Keep == "" {
				balancer.Waits, balancer.steps, balancer.heldBack = "its floating IPs and security groups are deleted first", nil, true
			}
		}
	}
}

func (p *planner) add(o Object) { p.plan.Objects = append(p.plan.Objects, o) }

// ambiguous returns why an object without uids may belong to another cluster, or "".
func (p *planner) ambiguous(hasUID bool) string {
	if hasUID || len(p.plan.OtherClusters) == 0 {
		return ""
	}
	return fmt.Sprintf("it has no cluster uid, and another cluster (uid %s) has the name %s, too", p.plan.OtherClusters[0], p.Cluster.Name)
}

func (p *planner) loadBalancer(listed octavia.Listed) {
	l := listed.Bare
	why, spared := p.Spared[lb.ServiceUIDOf(l.Tags)]
	if p.Cluster.CreatedLoadBalancer(l) && (!spared || why != "") {
		o := Object{Kind: LoadBalancer, ID: l.ID, Name: l.Name, Service: serviceOf(l), State: l.ProvisioningStatus, portID: l.VIP.PortID}
		o.Keep = cmp.Or(why, p.sparedUser(l), p.Cluster.OtherUser(l), p.ambiguous(lb.ClusterUIDOf(l.Tags) != ""))
		if o.Keep == "" {
			switch {
			case !listed.Complete:
				o.Waits = "it changed while it was read"
			case l.ProvisioningStatus.Pending():
				o.Waits = "Octavia is working on it: " + string(l.ProvisioningStatus)
			default:
				o.steps = []step{diff.DeleteLoadBalancer{ID: l.ID}}
			}
			p.add(o)
			return
		}
		p.add(o)
	}
	p.shared(listed)
}

// sparedUser returns which spared Service has ports on the load balancer of another one, or "".
func (p *planner) sparedUser(l lb.LoadBalancer) string {
	for _, owner := range p.Cluster.Sharers(l) {
		if _, spared := p.Spared[owner.ServiceUID]; spared {
			return fmt.Sprintf("the Service with the uid %s has ports on it", owner.ServiceUID)
		}
	}
	return ""
}

// shared adds the listeners and pools of the cluster on a load balancer that stays.
func (p *planner) shared(listed octavia.Listed) {
	l := listed.Bare
	for _, owner := range p.Cluster.Sharers(l) {
		if _, spared := p.Spared[owner.ServiceUID]; spared || owner.ServiceUID == "" && len(p.Spared) > 0 {
			continue // the name may also be that of a spared Service
		}
		ops := slices.DeleteFunc(diff.New(lb.Wanted{}, lb.Observed{LoadBalancer: active(l)}, owner).Ops, func(op diff.Op) bool { return !leavesLoadBalancer(op) })
		if len(ops) == 0 {
			continue
		}
		o := Object{Kind: LoadBalancer, ID: l.ID, Name: "ports on load balancer " + l.Name, State: l.ProvisioningStatus}
		if owner.Name != "" {
			o.Service = owner.Namespace + "/" + owner.Name
		}
		o.Keep = p.ambiguous(owner.ServiceUID != "")
		switch {
		case o.Keep != "":
		case !listed.Complete:
			o.Waits = "it changed while it was read"
		case l.ProvisioningStatus.Pending():
			o.Waits = "Octavia is working on it: " + string(l.ProvisioningStatus)
		case l.ProvisioningStatus != lb.Active:
			o.Keep = "Octavia does not change a load balancer in " + string(l.ProvisioningStatus) + ": fail it over, then run this command again"
		default:
			o.steps = []step{ops[0]} // one at a time, because each makes the load balancer PENDING
		}
		p.add(o)
	}
}

// leavesLoadBalancer reports whether the op only removes ports or tags. The load balancer itself stays, regardless of
// what a controller would do with it.
func leavesLoadBalancer(op diff.Op) bool {
	switch op.(type) {
	case diff.DeleteListener, diff.DeletePool, diff.UpdateLoadBalancer:
		return true
	}
	return false
}

// active returns the load balancer as if it were ACTIVE and could be changed now.
func active(l lb.LoadBalancer) *lb.LoadBalancer {
	l.ProvisioningStatus = lb.Active
	return &l
}

func serviceOf(l lb.LoadBalancer) string {
	of, ok := lb.DescribedService(l.Description)
	if !ok {
		return ""
	}
	return of.Namespace + "/" + of.Name
}

func (p *planner) floatingIP(f lb.FloatingIP) {
	at, kept := p.balancerAt(f.PortID)
	if !p.Cluster.CreatedFloatingIP(f, at) {
		return
	}
	mark, _, marked := lb.MarkOfFloatingIP(f)
	service := mark.ServiceUID
	if !marked && at != nil {
		service = lb.ServiceUIDOf(at.Tags)
	}
	why, spared := p.Spared[service]
	if spared && why == "" {
		return
	}
	o := Object{Kind: FloatingIP, ID: f.ID, Name: f.Address, Service: lb.ServiceOfFloatingIP(f), portID: f.PortID}
	switch {
	case spared:
		o.Keep = why
	case p.ambiguous(marked) != "" && at == nil:
		o.Keep = p.ambiguous(marked)
	case kept:
		o.Keep = "it leads to a load balancer that stays"
	case f.PortID != "" && at == nil:
		o.Keep = fmt.Sprintf("it is attached to port %s, which is not that of a load balancer of the cluster", f.PortID)
	case f.PortID == "" && !marked:
		o.Keep = "it is attached to nothing and has no uid: its Service may have kept it (keep-floatingip)"
	case p.KeepFloatingIPs && f.PortID == "":
		o.Keep = "floating IPs are kept"
	case p.KeepFloatingIPs:
		o.Detach, o.steps = true, []step{diff.DisassociateFloatingIP{ID: f.ID, Address: f.Address, Description: lb.KeptDescription(f)}}
	default:
		o.steps = []step{diff.DeleteFloatingIP{ID: f.ID, Address: f.Address}}
	}
	p.add(o)
}

// balancerAt returns the load balancer of the cluster with the VIP port, and whether it stays.
func (p *planner) balancerAt(portID string) (at *lb.LoadBalancer, kept bool) {
	if portID == "" {
		return nil, false
	}
	for i := range p.all.LoadBalancers {
		l := &p.all.LoadBalancers[i].Bare
		if l.VIP.PortID == portID && p.Cluster.CreatedLoadBalancer(*l) {
			stays := slices.ContainsFunc(p.plan.Objects, func(o Object) bool { return o.ID == l.ID && o.Keep != "" })
			return l, stays
		}
	}
	return nil, false
}

// securityGroup detaches the group from all ports and deletes it.
func (p *planner) securityGroup(g securitygroup.Group) {
	group := lb.NodesGroup{ClusterUID: p.Cluster.UID, Class: p.Class}
	if !p.Cluster.CreatedSecurityGroup(g.Name, g.Description) || p.Class != "" && !group.Owns(g.Name, g.Description) {
		return
	}
	o := Object{Kind: SecurityGroup, ID: g.ID, Name: g.Name}
	of, forService := lb.ServiceOfSecurityGroup(g.Name, g.Description)
	if forService {
		o.Service = of.Namespace + "/" + of.Name
	}
	o.Keep = p.ambiguous(!forService || p.knows(of.ServiceUID))
	if o.Keep == "" {
		for _, port := range p.all.GroupPorts {
			if slices.Contains(port.Groups, g.ID) {
				rest := slices.DeleteFunc(slices.Clone(port.Groups), func(id string) bool { return id == g.ID })
				o.steps = append(o.steps, securitygroup.SetGroups{Port: port, Groups: rest})
			}
		}
		o.steps = append(o.steps, securitygroup.DeleteGroup{ID: g.ID, Name: g.Name})
	}
	p.add(o)
}

// knows reports whether a load balancer proves that the Service belongs to the cluster.
func (p *planner) knows(serviceUID string) bool {
	return slices.ContainsFunc(p.all.LoadBalancers, func(l octavia.Listed) bool {
		mark, ok := lb.MarkOf(l.Bare.Tags)
		return ok && mark == lb.Mark{ClusterUID: p.Cluster.UID, ServiceUID: serviceUID}
	})
}

func (p *planner) certificate(c lb.Certificate) {
	mark, ok := c.Mark()
	ref, known := lb.ParseSecretRef(c.Ref)
	if !ok || !known || p.Cluster.UID == "" || mark.ClusterUID != p.Cluster.UID {
		return
	}
	why, spared := p.Spared[mark.ServiceUID]
	if spared && why == "" {
		return
	}
	o := Object{Kind: Certificate, ID: ref.ID, Name: c.Name, Keep: why}
	var listeners []lb.Listener
	for _, l := range p.all.LoadBalancers {
		listeners = append(listeners, l.Bare.Listeners...)
	}
	// Octavia may lock a load balancer permanently if its certificate is deleted.
	o.Waits = c.InUse(listeners)
	if o.Waits == "" && o.Keep == "" {
		o.steps = []step{c}
	}
	p.add(o)
}

// port adds the VIP port of a load balancer that has been deleted.
func (p *planner) port(port neutron.VIPPort) {
	exists := slices.ContainsFunc(p.all.LoadBalancers, func(l octavia.Listed) bool { return l.Bare.ID == port.LoadBalancerID })
	if port.LoadBalancerID != "" && p.Deleted[port.LoadBalancerID] && !exists {
		p.add(Object{Kind: Port, ID: port.ID, Name: port.Name, steps: []step{portDeletion{port.ID}}})
	}
}

// route adds a route. Its id is that of the openstack client.
func (p *planner) route(left routes.Left) {
	o := Object{Kind: Route, ID: "destination=" + left.Destination + ",gateway=" + left.NextHop, Keep: left.Keep}
	if left.PortID != "" {
		o.Name = "left at port " + left.PortID
	}
	if o.Keep == "" {
		o.steps = []step{routeDeletion{left.Route}}
	}
	p.add(o)
}
