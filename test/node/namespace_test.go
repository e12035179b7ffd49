// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/netns"
	"github.com/kube-octavia/kube-octavia/test/node"
)

var (
	nodeAddress   = netip.MustParseAddr("192.0.2.11")
	clientAddress = netip.MustParseAddr("198.51.100.7")
)

// networkNamespace makes one of the test's own, with these commands of ip(8)
// carried out in it.
func networkNamespace(t *testing.T, suffix string, commands ...string) string {
	t.Helper()
	name := fmt.Sprintf("kotest-%d-%s", os.Getpid(), suffix)
	ip(t, "netns add "+name)
	t.Cleanup(func() { ip(t, "netns delete "+name) })
	for _, c := range append([]string{"link set lo up"}, commands...) {
		ip(t, "-n "+name+" "+c)
	}
	return name
}

func ip(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", command, err, out)
	}
}

// newNamespacedFixture has one node, in a network namespace, and a client there.
func newNamespacedFixture(t *testing.T) *fixture {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip(8): install iproute2")
	}
	pods := networkNamespace(t, "pods", "route add local 0.0.0.0/0 dev lo")
	f := &fixture{t: t, namespace: kubetest.Namespace(t)}
	f.a = node.Node{
		Name: f.namespace + "-a", Address: nodeAddress,
		Namespace: networkNamespace(t, "a",
			"address add "+nodeAddress.String()+"/32 dev lo", "address add "+clientAddress.String()+"/32 dev lo"),
	}
	nodes, err := node.New(t.Context(), node.Options{Config: kubetest.Cluster(t).Config(), PodNetwork: pods})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	f.nodes = nodes
	if err := nodes.Add(t.Context(), f.a); err != nil {
		t.Fatal(err)
	}
	f.pod("one", f.a)
	return f
}

// within makes a client whose connections begin in the namespace, at the
// client's address.
func within(namespace string) *http.Client {
	dial := func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = netns.In(namespace, func() (err error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientAddress.AsSlice()}}
			c, err = d.DialContext(ctx, network, address)
			return err
		})
		return c, err
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

func get(client *http.Client, url string) (status int, body string, err error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}

func TestNodeInANamespaceAnswersThereAndNowhereElse(t *testing.T) {
	f := newNamespacedFixture(t)
	svc := f.service(nil)
	client := within(f.a.Namespace)
	var body string
	eventually(t, "an answer in the namespace", func() (ok bool) {
		var err error
		_, body, err = get(client, url(f.a, svc))
		return err == nil
	})
	want := fmt.Sprintf(`{"pod":"one","node":"%s","client":"%s"}`+"\n", f.a.Name, nodeAddress)
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("the Pod says (-want +is): %s", d)
	}
	at := netip.AddrPortFrom(nodeAddress, uint16(svc.Spec.Ports[0].NodePort))
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at.Port()))
	if err != nil {
		t.Errorf("the port is taken outside too: %v", err)
	} else {
		_ = ln.Close()
	}
	if err := f.nodes.Crash(f.a.Name); err != nil {
		t.Fatal(err)
	}
	if _, body, err := get(client, url(f.a, svc)); err == nil {
		t.Errorf("the crashed node answers %s", body)
	}
}

func TestPodOfANamespacedNodeSeesTheClientWithThePolicyLocal(t *testing.T) {
	f := newNamespacedFixture(t)
	svc := f.service(local)
	client := within(f.a.Namespace)
	want := fmt.Sprintf(`{"pod":"one","node":"%s","client":"%s"}`+"\n", f.a.Name, clientAddress)
	eventually(t, "an answer that names the client", func() bool {
		_, body, err := get(client, url(f.a, svc))
		return err == nil && body == want
	})
	eventually(t, "a healthy health check node port", func() bool {
		status, _, err := get(client, fmt.Sprintf("http://%s:%d", nodeAddress, svc.Spec.HealthCheckNodePort))
		return err == nil && status == http.StatusOK
	})
}

func TestUDPReachesThePodOfANamespacedNode(t *testing.T) {
	f := newNamespacedFixture(t)
	svc := f.service(local)
	var c net.Conn
	err := netns.In(f.a.Namespace, func() (err error) {
		c, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(clientAddress, 0)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(nodeAddress, uint16(svc.Spec.Ports[1].NodePort))))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := fmt.Sprintf(`{"pod":"one","node":"%s","client":"%s","data":"hello"}`+"\n", f.a.Name, clientAddress)
	buffer := make([]byte, 1024)
	eventually(t, "an answer that names the client", func() bool {
		if _, err := io.WriteString(c, "hello"); err != nil {
			return false // nothing listens yet
		}
		n, err := c.Read(buffer)
		return err == nil && string(buffer[:n]) == want
	})
}

func TestUnservedNodeIsRegisteredAndDoesNotAnswer(t *testing.T) {
	f := newFixture(t)
	nd := node.Node{Name: f.namespace + "-c", Address: netip.MustParseAddr("192.0.2.1"), Unserved: true}
	if err := f.nodes.Add(t.Context(), nd); err != nil {
		t.Fatal(err)
	}
	f.pod("one", nd)
	svc := f.service(nil)
	f.waitForPods(url(f.a, svc), "one")
}
