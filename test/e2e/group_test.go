// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

const groupKey = prefix + "load-balancer-group"

// grouped makes the Service one of a group.
func grouped(name string) edit { return annotated(groupKey, name) }

// made counts the load balancers that were made since the calls were last forgotten.
func (s *stage) made() int {
	s.t.Helper()
	n := 0
	for _, w := range s.writes() {
		if w == http.MethodPost+" /v2.0/lbaas/loadbalancers" {
			n++
		}
	}
	return n
}

// apart waits until one of the Services is refused and all others are served, and returns
// the ones and the other.
func apart(all []*service, reason string) (served []*service, refused *service) {
	s := all[0].stage
	s.t.Helper()
	s.eventually(func() error {
		served, refused = nil, nil
		for _, v := range all {
			conditions := v.now().Status.Conditions
			c := meta.FindStatusCondition(conditions, accepted)
			switch {
			case meta.IsStatusConditionTrue(conditions, programmed):
				served = append(served, v)
			case c != nil && c.Reason == reason:
				refused = v
			}
		}
		if len(served) != len(all)-1 || refused == nil {
			return fmt.Errorf("%d of %d are served; refused is %+v", len(served), len(all), refused)
		}
		return nil
	})
	return served, refused
}

func TestServicesOfAGroupShareOneLoadBalancerInAnyOrderOfCreationAndDeletion(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is sharing, which is done there by id")
	s := newStage(t, settings{conf: []string{"max-shared-lb=3"}})
	s.resetCalls()
	var all []*service
	for i := range 4 {
		all = append(all, &service{stage: s, name: fmt.Sprintf("web-%d", i)})
	}
	if err := each(len(all), func(i int) error { return all[i-1].create(tcp(int32(8079+i)), grouped("shop")) }); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error {
		if s.cloud.count("loadbalancers") == 0 {
			return fmt.Errorf("none was made yet")
		}
		return nil
	})
	s.stop() // in the middle
	s.start()
	served, refused := apart(all, "SharingRefused")
	if said := refused.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, "max-shared-lb") || !strings.Contains(said, `"shop"`) {
		t.Errorf("the fourth is told %q", said)
	}
	id, address := served[0].now().Annotations[idKey], served[0].address()
	for _, v := range served {
		if got := v.now(); got.Annotations[idKey] != id || v.address() != address {
			t.Errorf("Service %s has %v at %s, and not %s at %s", v.name, got.Annotations, v.address(), id, address)
		}
	}
	// The one for which it was made goes first.
	i := slices.IndexFunc(served, func(v *service) bool { return len(s.cloud.balancers(v.lbName())) == 1 })
	first, rest := served[i], slices.Delete(slices.Clone(served), i, i+1)
	visitor := s.visit(address, testPort(int(rest[0].now().Spec.Ports[0].Port)))
	first.delete()
	first.waitUntilGone()
	if got := refused.waitUntilProgrammed(); got != address {
		t.Errorf("who came into the free place is at %s", got)
	}
	if n := s.made(); n != 1 {
		t.Errorf("%d load balancers were made", n)
	}
	s.requireNoFailedRequest(visitor)
	for _, v := range append(rest, refused) {
		v.delete()
	}
	for _, v := range append(rest, refused) {
		v.waitUntilGone()
	}
	if n := s.cloud.count("loadbalancers"); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
	s.requireFloatingIPGone(address)
}

func TestAServiceThatIsRefusedDelaysNoOtherOfItsGroup(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{flags: sweeping})
	bad := s.service("bad", tcp(8080), grouped("shop"), annotated(monitorKey, "maybe"))
	bad.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	web := s.service("web", tcp(8080), grouped("shop"))
	address, balancer := web.waitUntilProgrammed(), web.tree()
	bad.change(notAnnotated(monitorKey))
	if said := bad.waitForCondition(accepted, conditionFalse, "PortInUse").Message; !strings.Contains(said, "Service "+s.namespace+"/web") {
		t.Errorf("who has the port is not told: %q", said)
	}
	bad.change(without(8080), tcp(8081))
	if got := bad.waitUntilProgrammed(); got != address {
		t.Errorf("one is at %s and the other at %s", address, got)
	}
	s.requirePorts(balancer.ID, "TCP/8080", "TCP/8081")
	// Another client deletes the load balancer: one of the two Services makes another.
	s.resetCalls()
	s.cloud.octavia("DELETE", "loadbalancers/"+balancer.ID+"?cascade=true", nil, nil)
	s.eventually(func() error {
		web, bad := web.now().Annotations[idKey], bad.now().Annotations[idKey]
		if web == balancer.ID || web == "" || web != bad {
			return fmt.Errorf("one has %s and the other %s", web, bad)
		}
		return nil
	})
	bad.waitUntilProgrammed()
	web.waitUntilProgrammed()
	if n := s.made(); n != 1 {
		t.Errorf("%d load balancers were made", n)
	}
	bad.change(ofType("ClusterIP"))
	s.eventually(func() error {
		if now := bad.now(); len(now.Finalizers) > 0 || now.Annotations[idKey] != "" {
			return fmt.Errorf("left on it: %v %v", now.Finalizers, now.Annotations)
		}
		return nil
	})
	bad.change(ofType("LoadBalancer"))
	bad.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
	bad.delete()
	bad.waitUntilGone()
	for _, f := range s.cloud.floatingIPs() {
		// One of them published it until the other one made the new load balancer.
		if f.Address != address || !strings.Contains(f.Description, "(kept ") {
			t.Errorf("floating IP %s is left: %s", f.Address, f.Description)
		}
		s.cloud.neutron("DELETE", "floatingips/"+f.ID, nil, nil)
	}
	s.requireNothingLeft()
}

func TestAServiceThatItsGroupRefusesIsServedWhenTheOtherLeavesIt(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	pay := s.service("pay", tcp(8080), grouped("shop"))
	pay.waitUntilProgrammed()
	web := s.service("web", tcp(8081), grouped("shop"), annotated(internalKey, "true"))
	if said := web.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, "give it a separate load balancer") {
		t.Errorf("what the user can do is not told: %q", said)
	}
	pay.change(notAnnotated(groupKey))
	web.waitUntilProgrammed()
	if of, paid := web.tree().ID, pay.tree().ID; of == paid {
		t.Errorf("the internal Service is on load balancer %s, which has a floating IP", of)
	}
}

// Whoever runs "kubectl replace --force" creates a Service of the same name before the pass over the deleted one has ended. The new
// one must not wait until something else of its group changes.
func TestAServiceOfAGroupThatIsCreatedAgainAtOnceIsServed(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	s.service("api", tcp(8080), grouped("shop")).waitUntilProgrammed()
	edits := []edit{tcp(8081), grouped("shop"), annotated(internalKey, "true")}
	web := s.service("web", edits...)
	for range 10 {
		web.waitForCondition(accepted, conditionFalse, "SharingRefused")
		web.delete()
		err := web.create(edits...)
		for apierrors.IsAlreadyExists(err) {
			err = web.create(edits...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	web.waitForCondition(accepted, conditionFalse, "SharingRefused")
}

// Octavia refuses an address that is not in the subnet, whenever it is asked. A Service cannot tell that by itself.
func TestAServiceWhoseCreateIsRejectedDelaysNoOtherOfItsGroup(t *testing.T) {
	skipOnRealOpenStack(t, "what a rejected create looks like is in the contract")
	waits := usualDelays()
	waits.SlowRetry = time.Second
	s := newStage(t, settings{program: cli.Options{Timing: waits}})
	internal := annotated(internalKey, "true")
	bad := s.service("bad", tcp(8080), grouped("shop"), internal, at("192.0.2.9"))
	bad.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	web := s.service("web", tcp(8081), grouped("shop"), internal)
	web.waitUntilProgrammed()
	bad.change(at(""))
	bad.waitUntilProgrammed()
	s.requirePorts(web.tree().ID, "TCP/8080", "TCP/8081")
}

func TestServicesOfAGroupWaitForTheOneThatCreatesItsLoadBalancer(t *testing.T) {
	skipOnRealOpenStack(t, "it is our writes that count")
	s := newStage(t, oldOVN(t))
	lacking := annotated(limitKey, "1000") // which is said of both, and refuses none
	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 0)
	api := s.service("api", tcp(8080), grouped("shop"), lacking)
	api.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
	web := s.service("web", tcp(9090), grouped("shop"), lacking)
	if said := web.waitForCondition(programmed, conditionFalse, "WaitingForGroup").Message; !strings.Contains(said, s.namespace+"/api") {
		t.Errorf("for whom it waits is not told: %q", said)
	}
	if now := web.now(); len(now.Finalizers) > 0 {
		t.Errorf("a Service that has nothing bears %v", now.Finalizers)
	}
	for _, p := range s.plans(1) { // both are refused in part
		if waits := len(p.Ops) == 0 && slices.ContainsFunc(p.Refused, func(r struct{ Reason, Message string }) bool { return r.Reason == "WaitingForGroup" }); waits != (p.Name == "web") {
			t.Errorf("planned: %+v", p)
		}
	}
	s.waitForPassAfter(func() { web.change(touched("and so it is looked at")) })
	// Nor do they take turns. Service api may try again when its endpoints come.
	if log := s.controller.log.String(); !strings.Contains(log, "create load balancer "+api.lbName()) || strings.Contains(log, "create load balancer "+web.lbName()) {
		t.Errorf("not only Service api tried to make the load balancer")
	}
	api.delete()
	api.waitUntilGone()
	web.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 4)
	web.change(touched("and so it is looked at again"))
	web.waitForCondition(accepted, conditionFalse, "ConnectionLimitUnsupported")
	s.waitForAnswersThrough(web.address(), 9090, s.addresses("a", "b")...)
}

func TestAServiceThatHasALoadBalancerKeepsItWhateverItsGroupHas(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	api, web := s.service("api", tcp(8080)), s.service("web", tcp(9090))
	address, own := api.waitUntilProgrammed(), web.waitUntilProgrammed()
	api.change(grouped("shop"))
	api.waitForCondition(accepted, conditionTrue, "Accepted")
	web.change(grouped("shop"))
	if said := web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message; !strings.Contains(said, api.tree().ID) || !strings.Contains(said, web.tree().ID) {
		t.Errorf("it is told %q", said)
	}
	for _, p := range s.plans(1) {
		if told := len(p.Refused) == 1 && p.Refused[0].Reason == "RequiresReplacement"; p.Error != "" || told != (p.Name == "web") {
			t.Errorf("planned: %+v", p)
		}
	}
	s.waitForAnswersThrough(own, 9090, s.addresses("a", "b")...)
	web.change(notAnnotated(groupKey))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.delete()
	web.waitUntilGone()
	twice := s.service("twice", tcp(9091), grouped("shop"), annotated(idKey, api.tree().ID))
	if said := twice.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message; !strings.Contains(said, idKey) || !strings.Contains(said, groupKey) {
		t.Errorf("it is told %q", said)
	}
	twice.change(notAnnotated(idKey))
	if got := twice.waitUntilProgrammed(); got != address {
		t.Errorf("one is at %s and the other at %s", address, got)
	}
	var found struct{ Conflicts []any }
	if _, out, errs := s.run("status", "-o", "json"); json.Unmarshal([]byte(out), &found) != nil || len(found.Conflicts) > 0 {
		t.Errorf("status takes the one that shares for a conflict:\n%s%s", out, errs)
	}
	twice.change(notAnnotated(groupKey)) // it leaves, and stays where it is
	twice.waitUntilProgrammed()
	s.stop()
	s.start()
	s.requirePorts(api.tree().ID, "TCP/8080", "TCP/9091")
	twice.delete()
	twice.waitUntilGone()
}

func TestGroupsSpanNamespacesOnlyIfConfigured(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	far := s.inOtherNamespace()
	near, other := s.service("web", tcp(8080), grouped("shop")), far.service("api", tcp(9090), grouped("shop"))
	if near.waitUntilProgrammed() == other.waitUntilProgrammed() {
		t.Error("Services of two namespaces share a load balancer")
	}
	other.delete()
	other.waitUntilGone()
	s.stop()
	s.settings.conf = []string{"shared-lb-scope=cluster"}
	s.writeFiles()
	s.start()
	again := far.service("api", tcp(9090), grouped("shop"))
	if near.waitUntilProgrammed() != again.waitUntilProgrammed() {
		t.Error("Services of two namespaces do not share a load balancer")
	}
	again.delete()
	again.waitUntilGone()
}
