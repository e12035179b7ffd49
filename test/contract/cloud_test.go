// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	simulated "github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

var (
	openstackDir = flag.String("openstack", "", "state directory of a real OpenStack that hack/openstack runs; empty: the simulator")
	playing      = flag.String("release", string(newest), "release of OpenStack that the simulator plays: 2022.2, 2025.1 or newest")
	record       = flag.Bool("record", false, "record the answers of the real OpenStack in testdata")
)

// The users. k8s is an ordinary member of the project k8s, reader may only read
// there, other is a member of another project.
const (
	k8s    = "k8s"
	reader = "k8s-reader"
	other  = "other"
	admin  = "admin"
)

// cloud is the cloud on which a case runs.
type cloud struct {
	// simulated is whether the cloud is the simulator. Only code that waits or cleans up may depend
	// on it, not a case.
	simulated bool
	// release is what the cloud runs or simulates.
	release release
	// hold keeps the changes of a load balancer from ending until the returned
	// function is called. A real cloud holds those that begin afterwards and name
	// the load balancer; others take their time.
	hold func(loadBalancer string) (release func() error, err error)
	// makeTrunk joins a port to a parent port, as VLAN 101, until the test ends.
	makeTrunk func(c *try, parent, sub string) (id string)
	// servers makes servers and changes them. All of it has happened when a function
	// returns.
	servers serverChanges
	// AuthURL ends in /v3.
	AuthURL, Region string
	Passwords       map[string]string // by user
	Projects        map[string]string // ids by project: k8s, other, admin
	Network, Subnet, SubnetV6,
	PublicNetwork string
	PublicSubnets []string
	Router        string
	// Servers are ids by name.
	Servers map[string]string
	// Image and Flavor are what a server can be made of.
	Image, Flavor string
}

// theCloud is the one that this run of the suite is about.
var theCloud *cloud

func TestMain(m *testing.M) {
	flag.Parse()
	if *record && *openstackDir == "" {
		fmt.Fprintln(os.Stderr, "-record needs -openstack: answers are recorded from a real cloud only")
		os.Exit(2)
	}
	var stop func() error
	var err error
	if *openstackDir == "" {
		theCloud, stop, err = startSimulator(*playing)
	} else {
		theCloud, err = loadReal(*openstackDir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(closing{m, stop})
}

// closing stops the simulator after the tests and before the check for leaks.
type closing struct {
	m    *testing.M
	stop func() error
}

// Run runs the tests.
func (c closing) Run() int {
	code := c.m.Run()
	if c.stop == nil {
		return code
	}
	if err := c.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// startSimulator starts one that simulates the release, with the API versions of that.
func startSimulator(name string) (*cloud, func() error, error) {
	playing, err := parseRelease(name)
	if err != nil {
		return nil, nil, err
	}
	var plays simulated.Release
	if err := plays.UnmarshalText([]byte(name)); err != nil {
		return nil, nil, err
	}
	sim, err := cloudsim.Start(cloudsim.Options{
		Release:    plays,
		APIVersion: strings.TrimPrefix(newestVersions[playing].octavia, "v"),
		BuildTime:  100 * time.Millisecond, UpdateTime: 20 * time.Millisecond, DeleteTime: 20 * time.Millisecond,
		Nodes: []cloudsim.Node{{Name: "node-1"}, {Name: "node-2"}, {Name: "node-3"}},
		// The networks and the quotas are those of hack/openstack.
		PrivateCIDR: "10.0.0.0/24", PublicCIDR: "172.24.4.0/24",
		Neutron: neutron.Options{MaxPage: 1000, Quotas: map[string]int{
			"network": 100, "subnet": 100, "port": 500, "router": 10, "floatingip": 50, "security_group": 100, "security_group_rule": 1000,
		}},
		Octavia: octavia.Options{DefaultQuota: &octavia.Quota{LoadBalancers: 100, Listeners: 500, Pools: 500, Members: 5000, HealthMonitors: 500}},
	})
	if err != nil {
		return nil, nil, err
	}
	ids := sim.IDs()
	second, err := addPublicSubnet(sim)
	if err != nil {
		return nil, nil, errors.Join(err, sim.Close())
	}
	c := &cloud{
		simulated: true, release: playing, AuthURL: sim.AuthURL() + "/v3", Region: cloudsim.Region,
		Passwords: map[string]string{},
		Projects:  map[string]string{k8s: ids.Project, other: ids.OtherProject, admin: ids.AdminProject},
		Network:   ids.PrivateNetwork, Subnet: ids.PrivateSubnet, SubnetV6: ids.PrivateSubnetV6,
		PublicNetwork: ids.PublicNetwork, PublicSubnets: []string{ids.PublicSubnet, second}, Router: ids.Router,
		Servers: map[string]string{},
	}
	for _, user := range []string{k8s, reader, other, admin} {
		c.Passwords[user] = sim.CredentialsOf(user).Password
	}
	for _, s := range sim.Nova().Servers() {
		c.Servers[s.Name] = s.ID
	}
	c.makeTrunk, c.servers = simulatedTrunk(sim), simulatedServers(sim)
	c.hold = func(lb string) (func() error, error) {
		sim.Octavia().HoldPending(lb)
		return func() error { sim.Octavia().Release(lb); return nil }, nil
	}
	return c, sim.Close, nil
}

// addPublicSubnet gives the public network a second subnet, with tags, and lets
// the project k8s see the network's subnets, which tenants do not.
func addPublicSubnet(sim *cloudsim.Cloud) (id string, err error) {
	ids := sim.IDs()
	id, err = sim.Neutron().AddSubnet(neutron.SubnetSpec{
		Name: "public-subnet-2", ProjectID: ids.AdminProject, NetworkID: ids.PublicNetwork, Tags: []string{"lb-public"},
		CIDR: netip.MustParsePrefix("172.24.5.0/24"),
	})
	return id, errors.Join(err, sim.Neutron().ShareNetwork(ids.PublicNetwork, ids.Project))
}

// loadReal returns the cloud that hack/openstack brought up.
func loadReal(dir string) (*cloud, error) {
	real, err := openstack.Load(dir)
	if err != nil {
		return nil, err
	}
	played, err := parseRelease(real.Release)
	if err != nil {
		return nil, err
	}
	c := &cloud{
		release: played,
		AuthURL: real.AuthURL, Region: real.Region,
		Passwords: map[string]string{k8s: real.Password, reader: real.ReaderPassword, other: real.OtherPassword, admin: real.AdminPassword},
		Projects:  map[string]string{k8s: real.Project},
		Network:   real.Network, Subnet: real.Subnet, SubnetV6: real.SubnetV6,
		PublicNetwork: real.PublicNetwork, PublicSubnets: real.PublicSubnets, Router: real.Router, Servers: map[string]string{}, Image: real.Image, Flavor: real.Flavor,
	}
	for name, n := range real.Nodes {
		c.Servers[name] = n.ID
	}
	c.makeTrunk, c.servers = realTrunk, realServers(real.LargerFlavor)
	c.hold = func(lb string) (func() error, error) {
		held := filepath.Join(dir, "run", "hold", lb)
		return func() error { return os.Remove(held) }, os.WriteFile(held, nil, 0o600)
	}
	return c, nil
}
