// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// orphanKind is one kind of objects that can outlive its Service.
type orphanKind struct {
	// name is as diff.Object has it.
	name string
	// bears says how one is known to have been made for a Service of the cluster, before the
	// Service's uid.
	bears string
	// marked finds, in what a sweep saw, those that bear the cluster's mark.
	marked func(found inventory, clusterUID string) []object
	// look looks once more at one. It says why it is left, or "".
	look func(ctx context.Context, o object) (left string, err error)
	// remove deletes it.
	remove func(ctx context.Context, o object) error
	// gone reports whether one is no more; nil where that is sure when remove returns.
	gone func(ctx context.Context, id string) (bool, error)
}

// orphanKinds are all kinds, in the order in which those of one Service go.
func (p *Planner) orphanKinds() []orphanKind {
	const bears = "bears the uid of this cluster and of Service uid"
	kinds := []orphanKind{
		{diff.Object(diff.CreateLoadBalancer{}), bears, markedLoadBalancers, p.lookAtLoadBalancer, p.removeLoadBalancer, p.loadBalancerGone},
		{diff.Object(diff.CreateFloatingIP{}), bears, markedFloatingIPs, p.lookAtFloatingIP, p.removeFloatingIP, nil},
		{certificateKind, bears, markedCertificates, p.lookAtCertificate, p.removeCertificate, nil},
	}
	if p.Config.ManageSecurityGroups {
		kinds = append(kinds, p.groupKind())
	}
	return kinds
}

func markedLoadBalancers(found inventory, clusterUID string) []object {
	var all []object
	for _, h := range found.heads {
		mark, ok := lb.MarkOf(h.Tags)
		if !ok || mark.ClusterUID != clusterUID {
			continue
		}
		o := object{objectKey{diff.Object(diff.CreateLoadBalancer{}), h.ID}, mark.ServiceUID, h.ID, ""}
		if h.ProvisioningStatus.Pending() {
			o.inUse = "Octavia is working on it: " + string(h.ProvisioningStatus)
		}
		all = append(all, o)
	}
	return all
}

func markedFloatingIPs(found inventory, clusterUID string) []object {
	var all []object
	for _, f := range found.floatingIPs {
		mark, kept, ok := lb.MarkOfFloatingIP(f)
		if !ok || kept || mark.ClusterUID != clusterUID {
			continue
		}
		o := object{objectKey{diff.Object(diff.CreateFloatingIP{}), f.ID}, mark.ServiceUID, f.Address, ""}
		if f.PortID != "" {
			o.inUse = "it leads to port " + f.PortID
		}
		all = append(all, o)
	}
	return all
}

// certificateKind is the kind of certificates in Barbican.
const certificateKind = "certificate"

func markedCertificates(found inventory, clusterUID string) []object {
	var all []object
	for _, one := range found.certificates {
		mark, ok := one.Mark()
		if ref, known := lb.ParseSecretRef(one.Ref); ok && known && mark.ClusterUID == clusterUID {
			all = append(all, object{objectKey{certificateKind, ref.ID}, mark.ServiceUID, one.Name, ""})
		}
	}
	return all
}

// lookAtCertificate leaves one that a listener has, of a load balancer that is shared perhaps:
// Octavia may lock one for ever whose certificate is gone. Whose it is says its name, which
// nobody can change.
func (p *Planner) lookAtCertificate(ctx context.Context, o object) (left string, _ error) {
	listeners, err := p.Octavia.EndingTLS(ctx)
	return userOf(o.certificate(), listeners), err
}

func (p *Planner) removeCertificate(ctx context.Context, o object) error {
	return p.Barbican.Delete(ctx, o.certificate())
}

func (o object) certificate() lb.Certificate {
	return lb.Certificate{Name: o.name, Ref: "secrets/" + o.id}
}

// lookAtLoadBalancer leaves a load balancer of which somebody else has marked a part.
func (p *Planner) lookAtLoadBalancer(ctx context.Context, o object) (left string, _ error) {
	head, err := p.Octavia.Get(ctx, o.id)
	if gone, err := openstack.UnlessGone(err); gone || err != nil {
		return "", err
	}
	tree, err := p.Octavia.Observe(ctx, head)
	if err != nil {
		return "", err
	}
	return p.othersOn(tree, o), nil
}

// removeLoadBalancer deletes a load balancer with everything below it.
func (p *Planner) removeLoadBalancer(ctx context.Context, o object) error {
	_, err := p.Octavia.Apply(ctx, diff.DeleteLoadBalancer{ID: o.id})
	return err
}

// loadBalancerGone reports whether Octavia, which takes its time, has deleted one.
func (p *Planner) loadBalancerGone(ctx context.Context, id string) (bool, error) {
	_, err := p.Octavia.Get(ctx, id)
	return openstack.UnlessGone(err)
}

// othersOn says what of the load balancer is not the Service's of the orphan, or "".
func (p *Planner) othersOn(l lb.LoadBalancer, o object) string {
	want := lb.Mark{ClusterUID: p.ClusterUID, ServiceUID: o.serviceUID}
	ours := func(tags []string) bool {
		mark, ok := lb.MarkOf(slices.Concat(l.Tags, tags))
		return ok && mark == want
	}
	if l.ProjectID != "" && l.ProjectID != p.Neutron.ProjectID() {
		return "it belongs to another project"
	}
	if !ours(nil) {
		return "it bears another owner's mark by now"
	}
	for _, listener := range l.Listeners {
		if !ours(listener.Tags) || listener.Pool != nil && !ours(listener.Pool.Tags) {
			return fmt.Sprintf("its listener %s bears another owner's mark", listener.ID)
		}
	}
	for _, pool := range l.DetachedPools {
		if !ours(pool.Tags) {
			return fmt.Sprintf("its pool %s bears another owner's mark", pool.ID)
		}
	}
	return ""
}

// lookAtFloatingIP leaves a floating IP that leads somewhere.
func (p *Planner) lookAtFloatingIP(ctx context.Context, o object) (left string, _ error) {
	found, err := p.Neutron.FloatingIPsWithAddress(ctx, o.name)
	if err != nil {
		return "", err
	}
	now := markedFloatingIPs(inventory{floatingIPs: found}, p.ClusterUID)
	i := slices.Index(now, o)
	if i < 0 {
		return "it is not what it was a moment ago", nil
	}
	return "", nil
}

func (p *Planner) removeFloatingIP(ctx context.Context, o object) error {
	_, err := p.Neutron.Apply(ctx, diff.DeleteFloatingIP{ID: o.id, Address: o.name})
	return err
}
