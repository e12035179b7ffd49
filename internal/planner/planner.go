// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planner reads what a decision about a Service depends on: what the Service has in
// the cloud, what it depends on in Kubernetes, and what has to be looked up. It writes
// nothing. The controller and `kube-octavia plan` share it.
//
// It may import decide and what that imports, claim, and the clients of OpenStack.
package planner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
	"github.com/kube-octavia/kube-octavia/internal/report"
	"github.com/kube-octavia/kube-octavia/internal/status"
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

// Heads lists the load balancers of the cluster.
func (p *Planner) Heads(ctx context.Context) ([]octavia.Head, error) {
	return p.Octavia.Heads(ctx, lb.ClusterTag(p.ClusterUID))
}

// OnlyObserves reports whether nothing is to be written for the Service, of which this was
// observed: it was not taken over yet. What was keeps being served, however the operator
// decides about the others. A person who says whose a load balancer is sets one tag on it;
// the controller sets both, but on one that the Service shares.
func (p *Planner) OnlyObserves(service *corev1.Service, observed lb.Observed) bool {
	taken := p.Claimed(service)
	if l := observed.LoadBalancer; l != nil && !observed.Guest && p.Capabilities.Has(lb.FeatureTags) {
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

// Provide reads what a decision needs. It stores no certificate.
func (p *Planner) Provide(ctx context.Context, f decide.Facts, d decide.Decision) (_ decide.Facts, err error) {
	c := &f.Record.Cloud
	switch d.Need {
	case decide.NeedDesired:
		f = p.desire(ctx, f)
		f.Desired.Discarded = true
	case decide.NeedFresh:
		fresh := p.fresh(ctx, f)
		f.Desired.Fresh = &fresh
	case decide.NeedRequestedAddress:
		c.Observed.FloatingIPs, err = p.withAddress(ctx, d.Wish.Wanted.FloatingIP.Address, c.Observed)
	case decide.NeedFloatingIPs:
		c.Observed.FloatingIPs, err = p.again(ctx, c.Observed.FloatingIPs)
	case decide.NeedStatusTree:
		return p.compare(ctx, f)
	case decide.NeedPredecessor:
		var old lb.LoadBalancer
		if old, err = p.Octavia.Observe(ctx, *c.Observed.Predecessor); err == nil {
			c.Observed.Predecessor = &old
		}
	}
	return f, err
}

// Plan returns what a controller that was just started does for the Service, from a fresh
// look at the cloud, and what the cloud has.
func (p *Planner) Plan(ctx context.Context, service *corev1.Service) (diff.Plan, lb.Observed, error) {
	f := p.Facts(service, memory.Record{ServiceUID: service.UID}, time.Now(), timing.Default())
	f.Preview = true
	f, err := p.Observe(ctx, f)
	if err != nil {
		return diff.Plan{}, f.Record.Cloud.Observed, err
	}
	f = p.Desire(ctx, f)
	f, d, err := p.Decide(ctx, f, p.Provide)
	if err != nil {
		return diff.Plan{}, f.Record.Cloud.Observed, err
	}
	plan := d.Plan
	if w := d.Wish.Refused; w != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: w.Reason, Message: w.Message})
	}
	if w := d.Wish.Waits; w != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonWaitingForGroup, Message: w.Error()})
	}
	for _, op := range d.Held {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonDrifted, Message: "left as it is by the Service's drift policy: " + op.String()})
	}
	return plan, d.Record.Cloud.Observed, nil
}

// refusalIn returns the *build.Invalid in err, or nil.
func refusalIn(err error) *build.Invalid {
	var i *build.Invalid
	if errors.As(err, &i) {
		return i
	}
	return nil
}

// Finder returns what finds orphans, with the Planner's clients.
func (p *Planner) Finder() *orphan.Finder {
	return &orphan.Finder{
		Policy: p.Policy, Config: p.Config, Reader: p.Reader, Octavia: p.Octavia, Neutron: p.Neutron, Barbican: p.Barbican,
		KeepSecurityGroups: p.Adopt == claim.AdoptObserve,
	}
}

// Source returns what the reports of `status` and `migrate` are made from.
func (p *Planner) Source() report.Source {
	return report.Source{Finder: p.Finder(), Capabilities: p.Capabilities, Planner: p}
}

// Owns implements report.Planner.
func (p *Planner) Owns(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.claims(service, p.Owner(service), l, floating)
}

// Shares implements report.Planner.
func (p *Planner) Shares(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.uses(service, l) || p.Owner(service).MayUse(l) && publishes(service, l, floating)
}

// logDifference says why a load balancer is read in full.
func logDifference(ctx context.Context, id string, difference error) {
	ctrl.LoggerFrom(ctx).Info("the load balancer is not as it was written; reading it in full", "loadBalancerID", id, "difference", difference.Error())
}
