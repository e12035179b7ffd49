// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

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
