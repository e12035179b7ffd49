// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-octavia/kube-octavia/test/freeport"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/node"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// randomAddr returns a loopback address that no other process is likely to use.
func randomAddr() netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(15)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// fixture is a namespace of the test's own and two nodes, a and b.
type fixture struct {
	t         *testing.T
	namespace string
	nodes     *node.Nodes
	a, b      node.Node
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, namespace: kubetest.Namespace(t)}
	nodes, err := node.New(t.Context(), node.Options{Config: kubetest.Cluster(t).Config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	f.nodes = nodes
	f.a, f.b = f.add("a"), f.add("b")
	return f
}

// add adds a node whose name ends with suffix.
func (f *fixture) add(suffix string) node.Node {
	f.t.Helper()
	nd := node.Node{
		Name: f.namespace + "-" + suffix, Address: randomAddr(), ServerID: "server-" + suffix,
		Labels: map[string]string{"rack": suffix},
	}
	if err := f.nodes.Add(f.t.Context(), nd); err != nil {
		f.t.Fatal(err)
	}
	return nd
}

// pod runs a Pod with a TCP port and a UDP port.
func (f *fixture) pod(name string, on node.Node) *corev1.Pod {
	f.t.Helper()
	offset, err := freeport.Offset(0, 8080, 5353)
	if err != nil {
		f.t.Fatal(err)
	}
	pod, err := f.nodes.RunPod(f.t.Context(), node.Pod{
		Namespace: f.namespace, Name: name, Node: on.Name, Labels: map[string]string{"app": "web"},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: int32(8080 + offset), Protocol: corev1.ProtocolTCP},
			{Name: "dns", ContainerPort: int32(5353 + offset), Protocol: corev1.ProtocolUDP},
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return pod
}

// service creates a Service of type LoadBalancer for the Pods.
func (f *fixture) service(change func(*corev1.ServiceSpec)) *corev1.Service {
	f.t.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: f.namespace},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP},
				{Name: "dns", Port: 53, TargetPort: intstr.FromString("dns"), Protocol: corev1.ProtocolUDP},
			},
		},
	}
	if change != nil {
		change(&svc.Spec)
	}
	svc, err := kubetest.Client(f.t).CoreV1().Services(f.namespace).Create(f.t.Context(), svc, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return svc
}

func local(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }

// url returns where the Service's first port is on a node.
func url(nd node.Node, svc *corev1.Service) string {
	return fmt.Sprintf("http://%s:%d", nd.Address, svc.Spec.Ports[0].NodePort)
}

// ask makes one request on a connection of its own, from the address if it is
// valid.
func ask(from netip.Addr, url string) (node.Answer, error) {
	var d net.Dialer
	if from.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	c := http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: d.DialContext},
	}
	var a node.Answer
	resp, err := c.Get(url)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

// pods counts which Pods answer n requests.
func (f *fixture) pods(n int, url string) map[string]int {
	f.t.Helper()
	got := map[string]int{}
	for range n {
		a, err := ask(netip.Addr{}, url)
		if err != nil {
			f.t.Fatal(err)
		}
		got[a.Pod]++
	}
	return got
}

// waitForPods waits until the Pods that answer are these.
func (f *fixture) waitForPods(url string, want ...string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%s answered by %v", url, want), func() bool {
		got := map[string]bool{}
		for range 2 * max(len(want), 1) {
			a, err := ask(netip.Addr{}, url)
			if err != nil {
				return len(want) == 0
			}
			got[a.Pod] = true
		}
		for _, p := range want {
			if !got[p] {
				return false
			}
		}
		return len(got) == len(want)
	})
}
