// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// What is new in Octavia API 2.28 and 2.30: ports of type direct for VIPs and members.
func TestSRIOV(t *testing.T) {
	t.Parallel()
	setup := &try{T: t, cloud: theCloud}
	if setup.cloud.release.before(release2025) {
		t.Skip("it needs Octavia API 2.30")
	}
	offer := func(kind, key string, wish object) string {
		id := setup.quietly(admin).lb("POST", "/"+kind, object{key: wish}).is(201).text(key + ".id")
		t.Cleanup(func() { setup.quietly(admin).lb("DELETE", "/"+kind+"/"+id, nil) })
		return id
	}
	flavor := func(data string) string {
		name := setup.newName()
		profile := offer("flavorprofiles", "flavorprofile", object{"name": name, "provider_name": "amphora", "flavor_data": data})
		return offer("flavors", "flavor", object{"name": name, "flavor_profile_id": profile})
	}
	members, vip := flavor(`{"allow_member_sriov": true}`), flavor(`{"sriov_vip": true}`)
	group := setup.quietly(k8s).net("POST", "/security-groups", object{"security_group": object{"name": setup.newName()}}).is(201).text("security_group.id")
	t.Cleanup(func() { setup.quietly(k8s).net("DELETE", "/security-groups/"+group, nil) })
	lbs := newNursery(t)
	pool := func(flavor string) object {
		wish := object{"listeners": list{onPort(80, "TCP", "web", object{"members": list{at("10.1.0.1", 80, nil)}})}}
		if flavor != "" {
			wish["flavor_id"] = flavor
		}
		return wish
	}
	ids := lbs.make(t, pool(members), pool(""))
	direct, plain := setup.byName("pools", ids[0])["web"], setup.byName("pools", ids[1])["web"]
	wanted := with(at("10.1.0.2", 80, nil), object{"request_sriov": true})
	// kinds are the types of the members' ports, by address.
	kinds := func(c *try) map[string]any {
		found := map[string]any{}
		for _, m := range c.as(k8s).lb("GET", "/pools/"+direct+"/members?sort=address", nil).is(200).list("members") {
			found[m.(object)["address"].(string)] = m.(object)["vnic_type"]
		}
		return found
	}

	state(t, []statement{
		{"a member may ask for a port of type direct where the flavor allows it, and shows the type", func(c *try) {
			a := c.as(k8s).lb("POST", "/pools/"+direct+"/members", object{"member": wanted}).is(201)
			c.must(a.text("member.vnic_type") == "direct", "it is %s", a.Text)
			c.active(ids[0])
		}},
		{"an update of all members leaves the type of those that are there, whatever it says, and takes it for new ones", func(c *try) {
			c.as(k8s).lb("PUT", "/pools/"+direct+"/members", object{"members": list{
				with(at("10.1.0.1", 80, nil), object{"request_sriov": true}), at("10.1.0.2", 80, object{"weight": 2}),
				with(at("10.1.0.3", 80, nil), object{"request_sriov": true}), at("10.1.0.4", 80, nil)}}).is(202)
			c.active(ids[0])
			have := kinds(c)
			c.must(have["10.1.0.1"] == "normal" && have["10.1.0.2"] == "direct" && have["10.1.0.3"] == "direct" && have["10.1.0.4"] == "normal", "they are %v", have)
		}},
		{"without such a flavor it is refused with 400", func(c *try) {
			c.as(k8s).lb("POST", "/pools/"+plain+"/members", object{"member": wanted}).is(400)
			c.as(k8s).lb("PUT", "/pools/"+plain+"/members", object{"members": list{wanted}}).is(400)
		}},
		{"a VIP of type direct comes with a flavor, shows the type, and has no security groups: 400", func(c *try) {
			a := lbs.post(c.as(k8s), object{"flavor_id": vip}).is(201)
			id := a.text("loadbalancer.id")
			c.must(a.text("loadbalancer.vip_vnic_type") == "direct", "it is %s", a.Text)
			c.active(id)
			c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{"vip_sg_ids": list{group}}}).is(400)
			lbs.post(c.as(k8s), object{"flavor_id": vip, "vip_sg_ids": list{group}}).is(400)
			a = c.as(k8s).lb("GET", "/loadbalancers/"+id, nil).is(200)
			c.must(a.text("loadbalancer.vip_vnic_type") == "direct", "it is %s", a.Text)
		}},
	})
}
