// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/node"
)

func TestNodePortAnswersOnEveryNodeFromEveryPod(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	f.pod("one", f.a)
	f.pod("two", f.b)
	for _, nd := range []node.Node{f.a, f.b} {
		f.waitForPods(url(nd, svc), "one", "two")
		if diff := cmp.Diff(map[string]int{"one": 3, "two": 3}, f.pods(6, url(nd, svc))); diff != "" {
			t.Errorf("%s: %s", nd.Name, diff)
		}
		got, err := ask(randomAddr(), url(nd, svc))
		if err != nil {
			t.Fatal(err)
		}
		on := map[string]node.Node{"one": f.a, "two": f.b}[got.Pod]
		if diff := cmp.Diff(node.Answer{Pod: got.Pod, Node: on.Name, Client: nd.Address.String()}, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLocalPolicyAnswersOnlyWhereAPodIsAndKeepsTheSource(t *testing.T) {
	f := newFixture(t)
	svc := f.service(local)
	f.pod("one", f.a)
	f.waitForPods(url(f.a, svc), "one")
	from := randomAddr()
	got, err := ask(from, url(f.a, svc))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.Answer{Pod: "one", Node: f.a.Name, Client: from.String()}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := ask(netip.Addr{}, url(f.b, svc)); err == nil {
		t.Errorf("the node without a Pod answered: %+v", got)
	}
	f.pod("two", f.b)
	f.waitForPods(url(f.b, svc), "two")
	f.waitForPods(url(f.a, svc), "one")
}

func TestHealthCheckNodePortReportsWhetherThePodIsLocal(t *testing.T) {
	f := newFixture(t)
	svc := f.service(local)
	f.pod("one", f.a)
	f.waitForHealth(f.a, svc, 200, 1)
	f.waitForHealth(f.b, svc, 503, 0)

	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "one", false); err != nil {
		t.Fatal(err)
	}
	f.waitForHealth(f.a, svc, 503, 0)
	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "one", true); err != nil {
		t.Fatal(err)
	}
	f.waitForHealth(f.a, svc, 200, 1)

	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	if _, err := kubetest.Client(t).CoreV1().Services(f.namespace).Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the health check node port to close", func() bool {
		_, _, err := health(f.a, svc)
		return err != nil
	})
	f.waitForPods(url(f.b, svc), "one")
}

// health reads the health check node port.
func health(nd node.Node, svc *corev1.Service) (int, string, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := c.Get(fmt.Sprintf("http://%s:%d/healthz", nd.Address, svc.Spec.HealthCheckNodePort))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func (f *fixture) waitForHealth(nd node.Node, svc *corev1.Service, status, endpoints int) {
	f.t.Helper()
	want := fmt.Sprintf(`{"service":{"namespace":%q,"name":"web"},"localEndpoints":%d,"serviceProxyHealthy":true}`+"\n", f.namespace, endpoints)
	eventually(f.t, fmt.Sprintf("%s to answer %d %s", nd.Name, status, want), func() bool {
		got, body, err := health(nd, svc)
		return err == nil && got == status && body == want
	})
}

func TestUDPNodePortEchoes(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	f.pod("one", f.a)
	f.waitForPods(url(f.b, svc), "one")
	c, err := net.Dial("udp", netip.AddrPortFrom(f.b.Address, uint16(svc.Spec.Ports[1].NodePort)).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got node.Answer
	eventually(t, "an answer", func() bool {
		if _, err := io.WriteString(c, "hello"); err != nil {
			return false
		}
		c.SetReadDeadline(time.Now().Add(time.Second))
		return json.NewDecoder(c).Decode(&got) == nil
	})
	if diff := cmp.Diff(node.Answer{Pod: "one", Node: f.a.Name, Client: f.b.Address.String(), Data: "hello"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodePortFollowsPodsAndService(t *testing.T) {
	f := newFixture(t)
	f.pod("one", f.a)
	svc := f.service(nil)
	f.waitForPods(url(f.a, svc), "one")
	f.pod("two", f.b)
	f.waitForPods(url(f.a, svc), "one", "two")
	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "one", false); err != nil {
		t.Fatal(err)
	}
	f.waitForPods(url(f.a, svc), "two")
	if err := f.nodes.DeletePod(t.Context(), f.namespace, "two"); err != nil {
		t.Fatal(err)
	}
	f.waitForPods(url(f.a, svc))
	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "one", true); err != nil {
		t.Fatal(err)
	}
	f.waitForPods(url(f.a, svc), "one")
	if err := kubetest.Client(t).CoreV1().Services(f.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.waitForPods(url(f.a, svc))
}

func TestSessionAffinityKeepsAClientOnItsPod(t *testing.T) {
	f := newFixture(t)
	svc := f.service(func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP })
	f.pod("one", f.a)
	f.pod("two", f.b)
	eventually(t, "both Pods to have clients", func() bool {
		one, _ := ask(randomAddr(), url(f.a, svc))
		two, _ := ask(randomAddr(), url(f.a, svc))
		return one.Pod != "" && two.Pod != "" && one.Pod != two.Pod
	})
	from := randomAddr()
	first, err := ask(from, url(f.a, svc))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := ask(from, url(f.a, svc)); err != nil || again.Pod != first.Pod {
			t.Errorf("the client went from %s to %s (%v)", first.Pod, again.Pod, err)
		}
	}
}

func TestPodReadsAProxyHeader(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	f.pod("one", f.a)
	f.waitForPods(url(f.a, svc), "one")
	c, err := net.Dial("tcp", strings.TrimPrefix(url(f.a, svc), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	h := proxyproto.HeaderProxyFromAddrs(1, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}, c.RemoteAddr())
	if _, err := h.WriteTo(c); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "GET / HTTP/1.0\r\nX-Forwarded-For: 192.0.2.8\r\n\r\n")
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(all), "\r\n\r\n")
	var got node.Answer
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v in %q", err, all)
	}
	want := node.Answer{Pod: "one", Node: f.a.Name, Client: "192.0.2.7", Proxied: true, ForwardedFor: "192.0.2.8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodeObjectIsThatOfAHealthyNode(t *testing.T) {
	f := newFixture(t)
	obj, err := kubetest.Client(t).CoreV1().Nodes().Get(t.Context(), f.a.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := obj.Spec.ProviderID; got != "openstack:///server-a" {
		t.Errorf("providerID %q", got)
	}
	if len(obj.Spec.Taints) > 0 {
		t.Errorf("taints %v", obj.Spec.Taints)
	}
	if obj.Labels["rack"] != "a" || obj.Labels[corev1.LabelHostname] != f.a.Name {
		t.Errorf("labels %v", obj.Labels)
	}
	if len(obj.Status.Conditions) != 1 || obj.Status.Conditions[0].Type != corev1.NodeReady || obj.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("conditions %v", obj.Status.Conditions)
	}
	want := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: f.a.Address.String()}, {Type: corev1.NodeHostName, Address: f.a.Name}}
	if diff := cmp.Diff(want, obj.Status.Addresses); diff != "" {
		t.Error(diff)
	}
}

func TestNodeIsUnregisteredBeforeItStopsAnswering(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	f.pod("one", f.a)
	f.pod("two", f.b)
	f.waitForPods(url(f.b, svc), "one", "two")

	if err := f.nodes.Unregister(t.Context(), f.b.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := kubetest.Client(t).CoreV1().Nodes().Get(t.Context(), f.b.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Node object is still there: %v", err)
	}
	if _, err := ask(netip.Addr{}, url(f.b, svc)); err != nil {
		t.Errorf("the node that is leaving does not answer: %v", err)
	}
	if err := f.nodes.Remove(t.Context(), f.b.Name); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(netip.Addr{}, url(f.b, svc)); err == nil {
		t.Errorf("the removed node answers: %+v", got)
	}
	f.waitForPods(url(f.a, svc), "one")

	if err := f.nodes.Add(t.Context(), f.b); err != nil {
		t.Errorf("it cannot come back: %v", err)
	}
	f.waitForPods(url(f.b, svc), "one")
}

func TestCrashedNodeDoesNotAnswerAndItsObjectsStay(t *testing.T) {
	f := newFixture(t)
	svc := f.service(local)
	f.pod("one", f.a)
	f.waitForHealth(f.a, svc, 200, 1)
	f.waitForPods(url(f.a, svc), "one")
	if err := f.nodes.Crash(f.a.Name); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(netip.Addr{}, url(f.a, svc)); err == nil {
		t.Errorf("the crashed node answers: %+v", got)
	}
	if _, _, err := health(f.a, svc); err == nil {
		t.Error("the crashed node's health check node port answers")
	}
	client := kubetest.Client(t)
	if _, err := client.CoreV1().Nodes().Get(t.Context(), f.a.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Pods(f.namespace).Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestCloseRemovesEverything(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	f.pod("one", f.a)
	f.waitForPods(url(f.b, svc), "one")
	if err := f.nodes.Close(); err != nil {
		t.Error(err)
	}
	if err := f.nodes.Close(); err != nil {
		t.Error(err)
	}
	client := kubetest.Client(t)
	for _, nd := range []node.Node{f.a, f.b} {
		if _, err := client.CoreV1().Nodes().Get(t.Context(), nd.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("node %s: %v", nd.Name, err)
		}
		if got, err := ask(netip.Addr{}, url(nd, svc)); err == nil {
			t.Errorf("%s answers: %+v", nd.Name, got)
		}
	}
	pods, err := client.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%d Pods left, %v", len(pods.Items), err)
	}
}

func TestPodAppliedByAUserIsRunAndReplaced(t *testing.T) {
	f := newFixture(t)
	svc := f.service(nil)
	pods := kubetest.Client(t).CoreV1().Pods(f.namespace)
	// RunPod first: it waits for the namespace's service account.
	pod := f.pod("one", f.a)
	if err := f.nodes.DeletePod(t.Context(), f.namespace, "one"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: pod.Labels}, Spec: pod.Spec}
		again.Spec.NodeName = f.b.Name
		if _, err := pods.Create(t.Context(), again, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.waitForPods(url(f.a, svc), "one")
		zero := int64(0)
		if err := pods.Delete(t.Context(), "one", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Fatal(err)
		}
	}
	f.waitForPods(url(f.a, svc))
}

func TestInvalidNodesAndPodsAreRefused(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	cases := map[string]struct {
		err  error
		want string
	}{
		"address not loopback": {f.nodes.Add(ctx, node.Node{Name: "x", Address: netip.MustParseAddr("192.0.2.1")}), "a loopback address"},
		"no address":           {f.nodes.Add(ctx, node.Node{Name: "x"}), "needs a name and an address"},
		"namespace without one for Pods": {f.nodes.Add(ctx, node.Node{Name: "x", Address: netip.MustParseAddr("192.0.2.1"), Namespace: "x"}),
			"Options.PodNetwork"},
		"no name":             {f.nodes.Add(ctx, node.Node{Address: randomAddr()}), "needs a name"},
		"name taken":          {f.nodes.Add(ctx, node.Node{Name: f.a.Name, Address: randomAddr()}), "exists already"},
		"address taken":       {f.nodes.Add(ctx, node.Node{Name: "x", Address: f.a.Address}), "exists already"},
		"remove unknown":      {f.nodes.Remove(ctx, "x"), "not in the set"},
		"unregister unknown":  {f.nodes.Unregister(ctx, "x"), "not in the set"},
		"crash unknown":       {f.nodes.Crash("x"), "not in the set"},
		"pod on unknown node": {runPod(f, "x", nil), `node "x" is not in the set`},
		"pod with SCTP":       {runPod(f, f.a.Name, []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolSCTP}}), "cannot start: container port 80"},
		"unready unknown pod": {f.nodes.SetPodReady(ctx, f.namespace, "x", true), "not found"},
		"delete unknown pod":  {f.nodes.DeletePod(ctx, f.namespace, "x"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
				t.Errorf("error %v, want one with %q", c.err, c.want)
			}
		})
	}
}

func runPod(f *fixture, on string, ports []corev1.ContainerPort) error {
	_, err := f.nodes.RunPod(f.t.Context(), node.Pod{Namespace: f.namespace, Name: "refused", Node: on, Ports: ports})
	return err
}
