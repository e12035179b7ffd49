// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Octavia gives itself the right to read a certificate in Barbican, on behalf of the client that names it. For that,
// Octavia 11 (OpenStack 2022.2) exchanges the client's token for another one. Keystone refuses this for an application
// credential or a trust. Octavia 16 (2025.1) uses the client's token itself, as far as its access rules allow. The
// version of the API does not show which way Octavia uses. So certificates are tried, in ways in which a refusal does
// no harm: a load balancer is created before its children, and a port is not closed before Octavia has said that it
// accepts the TLS listener that takes its place.

// Login has the properties of a login that matter for certificates.
type Login struct {
	// Kind is how the controller authenticates; empty if that does not matter.
	Kind config.Authentication
	// ID distinguishes logins.
	ID string
	// Lacks are the calls that Octavia needs to give itself the right to read certificates, but that the access rules
	// of the login do not allow.
	Lacks []string
}

// trusted reports whether every release of Octavia can read certificates on behalf of the login.
func (l Login) trusted() bool { return l.Kind == "" || l.Kind == config.ByPassword }

// advice says what lets Octavia read certificates.
func (l Login) advice() string {
	who := map[config.Authentication]string{config.ByApplicationCredential: "an application credential", config.ByTrust: "a trust", config.ByToken: "a token"}[l.Kind]
	text := fmt.Sprintf("Octavia of OpenStack 2022.2 reads no certificates on behalf of %s, that of 2025.1 does. For the former set a user with a password in [Global] of cloud.conf, "+
		"or, if Octavia's own user may read the certificates, container-store = external in [LoadBalancer]", who)
	if len(l.Lacks) > 0 {
		text = fmt.Sprintf("the access rules of the application credential do not allow %s, which Octavia of OpenStack 2025.1 needs: create another one with "+
			"`kube-octavia credential create`. ", strings.Join(l.Lacks, ", ")) + text
	}
	return text
}

// TriesCertificates reports whether Octavia may be unable to read certificates on behalf of the login in use.
func (f Facts) TriesCertificates() bool {
	return !f.Login.trusted() && !f.Config.ExternalContainers()
}

// refusedCertificates remembers the certificates of an operation that Octavia could not read.
func refusedCertificates(f Facts, r memory.Record, op diff.Op, err error) memory.RefusedCertificates {
	out := r.Certificates
	out.Again = false
	var cloud *openstack.Error
	refs := diff.CertificateRefs(op)
	if !f.TriesCertificates() || len(refs) == 0 || !openstack.CannotReadCertificate(err) || !errors.As(err, &cloud) {
		return out
	}
	out = out.With(refs, f.Login.ID, cloud.Fact(), f.Now, timing.Backoff{First: f.Timing.SlowRetry, Last: 15 * f.Timing.SlowRetry})
	_, creates := op.(diff.CreateLoadBalancer)
	out.Again = !creates // a VIP port may be left
	return out
}

// RefusedInPart reports whether Octavia refused members or certificates, so that the pass should be decided once more
// without them.
func RefusedInPart(r memory.Record) bool { return r.Refused.Again || r.Certificates.Again }

// refusals returns, by reference, the wanted certificates that are not to be tried yet, with what Octavia said about
// each.
func (f Facts) refusals(b Built) map[string]string {
	if b.Err != nil || b.Wanted.LoadBalancer == nil || !f.TriesCertificates() {
		return nil
	}
	wanted := b.Wanted.LoadBalancer.CertificateRefs()
	refused, _ := f.Record.Certificates.Of(f.Login.ID, f.Now)
	maps.DeleteFunc(refused, func(ref, _ string) bool { return !slices.Contains(wanted, ref) })
	return refused
}

// triedAgain returns, by reference, the wanted certificates that are tried again now, with what Octavia said about
// each. Until Octavia accepts them, the conditions of the Service stay the same.
func (f Facts) triedAgain(b Built) map[string]string {
	l := f.observed().LoadBalancer
	if b.Err != nil || b.Wanted.LoadBalancer == nil || l == nil || !f.TriesCertificates() {
		return nil
	}
	wanted, used := b.Wanted.LoadBalancer.CertificateRefs(), l.CertificateRefs()
	_, due := f.Record.Certificates.Of(f.Login.ID, f.Now)
	maps.DeleteFunc(due, func(ref, _ string) bool { return !slices.Contains(wanted, ref) || slices.Contains(used, ref) })
	return due
}

// withoutRefusedCertificates leaves out the ports whose certificates Octavia refused: existing ports keep the
// certificate, or the protocol, that they have, and new ports are not opened. The Service is refused if no port would
// be left for a new load balancer, or while a load balancer that works is being replaced.
func (f Facts) withoutRefusedCertificates(b Built) Built {
	refused, due, o := f.refusals(b), f.triedAgain(b), f.observed()
	if len(refused)+len(due) == 0 {
		return b
	}
	var kept *lb.LoadBalancer
	if l := o.LoadBalancer; l != nil && l.ProvisioningStatus != lb.Error {
		kept = desired.MembersOnly(b.Input, o).LoadBalancer
	}
	var listeners []lb.Listener
	for _, l := range b.Wanted.LoadBalancer.Listeners {
		if l.TLS == nil || !slices.ContainsFunc(l.TLS.Refs(), func(ref string) bool { return refused[ref] != "" }) {
			listeners = append(listeners, l)
		} else if have, ok := find(kept, l.Key()); ok {
			have.AllowedCIDRs = l.AllowedCIDRs
			listeners = append(listeners, have)
		}
	}
	works := o.Predecessor != nil && o.Predecessor.ProvisioningStatus != lb.Error
	if len(refused) > 0 && (works || o.LoadBalancer == nil && len(listeners) == 0) {
		return f.refuse(b, refused)
	}
	maps.Copy(refused, due)
	wanted := *b.Wanted.LoadBalancer
	wanted.Listeners, b.Wanted.LoadBalancer = listeners, &wanted
	b.Wanted.Withheld = append(slices.Clip(b.Wanted.Withheld), lb.Withheld{Reason: desired.ReasonCertificateUnusable, Message: f.whyRefused(b.Input, refused)})
	return b
}

// refuse refuses the Service if Octavia has refused certificates that it needs.
func (f Facts) refuse(b Built, refused map[string]string) Built {
	if len(refused) > 0 {
		b.Err = &desired.Invalid{Reason: desired.ReasonCertificateUnusable, Message: f.whyRefused(b.Input, refused)}
	}
	return b
}

// find returns the listener of the load balancer on the port.
func find(l *lb.LoadBalancer, key lb.ListenerKey) (lb.Listener, bool) {
	if l == nil {
		return lb.Listener{}, false
	}
	i := slices.IndexFunc(l.Listeners, func(have lb.Listener) bool { return have.Key() == key })
	if i < 0 {
		return lb.Listener{}, false
	}
	return l.Listeners[i], true
}

// whyRefused says which certificates Octavia refused, what it said, and what to do.
func (f Facts) whyRefused(in desired.Input, refused map[string]string) string {
	var names, said []string
	for _, ref := range slices.Sorted(maps.Keys(refused)) {
		name := "certificate " + ref
		if in.Certificate.Secret != "" && ref == in.Certificate.Ref {
			name = "the certificate in Secret " + in.Certificate.Secret
		}
		names = append(names, name)
		if !slices.Contains(said, refused[ref]) {
			said = append(said, refused[ref])
		}
	}
	return fmt.Sprintf("Octavia cannot read %s: %s; %s. Until then existing ports go on without it, and new ones that need it stay closed",
		strings.Join(names, " and "), strings.Join(said, "; "), f.Login.advice())
}

// ClosesFor returns the TLS listener that takes the place of the one that the operation deletes, if Octavia may refuse
// it because of its certificates. If Octavia refused the listener only after the deletion, the port would stay closed.
func (d Decision) ClosesFor(f Facts, op diff.Op) (diff.CreateListener, bool) {
	closed, closes := op.(diff.DeleteListener)
	if !closes || !f.TriesCertificates() {
		return diff.CreateListener{}, false
	}
	for _, next := range d.Plan.Ops {
		opened, opens := next.(diff.CreateListener)
		if opens && opened.Listener.Key() == closed.Key && len(diff.CertificateRefs(opened)) > 0 {
			return opened, true
		}
	}
	return diff.CreateListener{}, false
}
