// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/certificate"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkCertificates looks up the certificates that the load balancer does not use yet. Octavia
// checks them too, but too late: the listener that a TLS listener replaces may be deleted by
// then, and a rejected create leaves a VIP port behind.
func (b *Builder) checkCertificates(ctx context.Context, wanted lb.Wanted, observed lb.Observed) error {
	if b.Config.ExternalContainers() {
		return nil
	}
	var used []string
	if observed.LoadBalancer != nil {
		used = observed.LoadBalancer.CertificateRefs()
	}
	for _, text := range wanted.LoadBalancer.CertificateRefs() {
		ref, ok := lb.ParseSecretRef(text)
		if !ok || slices.Contains(used, text) {
			continue // other settings of the operator made it, or it is not stored yet
		}
		if !b.Barbican.Available() {
			return &desired.Invalid{Reason: desired.ReasonUnsupported, Message: fmt.Sprintf("certificate %s cannot be looked up: the cloud's service catalogue has no key-manager service (Barbican); "+
				"if Octavia can read it anyway, set container-store = external in [LoadBalancer] of cloud.conf", text)}
		}
		err := b.Barbican.Check(ctx, ref)
		switch openstack.Classify(err) {
		case openstack.Gone, openstack.Invalid:
			return &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf(
				"certificate %s cannot be used: %s; create it, or name another one", text, openstack.Reason(err))}
		case "":
		default:
			return err
		}
	}
	return nil
}

// The Secret that a Service names is read in each pass, and such a Service has a pass each Timing.SecretInterval. A
// watch would notice a change half a minute earlier on average, but it needs the permission to list and watch. A role
// with that permission, but without resourceNames, would expose all Secrets of the namespace.

// secretLimit is how long the API server may take to return a Secret.
const secretLimit = 10 * time.Second

// findCertificate reads the Secret that the Service names, and looks for its certificate in
// Barbican. If the Secret cannot be read now, the certificate that was read before stays.
func (b *Builder) findCertificate(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	if options.TLSSecret == "" {
		in.Certificate = desired.SecretCertificate{}
		return in, nil
	}
	if !b.Barbican.Available() {
		return in, &desired.Invalid{Reason: desired.ReasonUnsupported, Message: fmt.Sprintf("annotation %s: the certificate cannot be stored for Octavia: "+
			"the cloud's service catalogue has no key-manager service (Barbican)", in.Spec.Key(annotation.TLSSecret))}
	}
	cert, err := b.ReadCertificate(ctx, in.Owner.Namespace, in.Spec)
	if _, refused := errors.AsType[*desired.Invalid](err); err != nil && !refused && in.Certificate.Secret == options.TLSSecret {
		return in, nil
	}
	in.Certificate = desired.SecretCertificate{}
	if err != nil {
		return in, err
	}
	in.Certificate.Secret, in.Certificate.Name = options.TLSSecret, in.Owner.CertificateName(cert.Hash())
	if err := cert.CheckDates(time.Now()); err != nil {
		in.Certificate.Problem = fmt.Sprintf("the certificate in Secret %s: %v", options.TLSSecret, err)
	}
	found, err := b.Barbican.Find(ctx, in.Certificate.Name)
	if err != nil {
		return in, CertificateError(options.TLSSecret, err)
	}
	in.Certificate.Ref = chooseCertificate(found, observed.LoadBalancer)
	return in, nil
}

// chooseCertificate returns the reference of one of several equal certificates: the one that the load balancer uses, in
// the form in which the load balancer has it, because Barbican may have several addresses.
func chooseCertificate(equal []lb.Certificate, l *lb.LoadBalancer) string {
	if len(equal) == 0 {
		return ""
	}
	if l != nil {
		for _, cert := range equal {
			if used := cert.RefIn(*l); used != "" {
				return used
			}
		}
	}
	return equal[0].Ref
}

// CertificateError makes a rejection by Barbican a refusal of the Service.
func CertificateError(secret string, err error) error {
	if openstack.Classify(err) != openstack.Invalid {
		return err
	}
	return &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf(
		"the certificate in Secret %s cannot be used: %s", secret, openstack.Reason(err))}
}

// ReadCertificate reads the Secret with the certificate of a Service, from the API server: a cache would list
// all Secrets.
func (b *Builder) ReadCertificate(ctx context.Context, namespace string, spec *desired.Spec) (*certificate.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, secretLimit)
	defer cancel()
	var secret corev1.Secret
	name := spec.Options.TLSSecret
	switch err := b.Secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); {
	case apierrors.IsForbidden(err):
		return nil, &desired.Invalid{Reason: desired.ReasonSecretForbidden, Message: howToAllow(namespace, name, err)}
	case apierrors.IsNotFound(err):
		return nil, &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf(
			"there is no Secret %s in namespace %s; create it, or change annotation %s", name, namespace, spec.Key(annotation.TLSSecret))}
	case err != nil:
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	cert, err := certificate.Read(secret.Type, secret.Data)
	if err != nil {
		return nil, &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf("Secret %s %v", name, err)}
	}
	if !cert.HasName() {
		return nil, &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf(
			"Secret %s has a certificate in %s with neither a common name nor a DNS name, which Octavia does not take. Add one (spec.commonName or spec.dnsNames of cert-manager)",
			name, corev1.TLSCertKey)}
	}
	if needed := lb.FeatureCertificatesWithoutCommonName; !cert.HasCommonName() && !b.Capabilities.Has(needed) {
		return nil, &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: fmt.Sprintf(
			"Secret %s has a certificate in %s without a common name, which needs %s; this cloud has %s. Add one to the subject (spec.commonName of cert-manager)",
			name, corev1.TLSCertKey, needed.Needs(), b.Capabilities.Lacking(needed))}
	}
	return cert, nil
}

// refusedUser finds the user in a refusal by the API server.
var refusedUser = regexp.MustCompile(`User "([^"\s]+)"`)

// howToAllow returns the commands that let the controller read this Secret and nothing else.
func howToAllow(namespace, name string, refusal error) string {
	user := "system:serviceaccount:kube-octavia:kube-octavia" // the name in deploy/
	if m := refusedUser.FindStringSubmatch(refusal.Error()); m != nil {
		user = m[1]
	}
	role := "kube-octavia-reads-" + name
	return fmt.Sprintf("the controller has no permission to read Secret %[1]s in namespace %[2]s; an administrator can allow it by: "+
		"kubectl -n %[2]s create role %[3]s --verb=get --resource=secrets --resource-name=%[1]s && "+
		"kubectl -n %[2]s create rolebinding %[3]s --role=%[3]s --user=%[4]s", name, namespace, role, user)
}
