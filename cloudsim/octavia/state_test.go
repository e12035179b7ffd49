// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// writes returns requests that change a load balancer or a part of it, with the fault for a locked
// load balancer.
func (t tree) writes() []struct{ name, method, path, body, fault string } {
	immutable := "Load Balancer " + t.lb + " is immutable and cannot be updated."
	pool := "Pool " + t.pool + " is immutable and cannot be updated."
	return []struct{ name, method, path, body, fault string }{
		{"update load balancer", "PUT", "/loadbalancers/" + t.lb, `{"loadbalancer": {"name": "x"}}`, "Invalid state %s of loadbalancer resource " + t.lb},
		{"create listener", "POST", "/listeners", fmt.Sprintf(`{"listener": {"protocol": "TCP", "protocol_port": 81, "loadbalancer_id": %q}}`, t.lb), immutable},
		{"update listener", "PUT", "/listeners/" + t.listener, `{"listener": {"name": "x"}}`, immutable},
		{"delete listener", "DELETE", "/listeners/" + t.listener, "", immutable},
		{"create pool", "POST", "/pools", fmt.Sprintf(`{"pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": %q}}`, t.lb), immutable},
		{"update pool", "PUT", "/pools/" + t.pool, `{"pool": {"name": "x"}}`, immutable},
		{"delete pool", "DELETE", "/pools/" + t.pool, "", immutable},
		{"create member", "POST", "/pools/" + t.pool + "/members", `{"member": {"address": "10.0.0.9", "protocol_port": 1}}`, pool},
		{"update member", "PUT", "/pools/" + t.pool + "/members/" + t.member1, `{"member": {"weight": 2}}`, pool},
		{"delete member", "DELETE", "/pools/" + t.pool + "/members/" + t.member1, "", pool},
		{"replace members", "PUT", "/pools/" + t.pool + "/members", `{"members": []}`, pool},
		{"update monitor", "PUT", "/healthmonitors/" + t.monitor, `{"healthmonitor": {"delay": 9}}`, pool},
		{"delete monitor", "DELETE", "/healthmonitors/" + t.monitor, "", pool},
	}
}

func TestEveryWriteToAPendingLoadBalancerIsRefused(t *testing.T) {
	lock := map[string]func(c *cloud, tr tree){
		// A change of the pool locks the pool, its parts and everything above it.
		"PENDING_UPDATE": func(c *cloud, tr tree) {
			c.call("PUT", "/pools/"+tr.pool, `{"pool": {"description": "new"}}`).must(http.StatusOK)
		},
		"PENDING_DELETE": func(c *cloud, tr tree) {
			c.call("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusNoContent)
		},
		"ERROR": func(c *cloud, tr tree) { c.SetError(tr.lb) },
	}
	for state, enter := range lock {
		t.Run(state, func(t *testing.T) {
			c := newCloud(t, Options{})
			tr := c.web()
			c.HoldPending(tr.lb)
			enter(c, tr)
			if got := c.status(tr.lb); got != state {
				t.Fatalf("load balancer is %s, want %s", got, state)
			}
			for _, w := range tr.writes() {
				t.Run(w.name, func(t *testing.T) {
					fault := w.fault
					if strings.Contains(fault, "%s") {
						fault = fmt.Sprintf(fault, state)
					}
					// Only the pool's own changes make the pool immutable.
					if state != "PENDING_UPDATE" && strings.HasPrefix(fault, "Pool") {
						fault = "Load Balancer " + tr.lb + " is immutable and cannot be updated."
					}
					c.call(w.method, w.path, w.body).refused(http.StatusConflict, fault)
				})
			}
		})
	}
}

func TestALoadBalancerInErrorCanOnlyBeDeletedOrFailedOver(t *testing.T) {
	c := newCloud(t, Options{})
	first, second := c.web(), c.create("")
	c.SetError(first.lb)
	c.SetError(second)
	c.call("PUT", "/loadbalancers/"+first.lb+"/failover", "").refused(http.StatusForbidden, "Policy does not allow this request to be performed.")
	c.as(admin, "PUT", "/loadbalancers/"+first.lb+"/failover", "").must(http.StatusAccepted)
	c.await(first.lb, "ACTIVE")
	c.call("DELETE", "/loadbalancers/"+second, "").must(http.StatusNoContent)
	c.await(second, "")
}

func TestLoadBalancerShowsEachOfItsStatuses(t *testing.T) {
	c := newCloud(t, Options{})
	c.HoldPending("")
	a := c.post(web).must(http.StatusCreated)
	id := a.str("loadbalancer.id")
	if got := a.str("loadbalancer.provisioning_status"); got != "PENDING_CREATE" {
		t.Errorf("the answer to a create says %s", got)
	}
	if got := c.call("GET", "/loadbalancers/"+id+"/status", "").str("statuses.loadbalancer.listeners.0.pools.0.members.1.provisioning_status"); got != "PENDING_CREATE" {
		t.Errorf("a member of a new load balancer is %s", got)
	}
	c.Release("")
	c.await(id, "ACTIVE")
	c.HoldPending(id)
	c.call("DELETE", "/loadbalancers/"+id+"?cascade=true", "").must(http.StatusNoContent)
	if got := c.status(id); got != "PENDING_DELETE" {
		t.Errorf("a load balancer being deleted is %s", got)
	}
	c.call("DELETE", "/loadbalancers/"+id+"?cascade=true", "").refused(http.StatusConflict, "Invalid state PENDING_DELETE of loadbalancer resource "+id)
	c.Release(id)
	c.await(id, "")
	if got := c.Counts(); got != (Counts{}) {
		t.Errorf("a cascade delete leaves %+v", got)
	}
}

func TestDurationsOfChangesVary(t *testing.T) {
	c := newCloud(t, Options{BuildTime: time.Hour, DeleteTime: 2 * time.Hour, Vary: func(usual time.Duration) time.Duration {
		if usual == time.Hour {
			return 0
		}
		return usual
	}})
	id := c.create("")
	c.call("DELETE", "/loadbalancers/"+id, "").must(http.StatusNoContent)
	if got := c.status(id); got != "PENDING_DELETE" {
		t.Errorf("a load balancer whose deletion takes hours is %q", got)
	}
}

func TestTheWholeTreeIsActiveAfterACreate(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	a := c.call("GET", "/loadbalancers/"+tr.lb+"/status", "")
	for path, want := range map[string]string{
		"":                                    "ONLINE",
		".listeners.0":                        "ONLINE",
		".listeners.0.pools.0":                "ONLINE",
		".listeners.0.pools.0.members.0":      "ONLINE",
		".listeners.0.pools.0.health_monitor": "ONLINE",
	} {
		at := "statuses.loadbalancer" + path
		if p, o := a.str(at+".provisioning_status"), a.str(at+".operating_status"); p != "ACTIVE" || o != want {
			t.Errorf("%s is %s %s, want ACTIVE %s", at, p, o, want)
		}
	}
}

func TestChangeSetsOnlyTheAffectedObjectsToPending(t *testing.T) {
	type states = map[string]string
	tests := map[string]struct {
		method, path, body string
		pending            states
	}{
		"load balancer":   {"PUT", "/loadbalancers/{lb}", `{"loadbalancer": {"name": "x"}}`, states{}},
		"listener":        {"PUT", "/listeners/{listener}", `{"listener": {"name": "x"}}`, states{"listener": "PENDING_UPDATE"}},
		"pool":            {"PUT", "/pools/{pool}", `{"pool": {"name": "x"}}`, states{"listener": "PENDING_UPDATE", "pool": "PENDING_UPDATE"}},
		"member":          {"PUT", "/pools/{pool}/members/{member1}", `{"member": {"weight": 3}}`, states{"listener": "PENDING_UPDATE", "pool": "PENDING_UPDATE", "member1": "PENDING_UPDATE"}},
		"monitor":         {"PUT", "/healthmonitors/{monitor}", `{"healthmonitor": {"delay": 7}}`, states{"listener": "PENDING_UPDATE", "pool": "PENDING_UPDATE", "monitor": "PENDING_UPDATE"}},
		"batch":           {"PUT", "/pools/{pool}/members", `{"members": [{"address": "10.0.0.11", "protocol_port": 30080}]}`, states{"listener": "PENDING_UPDATE", "pool": "PENDING_UPDATE", "member1": "PENDING_UPDATE", "member2": "PENDING_DELETE"}},
		"delete member":   {"DELETE", "/pools/{pool}/members/{member1}", "", states{"listener": "PENDING_UPDATE", "pool": "PENDING_UPDATE", "member1": "PENDING_DELETE"}},
		"delete pool":     {"DELETE", "/pools/{pool}", "", states{"listener": "PENDING_UPDATE", "pool": "PENDING_DELETE"}},
		"delete listener": {"DELETE", "/listeners/{listener}", "", states{"listener": "PENDING_DELETE"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, Options{})
			tr := c.web()
			c.HoldPending(tr.lb)
			path := strings.NewReplacer("{lb}", tr.lb, "{listener}", tr.listener, "{pool}", tr.pool, "{member1}", tr.member1, "{monitor}", tr.monitor).Replace(test.path)
			if a := c.call(test.method, path, test.body); a.status >= 300 {
				t.Fatalf("%d %s", a.status, a.text)
			}
			got := states{}
			for part, path := range map[string]string{
				"listener": "/listeners/" + tr.listener, "pool": "/pools/" + tr.pool, "monitor": "/healthmonitors/" + tr.monitor,
				"member1": "/pools/" + tr.pool + "/members/" + tr.member1, "member2": "/pools/" + tr.pool + "/members/" + tr.member2,
			} {
				for _, v := range c.call("GET", path, "").must(http.StatusOK).body {
					if s := v.(map[string]any)["provisioning_status"].(string); s != "ACTIVE" {
						got[part] = s
					}
				}
			}
			if diff := cmp.Diff(test.pending, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got := c.status(tr.lb); got != "PENDING_UPDATE" {
				t.Errorf("the load balancer is %s", got)
			}
		})
	}
}

func TestUpdatedAtOfTheLoadBalancerChangesWithEveryChangeOfItsObjects(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	for _, w := range tr.writes()[:11] {
		if strings.HasPrefix(w.name, "delete") {
			continue
		}
		before := c.call("GET", "/loadbalancers/"+tr.lb, "").str("loadbalancer.updated_at")
		c.clock.Add(1)
		if a := c.call(w.method, w.path, w.body); a.status >= 300 {
			t.Fatalf("%s: %d %s", w.name, a.status, a.text)
		}
		c.await(tr.lb, "ACTIVE")
		if after := c.call("GET", "/loadbalancers/"+tr.lb, "").str("loadbalancer.updated_at"); after <= before {
			t.Errorf("%s: updated_at stays %s", w.name, after)
		}
	}
	if got := c.call("GET", "/loadbalancers/"+tr.lb, "").str("loadbalancer.created_at"); got != "2027-01-15T08:00:00" {
		t.Errorf("created_at is %s", got)
	}
}

func TestOneOfManyConcurrentWritesIsAccepted(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create("")
	c.HoldPending(lb)
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for port := range 8 {
		wg.Go(func() {
			a := c.call("POST", "/listeners", fmt.Sprintf(`{"listener": {"protocol": "TCP", "protocol_port": %d, "loadbalancer_id": %q}}`, 8000+port, lb))
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[int]int{201: 1, 409: 7}, statuses); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAFaultPutsTheLoadBalancerIntoError(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	fail := func(method, path, body string) reply {
		r := httptest.NewRequest(method, "/v2.0/lbaas"+path, strings.NewReader(body))
		return c.send(r.WithContext(wire.WithFaultError(context.Background())), alice)
	}
	id := fail("POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer": {"vip_subnet_id": %q, %s}}`, c.ids.PrivateSubnetID, web)).must(http.StatusCreated).str("loadbalancer.id")
	c.await(id, "ERROR")
	if got := c.call("GET", "/loadbalancers/"+id+"/status", "").str("statuses.loadbalancer.listeners.0.provisioning_status"); got != "PENDING_CREATE" {
		t.Errorf("a listener of a load balancer that could not be built is %s", got)
	}
	fail("PUT", "/listeners/"+tr.listener, `{"listener": {"name": "x"}}`).must(http.StatusOK)
	c.await(tr.lb, "ERROR")
	if got := c.call("GET", "/listeners/"+tr.listener, "").str("listener.provisioning_status"); got != "ERROR" {
		t.Errorf("the listener is %s", got)
	}
	fail("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusNoContent)
	c.await(tr.lb, "ERROR")
	c.call("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusNoContent)
	c.await(tr.lb, "")
}

func TestSetErrorDuringAChangeCountsWhenItEnds(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create("")
	c.HoldPending(lb)
	c.call("PUT", "/loadbalancers/"+lb, `{"loadbalancer": {"name": "x"}}`).must(http.StatusOK)
	if !c.SetError(lb) || c.SetError("no-such-id") {
		t.Error("SetError does not tell whether there is such a load balancer")
	}
	if got := c.status(lb); got != "PENDING_UPDATE" {
		t.Errorf("it is %s before the change ends", got)
	}
	c.Release(lb)
	c.await(lb, "ERROR")
}

func TestStuckChildrenStayPendingUntilTheyAreUpdated(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, StuckChildren: true})
	tr := c.web()
	a := c.call("GET", "/loadbalancers/"+tr.lb+"/status", "")
	for _, at := range []string{"listeners.0", "listeners.0.pools.0", "listeners.0.pools.0.members.0", "listeners.0.pools.0.health_monitor"} {
		if got := a.str("statuses.loadbalancer." + at + ".provisioning_status"); got != "PENDING_CREATE" {
			t.Errorf("%s is %s", at, got)
		}
	}
	immutable := "Pool " + tr.pool + " is immutable and cannot be updated."
	c.call("PUT", "/pools/"+tr.pool+"/members", `{"members": []}`).refused(http.StatusConflict, immutable)
	c.call("POST", "/pools/"+tr.pool+"/members", `{"member": {"address": "10.0.0.9", "protocol_port": 1}}`).refused(http.StatusConflict, immutable)
	c.call("DELETE", "/healthmonitors/"+tr.monitor, "").refused(http.StatusConflict, immutable)
	c.settled(tr.lb, c.call("PUT", "/pools/"+tr.pool, `{"pool": {"name": "pool"}}`))
	c.settled(tr.lb, c.call("PUT", "/pools/"+tr.pool+"/members", `{"members": [{"address": "10.0.0.11", "protocol_port": 30080}]}`))
	if got := c.call("GET", "/pools/"+tr.pool+"/members/"+tr.member1, "").str("member.provisioning_status"); got != "ACTIVE" {
		t.Errorf("the member is %s after it was updated", got)
	}
}

func TestOnChangeIsCalledForEachChangeThatEnded(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	c.settled(tr.lb, c.call("PUT", "/pools/"+tr.pool, `{"pool": {"name": "x"}}`))
	c.call("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusNoContent)
	want := []string{tr.lb, tr.lb, tr.lb}
	c.wait("OnChange was called three times", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Equal(c.changes, want)
	})
}

func TestVIPPortIsCreatedAndDeletedWithTheLoadBalancer(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(`"vip_address": "10.0.0.77"`)
	port, ok := c.VIPPortID(lb)
	if !ok || port != c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.vip_port_id") {
		t.Errorf("VIPPortID gives %q %v", port, ok)
	}
	if got, ok := c.LoadBalancerOfPort(port); !ok || got != lb {
		t.Errorf("LoadBalancerOfPort gives %q %v, want %q", got, ok, lb)
	}
	if ports := c.neutron.PortsOf("lb-" + lb); len(ports) != 1 || ports[0].ID != port {
		t.Errorf("the load balancer's ports in Neutron are %+v", ports)
	}
	c.call("DELETE", "/loadbalancers/"+lb, "").must(http.StatusNoContent)
	c.await(lb, "")
	if ports := c.neutron.PortsOf("lb-" + lb); len(ports) != 0 {
		t.Errorf("the load balancer leaves the ports %+v", ports)
	}
	if _, ok := c.LoadBalancerOfPort(port); ok {
		t.Error("LoadBalancerOfPort still knows the port")
	}
}

func TestPortOfTheUserStaysWhenTheLoadBalancerIsDeleted(t *testing.T) {
	c := newCloud(t, Options{})
	port, err := c.neutron.AddPort(neutron.PortSpec{NetworkID: c.ids.PrivateNetworkID, ProjectID: alice.ProjectID, FixedIPs: []neutron.FixedIP{{SubnetID: c.ids.PrivateSubnetID, IPAddress: "10.0.0.99"}}})
	if err != nil {
		t.Fatal(err)
	}
	lb := c.call("POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer": {"vip_port_id": %q}}`, port.ID)).must(http.StatusCreated)
	id := lb.str("loadbalancer.id")
	if got := lb.str("loadbalancer.vip_address"); got != "10.0.0.99" {
		t.Errorf("the VIP is %s", got)
	}
	c.await(id, "ACTIVE")
	c.call("DELETE", "/loadbalancers/"+id, "").must(http.StatusNoContent)
	c.await(id, "")
	again := c.call("POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer": {"vip_port_id": %q}}`, port.ID))
	c.await(again.must(http.StatusCreated).str("loadbalancer.id"), "ACTIVE")
}

func TestBatchThatNamesAMemberTwiceLeavesTheLoadBalancerPending(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	twice := `{"members": [{"address": "10.0.0.11", "protocol_port": 30080}, {"address": "10.0.0.11", "protocol_port": 30080, "weight": 9}]}`
	c.call("PUT", "/pools/"+tr.pool+"/members", twice).must(http.StatusAccepted)
	other := c.create("") // Octavia is not stuck itself
	c.call("DELETE", "/loadbalancers/"+other, "").must(http.StatusNoContent)
	c.await(other, "")
	if got := c.status(tr.lb); got != "PENDING_UPDATE" {
		t.Errorf("the load balancer is %s", got)
	}
	c.call("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusConflict)
}
