// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/test/openstack"
)

func TestCallsAreCountedByWhatTheyDo(t *testing.T) {
	routes := map[string]int{
		"POST /v3/auth/tokens": 1, "GET /": 1, "GET /v2.0/extensions": 1, "GET /v2.0/lbaas/quotas/{id}": 1,
		"GET /v2.0/lbaas/loadbalancers": 4, "POST /v2.0/lbaas/loadbalancers": 2, "DELETE /v2.0/floatingips/{id}": 1,
	}
	want := Calls{Total: 11, Writes: 3, Connect: 4, Routes: routes}
	if diff := cmp.Diff(want, count(routes)); diff != "" {
		t.Error(diff)
	}
}

func TestNodesHaveDifferentAddressesOfTheSubnet(t *testing.T) {
	c := &Cloud{subnet: netip.MustParsePrefix("10.0.0.0/16")}
	for number, want := range map[int]string{0: "10.0.0.11", 244: "10.0.0.255", 245: "10.0.1.0"} {
		t.Run(fmt.Sprintf("node %d", number), func(t *testing.T) {
			if got := c.NodeAddress(number).String(); got != want {
				t.Errorf("node %d has %s, want %s", number, got, want)
			}
		})
	}
}

func TestFinishedChangesOfARealCloudAreDetected(t *testing.T) {
	c := &Cloud{seen: map[string]LoadBalancer{}, finished: map[string]time.Time{}, changes: map[string]int{}}
	c.note([]LoadBalancer{{ID: "created", Status: "PENDING_CREATE"}, {ID: "changed", Status: "ACTIVE", Updated: "1"}, {ID: "same", Status: "ACTIVE"}, {ID: "gone", Status: "ACTIVE"}})
	c.finished, c.changes = map[string]time.Time{}, map[string]int{}
	c.note([]LoadBalancer{{ID: "created", Status: "ACTIVE"}, {ID: "changed", Status: "ACTIVE", Updated: "2"}, {ID: "same", Status: "ACTIVE"}})
	got := map[string]bool{}
	for id := range c.Finished() {
		got[id] = true
	}
	if diff := cmp.Diff(map[string]bool{"created": true, "changed": true, "gone": true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCloudConfIsRead(t *testing.T) {
	text := `[Global]
auth-url=http://127.0.0.1:5000/v3
username="k8s"
password="a # b"
tenant-id=project
region=RegionOne
use-clouds=false

[LoadBalancer]
subnet-id=subnet
unknown=1

[Route]
router-id=x
`
	login, subnet, err := parse(text)
	want := openstack.Login{AuthURL: "http://127.0.0.1:5000/v3", User: "k8s", Password: "a # b", ProjectID: "project", Region: "RegionOne"}
	if err != nil || subnet != "subnet" {
		t.Errorf("subnet %q, %v", subnet, err)
	}
	if diff := cmp.Diff(want, login); diff != "" {
		t.Error(diff)
	}
	if _, _, err := parse("[Global]\nauth-url=http://127.0.0.1\n"); err == nil {
		t.Error("a cloud.conf without user is taken")
	}
}

// The bare calls are tried on the simulator, whose times are known.
func TestBareCallsMeasureTheCloud(t *testing.T) {
	c, err := Simulated(Instant(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := bare{user: c.user, subnet: c.sim.IDs().PrivateSubnet, address: c.NodeAddress, known: map[[2]int]Limits{}}
	l, err := b.limits(context.Background(), 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if l.Create <= 0 || l.UpdatePorts <= 0 || l.Update != l.UpdatePorts/2 || l.Delete <= 0 {
		t.Errorf("limits %+v", l)
	}
	if left, err := c.LoadBalancers(context.Background()); err != nil || len(left) > 0 {
		t.Errorf("%d load balancers are left, %v", len(left), err)
	}
	for id, n := range c.Changes() {
		if n != 4 { // create, two updates, delete
			t.Errorf("%s was changed %d times", id, n)
		}
	}
}
