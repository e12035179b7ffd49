// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"gopkg.in/gcfg.v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("still not: " + what)
		}
		time.Sleep(5 * time.Millisecond) // between two checks
	}
}

// balancers makes a session's clients of Octavia and Neutron.
func balancers(t testing.TB, c *cloudsim.Cloud) (octavia, neutron *gophercloud.ServiceClient) {
	t.Helper()
	p := mustLogin(t, passwordOf(c, cloudsim.UserK8s))
	return client(t, p, openstack.NewLoadBalancerV2), client(t, p, openstack.NewNetworkV2)
}

// front is the port of listeners in these tests. No program on 0.0.0.0 uses it, because it would
// also use it on 127.0.0.1.
var front = func() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}()

// create makes a load balancer with one TCP listener for the backend and waits
// until it is ACTIVE.
func create(t *testing.T, octavia *gophercloud.ServiceClient, subnet string, backend netip.AddrPort) *loadbalancers.LoadBalancer {
	t.Helper()
	lb, err := loadbalancers.Create(t.Context(), octavia, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: subnet,
		Listeners: []listeners.CreateOpts{{
			Name: "http", Protocol: listeners.ProtocolTCP, ProtocolPort: front,
			DefaultPool: &pools.CreateOpts{
				Name: "http", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: backend.Addr().String(), ProtocolPort: int(backend.Port())}},
			},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	becomesActive(t, octavia, lb.ID)
	return lb
}

// backend sends its name to each client.
func backend(t *testing.T, address netip.Addr, name string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, name)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// ask connects and returns the answer, or "" if there is none.
func ask(address string) string {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, strconv.Itoa(front)), 5*time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func TestTrafficFlowsThroughVIPAndFloatingIPForAsLongAsTheyExist(t *testing.T) {
	c := start(t, cloudsim.Options{DataPlane: true, Nodes: []cloudsim.Node{{Name: "node-1"}}})
	octavia, neutron := balancers(t, c)
	node := c.Nova().Servers()[0].Interfaces[0].FixedIPs[0].Address
	lb := create(t, octavia, c.IDs().PrivateSubnet, backend(t, node, "node-1"))
	eventually(t, "an answer through the VIP", func() bool { return ask(lb.VipAddress) == "node-1" })

	fip, err := floatingips.Create(t.Context(), neutron, floatingips.CreateOpts{FloatingNetworkID: c.IDs().PublicNetwork, PortID: lb.VipPortID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(fip.FloatingIP); got != "node-1" {
		t.Errorf("the floating IP answers %q", got)
	}
	if _, err := floatingips.Update(t.Context(), neutron, fip.ID, floatingips.UpdateOpts{PortID: new(string)}).Extract(); err != nil {
		t.Fatal(err)
	}
	if got := ask(fip.FloatingIP); got != "" {
		t.Errorf("the floating IP that leads nowhere answers %q", got)
	}
	if _, err := floatingips.Update(t.Context(), neutron, fip.ID, floatingips.UpdateOpts{PortID: &lb.VipPortID}).Extract(); err != nil {
		t.Fatal(err)
	}
	if got := ask(fip.FloatingIP); got != "node-1" {
		t.Errorf("the floating IP answers %q", got)
	}

	if err := loadbalancers.Delete(t.Context(), octavia, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "silence on VIP and floating IP", func() bool { return ask(lb.VipAddress) == "" && ask(fip.FloatingIP) == "" })
	eventually(t, "an empty Octavia", func() bool { return c.State()[cloudsim.LoadBalancer]["loadbalancers"] == 0 })
	if left, err := floatingips.Get(t.Context(), neutron, fip.ID).Extract(); err != nil || left.PortID != "" {
		t.Errorf("the floating IP must stay, leading nowhere: %+v %v", left, err)
	}
	if _, err := ports.Get(t.Context(), neutron, lb.VipPortID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("the VIP's port must go: %v", err)
	}
}

func TestListenerOnAPortThatIsInUseIsInError(t *testing.T) {
	c := start(t, cloudsim.Options{DataPlane: true, Nodes: []cloudsim.Node{{Name: "node-1"}}})
	octavia, _ := balancers(t, c)
	node := c.Nova().Servers()[0].Interfaces[0].FixedIPs[0].Address
	lb := create(t, octavia, c.IDs().PrivateSubnet, backend(t, node, "node-1"))
	other, err := net.Listen("tcp", net.JoinHostPort(lb.VipAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := listeners.Create(t.Context(), octavia, listeners.CreateOpts{
		Name: "taken", LoadbalancerID: lb.ID, Protocol: listeners.ProtocolTCP, ProtocolPort: other.Addr().(*net.TCPAddr).Port,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	status := func() string {
		now, err := loadbalancers.Get(t.Context(), octavia, lb.ID).Extract()
		if err != nil {
			t.Fatal(err)
		}
		one, err := listeners.Get(t.Context(), octavia, made.ID).Extract()
		if err != nil {
			t.Fatal(err)
		}
		return now.ProvisioningStatus + ", " + now.OperatingStatus + " and " + one.OperatingStatus
	}
	eventually(t, "load balancer and listener in ERROR", func() bool { return status() == "ACTIVE, ERROR and ERROR" })

	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	text := "looked at again"
	if _, err := loadbalancers.Update(t.Context(), octavia, lb.ID, loadbalancers.UpdateOpts{Description: &text}).Extract(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "load balancer and listener ONLINE", func() bool { return status() == "ACTIVE, ONLINE and ONLINE" })
}

func TestTwoCloudsShareNoAddress(t *testing.T) {
	one, two := start(t, cloudsim.Options{DataPlane: true}), start(t, cloudsim.Options{DataPlane: true})
	octaviaOne, _ := balancers(t, one)
	octaviaTwo, _ := balancers(t, two)
	here := netip.MustParseAddr("127.0.0.1")
	vipOne := create(t, octaviaOne, one.IDs().PrivateSubnet, backend(t, here, "one")).VipAddress
	vipTwo := create(t, octaviaTwo, two.IDs().PrivateSubnet, backend(t, here, "two")).VipAddress
	if vipOne == vipTwo {
		t.Errorf("both have %s", vipOne)
	}
	eventually(t, "an answer of each cloud's own", func() bool { return ask(vipOne) == "one" && ask(vipTwo) == "two" })
}

func TestNodesGetTheLowAddressesAndVIPsTheHighOnes(t *testing.T) {
	c := start(t, cloudsim.Options{PrivateCIDR: "127.8.0.0/17", PublicCIDR: "127.8.128.0/17", Nodes: []cloudsim.Node{{Name: "a"}, {Name: "b", Addresses: []netip.Addr{netip.MustParseAddr("127.8.0.11")}}, {Name: "c"}}})
	var nodes []string
	for _, server := range c.Nova().Servers() {
		nodes = append(nodes, server.Interfaces[0].FixedIPs[0].Address.String())
	}
	if diff := cmp.Diff([]string{"127.8.0.10", "127.8.0.11", "127.8.0.12"}, nodes); diff != "" {
		t.Error(diff)
	}
	octavia, _ := balancers(t, c)
	lb := create(t, octavia, c.IDs().PrivateSubnet, netip.MustParseAddrPort("127.8.0.10:80"))
	if vip := netip.MustParseAddr(lb.VipAddress); !netip.MustParsePrefix("127.8.64.0/18").Contains(vip) {
		t.Errorf("the VIP is %s", vip)
	}
}

func TestCloudConfMatchesTheCloud(t *testing.T) {
	c := start(t, cloudsim.Options{})
	var conf struct {
		Global struct {
			AuthURL  string `gcfg:"auth-url"`
			Username string
			Password string
			Tenant   string `gcfg:"tenant-id"`
			Domain   string `gcfg:"domain-name"`
			Region   string
		}
		LoadBalancer struct {
			Network string `gcfg:"floating-network-id"`
			Subnet  string `gcfg:"subnet-id"`
		}
	}
	if err := gcfg.ReadStringInto(&conf, c.CloudConf()); err != nil {
		t.Fatal(err)
	}
	g := conf.Global
	mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: g.AuthURL, Username: g.Username, Password: g.Password, DomainName: g.Domain, Scope: &gophercloud.AuthScope{ProjectID: g.Tenant}})
	if conf.LoadBalancer.Network != c.IDs().PublicNetwork || conf.LoadBalancer.Subnet != c.IDs().PrivateSubnet || g.Region != cloudsim.Region {
		t.Errorf("got %+v", conf)
	}
}

func TestCloseEndsPendingRequestsAndChanges(t *testing.T) {
	c, err := cloudsim.Start(cloudsim.Options{DataPlane: true, BuildTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	octavia, neutron := balancers(t, c)
	if _, err := loadbalancers.Create(t.Context(), octavia, loadbalancers.CreateOpts{VipSubnetID: c.IDs().PrivateSubnet}).Extract(); err != nil {
		t.Fatal(err)
	}
	c.Faults().Add(wire.Fault{Service: cloudsim.Network, Kind: wire.FaultLatency, Delay: time.Hour})
	c.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Kind: wire.FaultHang})
	ended := make(chan error, 2)
	go func() {
		_, err := ports.List(neutron, nil).AllPages(t.Context())
		ended <- err
	}()
	go func() {
		_, err := loadbalancers.List(octavia, nil).AllPages(t.Context())
		ended <- err
	}()
	eventually(t, "both requests held", func() bool { return c.Faults().Held() == 1 && len(c.Recorder().Calls()) > 0 })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a request was answered")
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestStartRefusesInvalidOptions(t *testing.T) {
	for name, o := range map[string]cloudsim.Options{
		"listen beyond loopback": {Listen: "0.0.0.0"},
		"listen nowhere":         {Listen: "nonsense"},
		"one CIDR of two":        {PrivateCIDR: "127.9.0.0/17"},
		"too small a CIDR":       {PrivateCIDR: "127.9.0.0/30", PublicCIDR: "127.9.128.0/17"},
		"unknown provider":       {Provider: "nonsense"},
		"unknown version":        {APIVersion: "9.9"},
		"node out of the subnet": {Nodes: []cloudsim.Node{{Name: "x", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := cloudsim.Start(o); err == nil {
				t.Error("started")
				_ = c.Close()
			}
		})
	}
}
