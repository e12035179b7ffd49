// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner decides about owners. Package observe reads what an owner has in the cloud, package lookup builds what it
// requests, and package decide says what has to be done and what else has to be known first. The planner calls them in turn
// until the decision is complete. It writes nothing. The controller and `kube-octavia plan` share it.
package planner

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/lookup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/observe"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Options are the clients and settings that decisions about owners need.
type Options struct {
	// Reader reads owners of the Kinds, Nodes and EndpointSlices.
	Reader client.Reader
	Kinds  []claim.Kind
	// Secrets reads single Secrets by name, and ServiceCIDRs. It has no cache: a cache would list all Secrets.
	Secrets client.Reader
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Barbican may be nil, or not available.
	Barbican *barbican.Client
	// Login describes the login in use. Nil stands for one with which every release of Octavia reads certificates.
	Login func() decide.Login
	// Config holds the operator's settings for load balancers; claim.Owner.Settings has those for an owner.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// Policy names the cluster, and says which Services this controller serves.
	Policy claim.Policy
	// Adopt says what to do with Services of openstack-cloud-controller-manager; empty means
	// claim.AdoptTag.
	Adopt claim.Adoption
	// Remembered is the memory of a controller, and Survey what it reads at its start; nil in a
	// command.
	Remembered observe.Remembered
	Survey     *survey.Survey
	// Gates are the readiness gates of Pods; nil if the controller does not set them.
	Gates lookup.Gates
}

// Planner decides about owners.
type Planner struct {
	// Options are those of New. Changing them here has no effect on the Observer and the Builder.
	Options Options
	// Observer reads what owners have in the cloud, and Builder builds what they request.
	Observer *observe.Observer
	Builder  *lookup.Builder
}

// New returns a Planner.
func New(o Options) *Planner {
	owners := claim.Owners{Reader: o.Reader, Kinds: o.Kinds}
	builder := &lookup.Builder{
		Reader: o.Reader, Owners: owners, Secrets: o.Secrets, Octavia: o.Octavia, Neutron: o.Neutron, Barbican: o.Barbican,
		Config: o.Config, Capabilities: o.Capabilities, Gates: o.Gates,
	}
	return &Planner{Options: o, Builder: builder, Observer: &observe.Observer{
		Owners: owners, Octavia: o.Octavia, Neutron: o.Neutron, Config: o.Config, Capabilities: o.Capabilities, Policy: o.Policy,
		Remembered: o.Remembered, Survey: o.Survey, Members: builder,
	}}
}

// Owners reads the owners of load balancers.
func (p *Planner) Owners() claim.Owners { return p.Observer.Owners }

// OnlyObserves reports whether nothing may be written for the Service because it was not adopted. An adopted load
// balancer has two tags of the Service. A user who assigns a load balancer to a Service sets only one of them. A load
// balancer that the Service shares has neither.
func (p *Planner) OnlyObserves(of claim.Owner, observed lb.Observed) bool {
	adopted := of.Claimed
	if l := observed.LoadBalancer; l != nil && !observed.Sharer && p.Options.Capabilities.Has(lb.FeatureTags) {
		adopted = slices.Contains(l.Tags, of.Identity.ServiceTag()) && slices.Contains(l.Tags, lb.ClusterTag(p.Options.Policy.ClusterUID))
	}
	return p.Options.Adopt == claim.AdoptObserve && !adopted
}

// Facts returns what is known about an owner before anything is read.
func (p *Planner) Facts(of claim.Owner, record memory.Record, now time.Time, t timing.Delays) decide.Facts {
	record.OwnerUID = of.Identity.ServiceUID
	f := decide.Facts{
		Now: now, Timing: t, Config: of.Settings(p.Options.Config), Capabilities: p.Options.Capabilities,
		Owner: of, Record: record, FromMemory: record.Cloud.Known,
	}
	if p.Options.Login != nil && of.Spec.RequestsCertificate() {
		f.Login = p.Options.Login()
	}
	return f
}

// Provider provides what a decision needs.
type Provider func(context.Context, decide.Facts, decide.Decision) (decide.Facts, error)

// Decide decides about the Service. The function provide reads or builds what the decision needs; it is p.Provide, or
// calls it. If it fails, the decision is to write nothing, and the error is returned.
func (p *Planner) Decide(ctx context.Context, f decide.Facts, provide Provider) (decide.Facts, decide.Decision, error) {
	for {
		d := decide.Decide(f)
		f.Record = d.Record
		if d.Need == "" {
			d.Taking = f.TakingTraffic(d.Goal.Wanted)
			return f, d, d.Goal.Err
		}
		f.Provided = append(f.Provided, d.Need)
		var err error
		f, err = provide(ctx, f, d)
		if err != nil {
			d.Need, d.Record = "", f.Record
			return f, d, errors.Join(d.Goal.Err, err)
		}
	}
}

// Provide reads or builds what a decision needs. It does not store certificates.
func (p *Planner) Provide(ctx context.Context, f decide.Facts, d decide.Decision) (_ decide.Facts, err error) {
	o := &f.Record.Cloud.Observed
	switch d.Need {
	case decide.NeedDesired:
		f = p.desired(ctx, f)
		f.Desired.Discarded = true
	case decide.NeedReplacement:
		replacement := p.Builder.Build(ctx, f, lb.Observed{})
		f.Desired.Replacement = &replacement
	case decide.NeedRequestedFloatingIP:
		o.FloatingIPs, err = p.Observer.ReadAgain(ctx, o.FloatingIPs, d.Goal.Wanted.FloatingIP.Address)
		if err == nil {
			f.AbandonedFloatingIPs, err = p.Observer.Abandoned(ctx, o.FloatingIPs)
		}
	case decide.NeedFloatingIPs:
		var addresses []string
		for _, floating := range o.FloatingIPs {
			addresses = append(addresses, floating.Address)
		}
		o.FloatingIPs, err = p.Observer.ReadAgain(ctx, o.FloatingIPs, addresses...)
	case decide.NeedRequestedAddresses:
		f.RequestedAddresses, err = p.Observer.RequestedElsewhere(ctx, f.Owner)
	case decide.NeedStatusTree:
		next, another, err := p.Observer.Compare(ctx, f)
		if another {
			next = p.BuildDesired(ctx, next) // it was built for another load balancer
		}
		return next, err
	case decide.NeedPredecessor:
		o.Predecessor, err = p.Observer.ReadPredecessor(ctx, *o.Predecessor)
	}
	return f, err
}

// BuildDesired builds the desired state. Before that, a predecessor becomes a duplicate if its
// drain time is over. While work on the owner has stopped, it only reads what the members depend on.
func (p *Planner) BuildDesired(ctx context.Context, f decide.Facts) decide.Facts {
	if !f.Owner.Serves {
		return f
	}
	if f.Stop != nil {
		return p.membersOnly(ctx, f, nil)
	}
	f, err := p.Observer.WithGroup(ctx, f) // another owner of the group may have created the load balancer since
	if err != nil {
		return p.membersOnly(ctx, f, err)
	}
	var retired bool
	f.Record, retired = decide.RetirePredecessor(f)
	f = p.desired(ctx, f)
	f.Desired.Discarded = retired
	return f
}

// membersOnly reads only what the members depend on: they follow Nodes and Pods whatever else happens. The error is why the
// rest is not built, or nil.
func (p *Planner) membersOnly(ctx context.Context, f decide.Facts, why error) decide.Facts {
	in, err := p.Builder.FollowInput(ctx, f.Owner, f.Record.Cloud.Observed)
	if why != nil {
		err = why
	}
	in.Refused = f.Record.Refused.LeftOut(f.Now)
	f.Desired = decide.Desired{Built: decide.Built{Input: in, Err: err}}
	return f
}

// desired builds the desired state from what was observed, and that of the predecessor.
func (p *Planner) desired(ctx context.Context, f decide.Facts) decide.Facts {
	o := f.Record.Cloud.Observed
	f.Desired = decide.Desired{Built: p.Builder.Build(ctx, f, o)}
	if o.Predecessor != nil && f.Desired.Input.Spec != nil {
		in, err := p.Builder.FollowInput(ctx, f.Owner, lb.Observed{LoadBalancer: o.Predecessor})
		if err != nil {
			f.Desired = decide.Desired{Built: decide.Built{Err: err}}
			return f
		}
		in.Refused, in.Certificate = f.Record.Refused.LeftOut(f.Now), f.Desired.Input.Certificate
		f.Desired.Predecessor = &in
	}
	f.Record.Certificate = f.Desired.Input.Certificate
	return f
}
