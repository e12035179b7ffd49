// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// resolve works out what the Service is to have just now, and whether its load balancer has
// to be replaced for that.
func resolve(f Facts) (w Wish, action Action, record memory.Record, need Need) {
	built, o := f.Desired.Built, f.observed()
	w, action, record = Wish{Wanted: built.Wanted, Input: built.Input, Err: built.Err, old: f.Desired.Old}, Follow, f.Record
	if built.Input.Service == nil {
		return w, action, record, ""
	}
	if o.LoadBalancer != nil && !o.Guest && (built.Err == nil || misplaced(built.Input)) {
		of := f.fit()
		switch action = of.action(); action {
		case TakeBack:
			record.Cloud.Observed = takenBack(o)
			return w, action, record, NeedDesired
		case Refuse:
			w.Err = cannotReplace(build.RequiresReplacement(built.Err), of.obstacle)
		case FinishFirst:
			asItIs := built.Input
			asItIs.Found = nil
			w.Wanted, w.Err = build.Wanted(asItIs)
		case Replace:
			if f.Desired.Fresh == nil {
				return w, action, record, NeedFresh
			}
			w, action = f.replacementWish(w)
		}
	}
	record.Progress = replacementTrouble(f, action)
	w = f.limit(w)
	if w.Known {
		w.Digest, w.Policy = digest(w.Input), f.options().Drift
		record.Drift = readDigest(record.Drift, f.Service)
	}
	return w, action, record, ""
}

// limit wants no more than that pools follow the nodes for a Service that is refused, or of
// which it is not known what it is to have. What a Service that waits for its group will
// have to do without is said all the same.
func (f Facts) limit(w Wish) Wish {
	o := f.observed()
	w.MembersOnly = w.Err != nil
	w.Known = w.Err == nil || o.LoadBalancer != nil
	if errors.As(w.Err, &w.Refused) || errors.As(w.Err, &w.Waits) {
		w.Known, w.Err = true, nil
	}
	if w.MembersOnly {
		withheld := w.Wanted.Withheld
		if w.Wanted = build.MembersOnly(w.Input, o); w.Waits != nil {
			w.Wanted.Withheld = withheld
		}
		return w
	}
	if o.LoadBalancer == nil && w.Wanted.FloatingIP == nil {
		w.Wanted = withNotedVIP(w.Wanted, f.Service)
	}
	return w
}

// withNotedVIP lets the load balancer that is to be made have the address that was noted, in
// its subnet, whatever subnet the configuration names by now.
func withNotedVIP(w lb.Wanted, service *corev1.Service) lb.Wanted {
	vip, noted := NotedVIP(service)
	if !noted || w.LoadBalancer == nil || w.LoadBalancer.VIP.Address != "" || onGivenPort(w) {
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

// NotedVIP reads the address that an internal Service has while its load balancer is deleted
// and another one made: from the moment at which nobody holds the address, it has to be
// remembered on the Service.
func NotedVIP(service *corev1.Service) (vip lb.VIP, ok bool) {
	address, subnet, _ := strings.Cut(service.Annotations[annotation.VIPAddress], " ")
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return lb.VIP{}, false
	}
	vip = lb.VIP{Address: parsed.String()}
	if openstack.IsID(subnet) {
		vip.SubnetID = subnet
	}
	return vip, true
}

// onGivenPort reports whether the VIP is a port that a person made, which only one load
// balancer can have.
func onGivenPort(w lb.Wanted) bool { return w.LoadBalancer != nil && w.LoadBalancer.VIP.PortID != "" }

// WithCertificate returns what is wanted with the reference of a certificate that was stored
// in the place of its name.
func WithCertificate(w lb.Wanted, name, ref string) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i, listener := range l.Listeners {
		if listener.TLS != nil && listener.TLS.Certificate == name {
			tls := *listener.TLS
			tls.Certificate = ref
			l.Listeners[i].TLS = &tls
		}
	}
	w.LoadBalancer = &l
	return w
}

func equal(a, b lb.Wanted) bool { return reflect.DeepEqual(a, b) }

// EqualButMembers reports whether a and b differ at most in the members of pools.
func EqualButMembers(a, b lb.Wanted) bool { return equal(withoutMembers(a), withoutMembers(b)) }

func withoutMembers(w lb.Wanted) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i := range l.Listeners {
		if l.Listeners[i].Pool != nil {
			pool := *l.Listeners[i].Pool
			pool.Members = nil
			l.Listeners[i].Pool = &pool
		}
	}
	w.LoadBalancer = &l
	return w
}
