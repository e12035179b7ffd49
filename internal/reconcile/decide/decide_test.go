// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// failed is a load balancer in ERROR.
func failed(l lb.LoadBalancer) lb.LoadBalancer {
	l.ProvisioningStatus = lb.Error
	return l
}

// decision is a row of the tables of TestDecide, which together contain all actions.
type decision struct {
	facts  Facts
	action Action
	need   Need
	ops    []string
	check  func(*testing.T, Decision)
}

func checkDecisions(t *testing.T, tests map[string]decision) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(test.facts)
			if d.Need != test.need || test.need == "" && test.action != "" && d.Action != test.action {
				t.Fatalf("action %q, need %q, ops %v", d.Action, d.Need, kinds(d.Plan.Ops))
			}
			if diff := cmp.Diff(test.ops, kinds(d.Plan.Ops), cmpopts.EquateEmpty()); diff != "" && test.need == "" && test.check == nil {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
			if test.check != nil {
				test.check(t, d)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	plain := factsOf(web(), "10.0.0.11")
	have, pendingListener := plain.built("lb-1"), plain.built("lb-1")
	pendingListener.Listeners[0].ProvisioningStatus = lb.PendingCreate
	checkDecisions(t, map[string]decision{
		"no load balancer": {facts: plain, action: Converge, ops: []string{"CreateLoadBalancer", "CreateFloatingIP"}},
		"desired state":    {facts: plain.with(have), action: Converge, check: isDone},
		"new node":         {facts: factsOf(web(), "10.0.0.11", "10.0.0.12").with(have), action: Converge, ops: []string{"SetMembers"}},
		"foreign change":   {facts: changed(plain.with(have)), action: Converge, ops: []string{"SetMembers"}, check: isForeign},
		"foreign change, drift policy report": {facts: changed(factsOf(web(annotated(annotation.DriftPolicy, "report")), "10.0.0.11").with(have)),
			action: Converge, check: isHeld},
		"predicted state":                {facts: predicted(plain.with(have)), need: NeedStatusTree},
		"refused, no load balancer":      {facts: factsOf(web(annotated(annotation.TimeoutPrefix+"client-data", "no")), "10.0.0.11"), action: Converge, check: isRefused},
		"waits for its group":            {facts: waiting(plain), action: Converge, check: waitsForGroup},
		"requested floating IP":          {facts: factsOf(web(requesting("203.0.113.9")), "10.0.0.11"), need: NeedRequestedFloatingIP},
		"requested floating IP attached": {facts: factsOf(web(requesting("203.0.113.7")), "10.0.0.11").with(have), action: Converge, check: isDone},
		"certificate not stored":         {facts: withSecret(factsOf(web(annotated(annotation.TLSSecret, "web-tls")), "10.0.0.11")), need: NeedCertificate},
		"desired state unknown":          {facts: unknown(plain), check: isUndecided},
		"PENDING listener":               {facts: plain.with(pendingListener), action: AwaitChildren},
		"deleted":                        {facts: deleted(plain.with(have)), action: Release, ops: []string{"DeleteFloatingIP", "DeleteLoadBalancer"}},
		"deleted, others not known":      {facts: unasked(deleted(plain.with(have))), need: NeedRequestedAddresses},
		"deleted, another Service requests the floating IP": {facts: requestedElsewhere(deleted(plain.with(have)), "203.0.113.7"),
			action: Release, ops: []string{"DisassociateFloatingIP", "DeleteLoadBalancer"}},
		"deleted, floating IP remembered": {facts: remembered(deleted(plain.with(have))), need: NeedFloatingIPs},
	})
}

func TestDecideOnReplacement(t *testing.T) {
	plain := factsOf(web(), "10.0.0.11")
	silver := plain.built("lb-1")
	silver.FlavorID = "silver"
	gold := func(allowed string) Facts {
		return factsOf(web(publishing, annotated(annotation.FlavorID, "00000000-0000-4000-8000-00000000901d"), annotated(annotation.AllowReplacement, allowed)), "10.0.0.11")
	}
	checkDecisions(t, map[string]decision{
		"other flavor, security groups of another client": {facts: gold("true").with(grouped(silver)), action: Refuse, check: namesGroups},
		"other flavor, replacement not allowed":           {facts: gold("false").with(silver), action: Refuse},
		"other flavor":                                    {facts: gold("true").with(silver), need: NeedReplacement},
		"other flavor, replacement built":                 {facts: withReplacement(gold("true").with(silver)), action: Replace, ops: []string{"CreateLoadBalancer"}},
		"replacement complete":                            {facts: replacedBy(gold("true"), silver), need: NeedPredecessor},
		"replacement complete, not shared":                {facts: notShared(replacedBy(gold("true"), silver)), action: CompleteReplacement, ops: []string{"AssociateFloatingIP"}},
		"replacement complete, certificate of the predecessor unknown": {facts: withUnreadSecret(notShared(replacedBy(gold("true"), silver))), action: CompleteReplacement,
			ops: []string{"AssociateFloatingIP"}},
		"replacement no longer allowed":       {facts: replacedBy(gold("false"), silver), need: NeedDesired, check: cancelsReplacement},
		"replaces a failed one, other flavor": {facts: succeeding(gold("true").with(silver), failed(plain.built("old"))), action: PostponeReplacement, ops: []string{"AssociateFloatingIP"}},
	})
}

func TestDecideOnFailure(t *testing.T) {
	plain, served := factsOf(web(), "10.0.0.11"), factsOf(web(publishing), "10.0.0.11")
	internal := factsOf(web(publishing, annotated("service.beta.kubernetes.io/openstack-internal-load-balancer", "true")), "10.0.0.11")
	have, shared := plain.built("lb-1"), plain.built("lb-1", "kube_service_kubernetes_default_api")
	abandoned := shared
	abandoned.Tags = []string{lb.ClusterTag(webOwner.ClusterUID), "kube_service_kubernetes_default_api", "kube_service_kubernetes_default_web"}
	other := factsOf(web(publishing, requesting("203.0.113.99")), "10.0.0.11").Desired.Wanted
	checkDecisions(t, map[string]decision{
		"failed before it served":                   {facts: plain.with(failed(have)), action: Rebuild, ops: []string{"DeleteFloatingIP", "DeleteLoadBalancer"}},
		"failed with its ports":                     {facts: createdWithPorts(plain.with(failed(have))), action: Rebuild, check: createsWithPorts},
		"failed with its ports twice":               {facts: failedBefore(createdWithPorts(plain.with(failed(have)))), action: Rebuild, check: createsWithoutPorts},
		"failed after a rejected create":            {facts: rejectedWithPorts(plain.with(failed(have))), action: Rebuild, check: remembersRejection},
		"failed again before it served":             {facts: deletedOnce(plain.with(failed(have))), action: AwaitRebuild, check: waits},
		"served and failed":                         {facts: served.with(failed(have)), action: FailOver, ops: []string{"FailoverLoadBalancer"}},
		"failed, failover refused":                  {facts: noFailover(served.with(failed(have))), action: ReplaceFailed, ops: []string{"CreateLoadBalancer"}},
		"failed, failover refused, internal":        {facts: noFailover(internal.with(failed(have))), action: ReplaceInPlace, ops: []string{"DeleteLoadBalancer"}},
		"failed, security groups of another client": {facts: noFailover(served.with(failed(grouped(have)))), action: LeaveFailed, check: tellsGroups},
		"failed, failover refused, shared":          {facts: noFailover(served.with(failed(shared))), action: LeaveFailed},
		"its deletion failed three times":           {facts: deletedInVain(noFailover(served.with(failed(have))), 3), action: AwaitRecovery},
		"failed three times":                        {facts: replacedTimes(noFailover(served.with(failed(have))), 3), action: AwaitRecovery, check: lasts},
		"failed three times, later":                 {facts: later(replacedTimes(noFailover(served.with(failed(have))), 3)), action: ReplaceFailed, ops: []string{"CreateLoadBalancer"}},
		"failed three times, then changed":          {facts: lastingFor(other, replacedTimes(noFailover(served.with(failed(have))), 3)), action: ReplaceFailed, ops: []string{"CreateLoadBalancer"}},
		"failed, shared":                            {facts: served.with(failed(shared)), action: FailOver, ops: []string{"FailoverLoadBalancer"}},
		"failed, of another Service":                {facts: sharing(served.with(failed(shared))), action: LeaveFailed, check: namesItsOwner},
		"failed, its owner has left":                {facts: sharing(served.with(failed(abandoned))), action: FailOver, ops: []string{"FailoverLoadBalancer"}},
		"failed over in vain, shared":               {facts: failedOverInVain(served.with(failed(shared))), action: AwaitRecovery, check: waits},
		"failed over in vain, shared, later":        {facts: later(failedOverInVain(served.with(failed(shared)))), action: FailOver, ops: []string{"FailoverLoadBalancer"}},
		"failed again just now":                     {facts: replacedTimes(noFailover(served.with(failed(have))), 1), action: AwaitRecovery, check: waits},
	})
}

// grouped returns the load balancer with a security group that another client has given its VIP.
func grouped(l lb.LoadBalancer) lb.LoadBalancer {
	l.VIPSecurityGroups = []string{"by-hand"}
	return l
}

// namesGroups and tellsGroups check that the refusal, or the state of a failed load balancer, says which groups are in the way.
func namesGroups(t *testing.T, d Decision) {
	t.Helper()
	if d.Goal.Refused == nil || !strings.Contains(d.Goal.Refused.Message, "by-hand") || !strings.Contains(d.Goal.Refused.Message, annotation.VIPSecurityGroups) {
		t.Errorf("refused: %v", d.Goal.Refused)
	}
}

func tellsGroups(t *testing.T, d Decision) {
	t.Helper()
	if !strings.Contains(d.Record.Progress.Trouble, "by-hand") {
		t.Errorf("it says %q", d.Record.Progress.Trouble)
	}
}

func TestWhatWasCreatedInVainIsDeletedBeforeTheWaitForAnotherAttempt(t *testing.T) {
	served := factsOf(web(publishing), "10.0.0.11")
	f := replacedTimes(noFailover(served.with(failed(served.built("lb-1")))), 3)
	f.Record.Cloud.Observed.Duplicates = []string{"replacement-0", "replacement-1"}
	d := Decide(f)
	if diff := cmp.Diff([]string{"DeleteLoadBalancer", "DeleteLoadBalancer"}, kinds(d.Plan.Ops)); diff != "" || d.Delay != 0 {
		t.Errorf("%q, delay %v, operations (-want +got):\n%s", d.Action, d.Delay, diff)
	}
}

// createdWithPorts returns the facts after the load balancer was created together with its ports.
func createdWithPorts(f Facts) Facts {
	f.Record.Cloud.CreatedWithChildren = f.loadBalancer().ID
	return f
}

// failedBefore returns the facts when another load balancer has failed before, some time ago.
func failedBefore(f Facts) Facts {
	f.Record.Recovery.Deletions.Count = 1
	return f
}

// rejectedWithPorts returns the facts after Octavia rejected the create with ports, and the load balancer was created without.
func rejectedWithPorts(f Facts) Facts {
	f.Record.Cloud.CreateWithoutChildren = true
	return f
}

func remembersRejection(t *testing.T, d Decision) {
	t.Helper()
	if !d.Record.Cloud.CreateWithoutChildren {
		t.Error("the next load balancer is created with ports, which Octavia has rejected")
	}
}

func createsWithPorts(t *testing.T, d Decision) {
	t.Helper()
	if d.Record.Cloud.CreateWithoutChildren {
		t.Error("the next load balancer is created without ports after a single failure")
	}
}

// createsWithoutPorts checks that the next load balancer is created without ports, and that the Service says so.
func createsWithoutPorts(t *testing.T, d Decision) {
	t.Helper()
	if !d.Record.Cloud.CreateWithoutChildren || !strings.Contains(d.Record.Progress.Trouble, "without ports at first") {
		t.Errorf("after the failure the record is %+v, %q", d.Record.Cloud, d.Record.Progress.Trouble)
	}
}

// replacedBy returns the facts after a replacement for the old load balancer was built.
func replacedBy(f Facts, old lb.LoadBalancer) Facts {
	f = f.with(f.built("new", lb.ReplacesTag(old.ID)))
	input := f.Desired.Input
	input.Found = &old
	f.Desired.Predecessor, f.Record.Cloud.Observed.Predecessor = &input, &old
	f.Record.Cloud.Observed.FloatingIPs[0].PortID = old.VIP.PortID
	return f
}

// succeeding returns the facts about a load balancer that replaces a failed one.
func succeeding(f Facts, old lb.LoadBalancer) Facts {
	f.Record.Cloud.Observed.Predecessor = &old
	f.Record.Cloud.Observed.FloatingIPs[0].PortID = old.VIP.PortID
	return f
}

func notShared(f Facts) Facts { f.Provided = []Need{NeedPredecessor}; return f }

func cancelsReplacement(t *testing.T, d Decision) {
	t.Helper()
	if o := d.Record.Cloud.Observed; d.Action != CancelReplacement || o.LoadBalancer.ID != "lb-1" || len(o.Duplicates) != 1 || o.Duplicates[0] != "new" {
		t.Errorf("action %q, observed %+v", d.Action, o)
	}
}

func isDone(t *testing.T, d Decision) {
	t.Helper()
	if !d.Done || !d.InSync || len(d.Plan.Ops) > 0 {
		t.Errorf("done %t, in sync %t, ops %v", d.Done, d.InSync, kinds(d.Plan.Ops))
	}
}

func isRefused(t *testing.T, d Decision) {
	t.Helper()
	if d.Goal.Refused == nil || !d.Goal.MembersOnly || len(d.Plan.Ops) > 0 {
		t.Errorf("refused: %+v, ops %v", d.Goal.Refused, kinds(d.Plan.Ops))
	}
}

func isForeign(t *testing.T, d Decision) {
	t.Helper()
	if len(d.Foreign) != 1 || len(d.Plan.Ops) != 1 || d.Record.Cloud.Expected != nil {
		t.Errorf("foreign %v, ops %v", kinds(d.Foreign), kinds(d.Plan.Ops))
	}
}

func isHeld(t *testing.T, d Decision) {
	t.Helper()
	if len(d.Plan.Ops) > 0 || len(d.Held) != 1 || len(d.ReportedDrift()) != 1 || !d.Record.Drift.Detected || len(d.Foreign) > 0 {
		t.Errorf("ops %v, held %v, foreign %v", kinds(d.Plan.Ops), kinds(d.Held), kinds(d.Foreign))
	}
}

func isUndecided(t *testing.T, d Decision) {
	t.Helper()
	if d.Goal.Known || d.Goal.Err == nil || len(d.Plan.Ops) > 0 {
		t.Errorf("known %t, error %v", d.Goal.Known, d.Goal.Err)
	}
}

func waits(t *testing.T, d Decision) {
	t.Helper()
	if d.Delay <= 0 || len(d.Plan.Ops) > 0 {
		t.Errorf("delay %v, ops %v", d.Delay, kinds(d.Plan.Ops))
	}
}

// lasts checks that attempts are rare until the Service is changed.
func lasts(t *testing.T, d Decision) {
	t.Helper()
	waits(t, d)
	if d.Record.Recovery.LastingFor.None() || d.Record.Progress.Reason != status.ReasonReplacementFailed {
		t.Errorf("lasts for %v, reason %s", d.Record.Recovery.LastingFor, d.Record.Progress.Reason)
	}
}

// later returns the facts when the next attempt is due.
func later(f Facts) Facts {
	f.Now = f.Now.Add(2 * time.Hour)
	return f
}

// lastingFor returns the facts when replacements of another desired state have failed.
func lastingFor(other lb.Wanted, f Facts) Facts {
	f.Record.Recovery.LastingFor = other.Fingerprint()
	return f
}

// sharing returns the facts when another Service owns the load balancer.
func sharing(f Facts) Facts {
	f.Record.Cloud.Observed.Sharer = true
	return f
}

func namesItsOwner(t *testing.T, d Decision) {
	t.Helper()
	if text := d.Record.Progress.Trouble; !strings.Contains(text, "default/api") || strings.Contains(text, "default/web") {
		t.Errorf("%q does not name the owner only", text)
	}
}

// failedOverInVain returns the facts when a failover was requested, and the load balancer is in ERROR again.
func failedOverInVain(f Facts) Facts {
	f.Record.Recovery = failedOver(f, f.Record.Recovery, f.loadBalancer().ID)
	return f
}

// changed returns the facts after another client has removed the members.
func changed(f Facts) Facts {
	before := f.Record.Cloud.Observed
	f.Record.Drift = memory.Drift{Digest: Digest(f.Desired.Input), Read: true}
	f.Record.Cloud.Expected = &before
	l := *before.LoadBalancer
	l.Listeners = append([]lb.Listener{}, l.Listeners...)
	pool := *l.Listeners[0].Pool
	pool.Members = nil
	l.Listeners[0].Pool = &pool
	f.Record.Cloud.Observed.LoadBalancer = &l
	return f
}

func predicted(f Facts) Facts { f.Record.Cloud.Confirmed = false; return f }
func deleted(f Facts) Facts {
	f.Owner.Serves, f.Provided = false, []Need{NeedRequestedAddresses}
	return f
}
func unasked(f Facts) Facts    { f.Provided = nil; return f }
func remembered(f Facts) Facts { f.FromMemory = true; return f }
func noFailover(f Facts) Facts { f.FailoverRefused = "403"; return f }

func requestedElsewhere(f Facts, address string) Facts {
	f.RequestedAddresses = []string{address}
	return f
}

func unknown(f Facts) Facts {
	f.Desired.Built = Built{Input: f.Desired.Input, Err: errors.New("no answer")}
	return f
}

func waiting(f Facts) Facts { f.Desired.Err = &GroupWait{"default/api"}; return f }

func waitsForGroup(t *testing.T, d Decision) {
	t.Helper()
	if d.Goal.Waits == nil || !d.Goal.Known || len(d.Plan.Ops) > 0 {
		t.Errorf("waits for %v, known %t, ops %v", d.Goal.Waits, d.Goal.Known, kinds(d.Plan.Ops))
	}
}

func requesting(address string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerIP = address }
}

// withSecret returns the facts after the Secret was read.
func withSecret(f Facts) Facts {
	f.Desired.Input.Certificate = desired.SecretCertificate{Secret: "web-tls", Certificate: lb.Certificate{Name: "certificate"}}
	f.Desired.Wanted, f.Desired.Err = desired.Wanted(f.Desired.Input)
	return f
}

// withUnreadSecret returns the facts when the desired state of the predecessor cannot be built.
func withUnreadSecret(f Facts) Facts {
	predecessor := *f.Desired.Predecessor
	predecessor.Spec = services.Owner(web(annotated(annotation.TLSSecret, "web-tls"))).Spec
	f.Desired.Predecessor = &predecessor
	return f
}

func withReplacement(f Facts) Facts {
	replacement := f.Desired.Built
	replacement.Input.Found = nil
	replacement.Wanted, replacement.Err = desired.Wanted(replacement.Input)
	f.Desired.Replacement = &replacement
	return f
}

func deletedOnce(f Facts) Facts {
	f.Record.Recovery.Deletions = timing.Tries{Count: 1, Next: noon.Add(time.Second)}
	return f
}

func replacedTimes(f Facts, times int) Facts {
	f.Record.Recovery.Replacements = timing.Tries{Count: times, Next: noon.Add(time.Second)}
	f.Record.Recovery.Built = nil
	for i := range times {
		f.Record.Recovery.Built = append(f.Record.Recovery.Built, fmt.Sprintf("replacement-%d", i))
	}
	return f
}

// deletedInVain is the state after deletions of the failed load balancer that failed, so that no replacement was created.
func deletedInVain(f Facts, times int) Facts {
	f = replacedTimes(f, times)
	f.Record.Recovery.Built = nil
	return f
}

func TestPreviewSkipsDelays(t *testing.T) {
	f := replacedTimes(noFailover(factsOf(web(), "10.0.0.11")), 0)
	pending := f.built("lb-1")
	pending.Listeners[0].ProvisioningStatus = lb.PendingCreate
	for name, test := range map[string]struct {
		facts Facts
		want  Action
	}{
		"PENDING listener":              {f.with(pending), Converge},
		"failed again before it served": {deletedOnce(f.with(failed(f.built("lb-1")))), Rebuild},
	} {
		test.facts.Preview = true
		if d := Decide(test.facts); d.Action != test.want || d.Delay > 0 {
			t.Errorf("%s: %q for %v", name, d.Action, d.Delay)
		}
	}
}
