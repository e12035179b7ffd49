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
	"github.com/kube-octavia/kube-octavia/internal/operate/diagnosis"
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
func healthy(t testing.TB) diagnosis.Facts {
	t.Helper()
	const conf = "[Global]\nauth-url=https://keystone:5000/v3\napplication-credential-id=a\napplication-credential-secret=b\n" +
		"[LoadBalancer]\n"
	c := parse(t, conf)
	c.LoadBalancer.FloatingNetworkID, c.LoadBalancer.SubnetID = externalNet, vipSubnet
	c.Route.RouterID = "router"
	return diagnosis.Facts{
		Now: noon, ConfigPath: "cloud.conf", Config: diagnosis.Value(c),
		Policy:      claim.Policy{ClusterName: "kubernetes", ClusterUID: "cluster", LoadBalancerClass: "example.com/lb", DefaultClass: true},
		Controllers: diagnosis.Controllers{Service: true, Node: true, NodeLifecycle: true, Route: true, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}},
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

func healthyCloud() diagnosis.Cloud {
	ten := map[string]int{quotaBalancer: 10, quotaListener: 10, quotaPool: 10, quotaMember: 10, quotaMonitor: 10}
	return diagnosis.Cloud{
		Login: diagnosis.Value(diagnosis.Login{
			Kind: config.ByApplicationCredential, ProjectID: "project", Roles: []string{"load-balancer_member", "member"},
			Endpoints: []diagnosis.Endpoint{{Service: calls.ServiceLoadBalancer, URL: "https://octavia/"}, {Service: calls.ServiceNetwork, URL: "https://neutron/"}, {Service: calls.ServiceKeyManager, URL: "https://barbican/"}, {Service: calls.ServiceCompute, URL: "https://nova/"}},
			CloudTime: noon, LocalTime: noon.Add(500 * time.Millisecond), Uncertainty: 2 * time.Second,
		}),
		APIVersion: diagnosis.Value(lb.Version{Major: 2, Minor: 26}),
		Octavia: diagnosis.Octavia{
			Providers: diagnosis.Value([]string{"amphora", "octavia"}), Flavors: notUsed(), Zones: notUsed(), Quota: diagnosis.Value(ten),
			Balancers: diagnosis.Value([]diagnosis.Balancer{{Members: 1, LoadBalancer: lb.LoadBalancer{
				ID: "lb-1", Name: "kube_service_kubernetes_default_web", ProvisioningStatus: lb.Active, VIP: lb.VIP{PortID: "port-vip", SubnetID: vipSubnet},
				Listeners: []lb.Listener{{Name: "l", ProvisioningStatus: lb.Active, Pool: &lb.Pool{ID: "p", ProvisioningStatus: lb.Active}}},
			}}}),
		},
		Network: healthyNetwork(),
		Orphans: diagnosis.Value([]orphan.Object{}),
		Servers: diagnosis.Value([]instances.Server{{ID: server, Name: "node-a"}}),
	}
}

func notUsed() diagnosis.Read[[]diagnosis.Offer] {
	return diagnosis.Read[[]diagnosis.Offer]{Missing: diagnosis.Missing{Kind: diagnosis.NotAsked, Reason: "nothing requests one"}}
}

func healthyNetwork() diagnosis.Network {
	gateway := diagnosis.Router{ID: "router", Name: "router"}
	gateway.Gateway = &struct {
		NetworkID string `json:"network_id"`
	}{externalNet}
	ports := []diagnosis.Port{
		{ID: "port-node", DeviceID: server, DeviceOwner: "compute:nova", FixedIPs: []diagnosis.IP{{SubnetID: vipSubnet, Address: "10.0.0.5"}}, SecurityGroups: []string{"group"},
			AddressPairs: []routes.AddressPair{{Address: "10.244.0.0/24"}}},
		{ID: "port-router", DeviceID: "router", DeviceOwner: "network:ha_router_interface", FixedIPs: []diagnosis.IP{{SubnetID: vipSubnet, Address: "10.0.0.1"}}},
		{ID: "port-vip", Name: "octavia-lb-lb-1", FixedIPs: []diagnosis.IP{{SubnetID: vipSubnet, Address: "10.0.0.100"}}, LoadBalancerID: "lb-1"},
	}
	prefix, tcp := "10.0.0.0/24", "tcp"
	first, last := firstNodePort, lastNodePort
	quota := map[string]diagnosis.Quota{}
	for _, k := range neutronKinds {
		quota[k.name] = diagnosis.Quota{Limit: 10, Used: 1}
	}
	return diagnosis.Network{
		Networks: diagnosis.Value([]diagnosis.Net{{ID: vipNetwork, Name: "vips"}, {ID: otherNet, Name: "other"}, {ID: externalNet, Name: "public", External: true, Subnets: []string{"subnet-public"}}}),
		Subnets: diagnosis.Value([]diagnosis.Subnet{
			{ID: vipSubnet, Name: "vips", NetworkID: vipNetwork, IPVersion: 4, CIDR: "10.0.0.0/24", Pools: []diagnosis.Range{{Start: "10.0.0.100", End: "10.0.0.199"}}},
			{ID: sixSubnet, Name: "six", NetworkID: vipNetwork, IPVersion: 6, CIDR: "fd00::/64", Pools: []diagnosis.Range{{Start: "fd00::2", End: "fd00::ffff:ffff:ffff:ffff"}}},
			{ID: otherSubnet, Name: "other", NetworkID: otherNet, IPVersion: 4, CIDR: "10.1.0.0/24"},
		}),
		Ports: diagnosis.Value(ports), InVIPNetworks: diagnosis.Value(ports), Routers: diagnosis.Value([]diagnosis.Router{gateway}),
		Groups: diagnosis.Value([]diagnosis.Group{{ID: "group", Name: "nodes", Rules: []diagnosis.Rule{
			{Direction: "ingress", EtherType: "IPv4", Protocol: &tcp, PortMin: &first, PortMax: &last, RemoteIPPrefix: &prefix},
		}}}),
		Availability: diagnosis.Value([]diagnosis.Availability{}), Quota: diagnosis.Value(quota),
		PodRouter:    diagnosis.Value(&routes.Router{ID: "router", Routes: []routes.Route{{Destination: "10.244.0.0/24", NextHop: "10.0.0.5"}}}),
		AtomicRoutes: diagnosis.Value(true),
	}
}

func healthyCluster() diagnosis.Cluster {
	written := metav1.NewTime(noon.Add(-time.Hour))
	web := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web", Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: othercontroller.OwnManager, Subresource: "status", Time: &written, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:loadBalancer":{}}}`)}}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server, PodCIDRs: []string{"10.244.0.0/24"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}}}}
	return diagnosis.Cluster{
		Version: diagnosis.Value("v1.36.3"), UID: diagnosis.Value("cluster"), User: diagnosis.Value("system:serviceaccount:kube-octavia:kube-octavia"), Services: diagnosis.Value([]corev1.Service{web}), Nodes: diagnosis.Value([]corev1.Node{node}),
		Refused: diagnosis.Value([]diagnosis.Right{}), OCCM: diagnosis.Value[*othercontroller.Lease](nil),
		Workloads: diagnosis.Value([]othercontroller.Workload{}), Instances: diagnosis.Value([]othercontroller.Lease{}),
		Own: diagnosis.Value(&othercontroller.Lease{Holder: "pod-1", Renewed: noon.Add(-3 * time.Second)}), OwnLease: othercontroller.LeaseName{Namespace: "kube-octavia", Name: "kube-octavia"},
	}
}

// another adds a Service without a load balancer.
func another(f *diagnosis.Facts, edit func(*corev1.Service)) {
	s := f.Cluster.Services.Value[0].DeepCopy()
	s.Name, s.UID, s.Annotations, s.ManagedFields = "new", types.UID("uid-new"), map[string]string{}, nil
	s.Spec.Ports[0].NodePort = 30081
	if edit != nil {
		edit(s)
	}
	f.Cluster.Services.Value = append(f.Cluster.Services.Value, *s)
}

// set changes the settings of [LoadBalancer].
func set(edit func(*config.LoadBalancer)) func(*diagnosis.Facts) {
	return func(f *diagnosis.Facts) { edit(&f.Config.Value.LoadBalancer) }
}

// login changes the login.
func login(edit func(*diagnosis.Login)) func(*diagnosis.Facts) {
	return func(f *diagnosis.Facts) { edit(&f.Cloud.Login.Value) }
}
