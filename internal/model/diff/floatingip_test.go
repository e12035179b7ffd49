// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Each case is a sentence, and a golden file as for other live changes.
func TestLiveChangesOfFloatingIPs(t *testing.T) {
	const given = "198.51.100.9"
	described := func(text string) func(*cloud) {
		return func(c *cloud) {
			for id, f := range c.floating {
				f.Description = text
				c.floating[id] = f
			}
		}
	}
	add := func(f lb.FloatingIP) func(*cloud) { return func(c *cloud) { c.addFloating(f) } }
	person := lb.FloatingIP{Address: given, Description: "the shop's own"}
	elsewhere := person
	elsewhere.PortID = "port-of-a-server"
	stray := lb.FloatingIP{Address: given, Description: web.FloatingIPDescription()}
	kept := lb.FloatingIP{Address: given, Description: web.KeptFloatingIPDescription()}
	another := lb.FloatingIP{Address: given, Description: api.FloatingIPDescription()}
	keptByAnother := lb.FloatingIP{Address: given, Description: api.KeptFloatingIPDescription()}
	inOther := person
	inOther.NetworkID = "net-other"
	forwarding := person
	forwarding.ForwardingRouterID = "router-1"
	moved := func(c *cloud) {
		for id, f := range c.floating {
			f.PortID = "port-of-a-server"
			c.floating[id] = f
		}
	}
	for name, c := range map[string]live{
		"external_to_internal_deletes_ours":                                   {after: []edit{internal}},
		"external_to_internal_detaches_a_persons":                             {after: []edit{internal}, drift: described("the shop's own")},
		"external_to_internal_deletes_that_of_the_cloud_controller":           {after: []edit{internal}, drift: described(cloudControllerFloating)},
		"external_to_internal_detaches_another_clusters":                      {after: []edit{internal}, drift: described(strings.Replace(web.FloatingIPDescription(), "c-uid", "other", 1))},
		"external_to_internal_keeps_what_is_to_be_kept":                       {after: []edit{internal, keepFloatingIP}},
		"internal_to_external_makes_one":                                      {before: []edit{internal}},
		"internal_to_external_takes_up_a_stray_one_of_ours":                   {before: []edit{internal}, drift: add(stray)},
		"internal_to_external_leaves_a_persons_alone":                         {before: []edit{internal}, drift: add(person)},
		"tags_of_a_kept_one_go_with_the_service":                              {before: []edit{tagged("a")}, after: []edit{internal, keepFloatingIP}, drift: tagAll("by-hand")},
		"tags_of_a_persons_come_and_go":                                       {before: []edit{tagged("a")}, after: []edit{tagged("b")}, drift: described("the shop's own")},
		"keeping_is_no_change_by_itself":                                      {after: []edit{keepFloatingIP}},
		"a_stray_one_beside_ours_is_deleted":                                  {drift: add(stray)},
		"a_stray_one_is_kept_when_they_are_to_be_kept":                        {after: []edit{keepFloatingIP}, drift: add(stray)},
		"a_kept_one_beside_ours_stays":                                        {drift: add(kept)},
		"a_kept_one_stays_when_the_service_goes":                              {after: []edit{nothing}, drift: add(kept)},
		"internal_to_external_takes_up_a_kept_one_of_ours":                    {before: []edit{internal}, drift: add(kept)},
		"a_kept_one_that_is_given_stays_a_persons":                            {after: []edit{address(given)}, drift: add(kept)},
		"ours_that_was_moved_is_not_taken_back_nor_replaced":                  {drift: moved},
		"ours_that_was_moved_and_described_otherwise_is_replaced":             {drift: func(c *cloud) { moved(c); described("the shop's own")(c) }},
		"a_stray_one_of_ours_comes_before_one_that_was_moved":                 {drift: func(c *cloud) { moved(c); c.addFloating(stray) }},
		"a_persons_attached_by_hand_stays_when_any_will_do":                   {drift: described("the shop's own")},
		"the_given_address_is_attached_and_ours_deleted":                      {after: []edit{address(given)}, drift: add(person)},
		"the_given_address_is_attached_and_a_persons_detached":                {after: []edit{address(given)}, drift: func(c *cloud) { described("the shop's own")(c); c.addFloating(person) }},
		"the_given_address_of_another_network_is_attached_beside_ours":        {after: []edit{address(given)}, drift: add(inOther)},
		"the_given_address_with_port_forwardings_is_refused":                  {after: []edit{address(given)}, drift: add(forwarding)},
		"ours_that_another_service_requests_is_kept":                          {after: []edit{nothing, requestedElsewhere("203.0.113.11")}},
		"ours_is_kept_for_another_service_after_the_given_one_came":           {after: []edit{address(given), requestedElsewhere("fip-10")}, drift: add(person)},
		"the_given_address_that_no_floating_ip_has_is_refused_and_ours_stays": {after: []edit{address(given)}},
		"the_given_address_is_made_when_there_was_none_before":                {before: []edit{internal}, after: []edit{address(given)}},
		"the_given_address_in_use_is_refused_and_ours_stays":                  {after: []edit{address(given)}, drift: add(elsewhere)},
		"the_given_address_in_use_is_refused_with_none_before":                {before: []edit{internal}, after: []edit{address(given)}, drift: add(elsewhere)},
		"the_given_address_of_another_service_is_refused":                     {before: []edit{internal}, after: []edit{address(given)}, drift: add(another)},
		"the_given_address_that_another_service_kept_is_attached":             {before: []edit{internal}, after: []edit{address(given)}, drift: add(keptByAnother)},
		"the_given_address_freed_is_attached":                                 {before: []edit{internal}, after: []edit{address(given)}, drift: add(person)},
		"the_given_address_changed":                                           {before: []edit{address("198.51.100.1")}, after: []edit{address(given)}, drift: add(person)},
		"the_given_address_is_there_already":                                  {before: []edit{address(given)}, after: []edit{address(given)}},
		"the_given_address_no_longer_given_stays":                             {before: []edit{address(given)}},
		"a_lost_floating_ip_is_made_again":                                    {drift: (*cloud).removeFloating},
		"a_deleted_service_deletes_ours":                                      {after: []edit{nothing}, drift: func(*cloud) {}},
		"a_deleted_service_only_detaches_a_persons":                           {after: []edit{nothing}, drift: described("the shop's own")},
		"a_deleted_service_keeps_what_is_to_be_kept":                          {after: []edit{nothing, keepFloatingIP}},
		"a_deleted_service_leaves_one_that_serves_elsewhere":                  {after: []edit{nothing}, drift: add(lb.FloatingIP{Address: given, PortID: "port-of-a-server", Description: web.FloatingIPDescription()})},
		"a_new_service_takes_up_a_stray_one_of_ours":                          {before: []edit{nothing}, drift: add(stray)},
		"a_new_service_takes_the_given_address":                               {before: []edit{nothing}, after: []edit{address(given)}, drift: add(person)},
		"a_vanished_load_balancer_is_made_again_with_its_address": {drift: func(c *cloud) {
			for id, f := range c.floating {
				f.PortID = ""
				c.floating[id] = f
			}
			c.balancer = nil
			clear(c.listeners)
			clear(c.pools)
		}},
	} {
		t.Run(name, func(t *testing.T) { c.converge(t, name) })
	}
}

func TestAnAddressInUseIsRefusedUntilItIsFreed(t *testing.T) {
	const given = "198.51.100.9"
	c := cloudWith(usual())
	c.addFloating(lb.FloatingIP{Address: given, PortID: "port-of-a-server"})
	j := &convergence{reporter: t, cloud: c, wanted: usual(address(given))}
	plan := j.converge()
	if len(plan.Ops) > 0 || len(plan.Refused) != 1 || plan.Refused[0].Reason != ReasonFloatingIPInUse {
		t.Fatalf("plan %v, refused %v; want no op and one refusal", plan.Ops, plan.Refused)
	}
	for _, text := range []string{given, "port-of-a-server"} {
		if !strings.Contains(plan.Refused[0].Message, text) {
			t.Errorf("message %q does not name %s", plan.Refused[0].Message, text)
		}
	}
	for id, f := range c.floating {
		if f.Address == given {
			f.PortID = ""
			c.floating[id] = f
		}
	}
	if plan := j.converge(); len(plan.Refused) > 0 {
		t.Errorf("still refused: %v", plan.Refused)
	}
	if got := c.observe().Address(); got != given {
		t.Errorf("clients reach it at %s, want %s", got, given)
	}
}

func TestAPortTakenByAForeignListenerIsRefusedAndTheOthersAreServed(t *testing.T) {
	c := cloudWith(usual(ports(port(lb.TCP, 80, 30080))))
	l := port(lb.TCP, 443, 31000)
	l.Tags = []string{"by-hand"}
	id := c.addListener(l, c.addPool(*l.Pool))
	c.changePool(443, func(p *lb.Pool) { p.Tags = []string{"by-hand"} })
	plan := (&convergence{reporter: t, cloud: c, wanted: usual(nodes("13"))}).converge()
	if len(plan.Refused) != 1 || plan.Refused[0].Reason != ReasonPortInUse {
		t.Fatalf("refused %v, want one %s", plan.Refused, ReasonPortInUse)
	}
	for _, text := range []string{"TCP/443", id} {
		if !strings.Contains(plan.Refused[0].Message, text) {
			t.Errorf("message %q does not name %s", plan.Refused[0].Message, text)
		}
	}
	if diff := cmp.Diff([]string{"set the 1 members of pool " + web.PoolName(0) + ": 1 added, 2 removed, 0 changed"}, texts(plan.Ops)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// floatingIP is a floating IP of a user, with a last byte of its address, and not attached.
func floatingIP(id string, changes ...func(*lb.FloatingIP)) lb.FloatingIP {
	f := lb.FloatingIP{ID: id, Address: "198.51.100." + id, NetworkID: "net-public", Description: "the shop's own"}
	for _, c := range changes {
		c(&f)
	}
	return f
}

func ofWeb(f *lb.FloatingIP)          { f.Description = web.FloatingIPDescription() }
func keptByWeb(f *lb.FloatingIP)      { f.Description = web.KeptFloatingIPDescription() }
func ofAPI(f *lb.FloatingIP)          { f.Description = api.FloatingIPDescription() }
func forwarding(f *lb.FloatingIP)     { f.ForwardingRouterID = "router" }
func unknownNetwork(f *lb.FloatingIP) { f.NetworkID = "" }
func otherNetwork(f *lb.FloatingIP)   { f.NetworkID = "net-other" }
func customTag(f *lb.FloatingIP)      { f.Tags = lb.WithCustom([]string{"by-hand"}, []string{"a"}) }

func on(port string) func(*lb.FloatingIP) { return func(f *lb.FloatingIP) { f.PortID = port } }

// addressesFor plans the floating IPs of a load balancer that is complete.
func addressesFor(wanted lb.Wanted, all ...lb.FloatingIP) addresses {
	l := lb.LoadBalancer{ID: "lb", Name: web.LoadBalancerName(), Description: web.Description(), Tags: web.Tags(), VIP: lb.VIP{PortID: "vip"}}
	return planFloatingIPs(wanted, lb.Observed{LoadBalancer: &l, FloatingIPs: all}, web)
}

// A Service whose requested address cannot be attached goes on with the address that it had.
func TestTheFormerAddressIsAttachedAgainWhenTheRequestedOneIsRefused(t *testing.T) {
	requested := floatingIP("9", on("port-elsewhere"))
	again := []Op{AssociateFloatingIP{ID: "1", Address: "198.51.100.1", PortID: "vip"}}
	tests := []struct {
		name   string
		former lb.FloatingIP
		facts  lb.AddressFacts
		want   []Op
	}{
		{"it was published", floatingIP("1"), lb.AddressFacts{Published: "198.51.100.1"}, again},
		{"it was not published", floatingIP("1"), lb.AddressFacts{Published: "198.51.100.2"}, nil},
		{"it is attached elsewhere", floatingIP("1", on("port-of-a-server")), lb.AddressFacts{Published: "198.51.100.1"}, nil},
		{"it has port forwardings", floatingIP("1", forwarding), lb.AddressFacts{Published: "198.51.100.1"}, nil},
		{"it was created for another Service", floatingIP("1", ofAPI), lb.AddressFacts{Published: "198.51.100.1"}, nil},
		{"the cloud rejected it", floatingIP("1"), lb.AddressFacts{Published: "198.51.100.1", Rejected: []lb.Rejection{{FloatingIPID: "1", PortID: "vip"}}}, nil},
		{"the cloud rejected it at another port", floatingIP("1"), lb.AddressFacts{Published: "198.51.100.1", Rejected: []lb.Rejection{{FloatingIPID: "1", PortID: "gone"}}}, again},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wanted := usual(address("198.51.100.9"))
			wanted.Addresses = tt.facts
			plan := addressesFor(wanted, tt.former, requested)
			if d := cmp.Diff(written(t, tt.want), written(t, append(plan.release, plan.attach...))); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
			if len(plan.refused) != 1 || plan.refused[0].Reason != ReasonFloatingIPInUse {
				t.Errorf("refused: %+v", plan.refused)
			}
		})
	}
}

func TestWhichFloatingIPAServiceGets(t *testing.T) {
	attach := func(id, description string) Op {
		return AssociateFloatingIP{ID: id, Address: "198.51.100." + id, PortID: "vip", Description: description}
	}
	tests := []struct {
		name    string
		wanted  []edit
		facts   lb.AddressFacts
		all     []lb.FloatingIP
		want    []Op
		refused string
	}{
		{"the published one of two of ours", nil, lb.AddressFacts{Published: "198.51.100.2"},
			[]lb.FloatingIP{floatingIP("1", ofWeb), floatingIP("2", ofWeb), floatingIP("3", ofWeb)}, []Op{attach("2", "")}, ""},
		{"ours before one that was kept", nil, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", keptByWeb), floatingIP("2", ofWeb)}, []Op{attach("2", "")}, ""},
		{"one that was kept before one that is attached elsewhere", nil, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", ofWeb, on("port-of-a-server")), floatingIP("2", keptByWeb)}, []Op{attach("2", web.FloatingIPDescription())}, ""},
		{"none that was kept and is attached elsewhere", nil, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", keptByWeb, on("port-of-a-server"))},
			[]Op{CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: "net-public", Description: web.FloatingIPDescription(), PortID: "vip"}}}, ""},
		{"the requested one of a Service that exists", []edit{address("198.51.100.9")}, lb.AddressFacts{Abandoned: []string{"8"}},
			[]lb.FloatingIP{floatingIP("9", ofAPI)}, nil, ReasonFloatingIPInUse},
		{"the requested one of a Service that does not exist any more", []edit{address("198.51.100.9")}, lb.AddressFacts{Abandoned: []string{"9"}},
			[]lb.FloatingIP{floatingIP("9", ofAPI)}, []Op{attach("9", web.KeptFloatingIPDescription())}, ""},
		{"the requested one, which the cloud rejected", []edit{address("198.51.100.9")}, lb.AddressFacts{Rejected: []lb.Rejection{{FloatingIPID: "9", PortID: "vip", Message: "no router"}}},
			[]lb.FloatingIP{floatingIP("9")}, nil, ReasonFloatingIPNotAttachable},
		{"the requested one, in place of one of the same network", []edit{address("198.51.100.9")}, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", ofWeb, on("vip")), floatingIP("9")}, []Op{
				DisassociateFloatingIP{ID: "1", Address: "198.51.100.1", For: "198.51.100.9"},
				AssociateFloatingIP{ID: "9", Address: "198.51.100.9", PortID: "vip", Former: &AssociateFloatingIP{ID: "1", Address: "198.51.100.1", PortID: "vip"}},
			}, ""},
		{"the requested one, in place of one whose network is not known", []edit{address("198.51.100.9")}, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", ofWeb, on("vip"), unknownNetwork), floatingIP("9")}, []Op{
				DisassociateFloatingIP{ID: "1", Address: "198.51.100.1", For: "198.51.100.9"},
				AssociateFloatingIP{ID: "9", Address: "198.51.100.9", PortID: "vip", Former: &AssociateFloatingIP{ID: "1", Address: "198.51.100.1", PortID: "vip"}},
			}, ""},
		{"the requested one, beside one of another network", []edit{address("198.51.100.9")}, lb.AddressFacts{},
			[]lb.FloatingIP{floatingIP("1", ofWeb, on("vip"), otherNetwork), floatingIP("9")}, []Op{attach("9", "")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wanted := usual(tt.wanted...)
			wanted.Addresses = tt.facts
			plan := addressesFor(wanted, tt.all...)
			if d := cmp.Diff(written(t, tt.want), written(t, append(plan.release, plan.attach...))); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
			var reason string
			for _, r := range plan.refused {
				reason = r.Reason
				if r.Message == "" {
					t.Error("the refusal has no message")
				}
			}
			if reason != tt.refused {
				t.Errorf("refused for %q, want %q", reason, tt.refused)
			}
		})
	}
}

func TestWhatIsReleasedOnceTheRequestedAddressIsAttached(t *testing.T) {
	requested := floatingIP("9", on("vip"))
	tests := []struct {
		name  string
		other lb.FloatingIP
		want  []Op
	}{
		{"ours, attached too", floatingIP("1", ofWeb, on("vip"), otherNetwork), []Op{DeleteFloatingIP{ID: "1", Address: "198.51.100.1"}}},
		{"ours, detached", floatingIP("1", ofWeb), []Op{DeleteFloatingIP{ID: "1", Address: "198.51.100.1"}}},
		{"a user's, attached too", floatingIP("1", on("vip"), otherNetwork), []Op{DisassociateFloatingIP{ID: "1", Address: "198.51.100.1"}}},
		{"the tags of a user's, detached", floatingIP("1", customTag), []Op{SetFloatingIPTags{ID: "1", Address: "198.51.100.1", Tags: []string{"by-hand"}}}},
		{"nothing of another Service's", floatingIP("1", ofAPI, customTag), nil},
		{"nothing of a user's at another port", floatingIP("1", customTag, on("port-of-a-server")), nil},
	}
	for _, tt := range tests {
		for order, all := range map[string][]lb.FloatingIP{"before": {tt.other, requested}, "after": {requested, tt.other}} {
			t.Run(tt.name+", listed "+order, func(t *testing.T) {
				plan := addressesFor(usual(address("198.51.100.9")), all...)
				if d := cmp.Diff(written(t, tt.want), written(t, append(plan.release, plan.attach...))); d != "" {
					t.Errorf("ops (-want +got):\n%s", d)
				}
			})
		}
	}
}

// The load balancer of a Service that was deleted, and created again with the same name, has a floating IP with the
// mark of the deleted one.
func TestAFloatingIPIsDeletedOnlyWithTheLoadBalancerFromWhichItIsInherited(t *testing.T) {
	before := web
	before.ServiceUID = "uid-of-the-deleted-one"
	inherited := floatingIP("1", on("vip"), func(f *lb.FloatingIP) { f.Description = before.FloatingIPDescription() })
	tests := []struct {
		name   string
		wanted lb.Wanted
		want   []Op
	}{
		{"the load balancer goes", usual(nothing), []Op{DeleteFloatingIP{ID: "1", Address: "198.51.100.1"}}},
		{"the load balancer stays", usual(internal), []Op{DisassociateFloatingIP{ID: "1", Address: "198.51.100.1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := []lb.FloatingIP{inherited}
			plan := addressesFor(tt.wanted, all...)
			if d := cmp.Diff(written(t, tt.want), written(t, append(plan.release, plan.attach...))); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
			if all[0].Description != inherited.Description {
				t.Errorf("the observed floating IP was changed: %+v", all[0])
			}
		})
	}
}

// A published floating IP is left to the project before another address is published, others only when the sharer is
// served.
func TestAPublishedFloatingIPOfASharerIsLeftBeforeTheSharerIsServed(t *testing.T) {
	wanted := usual(sharer)
	wanted.Addresses.Published = "198.51.100.1"
	o := sharedCloud().observe()
	o.FloatingIPs = []lb.FloatingIP{floatingIP("1", ofWeb), floatingIP("2", ofWeb)}
	owner := web
	owner.Sharer = true
	left := DisassociateFloatingIP{ID: "1", Address: "198.51.100.1", Description: web.KeptFloatingIPDescription()}
	for ready, want := range map[bool][]Op{false: {left}, true: {left, DeleteFloatingIP{ID: "2", Address: "198.51.100.2"}}} {
		if d := cmp.Diff(written(t, want), written(t, planAddresses(wanted, o, owner, ready).release)); d != "" {
			t.Errorf("ready %t (-want +got):\n%s", ready, d)
		}
	}
}

func TestAFloatingIPWaitsForThePortOnlyWhileAnotherOneOfItsNetworkIsThere(t *testing.T) {
	op := AssociateFloatingIP{ID: "1", Address: "198.51.100.1", PortID: "vip"}
	detached := AssociateFloatingIP{ID: "1", Address: "198.51.100.1"}
	tests := []struct {
		name string
		op   AssociateFloatingIP
		all  []lb.FloatingIP
		want bool
	}{
		{"no other", op, []lb.FloatingIP{floatingIP("1")}, false},
		{"it is there itself", op, []lb.FloatingIP{floatingIP("1", on("vip"))}, false},
		{"one of the same network", op, []lb.FloatingIP{floatingIP("1"), floatingIP("2", on("vip"))}, true},
		{"one of another network", op, []lb.FloatingIP{floatingIP("1"), floatingIP("2", on("vip"), otherNetwork)}, false},
		{"one whose network is not known", op, []lb.FloatingIP{floatingIP("1"), floatingIP("2", on("vip"), unknownNetwork)}, true},
		{"its own network is not known", op, []lb.FloatingIP{floatingIP("1", unknownNetwork), floatingIP("2", on("vip"))}, true},
		{"one at another port", op, []lb.FloatingIP{floatingIP("1"), floatingIP("2", on("port-of-a-server"))}, false},
		{"a detached one, while the port is not known", detached, []lb.FloatingIP{floatingIP("1"), floatingIP("2")}, false},
		{"it is not known", op, []lb.FloatingIP{floatingIP("2", on("vip"))}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := PortIsTaken(tt.op, lb.Observed{FloatingIPs: tt.all}); got != tt.want {
				t.Errorf("the port is taken: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestAnAddressIsReleasedUnlessAnotherOneTakesItsPlace(t *testing.T) {
	for _, tt := range []struct {
		op   Op
		want string
	}{
		{DeleteFloatingIP{Address: "198.51.100.1"}, "198.51.100.1"},
		{DisassociateFloatingIP{Address: "198.51.100.1"}, "198.51.100.1"},
		{DisassociateFloatingIP{Address: "198.51.100.1", For: "198.51.100.9"}, ""},
		{AssociateFloatingIP{Address: "198.51.100.1"}, ""},
	} {
		if got := Releases(tt.op); got != tt.want {
			t.Errorf("%s releases %q, want %q", tt.op, got, tt.want)
		}
	}
}
