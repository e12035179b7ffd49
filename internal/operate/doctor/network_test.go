// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestNetworks(t *testing.T) {
	class := func(edit func(*config.LoadBalancer)) func(*Facts) {
		return func(f *Facts) {
			l := f.Config.Value.LoadBalancer
			edit(&l)
			f.Config.Value.LoadBalancer.Classes = map[string]config.LoadBalancer{"gold": l}
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"an unknown subnet": {
			mistake: set(func(l *config.LoadBalancer) { l.SubnetID = "nowhere" }),
			check:   Networks, status: Error, what: "[LoadBalancer] subnet-id is nowhere, but the project sees no such subnet", do: "openstack subnet list", also: []Check{SecurityGroups},
		},
		"an unknown subnet of a class": {
			mistake: class(func(l *config.LoadBalancer) { l.SubnetID = "nowhere" }),
			check:   Networks, status: Error, what: `[LoadBalancerClass "gold"] subnet-id is nowhere`, do: "openstack subnet list",
		},
		"a subnet of another network": {
			mistake: set(func(l *config.LoadBalancer) { l.NetworkID = otherNet }),
			check:   Networks, status: Error, what: "subnet-id is in network net-vip, and not in network-id net-other", do: "network-id = net-vip",
		},
		"a subnet in the place of a network": {
			mistake: set(func(l *config.LoadBalancer) { l.FloatingNetworkID = vipSubnet }),
			check:   Networks, status: Error, what: "floating-network-id is subnet-vip, but the project sees no such network", do: "This is the id of a subnet",
		},
		"a network that is not external": {
			mistake: set(func(l *config.LoadBalancer) { l.FloatingNetworkID = otherNet }),
			check:   Networks, status: Error, what: "floating-network-id is network other, which is not external", do: "openstack network list --external",
		},
		"a floating subnet": {mistake: set(func(l *config.LoadBalancer) { l.FloatingSubnetID = "subnet-public" }), check: Networks, status: OK},
		"a floating subnet of another network": {
			mistake: set(func(l *config.LoadBalancer) { l.FloatingSubnetID = vipSubnet }),
			check:   Networks, status: Error, what: "floating-subnet-id is subnet-vip, which is not a subnet of the external network", do: "openstack network show net-external",
		},
		"a floating subnet that cannot be seen": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.FloatingSubnetID = "subnet-public"
				f.Cloud.Network.Networks.Value[2].Subnets = nil
			},
			check: Networks, status: Unknown, what: "floating-subnet-id cannot be checked", do: "openstack subnet show subnet-public",
		},
		"a second subnet": {mistake: set(func(l *config.LoadBalancer) { l.AdditionalSubnetID = sixSubnet }), check: Networks, status: OK},
		"a second subnet of another network": {
			mistake: set(func(l *config.LoadBalancer) { l.AdditionalSubnetID = otherSubnet }),
			check:   Networks, status: Error, what: "additional-subnet-id is in network net-other, but VIPs are in network net-vip", do: "openstack subnet list --network net-vip",
		},
		"a second subnet of the same family": {
			mistake: set(func(l *config.LoadBalancer) { l.AdditionalSubnetID = vipSubnet }),
			check:   Networks, status: Error, what: "additional-subnet-id has IPv4, as subnet-id has", do: "other IP family",
		},
		"members without addresses of the family": {
			mistake: set(func(l *config.LoadBalancer) { l.MemberSubnetID = sixSubnet }),
			check:   Networks, status: Error, what: "member-subnet-id has IPv6, but no node has such an address", do: "kubectl get nodes -o wide", also: []Check{SecurityGroups},
		},
		"members elsewhere": {
			mistake: set(func(l *config.LoadBalancer) { l.MemberSubnetID = otherSubnet }),
			check:   Networks, status: Warning, what: "member-subnet-id is 10.1.0.0/24, but no node has an address in it", do: "kubectl get nodes -o wide", also: []Check{SecurityGroups},
		},
		"an unknown network of Pods": {
			mistake: set(func(l *config.LoadBalancer) { l.PodNetworkIDs = vipNetwork + ", nowhere" }),
			check:   Networks, status: Error, what: "pod-network-ids is nowhere", do: "openstack network list",
		},
		"an unknown subnet of ClusterIPs": {
			mistake: func(f *Facts) {
				f.Config.Value.ClusterIP = config.ClusterIP{Enabled: true, ServiceSubnetID: "nowhere"}
			},
			check: Networks, status: Error, what: "[ClusterIP] service-subnet-id is nowhere", do: "openstack subnet list",
		},
		"no external network": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.FloatingNetworkID = ""
				f.Cloud.Network.Networks.Value = f.Cloud.Network.Networks.Value[:2]
			},
			check: Networks, status: Error, what: "the project sees no external network", do: "internal-lb = true",
		},
		"a choice of external networks": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.FloatingNetworkID = ""
				f.Cloud.Network.Networks.Value[1].External = true
				f.Cloud.Network.Routers.Value = nil
			},
			check: Networks, status: Warning, what: "no floating-network-id, and the project sees 2 external networks", do: "Set floating-network-id",
		},
		"a choice of external networks, and a router that makes it": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.FloatingNetworkID = ""
				f.Cloud.Network.Networks.Value[1].External = true
			},
			check: Networks, status: OK,
		},
		"a router to another network": {
			mistake: func(f *Facts) { f.Cloud.Network.Routers.Value[0].Gateway.NetworkID = otherNet },
			check:   Networks, status: Error, what: "no router of subnet vips has a gateway in network public", do: "openstack router set --external-gateway net-external",
		},
		"no router": {
			mistake: func(f *Facts) { f.Cloud.Network.Routers.Value = nil },
			check:   Networks, status: Warning, what: "sees no router between subnet vips and network public", do: "openstack router add subnet ROUTER subnet-vip",
		},
		"internal load balancers need no router": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Routers.Value = nil
				f.Config.Value.LoadBalancer.Internal = true
			},
			check: Networks, status: OK,
		},
		"routers that may not be read": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Routers.Missing = Missing{Kind: Denied, Reason: "list routers: 401"}
			},
			check: Networks, status: Unknown, what: "list routers: 401", do: "openstack router list",
		},
	})
}

func TestAddresses(t *testing.T) {
	pool := func(end string) func(*Facts) {
		return func(f *Facts) {
			f.Cloud.Network.Subnets.Value[0].Pools = []Range{{Start: "10.0.0.100", End: end}}
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"none":   {mistake: pool("10.0.0.100"), check: Addresses, status: Error, what: "subnet vips of VIPs has 0 free addresses", do: "openstack subnet set --allocation-pool"},
		"few":    {mistake: pool("10.0.0.102"), check: Addresses, status: Warning, what: "has 2 free addresses", do: "openstack subnet set"},
		"enough": {mistake: pool("10.0.0.103"), check: Addresses, status: OK},
		"fewer than Services that wait": {
			mistake: func(f *Facts) {
				pool("10.0.0.101")(f)
				another(f, nil)
				another(f, nil)
			},
			check: Addresses, status: Error, what: "has 1 free address, and 2 Services have no load balancer yet", do: "openstack subnet set",
		},
		"few, with provider ovn": {
			mistake: func(f *Facts) {
				pool("10.0.0.101")(f)
				f.Config.Value.LoadBalancer.Provider, f.Config.Value.LoadBalancer.Method = lb.ProviderOVN, ""
				f.Cloud.Octavia.Providers.Value = []string{lb.ProviderOVN}
			},
			check: Addresses, status: OK, also: []Check{SecurityGroups},
		},
		"as Neutron counts them": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Availability = Value([]Availability{{NetworkID: vipNetwork, Subnets: []AvailableAddress{{SubnetID: vipSubnet, IPVersion: 4, Total: 5, Used: 5}}}})
			},
			check: Addresses, status: Error, what: "has 0 free addresses", do: "openstack subnet set",
		},
		"no floating IPs": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Availability = Value([]Availability{{NetworkID: externalNet, Subnets: []AvailableAddress{{SubnetID: "subnet-public", IPVersion: 4, Total: 5, Used: 5}}}})
			},
			check: Addresses, status: Error, what: "external network public has 0 free addresses", do: "openstack floating ip list",
		},
		"ports that may not be read": {
			mistake: func(f *Facts) {
				f.Cloud.Network.InVIPNetworks.Missing = Missing{Kind: Failed, Reason: "list ports: 500"}
			},
			check: Addresses, status: Unknown, what: "list ports: 500", do: "openstack port list --network net-vip",
		},
	})
}

func TestSecurityGroupsOfNodes(t *testing.T) {
	rule := func(edit func(*Rule)) func(*Facts) {
		return func(f *Facts) { edit(&f.Cloud.Network.Groups.Value[0].Rules[0]) }
	}
	closed := func(f *Facts) { f.Cloud.Network.Groups.Value[0].Rules = nil }
	off, group, prefix, number := false, "group", "10.0.0.0/25", "17"
	late := 30081
	is := func(mistake func(*Facts)) wrong {
		return wrong{mistake: mistake, check: SecurityGroups, status: Error, what: "security groups of node node-a do not admit NodePort 30080 of Service default/web (tcp) from 10.0.0.0/24",
			do: "openstack security group rule create --ingress --protocol tcp --dst-port 30080 --remote-ip 10.0.0.0/24"}
	}
	ok := func(mistake func(*Facts)) wrong {
		return wrong{mistake: mistake, check: SecurityGroups, status: OK}
	}
	requireDiagnoses(t, map[string]wrong{
		"no rule":                      is(closed),
		"a rule for outgoing traffic":  is(rule(func(r *Rule) { r.Direction = "egress" })),
		"a rule for a part":            is(rule(func(r *Rule) { r.RemoteIPPrefix = &prefix })),
		"a rule for UDP":               is(rule(func(r *Rule) { r.Protocol = &number })),
		"a rule for other ports":       is(rule(func(r *Rule) { r.PortMin = &late })),
		"a rule for IPv6":              is(rule(func(r *Rule) { r.EtherType = "IPv6" })),
		"a rule for a group":           is(rule(func(r *Rule) { r.RemoteIPPrefix, r.RemoteGroupID = nil, &group })),
		"a rule for everything":        ok(rule(func(r *Rule) { *r = Rule{Direction: "ingress", EtherType: "IPv4"} })),
		"a port without port security": ok(func(f *Facts) { closed(f); f.Cloud.Network.Ports.Value[0].PortSecurity = &off }),
		"two NodePorts in one finding": {
			mistake: func(f *Facts) {
				closed(f)
				s := &f.Cluster.Services.Value[0].Spec
				s.Ports = append(s.Ports, corev1.ServicePort{Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP})
			},
			check: SecurityGroups, status: Error, what: "NodePort 30080 of Service default/web and 1 more (tcp)", do: "--dst-port 30000:32767",
		},
		"a rule for an address group": {
			mistake: rule(func(r *Rule) { r.RemoteIPPrefix, r.RemoteAddressGroupID = nil, &group }),
			check:   SecurityGroups, status: Unknown, what: "only by address groups", do: "openstack security group rule list",
		},
		"a node of another project": {
			mistake: func(f *Facts) { f.Cloud.Network.Ports.Value = f.Cloud.Network.Ports.Value[1:] },
			check:   SecurityGroups, status: Unknown, what: "the project has no port with the address of node node-a", do: "openstack port list", also: []Check{Routes},
		},
		"no Services, and a closed range": {
			mistake: func(f *Facts) { closed(f); f.Cluster.Services.Value = nil },
			check:   SecurityGroups, status: Warning, what: "the NodePorts 30000-32767", do: "--dst-port 30000:32767",
		},
		"all Services have Pods as members": ok(func(f *Facts) {
			closed(f)
			f.Cluster.Services.Value[0].Annotations = map[string]string{"kube-octavia.io/target-type": "pod"}
		}),
		"clients of provider ovn": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.Provider, f.Config.Value.LoadBalancer.Method = lb.ProviderOVN, ""
				f.Cloud.Octavia.Providers.Value = []string{lb.ProviderOVN}
			},
			check: SecurityGroups, status: Error, what: "from 0.0.0.0/0", do: "--remote-ip 0.0.0.0/0",
		},
		"a managed group that is missing": {
			mistake: set(func(l *config.LoadBalancer) { l.ManageSecurityGroups = true }),
			check:   SecurityGroups, status: Warning, what: "there is no security group kube-octavia-nodes-cluster-example.com/lb", do: "SecurityGroupNotAttached",
		},
		"a managed group that is not on the ports": {
			mistake: func(f *Facts) {
				f.Config.Value.LoadBalancer.ManageSecurityGroups = true
				f.Cloud.Network.Groups.Value = append(f.Cloud.Network.Groups.Value, Group{ID: "managed", Name: "kube-octavia-nodes-cluster-example.com/lb"})
			},
			check: SecurityGroups, status: Warning, what: "is not on the ports of node node-a", do: "SecurityGroupNotAttached",
		},
		"managed, before the first Service": ok(func(f *Facts) {
			closed(f)
			f.Config.Value.LoadBalancer.ManageSecurityGroups = true
			f.Cluster.Services.Value = nil
		}),
	})
}

func TestAdvisedRulesAdmitOnlyWhatIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		ports  []int
		want   string
	}{
		"one port":                           {"10.0.0.0/24", []int{30080}, "Add a rule to a security group of the nodes: `openstack security group rule create --ingress --protocol tcp --dst-port 30080 --remote-ip 10.0.0.0/24 GROUP`"},
		"several NodePorts":                  {"10.0.0.0/24", []int{30443, 30080}, "--dst-port 30000:32767 --remote-ip 10.0.0.0/24 GROUP`"},
		"one outside of the range":           {"10.0.0.0/24", []int{443, 31000}, "Add 2 rules to a security group of the nodes: `openstack security group rule create --ingress --protocol tcp --dst-port 443 --remote-ip 10.0.0.0/24 GROUP`, and the same with --dst-port 31000"},
		"several on both sides of the range": {"10.0.0.0/24", []int{443, 444, 30001, 31000, 40000}, "--dst-port 443:444 --remote-ip 10.0.0.0/24 GROUP`, and the same with --dst-port 30000:32767, 40000"},
		"from everywhere":                    {"0.0.0.0/0", []int{31000, 30081, 30080}, "--dst-port 30080:30081 --remote-ip 0.0.0.0/0 GROUP`, and the same with --dst-port 31000"},
		"IPv6":                               {"fd00::/64", []int{30080}, "--ingress --ethertype IPv6 --protocol tcp --dst-port 30080 --remote-ip fd00::/64 GROUP`"},
		"the same port of several Services":  {"10.0.0.0/24", []int{30080, 30080}, "Add a rule to a security group of the nodes: `openstack security group rule create --ingress --protocol tcp --dst-port 30080 "},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict{transport: "tcp", source: netip.MustParsePrefix(c.source)}
			var all []access
			for _, p := range c.ports {
				all = append(all, accessTo(p, "tcp", v.source, ""))
			}
			if got := v.rules(all); !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestManyNodesAreNamedInOneFinding(t *testing.T) {
	if got := Some("node", []string{"d", "c", "b", "a"}); !strings.Contains(got, "4 nodes (a, b, c, ...)") {
		t.Error(got)
	}
}
