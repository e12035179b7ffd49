// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

func TestFlavors(t *testing.T) {
	t.Parallel()
	// offer makes something as an admin, who deletes it when the group ends.
	offer := func(kind, key string, wish object) answer {
		c := &try{T: t, cloud: theCloud}
		a := c.quietly(admin).lb("POST", "/"+kind, object{key: wish}).is(201)
		id := a.text(key + ".id")
		if id == "" {
			id = a.text(key + ".name")
		}
		t.Cleanup(func() { c.quietly(admin).lb("DELETE", "/"+kind+"/"+id, nil) })
		return a
	}
	own := (&try{T: t, cloud: theCloud}).newName()
	profile := offer("flavorprofiles", "flavorprofile", object{"name": own, "provider_name": "amphora", "flavor_data": `{"loadbalancer_topology": "SINGLE"}`}).text("flavorprofile.id")
	flavor := offer("flavors", "flavor", object{"name": own, "description": "small", "flavor_profile_id": profile}).text("flavor.id")
	disabled := offer("flavors", "flavor", object{"name": own + "-off", "flavor_profile_id": profile, "enabled": false}).text("flavor.id")
	zones := offer("availabilityzoneprofiles", "availability_zone_profile", object{"name": own, "provider_name": "amphora", "availability_zone_data": `{"compute_zone": "nova"}`}).text("availability_zone_profile.id")
	offer("availabilityzones", "availability_zone", object{"name": own, "description": "near", "availability_zone_profile_id": zones})
	offer("availabilityzones", "availability_zone", object{"name": own + "-off", "availability_zone_profile_id": zones, "enabled": false})
	lbs := newNursery(t)

	state(t, []statement{
		{"the providers are listed with their descriptions", func(c *try) {
			a := c.as(k8s).lb("GET", "/providers", nil).is(200)
			c.must(len(a.texts("providers", "name")) > 0, "it has %s", a.Text)
			c.as(k8s).lb("GET", "/providers?fields=name", nil).is(200)
		}},
		{"a project sees flavors and availability zones, but not their profiles", func(c *try) {
			c.as(k8s).lb("GET", "/flavors/"+flavor, nil).is(200)
			a := c.as(k8s).lb("GET", "/flavors?name="+own, nil).is(200)
			c.must(same(a.texts("flavors", "id"), []string{flavor}), "it has %s", a.Text)
			c.as(k8s).lb("GET", "/availabilityzones/"+own, nil).is(200)
			a = c.as(k8s).lb("GET", "/availabilityzones?name="+own, nil).is(200)
			c.must(same(a.texts("availability_zones", "name"), []string{own}), "it has %s", a.Text)
			c.as(k8s).lb("GET", "/flavorprofiles/"+profile, nil).is(403)
			c.as(k8s).lb("GET", "/availabilityzoneprofiles", nil).is(403)
		}},
		{"an admin sees profiles with their data as a text", func(c *try) {
			a := c.as(admin).lb("GET", "/flavorprofiles/"+profile, nil).is(200)
			c.must(a.text("flavorprofile.flavor_data") == `{"loadbalancer_topology": "SINGLE"}`, "it has %s", a.Text)
			c.as(admin).lb("GET", "/availabilityzoneprofiles/"+zones, nil).is(200)
		}},
		{"a flavor or zone that there is not is answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/flavors/"+unknown, nil).is(404)
			c.as(k8s).lb("GET", "/availabilityzones/no-such-zone", nil).is(404)
		}},
		{"only an admin offers flavors and zones", func(c *try) {
			c.as(k8s).lb("POST", "/flavors", object{"flavor": object{"name": "mine", "flavor_profile_id": profile}}).is(403)
			c.as(k8s).lb("DELETE", "/flavors/"+flavor, nil).is(403)
			c.as(k8s).lb("POST", "/availabilityzones", object{"availability_zone": object{"name": "mine", "availability_zone_profile_id": zones}}).is(403)
		}},
		{"a load balancer has the flavor and the zone that it asks for", func(c *try) {
			a := lbs.post(c.as(k8s), object{"flavor_id": flavor, "availability_zone": own}).is(201)
			c.must(a.text("loadbalancer.flavor_id") == flavor && a.text("loadbalancer.availability_zone") == own, "it has %s", a.Text)
			c.active(a.text("loadbalancer.id"))
			found := c.as(k8s).lb("GET", "/loadbalancers?fields=id&availability_zone="+own+"&flavor_id="+flavor, nil).is(200)
			c.must(same(found.texts("loadbalancers", "id"), []string{a.text("loadbalancer.id")}), "it has %s", found.Text)
		}},
		{"a flavor or zone that a load balancer has cannot be deleted: 409", func(c *try) {
			c.as(admin).lb("DELETE", "/flavors/"+flavor, nil).is(409)
			c.as(admin).lb("DELETE", "/availabilityzones/"+own, nil).is(409)
			c.as(admin).lb("DELETE", "/flavorprofiles/"+profile, nil).is(409)
		}},
		{"a flavor or zone that is not enabled is refused", func(c *try) {
			lbs.post(c.as(k8s), object{"flavor_id": disabled}).is(400)
			lbs.post(c.as(k8s), object{"availability_zone": own + "-off"}).is(400)
		}},
		{"a flavor of another provider than the one asked for is refused", func(c *try) {
			lbs.post(c.as(k8s), object{"flavor_id": flavor, "provider": "octavia"}).is(400)
		}},
		{"a name that a flavor or zone has is refused to another one: 409", func(c *try) {
			c.as(admin).lb("POST", "/flavors", object{"flavor": object{"name": own, "flavor_profile_id": profile}}).is(409)
			c.as(admin).lb("POST", "/availabilityzones", object{"availability_zone": object{"name": own, "availability_zone_profile_id": zones}}).is(409)
		}},
		{"profile data that is no JSON or that the provider does not know is refused", func(c *try) {
			c.as(admin).lb("POST", "/flavorprofiles", object{"flavorprofile": object{"name": own, "provider_name": "amphora", "flavor_data": "small"}}).is(400)
			c.as(admin).lb("POST", "/flavorprofiles", object{"flavorprofile": object{"name": own, "provider_name": "amphora", "flavor_data": `{"colour": "red"}`}}).is(501)
			c.as(admin).lb("POST", "/flavorprofiles", object{"flavorprofile": object{"name": own, "provider_name": "no-such-provider", "flavor_data": "{}"}}).is(400)
		}},
	})
}
