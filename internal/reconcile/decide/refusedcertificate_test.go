// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const (
	certificateOne = "http://barbican.test/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	certificateTwo = "http://barbican.test/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e05"
)

var (
	credential = Login{Kind: config.ByApplicationCredential, ID: "credential-1"}
	unread     = &openstack.Error{Op: "create listener", Class: openstack.Invalid, Status: 400, RequestID: "req-1",
		Message: "Could not retrieve certificate: ['" + certificateOne + "']"}
)

// terminating is a Service that terminates TLS on port 443 with the certificate, and not on port 80.
func terminating(certificate string, edits ...func(*corev1.Service)) *corev1.Service {
	s := web(append([]func(*corev1.Service){annotated(annotation.TLSContainer, certificate), annotated(annotation.OwnPrefix+"protocols", "443=TERMINATED_HTTPS,80=TCP")}, edits...)...)
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Protocol: corev1.ProtocolTCP, Port: 443, NodePort: 30443})
	return s
}

// by sets the login.
func (f Facts) by(l Login) Facts {
	f.Login = l
	return f
}

// unreadable lets Octavia have refused the certificate, for the login in use.
func (f Facts) unreadable(certificate string) Facts {
	op := diff.CreateListener{Listener: lb.Listener{TLS: &lb.TLS{Certificate: certificate}}}
	f.Record.Certificates = refusedCertificates(f, f.Record, op, unread)
	f.Record.Certificates.Again = false
	return f
}

// ports are the ports of the wanted listeners, with their certificates.
func ports(w lb.Wanted) (all []string) {
	for _, l := range w.LoadBalancer.Listeners {
		text := fmt.Sprintf("%d %s", l.Port, l.Protocol)
		if l.TLS != nil {
			text += " " + l.TLS.Certificate
		}
		all = append(all, text)
	}
	return all
}

func TestCertificatesAreRememberedThatOctaviaCannotReadForTheLogin(t *testing.T) {
	create := diff.CreateListener{Listener: lb.Listener{TLS: &lb.TLS{Certificate: certificateOne, SNI: []string{certificateTwo}}}}
	other := func(status int, class openstack.Class, message string) error {
		return &openstack.Error{Status: status, Class: class, Message: message}
	}
	for name, c := range map[string]struct {
		login    Login
		external bool
		op       diff.Op
		err      error
		want     []string
		again    bool
	}{
		"an application credential": {login: credential, op: create, err: unread, want: []string{certificateOne, certificateTwo}, again: true},
		"a trust":                   {login: Login{Kind: config.ByTrust}, op: create, err: unread, want: []string{certificateOne, certificateTwo}, again: true},
		"a token":                   {login: Login{Kind: config.ByToken}, op: create, err: unread, want: []string{certificateOne, certificateTwo}, again: true},
		"another certificate":       {login: credential, op: diff.UpdateListener{TLS: &lb.TLS{Certificate: certificateTwo}}, err: unread, want: []string{certificateTwo}, again: true},
		"a load balancer": {login: credential, op: diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Listeners: []lb.Listener{{TLS: &lb.TLS{Certificate: certificateOne}}}}},
			err: unread, want: []string{certificateOne}},
		"a password":                            {login: Login{Kind: config.ByPassword}, op: create, err: unread},
		"Octavia's own user may read them":      {login: credential, external: true, op: create, err: unread},
		"a full quota of listeners":             {login: credential, op: create, err: other(403, openstack.Quota, "Quota has been met for resources: listener")},
		"a load balancer that is being used":    {login: credential, op: create, err: other(409, openstack.Busy, "Load Balancer is immutable")},
		"a certificate that is read, and wrong": {login: credential, op: create, err: other(400, openstack.Invalid, "The PKCS12 bundle is unreadable.")},
		"a gateway that repeats it":             {login: credential, op: create, err: other(502, openstack.Transient, unread.Message)},
		"a listener without TLS":                {login: credential, op: diff.CreateListener{}, err: unread},
	} {
		f := factsOf(terminating(certificateOne), "10.0.0.1").by(c.login)
		if c.external {
			f.Config.ContainerStore = "external"
		}
		got := refusedCertificates(f, f.Record, c.op, c.err)
		var refs []string
		for _, ref := range []string{certificateOne, certificateTwo} {
			if waiting, _ := got.Of(c.login.ID, noon); waiting[ref] != "" {
				said := waiting[ref]
				refs = append(refs, ref)
				if !strings.Contains(said, "Could not retrieve certificate") || !strings.Contains(said, "req-1") {
					t.Errorf("%s: what Octavia said is %q", name, said)
				}
			}
		}
		if d := cmp.Diff(c.want, refs); d != "" || got.Again != c.again {
			t.Errorf("%s: again %t, remembered (-want +got):\n%s", name, got.Again, d)
		}
	}
}

func TestAdviceAboutCertificatesFitsTheLogin(t *testing.T) {
	const password, newCredential = "set a user with a password", "kube-octavia credential create"
	lacking := credential
	lacking.Lacks = []string{"GET /v1/secrets/*/acl of key-manager"}
	for name, c := range map[string]struct {
		login      Login
		want, lack string
	}{
		"an application credential":                  {credential, "on behalf of an application credential, that of 2025.1 does. For the former " + password, newCredential},
		"an application credential that lacks rules": {lacking, "do not allow GET /v1/secrets/*/acl of key-manager, which Octavia of OpenStack 2025.1 needs: create another one with `" + newCredential, "a trust"},
		"a trust": {Login{Kind: config.ByTrust}, "on behalf of a trust", newCredential},
		"a token": {Login{Kind: config.ByToken}, "on behalf of a token", newCredential},
	} {
		if got := c.login.advice(); !strings.Contains(got, c.want) || strings.Contains(got, c.lack) || !strings.Contains(got, password) || !strings.Contains(got, "container-store = external") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAPortWhoseCertificateOctaviaCannotReadKeepsNoOtherPortOut(t *testing.T) {
	plain := factsOf(web(), "10.0.0.1")
	before := factsOf(terminating(certificateTwo), "10.0.0.1")
	everything := []string{"80 TCP", "443 TERMINATED_HTTPS " + certificateOne}
	for name, c := range map[string]struct {
		have *lb.LoadBalancer
		edit func(Facts) Facts
		want []string
		left bool
	}{
		"without a load balancer":         {nil, nil, []string{"80 TCP"}, true},
		"a new port":                      {ptr.To(plain.built("lb-1")), nil, []string{"80 TCP"}, true},
		"a port with another certificate": {ptr.To(before.built("lb-1")), nil, []string{"80 TCP", "443 TERMINATED_HTTPS " + certificateTwo}, true},
		"another login":                   {ptr.To(plain.built("lb-1")), func(f Facts) Facts { return f.by(Login{Kind: config.ByApplicationCredential, ID: "another"}) }, everything, false},
		"a password":                      {ptr.To(plain.built("lb-1")), func(f Facts) Facts { return f.by(Login{Kind: config.ByPassword, ID: credential.ID}) }, everything, false},
		"another certificate was refused": {ptr.To(plain.built("lb-1")), func(f Facts) Facts { f.Record.Certificates.By = nil; return f.unreadable(certificateTwo) }, everything, false},
		"later, it is tried again, and reported until Octavia accepts it": {ptr.To(plain.built("lb-1")), func(f Facts) Facts { f.Now = noon.Add(3 * f.Timing.SlowRetry); return f }, everything, true},
		"later, another client has set it": {ptr.To(factsOf(terminating(certificateOne), "10.0.0.1").built("lb-1")),
			func(f Facts) Facts { f.Now = noon.Add(3 * f.Timing.SlowRetry); return f }, everything, false},
		"the load balancer failed, and all anew": {ptr.To(failed(plain.built("lb-1"))), nil, []string{"80 TCP"}, true},
	} {
		f := factsOf(terminating(certificateOne), "10.0.0.1")
		if c.have != nil {
			f = f.with(*c.have)
		}
		f = f.by(credential).unreadable(certificateOne)
		if c.edit != nil {
			f = c.edit(f)
		}
		got := f.withoutRefusedCertificates(f.Desired.Built)
		if got.Err != nil {
			t.Fatalf("%s: %v", name, got.Err)
		}
		if d := cmp.Diff(c.want, ports(got.Wanted)); d != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, d)
		}
		if left := len(got.Wanted.Withheld) == 1 && got.Wanted.Withheld[0].Reason == desired.ReasonCertificateUnusable; left != c.left {
			t.Errorf("%s: withheld is %+v", name, got.Wanted.Withheld)
		}
		if d := cmp.Diff(everything, ports(f.Desired.Wanted)); d != "" {
			t.Errorf("%s: what was built has changed (-want +got):\n%s", name, d)
		}
	}
}

// Sources are restricted at once, also of a port that keeps another certificate.
func TestAPortThatKeepsItsCertificateGetsNewSourceRanges(t *testing.T) {
	had := factsOf(terminating(certificateTwo), "10.0.0.1").built("lb-1")
	for i := range had.Listeners {
		had.Listeners[i].ID, had.Listeners[i].Pool.ID = fmt.Sprint("listener-", i), fmt.Sprint("pool-", i)
	}
	f := factsOf(terminating(certificateOne, func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }), "10.0.0.1").
		with(had).by(credential).unreadable(certificateOne)
	d := Decide(f)
	if got := kinds(d.Plan.Ops); !cmp.Equal(got, []string{"UpdateListener", "UpdateListener"}) || len(d.Plan.Refused) != 1 {
		t.Errorf("operations %v, refused %v", d.Plan.Ops, d.Plan.Refused)
	}
	for _, op := range d.Plan.Ops {
		if update := op.(diff.UpdateListener); update.TLS != nil || update.AllowedCIDRs == nil {
			t.Errorf("operation %+v", op)
		}
	}
}

func TestAServiceIsRefusedOfWhichNoPortIsLeftToCreate(t *testing.T) {
	f := factsOf(web(annotated(annotation.TLSContainer, certificateOne)), "10.0.0.1").by(credential).unreadable(certificateOne)
	if d := Decide(f); d.Goal.Refused == nil || d.Goal.Refused.Reason != desired.ReasonCertificateUnusable || len(d.Plan.Ops) > 0 {
		t.Errorf("refused %+v, operations %v", d.Goal.Refused, d.Plan.Ops)
	}
}

// The address would move to a load balancer that lacks a port.
func TestALoadBalancerIsNotReplacedByOneWhoseCertificateOctaviaCannotRead(t *testing.T) {
	f := factsOf(terminating(certificateOne), "10.0.0.1").with(factsOf(web(), "10.0.0.1").built("lb-2")).by(credential).unreadable(certificateOne)
	old := factsOf(terminating(certificateTwo), "10.0.0.1").built("lb-1")
	f.Record.Cloud.Observed.Predecessor = &old
	if d := Decide(f); d.Goal.Refused == nil || d.Goal.Refused.Reason != desired.ReasonCertificateUnusable {
		t.Errorf("refused %+v, operations %v", d.Goal.Refused, d.Plan.Ops)
	}
	old.ProvisioningStatus = lb.Error
	if d := Decide(f); d.Goal.Refused != nil || len(d.Plan.Refused) != 1 {
		t.Errorf("of a failed one: refused %+v and %v", d.Goal.Refused, d.Plan.Refused)
	}
}

func TestNoReplacementIsCreatedWhoseCertificateOctaviaCannotRead(t *testing.T) {
	gold := func(s *corev1.Service) {
		s.Annotations[annotation.FlavorID], s.Annotations[annotation.AllowReplacement] = "00000000-0000-4000-8000-00000000901d", "true"
	}
	silver := factsOf(web(), "10.0.0.1").built("lb-1")
	silver.FlavorID = "silver"
	f := factsOf(terminating(certificateOne, publishing, gold), "10.0.0.1").with(silver).by(credential)
	if d := Decide(withReplacement(f)); d.Action != Replace {
		t.Fatalf("before it is refused: %s", d.Action)
	}
	if d := Decide(withReplacement(f.unreadable(certificateOne))); d.Goal.Refused == nil || d.Goal.Refused.Reason != desired.ReasonCertificateUnusable {
		t.Errorf("%s, refused %+v", d.Action, d.Goal.Refused)
	}
	// One that replaces a failed one is completed before it is replaced itself, without the port.
	d := Decide(succeeding(f.unreadable(certificateOne), failed(factsOf(web(), "10.0.0.1").built("old"))))
	if d.Action != PostponeReplacement || len(d.Plan.Refused) != 1 || slices.ContainsFunc(d.Plan.Ops, is[diff.CreatePool]) {
		t.Errorf("%s, refused %v, operations %v", d.Action, d.Plan.Refused, d.Plan.Ops)
	}
}

func TestAPortIsClosedOnlyForACertificateThatOctaviaAccepts(t *testing.T) {
	close := diff.DeleteListener{ID: "l", Key: lb.ListenerKey{Transport: lb.TCP, Port: 443}}
	open := func(port int, tls *lb.TLS) diff.Op {
		return diff.CreateListener{Listener: lb.Listener{Protocol: "TERMINATED_HTTPS", Port: port, TLS: tls}}
	}
	for name, c := range map[string]struct {
		login Login
		op    diff.Op
		next  diff.Op
		want  bool
	}{
		"TLS instead":              {credential, close, open(443, &lb.TLS{Certificate: certificateOne}), true},
		"TLS instead, by password": {Login{Kind: config.ByPassword}, close, open(443, &lb.TLS{Certificate: certificateOne}), false},
		"no TLS instead":           {credential, close, open(443, nil), false},
		"TLS on another port":      {credential, close, open(444, &lb.TLS{Certificate: certificateOne}), false},
		"a pool is deleted":        {credential, diff.DeletePool{ID: "l"}, open(443, &lb.TLS{Certificate: certificateOne}), false},
		"nothing instead":          {credential, close, close, false},
	} {
		f := factsOf(terminating(certificateOne)).by(c.login)
		d := Decision{Plan: diff.Plan{Ops: []diff.Op{c.op, c.next}}}
		if _, got := d.ClosesFor(f, c.op); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
