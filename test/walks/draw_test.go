// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"math/rand/v2"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// dice draw actions.
type dice struct {
	*rand.Rand
	shares bool // Services share load balancers
	groups bool // the controller manages the security groups of the nodes
}

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

// draw generates a story, the same one for the same seed. In every fourth, Services share load balancers, and in every
// fourth the controller manages the security groups of the nodes.
func draw(seed uint64, steps int) story {
	d := dice{Rand: rand.New(rand.NewPCG(seed, 0)), shares: *shared || !*grouped && seed%4 == 0}
	d.groups = !d.shares && (*grouped || seed%4 == 2)
	var st story
	if d.groups {
		st = append(st, action{Do: "configure", Key: manageGroups, Value: "true"})
	}
	st = append(st, action{Do: "create", On: d.service(), Value: d.words(), Wait: d.wait()})
	for len(st) < steps {
		a := d.action()
		a.Wait = d.wait()
		st = append(st, a)
	}
	return st
}

// wait is usually short, so that things happen at the same time.
func (d dice) wait() int { return pick(d, 0, 0, 0, 1, 1, 3, 5, 10, 30, 60, 90, 200, 900, 4000) }

func (d dice) service() string {
	if d.shares {
		return pick(d, "shop/web", "shop/web", "shop/api", "shop/pay", "blog/web")
	}
	return pick(d, "shop/web", "shop/web", "shop/web", "shop/api", "blog/web")
}

func (d dice) node() string { return pick(d, "node-1", "node-2", "node-3", "node-4") }

func (d dice) port() string {
	return pick(d, "TCP/80", "TCP/443", "UDP/53", "TCP/53", "TCP/8080", "UDP/443", "SCTP/80")
}

// words returns what a new Service is to be.
func (d dice) words() string {
	var words []string
	for _, one := range []string{"TCP/443", "UDP/53", "Local", "ClientIP", "class", internalKey + "=true"} {
		if d.IntN(5) == 0 {
			words = append(words, one)
		}
	}
	if d.shares {
		words = append(words, pick(d, group+"=a", group+"=a", group+"=b", annotation.LoadBalancerID+"="+balancerUsedBy+d.service(), d.port()))
	}
	if !d.shares && (*dual || d.IntN(6) == 0) {
		words = append(words, pick(d, families...))
	}
	if d.IntN(3) == 0 {
		a := d.annotation()
		if a.Value != absent && !strings.Contains(a.Value, " ") {
			words = append(words, a.Key+"="+a.Value)
		}
	}
	return strings.Join(words, " ")
}

// families are the words of Services with IPv6. In walks with shared load balancers there are none: what a load balancer has
// there follows from the Service that came first.
var families = []string{
	"PreferDualStack", "PreferDualStack", "PreferDualStack IPv6 IPv4", "RequireDualStack", "RequireDualStack IPv6 IPv4", "IPv6", "IPv6 " + annotation.SubnetID + "=$subnet-v6",
}

// changes are what the families of a Service are changed to. Those that would change the first family are refused by Kubernetes.
var changes = []string{
	"SingleStack", "SingleStack", "SingleStack IPv4", "PreferDualStack", "PreferDualStack", "PreferDualStack IPv6 IPv4", "RequireDualStack", "RequireDualStack IPv4 IPv6",
}

const prefix, own = "loadbalancer.openstack.org/", "kube-octavia.io/"

const group = annotation.LoadBalancerGroup

// values are what annotations are set to.
var values = []struct {
	key    string
	values []string
}{
	{internalKey, []string{"true", "false"}},
	{sourcesKey, []string{"192.0.2.0/24,198.51.100.0/24", "", "nonsense"}},
	{own + "floating-ip", []string{"$given-a", "$given-b-id", "192.0.2.77"}},
	{own + "status-addresses", []string{"both", "vip", "floating"}},
	{prefix + "hostname", []string{"www.example.com"}},
	{prefix + "class", []string{"other", "unknown"}},
	{prefix + "node-selector", []string{"zone=1", "zone", "", "zone=7"}},
	{own + "max-members", []string{"1", "0"}},
	{prefix + "lb-method", []string{"LEAST_CONNECTIONS", "ROUND_ROBIN", "SOURCE_IP"}},
	{prefix + "connection-limit", []string{"1000", "-1"}},
	{prefix + "timeout-client-data", []string{"60000"}},
	{prefix + "timeout-member-connect", []string{"6000"}},
	{prefix + "timeout-member-data", []string{"60000"}},
	{prefix + "timeout-tcp-inspect", []string{"10", "-3"}},
	{prefix + "enable-health-monitor", []string{"true", "false"}},
	{prefix + "health-monitor-delay", []string{"10"}},
	{prefix + "health-monitor-timeout", []string{"4"}},
	{prefix + "health-monitor-max-retries", []string{"2"}},
	{prefix + "health-monitor-max-retries-down", []string{"4"}},
	{own + "protocols", []string{"80=HTTP", "tcp-443=PROXY", "80=TCP", "80=NONSENSE"}},
	{prefix + "proxy-protocol", []string{"true", "v2", "false"}},
	{prefix + "x-forwarded-for", []string{"true", "false"}},
	{own + "vip-security-groups", []string{"default", "default,nowhere", ","}},
	{own + "hsts-max-age", []string{"31536000", "0", "-1"}},
	{own + "hsts-include-subdomains", []string{"true", "false"}},
	{own + "hsts-preload", []string{"true"}},
	{own + "metrics-port", []string{"9100", "9101"}},
	{own + "metrics-allowed-cidrs", []string{"10.0.0.0/8", "192.0.2.0/24"}},
	{prefix + "load-balancer-tags", []string{"a,b", "b,c", ""}},
	{prefix + "listener-tags", []string{"a,b", "b,c"}},
	{prefix + "pool-tags", []string{"a,b", "b,c"}},
	{annotation.KeepFloatingIP, []string{"true", "false"}},
	{own + "floating-ip-tags", []string{"a,b", "b,c"}},
	{annotation.AdditionalSubnetID, []string{"$subnet-v6", "5ab5e700-0000-4000-8000-000000000000"}},
	{own + "drift-policy", []string{"report", "ignore", "repair"}},
	{prefix + "floating-network-id", []string{"$public", unknownID}},
	{prefix + "floating-subnet-id", []string{"$public-subnet", unknownID}},
	{prefix + "floating-subnet", []string{"public-*", "!nothing", "nothing"}},
	{prefix + "floating-subnet-tags", []string{"nothing", "!nothing"}},
	{prefix + "member-subnet-id", []string{"$subnet", "$subnet-b", unknownID}},
	{own + "node-address-type", []string{"ExternalIP", "InternalIP"}},
	{own + "target-type", []string{"pod", "node"}},
	{prefix + "tls-secret", []string{"certificate", "missing"}},
	{prefix + "default-tls-container-ref", []string{"$certificate-a", "$certificate-b"}},
	{own + "sni-container-refs", []string{"$certificate-a", "$certificate-b,$certificate-a"}},
}

// unknownID is the id of nothing.
const unknownID = "8f5e2f7c-0000-4000-8000-000000000404"

// placements are what a load balancer can only be replaced for. Each Service has a port of its own.
func (d dice) placement(on string) string {
	return pick(d, "flavor-id=$flavor-a", "flavor-id=$flavor-b", "flavor-id=-", "subnet-id=$subnet-b", "subnet-id=-", "network-id=$network", "network-id=-",
		"availability-zone=zone-a", "availability-zone=-", "port-id="+portFor(on), "port-id=-")
}

func (d dice) annotation() action {
	one := values[d.IntN(len(values))]
	return action{Do: "annotate", Key: one.key, Value: pick(d, append([]string{absent}, one.values...)...)}
}

func (d dice) action() action {
	on := d.service()
	if d.shares && d.IntN(10) == 0 {
		return pick(d, action{Do: "annotate", On: on, Key: group, Value: pick(d, "a", "a", "b", absent)},
			action{Do: "annotate", On: on, Key: group, Value: pick(d, "a", absent)},
			action{Do: "configure", Key: "shared-lb-scope", Value: pick(d, "cluster", absent)})
	}
	if *dual && !d.shares && d.IntN(10) == 0 {
		return action{Do: "families", On: on, Value: pick(d, changes...)}
	}
	if d.groups && d.IntN(5) == 0 {
		return d.aboutGroups()
	}
	switch n := d.IntN(100); {
	case n < 12:
		return action{Do: "create", On: on, Value: d.words()}
	case n < 17:
		return action{Do: "delete", On: on}
	case n < 20:
		return action{Do: "recreate", On: on}
	case n < 21:
		return action{Do: "copy", On: on, Value: pick(d, "shop/api", "blog/web", "shop/web")}
	case n < 22:
		return action{Do: "strip", On: on}
	case n < 26:
		return action{Do: "type", On: on, Value: pick(d, "LoadBalancer", "LoadBalancer", "ClusterIP", "NodePort")}
	case n < 44:
		a := d.annotation()
		a.On = on
		return a
	case n < 47:
		return action{Do: "annotate-all", On: on, Value: prefix + d.placement(on) + " " + prefix + "allow-replacement=true"}
	case n < 52:
		return action{Do: "open", On: on, Value: d.port()}
	case n < 57:
		return action{Do: "close", On: on, Value: d.port()}
	case n < 59:
		return action{Do: "affinity", On: on, Value: pick(d, "ClientIP", "None")}
	case n < 61:
		return action{Do: "sources", On: on, Value: pick(d, "", "192.0.2.0/24", "192.0.2.0/24 198.51.100.0/25", "192.0.2.0/24 2001:db8::/32")}
	case n < 63:
		return action{Do: "policy", On: on, Value: pick(d, "Local", "Cluster")}
	case n < 65:
		return action{Do: "address", On: on, Value: pick(d, absent, "$given-a", "$given-b")}
	case n < 67:
		return action{Do: "node-joins", On: d.node()}
	case n < 69:
		return action{Do: "node-leaves", On: d.node()}
	case n < 70:
		if d.IntN(2) == 0 {
			return action{Do: "node-address", On: d.node(), Value: pick(d, "", "10.20.0.21", "10.20.0.22 10.20.0.23", "not-an-address", "fd00::1", "0.0.0.0", "10.20.0.24 fd00:20::24")}
		}
		return action{Do: "node-excluded", On: d.node(), Value: pick(d, "", absent)}
	case n < 72:
		return action{Do: "endpoints", On: on, Value: pick(d, "", "node-1", "node-2", "node-1 node-3")}
	case n < 73:
		return action{Do: "secret", On: pick(d, "shop", "shop", "blog") + "/certificate", Value: pick(d, "a", "b", "b", "nonsense", absent)}
	case n < 75:
		return action{Do: pick(d, "stop", "kill")}
	case n < 80:
		return action{Do: "start"}
	case n < 81:
		return pick(d, action{Do: "configure", Key: "lb-method", Value: "LEAST_CONNECTIONS"}, action{Do: "configure", Key: "lb-method", Value: absent},
			action{Do: "configure", Key: "create-monitor", Value: "true"}, action{Do: "configure", Key: "create-monitor", Value: absent},
			action{Do: "configure", Key: "max-members", Value: "1"}, action{Do: "configure", Key: "max-members", Value: absent})
	case n < 91:
		return action{Do: "tamper", On: on, Value: pick(d, sortedKeys(tamperings)...)}
	case n < 92 && !d.shares:
		return action{Do: "families", On: on, Value: pick(d, changes...)}
	case n < 94:
		return action{Do: "quota", Key: pick(d, "loadbalancers", "listeners", "pools", "members", "floatingips"), Value: pick(d, "full", absent)}
	case n < 98:
		return action{Do: "fault", On: pick(d, "network", "load-balancer"), Key: pick(d, "GET", "POST", "PUT", "DELETE"),
			Value: pick(d, "503", "500", "409", "404", "hang", "hang-after", "reset-before", "reset-after", "garbage", "half-body", "error-state", "error-children", absent)}
	case n < 99:
		return action{Do: "delete-namespace", On: pick(d, "shop", "blog")}
	}
	return action{Do: "wait"}
}

// aboutGroups returns an action that concerns the security groups of the nodes.
func (d dice) aboutGroups() action {
	switch n := d.IntN(20); {
	case n < 8:
		return action{Do: "tamper-group", Value: pick(d, sortedKeys(groupTamperings)...)}
	case n < 13:
		return action{Do: "server", On: d.node(), Value: pick(d, "stop", "start", "delete", "create", "replace")}
	case n < 14:
		return action{Do: pick(d, "node-joins", "node-leaves"), On: d.node()}
	case n < 16:
		return action{Do: "quota", Key: pick(d, "security-groups", "security-group-rules"), Value: pick(d, "full", absent)}
	case n < 17:
		return action{Do: "fault", On: "network", Key: pick(d, "GET", "POST", "PUT", "DELETE"), Value: pick(d, "503", "409", "404", "hang-after", "reset-after")}
	}
	if d.IntN(2) == 0 {
		return action{Do: "configure", Key: groupMode, Value: pick(d, "service", "service", absent)}
	}
	return action{Do: "configure", Key: manageGroups, Value: pick(d, "true", "true", absent)}
}
