// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner reads what a decision about a Service depends on: what the Service has in
// the cloud, what it depends on in Kubernetes, and what has to be looked up. It writes
// nothing. The controller and `kube-octavia plan` share it.
//
// It may import decide and what that imports, claim, and the clients of OpenStack.
package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Planner has the clients and settings that it takes to decide about a Service.
type Planner struct {
	// Reader reads Services, Nodes and EndpointSlices.
	Reader client.Reader
	// Secrets reads single Secrets, by name, and has no cache: that would list them all.
	Secrets client.Reader
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Barbican may be nil, or not available.
	Barbican *barbican.Client
	// Config holds the operator's settings for load balancers.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	claim.Policy
	// Adopt is what is done about what openstack-cloud-controller-manager made; empty
	// stands for claim.AdoptTag.
	Adopt claim.Adoption
	// Remembered is what a controller remembers; nil for a command.
	Remembered Remembered

	// leavesParts is whether the cloud was seen to leave parts of load balancers
	// unfinished that were created complete.
	leavesParts atomic.Bool
}

// Remembered is what a controller remembers of Services that the cache may not show yet.
type Remembered interface {
	// LoadBalancerOf returns the id of the load balancer that the Service uses, or "".
	LoadBalancerOf(types.NamespacedName) string
	// MayAppear reports whether a load balancer was asked for that may still appear.
	MayAppear(types.NamespacedName) bool
}

// LeavesParts notes that the cloud leaves parts of load balancers unfinished that are created
// by one call: from now on they are created one by one. It reports whether that is news.
func (p *Planner) LeavesParts() bool { return !p.leavesParts.Swap(true) }

// OnlyObserves reports whether nothing is to be written for the Service, of which this was
// observed: it was not taken over yet. What was keeps being served, however the operator
// decides about the others. A person who says whose a load balancer is sets one tag on it;
// the controller sets both, but on one that the Service shares.
func (p *Planner) OnlyObserves(service *corev1.Service, observed lb.Observed) bool {
	taken := p.Claimed(service)
	if l := observed.LoadBalancer; l != nil && !observed.Sharer && p.Capabilities.Has(lb.FeatureTags) {
		taken = slices.Contains(l.Tags, p.Owner(service).ServiceTag()) && slices.Contains(l.Tags, lb.ClusterTag(p.ClusterUID))
	}
	return p.Adopt == claim.AdoptObserve && !taken
}

// Facts returns the facts about a Service of which nothing is known but the record.
func (p *Planner) Facts(service *corev1.Service, record memory.Record, now time.Time, t timing.Delays) decide.Facts {
	f := decide.Facts{
		Now: now, Timing: t, Config: p.Config, Capabilities: p.Capabilities,
		Service: service, Serves: p.Serves(service), Record: record, Remembered: record.Cloud.Known,
	}
	return f.ForOwner(p.Owner(service))
}

// Provider reads what a decision needs.
type Provider func(context.Context, decide.Facts, decide.Decision) (decide.Facts, error)

// Decide decides about the Service. What the decision depends on is read by provide, which
// is p.Provide or calls it. With an error, the decision is what could be decided without
// what it lacked: to write nothing.
func (p *Planner) Decide(ctx context.Context, f decide.Facts, provide Provider) (decide.Facts, decide.Decision, error) {
	for {
		d := decide.Decide(f)
		f.Record = d.Record
		if d.Need == "" {
			return f, d, d.Wish.Err
		}
		f.Provided = append(f.Provided, d.Need)
		var err error
		if f, err = provide(ctx, f, d); err != nil {
			d.Need, d.Record = "", f.Record
			return f, d, errors.Join(d.Wish.Err, err)
		}
	}
}

// Observe reads what the cloud has of the Service, unless that is known. After a create that
// was not answered, to us or to a controller before us, it looks once more when Octavia must
// have ended it.
func (p *Planner) Observe(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	c := &f.Record.Cloud
	if late := c.Unanswered; !late.IsZero() && f.Now.Sub(late) >= f.Timing.AnswerLimit {
		c.Known, c.Unanswered = false, time.Time{}
	}
	if c.Observed.LoadBalancer == nil && p.GroupOf(f.Service) != "" {
		c.Known = false // others may have made it meanwhile
	}
	if c.Known {
		return f, nil
	}
	before := remembered{others: c.Others}
	if l := c.Observed.LoadBalancer; l != nil {
		before.id, before.guest = l.ID, c.Observed.Sharer
	}
	found, err := p.read(ctx, f.Service, f.Owner(), before)
	if err != nil {
		return f, err
	}
	f.Record.Cloud = seen(f, found, p.mayStillAppear(f, found))
	f.Record.Progress.Reached = nil
	if len(found.Unsettled)+len(found.Duplicates) == 0 && found.Predecessor == nil {
		f.Record.Recovery.Discards.Count = 0
	}
	return f, nil
}

// Desire gathers and builds what the Service is to have. A load balancer that was replaced
// and has drained becomes a duplicate before.
func (p *Planner) Desire(ctx context.Context, f decide.Facts) decide.Facts {
	if !f.Serves {
		return f
	}
	var retired bool
	f.Record, retired = decide.Retire(f)
	f = p.desire(ctx, f)
	f.Desired.Discarded = retired
	return f
}

func (p *Planner) desire(ctx context.Context, f decide.Facts) decide.Facts {
	o := f.Record.Cloud.Observed
	f.Desired = decide.Desired{Built: p.built(ctx, f, o)}
	if o.Predecessor != nil && f.Desired.Input.Service != nil {
		old, err := p.input(ctx, f.Service, lb.Observed{LoadBalancer: o.Predecessor})
		if err != nil {
			f.Desired = decide.Desired{Built: decide.Built{Err: err}}
			return f
		}
		f.Desired.Old = &old
	}
	f.Record.Certificate = f.Desired.Input.Certificate
	return f
}

func (p *Planner) built(ctx context.Context, f decide.Facts, o lb.Observed) (b decide.Built) {
	in, err := p.input(ctx, f.Service, o)
	if err != nil {
		return decide.Built{Err: err}
	}
	in.Serial, in.Certificate = in.Serial || f.Record.Cloud.CreateAlone, f.Record.Certificate
	b.Wanted, b.Err = p.build(ctx, &in, o)
	b.Input = in
	return b
}

// fresh gathers and builds as if there was no load balancer.
func (p *Planner) fresh(ctx context.Context, f decide.Facts) decide.Built {
	f.Record.Certificate = f.Desired.Input.Certificate
	return p.built(ctx, f, lb.Observed{})
}

// input gathers what the Service's load balancer depends on, but for what has to
// be looked up in the cloud.
func (p *Planner) input(ctx context.Context, service *corev1.Service, observed lb.Observed) (build.Input, error) {
	in := build.Input{Service: service, Config: p.Config, Capabilities: p.Capabilities, Owner: p.Owner(service)}
	options, _ := annotation.Parse(service.Annotations, p.Config)
	in.Networks = build.NetworksOf(options)
	in.Capabilities.Provider = options.Provider
	// How it would be created does not matter to one that is there.
	l := observed.LoadBalancer
	failed := l != nil && l.ProvisioningStatus == lb.Error
	in.Serial = (l == nil || failed) && (p.Config.SerialCreate || p.leavesParts.Load())
	if !failed {
		in.Found = l
	}
	in.Sharer, in.Owner.Sharer, in.FoundAddress = observed.Sharer, observed.Sharer, observed.Address()
	if l != nil {
		// What is there decides, whatever the settings say by now; of one that failed
		// nothing but its place.
		in.Networks.VIPSubnetID, in.Networks.VIPNetworkID = l.VIP.SubnetID, l.VIP.NetworkID
		if len(l.AdditionalVIPs) > 0 {
			in.Networks.AdditionalSubnetID = l.AdditionalVIPs[0].SubnetID
		}
		if l.Provider != "" && !failed {
			in.Capabilities.Provider = l.Provider
		}
	}
	in.Networks.MemberSubnetID = cmp.Or(in.Networks.MemberSubnetID, in.Networks.VIPSubnetID)
	var nodes corev1.NodeList
	if err := p.Reader.List(ctx, &nodes); err != nil {
		return in, fmt.Errorf("list nodes: %w", err)
	}
	in.Nodes = nodes.Items
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return in, nil
	}
	var endpoints discoveryv1.EndpointSliceList
	of := client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}
	if err := p.Reader.List(ctx, &endpoints, client.InNamespace(service.Namespace), of); err != nil {
		return in, fmt.Errorf("list EndpointSlices: %w", err)
	}
	in.Slices = endpoints.Items
	return in, nil
}

// build looks up what the operator's settings leave open, as far as something is
// still to be made there, and builds what is wanted. The error is an *Invalid, a *decide.GroupWait,
// or that of a call.
func (p *Planner) build(ctx context.Context, in *build.Input, observed lb.Observed) (lb.Wanted, error) {
	// The pools of a Service that is refused below follow the nodes, too.
	if err := p.tellApart(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.checkGroup(ctx, in.Service, observed); err != nil {
		return lb.Wanted{}, err
	}
	n := &in.Networks
	options, _ := annotation.Parse(in.Service.Annotations, p.Config)
	switch {
	case observed.LoadBalancer != nil:
	case options.PortID != "":
		subnet, err := p.givenPort(ctx, options.PortID, in.Family())
		if err != nil {
			return lb.Wanted{}, err
		}
		n.VIPSubnetID = subnet
		n.MemberSubnetID = cmp.Or(options.MemberSubnetID, subnet)
	case n.VIPSubnetID == "" && n.VIPNetworkID == "":
		subnet, err := p.nodeSubnet(ctx, *in)
		if err != nil {
			return lb.Wanted{}, err
		}
		n.VIPSubnetID = subnet
		n.MemberSubnetID = cmp.Or(n.MemberSubnetID, subnet)
	}
	if err := p.vipSubnets(ctx, in, options, observed); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.givenFloatingIP(ctx, n, options); err != nil {
		return lb.Wanted{}, err
	}
	if !options.Internal && !hasFloatingIP(observed) {
		if err := p.floatingSubnets(ctx, n, options); err != nil {
			return lb.Wanted{}, err
		}
	}
	if err := p.tellApart(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.lookAtSharers(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.findCertificate(ctx, in, options, observed); err != nil {
		return lb.Wanted{}, err
	}
	wanted, err := build.Wanted(*in)
	if err == nil {
		err = p.checkCertificates(ctx, wanted, observed)
	}
	if err == nil {
		err = p.awaitGroup(ctx, in.Service, observed)
	}
	if err != nil || !wanted.KeepMonitors {
		return wanted, err
	}
	err = p.lookAtMonitors(ctx, *in, observed, &wanted)
	return wanted, err
}
