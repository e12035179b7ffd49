// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"testing"
)

func TestAMemberKeepsTheTypeOfItsPortWhenAllMembersAreUpdated(t *testing.T) {
	c := newCloud(t, Options{APIVersion: "2.30"})
	flavor := c.AddFlavor("sriov", "amphora", `{"allow_member_sriov": true}`)
	create := func(flavor string) (lb, pool string) {
		lb = c.create(flavor + `"name": "web", "listeners": [{"protocol": "TCP", "protocol_port": 80, "default_pool": {"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}]`)
		return lb, c.call("GET", "/pools?loadbalancer_id="+lb, "").str("pools.0.id")
	}
	member := func(address, more string) string {
		return fmt.Sprintf(`{"address": %q, "protocol_port": 80%s}`, address, more)
	}
	const sriov = `, "request_sriov": true`
	lb, pool := create(fmt.Sprintf(`"flavor_id": %q, `, flavor))
	members := "/pools/" + pool + "/members"
	c.settled(lb, c.call("POST", members, `{"member": `+member("10.0.0.5", sriov)+`}`))
	c.settled(lb, c.call("PUT", members, `{"members": [`+member("10.0.0.5", "")+`, `+member("10.0.0.6", "")+`]}`))
	c.settled(lb, c.call("PUT", members, `{"members": [`+member("10.0.0.5", "")+`, `+member("10.0.0.6", sriov)+`, `+member("10.0.0.7", sriov)+`]}`))
	kinds := map[string]string{}
	for i := range 3 {
		at := fmt.Sprintf("members.%d.", i)
		kinds[c.call("GET", members, "").str(at+"address")] = c.call("GET", members, "").str(at + "vnic_type")
	}
	for address, want := range map[string]string{"10.0.0.5": "direct", "10.0.0.6": "normal", "10.0.0.7": "direct"} {
		if kinds[address] != want {
			t.Errorf("the port of member %s is of type %q, want %q", address, kinds[address], want)
		}
	}

	lb, pool = create("")
	c.call("POST", "/pools/"+pool+"/members", `{"member": `+member("10.0.0.5", sriov)+`}`).refused(http.StatusBadRequest, "The load balancer flavor does not allow SR-IOV member ports.")
	c.settled(lb, c.call("POST", "/pools/"+pool+"/members", `{"member": `+member("10.0.0.5", `, "request_sriov": false`)+`}`))
}
