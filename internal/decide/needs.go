// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// needs returns a decision that cannot be made yet.
func (d Decision) needs(n Need) Decision {
	return Decision{Need: n, Wish: d.Wish, Record: d.Record}
}

// lacksCertificate reports whether the certificate of the Service's Secret is wanted, and
// not stored yet.
func (f Facts) lacksCertificate(w Wish) bool {
	c := w.Input.Certificate
	return !f.has(NeedCertificate) && !w.MembersOnly && c.Ref == "" && c.Name != "" &&
		slices.Contains(w.Wanted.LoadBalancer.CertificateRefs(), c.Name) && !f.leavesDrift(w)
}

// lacksRequestedAddress reports whether the floating IP that the user asks for is to be
// looked at: until it is on the load balancer.
func (f Facts) lacksRequestedAddress(w Wish) bool {
	want, l := w.Wanted.FloatingIP, f.loadBalancer()
	if f.has(NeedRequestedAddress) || want == nil || want.Address == "" {
		return false
	}
	return !slices.ContainsFunc(f.observed().FloatingIPs, func(have lb.FloatingIP) bool {
		return have.Address == want.Address && l != nil && l.VIP.PortID != "" && have.PortID == l.VIP.PortID
	})
}

// lacksFloatingIPs reports whether floating IPs are to be read again before one is moved
// from where it was last seen: another client may have moved it since. The one that the
// Service asks for by its address was looked at already.
func (f Facts) lacksFloatingIPs(d Decision) bool {
	want := d.Wish.Wanted.FloatingIP
	return f.Remembered && !f.has(NeedFloatingIPs) && slices.ContainsFunc(d.Plan.Ops, func(op diff.Op) bool {
		switch op := op.(type) {
		case diff.DeleteFloatingIP, diff.DisassociateFloatingIP, diff.SetFloatingIPTags:
			return true
		case diff.AssociateFloatingIP:
			return want == nil || op.Address != want.Address
		}
		return false
	})
}

// mustSee reports whether the ACTIVE load balancer has to be looked at before anything is
// planned: ids below it are not known, or it takes the place of another one, which must not
// lose its address and be deleted because of what was only predicted.
func (f Facts) mustSee() bool {
	l := f.loadBalancer()
	return !f.has(NeedStatusTree) && l != nil && l.ProvisioningStatus == lb.Active &&
		(Nameless(*l) || f.observed().Predecessor != nil && !f.Record.Cloud.Confirmed)
}

// Nameless reports whether the ids of what is below the load balancer are not known yet: it
// was just created, and nothing below it can be changed.
func Nameless(l lb.LoadBalancer) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return l.ID == "" || l.Pool != nil && l.Pool.ID == ""
	})
}
