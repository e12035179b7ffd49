// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

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

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/certificate"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// checkCertificates looks up the certificates that the load balancer does not have yet.
// Octavia looks for itself when it is given one; but then the port that ends TLS may
// have been closed for the other one that took its place, and of a create that it
// refuses for that it leaves a port behind.
func (p *Planner) checkCertificates(ctx context.Context, wanted lb.Wanted, observed lb.Observed) error {
	if p.Config.ExternalContainers() {
		return nil
	}
	for _, text := range newCertificates(*wanted.LoadBalancer, observed.LoadBalancer) {
		ref, ok := lb.ParseSecretRef(text)
		if !ok {
			continue // it is what the operator's other settings made of it, or not stored yet
		}
		if !p.Barbican.Available() {
			return &build.Invalid{Reason: build.ReasonUnsupported, Message: fmt.Sprintf("certificate %s cannot be looked up: the cloud's service catalogue has no key-manager service (Barbican); "+
				"set container-store = external in [LoadBalancer] of cloud.conf if Octavia knows it all the same", text)}
		}
		err := p.Barbican.Check(ctx, ref)
		switch openstack.Classify(err) {
		case openstack.Gone, openstack.Invalid:
			return &build.Invalid{Reason: build.ReasonCertificateUnusable, Message: fmt.Sprintf(
				"certificate %s cannot be used: %s; name another one, or, if it is there by now, change anything about the Service", text, openstack.Reason(err))}
		case "":
		default:
			return err
		}
	}
	return nil
}

// newCertificates returns the references of listeners that are wanted and that no
// listener has that is there.
func newCertificates(want lb.LoadBalancer, have *lb.LoadBalancer) []string {
	refs := want.CertificateRefs()
	if have == nil {
		return refs
	}
	known := have.CertificateRefs()
	return slices.DeleteFunc(refs, func(r string) bool { return slices.Contains(known, r) })
}

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
	one, err := p.ReadCertificate(ctx, in.Service.Namespace, options.TLSSecret)
	if err != nil && refusalIn(err) == nil && in.Certificate.Secret == options.TLSSecret {
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
			return Unstorable(options.TLSSecret, err)
		}
	}
	found, err := p.Barbican.Find(ctx, in.Certificate.Name)
	if err != nil {
		return Unstorable(options.TLSSecret, err)
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

// Unstorable makes a refusal of Barbican one of the Service.
func Unstorable(secret string, err error) error {
	if openstack.Classify(err) != openstack.Invalid {
		return err
	}
	return &build.Invalid{Reason: build.ReasonCertificateUnusable, Message: fmt.Sprintf(
		"the certificate in Secret %s cannot be used: %s", secret, openstack.Reason(err))}
}

// ReadCertificate reads a Secret with a certificate. It goes to the API server for it: a
// cache would list all Secrets.
func (p *Planner) ReadCertificate(ctx context.Context, namespace, name string) (*certificate.Certificate, error) {
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

// refusalIn returns the *build.Invalid in err, or nil.
func refusalIn(err error) *build.Invalid {
	var i *build.Invalid
	if errors.As(err, &i) {
		return i
	}
	return nil
}
