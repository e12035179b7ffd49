// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// live is a change of a Service, or of its load balancer by another client.
type live struct {
	before, after []edit
	// drift is a change of the cloud by another client.
	drift func(*cloud)
}

func (l live) converge(t *testing.T, name string) Plan {
	t.Helper()
	c := cloudWith(usual(l.before...))
	if l.drift != nil {
		l.drift(c)
	}
	j := &convergence{reporter: t, cloud: c, wanted: usual(l.after...)}
	plan := j.converge()
	golden(t, name, plan, j.passes)
	return plan
}

// Each case is a sentence, and a golden file with the plan and all passes. The passes check that traffic is not
// interrupted.
func TestLiveChangesOfPortsAndPools(t *testing.T) {
	two := func() []lb.Listener { return []lb.Listener{port(lb.TCP, 80, 30080), port(lb.TCP, 443, 30443)} }
	udp := func() lb.Listener { return port(lb.UDP, 443, 30443) }
	for name, c := range map[string]live{
		"nothing_changed_is_nothing_to_do":              {},
		"a_first_create_is_one_call_and_a_floating_ip":  {before: []edit{nothing}},
		"an_added_port_opens_when_its_pool_is_complete": {after: []edit{ports(append(two(), port(lb.UDP, 53, 30053))...), monitored(lb.MonitorTCP)}, before: []edit{monitored(lb.MonitorTCP)}},
		"a_port_added_in_front_leaves_the_others_alone": {after: []edit{ports(append([]lb.Listener{port(lb.TCP, 8080, 30081)}, two()...)...)}},
		"a_removed_port_closes_before_its_pool_goes":    {after: []edit{ports(port(lb.TCP, 443, 30443))}},
		"all_ports_exchanged_open_before_they_close":    {after: []edit{ports(port(lb.TCP, 81, 30081), port(lb.TCP, 444, 30444))}},
		"renamed_ports_are_nothing_to_do":               {after: []edit{func(w *lb.Wanted) { w.LoadBalancer.Listeners[0].Name = "renamed" }}},
		"reordered_ports_are_nothing_to_do":             {after: []edit{ports(port(lb.TCP, 443, 30443), port(lb.TCP, 80, 30080))}},
		"another_node_port_is_one_write_of_members":     {after: []edit{ports(port(lb.TCP, 80, 31080), port(lb.TCP, 443, 30443))}},
		"tcp_to_udp_closes_and_opens_side_by_side":      {after: []edit{ports(port(lb.TCP, 80, 30080), udp())}},
		"udp_beside_tcp_on_one_port":                    {after: []edit{ports(append(two(), udp())...)}},
		"affinity_on_is_an_update_of_the_pools":         {after: []edit{each(affinity)}},
		"affinity_off_is_an_update_of_the_pools":        {before: []edit{each(affinity)}},
		"source_ranges_come_first":                      {after: []edit{sourceRanges("10.0.0.0/8", "192.0.2.0/24"), nodes("11", "12", "13"), each(affinity)}},
		"source_ranges_removed":                         {before: []edit{sourceRanges("10.0.0.0/8")}},
		"source_ranges_spelt_otherwise_are_nothing_to_do": {before: []edit{sourceRanges("192.0.2.77/24", "10.0.0.0/8", "10.0.0.0/8")}, after: []edit{sourceRanges("10.0.0.0/8", "192.0.2.0/24")}, drift: func(c *cloud) {
			c.changeListener(80, func(l *listenerRow) { l.AllowedCIDRs = []string{"192.0.2.0/24", "10.0.0.0/8"} })
		}},
		"all_addresses_spelt_otherwise_is_nothing_to_do":      {before: []edit{sourceRanges("0.0.0.0/0")}, after: []edit{sourceRanges()}},
		"all_ipv6_addresses_spelt_otherwise_is_nothing_to_do": {before: []edit{sourceRanges()}, after: []edit{sourceRanges("::/0")}},
		"a_node_joins":                     {after: []edit{nodes("11", "12", "13")}},
		"a_node_leaves":                    {after: []edit{nodes("12")}},
		"nodes_exchanged":                  {after: []edit{nodes("13", "14")}},
		"all_nodes_gone_empties_the_pools": {after: []edit{nodes()}},
		"monitors_on":                      {after: []edit{monitored(lb.MonitorTCP)}},
		"monitors_off":                     {before: []edit{monitored(lb.MonitorTCP)}},
		"monitor_settings":                 {before: []edit{monitored(lb.MonitorTCP)}, after: []edit{monitored(lb.MonitorTCP), each(func(l *lb.Listener) { l.Pool.Monitor.DelaySeconds = 10 })}},
		"cluster_to_local_moves_monitors_with_the_members": {before: []edit{monitored(lb.MonitorTCP)}, after: []edit{monitored(lb.MonitorHTTP)}},
		"local_to_cluster_moves_monitors_with_the_members": {before: []edit{monitored(lb.MonitorHTTP)}, after: []edit{monitored(lb.MonitorTCP)}},
		"local_without_monitor_to_cluster":                 {before: []edit{nodes("12")}},
		"everything_at_once":                               {before: []edit{monitored(lb.MonitorHTTP)}, after: []edit{ports(udp(), port(lb.TCP, 80, 31080)), monitored(lb.MonitorTCP), nodes("12", "13"), each(affinity), sourceRanges("10.0.0.0/8")}},
		"a_deleted_service_leaves_nothing":                 {after: []edit{nothing}},
		"proxy_on_exchanges_the_pools_of_ports_that_stay":  {after: []edit{each(proxy)}},
		"proxy_off_exchanges_the_pools_of_ports_that_stay": {before: []edit{each(proxyV2), monitored(lb.MonitorTCP)}, after: []edit{monitored(lb.MonitorTCP)}},
		"tcp_to_http_closes_the_old_port_last_of_all":      {before: []edit{monitored(lb.MonitorTCP)}, after: []edit{monitored(lb.MonitorTCP), speak(80, http)}},
		"http_to_tls_closes_the_old_port_last_of_all":      {before: []edit{each(http)}, after: []edit{each(http), speak(443, terminated("cert-a"))}},
		"tls_to_tcp_closes_the_old_port_last_of_all":       {before: []edit{speak(443, terminated("cert-a"))}},
		"another_certificate_is_an_update_of_the_listener": {before: []edit{speak(443, terminated("cert-a", "b", "c"))}, after: []edit{speak(443, terminated("cert-b", "c", "d"))}},
		"certificates_in_another_order_are_nothing_to_do":  {before: []edit{speak(443, terminated("", "b", "c"))}, after: []edit{speak(443, terminated("", "c", "b"))}},
		"headers_under_tls_are_an_update_of_the_listener": {before: []edit{speak(443, terminated("cert-a"))}, after: []edit{speak(443, terminated("cert-a")), speak(443, func(l *lb.Listener) {
			l.InsertHeaders = []string{lb.HeaderForwardedFor}
		})}},
		"headers_off_under_tls_are_an_update_of_the_listener": {before: []edit{speak(443, terminated("cert-a")), speak(443, func(l *lb.Listener) {
			l.InsertHeaders = []string{lb.HeaderForwardedFor}
		})}, after: []edit{speak(443, terminated("cert-a"))}},
		"hsts_is_an_update_of_the_listener":            {before: []edit{speak(443, terminated("cert-a"))}, after: []edit{speak(443, terminated("cert-a")), speak(443, strict(31536000))}},
		"another_age_of_hsts":                          {before: []edit{speak(443, terminated("cert-a")), speak(443, strict(60))}, after: []edit{speak(443, terminated("cert-a")), speak(443, strict(0))}},
		"hsts_off":                                     {before: []edit{speak(443, terminated("cert-a")), speak(443, strict(60))}, after: []edit{speak(443, terminated("cert-a"))}},
		"metrics_are_opened_after_all_else":            {after: []edit{ports(append(two(), port(lb.UDP, 53, 30053))...), nodes("11", "12", "13"), metrics(9100, "10.0.0.0/8")}},
		"metrics_are_restricted_first":                 {before: []edit{metrics(9100, "0.0.0.0/0")}, after: []edit{nodes("11"), metrics(9100, "10.0.0.0/8")}},
		"metrics_at_another_port":                      {before: []edit{metrics(9100, "10.0.0.0/8")}, after: []edit{metrics(9101, "10.0.0.0/8")}},
		"metrics_that_are_as_wanted_are_nothing_to_do": {before: []edit{metrics(9100, "10.0.0.0/8")}, after: []edit{metrics(9100, "10.0.0.0/8")}},
		"metrics_in_the_place_of_a_port":               {after: []edit{ports(port(lb.TCP, 80, 30080)), metrics(443, "10.0.0.0/8")}},
		"metrics_come_with_a_first_create":             {before: []edit{nothing}, after: []edit{metrics(9100, "10.0.0.0/8")}},
		"custom_tags_are_changed_and_those_of_others_stay": {before: []edit{tagged("a", "b")}, after: []edit{tagged("b", "c")}, drift: func(c *cloud) {
			c.balancer.Tags = append(c.balancer.Tags, "by-hand")
			c.changeListener(80, func(l *listenerRow) { l.Tags = append(l.Tags, "by-hand") })
			c.changePool(443, func(p *lb.Pool) { p.Tags = append(p.Tags, "by-hand") })
		}},
		"custom_tags_that_are_not_wanted_any_more_go": {before: []edit{tagged("a", "b")}},
		"custom_tags_that_were_there_before_stay":     {before: []edit{tagged()}, after: []edit{tagged("a")}, drift: tagAll("a")},
		"custom_tags_come_with_ours_to_what_has_none": {after: []edit{tagged("a")}, drift: func(c *cloud) {
			for _, number := range []int{80, 443} {
				c.changeListener(number, func(l *listenerRow) { l.Tags = nil })
				c.changePool(number, func(p *lb.Pool) { p.Tags = nil })
			}
		}},
		"a_port_closed_to_change_its_protocol_opens_before_all_but_restrictions": {before: []edit{ports(port(lb.TCP, 443, 30443))}, after: []edit{speak(80, http), nodes("11", "12", "13"), sourceRanges("10.0.0.0/8")}, drift: func(c *cloud) {
			p := *port(lb.TCP, 80, 30080).Pool
			p.Name, p.Protocol, p.Members = web.PoolName(0), lb.PoolHTTP, append(p.Members, member("13", 30080))
			c.addPool(p)
		}},
	} {
		t.Run(name, func(t *testing.T) { c.converge(t, name) })
	}
}

// tagged requests custom tags for everything.
func tagged(custom ...string) edit {
	return func(w *lb.Wanted) {
		w.LoadBalancer.Tags, w.FloatingIP.Tags = lb.WithCustom(web.Tags(), custom), lb.WithCustom(nil, custom)
		each(func(l *lb.Listener) {
			l.Tags, l.Pool.Tags = lb.WithCustom(web.Tags(), custom), lb.WithCustom(web.Tags(), custom)
		})(w)
	}
}

// tagAll adds tags to everything by hand.
func tagAll(tag string) func(*cloud) {
	return func(c *cloud) {
		c.balancer.Tags = append(c.balancer.Tags, tag)
		for id, f := range c.floating {
			f.Tags = append(f.Tags, tag)
			c.floating[id] = f
		}
		for _, number := range []int{80, 443} {
			c.changeListener(number, func(l *listenerRow) { l.Tags = append(l.Tags, tag) })
			c.changePool(number, func(p *lb.Pool) { p.Tags = append(p.Tags, tag) })
		}
	}
}

func TestChangesOfOthersToTheLoadBalancer(t *testing.T) {
	tags := func(all ...string) func(*cloud) { return func(c *cloud) { c.balancer.Tags = all } }
	foreign := func(number int) lb.Listener {
		l := port(lb.TCP, number, 31000)
		l.Tags, l.Name, l.Pool.Tags, l.Pool.Name = []string{"by-hand"}, "canary", []string{"by-hand"}, "canary"
		return l
	}
	addForeign := func(number int) func(*cloud) {
		return func(c *cloud) {
			l := foreign(number)
			c.addListener(l, c.addPool(*l.Pool))
		}
	}
	detached := func(change func(*lb.Pool)) func(*cloud) {
		return func(c *cloud) {
			p := *port(lb.UDP, 53, 30053).Pool
			p.Name = web.PoolName(2)
			p.Members = p.Members[:1]
			change(&p)
			c.addPool(p)
		}
	}
	third := []edit{func(w *lb.Wanted) {
		ports(port(lb.TCP, 80, 30080), port(lb.TCP, 443, 30443), port(lb.UDP, 53, 30053))(w)
	}, monitored(lb.MonitorUDPConnect)}
	second := []edit{monitored(lb.MonitorUDPConnect)}
	for name, c := range map[string]live{
		"adoption_adds_tags_and_keeps_those_of_others": {drift: func(c *cloud) {
			tags("billing=shop", web.LoadBalancerName())(c)
			for _, number := range []int{80, 443} {
				c.changeListener(number, func(l *listenerRow) { l.Tags = []string{web.LoadBalancerName()} })
				c.changePool(number, func(p *lb.Pool) { p.Tags = nil })
			}
		}},
		"a_load_balancer_switched_off_is_switched_on": {drift: func(c *cloud) { c.balancer.AdminDown = true }},
		"a_listener_switched_off_is_switched_on":      {drift: func(c *cloud) { c.changeListener(80, func(l *listenerRow) { l.AdminDown = true }) }},
		"a_connection_limit_set_by_hand_is_lifted":    {drift: func(c *cloud) { c.changeListener(80, func(l *listenerRow) { l.ConnectionLimit = 5 }) }},
		"timeouts_set_by_hand_are_put_right": {drift: func(c *cloud) {
			c.changeListener(80, func(l *listenerRow) { l.Timeouts = &lb.Timeouts{MemberData: 1} })
		}},
		"a_pool_switched_off_is_switched_on":          {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.AdminDown = true }) }},
		"a_member_added_by_hand_goes":                 {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.Members = append(p.Members, member("99", 1)) }) }},
		"a_member_drained_by_hand_is_filled":          {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.Members[1].Weight = 0 }) }},
		"a_member_named_otherwise_is_nothing_to_do":   {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.Members[1].Name = "by hand" }) }},
		"a_member_in_another_subnet_is_nothing_to_do": {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.Members[1].SubnetID = "" }) }},
		"a_monitor_added_by_hand_goes": {drift: func(c *cloud) {
			c.changePool(80, func(p *lb.Pool) { p.Monitor = &lb.HealthMonitor{ID: "by-hand", Type: lb.MonitorTCP} })
		}},
		"a_lost_listener_comes_back_onto_its_pool": {drift: func(c *cloud) { delete(c.listeners, c.listenerID(80)) }},
		"a_listener_without_a_pool_gets_one":       {drift: func(c *cloud) { c.changeListener(80, func(l *listenerRow) { l.pool = "" }) }},
		"a_listener_whose_pool_was_deleted_gets_a_complete_one": {drift: func(c *cloud) {
			delete(c.pools, c.poolID(80))
			c.changeListener(80, func(l *listenerRow) { l.pool = "" })
		}},
		"a_pool_of_another_protocol_is_replaced": {drift: func(c *cloud) { c.changePool(80, func(p *lb.Pool) { p.Protocol = "PROXY" }) }},
		"an_http_listener_is_replaced": {drift: func(c *cloud) {
			c.changeListener(80, func(l *listenerRow) { l.Protocol = lb.ListenerHTTP })
			c.changePool(80, func(p *lb.Pool) { p.Protocol = "HTTP" })
		}},
		"an_https_listener_is_replaced_with_no_more_than_a_moment_between": {drift: func(c *cloud) {
			c.changeListener(80, func(l *listenerRow) { l.Protocol = lb.ListenerHTTPS })
			c.changePool(80, func(p *lb.Pool) { p.Members = nil })
		}},
		"an_internal_address_asked_for_later_is_refused":     {before: []edit{internal}, after: []edit{internal, func(w *lb.Wanted) { w.LoadBalancer.VIP.Address = "10.0.0.200" }, nodes("11")}},
		"an_internal_address_that_is_there_is_nothing_to_do": {before: []edit{internal, func(w *lb.Wanted) { w.LoadBalancer.VIP.Address = "2001:db8:0::1" }}, after: []edit{internal, func(w *lb.Wanted) { w.LoadBalancer.VIP.Address = "2001:db8::1" }}},
		"a_foreign_listener_is_left_alone":                   {drift: addForeign(8080), after: []edit{nodes("11")}},
		"a_foreign_listener_on_a_wanted_port_is_refused":     {drift: addForeign(53), after: []edit{ports(port(lb.TCP, 80, 30080), port(lb.TCP, 53, 30053))}},
		"a_foreign_listener_on_our_pool_keeps_it": {after: []edit{ports(port(lb.TCP, 443, 30443))}, drift: func(c *cloud) {
			c.addListener(foreign(8080), c.poolID(80))
		}},
		"two_of_our_listeners_on_one_pool_get_their_own": {drift: func(c *cloud) {
			pool := c.poolID(80)
			delete(c.pools, c.poolID(443))
			c.changeListener(443, func(l *listenerRow) { l.pool = pool })
		}},
		"two_of_our_listeners_on_one_pool_are_both_closed": {after: []edit{ports(port(lb.UDP, 53, 30053))}, drift: func(c *cloud) {
			pool := c.poolID(80)
			delete(c.pools, c.poolID(443))
			c.changeListener(443, func(l *listenerRow) { l.pool = pool })
		}},
		"a_half_made_pool_is_completed_and_opened":         {before: second, after: third, drift: detached(func(*lb.Pool) {})},
		"a_half_made_pool_without_members_is_completed":    {before: second, after: third, drift: detached(func(p *lb.Pool) { p.Members = nil })},
		"a_left_over_pool_is_deleted":                      {drift: detached(func(*lb.Pool) {})},
		"a_left_over_pool_of_another_protocol_is_not_used": {before: second, after: third, drift: detached(func(p *lb.Pool) { p.Protocol = lb.PoolTCP })},
		"a_foreign_pool_is_left_alone":                     {before: second, after: third, drift: detached(func(p *lb.Pool) { p.Tags = []string{"by-hand"} })},
		"duplicates_are_deleted":                           {after: []edit{nodes("11")}, drift: func(c *cloud) { c.duplicates = []string{"lb-7", "lb-8"} }},
		"duplicates_are_deleted_with_the_service":          {after: []edit{nothing}, drift: func(c *cloud) { c.duplicates = []string{"lb-7"} }},
		"a_load_balancer_in_error_is_deleted_when_asked":   {after: []edit{nothing}, drift: func(c *cloud) { c.balancer.ProvisioningStatus = lb.Error }},
	} {
		t.Run(name, func(t *testing.T) { c.converge(t, name) })
	}
}

func TestNothingIsPlannedForAPendingOrFailedLoadBalancer(t *testing.T) {
	for _, status := range []lb.ProvisioningStatus{lb.PendingCreate, lb.PendingUpdate, lb.PendingDelete, lb.Error} {
		for name, wanted := range map[string]lb.Wanted{"changes": usual(nodes("13"), internal), "its end": usual(nothing)} {
			if status == lb.Error && name == "its end" {
				continue
			}
			c := cloudWith(usual())
			c.balancer.ProvisioningStatus = status
			want := []string{"delete floating IP " + c.observe().FloatingIPs[0].Address}
			if diff := cmp.Diff(want, texts(New(wanted, c.observe(), web).Ops)); diff != "" {
				t.Errorf("%s, %s: plan (-want +got):\n%s", status, name, diff)
			}
		}
	}
}

func TestTheFloatingIPDoesNotWaitForTheLoadBalancer(t *testing.T) {
	c := cloudWith(usual(internal))
	c.balancer.ProvisioningStatus = lb.PendingCreate
	if diff := cmp.Diff([]string{"create floating IP from network net-public"}, texts(New(usual(), c.observe(), web).Ops)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
