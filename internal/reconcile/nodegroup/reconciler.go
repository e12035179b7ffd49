// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup manages the security groups through which load balancers reach the
// nodes. Passes over Services publish what their load balancers need; one reconciler with one
// worker applies it for all of them.
package nodegroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Cloud is the part of Neutron that a Reconciler uses.
type Cloud interface {
	SecurityGroups(ctx context.Context, ids ...string) ([]securitygroup.Group, error)
	PortsWithGroups(ctx context.Context, groupIDs ...string) ([]securitygroup.Port, error)
	PortsOfServers(ctx context.Context, serverIDs ...string) ([]securitygroup.Port, error)
	Subnet(ctx context.Context, id string) (securitygroup.Subnet, error)
	ApplySecurityGroup(ctx context.Context, op securitygroup.Op) (securitygroup.Made, error)
}

// Options are the dependencies and settings of a Reconciler.
type Options struct {
	// Reader reads owners of the Kinds, and Nodes.
	Reader client.Reader
	Kinds  []claim.Kind
	Cloud  Cloud
	Policy claim.Policy
	Config config.LoadBalancer
	// Observe is whether groups of openstack-cloud-controller-manager are only observed.
	Observe  bool
	Memory   *memory.Store
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	Timing   timing.Delays
	// Interval is the time between two full reads of the cloud.
	Interval time.Duration
	// Enqueue requests a pass over a Service.
	Enqueue func(owner.Key)
	// Now returns the time.
	Now func() time.Time
	// First has to be started before the first pass.
	First []source.Source
}

// Reconciler manages the security group of the cluster's nodes, or those of its Services.
// There is one Reconciler with one worker: simultaneous changes are applied together, and a
// port is written once, however many Services there are.
type Reconciler struct {
	Options
	requirements *Requirements
	cloud        cloud
	// subnets never change once they are created.
	subnets map[string]securitygroup.Subnet
	// settled is the desired state when nothing was left to do, or nil.
	settled *securitygroup.Wanted
	// reported are the events on nodes that cannot have the group, by node.
	reported map[string]string
}

// New returns a Reconciler for the requirements.
func New(o Options, requirements *Requirements) *Reconciler {
	return &Reconciler{Options: o, requirements: requirements, subnets: map[string]securitygroup.Subnet{}, cloud: cloud{asked: map[string]bool{}}}
}

// Reconcile makes one pass: it gathers facts, builds the desired state, applies the
// difference and reports.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	id := openstack.NewRequestID()
	ctx = logr.NewContext(openstack.WithRequestID(ctx, id), logr.FromContextOrDiscard(ctx).WithValues("requestID", id))
	f, failure, err := r.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	wanted := want(f)
	tried, err := r.apply(ctx, wanted)
	awaits := slices.ContainsFunc(slices.Collect(maps.Values(f.services)), f.awaitsMembers)
	r.requirements.waitForPools(awaits || securitygroup.Draining(wanted, r.cloud.Observed))
	if ctx.Err() != nil {
		return reconcile.Result{}, nil
	}
	r.report(f, wanted, tried, err)
	return r.next(errors.Join(failure, err))
}

// gather collects the facts from the caches, from memory and, for subnets, from the cloud.
// A list that fails ends the pass, so that nothing is mistaken for deleted. Failure is why a
// subnet could not be read; the Services that need it keep the rules that they have.
func (r *Reconciler) gather(ctx context.Context) (f facts, failure, err error) {
	f = facts{
		now: r.Now(), policy: r.Policy, perService: r.Config.SecurityGroupMode == config.ServiceSecurityGroups,
		services: map[owner.Key]service{}, subnets: r.subnets, needs: r.requirements.all(),
	}
	owners, err := claim.Owners{Reader: r.Reader, Kinds: r.Kinds}.List(ctx)
	if err != nil {
		return f, nil, err
	}
	var nodes corev1.NodeList
	if err := r.Reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return f, nil, fmt.Errorf("list nodes: %w", err)
	}
	f.nodes = nodes.Items
	for _, o := range owners {
		if !o.Serves && !o.Leaves {
			continue
		}
		one := serviceOf(o, f.needs[o.Key], nodes.Items, r.Config)
		one.held, one.unsure = r.Memory.MemberAddresses([]owner.Key{o.Key})
		f.services[o.Key] = one
	}
	f.unread, failure = r.readSubnets(ctx, f)
	return f, failure, nil
}

// readSubnets reads the subnets that Services need and that were not read before, and returns
// why it cannot read some, by id. A subnet that does not exist is no failure of the pass.
func (r *Reconciler) readSubnets(ctx context.Context, f facts) (unread map[string]error, failure error) {
	unread = map[string]error{}
	for _, key := range slices.SortedFunc(maps.Keys(f.services), compareKeys) {
		need := f.services[key].Need
		if need == nil || len(need.Ports) == 0 {
			continue
		}
		for _, id := range need.SubnetIDs() {
			if _, known := r.subnets[id]; known || unread[id] != nil {
				continue
			}
			subnet, err := r.Cloud.Subnet(ctx, id)
			if err == nil {
				r.subnets[id] = subnet
				continue
			}
			unread[id] = err
			if openstack.Classify(err) != openstack.Gone {
				failure = errors.Join(failure, err)
			}
		}
	}
	return unread, failure
}

// next returns the time of the next pass.
func (r *Reconciler) next(failure error) (reconcile.Result, error) {
	wait := r.cloud.read.Add(r.Interval).Sub(r.Now())
	var cloud *openstack.Error
	errors.As(failure, &cloud)
	switch class := openstack.Classify(failure); {
	case failure == nil && !r.cloud.unanswered.IsZero():
		wait = r.Timing.AnswerLimit - r.Now().Sub(r.cloud.unanswered)
	case failure == nil:
	case cloud != nil && class == openstack.Throttled:
		wait = cloud.RetryAfter
	case cloud != nil && (class == openstack.Invalid || class == openstack.Quota):
		wait = r.Timing.SlowRetry
	default:
		return reconcile.Result{}, failure
	}
	return reconcile.Result{RequeueAfter: timing.Jitter(max(wait, time.Second))}, nil
}
