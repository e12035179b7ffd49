// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// cloud is the OpenStack of the demo.
type cloud interface {
	// what describes it.
	what() string
	// start brings it up.
	start(ctx context.Context, p *printer) error
	authURL() string
	// cloudConf is the content of a cloud.conf for it; its last section is LoadBalancer.
	cloudConf() string
	// clientConfig is the file for the openstack client, and the name of the
	// cloud in it.
	clientConfig() (file, name string)
	// node is the i-th node of the cluster, beginning with 1: a server of the
	// cloud's.
	node(i int) (node.Node, error)
	// podNetwork is the network namespace of the Pods; empty for loopback.
	podNetwork() string
	// podPorts are ports of the cloud for Pods; none where a load balancer reaches Pods on loopback.
	podPorts() []node.PodPort
	// podNetworkID is the cloud's network of these ports, or empty.
	podNetworkID() string
	// outside is what stands before a command that is run outside of the cloud, or empty.
	outside() string
	// terminatesTLS is whether its load balancers can.
	terminatesTLS() bool
	// dial opens a connection from outside of the cloud.
	dial(ctx context.Context, network, address string) (net.Conn, error)
	// builds is whether a load balancer takes so long that it is seen being built.
	builds() bool
	close() error
}

// newCloud is the one of the name: "" for the simulated one, or "openstack". The
// files of the simulated one are in dir.
func newCloud(name, dir string) (cloud, error) {
	switch name {
	case "", "cloudsim":
		return &simulated{dir: dir}, nil
	case "openstack":
		return &real{}, nil
	}
	return nil, fmt.Errorf("CLOUD=%s: it is cloudsim or openstack", name)
}

// simulated is a cloud of cloudsim, with a data plane on loopback.
type simulated struct {
	*cloudsim.Cloud
	dir string
}

func (c *simulated) what() string { return "simulated, its load balancers really forward" }

func (c *simulated) start(context.Context, *printer) (err error) {
	c.Cloud, err = cloudsim.Start(cloudsim.Options{
		DataPlane: true, MemberAt: node.Loopback, BuildTime: buildTime, UpdateTime: updateTime, DeleteTime: deleteTime,
		Nodes: []cloudsim.Node{{Name: nodeName(1)}, {Name: nodeName(2)}},
	})
	if err != nil {
		return err
	}
	file, _ := c.clientConfig()
	return cloudsim.WriteFile(file, c.CloudsYAML())
}

func (c *simulated) authURL() string { return c.AuthURL() }

// cloudConf lets the controller open the NodePorts: the default security group admits nobody.
func (c *simulated) cloudConf() string {
	return c.CloudConf() + "manage-security-groups=true\n" // its last section is LoadBalancer
}

func (c *simulated) clientConfig() (file, name string) {
	return filepath.Join(c.dir, "clouds.yaml"), "cloudsim"
}

func (c *simulated) node(i int) (node.Node, error) {
	servers := c.Nova().Servers()
	at := slices.IndexFunc(servers, func(v nova.Server) bool { return v.Name == nodeName(i) })
	if at < 0 {
		return node.Node{}, fmt.Errorf("the cloud has no server %s", nodeName(i))
	}
	return node.Node{Name: nodeName(i), Address: servers[at].Interfaces[0].FixedIPs[0].Address, ServerID: servers[at].ID}, nil
}

func (c *simulated) podNetwork() string       { return "" }
func (c *simulated) podPorts() []node.PodPort { return nil }
func (c *simulated) podNetworkID() string     { return "" }
func (c *simulated) builds() bool             { return true }
func (c *simulated) outside() string          { return "" }
func (c *simulated) terminatesTLS() bool      { return true }

func (c *simulated) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

func (c *simulated) close() error {
	if c.Cloud == nil {
		return nil
	}
	return c.Close()
}
