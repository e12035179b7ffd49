// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/lookup"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// storeCertificate stores the certificate of the Service's Secret in Barbican. If that fails, the
// load balancer stays as it is, except that pools follow the nodes.
func (r *Reconciler) storeCertificate(ctx context.Context, s subject, f decide.Facts, name string) (decide.Facts, error) {
	if err := r.claim(ctx, s, f.Record.Cloud.Observed); err != nil {
		return f, err
	}
	f.Owner = s.owner()
	used := &f.Desired.Built
	if f.Desired.Replacement != nil {
		own := *f.Desired.Replacement
		used, f.Desired.Replacement = &own, &own
	}
	stored, err := r.store(context.WithoutCancel(ctx), f, name)
	if err != nil {
		used.Err = err
		return f, nil
	}
	ctrl.LoggerFrom(ctx).Info("stored the certificate of a Secret in Barbican", "name", stored.Name, "ref", stored.Ref)
	f.Record.Certificate.Certificate, f.Desired.Input.Certificate.Certificate = stored, stored
	used.Input.Certificate.Certificate = stored
	used.Wanted = decide.WithCertificate(used.Wanted, name, stored.Ref)
	return f, nil
}

// store reads the Secret once more, so that its key does not have to be kept in memory, and stores its certificate.
func (r *Reconciler) store(ctx context.Context, f decide.Facts, name string) (lb.Certificate, error) {
	secret := f.Owner.Spec.Options.TLSSecret
	one, err := r.Planner.Builder.ReadCertificate(ctx, f.Owner.Key.Namespace, f.Owner.Spec)
	if err != nil {
		return lb.Certificate{}, err
	}
	if f.Identity().CertificateName(one.Hash()) != name {
		// The next pass looks for the new certificate.
		return lb.Certificate{}, apierrors.NewConflict(corev1.Resource("secrets"), secret, fmt.Errorf("it has just changed"))
	}
	bundle, err := one.Bundle()
	if err != nil {
		return lb.Certificate{}, err
	}
	stored, err := r.Planner.Options.Barbican.Store(ctx, name, bundle)
	if err != nil {
		return lb.Certificate{}, lookup.CertificateError(secret, err)
	}
	return stored, nil
}

// dropCertificates deletes stored certificates of the Service, once nothing else is left to do: those that its load
// balancer does not use any more and that no port is going to use. The certificate of the present Secret stays if
// Octavia could not read it, because it is tried again. Octavia may lock a load balancer permanently if its certificate
// is deleted, so the load balancer is read first.
func (r *Reconciler) dropCertificates(ctx context.Context, f decide.Facts, d decide.Decision) error {
	if !d.Rests() {
		return nil
	}
	l, wanted := d.Record.Cloud.Observed.LoadBalancer, d.Goal.Wanted.LoadBalancer
	idle := slices.DeleteFunc(r.Planner.Options.Barbican.CertificatesOf(markOf(f)), func(one lb.Certificate) bool {
		_, refused := d.Record.Certificates.By[one.Ref]
		triedAgain := refused && one.Name == d.Goal.Input.Certificate.Name
		return triedAgain || one.RefIn(*l) != "" || wanted != nil && one.RefIn(*wanted) != ""
	})
	if len(idle) == 0 {
		return nil
	}
	tree, err := r.Planner.Options.Octavia.Observe(ctx, *l)
	for _, one := range idle {
		if err == nil && one.RefIn(tree) == "" {
			err = r.dropCertificate(ctx, one)
		}
	}
	return err
}

func (r *Reconciler) dropCertificate(ctx context.Context, one lb.Certificate) error {
	if err := r.Planner.Options.Barbican.Delete(context.WithoutCancel(ctx), one); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("deleted a certificate from Barbican", "name", one.Name, "ref", one.Ref)
	return nil
}

// dropAllCertificates deletes all stored certificates of a Service whose load balancer is
// deleted, and checks that they are gone. A certificate that a listener of any load balancer
// uses is kept, see dropCertificates.
func (r *Reconciler) dropAllCertificates(ctx context.Context, f decide.Facts) error {
	_, asked := annotation.Canonical(f.Owner.Spec.Annotations)[annotation.TLSSecret]
	if !r.Planner.Options.Barbican.MayHaveStored() || !asked && len(r.Planner.Options.Barbican.CertificatesOf(markOf(f))) == 0 {
		return nil
	}
	left, err := r.storedFor(ctx, f)
	if err != nil || len(left) == 0 {
		return err
	}
	listeners, err := r.Planner.Options.Octavia.TLSListeners(ctx)
	if err != nil {
		return err
	}
	for _, one := range left {
		if why := one.InUse(listeners); why != "" {
			ctrl.LoggerFrom(ctx).Info("a certificate in use stays in Barbican; it becomes an orphan", "name", one.Name, "why", why)
			continue
		}
		if err := r.dropCertificate(ctx, one); err != nil {
			return err
		}
	}
	left, err = r.storedFor(ctx, f)
	for _, one := range left {
		if err == nil && one.InUse(listeners) == "" {
			err = &openstack.Error{Op: "delete certificate " + one.Name, Class: openstack.Transient, Message: "it is still there"}
		}
	}
	return err
}

// storedFor returns the Service's certificates in Barbican. A credential that may not list them
// has stored none.
func (r *Reconciler) storedFor(ctx context.Context, f decide.Facts) ([]lb.Certificate, error) {
	_, err := r.Planner.Options.Barbican.Certificates(ctx, r.Planner.Options.Policy.ClusterUID)
	known := r.Planner.Options.Barbican.CertificatesOf(markOf(f))
	if openstack.Classify(err) == openstack.Invalid && len(known) == 0 {
		return nil, nil
	}
	return known, err
}

// markOf returns the mark of the Service's certificates.
func markOf(f decide.Facts) lb.Mark {
	return lb.Mark{ClusterUID: f.Identity().ClusterUID, ServiceUID: f.Identity().ServiceUID}
}
