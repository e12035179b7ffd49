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
