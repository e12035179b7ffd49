// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
)

// statusList returns what `kube-octavia status -o json` prints.
func (s *stage) statusList() report.StatusList {
	s.t.Helper()
	status, out, errs := s.run("status", "--output=json")
	if status != 0 {
		s.t.Fatalf("status ended with %d:\n%s%s", status, out, errs)
	}
	var list report.StatusList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.t.Fatalf("%v in:\n%s", err, out)
	}
	list.Services = slices.DeleteFunc(list.Services, func(v report.ServiceStatus) bool { return v.Namespace != s.namespace })
	return list
}

func TestStatusShowsServicesOrphansAndConflictsAndWritesNothing(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s, have, f := orphaned(t, settings{})
	s.start()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.service("plain", tcp(8081), ofType(corev1.ServiceTypeClusterIP))
	s.waitUntilIdle()
	own := web.tree().ID
	s.stop()
	foreign := s.makeBalancer(web.lbName(), []string{"kube-octavia.cluster=other", "kube-octavia.service=other"})
	elsewhere := s.cloud.makePort()
	moved := s.cloud.floatingIP(address)
	s.lead(moved, elsewhere.ID)
	left := s.makeNamedPort("octavia-lb-11111111-2222-4333-8444-555555555555")
	s.resetCalls()

	list := s.statusList()
	if n := len(list.Services); n != 1 {
		t.Fatalf("%d Services: %+v", n, list.Services)
	}
	row := list.Services[0]
	if row.Name != "web" || row.LoadBalancerID != own || row.ProvisioningStatus != "ACTIVE" || row.OperatingStatus == "" ||
		row.Address != address || row.Programmed != "True" || row.Reason != "Programmed" {
		t.Errorf("the Service's row: %+v", row)
	}
	var orphans, conflicts, with, ports []string
	for _, o := range list.Orphans {
		orphans = append(orphans, o.ID)
	}
	for _, c := range list.Conflicts {
		conflicts = append(conflicts, c.ID)
		with = append(with, c.With)
		if c.Name != "web" || c.Message == "" {
			t.Errorf("conflict %+v", c)
		}
	}
	for _, p := range list.LeftPorts {
		ports = append(ports, p.ID)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"orphans", orphans, []string{have.ID, f.ID}}, {"conflicts", conflicts, []string{foreign, moved.ID}}, {"ports", ports, []string{left}},
		{"who else is in conflict", with, []string{"cluster other", "port " + elsewhere.ID}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	status, text, errs := s.run("status")
	if status != 0 {
		t.Errorf("status %d: %s", status, errs)
	}
	for _, part := range []string{own, address, have.ID, f.Address, foreign, elsewhere.ID, left, "ORPHAN", "CONFLICT", "LEFT BEHIND"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the table:\n%s", part, text)
		}
	}
	s.requireUntouched()
	s.cloud.octavia("DELETE", "loadbalancers/"+foreign+"?cascade=true", nil, nil)
	s.cloud.neutron("DELETE", "ports/"+left, nil, nil)
	s.lead(moved, nil)
	s.discard(have, f)
}

// makeNamedPort creates a port by hand and returns its id.
func (s *stage) makeNamedPort(name string) string {
	s.t.Helper()
	var made struct{ Port port }
	s.cloud.neutron("POST", "ports", map[string]any{"port": map[string]any{"network_id": s.cloud.IDs().PrivateNetwork, "name": name}}, &made)
	return made.Port.ID
}

func TestStatusReportsWhatItCannotRead(t *testing.T) {
	s := newStage(t, settings{off: true})
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Route: "/v2.0/lbaas/loadbalancers", Kind: wire.FaultStatus, Status: 500, Times: 1})
	if status, out, errs := s.run("status"); status != 1 || !strings.Contains(errs, "list loadbalancers") || out != "" {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	if status, _, errs := s.run("status", "-o", "xml"); status != 1 || !strings.Contains(errs, "xml") {
		t.Errorf("status %d:\n%s", status, errs)
	}
}
