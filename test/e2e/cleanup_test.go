// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// leftovers are the numbers of what clusters have in the cloud.
type leftovers struct{ LoadBalancers, Listeners, Pools, FloatingIPs, VIPPorts, SecurityGroups int }

// leftovers counts what the project has in the cloud now.
func (s *stage) leftovers() leftovers {
	s.t.Helper()
	n := leftovers{
		LoadBalancers: s.cloud.count("loadbalancers"), Listeners: s.cloud.count("listeners"), Pools: s.cloud.count("pools"),
		FloatingIPs: len(s.cloud.floatingIPs()), SecurityGroups: len(s.groupsNamed("lb-sg-", "kube-octavia-nodes-")),
	}
	for _, p := range s.cloud.ports() {
		if strings.HasPrefix(p.DeviceID, "lb-") || strings.Contains(p.DeviceOwner, "Octavia") {
			n.VIPPorts++
		}
	}
	return n
}

// groupsNamed returns the security groups whose names begin so.
func (s *stage) groupsNamed(prefixes ...string) (ids []string) {
	s.t.Helper()
	var answer struct {
		Groups []struct{ ID, Name string } `json:"security_groups"`
	}
	s.cloud.neutron(http.MethodGet, "security-groups", nil, &answer)
	for _, g := range answer.Groups {
		for _, prefix := range prefixes {
			if strings.HasPrefix(g.Name, prefix) {
				ids = append(ids, g.ID)
			}
		}
	}
	return ids
}

// cleanup runs `kube-octavia cleanup` and returns what it writes.
func (s *stage) cleanup(status int, args ...string) (out, errs string) {
	s.t.Helper()
	got, out, errs := s.runInCloud(append([]string{"cleanup", "--timeout=" + deadline().String()}, args...)...)
	if got != status {
		s.t.Fatalf("cleanup ended with status %d, not %d:\n%s%s", got, status, out, errs)
	}
	return out, errs
}

// TestCleanupDeletesWhatALostClusterLeftAndNothingElse loses a cluster with ten Services: five of kube-octavia, five of
// openstack-cloud-controller-manager. A neighbour in the same project has two load balancers, one of each.
func TestCleanupDeletesWhatALostClusterLeftAndNothingElse(t *testing.T) {
	program := build(t)
	s := newStage(t, settings{conf: []string{"manage-security-groups=true"}, cloud: cloudsim.Options{DeleteTime: time.Second}})
	s.stop()
	lost, neighbour := "lost-"+s.namespace, "neighbour-"+s.namespace
	s.settings.flags = []string{"--cluster-name=" + lost}
	s.start()
	empty := s.leftovers()
	given := s.cloud.makeFloatingIP("")
	s.given = append(s.given, given.Address)
	// ofEach is how many load balancers this controller and OCCM have made. A real cloud takes its time for each.
	ofEach := 5
	if *stateDir != "" && testing.Short() {
		ofEach = 2
	}
	var own []*service
	for i := range ofEach {
		edits := []edit{tcp(8080)}
		if i == 0 {
			edits = append(edits, at(given.Address))
		}
		own = append(own, s.service(fmt.Sprint("own-", i), edits...))
	}
	kept := s.service("kept", tcp(8080), annotated(keepKey, "true"))
	for _, v := range own {
		v.waitUntilProgrammed()
	}
	keptAddress := kept.waitUntilProgrammed()
	s.given = append(s.given, keptAddress)
	kept.delete()
	kept.waitUntilGone()
	uid := s.clusterUID()
	s.stop()
	beforeNeighbour := s.leftovers()

	// The neighbour's are made by hand, as there is only one cluster here.
	neighbours := []*occmService{{service: &service{stage: s, name: "neighbour-0"}, cluster: neighbour, edits: []edit{tcp(8080)}}, {
		service: &service{stage: s, name: "neighbour-1"}, cluster: neighbour, edits: []edit{tcp(8080)},
		changes: []func(fields){func(b fields) {
			b["tags"] = append(b["tags"].([]string), "kube-octavia.cluster=1b4e28ba-2fa1-11d2-883f-0016d3cca427", "kube-octavia.service=6ba7b810-9dad-11d1-80b4-00c04fd430c8")
		}},
	}}
	makeAll(s, neighbours)
	s.eventually(s.cloud.pending)
	withNeighbour := s.leftovers()
	neighbourHas := leftovers{
		LoadBalancers: withNeighbour.LoadBalancers - beforeNeighbour.LoadBalancers, Listeners: withNeighbour.Listeners - beforeNeighbour.Listeners,
		Pools: withNeighbour.Pools - beforeNeighbour.Pools, FloatingIPs: withNeighbour.FloatingIPs - beforeNeighbour.FloatingIPs,
		VIPPorts: withNeighbour.VIPPorts - beforeNeighbour.VIPPorts, SecurityGroups: withNeighbour.SecurityGroups - beforeNeighbour.SecurityGroups,
	}
	var occm []*occmService
	for i := range ofEach {
		occm = append(occm, &occmService{service: &service{stage: s, name: fmt.Sprint("occm-", i)}, cluster: lost, edits: []edit{tcp(8080)}})
	}
	makeAll(s, occm)
	s.eventually(s.cloud.pending)
	// Octavia's deletion leaves a port behind.
	id := occm[ofEach-1].made.ID
	s.cloud.neutron(http.MethodPost, "ports", fields{"port": fields{
		"network_id": s.cloud.IDs().PrivateNetwork, "name": "octavia-lb-" + id, "device_owner": "Octavia", "device_id": "lb-" + id,
	}}, nil)
	before := s.leftovers()
	was := []tree{neighbours[0].read(), neighbours[1].read()}

	s.resetCalls()
	if _, errs := s.cleanup(1, "--cluster-name="+lost); !strings.Contains(errs, "add --cluster-uid="+uid) {
		t.Errorf("without the uid it says\n%s", errs)
	}
	shown, _ := s.cleanup(2, "--cluster-name="+lost, "--cluster-uid="+uid)
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("without --delete the cloud was written to: %v", writes)
	}
	for _, part := range []string{"Cluster " + lost + ", uid " + uid,
		fmt.Sprintf("To delete: %d load balancers, %d floating IPs, 1 security group. Kept: 0.", 2*ofEach, 2*ofEach-1), s.namespace + "/own-0", fmt.Sprintf("%s/occm-%d", s.namespace, ofEach-1)} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not shown:\n%s", part, shown)
		}
	}
	s.killCleanup(program, before, 2*ofEach, "--cluster-name="+lost, "--cluster-uid="+uid)
	halfway := s.leftovers()
	// The controller's access rules do not allow to delete a port, those of a user do.
	if err := cloudsim.WriteFile(s.cloudConf(), s.cloud.PasswordConf()); err != nil {
		t.Fatal(err)
	}
	s.cleanup(0, "--cluster-name="+lost, "--cluster-uid="+uid, "--delete")
	s.writeFiles()
	after := s.leftovers()
	t.Logf("before: %+v\nafter the kill: %+v\nafter: %+v", before, halfway, after)

	want := neighbourHas
	want.FloatingIPs += empty.FloatingIPs + 2 // the given and the kept one
	want.SecurityGroups += empty.SecurityGroups
	if d := cmp.Diff(want, after); d != "" {
		t.Errorf("(-want +have): %s", d)
	}
	if f := s.cloud.floatingIP(given.Address); f.PortID != "" {
		t.Errorf("the given floating IP still leads to port %s", f.PortID)
	}
	if f := s.cloud.floatingIP(keptAddress); !strings.Contains(f.Description, "(kept ") {
		t.Errorf("the kept floating IP is %+v", f)
	}
	if d := cmp.Diff(was, []tree{neighbours[0].read(), neighbours[1].read()}); d != "" {
		t.Errorf("the neighbour's load balancers were changed (-was +is): %s", d)
	}
	if out, _ := s.cleanup(0, "--cluster-name="+lost, "--cluster-uid="+uid); !strings.Contains(out, "To delete: nothing.") {
		t.Errorf("a cleanup of what is clean shows\n%s", out)
	}
	s.cleanup(0, "--cluster-name="+neighbour, "--cluster-uid=1b4e28ba-2fa1-11d2-883f-0016d3cca427", "--delete")
}

// killCleanup starts the program, which is to delete so many load balancers, and kills it when it has deleted something, but not
// everything.
func (s *stage) killCleanup(program string, before leftovers, deletes int, args ...string) {
	s.t.Helper()
	if *stateDir == "" {
		for _, service := range []string{cloudsim.LoadBalancer, cloudsim.Network} {
			s.cloud.Latency().Set(wire.Operation{Service: service}, 50*time.Millisecond)
		}
	}
	p := s.execute(exec.Command(program, append([]string{"cleanup", "--cloud-config=" + s.cloudConf(), "--delete"}, args...)...))
	s.eventually(func() error {
		if s.leftovers().FloatingIPs == before.FloatingIPs {
			return errors.New("nothing is deleted yet")
		}
		return nil
	})
	p.kill()
	if now := s.leftovers(); now.LoadBalancers <= before.LoadBalancers-deletes {
		s.t.Fatalf("nothing is left to resume: %+v", now)
	}
}
