// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctorfacts

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
)

// orphans finds the orphans in the facts, for which it also reads certificates and security groups.
func (c *cloud) orphans(ctx context.Context, f doctor.Facts, k *cluster) doctor.Read[[]orphan.Object] {
	services, balancers := f.Cluster.Services, f.Cloud.Octavia.Balancers
	for _, m := range []doctor.Missing{services.Missing, f.Cluster.UID.Missing, balancers.Missing, c.floatingIPs.Missing} {
		if !m.OK() {
			return doctor.Read[[]orphan.Object]{Missing: m}
		}
	}
	s, adapter := c.session, service.Kind{Policy: f.Policy, Config: c.config.LoadBalancer}
	finder := orphan.Finder{
		Policy: f.Policy, Config: c.config.LoadBalancer, Kinds: []claim.Kind{adapter}, Reader: k.client,
		Neutron:  neutron.New(s.Network(), s.ProjectID()),
		Barbican: barbican.New(s.KeyManager(), func() bool { return s.MayCall(calls.SecretsPath) }),
	}
	inventory := orphan.Inventory{FloatingIPs: c.floatingIPs.Value}
	for _, b := range balancers.Value {
		inventory.LoadBalancers = append(inventory.LoadBalancers, octavia.Head{ID: b.ID, ProvisioningStatus: b.ProvisioningStatus, VIPPortID: b.VIP.PortID, Tags: b.Tags})
	}
	var err error
	inventory.SecurityGroups, err = finder.SecurityGroups(ctx)
	if err != nil {
		return read[[]orphan.Object](nil, err)
	}
	inventory.Certificates, err = finder.Barbican.Stored(ctx, f.Policy.ClusterUID)
	if err != nil {
		return read[[]orphan.Object](nil, err)
	}
	owners := make([]claim.Owner, len(services.Value))
	for i := range services.Value {
		owners[i] = adapter.Of(&services.Value[i])
	}
	return doctor.Value(finder.Among(owners, inventory))
}
