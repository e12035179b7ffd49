// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Goal is the desired state of this pass, and why it is not everything that the Service
// requests.
type Goal struct {
	Wanted lb.Wanted
	// Input is what Wanted was built from.
	Input desired.Input
	// Refused says why the Service is refused; nil if it is not. Waits says for which Service of its group it waits;
	// nil if it does not wait. Err says why the desired state is unknown; nil if it is known.
	Refused *desired.Invalid
	Waits   *GroupWait
	Err     error
	// MembersOnly reports whether, for one of these reasons, only members are updated.
	MembersOnly bool
	// Known reports whether there is enough information to act.
	Known bool
	// Digest identifies what the Service requests.
	Digest string
	// Policy is the Service's drift policy.
	Policy annotation.Drift
	// predecessor is the input for the members of a load balancer that is being replaced.
	predecessor *desired.Input
	// leaves reports whether the refused Service gives up its ports, because they are reachable from outside but must
	// not be reachable.
	leaves bool
	// replaces reports whether Wanted is a replacement for the existing load balancer.
	replaces bool
}

// Internal reports whether the Service is to have no floating IP.
func (g Goal) Internal() bool {
	return g.Wanted.LoadBalancer != nil && g.Wanted.FloatingIP == nil && !g.Wanted.KeepAddress
}

// GroupWait is the error of a Service that waits until another Service has created the load
// balancer of their group.
type GroupWait struct{ For string }

func (w *GroupWait) Error() string {
	return "Service " + w.For + " creates the load balancer of the group first"
}

// withRecordedVIP requests the VIP address that is recorded on the Service for a new load
// balancer, in the recorded subnet: the configuration may name another one now.
func withRecordedVIP(w lb.Wanted, o claim.Owner) lb.Wanted {
	vip, recorded := RecordedVIP(o)
	if !recorded || w.LoadBalancer == nil || w.LoadBalancer.VIP.Address != "" || usesGivenPort(w) {
		return w
	}
	l := *w.LoadBalancer
	if vip.SubnetID != "" {
		l.VIP = vip
	} else {
		l.VIP.Address = vip.Address
	}
	w.LoadBalancer = &l
	return w
}

// RecordedVIP returns the VIP address that is recorded on an internal Service while its load
// balancer is deleted and created again: in that time nothing in the cloud has the address.
func RecordedVIP(o claim.Owner) (vip lb.VIP, ok bool) {
	if o.Original != "" {
		return lb.VIP{}, false // it is the address of another owner
	}
	address, subnet, _ := strings.Cut(o.Recorded.VIPAddress, " ")
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return lb.VIP{}, false
	}
	vip.Address = parsed.String()
	if openstack.IsID(subnet) {
		vip.SubnetID = subnet
	}
	return vip, true
}

// usesGivenPort reports whether the user names the port of the VIP. Only one load balancer
// can have it.
func usesGivenPort(w lb.Wanted) bool { return w.LoadBalancer != nil && w.LoadBalancer.VIP.PortID != "" }

// WithCertificate replaces the name of a certificate with its reference, once it is stored.
func WithCertificate(w lb.Wanted, name, ref string) lb.Wanted {
	return withListeners(w, func(l *lb.Listener) {
		if l.TLS != nil && l.TLS.Certificate == name {
			tls := *l.TLS
			tls.Certificate = ref
			l.TLS = &tls
		}
	})
}

// withListeners returns a copy with edited listeners.
func withListeners(w lb.Wanted, edit func(*lb.Listener)) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i := range l.Listeners {
		edit(&l.Listeners[i])
	}
	w.LoadBalancer = &l
	return w
}
