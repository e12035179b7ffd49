// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner reads the facts for a decision about a Service, from OpenStack and
// Kubernetes, and builds the desired state. It writes nothing. The controller and
// `kube-octavia plan` share it.
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Planner has the clients and settings that decisions about Services need.
type Planner struct {
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
	Remembered Remembered
	Survey     *survey.Survey

	// Gates are the readiness gates of Pods; nil if the controller does not set them.
	Gates Gates

	// serial reports whether the cloud was seen to leave children of single-call creates
	// unfinished.
	serial atomic.Bool
}

// Remembered is what a controller remembers of owners that the cache may not show yet.
type Remembered interface {
	// LoadBalancerOf returns the id of the load balancer that was created for the Service, or "".
	LoadBalancerOf(owner.Key) string
	// MayAppear reports whether a create without an answer may still produce a load balancer.
	MayAppear(owner.Key) bool
	// CreateRejected reports whether the cloud rejected the last create of a load balancer for the Service, and the next
	// attempt is not due at the time.
	CreateRejected(owner.Key, time.Time) bool
	// Users returns the Services that use the load balancer.
	Users(id string) []owner.Key
}

// Gates knows the readiness gates of Pods.
type Gates interface {
	// Gated returns the Pods that wait for a gate of the owner.
	Gated(context.Context, claim.Owner) (desired.Gates, error)
}

// Owners reads the owners of load balancers.
func (p *Planner) Owners() claim.Owners { return claim.Owners{Reader: p.Reader, Kinds: p.Kinds} }

// CreateSerially creates children one by one from now on, because the cloud leaves those of
// single-call creates unfinished. It reports whether that is new.
func (p *Planner) CreateSerially() (first bool) { return !p.serial.Swap(true) }

// OnlyObserves reports whether nothing may be written for the Service because it was not adopted. An adopted load
// balancer has two tags of the Service. A user who assigns a load balancer to a Service sets only one of them. A load
// balancer that the Service shares has neither.
func (p *Planner) OnlyObserves(of claim.Owner, observed lb.Observed) bool {
	adopted := of.Claimed
	if l := observed.LoadBalancer; l != nil && !observed.Sharer && p.Capabilities.Has(lb.FeatureTags) {
		adopted = slices.Contains(l.Tags, of.Identity.ServiceTag()) && slices.Contains(l.Tags, lb.ClusterTag(p.Policy.ClusterUID))
	}
	return p.Adopt == claim.AdoptObserve && !adopted
}

// Facts returns what is known about an owner before anything is read.
func (p *Planner) Facts(of claim.Owner, record memory.Record, now time.Time, t timing.Delays) decide.Facts {
	record.OwnerUID = of.Identity.ServiceUID
	f := decide.Facts{
		Now: now, Timing: t, Config: of.Settings(p.Config), Capabilities: p.Capabilities,
		Owner: of, Record: record, FromMemory: record.Cloud.Known,
	}
	if p.Login != nil && of.Spec.RequestsCertificate() {
		f.Login = p.Login()
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
		if f, err = provide(ctx, f, d); err != nil {
			d.Need, d.Record = "", f.Record
			return f, d, errors.Join(d.Goal.Err, err)
		}
	}
}

// Observe reads what the Service has in the cloud, unless that is known. After a create
// without an answer it reads again when Octavia must have finished it.
func (p *Planner) Observe(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	c := &f.Record.Cloud
	if since := c.Unanswered; !since.IsZero() && f.Now.Sub(since) >= f.Timing.AnswerLimit {
		c.Distrust()
		c.Unanswered = time.Time{}
	}
	if c.Observed.LoadBalancer == nil && f.Owner.Group != "" {
		c.Distrust() // another Service of the group may have created the load balancer since
	}
	other, err := p.requestsOther(ctx, f)
	if err != nil {
		return f, err
	}
	if other {
		c.Distrust()
	}
	if c.Known {
		return f, nil
	}
	if next, done, err := p.observeListed(ctx, f); done || err != nil {
		return next, err
	}
	s := p.searchFor(f)
	if (c.Written.IsZero() && (f.Owner.Claimed || !f.Owner.Serves) || hasAddressWithoutID(f.Owner)) && p.Capabilities.Has(lb.FeatureTags) {
		// The previous controller may have been killed before the id was on the Service, or the id was removed since.
		// The search by tag ensures two things. A Service that is to be released, and may have lost all annotations, is
		// not released without its load balancer. A Service that has an address does not get a second load balancer.
		s.byTag = p.Octavia.FindByTag
	}
	found, err := s.read(ctx)
	if err != nil {
		return f, err
	}
	f.Record.Cloud = remember(f, found, p.createMayBePending(f, found))
	f.Record.Progress.Reached = lb.Fingerprint{}
	if len(found.Unsettled)+len(found.Duplicates) == 0 && found.Predecessor == nil {
		f.Record.Recovery.Discards.Count = 0
	}
	return f, nil
}

// BuildDesired builds the desired state. Before that, a predecessor becomes a duplicate if its
// drain time is over. While work on the owner has stopped, it only reads what the members depend on.
func (p *Planner) BuildDesired(ctx context.Context, f decide.Facts) decide.Facts {
	if !f.Owner.Serves {
		return f
	}
	if f.Stop != nil {
		in, err := p.followInput(ctx, f.Owner, f.Record.Cloud.Observed)
		in.Refused = f.Record.Refused.LeftOut(f.Now)
		f.Desired = decide.Desired{Built: decide.Built{Input: in, Err: err}}
		return f
	}
	var retired bool
	f.Record, retired = decide.RetirePredecessor(f)
	f = p.desired(ctx, f)
	f.Desired.Discarded = retired
	return f
}

func (p *Planner) desired(ctx context.Context, f decide.Facts) decide.Facts {
	o := f.Record.Cloud.Observed
	f.Desired = decide.Desired{Built: p.build(ctx, f, o)}
	if o.Predecessor != nil && f.Desired.Input.Spec != nil {
		in, err := p.followInput(ctx, f.Owner, lb.Observed{LoadBalancer: o.Predecessor})
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

// build gathers the input and builds the desired state for what was observed. If something has
// to be created, it looks up what the settings leave open.
func (p *Planner) build(ctx context.Context, f decide.Facts, o lb.Observed) decide.Built {
	in, err := p.input(ctx, f.Owner, o)
	if err != nil {
		return decide.Built{Err: err}
	}
	in.Refused = f.Record.Refused.LeftOut(f.Now)
	// If Octavia refuses a certificate during the create of a load balancer, it leaves the port of the VIP behind.
	tries := in.Found == nil && f.TriesCertificates()
	in.Serial, in.Certificate = in.Serial || f.Record.Cloud.CreateWithoutChildren || tries, f.Record.Certificate
	for _, lookUp := range []func(context.Context, claim.Owner, *desired.Input, lb.Observed) error{
		p.memberCIDRs, p.podSubnets, // first, because the members of a refused Service follow nodes and Pods too
		p.checkGroup,
		p.vipSubnets,
		p.subnetsOfFamilies,
		p.checkServiceSubnet,
		p.requestedFloatingIP,
		p.vipSecurityGroups,
		p.floatingNetwork,
		p.memberCIDRs, p.podSubnets,
		p.readExposure,
		p.findCertificate,
	} {
		if err := lookUp(ctx, f.Owner, &in, o); err != nil {
			return decide.Built{Input: in, Err: err}
		}
	}
	wanted, err := desired.Wanted(in)
	if err == nil {
		err = p.checkCertificates(ctx, wanted, o)
	}
	if err == nil {
		err = p.awaitGroup(ctx, f.Owner, o)
	}
	if err == nil && wanted.KeepMonitors {
		err = p.checkMonitors(ctx, in, o, &wanted)
	}
	return decide.Built{Input: in, Wanted: wanted, Err: err}
}

// input gathers what the desired state depends on, except what has to be looked up in the
// cloud.
func (p *Planner) input(ctx context.Context, of claim.Owner, observed lb.Observed) (desired.Input, error) {
	in := desired.Input{Spec: of.Spec, Config: of.Settings(p.Config), Capabilities: p.Capabilities, Owner: of.Identity}
	options := of.Spec.Options
	in.Networks = desired.NetworksOf(options)
	in.Capabilities.Provider = options.Provider
	l := observed.LoadBalancer
	failed := l != nil && l.ProvisioningStatus == lb.Error
	in.Serial = (l == nil || failed) && (p.Config.SerialCreate || p.serial.Load() || in.MayLoseAddress(options))
	if !failed {
		in.Found = l
	}
	in.Sharer, in.Owner.Sharer, in.FoundAddress = observed.Sharer, observed.Sharer, observed.Address()
	if l != nil {
		// The subnets and the provider of a load balancer cannot change. If the load balancer has failed, only the
		// subnets matter.
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
	// Nothing writes to the nodes, and a copy of a thousand would cost more than the rest of the pass.
	if err := p.Reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("list nodes: %w", err)
	}
	in.Nodes = nodes.Items
	if p.Gates != nil {
		var err error
		if in.Gates, err = p.Gates.Gated(ctx, of); err != nil {
			return in, err
		}
	}
	if !of.Spec.LocalTraffic && !desired.MayHavePods(in, l) {
		return in, nil
	}
	var err error
	in.Slices, err = p.Endpoints(ctx, of)
	return in, err
}

// Endpoints returns the EndpointSlices of the owner from the cache. The caller must not change them.
func (p *Planner) Endpoints(ctx context.Context, of claim.Owner) ([]discoveryv1.EndpointSlice, error) {
	var endpoints discoveryv1.EndpointSliceList
	named := client.MatchingLabels{discoveryv1.LabelServiceName: of.Spec.Backend}
	if err := p.Reader.List(ctx, &endpoints, client.InNamespace(of.Key.Namespace), named, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	return endpoints.Items, nil
}

// followInput gathers what members depend on. If the subnets of Pods cannot be read, the input lacks only these
// subnets, and there is no error.
func (p *Planner) followInput(ctx context.Context, of claim.Owner, observed lb.Observed) (desired.Input, error) {
	in, err := p.input(ctx, of, observed)
	if err != nil {
		return in, err
	}
	// Without the subnets, existing members stay as long as they are endpoints.
	_ = p.podSubnets(ctx, of, &in, observed)
	return in, nil
}
