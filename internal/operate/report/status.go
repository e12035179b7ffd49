// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
)

// StatusList has Services of the cluster with their cloud objects, and objects that belong to no Service. `status` prints it.
type StatusList struct {
	// Unhandled is the reason why no Service is handled, or "".
	Unhandled string `json:"-"`
	// Unclassed is the result of function Unclassed, if some Service is handled.
	Unclassed string          `json:"-"`
	Services  []ServiceStatus `json:"items"`
	// Objects are the objects of all these Services.
	Objects Objects `json:"objects"`
	// Orphans have the uid of this cluster and of a Service that does not exist. They are shown only if all Services
	// are.
	Orphans []orphan.Object `json:"orphans"`
	// Conflicts are objects that block a Service, or that another client took from it.
	Conflicts []Conflict `json:"conflicts"`
	// LeftPorts are VIP ports of load balancers that do not exist. Their owner is unknown. They are shown only if all
	// Services are.
	LeftPorts []orphan.Object `json:"leftPorts"`
}

// StatusOptions select what is shown.
type StatusOptions struct {
	// Namespace is the namespace of the Services; empty means all.
	Namespace string
	// Names are the Services; empty means all of the namespace.
	Names []owner.Key
	// Parts means that the statuses of listeners, pools and members are read.
	Parts bool
	// NoDrift omits drift, and thus all calls for single load balancers.
	NoDrift bool
}

// all reports whether the Services of all namespaces are shown.
func (o StatusOptions) all() bool { return o.Namespace == "" && len(o.Names) == 0 }

func (o StatusOptions) selects(s *corev1.Service) bool {
	return (o.Namespace == "" || s.Namespace == o.Namespace) && (len(o.Names) == 0 || slices.Contains(o.Names, owner.ServiceKey(s.Namespace, s.Name)))
}

// cloud is what a survey reads from the cloud.
type cloud struct {
	loadBalancers []octavia.Listed
	ports         []neutron.VIPPort
	orphan.Inventory
}

// statusReadsAtOnce is the number of Services or load balancers that are read concurrently.
const statusReadsAtOnce = 8

// Status reads the selected Services and their cloud objects: with one call per thousand load balancers, listeners,
// pools, health monitors, floating IPs and VIP ports, and per hundred secrets. With Parts, there is one more for each
// load balancer. To find drift, it reads the members of load balancers that changed since a controller last confirmed
// them, with one call for each pool.
func Status(ctx context.Context, s Source, o StatusOptions) (StatusList, error) {
	cloud, err := s.readCloud(ctx, o.all())
	if err != nil {
		return StatusList{}, err
	}
	all := StatusList{Services: []ServiceStatus{}, Orphans: []orphan.Object{}, Conflicts: []Conflict{}, LeftPorts: cloud.leftPorts()}
	if o.all() {
		all.Orphans, err = s.Finder.Orphans(ctx, cloud.Inventory)
		if err != nil {
			return StatusList{}, err
		}
	}
	services, err := s.services(ctx)
	if err != nil {
		return StatusList{}, err
	}
	uids := map[string]string{}
	for _, service := range services {
		uids[s.Finder.Policy.Owner(&service).ServiceUID] = service.Namespace + "/" + service.Name
	}
	services = slices.DeleteFunc(services, func(service corev1.Service) bool { return !o.selects(&service) })
	all.Unhandled = Unhandled(s.Finder.Policy, o.place(), services)
	if all.Unhandled == "" {
		all.Unclassed = Unclassed(s.Finder.Policy, services)
	}
	var found []holding
	for i := range services {
		if service := &services[i]; s.Finder.Policy.Serves(service) || s.Finder.Policy.Leaves(service) {
			found = append(found, s.match(service, cloud, uids))
		}
	}
	countShared(found)
	s.read(ctx, found, cloud, o)
	for _, f := range found {
		row := f.status()
		all.Services = append(all.Services, row)
		all.Conflicts = append(all.Conflicts, f.conflicts...)
		all.Objects = all.Objects.plus(row.Objects)
	}
	return all, ctx.Err()
}

// countShared counts each shared load balancer whose owner is not among the Services, because it has left the group,
// for example, for the first Service that shares it.
func countShared(found []holding) {
	counted := map[string]bool{}
	for _, f := range found {
		for _, l := range f.own {
			counted[l.Bare.ID] = true
		}
	}
	for i := range found {
		f := &found[i]
		if f.owner.Sharer && !counted[f.current.Bare.ID] {
			counted[f.current.Bare.ID], f.countsShared = true, true
		}
	}
}

// place returns the namespace or cluster of the Services for messages.
func (o StatusOptions) place() string {
	if o.Namespace == "" {
		return "the cluster"
	}
	return "namespace " + o.Namespace
}

// readCloud reads the objects of the project. Objects that belong to no Service are read only if
// everything is shown.
func (s Source) readCloud(ctx context.Context, everything bool) (c cloud, err error) {
	if everything {
		// Ports are read first, so that a port that is created meanwhile does not count as left behind.
		c.ports, err = s.Finder.Neutron.VIPPorts(ctx)
		if err != nil {
			return c, err
		}
	}
	c.loadBalancers, err = s.Finder.Octavia.Listed(ctx)
	if err != nil {
		return c, err
	}
	for _, l := range c.loadBalancers {
		c.LoadBalancers = append(c.LoadBalancers, octavia.Head{ID: l.Bare.ID, ProvisioningStatus: l.Bare.ProvisioningStatus, VIPPortID: l.Bare.VIP.PortID, Tags: l.Bare.Tags})
	}
	c.FloatingIPs, err = s.Finder.Neutron.FloatingIPs(ctx)
	if err != nil || !everything {
		return c, err
	}
	c.SecurityGroups, err = s.Finder.SecurityGroups(ctx)
	if err != nil {
		return c, err
	}
	c.Certificates, err = s.Finder.Barbican.Stored(ctx, s.Finder.Policy.ClusterUID)
	return c, err
}

// leftPorts returns the VIP ports of load balancers that do not exist.
func (c cloud) leftPorts() []orphan.Object {
	left := []orphan.Object{}
	for _, port := range c.ports {
		used := slices.ContainsFunc(c.loadBalancers, func(l octavia.Listed) bool {
			return l.Bare.ID == port.LoadBalancerID || l.Bare.VIP.PortID == port.ID
		})
		if !used && port.LoadBalancerID != "" {
			left = append(left, orphan.Object{Kind: "port", ID: port.ID, Name: port.Name})
		}
	}
	return left
}

// read reads what the lists do not show: the status trees, if parts are shown, and plans, if drift is shown. What
// cannot be read is recorded for each Service.
func (s Source) read(ctx context.Context, found []holding, c cloud, o StatusOptions) {
	lists := survey.NewLists(s.Finder.Octavia, c.loadBalancers, c.FloatingIPs)
	trees := sharedTrees{octavia: s.Finder.Octavia, read: map[string]func() (octavia.Tree, error){}}
	var reads errgroup.Group
	reads.SetLimit(statusReadsAtOnce)
	for i := range found {
		f := &found[i]
		reads.Go(func() error {
			ctx := openstack.WithRequestID(ctx, openstack.NewRequestID())
			if o.Parts && f.current != nil {
				tree, err := trees.get(ctx, f.current.Bare.ID)
				f.tree, f.treeErr = &tree, err
			}
			if !o.NoDrift {
				f.plan, _, f.planErr = s.Planner.PlanListed(ctx, s.of(f.service), lists)
			}
			return nil
		})
	}
	_ = reads.Wait() // found has all errors
}

// sharedTrees reads each status tree only once, for all Services that share the load balancer.
type sharedTrees struct {
	octavia *octavia.Client
	mu      sync.Mutex
	read    map[string]func() (octavia.Tree, error)
}

func (t *sharedTrees) get(ctx context.Context, id string) (octavia.Tree, error) {
	t.mu.Lock()
	read := t.read[id]
	if read == nil {
		read = sync.OnceValues(func() (octavia.Tree, error) { return t.octavia.Tree(ctx, id) })
		t.read[id] = read
	}
	t.mu.Unlock()
	return read()
}
