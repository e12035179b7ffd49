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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// collecting lets the controller delete at once what has no Service.
var collecting = append(slices.Clone(sweeping), "--orphan-grace-period=1ms")

// orphansGauge counts orphans by kind.
const orphansGauge = "kube_octavia_orphans"

// deleteWithoutFinalizer deletes the Service after removing its finalizer by hand: its load
// balancer and floating IP are orphans then.
func (v *service) deleteWithoutFinalizer() {
	v.t.Helper()
	services := v.client.CoreV1().Services(v.namespace)
	if err := services.Delete(v.t.Context(), v.name, metav1.DeleteOptions{}); err != nil {
		v.t.Fatal(err)
	}
	if _, err := services.Patch(v.t.Context(), v.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		v.t.Fatal(err)
	}
	v.waitUntilGone()
}

// orphaned returns a stage with a load balancer and a floating IP of a Service that does not exist,
// and with a controller that does not run.
func orphaned(t *testing.T, with settings) (*stage, tree, floatingIP) {
	t.Helper()
	s := newStage(t, with)
	lost := s.service("lost", tcp(8080))
	address := lost.waitUntilProgrammed()
	have := lost.tree()
	s.waitUntilIdle()
	s.stop()
	lost.deleteWithoutFinalizer()
	s.resetCalls()
	return s, have, s.cloud.floatingIP(address)
}

// orphanEvents returns the texts of the events about orphans that name the object.
func (s *stage) orphanEvents(reason, name string) []string {
	s.t.Helper()
	list, err := s.client.EventsV1().Events(metav1.NamespaceDefault).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var texts []string
	for _, e := range list.Items {
		if e.Regarding.Kind == "Namespace" && e.Regarding.Name == metav1.NamespaceSystem && e.Reason == reason && strings.Contains(e.Note, name) {
			texts = append(texts, e.Note)
		}
	}
	return texts
}

// requireUntouched fails the test if anything was written to the cloud since resetCalls.
func (s *stage) requireUntouched() {
	s.t.Helper()
	if w := s.writes(); len(w) > 0 {
		s.t.Errorf("the cloud was written to: %v", w)
	}
}

func TestOrphansAreReportedAtOnceAndDeletedAfterTheGracePeriod(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s, have, f := orphaned(t, settings{flags: append(slices.Clone(sweeping), "--orphan-grace-period=3h")})
	alive := s.service("alive", tcp(8080))
	s.start()
	address := alive.waitUntilProgrammed()
	s.eventually(func() error {
		if b, a := s.metricFor(orphansGauge, "loadbalancer"), s.metricFor(orphansGauge, "floatingip"); b != 1 || a != 1 {
			return fmt.Errorf("%d load balancers and %d floating IPs are counted", b, a)
		}
		return nil
	})
	for _, name := range []string{have.ID, f.Address} {
		s.eventually(func() error {
			if told := s.orphanEvents("OrphanFound", name); len(told) != 1 || !strings.Contains(told[0], "3h0m0s") {
				return fmt.Errorf("events about %s: %q", name, told)
			}
			return nil
		})
	}
	s.resetCalls()
	s.waitForSweeps(2)
	s.requireUntouched()

	s.stop()
	s.settings.flags = collecting
	s.start()
	s.eventually(func() error {
		if n := s.cloud.count("loadbalancers") + len(s.cloud.floatingIPs()); n != 2 {
			return fmt.Errorf("%d load balancers and floating IPs are there, not those of one Service", n)
		}
		if n := s.gauge(orphansGauge); n > 0 {
			return fmt.Errorf("%d orphans are counted", n)
		}
		if told := append(s.orphanEvents("OrphanDeleted", have.ID), s.orphanEvents("OrphanDeleted", f.Address)...); len(told) != 2 {
			return fmt.Errorf("events: %q", told)
		}
		return nil
	})
	want := []string{"DELETE /v2.0/lbaas/loadbalancers/" + have.ID, "DELETE /v2.0/floatingips/" + f.ID}
	if d := cmp.Diff(want, s.writes()); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	alive.requireOneLoadBalancer()
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
}

func TestDeletionOfAnOrphanIsReportedWhenItIsGone(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s, have, f := orphaned(t, settings{})
	s.settings.flags = collecting
	release := s.cloud.hold()
	s.start()
	s.eventually(func() error {
		if w := s.writes(); !slices.Contains(w, "DELETE /v2.0/lbaas/loadbalancers/"+have.ID) {
			return fmt.Errorf("writes: %v", w)
		}
		return nil
	})
	s.waitForSweeps(3)
	if told := s.orphanEvents("OrphanDeleted", have.ID); len(told) > 0 {
		t.Errorf("Octavia has not ended, and it is said: %q", told)
	}
	if n := len(s.writes()); n != 1 {
		t.Errorf("writes: %v", s.writes())
	}
	release()
	for _, name := range []string{have.ID, f.Address} {
		s.eventually(func() error {
			if told := s.orphanEvents("OrphanDeleted", name); len(told) != 1 {
				return fmt.Errorf("events about %s: %q", name, told)
			}
			return nil
		})
	}
}

func TestOrphansStayIfTheGracePeriodIsNever(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud nothing happens")
	s, have, f := orphaned(t, settings{flags: append(slices.Clone(sweeping), "--orphan-grace-period=never")})
	s.start()
	s.eventually(func() error {
		if n := s.gauge(orphansGauge); n != 2 {
			return fmt.Errorf("%d orphans are counted", n)
		}
		return nil
	})
	s.waitForSweeps(3)
	s.requireUntouched()
	s.discard(have, f)
}

// discard deletes the objects that the controller must not delete in the test.
func (s *stage) discard(have tree, f floatingIP) {
	s.t.Helper()
	s.cloud.octavia("DELETE", "loadbalancers/"+have.ID+"?cascade=true", nil, nil)
	s.cloud.neutron("DELETE", "floatingips/"+f.ID, nil, nil)
}

// failingLists are ways in which what a sweep reads of the cloud fails.
func failingLists(orphan tree) map[string]wire.Fault {
	balancers := wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: "/v2.0/lbaas/loadbalancers"}
	addresses := wire.Fault{Service: cloudsim.Network, Method: http.MethodGet, Route: "/v2.0/floatingips"}
	as := func(f wire.Fault, kind wire.FaultKind) wire.Fault { f.Kind = kind; return f }
	answer := func(f wire.Fault, status int, body any) wire.Fault {
		text, _ := json.Marshal(body) // maps of strings
		f.Kind, f.Status, f.Body, f.Header = wire.FaultStatus, status, string(text), map[string]string{"Content-Type": "application/json"}
		return f
	}
	first := map[string]any{"id": orphan.ID, "provisioning_status": "ACTIVE", "updated_at": orphan.UpdatedAt, "tags": orphan.Tags}
	return map[string]wire.Fault{
		"load balancers: 500":         answer(balancers, 500, nil),
		"load balancers: half a body": as(balancers, wire.FaultHalfBody),
		"load balancers: garbage":     as(balancers, wire.FaultGarbage),
		"load balancers: no list":     answer(balancers, 200, map[string]any{}),
		"load balancers: the second page is the first again": answer(balancers, 200, map[string]any{
			"loadbalancers": []any{first}, "loadbalancers_links": []any{map[string]any{"rel": "next", "href": "http://127.0.0.1:1/"}},
		}),
		"floating IPs: 500":         answer(addresses, 500, nil),
		"floating IPs: half a body": as(addresses, wire.FaultHalfBody),
		"floating IPs: garbage":     as(addresses, wire.FaultGarbage),
		"floating IPs: no list":     answer(addresses, 200, map[string]any{}),
		"floating IPs: the second page is the first again": answer(addresses, 200, map[string]any{
			"floatingips": []any{map[string]any{"id": "f"}}, "floatingips_links": []any{map[string]any{"rel": "next", "href": "http://127.0.0.1:1/"}},
		}),
	}
}

// TestNothingIsDeletedWhileReadsFail lets the lists of the cloud and those of
// Kubernetes fail in each way while there are orphans that are due. When nothing
// fails any more they go, which shows that they were.
func TestNothingIsDeletedWhileReadsFail(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
	s, have, f := orphaned(t, settings{})
	front := s.front()
	s.settings.flags = append(slices.Clone(collecting), "--kubeconfig="+front.kubeconfig)
	front.spoil(servicesAsked, answerStatus(http.StatusInternalServerError))
	s.start()
	left := func(name string) {
		t.Helper()
		s.waitForSweeps(2)
		s.requireUntouched()
		if n := len(s.orphanEvents("OrphanFound", have.ID)); n > 0 {
			t.Errorf("%s: the load balancer is called an orphan", name)
		}
	}
	// From one failure to the next a sweep meets both.
	last := s.cloud.Faults().Add(failingLists(have)["load balancers: 500"])
	for name, spoil := range map[string]struct {
		asked func(*http.Request) bool
		how   func(http.ResponseWriter, *http.Request, http.Handler)
	}{
		"Services: 500":                      {servicesAsked, answerStatus(http.StatusInternalServerError)},
		"Services: none":                     {servicesAsked, onlyNamed("nothing")},
		"Services: half a body":              {servicesAsked, halfABody},
		"Services: the second page fails":    {servicesAsked, secondPageFails},
		"the cluster's uid: 500":             {systemAsked, answerStatus(http.StatusInternalServerError)},
		"the cluster's uid: another cluster": {systemAsked, anotherCluster},
	} {
		s.waitForSweeps(1)
		front.spoil(spoil.asked, spoil.how)
		s.cloud.Faults().Remove(last)
		left(name)
		if front.met() == 0 {
			t.Errorf("%s: the controller did not ask", name)
		}
		last = s.cloud.Faults().Add(failingLists(have)["load balancers: 500"])
	}
	s.waitForSweeps(1)
	front.spoil(nil, nil)
	for name, fault := range failingLists(have) {
		id := s.cloud.Faults().Add(fault)
		s.waitForSweeps(1)
		s.cloud.Faults().Remove(last)
		last = id
		left(name)
	}
	s.cloud.Faults().Clear()
	s.eventually(func() error { return s.empty() })
	want := []string{"DELETE /v2.0/lbaas/loadbalancers/" + have.ID, "DELETE /v2.0/floatingips/" + f.ID}
	if d := cmp.Diff(want, s.writes()); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
}

// The mark on the Service is enough.
func TestAServiceThatLostTypeAndFinalizerInOneWriteIsReleased(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s := newStage(t, settings{flags: collecting})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	have := web.tree()
	web.change(func(v *corev1.Service) {
		ofType(corev1.ServiceTypeClusterIP)(v)
		v.Finalizers = nil
	})
	s.eventually(s.empty)
	if told := s.orphanEvents("OrphanDeleted", have.ID); len(told) > 0 {
		t.Errorf("the Service is not released by itself: %q", told)
	}
	// It can be had again.
	web.change(ofType(corev1.ServiceTypeLoadBalancer))
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
}

// TestServicesThatTheCacheDoesNotHaveAreOwners gives the controller a cache without
// any Service.
func TestServicesThatTheCacheDoesNotHaveAreOwners(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.stop()
	front := s.front()
	front.spoil(cacheFilled, onlyNamed("nothing"))
	s.settings.flags = append(slices.Clone(collecting), "--kubeconfig="+front.kubeconfig)
	s.resetCalls()
	s.start()
	s.waitForSweeps(3)
	s.requireUntouched()
	if front.met() == 0 {
		t.Error("the controller did not fill its cache")
	}
	if n := s.gauge(orphansGauge); n > 0 {
		t.Errorf("%d orphans are counted", n)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	s.stop()
	s.settings.flags = nil
}

// TestServicesOfEveryTypeAndClassAreOwners has one that this controller does not
// serve, one that is on its way out, and one that is no LoadBalancer any more.
func TestServicesOfEveryTypeAndClassAreOwners(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	foreign, leaving, plain := s.service("foreign", tcp(8080), ofClass(ourClass)), s.service("leaving", tcp(8081)), s.service("plain", tcp(8082))
	for _, v := range []*service{foreign, leaving, plain} {
		v.waitUntilProgrammed()
	}
	s.waitUntilIdle()
	s.stop()
	leaving.change(func(v *corev1.Service) { v.Finalizers = append(v.Finalizers, "example.com/hold") })
	leaving.delete()
	plain.change(ofType(corev1.ServiceTypeClusterIP))
	s.settings.flags = append(slices.Clone(collecting), "--load-balancer-class=example.com/other", "--handle-default-class=false")
	s.resetCalls()
	s.start()
	s.waitForSweeps(3)
	if n := s.gauge(orphansGauge); n > 0 {
		t.Errorf("%d orphans are counted", n)
	}
	for _, w := range s.writes() {
		if strings.Contains(w, "loadbalancers/"+foreign.tree().ID) {
			t.Errorf("it was written to: %s", w)
		}
	}
	s.stop()
	s.settings.flags = nil
	s.start()
	leaving.change(func(v *corev1.Service) {
		v.Finalizers = slices.DeleteFunc(v.Finalizers, func(f string) bool { return f == "example.com/hold" })
	})
}

// TestObjectsThatAreNotMarkedByThisClusterAloneStay makes load balancers and
// floating IPs by hand that look like orphans but are not this cluster's alone.
func TestObjectsThatAreNotMarkedByThisClusterAloneStay(t *testing.T) {
	skipOnRealOpenStack(t, "what tags and descriptions are is in the contract")
	s, have, f := orphaned(t, settings{})
	uid, dead := s.clusterUID(), "00000000-0000-4000-8000-000000000000"
	cluster, service, name := "kube-octavia.cluster="+uid, "kube-octavia.service="+dead, "kube_service_kubernetes_"+s.namespace+"_gone"
	var kept []string
	for _, tags := range [][]string{
		nil, {name}, {name, service}, {name, "kube-octavia.cluster=other", service},
		{name, cluster, service, "kube-octavia.cluster=other"}, {name, cluster, service, "kube-octavia.service=other"},
	} {
		kept = append(kept, s.makeBalancer(name, tags))
	}
	// One whose mark is right, with a listener that has another's.
	shared := s.makeBalancer(name, []string{name, cluster, service})
	s.cloud.octavia("POST", "listeners", map[string]any{"listener": map[string]any{
		"loadbalancer_id": shared, "protocol": "TCP", "protocol_port": freePort(9000), "tags": []string{"kube-octavia.cluster=other"},
	}}, nil)
	kept = append(kept, shared)
	begin := "Floating IP for Kubernetes external service " + s.namespace + "/gone "
	elsewhere := s.cloud.makePort()
	for _, text := range []string{
		"", begin + "from cluster kubernetes", begin + "(" + cluster + ") from cluster kubernetes", begin + "(kube-octavia.cluster=other " + service + ") from cluster kubernetes",
		begin + "(kept " + cluster + " " + service + ") from cluster kubernetes", "not " + begin + "(" + cluster + " " + service + ") from cluster kubernetes",
	} {
		s.given = append(s.given, s.describedFloatingIP(text, "").Address)
	}
	// One whose mark is right, but that another client's port uses.
	used := s.describedFloatingIP(begin+"("+cluster+" "+service+") from cluster kubernetes", elsewhere.ID)
	s.given = append(s.given, used.Address)
	s.eventually(s.cloud.pending)

	s.settings.flags = collecting
	s.resetCalls()
	s.start()
	s.eventually(func() error {
		if s.cloud.floatingIP(f.Address).ID != "" {
			return fmt.Errorf("the orphan is still there")
		}
		return nil
	})
	s.waitForSweeps(3)
	want := []string{"DELETE /v2.0/lbaas/loadbalancers/" + have.ID, "DELETE /v2.0/floatingips/" + f.ID}
	if d := cmp.Diff(want, s.writes()); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	if len(s.controller.log.lines("has the tags of another owner")) == 0 {
		t.Error("the log does not say why the shared one is left")
	}
	if n := s.metricFor(orphansGauge, "loadbalancer"); n != 1 {
		t.Errorf("%d load balancers are counted as orphans, not just the shared one", n)
	}
	for _, id := range kept {
		s.cloud.octavia("DELETE", "loadbalancers/"+id+"?cascade=true", nil, nil)
	}
}

// makeBalancer creates a load balancer by hand and returns its id.
func (s *stage) makeBalancer(name string, tags []string) string {
	s.t.Helper()
	var made struct{ LoadBalancer tree }
	s.cloud.octavia("POST", "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "vip_subnet_id": s.cloud.IDs().PrivateSubnet, "tags": append([]string{}, tags...),
	}}, &made)
	s.eventually(s.cloud.pending)
	return made.LoadBalancer.ID
}

// describedFloatingIP creates a floating IP by hand.
func (s *stage) describedFloatingIP(text, port string) floatingIP {
	s.t.Helper()
	f := s.cloud.makeFloatingIP(port)
	s.cloud.neutron("PUT", "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"description": text}}, nil)
	return f
}

func TestKeptFloatingIPIsNoOrphan(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud nothing happens")
	s := newStage(t, settings{flags: collecting})
	web := s.service("web", tcp(8080), annotated(keepKey, "true"))
	address := web.waitUntilProgrammed()
	s.given = []string{address}
	web.delete()
	web.waitUntilGone()
	s.waitForSweeps(3)
	if f := s.cloud.floatingIP(address); f.ID == "" || f.PortID != "" {
		t.Errorf("the floating IP that was to be kept is %+v", f)
	}
	if n := s.gauge(orphansGauge); n > 0 {
		t.Errorf("%d orphans are counted", n)
	}
}
