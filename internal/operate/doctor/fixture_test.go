// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// The ids of the fixture.
const (
	vipSubnet, vipNetwork = "subnet-vip", "net-vip"
	otherSubnet, otherNet = "subnet-other", "net-other"
	sixSubnet             = "subnet-six"
	externalNet           = "net-external"
	server                = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
)

// healthy returns facts of a correct setup, in which Service default/web has a load balancer.
func healthy(t testing.TB) Facts {
	t.Helper()
	const conf = "[Global]\nauth-url=https://keystone:5000/v3\napplication-credential-id=a\napplication-credential-secret=b\n" +
		"[LoadBalancer]\n"
	c := parse(t, conf)
	c.LoadBalancer.FloatingNetworkID, c.LoadBalancer.SubnetID = externalNet, vipSubnet
	c.Route.RouterID = "router"
	return Facts{
		Now: noon, ConfigPath: "cloud.conf", Config: Value(c),
		Policy:      claim.Policy{ClusterName: "kubernetes", ClusterUID: "cluster", LoadBalancerClass: "example.com/lb", DefaultClass: true},
		Controllers: Controllers{Service: true, Node: true, NodeLifecycle: true, Route: true, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}},
		Cloud:       healthyCloud(),
		Cluster:     healthyCluster(),
	}
}

func parse(t testing.TB, conf string) config.Config {
	t.Helper()
	c, err := config.Parse("cloud.conf", []byte(conf))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func healthyCloud() Cloud {
	ten := map[string]int{quotaBalancer: 10, quotaListener: 10, quotaPool: 10, quotaMember: 10, quotaMonitor: 10}
	return Cloud{
		Login: Value(Login{
			Kind: config.ByApplicationCredential, ProjectID: "project", Roles: []string{"load-balancer_member", "member"},
			Endpoints: []Endpoint{{Service: calls.ServiceLoadBalancer, URL: "https://octavia/"}, {Service: calls.ServiceNetwork, URL: "https://neutron/"}, {Service: calls.ServiceKeyManager, URL: "https://barbican/"}, {Service: calls.ServiceCompute, URL: "https://nova/"}},
			CloudTime: noon, LocalTime: noon.Add(500 * time.Millisecond), Uncertainty: 2 * time.Second,
		}),
		APIVersion: Value(lb.Version{Major: 2, Minor: 26}),
		Octavia: Octavia{
			Providers: Value([]string{"amphora", "octavia"}), Flavors: notUsed(), Zones: notUsed(), Quota: Value(ten),
			Balancers: Value([]Balancer{{Members: 1, LoadBalancer: lb.LoadBalancer{
				ID: "lb-1", Name: "kube_service_kubernetes_default_web", ProvisioningStatus: lb.Active, VIP: lb.VIP{PortID: "port-vip", SubnetID: vipSubnet},
				Listeners: []lb.Listener{{Name: "l", ProvisioningStatus: lb.Active, Pool: &lb.Pool{ID: "p", ProvisioningStatus: lb.Active}}},
			}}}),
		},
		Network: healthyNetwork(),
		Orphans: Value([]orphan.Object{}),
		Servers: Value([]instances.Server{{ID: server, Name: "node-a"}}),
	}
}

func notUsed() Read[[]Offer] {
	return Read[[]Offer]{Missing: Missing{Kind: NotAsked, Reason: "nothing requests one"}}
}

func healthyNetwork() Network {
	gateway := Router{ID: "router", Name: "router"}
	gateway.Gateway = &struct {
		NetworkID string `json:"network_id"`
	}{externalNet}
	ports := []Port{
		{ID: "port-node", DeviceID: server, DeviceOwner: "compute:nova", FixedIPs: []IP{{SubnetID: vipSubnet, Address: "10.0.0.5"}}, SecurityGroups: []string{"group"},
			AddressPairs: []routes.AddressPair{{Address: "10.244.0.0/24"}}},
		{ID: "port-router", DeviceID: "router", DeviceOwner: "network:ha_router_interface", FixedIPs: []IP{{SubnetID: vipSubnet, Address: "10.0.0.1"}}},
		{ID: "port-vip", Name: "octavia-lb-lb-1", FixedIPs: []IP{{SubnetID: vipSubnet, Address: "10.0.0.100"}}, LoadBalancerID: "lb-1"},
	}
	prefix, tcp := "10.0.0.0/24", "tcp"
	first, last := firstNodePort, lastNodePort
	quota := map[string]Quota{}
	for _, k := range neutronKinds {
		quota[k.name] = Quota{Limit: 10, Used: 1}
	}
	return Network{
		Networks: Value([]Net{{ID: vipNetwork, Name: "vips"}, {ID: otherNet, Name: "other"}, {ID: externalNet, Name: "public", External: true, Subnets: []string{"subnet-public"}}}),
		Subnets: Value([]Subnet{
			{ID: vipSubnet, Name: "vips", NetworkID: vipNetwork, IPVersion: 4, CIDR: "10.0.0.0/24", Pools: []Range{{Start: "10.0.0.100", End: "10.0.0.199"}}},
			{ID: sixSubnet, Name: "six", NetworkID: vipNetwork, IPVersion: 6, CIDR: "fd00::/64", Pools: []Range{{Start: "fd00::2", End: "fd00::ffff:ffff:ffff:ffff"}}},
			{ID: otherSubnet, Name: "other", NetworkID: otherNet, IPVersion: 4, CIDR: "10.1.0.0/24"},
		}),
		Ports: Value(ports), InVIPNetworks: Value(ports), Routers: Value([]Router{gateway}),
		Groups: Value([]Group{{ID: "group", Name: "nodes", Rules: []Rule{
			{Direction: "ingress", EtherType: "IPv4", Protocol: &tcp, PortMin: &first, PortMax: &last, RemoteIPPrefix: &prefix},
		}}}),
		Availability: Value([]Availability{}), Quota: Value(quota),
		PodRouter:    Value(&routes.Router{ID: "router", Routes: []routes.Route{{Destination: "10.244.0.0/24", NextHop: "10.0.0.5"}}}),
		AtomicRoutes: Value(true),
	}
}

func healthyCluster() Cluster {
	written := metav1.NewTime(noon.Add(-time.Hour))
	web := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web", Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: othercontroller.OwnManager, Subresource: "status", Time: &written, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:loadBalancer":{}}}`)}}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server, PodCIDRs: []string{"10.244.0.0/24"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}}}}
	return Cluster{
		Version: Value("v1.36.3"), UID: Value("cluster"), User: Value("system:serviceaccount:kube-octavia:kube-octavia"), Services: Value([]corev1.Service{web}), Nodes: Value([]corev1.Node{node}),
		Refused: Value([]Right{}), OCCM: Value[*othercontroller.Lease](nil),
		Workloads: Value([]othercontroller.Workload{}), Instances: Value([]othercontroller.Lease{}),
		Own: Value(&othercontroller.Lease{Holder: "pod-1", Renewed: noon.Add(-3 * time.Second)}), OwnLease: othercontroller.LeaseName{Namespace: "kube-octavia", Name: "kube-octavia"},
	}
}

// another adds a Service without a load balancer.
func another(f *Facts, edit func(*corev1.Service)) {
	s := f.Cluster.Services.Value[0].DeepCopy()
	s.Name, s.UID, s.Annotations, s.ManagedFields = "new", types.UID("uid-new"), map[string]string{}, nil
	s.Spec.Ports[0].NodePort = 30081
	if edit != nil {
		edit(s)
	}
	f.Cluster.Services.Value = append(f.Cluster.Services.Value, *s)
}

// set changes the settings of [LoadBalancer].
func set(edit func(*config.LoadBalancer)) func(*Facts) {
	return func(f *Facts) { edit(&f.Config.Value.LoadBalancer) }
}

// login changes the login.
func login(edit func(*Login)) func(*Facts) {
	return func(f *Facts) { edit(&f.Cloud.Login.Value) }
}
