// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/netns"
)

// podPort is where Pods of the test below serve.
const podPort = "8080"

func TestPodsReachEachOtherThroughTheRouter(t *testing.T) {
	if *stateDir == "" {
		t.Skip("with packets through a real Neutron only: routers of the simulator forward nothing")
	}
	s := newRouteStage(t, cloudsim.Options{})
	c := s.cloud.backend.(*real)
	if c.DataPlane == nil {
		t.Skip("packets do not flow in this cloud")
	}
	others := route{"192.168.99.0/24", c.Nodes["node-3"].Addresses[0].String()}
	before := s.router().Routes
	s.setRoutes(append(before, others))

	s.admitPods(c.NodeSecurityGroup)

	pods := map[string]string{"node-1": "10.244.1.1", "node-2": "10.244.2.1"}
	routes := map[string]route{}
	for name, address := range pods {
		c.runPodAt(name, address)
		cidr := address[:len(address)-1] + "0/24"
		s.register(name, func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = cidr, []string{cidr} })
		routes[name] = route{cidr, c.Nodes[name].Addresses[0].String()}
	}
	s.waitForRoutes(append(before, others, routes["node-1"], routes["node-2"])...)
	s.eventually(func() error { return c.visit("node-1", pods["node-1"], pods["node-2"]) })
	s.eventually(func() error { return c.visit("node-2", pods["node-2"], pods["node-1"]) })

	if err := s.client.CoreV1().Nodes().Delete(t.Context(), "node-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.waitForRoutes(append(before, others, routes["node-1"])...)
	s.eventually(func() error {
		if err := c.visit("node-1", pods["node-1"], pods["node-2"]); err != nil {
			return nil
		}
		return errors.New("a Pod of a Node that was removed still answers")
	})
	s.waitForRoutes(append(before, others, routes["node-1"])...)
	if err := s.client.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.waitForRoutes(append(before, others)...)
}

// admitPods lets the security group of the nodes admit packets from Pods, as an operator must.
func (s *stage) admitPods(group string) {
	s.t.Helper()
	var answer struct {
		Rule struct{ ID string } `json:"security_group_rule"`
	}
	s.cloud.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": group, "direction": "ingress", "ethertype": "IPv4", "remote_ip_prefix": "10.244.0.0/16",
	}}, &answer)
	s.t.Cleanup(func() { s.cloud.neutron(http.MethodDelete, "security-group-rules/"+answer.Rule.ID, nil, nil) })
}

// runPodAt runs a Pod with the address on the node: a server that answers with the address of its client.
func (c *real) runPodAt(node, address string) {
	c.t.Helper()
	namespace := c.DataPlane.NodeNamespaces[node]
	ip := func(verb string) error {
		out, err := exec.Command("ip", "-n", namespace, "address", verb, address+"/32", "dev", "lo").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip address %s %s: %w: %s", verb, address, err, out)
		}
		return nil
	}
	if err := ip("add"); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := ip("delete"); err != nil {
			c.t.Error(err)
		}
	})
	var listener net.Listener
	err := netns.In(namespace, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, podPort))
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = io.WriteString(w, host)
	}), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	c.t.Cleanup(func() {
		if err := server.Close(); err != nil {
			c.t.Error(err)
		}
		<-ended
	})
}

// visit makes a request from a Pod on a node to another one, and checks whose address the other one sees.
func (c *real) visit(node, from, to string) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	var conn net.Conn
	err := netns.In(c.DataPlane.NodeNamespaces[node], func() (err error) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(to, podPort))
		return err
	})
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}, Timeout: 3 * time.Second}
	response, err := client.Get("http://" + net.JoinHostPort(to, podPort))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	seen, err := io.ReadAll(response.Body)
	if err != nil || string(seen) != from {
		return fmt.Errorf("the Pod %s saw a client at %q, not %s: %w", to, seen, from, err)
	}
	return nil
}
