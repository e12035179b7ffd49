// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestDigestDependsOnTheServiceAndItsNodesOnly(t *testing.T) {
	in := factsOf(web(), "10.0.0.11").Desired.Input
	found, l := in, factsOf(web(), "10.0.0.11").built("lb-1")
	found.Found, found.Serial, found.Certificate.Ref, found.Networks.VIPSubnetID = &l, true, "ref", "found"
	for name, c := range map[string]struct {
		in   desired.Input
		same bool
	}{
		"load balancer found": {found, true},
		"another node":        {factsOf(web(), "10.0.0.11", "10.0.0.12").Desired.Input, false},
		"another setting":     {factsOf(web(annotated(annotation.ConnectionLimit, "9")), "10.0.0.11").Desired.Input, false},
	} {
		if same := Digest(c.in) == Digest(in); same != c.same {
			t.Errorf("%s: same %t", name, same)
		}
	}
	if d := Digest(factsOf(web(annotated(annotation.ConnectionLimit, "x"))).Desired.Input); d != "" || Digest(in) == "" {
		t.Errorf("digest of a refused Service: %q", d)
	}
}

func TestDigestOfAServiceOfBothFamiliesDependsOnItsNodesInBoth(t *testing.T) {
	both := func(policy corev1.IPFamilyPolicy, additionalSubnet string, nodeAddresses ...string) string {
		f := factsOf(web(func(s *corev1.Service) {
			s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = &policy, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			s.Spec.Ports[0].Protocol = corev1.ProtocolUDP // each node is a member once per family
		}), nodeAddresses[0])
		in := f.Desired.Input
		in.Networks.AdditionalSubnetID = additionalSubnet
		for _, a := range nodeAddresses[1:] {
			in.Nodes[0].Status.Addresses = append(in.Nodes[0].Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		return Digest(in)
	}
	for _, policy := range []corev1.IPFamilyPolicy{corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack} {
		digest := both(policy, "", "10.0.0.11", "fd00::11")
		switch {
		case digest == "":
			t.Errorf("%s: it counts as refused", policy)
		case digest != both(policy, "found", "10.0.0.11", "fd00::11"):
			t.Errorf("%s: the digest depends on a subnet that was found", policy)
		case digest == both(policy, "", "10.0.0.11"), digest == both(policy, "", "10.0.0.11", "fd00::12"):
			t.Errorf("%s: the digest does not depend on the IPv6 address of the node", policy)
		}
	}
}

func TestANodeThatIsNoMemberDoesNotChangeTheDigest(t *testing.T) {
	one := annotated(annotation.MaxMembers, "1")
	first, second := Digest(factsOf(web(one), "10.0.0.11").Desired.Input), Digest(factsOf(web(one), "10.0.0.12").Desired.Input)
	both := Digest(factsOf(web(one), "10.0.0.11", "10.0.0.12").Desired.Input)
	if first == second || both != first && both != second {
		t.Errorf("with one node %s, with another %s, with both and one member %s", first, second, both)
	}
}

// Digests are stored on Services. A version that computes others takes every Service for changed.
func TestDigestsOnServicesStayValid(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		want     string
	}{
		"plain":         {nil, "22e4c16d01d5d110"},
		"with settings": {[]string{annotation.ConnectionLimit, "9", annotation.XForwardedFor, "true", annotation.Prefix + "enable-health-monitor", "true"}, "17eb60f537f70d67"},
	} {
		s := web()
		for i := 0; i+1 < len(c.settings); i += 2 {
			annotated(c.settings[i], c.settings[i+1])(s)
		}
		if got := Digest(factsOf(s, "10.0.0.11", "10.0.0.12").Desired.Input); got != c.want {
			t.Errorf("%s: digest %s, and Services have %s", name, got, c.want)
		}
	}
}

func TestDriftIsLeftIfThePolicySaysSo(t *testing.T) {
	plain := factsOf(web(), "10.0.0.11")
	have := lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}}
	for name, c := range map[string]struct {
		policy       annotation.Drift
		digest, last string
		observed     lb.Observed
		want         bool
	}{
		"repair":                  {annotation.DriftRepair, "a", "a", have, false},
		"report":                  {annotation.DriftReport, "a", "a", have, true},
		"ignore":                  {annotation.DriftIgnore, "a", "a", have, true},
		"the Service has changed": {annotation.DriftReport, "b", "a", have, false},
		"refused":                 {annotation.DriftReport, "", "", have, false},
		"deleted":                 {annotation.DriftReport, "a", "a", lb.Observed{}, true},
		"a new load balancer":     {annotation.DriftReport, "a", "a", lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-2"}}, false},
		"during a replacement":    {annotation.DriftReport, "a", "a", lb.Observed{LoadBalancer: have.LoadBalancer, Predecessor: &lb.LoadBalancer{ID: "lb-0"}}, false},
	} {
		f := plain
		f.Record.Cloud.Observed, f.Record.Drift = c.observed, memory.Drift{Digest: c.last}
		d := Decision{Goal: Goal{Policy: c.policy, Digest: c.digest}, Plan: diff.Plan{Ops: []diff.Op{diff.SetMembers{}}}}
		d = hold(f, d)
		if left := len(d.Plan.Ops) == 0; left != c.want || len(d.Held) > 0 != c.want || d.Record.Drift.Detected != c.want {
			t.Errorf("%s: left %t, held %v", name, left, kinds(d.Held))
		}
		if ignored := d.IgnoresDrift(); ignored != (c.policy == annotation.DriftIgnore) {
			t.Errorf("%s: ignored %t", name, ignored)
		}
	}
}

func TestMembersFollowTheNodesWhileWorkIsStopped(t *testing.T) {
	before := factsOf(web(), "10.0.0.11")
	before = before.with(before.built("lb-1"))
	without := diff.Clone(before.Record.Cloud.Observed)
	without.LoadBalancer.Listeners[0].Pool.Members = nil
	for name, c := range map[string]struct {
		nodes    []string
		observed lb.Observed
		want     int
	}{
		"no change":                             {[]string{"10.0.0.11"}, before.Record.Cloud.Observed, 0},
		"new node":                              {[]string{"10.0.0.11", "10.0.0.12"}, before.Record.Cloud.Observed, 1},
		"foreign change of members":             {[]string{"10.0.0.11"}, without, 0},
		"foreign change of members, a new node": {[]string{"10.0.0.11", "10.0.0.12"}, without, 1},
	} {
		f := factsOf(web(), c.nodes...)
		f.Record.Cloud = memory.Cloud{Known: true, Observed: c.observed, Expected: &before.Record.Cloud.Observed}
		f.Stop = &Stop{For: time.Hour}
		if d := Decide(f); d.Action != Stopped || len(d.Plan.Ops) != c.want || len(only[diff.SetMembers](d.Plan.Ops)) != c.want {
			t.Errorf("%s: %v", name, kinds(d.Plan.Ops))
		}
	}
}

func TestANoteSaysWhatWasConfirmed(t *testing.T) {
	const then = "2026-01-01T00:00:00"
	settled := func() Decision {
		d := Decision{Done: true}
		d.Record.Drift.Digest = "digest"
		d.Goal.Wanted = lb.Wanted{LoadBalancer: &lb.LoadBalancer{}}
		d.Record.Cloud.Known, d.Record.Cloud.Confirmed = true, true
		d.Record.Cloud.Observed.LoadBalancer = &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: then}
		return d
	}
	observed := settled().Record.Cloud.Observed.LoadBalancer
	full := survey.Note{Digest: "digest", UpdatedAt: then, Members: survey.MembersDigest(observed), Settings: survey.SettingsDigest(observed)}
	stale := full
	stale.Unread = true
	for name, c := range map[string]struct {
		edit   func(*Decision)
		before string
		want   string
	}{
		"confirmed":                     {func(*Decision) {}, "", full.String()},
		"confirmed again":               {func(*Decision) {}, stale.String(), full.String()},
		"written, not read in full yet": {func(d *Decision) { d.Record.Cloud.Stale = true }, "", stale.String()},
		"not done":                      {func(d *Decision) { d.Done = false }, full.String(), full.String()},
		"never done":                    {func(d *Decision) { d.Done = false }, "", "digest"},
		"another digest, not done":      {func(d *Decision) { d.Done, d.Record.Drift.Digest = false, "new" }, full.String(), "new"},
		"no digest":                     {func(d *Decision) { d.Record.Drift.Digest = "" }, full.String(), ""},
		"not known":                     {func(d *Decision) { d.Record.Cloud.Known = false }, full.String(), full.String()},
		"members only":                  {func(d *Decision) { d.Goal.MembersOnly = true }, "", "digest"},
		"a second load balancer":        {func(d *Decision) { d.Record.Cloud.Observed.Duplicates = []string{"lb-2"} }, "", "digest"},
	} {
		d := settled()
		c.edit(&d)
		if got := d.Note(c.before); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
