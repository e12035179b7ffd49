// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup reads what the desired state of an owner depends on, from Kubernetes and OpenStack, and builds that state.
// It writes nothing.
package lookup

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Builder builds the desired state of owners.
type Builder struct {
	// Reader reads Nodes and EndpointSlices, Owners the owners of load balancers.
	Reader client.Reader
	Owners claim.Owners
	// Secrets reads single Secrets by name, and ServiceCIDRs. It has no cache: a cache would list all Secrets.
	Secrets client.Reader
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Barbican may be nil, or not available.
	Barbican *barbican.Client
	// Config holds the operator's settings for load balancers; claim.Owner.Settings has those for an owner.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// Gates are the readiness gates of Pods; nil if the controller does not set them.
	Gates Gates

	// serial reports whether the cloud was seen to leave children of single-call creates
	// unfinished.
	serial atomic.Bool
}

// Gates knows the readiness gates of Pods.
type Gates interface {
	// Gated returns the Pods that wait for a gate of the owner.
	Gated(context.Context, claim.Owner) (desired.Gates, error)
}

// CreateSerially creates children one by one from now on, because the cloud leaves those of
// single-call creates unfinished. It reports whether that is new.
func (b *Builder) CreateSerially() (first bool) { return !b.serial.Swap(true) }

// Build gathers the input and builds the desired state for what was observed. If something has
// to be created, it looks up what the settings leave open.
func (b *Builder) Build(ctx context.Context, f decide.Facts, o lb.Observed) decide.Built {
	in, err := b.input(ctx, f.Owner, o)
	if err != nil {
		return decide.Built{Err: err}
	}
	in.Refused = f.Record.Refused.LeftOut(f.Now)
	// If Octavia refuses a certificate during the create of a load balancer, it leaves the port of the VIP behind.
	tries := in.Found == nil && f.TriesCertificates()
	in.Serial, in.Certificate = in.Serial || f.Record.Cloud.CreateWithoutChildren || tries, f.Record.Certificate
	// These come first, because the members of a refused owner follow nodes and Pods too.
	in, err = b.memberCIDRs(ctx, f.Owner, in, o)
	if err == nil {
		in, err = b.podSubnets(ctx, f.Owner, in, o)
	}
	if err == nil {
		err = b.checkGroup(ctx, f, o)
	}
	if err != nil {
		return decide.Built{Input: in, Err: err}
	}
	for _, lookUp := range []func(context.Context, claim.Owner, desired.Input, lb.Observed) (desired.Input, error){
		b.vipSubnets,
		b.subnetsOfFamilies,
		b.checkServiceSubnet,
		b.requestedFloatingIP,
		b.vipSecurityGroups,
		b.floatingNetwork,
		b.memberCIDRs, b.podSubnets,
		b.readExposure,
		b.findCertificate,
	} {
		in, err = lookUp(ctx, f.Owner, in, o)
		if err != nil {
			return decide.Built{Input: in, Err: err}
		}
	}
	wanted, err := desired.Wanted(in)
	if err == nil {
		err = b.checkCertificates(ctx, wanted, o)
	}
	if err == nil {
		err = decide.AwaitsGroup(f, o)
	}
	if err == nil && wanted.KeepMonitors {
		wanted, err = b.checkMonitors(ctx, in, o, wanted)
	}
	return decide.Built{Input: in, Wanted: wanted, Err: err}
}

// input gathers what the desired state depends on, except what has to be looked up in the
// cloud.
func (b *Builder) input(ctx context.Context, of claim.Owner, observed lb.Observed) (desired.Input, error) {
	in := desired.Input{Spec: of.Spec, Config: of.Settings(b.Config), Capabilities: b.Capabilities, Owner: of.Identity}
	options := of.Spec.Options
	in.Networks = desired.NetworksOf(options)
	in.Capabilities.Provider = options.Provider
	l := observed.LoadBalancer
	failed := l != nil && l.ProvisioningStatus == lb.Error
	in.Serial = (l == nil || failed) && (b.Config.SerialCreate || b.serial.Load() || in.MayLoseAddress(options))
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
	if err := b.Reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("list nodes: %w", err)
	}
	in.Nodes = nodes.Items
	if b.Gates != nil {
		var err error
		in.Gates, err = b.Gates.Gated(ctx, of)
		if err != nil {
			return in, err
		}
	}
	if !of.Spec.LocalTraffic && !desired.MayHavePods(in, l) {
		return in, nil
	}
	var err error
	in.Slices, err = b.Endpoints(ctx, of)
	return in, err
}

// Endpoints returns the EndpointSlices of the owner from the cache. The caller must not change them.
func (b *Builder) Endpoints(ctx context.Context, of claim.Owner) ([]discoveryv1.EndpointSlice, error) {
	var endpoints discoveryv1.EndpointSliceList
	named := client.MatchingLabels{discoveryv1.LabelServiceName: of.Spec.Backend}
	if err := b.Reader.List(ctx, &endpoints, client.InNamespace(of.Key.Namespace), named, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	return endpoints.Items, nil
}

// FollowInput gathers what members depend on. If the subnets of Pods cannot be read, the input lacks only these
// subnets, and there is no error.
func (b *Builder) FollowInput(ctx context.Context, of claim.Owner, observed lb.Observed) (desired.Input, error) {
	in, err := b.input(ctx, of, observed)
	if err != nil {
		return in, err
	}
	// Without the subnets, existing members stay as long as they are endpoints.
	in, _ = b.podSubnets(ctx, of, in, observed)
	return in, nil
}

// WantedMembers returns what the Service wants, with the right members. The rest may differ from what
// is built later.
func (b *Builder) WantedMembers(ctx context.Context, of claim.Owner, o lb.Observed) (lb.Wanted, error) {
	in, err := b.input(ctx, of, o)
	if err != nil {
		return lb.Wanted{}, err
	}
	options := in.Spec.Options
	in, err = b.memberCIDRs(ctx, of, in, o)
	if err == nil {
		in, err = b.podSubnets(ctx, of, in, o)
	}
	if err != nil {
		return lb.Wanted{}, err
	}
	// Members do not depend on certificates, and finding certificates needs calls.
	in.Certificate.Secret, in.Certificate.Name = options.TLSSecret, options.TLSSecret
	return desired.Wanted(in)
}
