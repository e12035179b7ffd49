// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// vnicTypes returns the types of the members' ports, by the addresses of the members.
func (v *service) vnicTypes() map[string]string {
	v.t.Helper()
	var answer struct {
		Members []struct {
			Address string
			Type    string `json:"vnic_type"`
		}
	}
	v.cloud.octavia(http.MethodGet, "pools/"+v.tree().Listeners[0].Pool.ID+"/members", nil, &answer)
	types := map[string]string{}
	for _, m := range answer.Members {
		types[m.Address] = m.Type
	}
	return types
}

// makeMemberDirect makes the member at the address anew with a port of type direct, as another client.
func (v *service) makeMemberDirect(address string) {
	v.t.Helper()
	path := "pools/" + v.tree().Listeners[0].Pool.ID + "/members"
	var answer struct{ Members []map[string]any }
	v.cloud.octavia(http.MethodGet, path, nil, &answer)
	i := slices.IndexFunc(answer.Members, func(m map[string]any) bool { return m["address"] == address })
	if i < 0 {
		v.t.Fatalf("no member has address %s", address)
	}
	member := maps.Clone(answer.Members[i])
	for key := range member {
		if !slices.Contains([]string{"name", "address", "protocol_port", "subnet_id", "weight", "backup", "monitor_address", "monitor_port", "tags"}, key) {
			delete(member, key)
		}
	}
	member["request_sriov"] = true
	v.whenActive(http.MethodDelete, path+"/"+answer.Members[i]["id"].(string), nil)
	v.whenActive(http.MethodPost, path, map[string]any{"member": member})
	v.eventually(func() error {
		if status := v.tree().Status; status != "ACTIVE" {
			return fmt.Errorf("the load balancer is %s", status)
		}
		return nil
	})
}

// whenActive makes a request to Octavia until the load balancer is not locked.
func (v *service) whenActive(method, path string, body any) {
	v.t.Helper()
	v.eventually(func() error {
		if status := v.tree().Status; status != "ACTIVE" {
			return errors.New("the load balancer is " + status)
		}
		return v.cloud.call(asUser, cloudsim.LoadBalancer, method, "/v2.0/lbaas/"+path, body, nil)
	})
}

func TestMembersWithPortsOfTypeDirectKeepThemWhenNodesChange(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	s := newStage(t, settings{cloud: cloudsim.Options{}})
	s.needsOctavia("2.30")
	flavor := s.makeFlavorOf(s.namespace, `{"loadbalancer_topology": "SINGLE", "allow_member_sriov": true}`)
	web := s.service("web", tcp(8080), annotated(flavorKey, flavor))
	web.waitUntilProgrammed()
	s.stop()
	web.makeMemberDirect(s.address("a"))
	s.start()
	s.changeNode("b", excluded)
	web.waitForTree(membersAt(s.addresses("a")...))
	s.changeNode("b", included)
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	web.waitUntilProgrammed()
	if diff := cmp.Diff(map[string]string{s.address("a"): "direct", s.address("b"): "normal"}, web.vnicTypes()); diff != "" {
		t.Errorf("types of the members' ports (-want +have): %s", diff)
	}
	web.delete()
	web.waitUntilGone() // before the flavor
}
