// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// The kinds of objects, as in events, metrics and `status`.
var (
	loadBalancerKind = diff.Object(diff.CreateLoadBalancer{})
	floatingIPKind   = diff.Object(diff.CreateFloatingIP{})
)

const (
	certificateKind   = "certificate"
	securityGroupKind = "securitygroup"
)

// kind is a kind of objects that can outlive their Service.
type kind struct {
	name string
	// evidence says why an object was created for a Service of this cluster. The uid of the
	// Service follows.
	evidence string
	// marked returns the objects that were created for Services of this cluster.
	marked func(Inventory) []Object
	// check reads the object once more before it is deleted. It returns why the object is kept, or "".
	check  func(context.Context, Object, owners) (keep string, err error)
	remove func(context.Context, Object) error
	// gone reports whether the object was deleted. It is nil if remove returns only then.
	gone func(ctx context.Context, id string) (bool, error)
}

// because says why the object is an orphan.
func (k kind) because(o Object) string {
	if o.Sharers != "" {
		return "has the uid of this cluster and the marks of " + o.Services() + ", which do not exist or no longer use it"
	}
	return k.evidence + " " + o.ServiceUID + ", which does not exist or no longer uses it"
}

// kinds returns all kinds, in the order in which the objects of a Service are deleted.
func (f *Finder) kinds() []kind {
	const uids = "has the uid of this cluster and of Service uid"
	kinds := []kind{
		{loadBalancerKind, uids, f.loadBalancers, f.checkLoadBalancer, f.removeLoadBalancer, f.loadBalancerGone},
		{floatingIPKind, uids, f.floatingIPs, f.checkFloatingIP, f.removeFloatingIP, nil},
		{certificateKind, uids, f.certificates, f.checkCertificate, f.removeCertificate, nil},
	}
	if f.Config.ManageSecurityGroups {
		const name = "was created, according to its name and description, for a cluster with the name of this one and for Service uid"
		kinds = append(kinds, kind{securityGroupKind, name, f.securityGroups, f.checkSecurityGroup, f.removeSecurityGroup, nil})
	}
	return kinds
}

func (f *Finder) loadBalancers(found Inventory) (all []Object) {
	for _, h := range found.LoadBalancers {
		o, ok := f.loadBalancer(h)
		if !ok {
			continue
		}
		if h.ProvisioningStatus.Pending() {
			o.InUse = "Octavia is working on it: " + string(h.ProvisioningStatus)
		}
		all = append(all, o)
	}
	return all
}

// loadBalancer returns the object if the tags of the load balancer name only this cluster and one Service, or Services that
// share it.
func (f *Finder) loadBalancer(h octavia.Head) (_ Object, ok bool) {
	o := Object{Kind: loadBalancerKind, ID: h.ID, Name: h.ID}
	if mark, ok := lb.MarkOf(h.Tags); ok {
		o.ServiceUID = mark.ServiceUID
		return o, mark.ClusterUID == f.Policy.ClusterUID
	}
	shared, ok := f.owner().SharedMarkOf(h.Tags)
	o.ServiceUID, o.Sharers = shared.ServiceUID, strings.Join(shared.Users, sharerSeparator)
	return o, ok
}

// owner is the cluster as an owner without a Service.
func (f *Finder) owner() lb.Owner {
	return lb.Owner{ClusterName: f.Policy.ClusterName, ClusterUID: f.Policy.ClusterUID}
}

// checkLoadBalancer keeps a load balancer with tags of another owner on itself or on any child.
func (f *Finder) checkLoadBalancer(ctx context.Context, o Object, all owners) (keep string, _ error) {
	head, err := f.Octavia.Get(ctx, o.ID)
	if gone, err := openstack.UnlessGone(err); gone || err != nil {
		return "", err
	}
	tree, err := f.Octavia.Observe(ctx, head)
	if err != nil {
		return "", err
	}
	if o.Sharers != "" {
		return f.otherSharer(tree, o, all), nil
	}
	return f.otherOwner(tree, o), nil
}

// otherSharer says which part of a shared load balancer may belong to another client than Services that do not exist any more,
// or returns "".
func (f *Finder) otherSharer(l lb.LoadBalancer, o Object, all owners) string {
	if l.ProjectID != "" && l.ProjectID != f.Neutron.ProjectID() {
		return "it belongs to another project"
	}
	mark, ok := f.owner().SharedMarkOf(l.Tags)
	if !ok || mark.ServiceUID != o.ServiceUID || strings.Join(mark.Users, sharerSeparator) != o.Sharers {
		return "it now has the tags of another owner"
	}
	gone := func(tags []string) bool {
		if len(tags) == 0 {
			return o.ServiceUID != "" // children without tags belong to the Service that it was created for
		}
		of, marked := lb.MarkOf(tags)
		shared, named := f.owner().SharedMarkOf(append(slices.Clone(tags), lb.ClusterTag(f.Policy.ClusterUID)))
		if marked && of.ClusterUID == f.Policy.ClusterUID {
			return !all.all[of.ServiceUID]
		}
		return named && !all.have(Object{Kind: o.Kind, ID: o.ID, ServiceUID: shared.ServiceUID, Sharers: strings.Join(shared.Users, sharerSeparator)})
	}
	for _, listener := range l.Listeners {
		pool := listener.Tags
		if listener.Pool != nil && len(listener.Pool.Tags) > 0 {
			pool = listener.Pool.Tags
		}
		if !gone(listener.Tags) || !gone(pool) {
			return fmt.Sprintf("its listener %s may belong to a Service that exists, or to another client", listener.ID)
		}
	}
	for _, pool := range l.DetachedPools {
		if !gone(pool.Tags) {
			return fmt.Sprintf("its pool %s may belong to a Service that exists, or to another client", pool.ID)
		}
	}
	return ""
}

// otherOwner says which part of the load balancer does not belong to the orphan's Service, or returns "".
func (f *Finder) otherOwner(l lb.LoadBalancer, o Object) string {
	want := lb.Mark{ClusterUID: f.Policy.ClusterUID, ServiceUID: o.ServiceUID}
	ours := func(tags []string) bool {
		mark, ok := lb.MarkOf(slices.Concat(l.Tags, tags))
		return ok && mark == want
	}
	if l.ProjectID != "" && l.ProjectID != f.Neutron.ProjectID() {
		return "it belongs to another project"
	}
	if !ours(nil) {
		return "it now has the tags of another owner"
	}
	for _, listener := range l.Listeners {
		if !ours(listener.Tags) || listener.Pool != nil && !ours(listener.Pool.Tags) {
			return fmt.Sprintf("its listener %s has the tags of another owner", listener.ID)
		}
	}
	for _, pool := range l.DetachedPools {
		if !ours(pool.Tags) {
			return fmt.Sprintf("its pool %s has the tags of another owner", pool.ID)
		}
	}
	return ""
}

func (f *Finder) removeLoadBalancer(ctx context.Context, o Object) error {
	_, err := f.Octavia.Apply(ctx, diff.DeleteLoadBalancer{ID: o.ID})
	return err
}

func (f *Finder) loadBalancerGone(ctx context.Context, id string) (bool, error) {
	_, err := f.Octavia.Get(ctx, id)
	return openstack.UnlessGone(err)
}

func (f *Finder) floatingIPs(found Inventory) (all []Object) {
	for _, one := range found.FloatingIPs {
		mark, kept, ok := lb.MarkOfFloatingIP(one)
		if !ok || kept || mark.ClusterUID != f.Policy.ClusterUID {
			continue
		}
		o := Object{Kind: floatingIPKind, ID: one.ID, Name: one.Address, ServiceUID: mark.ServiceUID}
		if one.PortID != "" {
			o.InUse = "it is attached to port " + one.PortID
		}
		all = append(all, o)
	}
	return all
}

// changed is why an object is kept that another client changed after the sweep listed it.
const changed = "it has changed since it was listed"

// checkFloatingIP keeps a floating IP that was attached to a port or got another mark.
func (f *Finder) checkFloatingIP(ctx context.Context, o Object, _ owners) (keep string, _ error) {
	found, err := f.Neutron.FloatingIPsWithAddress(ctx, o.Name)
	if err == nil && !slices.Contains(f.floatingIPs(Inventory{FloatingIPs: found}), o) {
		keep = changed
	}
	return keep, err
}

func (f *Finder) removeFloatingIP(ctx context.Context, o Object) error {
	_, err := f.Neutron.Apply(ctx, diff.DeleteFloatingIP{ID: o.ID, Address: o.Name})
	return err
}

func (f *Finder) certificates(found Inventory) (all []Object) {
	for _, one := range found.Certificates {
		mark, ok := one.Mark()
		if ref, known := lb.ParseSecretRef(one.Ref); ok && known && mark.ClusterUID == f.Policy.ClusterUID {
			all = append(all, Object{Kind: certificateKind, ID: ref.ID, Name: one.Name, ServiceUID: mark.ServiceUID})
		}
	}
	return all
}

// checkCertificate keeps a certificate that any listener of the project uses: Octavia may lock a
// load balancer permanently if its certificate is deleted. The owner is in the certificate's
// name, which cannot be changed.
func (f *Finder) checkCertificate(ctx context.Context, o Object, _ owners) (keep string, _ error) {
	listeners, err := f.Octavia.TLSListeners(ctx)
	return certificate(o).InUse(listeners), err
}

func (f *Finder) removeCertificate(ctx context.Context, o Object) error {
	return f.Barbican.Delete(ctx, certificate(o))
}

func certificate(o Object) lb.Certificate {
	return lb.Certificate{Name: o.Name, Ref: "secrets/" + o.ID}
}
