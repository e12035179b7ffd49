// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/certificate"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// A Secret that a Service names is read in each pass, and each Timing.SecretInterval there
// is one. To watch it would be faster by half a minute, for certificates that are renewed
// weeks before they end; it would take a watch for each Secret, and the rights to list and
// watch, of which a slip in a role (resourceNames left out) shows all Secrets of the
// namespace. One that may only be got by name stays the only one.

// secretLimit is how long the API server may take to show a Secret.
const secretLimit = 10 * time.Second

// findCertificate reads the Secret that the Service names, if it does, and notes which
// certificate is in it and where that is stored, if it is. If that cannot be found out just
// now, what the input has of the same Secret stands.
func (p *Planner) findCertificate(ctx context.Context, in *build.Input, options annotation.Options, observed lb.Observed) error {
	if options.TLSSecret == "" {
		in.Certificate = build.SecretCertificate{}
		return nil
	}
	if !p.Barbican.Available() {
		return &build.Invalid{Reason: build.ReasonUnsupported, Message: fmt.Sprintf("annotation %s: the certificate cannot be stored where Octavia finds it: "+
			"the cloud's service catalogue has no key-manager service (Barbican)", annotation.TLSSecret)}
	}
	one, err := p.readCertificate(ctx, in.Service.Namespace, options.TLSSecret)
	if err != nil && invalid(err) == nil && in.Certificate.Secret == options.TLSSecret {
		return nil // most likely it is what it was
	}
	in.Certificate = build.SecretCertificate{}
	if err != nil {
		return err
	}
	in.Certificate.Secret, in.Certificate.Name = options.TLSSecret, in.Owner.CertificateName(one.Hash())
	if err := one.CheckDates(time.Now()); err != nil {
		in.Certificate.Problem = fmt.Sprintf("the certificate in Secret %s: %v", options.TLSSecret, err)
	}
	if !p.Config.ExternalContainers() {
		if err := p.Barbican.CheckAccess(ctx); err != nil {
			return unstorable(options.TLSSecret, err)
		}
	}
	found, err := p.Barbican.Find(ctx, in.Certificate.Name)
	if err != nil {
		return unstorable(options.TLSSecret, err)
	}
	in.Certificate.Ref = chooseCertificate(found, observed.LoadBalancer)
	return nil
}

// chooseCertificate returns the reference of one of several that are the same: as the load
// balancer has it, if it has one. Barbican may be known by more than one address.
func chooseCertificate(same []lb.Certificate, l *lb.LoadBalancer) string {
	for _, one := range same {
		if l == nil {
			break
		}
		if used := one.RefIn(*l); used != "" {
			return used
		}
	}
	if len(same) == 0 {
		return ""
	}
	return same[0].Ref
}

// unstorable makes a refusal of Barbican one of the Service.
func unstorable(secret string, err error) error {
	if openstack.Classify(err) != openstack.Invalid {
		return err
	}
	return &build.Invalid{Reason: build.ReasonCertificateUnusable, Message: fmt.Sprintf(
		"the certificate in Secret %s cannot be used: %s", secret, openstack.Reason(err))}
}

// readCertificate reads a Secret with a certificate. It goes to the API server for it: a
// cache would list all Secrets.
func (p *Planner) readCertificate(ctx context.Context, namespace, name string) (*certificate.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, secretLimit)
	defer cancel()
	var secret corev1.Secret
	switch err := p.Secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); {
	case apierrors.IsForbidden(err):
		return nil, &build.Invalid{Reason: build.ReasonSecretForbidden, Message: howToAllow(namespace, name, err)}
	case apierrors.IsNotFound(err):
		return nil, &build.Invalid{Reason: build.ReasonCertificateUnusable, Message: fmt.Sprintf(
			"there is no Secret %s in namespace %s; make it, or change annotation %s", name, namespace, annotation.TLSSecret)}
	case err != nil:
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	one, err := certificate.Read(secret.Type, secret.Data)
	if err != nil {
		return nil, &build.Invalid{Reason: build.ReasonCertificateUnusable, Message: fmt.Sprintf("Secret %s %v", name, err)}
	}
	return one, nil
}

// refusedUser is whom the API server refused something, as it says itself.
var refusedUser = regexp.MustCompile(`User "([^"\s]+)"`)

// howToAllow says by which commands the controller may read the Secret, and nothing else.
func howToAllow(namespace, name string, refusal error) string {
	user := "system:serviceaccount:kube-octavia:kube-octavia" // as deploy/ has it
	if m := refusedUser.FindStringSubmatch(refusal.Error()); m != nil {
		user = m[1]
	}
	role := "kube-octavia-reads-" + name
	return fmt.Sprintf("the controller may not read Secret %[1]s in namespace %[2]s; whoever may decide that can allow it by: "+
		"kubectl -n %[2]s create role %[3]s --verb=get --resource=secrets --resource-name=%[1]s && "+
		"kubectl -n %[2]s create rolebinding %[3]s --role=%[3]s --user=%[4]s", name, namespace, role, user)
}

// storeCertificate stores the certificate that is wanted and not stored yet. If that
// fails, what the Service has stays as it is, and pools follow the nodes.
func (r *ServiceReconciler) storeCertificate(ctx context.Context, p *pass) error {
	name := p.input.Certificate.Name
	if p.membersOnly || p.input.Certificate.Ref != "" || name == "" || !slices.Contains(p.wanted.LoadBalancer.CertificateRefs(), name) || p.leavesDrift() {
		return nil
	}
	stored, err := r.store(context.WithoutCancel(ctx), p, name)
	if err != nil {
		p.invalid, p.membersOnly, p.wanted = invalid(err), true, build.MembersOnly(p.input, p.record.observed)
		if p.decided = p.invalid != nil || p.record.observed.LoadBalancer != nil; p.invalid != nil {
			return nil
		}
		return err
	}
	p.record.certificate.Certificate = stored
	p.log.Info("stored the certificate of a Secret in Barbican", "name", stored.Name, "ref", stored.Ref)
	p.input.Certificate.Certificate = stored
	for i := range p.wanted.LoadBalancer.Listeners {
		if tls := p.wanted.LoadBalancer.Listeners[i].TLS; tls != nil && tls.Certificate == name {
			tls.Certificate = stored.Ref
		}
	}
	return nil
}

// store reads the Secret once more, so that nobody had to hold the key meanwhile, and
// stores what is in it.
func (r *ServiceReconciler) store(ctx context.Context, p *pass, name string) (lb.Certificate, error) {
	options, _ := annotation.Parse(p.service.Annotations, r.Config)
	one, err := r.readCertificate(ctx, p.service.Namespace, options.TLSSecret)
	if err != nil {
		return lb.Certificate{}, err
	}
	if p.owner.CertificateName(one.Hash()) != name {
		// The next pass finds out where that one is.
		return lb.Certificate{}, apierrors.NewConflict(corev1.Resource("secrets"), options.TLSSecret, fmt.Errorf("it has just changed"))
	}
	bundle, err := one.Bundle()
	if err != nil {
		return lb.Certificate{}, err
	}
	stored, err := r.Barbican.Store(ctx, name, bundle)
	if err != nil {
		return lb.Certificate{}, unstorable(options.TLSSecret, err)
	}
	return stored, nil
}

// dropCertificates deletes certificates that were stored for the Service and that its
// load balancer, which has all that is wanted, does not use any more. Octavia may lock a
// load balancer for ever whose certificate is gone, so it is read before.
func (r *ServiceReconciler) dropCertificates(ctx context.Context, p *pass) error {
	l := p.record.observed.LoadBalancer
	if !p.done || p.membersOnly || p.onlyObserved || !p.record.known || l == nil || l.ProvisioningStatus != lb.Active ||
		p.record.observed.Predecessor != nil || len(p.record.observed.Unsettled)+len(p.record.observed.Duplicates)+len(p.record.others) > 0 {
		return nil
	}
	idle := slices.DeleteFunc(r.Barbican.CertificatesOf(p.mark()), func(one lb.Certificate) bool {
		return lb.SameSecret(one.Ref, p.input.Certificate.Ref) || one.RefIn(*l) != ""
	})
	if len(idle) == 0 {
		return nil
	}
	tree, err := r.Octavia.Observe(ctx, *l)
	for _, one := range idle {
		if err == nil && one.RefIn(tree) == "" {
			err = r.dropCertificate(ctx, p, one)
		}
	}
	return err
}

func (r *ServiceReconciler) dropCertificate(ctx context.Context, p *pass, one lb.Certificate) error {
	if err := r.Barbican.Delete(context.WithoutCancel(ctx), one); err != nil {
		return err
	}
	p.log.Info("deleted a certificate from Barbican", "name", one.Name, "ref", one.Ref)
	return nil
}

// dropAllCertificates deletes all that were stored for a Service whose load balancer is
// gone, and makes sure that they are. One that a listener has, of whatever load balancer,
// stays: Octavia may lock one for ever whose certificate is gone.
func (r *ServiceReconciler) dropAllCertificates(ctx context.Context, p *pass) error {
	_, asked := p.service.Annotations[annotation.TLSSecret]
	if !r.Barbican.MayHaveStored() || !asked && len(r.Barbican.CertificatesOf(p.mark())) == 0 {
		return nil
	}
	left, err := r.storedFor(ctx, p)
	if err != nil || len(left) == 0 {
		return err
	}
	listeners, err := r.Octavia.EndingTLS(ctx)
	if err != nil {
		return err
	}
	for _, one := range left {
		if why := one.InUse(listeners); why != "" {
			p.log.Info("a certificate stays in Barbican until it is an orphan that nobody uses", "name", one.Name, "why", why)
			continue
		}
		if err := r.dropCertificate(ctx, p, one); err != nil {
			return err
		}
	}
	left, err = r.storedFor(ctx, p)
	for _, one := range left {
		if err == nil && one.InUse(listeners) == "" {
			err = &openstack.Error{Op: "delete certificate " + one.Name, Class: openstack.Transient, Message: "it is still there"}
		}
	}
	return err
}

// storedFor asks Barbican which certificates it has of the Service. Who may not list them
// has stored none.
func (r *ServiceReconciler) storedFor(ctx context.Context, p *pass) ([]lb.Certificate, error) {
	_, err := r.Barbican.Certificates(ctx, r.ClusterUID)
	known := r.Barbican.CertificatesOf(p.mark())
	if openstack.Classify(err) == openstack.Invalid && len(known) == 0 {
		return nil, nil
	}
	return known, err
}

// mark is whose the Service's certificates are.
func (p *pass) mark() lb.Mark {
	return lb.Mark{ClusterUID: p.owner.ClusterUID, ServiceUID: p.owner.ServiceUID}
}
