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
	// what returns a description.
	what() string
	// start starts it.
	start(ctx context.Context, p *printer) error
	authURL() string
	// cloudConf returns a cloud.conf for it; its last section is LoadBalancer.
	cloudConf() string
	// clientConfig returns the configuration file of the openstack client, and the name of the
	// cloud in it.
	clientConfig() (file, name string)
	// node returns the i-th node of the cluster, counted from 1: a server in the cloud.
	node(i int) (node.Node, error)
	// podNetwork returns the network namespace of the Pods; empty means loopback.
	podNetwork() string
	// podPorts returns the cloud's ports for Pods; none if load balancers reach Pods on loopback.
	podPorts() []node.PodPort
	// podNetworkID returns the cloud's network of these ports, or "".
	podNetworkID() string
	// outside returns the prefix of commands that run outside of the cloud, or "".
	outside() string
	// terminatesTLS reports whether its load balancers can terminate TLS.
	terminatesTLS() bool
	// dial opens a connection from outside of the cloud.
	dial(ctx context.Context, network, address string) (net.Conn, error)
	// builds reports whether creating a load balancer takes so long that its pending status can be
	// observed.
	builds() bool
	close() error
}

// newCloud returns the cloud with the name: "" or "cloudsim" for the simulated one, or "openstack".
// The simulated one has its files in dir.
func newCloud(name, dir string) (cloud, error) {
	switch name {
	case "", "cloudsim":
		return &simulated{dir: dir}, nil
	case "openstack":
		return &real{}, nil
	}
	return nil, fmt.Errorf("CLOUD=%s: it is cloudsim or openstack", name)
}

// simulated is a cloudsim with a data plane on loopback.
type simulated struct {
	*cloudsim.Cloud
	dir string
}

func (c *simulated) what() string { return "simulated, with load balancers that forward real traffic" }

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

// cloudConf makes the controller open the NodePorts: the default security group admits no traffic.
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
