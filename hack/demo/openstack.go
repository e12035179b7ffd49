// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/test/netns"
	"github.com/kube-octavia/kube-octavia/test/node"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// The scripts that start and stop a real OpenStack; the demo runs in the repository's root.
const (
	openstackScripts = "hack/openstack"
	openstackState   = ".cache/openstack/ovn"
)

// real is an OpenStack from Debian's packages on this machine, with provider ovn and real packets
// between network namespaces. If it already runs, it is used as it is and keeps running.
type real struct {
	*openstack.Cloud
	state string
	// ours is true if the demo has started it and must stop it.
	ours bool
}

func (c *real) what() string { return "real, from Debian's packages, with OVN" }

func (c *real) start(ctx context.Context, p *printer) (err error) {
	c.state = os.Getenv("OPENSTACK_STATE")
	if c.state == "" {
		c.state = openstackState
	}
	c.state, err = filepath.Abs(c.state)
	if err != nil {
		return err
	}
	if _, err := c.script(ctx, "status.sh"); err != nil {
		c.ours = true
		p.note("starting it: about 30 s, or a few minutes if its packages have to be installed")
		output, err := c.script(ctx, "up.sh")
		if err != nil {
			return fmt.Errorf("start OpenStack: %w:\n%s", err, output)
		}
	}
	c.Cloud, err = openstack.Load(c.state)
	if err != nil {
		return err
	}
	if c.DataPlane == nil {
		return fmt.Errorf("the OpenStack of %s has no data plane: start it with OPENSTACK_PROVIDER=ovn OPENSTACK_DATAPLANE=1", c.state)
	}
	return nil
}

// script runs a script of hack/openstack for the demo's cloud.
func (c *real) script(ctx context.Context, name string) (output string, err error) {
	command := exec.CommandContext(ctx, filepath.Join(openstackScripts, name))
	command.Env = append(os.Environ(), "OPENSTACK_STATE="+c.state, "OPENSTACK_PROVIDER=ovn", "OPENSTACK_DATAPLANE=1")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	return strings.TrimSpace(out.String()), err
}

func (c *real) authURL() string   { return c.AuthURL }
func (c *real) cloudConf() string { return c.CloudConf(c.AuthURL) }

func (c *real) clientConfig() (file, name string) {
	return filepath.Join(c.state, "out", "clouds.yaml"), "k8s"
}

func (c *real) node(i int) (node.Node, error) {
	names := slices.Sorted(maps.Keys(c.Nodes))
	if i > len(names) {
		return node.Node{}, fmt.Errorf("the cloud has only %d servers: start it with OPENSTACK_SERVERS=%d", len(names), i)
	}
	server := c.Nodes[names[i-1]]
	return node.Node{Name: nodeName(i), Address: server.Addresses[0], ServerID: server.ID, Namespace: c.DataPlane.NodeNamespaces[names[i-1]]}, nil
}

func (c *real) podNetwork() string   { return c.DataPlane.PodsNamespace }
func (c *real) podNetworkID() string { return c.PodNetwork }

func (c *real) podPorts() (all []node.PodPort) {
	for _, p := range c.DataPlane.Pods {
		all = append(all, node.PodPort(p))
	}
	return all
}

// builds returns false: with OVN a load balancer exists when its create is answered.
func (c *real) builds() bool { return false }

func (c *real) outside() string { return "ip netns exec " + c.DataPlane.OutsideNamespace + " " }

// terminatesTLS returns false: provider ovn does not process the content of connections.
func (c *real) terminatesTLS() bool { return false }

func (c *real) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = netns.In(c.DataPlane.OutsideNamespace, func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.DataPlane.InternetAddress.AsSlice()}}
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (c *real) close() error {
	if !c.ours {
		return nil
	}
	if output, err := c.script(context.Background(), "down.sh"); err != nil {
		return fmt.Errorf("stop OpenStack: %w:\n%s", err, output)
	}
	return nil
}
