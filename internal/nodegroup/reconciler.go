// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup keeps the security groups of the nodes, or of the Services, as the
// traffic of load balancers needs them. Passes over Services say what they need; one
// reconciler with one worker does it for all of them.
//
// It may import claim, securitygroup, target, build and what these import.
package nodegroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/target"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Cloud is what a Reconciler asks of Neutron.
type Cloud interface {
	SecurityGroups(ctx context.Context, ids ...string) ([]securitygroup.Group, error)
	PortsWithGroups(ctx context.Context, groupIDs ...string) ([]securitygroup.Port, error)
	PortsOfServers(ctx context.Context, serverIDs ...string) ([]securitygroup.Port, error)
	Subnet(ctx context.Context, id string) (securitygroup.Subnet, error)
	ApplySecurityGroup(ctx context.Context, op securitygroup.Op) (securitygroup.Made, error)
}

// Members knows the addresses of the members of pools.
type Members interface {
	// MemberAddresses returns those of the load balancers of the Services, and whether
	// there may be others.
	MemberAddresses([]types.NamespacedName) (addresses []netip.Addr, unsure bool)
}

// Options is what a Reconciler is made of.
type Options struct {
	Reader client.Reader
	Cloud  Cloud
	Policy claim.Policy
	Config config.LoadBalancer
	// Observe is whether what openstack-cloud-controller-manager made is only observed.
	Observe  bool
	Members  Members
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	Timing   timing.Delays
	// Interval lies between two looks at what the cloud has.
	Interval time.Duration
	// Enqueue asks for a pass over a Service.
	Enqueue func(types.NamespacedName)
	// Now is the time.
	Now func() time.Time
}

// Reconciler keeps the security group of the cluster's nodes, or those of its Services,
// as the Services need them. There is one of it with one worker: whatever comes together is
// done together, and a node is written to once, however many Services there are.
type Reconciler struct {
	Options
	requirements *Requirements

	// observed is what the cloud has, as far as it was read and written since, known whether
	// that can be planned on, and looked when all of it was read.
	observed securitygroup.Observed
	known    bool
	looked   time.Time
	// settled is what was wanted when nothing was left to do, or nil.
	settled *securitygroup.Wanted
	// unanswered is when a create failed that Neutron may have carried out, or zero.
	unanswered time.Time
	// subnets never change once they are made. asked are the servers whose ports were looked
	// for since all was read.
	subnets map[string]securitygroup.Subnet
	asked   map[string]bool
	// told is what was said of nodes that cannot have the group.
	told map[string]string
}

// pass is one look at the group.
type pass struct {
	log    logr.Logger
	needs  map[types.NamespacedName]need
	claims map[types.NamespacedName]serviceClaim
	all    []corev1.Node
	// nodes are those of all that take traffic.
	nodes  []*corev1.Node
	wanted securitygroup.Wanted
	// held are the addresses that are members of any pool, and unsure is whether there may be
	// others.
	held   []netip.Addr
	unsure bool
	// closed is why a Service's need is not known, by Service, and lost why a node cannot
	// have the group, by node.
	closed map[types.NamespacedName]string
	lost   map[string]string
	// refused are the ops of which this pass has given up, and failures why, but for those on
	// ports.
	refused  map[string]bool
	failures []error
	// unopened are the rules, by group, that could not be added. What they were to replace
	// is not removed.
	unopened map[string]securitygroup.AddRules
}

// leaves reports whether the pass does not carry out the op, any more or yet.
func (p *pass) leaves(op securitygroup.Op) bool {
	if remove, removes := op.(securitygroup.RemoveRule); removes && p.unopened[remove.GroupID].InPlaceOf(remove.Rule) {
		return true
	}
	return p.refused[op.String()]
}

// mostRounds is how often one pass plans anew: an op leads to the next, and what somebody
// else writes at the same time is read again.
const mostRounds = 6

// nodeGrace is how long a new node may take to tell which server it runs on: its cloud
// controller says so a little later.
const nodeGrace = 2 * time.Minute

// Reconcile makes one pass: it gathers, looks where it has to, does what there is to do,
// and tells what came of it.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	id := openstack.NewRequestID()
	ctx = openstack.WithRequestID(ctx, id)
	p, err := r.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	p.log = logr.FromContextOrDiscard(ctx).WithValues("requestID", id)
	lookup := r.lookUpSubnets(ctx, p)
	r.gatherNodes(p)
	r.want(p)
	err = r.advance(ctx, p)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil
	}
	r.tell(p, err)
	return r.next(errors.Join(lookup, err))
}

// gather collects what the group depends on from the caches. A list that fails ends the
// pass: nothing is taken for gone.
func (r *Reconciler) gather(ctx context.Context) (*pass, error) {
	p := &pass{
		needs: r.requirements.all(), claims: map[types.NamespacedName]serviceClaim{},
		closed: map[types.NamespacedName]string{}, lost: map[string]string{}, refused: map[string]bool{}, unopened: map[string]securitygroup.AddRules{},
	}
	var services corev1.ServiceList
	if err := r.Reader.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var nodes corev1.NodeList
	if err := r.Reader.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if !r.Policy.Serves(s) && !r.Policy.Leaves(s) {
			continue
		}
		p.claims[client.ObjectKeyFromObject(s)] = r.claim(p, s, nodes.Items)
	}
	p.all = nodes.Items
	p.held, p.unsure = r.Members.MemberAddresses(slices.Collect(maps.Keys(p.claims)))
	return p, nil
}

func (r *Reconciler) identity() lb.NodesGroup {
	return lb.NodesGroup{ClusterName: r.Policy.ClusterName, ClusterUID: r.Policy.ClusterUID, Class: r.Policy.LoadBalancerClass}
}

// gatherNodes notes the nodes that load balancers may send to, with the addresses at which
// they do: the usual one of each family, those in a subnet from which a Service reaches its
// members, and those that are members.
func (r *Reconciler) gatherNodes(p *pass) {
	usual := map[string][]netip.Addr{}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		targets, _ := target.Nodes(p.all, target.Choice{Family: family})
		for _, t := range targets {
			usual[t.Node] = append(usual[t.Node], t.Address)
		}
	}
	from := r.memberCIDRs(p)
	for i := range p.all {
		n := &p.all[i]
		addresses := usual[n.Name]
		if len(addresses) == 0 {
			continue // no pool has it
		}
		for _, a := range target.Addresses(n) {
			reached := slices.ContainsFunc(from, func(p netip.Prefix) bool { return p.Contains(a) })
			if !slices.Contains(addresses, a) && (reached || slices.Contains(p.held, a)) {
				addresses = append(addresses, a)
			}
		}
		server, err := target.ServerID(n.Spec.ProviderID)
		if young := n.Spec.ProviderID == "" && r.Now().Sub(n.CreationTimestamp.Time) < nodeGrace; err != nil && !young {
			p.lost[n.Name] = err.Error()
		}
		p.nodes = append(p.nodes, n)
		p.wanted.Nodes = append(p.wanted.Nodes, securitygroup.Node{Name: n.Name, ServerID: server, Addresses: addresses})
	}
	slices.SortFunc(p.wanted.Nodes, func(a, b securitygroup.Node) int { return strings.Compare(a.Name, b.Name) })
}

// memberCIDRs are the addresses in the subnets from which Services reach their members, as
// far as they are known.
func (r *Reconciler) memberCIDRs(p *pass) (all []netip.Prefix) {
	for _, claim := range p.claims {
		if claim.Need == nil {
			continue
		}
		for _, id := range claim.Need.MemberSubnetIDs {
			if subnet, known := r.subnets[id]; known && !slices.Contains(all, subnet.CIDR) {
				all = append(all, subnet.CIDR)
			}
		}
	}
	return all
}

// lookUpSubnets reads the subnets that are needed and were not before. A Service whose
// subnet cannot be read keeps the rules that it has.
func (r *Reconciler) lookUpSubnets(ctx context.Context, p *pass) error {
	var failures []error
	tried := map[string]error{}
	for key, claim := range p.claims {
		if claim.Need == nil || len(claim.Need.Ports) == 0 {
			continue
		}
		for _, id := range claim.Need.SubnetIDs() {
			if _, there := r.subnets[id]; there {
				continue
			}
			err, before := tried[id]
			if !before {
				var subnet securitygroup.Subnet
				if subnet, err = r.Cloud.Subnet(ctx, id); err == nil {
					r.subnets[id] = subnet
				} else if openstack.Classify(err) != openstack.Gone {
					failures = append(failures, err)
				}
				tried[id] = err
			}
			if err != nil {
				p.closed[key] = err.Error() + "; from there load balancers reach the nodes: set [LoadBalancer] member-subnet-id in cloud.conf, or annotation member-subnet-id, to a subnet that the project sees"
			}
		}
		if claim.Sure(r.subnets) {
			delete(p.closed, key)
		}
	}
	return errors.Join(failures...)
}

// advance brings the cloud to what is wanted, as far as it goes.
func (r *Reconciler) advance(ctx context.Context, p *pass) error {
	defer func() { r.requirements.waitForPools(securitygroup.Draining(p.wanted, r.observed)) }()
	for range mostRounds {
		if err := r.observe(ctx, p); err != nil {
			return err
		}
		ops := slices.DeleteFunc(securitygroup.Diff(p.wanted, r.observed), p.leaves)
		if len(ops) == 0 {
			r.settle(p)
			return errors.Join(p.failures...)
		}
		if err := r.applyAll(ctx, p, ops); err != nil {
			return errors.Join(append(p.failures, err)...)
		}
	}
	return fmt.Errorf("the security groups of the nodes are changed by somebody else all the time; they are looked at again later")
}

// settle notes that nothing is left to do.
func (r *Reconciler) settle(p *pass) {
	if r.settled = nil; len(p.refused) == 0 {
		wanted := p.wanted
		r.settled = &wanted
	}
}

// tell says what came of the pass: to the Services that wait for it, and of the nodes that
// are left out.
func (r *Reconciler) tell(p *pass, failure error) {
	r.tellReleased(p, failure)
	for key, was := range p.needs {
		claim, there := p.claims[key]
		if !there || claim.Need == nil || was.released {
			continue
		}
		rules, ok := was.Rules(r.subnets)
		opened := ok && r.observed.HasRules(r.use(claim.owner), rules)
		why, sure := p.closed[key], true
		if why == "" && failure != nil {
			// Of a group that was never read it is not known that it does not.
			why, sure = "the security group of the nodes does not let all of its traffic in: "+openstack.Reason(failure), !r.looked.IsZero()
		}
		if r.requirements.judge(key, was, opened, why, sure) {
			r.Enqueue(key)
		}
	}
	r.tellNodes(p)
}

// next says when to look again.
func (r *Reconciler) next(failure error) (reconcile.Result, error) {
	var cloud *openstack.Error
	errors.As(failure, &cloud)
	again := max(r.looked.Add(r.Interval).Sub(r.Now()), time.Second)
	switch class := openstack.Classify(failure); {
	case failure == nil && !r.unanswered.IsZero():
		return reconcile.Result{RequeueAfter: timing.Jitter(max(r.Timing.AnswerLimit-r.Now().Sub(r.unanswered), time.Second))}, nil
	case failure == nil:
		return reconcile.Result{RequeueAfter: timing.Jitter(again)}, nil
	case cloud == nil:
		return reconcile.Result{}, failure
	case class == openstack.Throttled:
		return reconcile.Result{RequeueAfter: timing.Jitter(max(cloud.RetryAfter, time.Second))}, nil
	case class == openstack.Invalid, class == openstack.Quota:
		return reconcile.Result{RequeueAfter: timing.Jitter(r.Timing.SlowRetry)}, nil
	}
	return reconcile.Result{}, failure
}
