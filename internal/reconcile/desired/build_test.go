// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// supports states the balancing methods of provider ovn.
func supports(methods ...lb.Algorithm) change {
	return func(in *Input) { in.Capabilities.Vendors = map[string]lb.Vendor{lb.ProviderOVN: {Methods: methods}} }
}

func TestAProviderBalancesByMethodsThatItSupports(t *testing.T) {
	ovn, both := provider(lb.ProviderOVN), supports("SOURCE_IP_PORT", "SOURCE_IP")
	operators := func(method string) change { return func(in *Input) { in.Config.Method = method } }
	for name, c := range map[string]struct {
		in   Input
		want lb.Algorithm
	}{
		"amphora, the operator's":                     {input(operators("SOURCE_IP")), "SOURCE_IP"},
		"ovn, of which nothing is stated":             {input(operators("SOURCE_IP"), ovn), "SOURCE_IP_PORT"},
		"ovn, the operator's":                         {input(operators("SOURCE_IP"), ovn, both), "SOURCE_IP"},
		"ovn, without the operator's":                 {input(operators("ROUND_ROBIN"), ovn, both), "SOURCE_IP_PORT"},
		"ovn, that of the annotation":                 {input(annotate(keyMethod, "SOURCE_IP"), ovn, both), "SOURCE_IP"},
		"amphora, of which another provider's differ": {input(operators("LEAST_CONNECTIONS"), both), "LEAST_CONNECTIONS"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := wanted.LoadBalancer.Listeners[0].Pool.Algorithm; got != c.want {
				t.Errorf("the pool balances by %s, want %s", got, c.want)
			}
		})
	}
}

// Each case is a sentence and a golden file that shows what it means.
func TestTheWantedLoadBalancerOfAService(t *testing.T) {
	udp, tcp := corev1.ProtocolUDP, corev1.ProtocolTCP
	monitor := annotate(keyMonitor, "true")
	limited, patient := annotate(annotation.ConnectionLimit, "1000"), annotate(annotation.TimeoutPrefix+"client-data", "600000")
	dns := ports(port(tcp, 53, 30053), port(udp, 53, 30054))
	for name, in := range map[string]Input{
		"one_tcp_port_is_a_listener_with_all_nodes_behind_it":     input(),
		"tcp_and_udp_on_one_port_are_two_listeners":               input(dns),
		"five_ports_are_five_listeners":                           input(ports(port(tcp, 80, 30080), port(tcp, 443, 30443), port(tcp, 8080, 30081), port(udp, 443, 30444), port(udp, 5000, 30500))),
		"monitors_look_at_the_node_ports":                         input(dns, monitor),
		"monitor_settings_come_from_annotations":                  input(monitor, annotate("loadbalancer.openstack.org/health-monitor-delay", "10"), annotate("loadbalancer.openstack.org/health-monitor-timeout", "7"), annotate("loadbalancer.openstack.org/health-monitor-max-retries", "2"), annotate("loadbalancer.openstack.org/health-monitor-max-retries-down", "4")),
		"listener_settings_come_from_annotations":                 input(dns, limited, patient, annotate(keyMethod, "LEAST_CONNECTIONS")),
		"ovn_takes_a_limit_and_no_timeouts":                       input(limited, patient, annotate(keyMethod, "SOURCE_IP_PORT"), provider(lb.ProviderOVN)),
		"no_timeouts_before_2_1":                                  input(patient, apiVersion(0)),
		"local_with_a_monitor_asks_each_node_for_its_health":      input(local, monitor, dns),
		"local_without_a_monitor_has_nodes_with_endpoints_only":   input(local, dns),
		"local_with_a_monitor_below_2_16_follows_udp_endpoints":   input(local, monitor, dns, apiVersion(15)),
		"ovn_balances_by_source_ip_port":                          input(dns, provider(lb.ProviderOVN)),
		"ovn_has_no_http_monitor_so_local_follows_endpoints":      input(local, monitor, dns, provider(lb.ProviderOVN)),
		"ovn_with_monitors_is_made_one_by_one":                    input(monitor, provider(lb.ProviderOVN)),
		"a_cloud_that_needs_it_gets_all_one_by_one":               input(func(in *Input) { in.Serial = true }),
		"client_affinity_has_a_timeout_for_datagrams_only":        input(dns, affinity(600)),
		"client_affinity_without_a_timeout":                       input(dns, affinity(0)),
		"source_ranges_of_the_spec":                               input(ranges("198.51.100.77/24", "10.0.0.0/8", "10.1.2.3/8")),
		"source_ranges_of_the_annotation":                         input(annotate(keySources, "10.0.0.0/8")),
		"source_ranges_of_the_spec_come_before_the_annotation":    input(ranges("10.0.0.0/8"), annotate(keySources, "192.0.2.0/24")),
		"source_ranges_of_the_other_family_are_left_out":          input(ranges("10.0.0.0/8", "2001:db8::/32")),
		"source_ranges_with_all_addresses_restrict_no_client":     input(ranges("10.0.0.0/8", "0.0.0.0/0")),
		"no_client_is_restricted_where_source_ranges_are_unknown": input(ranges("0.0.0.0/0"), apiVersion(11)),
		"internal_has_no_floating_ip":                             input(annotate(keyInside, "true")),
		"internal_with_an_address_asks_for_that_vip":              input(annotate(keyInside, "true"), address("10.0.0.200")),
		"external_with_an_address_asks_for_that_floating_ip":      input(address("203.0.113.5")),
		"ipv6_has_no_floating_ip_and_ipv6_members":                input(families(corev1.IPv6Protocol), address("2001:DB8:0::200"), ranges("2001:db8::/32")),
		"both_families_are_one_load_balancer_with_two_vips":       input(dns, families(corev1.IPv4Protocol, corev1.IPv6Protocol), address("203.0.113.5")),
		"both_families_with_ipv6_first_have_a_floating_ip":        input(families(corev1.IPv6Protocol, corev1.IPv4Protocol), address("2001:DB8:0::200")),
		"no_tags_before_2_5":                                      input(apiVersion(4)),
		"metrics_are_a_listener_without_a_pool":                   input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8,2001:db8::/32"), annotate(annotation.ConnectionLimit, "7")),
		"metrics_for_whom_the_operator_says":                      input(annotate(annotation.MetricsPort, "9100"), ranges("192.0.2.0/24"), func(in *Input) { in.Config.MetricsAllowedCIDRs = "10.0.0.0/8" }),
		"tags_of_the_operator_and_of_the_service": input(monitor, func(in *Input) { in.Config.Tags = "cost=7" }, annotate(annotation.LoadBalancerTags, "shop, cost=7"),
			annotate(annotation.ListenerTags, "open"), annotate(annotation.PoolTags, "behind"), annotate(annotation.FloatingIPTags, "outside")),
		"a_floating_ip_that_is_kept":                input(annotate("loadbalancer.openstack.org/keep-floatingip", "true")),
		"no_nodes_are_a_pool_without_members":       input(func(in *Input) { in.Nodes = nil }),
		"two_nodes_with_one_address_are_one_member": input(func(in *Input) { in.Nodes = append(in.Nodes, node("node-a2", "10.0.0.11")) }),
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(in)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, wanted)
		})
	}
}

func TestAServiceThatCannotBeServedIsRefusedWithAReason(t *testing.T) {
	udp, tcp := corev1.ProtocolUDP, corev1.ProtocolTCP
	for name, c := range map[string]struct {
		in     Input
		reason string
		text   []string
	}{
		"SCTP below 2.23": {input(ports(port(tcp, 80, 30080), port(corev1.ProtocolSCTP, 36412, 30412)), apiVersion(22)),
			ReasonUnsupported, []string{"36412", "SCTP", "2.23", "2.22"}},
		"a port without a NodePort": {input(ports(port(tcp, 80, 0))),
			ReasonNoNodePort, []string{"80", "allocateLoadBalancerNodePorts"}},
		"TCP and UDP on one port below 2.13": {input(ports(port(tcp, 53, 30053), port(udp, 53, 30054)), apiVersion(12)),
			ReasonUnsupported, []string{"53", "2.13", "2.12"}},
		"another method than its own with ovn": {input(annotate(keyMethod, "ROUND_ROBIN"), provider(lb.ProviderOVN)),
			ReasonUnsupported, []string{"ovn", "ROUND_ROBIN", keyMethod}},
		"a method that the provider is not stated to support": {input(annotate(keyMethod, "LEAST_CONNECTIONS"), provider(lb.ProviderOVN), supports("SOURCE_IP_PORT", "SOURCE_IP")),
			ReasonUnsupported, []string{"ovn", "LEAST_CONNECTIONS", "SOURCE_IP_PORT, SOURCE_IP", keyMethod}},
		"SOURCE_IP_PORT by annotation below 2.13": {input(annotate(keyMethod, "SOURCE_IP_PORT"), apiVersion(12)),
			ReasonUnsupported, []string{"SOURCE_IP_PORT", "2.13", "2.12"}},
		"SOURCE_IP_PORT with amphora": {input(annotate(keyMethod, "SOURCE_IP_PORT")),
			ReasonUnsupported, []string{"SOURCE_IP_PORT", "other than amphora", keyMethod}},
		"source ranges below 2.12": {input(ranges("10.0.0.0/8"), apiVersion(11)),
			ReasonUnsupported, []string{"2.12", "2.11"}},
		"source ranges with ovn": {input(ranges("10.0.0.0/8"), provider(lb.ProviderOVN)),
			ReasonUnsupported, []string{"ovn"}},
		"source ranges by annotation with ovn": {input(annotate(keySources, "10.0.0.0/8"), provider(lb.ProviderOVN)),
			ReasonUnsupported, []string{"ovn"}},
		"source ranges of the other family only": {input(ranges("2001:db8::/32")),
			ReasonInvalidSourceRanges, []string{"2001:db8::/32", "IPv4"}},
		"all addresses of the other family only": {input(ranges("::/0")),
			ReasonInvalidSourceRanges, []string{"::/0", "IPv4"}},
		"source ranges that are none": {input(ranges("10.0.0.0")),
			ReasonInvalidSourceRanges, []string{"spec.loadBalancerSourceRanges", "10.0.0.0"}},
		"an annotation that is wrong": {input(annotate(keyMonitor, "on"), annotate(keyInside, "maybe")),
			ReasonInvalidAnnotation, []string{keyMonitor, keyInside, `"on"`, `"maybe"`}},
		"a wrong source ranges annotation beside right ones in the spec": {input(ranges("10.0.0.0/8"), annotate(keySources, "x")),
			ReasonInvalidAnnotation, []string{keySources}},
		"metrics for no client": {input(annotate(annotation.MetricsPort, "9100")),
			ReasonInvalidAnnotation, []string{annotation.MetricsPort, "9100", annotation.MetricsAllowedCIDRs}},
		"metrics for no client of an internal Service": {input(annotate(annotation.MetricsPort, "9100"), annotate(keyInside, "true"), annotate(annotation.MetricsAllowedCIDRs, "")),
			ReasonInvalidAnnotation, []string{annotation.MetricsAllowedCIDRs}},
		"metrics for the other family only": {input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "::/0")),
			ReasonInvalidAnnotation, []string{annotation.MetricsAllowedCIDRs, "::/0", "IPv4"}},
		"metrics at a port of the Service": {input(annotate(annotation.MetricsPort, "80"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")),
			ReasonInvalidAnnotation, []string{annotation.MetricsPort, "80"}},
		"metrics of another's load balancer": {input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8"), func(in *Input) {
			in.Sharer, in.Config.MaxShared, in.FoundAddress = true, 2, "203.0.113.9"
			in.Found = &lb.LoadBalancer{ID: "lb-of-another", VIP: lb.VIP{Address: "10.0.0.9"}}
		}),
			ReasonSharingRefused, []string{"lb-of-another", annotation.MetricsPort}},
		"an address that is none": {input(address("shop.example.com")),
			ReasonInvalidAddress, []string{"spec.loadBalancerIP", "shop.example.com"}},
		"an IPv6 address for an IPv4 Service": {input(address("2001:db8::1")),
			ReasonInvalidAddress, []string{"2001:db8::1", "IPv4"}},
		"an IPv4 address for an IPv6 Service": {input(families(corev1.IPv6Protocol), address("203.0.113.5")),
			ReasonInvalidAddress, []string{"203.0.113.5", "IPv6"}},
		"an internal IPv6 address for an IPv4 Service": {input(annotate(keyInside, "true"), address("2001:db8::1")),
			ReasonInvalidAddress, []string{"2001:db8::1", "IPv4"}},
		"an address with a zone": {input(families(corev1.IPv6Protocol), address("fe80::1%eth0")),
			ReasonInvalidAddress, []string{"fe80::1%eth0"}},
		"SOURCE_IP_PORT below 2.13": {input(apiVersion(12), func(in *Input) { in.Config.Method = "SOURCE_IP_PORT" }),
			ReasonUnsupported, []string{"SOURCE_IP_PORT", "2.13", "2.12"}},
		"ovn below 2.13": {input(apiVersion(12), provider(lb.ProviderOVN)),
			ReasonUnsupported, []string{"SOURCE_IP_PORT", "2.13", "2.12"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			var invalid *Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("error %v, want an *Invalid", err)
			}
			if invalid.Reason != c.reason {
				t.Errorf("reason %s, want %s (%s)", invalid.Reason, c.reason, invalid.Message)
			}
			for _, text := range c.text {
				if !strings.Contains(invalid.Error(), text) {
					t.Errorf("message %q does not speak of %q", invalid.Message, text)
				}
			}
			if diff := cmp.Diff(lb.Wanted{}, wanted); diff != "" {
				t.Errorf("wanted beside the error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnsupportedMetricsAreReportedAndNotOpened(t *testing.T) {
	asked := []change{annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")}
	for name, c := range map[string]struct {
		changes []change
		told    string
	}{
		"below 2.25": {append(asked, apiVersion(24)), "2.25"},
		"ovn":        {append(asked, provider(lb.ProviderOVN)), "ovn"},
		"a provider without sources": {append(asked, func(in *Input) {
			in.Capabilities.Vendors = map[string]lb.Vendor{"amphora": {Lacks: []lb.Feature{lb.FeatureAllowedCIDRs}}}
		}), "2.12"},
		"addresses of both families": {append(asked, families(corev1.IPv4Protocol, corev1.IPv6Protocol)), "both families"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(input(c.changes...))
			if err != nil || len(wanted.LoadBalancer.Listeners) != 1 || len(wanted.Withheld) != 1 || wanted.Withheld[0].Reason != ReasonMetricsUnsupported {
				t.Fatalf("%v, told %+v, listeners %+v", err, wanted.Withheld, wanted.LoadBalancer)
			}
			for _, text := range []string{c.told, annotation.MetricsPort} {
				if !strings.Contains(wanted.Withheld[0].Message, text) {
					t.Errorf("%q does not say %q", wanted.Withheld[0].Message, text)
				}
			}
		})
	}
	wanted, err := Wanted(input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "0.0.0.0/0,::/0"), families(corev1.IPv4Protocol, corev1.IPv6Protocol)))
	if err != nil || len(wanted.Withheld) > 0 || len(wanted.LoadBalancer.Listeners) != 2 || wanted.LoadBalancer.Listeners[1].AllowedCIDRs != nil {
		t.Errorf("for every client of both families: %v, %+v", err, wanted)
	}
}

func TestTagsThatAreNotSetAreReported(t *testing.T) {
	ownedByOther := func(in *Input) {
		in.Sharer, in.Owner.Sharer, in.Config.MaxShared, in.FoundAddress = true, true, 2, "203.0.113.9"
		in.Found = &lb.LoadBalancer{ID: "lb-of-another", VIP: lb.VIP{Address: "10.0.0.9"}}
	}
	for name, c := range map[string]struct {
		in     Input
		reason string
		text   []string
	}{
		"a cloud without tags": {input(annotate(annotation.ListenerTags, "a"), annotate(annotation.PoolTags, "b"), apiVersion(4)),
			ReasonTagsUnsupported, []string{annotation.ListenerTags, annotation.PoolTags, "2.5", "2.4"}},
		"a sharer": {input(ownedByOther, annotate(annotation.LoadBalancerTags, "a"), annotate(annotation.PoolTags, "b")),
			ReasonLoadBalancerNotTagged, []string{annotation.LoadBalancerTags, "lb-of-another"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil || len(wanted.Withheld) != 1 || wanted.Withheld[0].Reason != c.reason {
				t.Fatalf("%v, told %+v", err, wanted.Withheld)
			}
			for _, text := range c.text {
				if !strings.Contains(wanted.Withheld[0].Message, text) {
					t.Errorf("%q does not say %q", wanted.Withheld[0].Message, text)
				}
			}
		})
	}
	wanted, err := Wanted(input(ownedByOther, annotate(annotation.ListenerTags, "a"), func(in *Input) { in.Config.Tags = "cost=7" }))
	if err != nil || len(wanted.Withheld) > 0 {
		t.Fatalf("%v, told %+v", err, wanted.Withheld)
	}
	own := lb.WithCustom(wanted.LoadBalancer.Listeners[0].Tags[:3], []string{"cost=7", "a"})
	if diff := cmp.Diff(own, wanted.LoadBalancer.Listeners[0].Tags); diff != "" || lb.CustomDiffer(wanted.LoadBalancer.Tags, nil) {
		t.Errorf("a sharer's load balancer gets %q, and its listener (-want +got):\n%s", wanted.LoadBalancer.Tags, diff)
	}
}

func TestAnOperatorsInternalSettingLeavesNoFloatingIP(t *testing.T) {
	wanted, err := Wanted(input(annotate(keyInside, "false"), func(in *Input) { in.Config.Internal = true }))
	if err != nil {
		t.Fatal(err)
	}
	if wanted.FloatingIP != nil {
		t.Errorf("floating IP %+v", wanted.FloatingIP)
	}
}

func TestAServiceWithoutFamiliesIsIPv4(t *testing.T) {
	wanted, err := Wanted(input(families()))
	if err != nil {
		t.Fatal(err)
	}
	if a := wanted.LoadBalancer.Listeners[0].Pool.Members[0].Address; a != "10.0.0.11" {
		t.Errorf("member %s, want 10.0.0.11", a)
	}
}
