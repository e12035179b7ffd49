// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
)

// statusOf returns what `kube-octavia status -o json` prints with the arguments.
func (s *stage) statusOf(args ...string) report.StatusList {
	s.t.Helper()
	status, out, errs := s.run(append([]string{"status", "-o", "json"}, args...)...)
	if status != 0 {
		s.t.Fatalf("status %v ended with %d:\n%s%s", args, status, out, errs)
	}
	var list report.StatusList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.t.Fatalf("%v in:\n%s", err, out)
	}
	return list
}

// requireParts fails the test unless the text has all of the parts.
func requireParts(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not have %q:\n%s", what, part, text)
		}
	}
}

func TestStatusShowsMembersObjectsAndDriftInEachForm(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	services := s.settled([]edit{tcp(8080, 8081)}, []edit{tcp(8082), annotated(internalKey, "true")})
	s.stop()
	web, have := services[0], services[0].tree()
	address := web.now().Status.LoadBalancer.Ingress[0].IP
	s.eventually(func() error {
		if m := s.statusOf("-n", s.namespace, web.name).Services[0].Members; m.Total != 4 || m.Up == nil || *m.Up != 4 {
			return fmt.Errorf("members: %v", m)
		}
		return nil
	})

	list := s.statusOf("-n", s.namespace)
	if d := cmp.Diff([]report.Objects{
		{LoadBalancers: 1, Listeners: 2, Pools: 2, Members: 4, HealthMonitors: 2, FloatingIPs: 1},
		{LoadBalancers: 1, Listeners: 1, Pools: 1, Members: 2, HealthMonitors: 1},
		{LoadBalancers: 2, Listeners: 3, Pools: 3, Members: 6, HealthMonitors: 3, FloatingIPs: 1},
	}, []report.Objects{list.Services[0].Objects, list.Services[1].Objects, list.Objects}); d != "" {
		t.Errorf("objects (-want +got):\n%s", d)
	}
	for _, v := range list.Services {
		if len(v.Drift.Ops) > 0 || v.Drift.Unknown != "" {
			t.Errorf("drift of %s, of which nothing differs: %+v", v.Name, v.Drift)
		}
	}
	row := list.Services[0]
	if d := cmp.Diff(report.Addresses{Address: address, Published: []string{address}, VIPs: []string{have.VIP}, FloatingIPs: []string{address}}, row.Addresses); d != "" {
		t.Errorf("addresses (-want +got):\n%s", d)
	}
	if at := row.LastChange; at.Time == nil || at.Time.UTC().Format("2006-01-02T15:04:05") != have.UpdatedAt || at.Of != "load balancer" {
		t.Errorf("last change %+v, want %s", at, have.UpdatedAt)
	}

	s.waitForNextSecond(have)
	s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
	s.eventually(func() error { return s.is("ACTIVE", web) })
	drift := s.statusOf("-n", s.namespace, web.name).Services[0].Drift
	var planned []string
	for _, p := range s.plans(2) {
		for _, op := range p.Ops {
			planned = append(planned, op.Text)
		}
	}
	var shown []string
	for _, op := range drift.Ops {
		shown = append(shown, op.Text)
	}
	if d := cmp.Diff(planned, shown); d != "" || len(shown) == 0 {
		t.Errorf("drift (-plan +status):\n%s", d)
	}
	s.requireForms(web, have, address, shown[0])
	s.start()
}

// requireForms fails the test unless all forms show the state of the Service, which differs from what it requests.
func (s *stage) requireForms(web *service, have tree, address, difference string) {
	s.t.Helper()
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"status"}, []string{"NAMESPACE", have.ID, address, "DRIFT", difference, "2 Services: 2 load balancers, 2 listeners, 3 pools, 6 members, 3 health monitors, 1 floating IP"}},
		{[]string{"status", "-n", s.namespace}, []string{have.ID, "2/2", difference}},
		{[]string{"status", "-o", "wide"}, []string{"LOAD BALANCER NAME", web.lbName(), have.VIP, "2/2", difference}},
		{[]string{"status", "-o", "tree", s.namespace + "/" + web.name}, []string{s.namespace + "/" + web.name + " Programmed=True", "└─ load balancer " + web.lbName() + " (" + have.ID + ") ACTIVE/",
			fmt.Sprintf("listener TCP/%d", freePort(8080)), "pool TCP", "used by no listener", "member " + s.address("a") + " port", "health monitor TCP", "1 Service: 1 load balancer"}},
	} {
		status, out, errs := s.run(c.args...)
		if status != 0 || errs != "" {
			s.t.Errorf("%v ended with %d: %s", c.args, status, errs)
		}
		requireParts(s.t, strings.Join(c.args, " "), out, c.parts...)
	}
}

func TestStatusMakesFewCallsForManyServices(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator counts the calls")
	s := newStage(t, settings{})
	services := s.settled([]edit{tcp(8080, 8081)}, []edit{tcp(8082)}, []edit{tcp(8083), annotated(internalKey, "true")}, []edit{udp(5300)})
	s.stop()
	const (
		lists      = 5 // of load balancers, listeners, pools, health monitors and floating IPs
		everything = 7 // the ports of VIPs and the secrets, besides
		start      = 1 // the providers
	)
	for _, c := range []struct {
		name string

		args []string
		most int
	}{
		{"all Services", nil, start + everything},
		{"wide", []string{"-o", "wide"}, start + everything + len(services)},
		{"tree", []string{"-o", "tree"}, start + everything + len(services)},
		{"JSON", []string{"-o", "json"}, start + everything + len(services)},
		{"a namespace", []string{"-n", s.namespace}, start + lists + len(services)},
		{"a Service", []string{s.namespace + "/" + services[0].name}, start + lists + 1},
		{"two Services", []string{"-n", s.namespace, services[0].name, services[1].name}, start + lists + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			s.resetCalls()
			if status, out, errs := s.run(append([]string{"status"}, c.args...)...); status != 0 {
				t.Errorf("%v ended with %d:\n%s%s", c.args, status, out, errs)
			}
			s.requireCallsToTheCloud("status "+strings.Join(c.args, " "), c.most)
		})
	}
	s.start()
}

func TestServicesThatShareALoadBalancerShowTheirOwnParts(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s := newStage(t, settings{})
	owner := s.service("owner", tcp(8080))
	owner.waitUntilProgrammed()
	id := owner.tree().ID
	sharer := s.service("sharer", tcp(8081), annotated(idKey, id))
	sharer.waitUntilProgrammed()
	s.waitUntilIdle()
	s.resetCalls()
	list := s.statusOf("-n", s.namespace)
	trees := slices.DeleteFunc(s.callsToTheCloud(), func(call string) bool { return !strings.Contains(call, "/status?") })
	members := slices.DeleteFunc(s.callsToTheCloud(), func(call string) bool { return !strings.Contains(call, "/members?") })
	if len(trees) != 1 || len(members) != 2 {
		t.Errorf("one load balancer with two pools was read with %d status trees and %d lists of members: %v %v", len(trees), len(members), trees, members)
	}
	if len(list.Services) != 2 {
		t.Fatalf("%+v", list.Services)
	}
	for i, want := range []report.Objects{
		{LoadBalancers: 1, Listeners: 1, Pools: 1, Members: 2, FloatingIPs: 1},
		{Listeners: 1, Pools: 1, Members: 2},
	} {
		v := list.Services[i]
		if d := cmp.Diff(want, v.Objects); d != "" {
			t.Errorf("objects of %s (-want +got):\n%s", v.Name, d)
		}
		if v.LoadBalancerID != id || v.Shared != (i == 1) || len(v.Parts) != 1 || v.Members.Total != 2 || len(v.Drift.Ops) > 0 || v.Drift.Unknown != "" {
			t.Errorf("%s: %+v", v.Name, v)
		}
	}

	owner.delete()
	owner.waitUntilGone()
	sharer.waitUntilProgrammed()
	list = s.statusOf("-n", s.namespace)
	if d := cmp.Diff(report.Objects{LoadBalancers: 1, Listeners: 1, Pools: 1, Members: 2, FloatingIPs: 1}, list.Objects); d != "" || len(list.Services) != 1 {
		t.Errorf("objects without the owner (-want +got):\n%s of %+v", d, list.Services)
	}
}

func TestStatusSaysWhichServiceItDoesNotFind(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	other := s.service("other", tcp(8080), ofClass("example.com/other"))
	for _, c := range []struct {
		name string

		args   []string
		status int
		err    string
	}{
		{"all Services of a namespace that does not exist", []string{"-n", "nope"}, 1, `namespace "nope" does not exist`},
		{"a Service of a namespace that does not exist", []string{"nope/web"}, 1, `namespace "nope" does not exist`},
		{"a Service that does not exist, with --namespace", []string{"-n", s.namespace, "web"}, 1, "Service " + s.namespace + "/web does not exist"},
		{"a Service that does not exist", []string{s.namespace + "/web"}, 1, "Service " + s.namespace + "/web does not exist"},
		{"a Service that is not in the default namespace", []string{"no-such-service"}, 1, "Service default/no-such-service does not exist; without --namespace, the command looks in namespace default"},
		{"two namespaces", []string{"-n", "default", s.namespace + "/other"}, 1, "it names another namespace than --namespace default"},
		{"more than a namespace and a name", []string{"a/b/c"}, 1, "must be NAME, svc/NAME or NAMESPACE/NAME of a Service"},
		{"a namespace without Services to handle", []string{"-n", s.namespace}, 0, "there is no Service to handle in namespace " + s.namespace + "; 1 of type LoadBalancer"},
		{"a Service of another class", []string{"-n", s.namespace, other.name}, 0, s.namespace + `/other: not handled: spec.loadBalancerClass is "example.com/other"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			status, _, errs := s.run(append([]string{"status"}, c.args...)...)
			if status != c.status || !strings.Contains(errs, c.err) {
				t.Errorf("%v: status %d, said %q; want %d, %q", c.args, status, errs, c.status, c.err)
			}
		})
	}
}

// watching is `kube-octavia status --watch`, while it runs.
type watching struct {
	out, errs log
	interrupt func()
	ended     chan int
}

// watch starts `kube-octavia status --watch` on the namespace. It ends with the test at the latest.
func (s *stage) watch(args ...string) *watching {
	s.t.Helper()
	ctx, interrupt := context.WithCancel(s.t.Context())
	w := &watching{interrupt: interrupt, ended: make(chan int, 1)}
	s.shows("the output of a watch", &w.out)
	s.shows("what a watch says", &w.errs)
	args = append([]string{"status", "--watch", "--interval=1s", "-n", s.namespace, "--cloud-config=" + s.cloudConf(), "--kubeconfig=" + s.adminKubeconfig()}, args...)
	go func() {
		w.ended <- cli.Run(ctx, args, cli.IO{Out: &w.out, Err: &w.errs}, cli.Options{Version: "test"})
	}()
	s.t.Cleanup(interrupt)
	return w
}

// waitFor waits until the watch has printed the text.
func (s *stage) waitFor(w *watching, text string) {
	s.t.Helper()
	s.eventually(func() error {
		if !strings.Contains(w.out.String(), text) {
			return fmt.Errorf("the watch has not printed %q:\n%s%s", text, w.out.String(), w.errs.String())
		}
		return nil
	})
}

func TestAWatchContinuesAfterAFailedRead(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator fails")
	s := newStage(t, settings{off: true})
	web := s.service("web", tcp(8080))
	w := s.watch()
	s.waitFor(w, "1 Service:")
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Route: "/v2.0/lbaas/listeners", Kind: wire.FaultStatus, Status: 500, Times: 1})
	s.eventually(func() error {
		if errs := w.errs.String(); !strings.Contains(errs, "cannot read the state, trying again in 1s: list listeners") {
			return fmt.Errorf("the watch said %q", errs)
		}
		return nil
	})
	s.start()
	s.waitFor(w, web.waitUntilProgrammed())
	w.interrupt()
	if status := <-w.ended; status != 0 {
		t.Errorf("the watch ended with %d: %s", status, w.errs.String())
	}
}

func TestAWatchShowsAChangeAndEndsWithStatusZero(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s := newStage(t, settings{})
	web := s.settled([]edit{tcp(8080)})[0]
	watches := map[string]*watching{"text": s.watch(), "tree": s.watch("-o", "tree"), "json": s.watch("-o", "json")}
	for _, w := range watches {
		s.waitFor(w, web.tree().ID)
	}
	api := s.service("api", tcp(8081))
	address := api.waitUntilProgrammed()
	for _, w := range watches {
		s.waitFor(w, address)
	}
	api.delete()
	api.waitUntilGone()
	s.waitFor(watches["text"], "GONE\nService "+s.namespace+"/api\n")
	for form, w := range watches {
		w.interrupt()
		if status := <-w.ended; status != 0 {
			t.Errorf("the watch of %s ended with %d: %s", form, status, w.errs.String())
		}
		if errs := w.errs.String(); errs != "" {
			t.Errorf("the watch of %s said %q", form, errs)
		}
	}
	text := watches["text"].out.String()
	if n := strings.Count(text, "LOAD BALANCER"); n != 1 {
		t.Errorf("%d titles:\n%s", n, text)
	}
	if n := strings.Count(text, web.tree().ID); n != 1 {
		t.Errorf("what did not change was printed %d times:\n%s", n, text)
	}
}
