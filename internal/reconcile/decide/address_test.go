// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// neutronModel is Neutron as far as floating IPs are concerned. Like the real one, it attaches one of each network to a
// port, and none of a network without a router or with port forwardings.
type neutronModel struct {
	t        *testing.T
	floating map[string]lb.FloatingIP
	next     int
}

// The networks of floating IPs. No router leads to the last one.
const netA, netB, netUnreachable = "public", "net-b", "net-unreachable"

func (n *neutronModel) attach(f lb.FloatingIP, port string) error {
	if f.NetworkID == netUnreachable {
		return &openstack.Error{Class: openstack.Invalid, Status: 404, Message: "External network is not reachable"}
	}
	if f.Description == "forwarding" {
		return &openstack.Error{Class: openstack.Conflict, Status: 409, Message: "in use by Port Forwarding resources"}
	}
	for _, other := range n.floating {
		if other.ID != f.ID && other.PortID == port && other.NetworkID == f.NetworkID {
			return &openstack.Error{Class: openstack.Conflict, Status: 409, Message: "already has a floating IP"}
		}
	}
	f.PortID = port
	n.floating[f.ID] = f
	return nil
}

// apply carries out the operation as the cloud does.
func (n *neutronModel) apply(op diff.Op) (diff.Created, error) {
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		n.next++
		f := op.FloatingIP
		f.ID, f.Address, f.PortID = fmt.Sprintf("made-%d", n.next), fmt.Sprintf("203.0.113.%d", 100+n.next), ""
		if err := n.attach(f, op.FloatingIP.PortID); err != nil {
			return diff.Created{}, err
		}
		return diff.Created{ID: f.ID, Address: f.Address}, nil
	case diff.AssociateFloatingIP:
		f, ok := n.floating[op.ID]
		if !ok {
			return diff.Created{}, &openstack.Error{Class: openstack.Gone, Status: 404, Message: "could not be found"}
		}
		if op.Description != "" {
			f.Description = op.Description
		}
		return diff.Created{}, n.attach(f, op.PortID)
	case diff.DisassociateFloatingIP:
		f := n.floating[op.ID]
		f.PortID = ""
		if op.Description != "" {
			f.Description = op.Description
		}
		n.floating[op.ID] = f
	case diff.DeleteFloatingIP:
		delete(n.floating, op.ID)
	}
	return diff.Created{}, nil
}

// addressStage makes passes over one Service whose address changes, as the controller does.
type addressStage struct {
	*testing.T
	cloud   *neutronModel
	service *corev1.Service

	facts  Facts
	before string // the address before the change
	// calls counts the calls since the change. Call number failing fails, as fails says.
	calls, failing int
	fails          string
}

// The ways in which a call fails.
const (
	rejected = "the cloud rejects it"
	notDone  = "it is not done"
	noAnswer = "it is done, but the answer is lost"
	killed   = "the controller is killed before it"
	after    = "the controller is killed after it"
)

var errKilled = errors.New("killed")

// observe returns the floating IPs of the Service, and the requested one if that is read.
func (s *addressStage) observe(requested bool) []lb.FloatingIP {
	var all []lb.FloatingIP
	want, published := s.facts.Desired.Wanted.FloatingIP, s.facts.Owner.Published()
	for _, id := range slices.Sorted(maps.Keys(s.cloud.floating)) {
		f := s.cloud.floating[id]
		if f.PortID == "port-lb-1" || f.Address == published || requested && want != nil && f.Address == want.Address {
			all = append(all, f)
		}
	}
	return all
}

// call carries out one operation, or fails.
func (s *addressStage) call(op diff.Op) (made diff.Created, err error) {
	s.calls++
	if s.calls != s.failing {
		return s.cloud.apply(op)
	}
	switch s.fails {
	case rejected:
		return made, &openstack.Error{Class: openstack.Invalid, Status: 403, Message: "not allowed"}
	case notDone:
		return made, &openstack.Error{Class: openstack.Transient, Status: 500, Message: "failed"}
	case noAnswer:
		_, _ = s.cloud.apply(op)
		return diff.Created{}, &openstack.Error{Class: openstack.Transient, Message: "no answer", Unanswered: true}
	case killed:
		return made, errKilled
	}
	_, _ = s.cloud.apply(op)
	return made, errKilled
}

// pass makes one pass and checks after each call what must hold at each moment.
func (s *addressStage) pass() (Decision, error) {
	f := s.facts
	f.Now = f.Now.Add(time.Second)
	f.Provided = []Need{NeedFloatingIPs, NeedRequestedAddresses, NeedStatusTree}
	if !f.Record.Cloud.Known {
		l := f.Record.Cloud.Observed.LoadBalancer
		f.Record.Cloud.Observed = lb.Observed{LoadBalancer: l}
		f.Record.Cloud.Known, f.Record.Cloud.Confirmed = true, true
	}
	o := &f.Record.Cloud.Observed
	read := func(requested bool) {
		for _, now := range s.observe(requested) {
			o.FloatingIPs = append(slices.DeleteFunc(slices.Clone(o.FloatingIPs), func(b lb.FloatingIP) bool { return b.ID == now.ID }), now)
		}
	}
	read(false)
	d := Decide(f)
	f.Record = d.Record
	if d.Need == NeedRequestedFloatingIP {
		f.Provided = append(f.Provided, d.Need)
		o = &f.Record.Cloud.Observed
		read(true)
		d = Decide(f)
		f.Record = d.Record
	}
	if d.Need != "" {
		s.Fatalf("need %s", d.Need)
	}
	var sequence Sequence
	var failure error
	for ops := d.Plan.Ops; len(ops) > 0; {
		op, ready := sequence.Ready(ops[0], d.Record.Cloud.Observed)
		if ops = ops[1:]; !ready {
			continue
		}
		if diff.Releases(op) != "" {
			s.publish(f, d, diff.Releases(op))
		}
		made, err := s.call(op)
		if errors.Is(err, errKilled) {
			s.restart(f)
			s.check(op)
			return d, nil
		}
		d.Record = Applied(f, d, op, made, err)
		switch {
		case Rejected(op, d.Record.Cloud.Observed, err):
			d.Delay = timing.StaleRetry
		case err != nil:
			failure = err
		}
		sequence = sequence.After(op, err)
		if instead, ok := Instead(op, d.Record.Cloud.Observed, err); ok {
			ops = append([]diff.Op{instead}, ops...)
		}
		s.check(op)
	}
	d, _ = Finish(f, d)
	f.Record = d.Record
	s.facts = f
	if failure == nil {
		s.publish(f, d, "")
	}
	return d, failure
}

// publish writes the address to the Service as a pass does; without is withdrawn before it is released.
func (s *addressStage) publish(f Facts, d Decision, without string) {
	p := status.Pass{Owner: f.Identity(), Observed: d.Record.Cloud.Observed, Done: d.Done, Refused: d.Plan.Refused, Publication: status.Publication{
		External: d.Goal.Wanted.FloatingIP != nil, Internal: d.Goal.Internal(), Own: d.OwnAddresses(f)}}
	if want := d.Goal.Wanted.FloatingIP; want != nil {
		p.Requested = want.Address
	}
	ingress := &s.service.Status.LoadBalancer.Ingress
	if without != "" {
		*ingress = status.Withdraw(*ingress, p, without)
	} else {
		*ingress = status.Ingress(*ingress, p)
		if len(status.Ingress(nil, p)) > 0 {
			s.service.Annotations[annotation.LoadBalancerAddress] = p.Address()
		}
	}
	s.facts.Owner = services.Owner(s.service)
}

// restart forgets everything but the cloud and the Service.
func (s *addressStage) restart(f Facts) {
	l := f.Record.Cloud.Observed.LoadBalancer
	f.Record = memory.Record{Cloud: memory.Cloud{Observed: lb.Observed{LoadBalancer: l}}}
	f.Record.Drift.Read = true
	s.facts = f
}

// check checks that the Service has its old or its new address, or can get the old one back, and that the published
// address was not released.
func (s *addressStage) check(op diff.Op) {
	s.Helper()
	serving, allocated := 0, false
	for _, f := range s.cloud.floating {
		if f.PortID == "port-lb-1" {
			serving++
		}
		allocated = allocated || f.Address == s.before
	}
	if internal := s.facts.Desired.Wanted.FloatingIP == nil; s.before != "" && serving == 0 && !allocated && !internal {
		s.Fatalf("after %v (call %d) the Service has no address, and %s is released", op, s.calls, s.before)
	}
	for _, i := range s.service.Status.LoadBalancer.Ingress {
		released := i.IP != "10.0.0.5" && !slices.ContainsFunc(s.observe(true), func(f lb.FloatingIP) bool {
			return f.Address == i.IP && (f.PortID == "port-lb-1" || f.PortID == "")
		})
		if released {
			s.Fatalf("after %v (call %d) the status has %s, which was released", op, s.calls, i.IP)
		}
	}
}

// addressSettings are all ways to choose the address of a Service.
func addressSettings() map[string]func(*corev1.Service, *desired.Input) {
	given := func(address string) func(*corev1.Service, *desired.Input) {
		return func(s *corev1.Service, in *desired.Input) {
			s.Annotations[annotation.FloatingIP], in.Networks.FloatingIPAddress = address, address
		}
	}
	return map[string]func(*corev1.Service, *desired.Input){
		"internal": func(s *corev1.Service, _ *desired.Input) {
			s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
		},
		"automatic":               func(*corev1.Service, *desired.Input) {},
		"automatic, kept":         func(s *corev1.Service, _ *desired.Input) { s.Annotations[annotation.KeepFloatingIP] = "true" },
		"automatic in B":          func(_ *corev1.Service, in *desired.Input) { in.Networks.FloatingNetworkID = netB },
		"automatic, unreachable":  func(_ *corev1.Service, in *desired.Input) { in.Networks.FloatingNetworkID = netUnreachable },
		"given by annotation":     given("203.0.113.11"),
		"given by loadBalancerIP": func(s *corev1.Service, _ *desired.Input) { s.Spec.LoadBalancerIP = "203.0.113.12" },
		"given in B":              given("203.0.113.21"),
		"given, unreachable":      given("203.0.113.31"),
		"given, port forwardings": given("203.0.113.41"),
		"given, there is none":    given("203.0.113.99"),
		"given by annotation, kept": func(s *corev1.Service, in *desired.Input) {
			given("203.0.113.11")(s, in)
			s.Annotations[annotation.KeepFloatingIP] = "true"
		},
	}
}

func newAddressStage(t *testing.T) *addressStage {
	n := &neutronModel{t: t, floating: map[string]lb.FloatingIP{}}
	for _, f := range []lb.FloatingIP{
		{ID: "a1", Address: "203.0.113.11", NetworkID: netA}, {ID: "a2", Address: "203.0.113.12", NetworkID: netA},
		{ID: "b1", Address: "203.0.113.21", NetworkID: netB}, {ID: "unreachable", Address: "203.0.113.31", NetworkID: netUnreachable},
		{ID: "forwarding", Address: "203.0.113.41", NetworkID: netA, Description: "forwarding"},
	} {
		n.floating[f.ID] = f
	}
	plain := factsOf(web(), "10.0.0.11")
	l := plain.built("lb-1")
	f := plain.with(l)
	f.Record.Cloud.Observed.FloatingIPs = nil
	return &addressStage{T: t, cloud: n, service: web(), facts: f}
}

// set makes the Service request the address.
func (s *addressStage) set(setting func(*corev1.Service, *desired.Input)) {
	service := web()
	service.Status = s.service.Status
	if published := s.service.Annotations[annotation.LoadBalancerAddress]; published != "" {
		service.Annotations[annotation.LoadBalancerAddress] = published
	}
	in := s.facts.Desired.Input
	in.Networks.FloatingIPAddress, in.Networks.FloatingNetworkID = "", netA
	service.Annotations[annotation.Managed] = string(service.UID)
	setting(service, &in)
	s.service, s.facts.Owner = service, services.Owner(service)
	in.Spec = s.facts.Owner.Spec
	s.facts.Desired.Input = in
	s.facts.Desired.Wanted, s.facts.Desired.Err = desired.Wanted(in)
	if s.facts.Desired.Err != nil {
		s.Fatal(s.facts.Desired.Err)
	}
}

// settle makes passes until nothing changes, and nothing is tried again soon.
func (s *addressStage) settle() Decision {
	for range 12 {
		d, err := s.pass()
		soon := slices.ContainsFunc(slices.Collect(maps.Values(d.Record.Rejected)), func(r memory.Rejected) bool {
			return r.Address == s.facts.Owner.Published()
		})
		if err == nil && (d.Done || len(d.Plan.Refused) > 0 && len(d.Plan.Ops) == 0 && !soon) {
			return d
		}
	}
	return Decision{}
}

// A person may detach the address of a Service and take the gateway of the router away. Then the cloud attaches neither
// that address nor, perhaps, the requested one.
func TestAddressesThatCannotBeAttachedAreTriedWithGrowingWaits(t *testing.T) {
	settings := addressSettings()
	for _, to := range []string{"automatic", "given, unreachable", "given, port forwardings"} {
		t.Run(to, func(t *testing.T) {
			s := newAddressStage(t)
			s.set(settings["automatic"])
			s.settle()
			for id, f := range s.cloud.floating {
				if f.PortID != "" {
					f.PortID, f.NetworkID = "", netUnreachable
					s.cloud.floating[id] = f
				}
			}
			s.set(settings[to])
			s.facts.Record.Cloud.Known, s.facts.Record.Progress.Reached = false, lb.Fingerprint{} // it is read again
			s.calls = 0
			begin, passes := s.facts.Now, 0
			for s.facts.Now.Sub(begin) < time.Hour {
				d, err := s.pass()
				wait, err := Next(s.facts, d, Outcome{Failure: err})
				if err != nil || wait == 0 {
					t.Fatalf("the next pass is after %v (%v) ", wait, err)
				}
				s.facts.Now = s.facts.Now.Add(wait)
				passes++
			}
			if s.calls > 80 || passes > 160 {
				t.Errorf("%d attempts and %d passes in an hour", s.calls, passes)
			}
			if s.calls < 10 {
				t.Errorf("%d attempts in an hour", s.calls)
			}
		})
	}
}

func TestNoPublishedAddressIsLostWhenTheSettingsOfTheAddressChange(t *testing.T) {
	settings := addressSettings()
	for from, first := range settings {
		for to, second := range settings {
			for _, fails := range []string{rejected, notDone, noAnswer, killed, after} {
				for failing := range 5 {
					t.Run(fmt.Sprintf("from %s to %s, call %d: %s", from, to, failing, fails), func(t *testing.T) {
						s := newAddressStage(t)
						s.set(first)
						s.settle()
						for _, i := range s.service.Status.LoadBalancer.Ingress {
							if i.IP != "10.0.0.5" {
								s.before = i.IP
							}
						}
						s.set(second)
						s.calls, s.failing, s.fails = 0, failing, fails
						d := s.settle()
						s.check(nil)
						if fails != rejected && s.before != "" && !d.Done && len(d.Plan.Refused) == 0 && to != "automatic, unreachable" {
							t.Errorf("it does not end: %v", d.Plan.Ops)
						}
						if len(d.Plan.Refused) > 0 && s.before != "" && !slices.ContainsFunc(s.observe(true), func(f lb.FloatingIP) bool { return f.PortID == "port-lb-1" && f.Address == s.before }) {
							t.Errorf("refused (%v), but the Service is not at %s any more: %+v", d.Plan.Refused, s.before, s.observe(true))
						}
					})
				}
			}
		}
	}
}

func TestOnlyTheAttachmentOfAFloatingIPIsRememberedAsRejected(t *testing.T) {
	observed := lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: "attached", PortID: "vip"}, {ID: "detached"}}}
	refused := &openstack.Error{Class: openstack.Invalid}
	for name, c := range map[string]struct {
		op   diff.Op
		err  error
		want bool
	}{
		"an attachment":                      {diff.AssociateFloatingIP{ID: "detached", PortID: "vip"}, refused, true},
		"one that moves from another port":   {diff.AssociateFloatingIP{ID: "attached", PortID: "other"}, refused, true},
		"one that failed for another reason": {diff.AssociateFloatingIP{ID: "detached", PortID: "vip"}, &openstack.Error{Class: openstack.Throttled}, false},
		"one that succeeded":                 {diff.AssociateFloatingIP{ID: "detached", PortID: "vip"}, nil, false},
		"another description of an attached": {diff.AssociateFloatingIP{ID: "attached", PortID: "vip", Description: "for the others"}, refused, false},
		"the deletion of a detached one":     {diff.DeleteFloatingIP{ID: "detached"}, refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Rejected(c.op, observed, c.err); got != c.want {
				t.Errorf("Rejected = %v, want %v", got, c.want)
			}
		})
	}
}
