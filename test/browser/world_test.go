// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// deadline bounds every wait.
const deadline = 2 * time.Minute

// output is what a command writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *output) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *output) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// world is a cluster with nodes, a cloud, a controller and the server of the page.
type world struct {
	t      *testing.T
	client *kubernetes.Clientset
	cloud  *cloudsim.Cloud
	dir    string
	// cluster is the name of the cluster, and nodes are those of its nodes.
	cluster string
	nodes   []string
	// url is that of the page.
	url string
}

// newWorld starts everything, and ends it with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newCluster(t, "production", "worker-1", "worker-2", "worker-3")
	w.control()
	w.serve()
	return w
}

// newCluster starts a cluster with nodes, and a cloud.
func newCluster(t *testing.T, name string, nodes ...string) *world {
	t.Helper()
	w := &world{t: t, client: kubetest.Client(t), dir: t.TempDir(), cluster: name, nodes: nodes}
	var err error
	w.cloud, err = cloudsim.Start(cloudsim.Options{
		PrivateCIDR: "10.20.0.0/16", PublicCIDR: "198.18.0.0/16", Neutron: neutron.Options{Quotas: map[string]int{"floatingip": -1, "port": -1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	conf := w.cloud.CloudConf() + "create-monitor = true\n" // its last section is LoadBalancer
	if err := errors.Join(cloudsim.WriteFile(w.path("cloud.conf"), conf), kubetest.Cluster(t).Kubeconfig(w.path("kubeconfig"))); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		w.addNode(n)
	}
	return w
}

// control starts the controller.
func (w *world) control() {
	w.t.Helper()
	w.command("controller", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
}

// serve starts the server of the page.
func (w *world) serve() {
	w.t.Helper()
	out := w.command("ui", "--address=127.0.0.1:0", "--refresh-interval=1s")
	w.eventually(func() error {
		found := regexp.MustCompile(`http://\S+`).FindString(out.String())
		if found == "" {
			return fmt.Errorf("the page is not served yet: %s", out)
		}
		w.url = found
		return nil
	})
}

// outage lets all services of the cloud answer 502, as a proxy does whose servers are down, until it is over.
func (w *world) outage() (over func()) {
	id := w.cloud.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusBadGateway, Body: "<html><h1>502 Bad Gateway</h1></html>"})
	return func() { w.cloud.Faults().Remove(id) }
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// command runs a command of kube-octavia until the test ends, and returns its output.
func (w *world) command(name string, flags ...string) *output {
	out := &output{}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	args := append([]string{name, "--cloud-config=" + w.path("cloud.conf"), "--kubeconfig=" + w.path("kubeconfig"), "--cluster-name=" + w.cluster, "--log-format=json"}, flags...)
	go func() {
		defer close(ended)
		if status := cli.Run(ctx, args, cli.IO{Out: out, Err: out}, cli.Options{Version: "test"}); status != 0 {
			w.t.Errorf("%s ended with status %d:\n%s", name, status, out)
		}
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
	})
	return out
}

// addNode adds a server of the cloud and the node of it.
func (w *world) addNode(name string) {
	w.t.Helper()
	id, err := w.cloud.AddServer(name)
	if err != nil {
		w.t.Fatal(err)
	}
	var address netip.Addr
	for _, s := range w.cloud.Nova().Servers() {
		if s.ID == id {
			address = s.Interfaces[0].FixedIPs[0].Address
		}
	}
	nodes := w.client.CoreV1().Nodes()
	n, err := nodes.Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			w.t.Error(err)
		}
	})
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := nodes.UpdateStatus(w.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// name is that of a Service.
type name struct{ namespace, name string }

func (n name) String() string { return n.namespace + "/" + n.name }

// addServices creates Services with one or two ports and an endpoint each, and deletes them with the test.
func (w *world) addServices(all ...name) {
	w.t.Helper()
	w.addAnnotatedServices(nil, all...)
}

// addAnnotatedServices is addServices for Services with annotations.
func (w *world) addAnnotatedServices(annotations map[string]string, all ...name) {
	w.t.Helper()
	group, ctx := errgroup.WithContext(w.t.Context())
	group.SetLimit(8)
	known := map[string]bool{}
	for _, n := range all {
		if !known[n.namespace] {
			known[n.namespace] = true
			_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.namespace}}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				w.t.Fatal(err)
			}
		}
	}
	for i, n := range all {
		ports := []corev1.ServicePort{{Name: "https", Port: 443}}
		if i%3 == 0 {
			ports = append(ports, corev1.ServicePort{Name: "http", Port: 80})
		}
		group.Go(func() error {
			_, err := w.client.CoreV1().Services(n.namespace).Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: n.name, Annotations: annotations}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: ports},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return w.addEndpoint(ctx, n, ports)
		})
	}
	if err := group.Wait(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.deleteServices(all) })
}

// addEndpoint creates the EndpointSlice that the controller of Kubernetes would create for a Pod on the first node.
func (w *world) addEndpoint(ctx context.Context, of name, ports []corev1.ServicePort) error {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: of.name, Labels: map[string]string{discoveryv1.LabelServiceName: of.name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.244.0.1"}, NodeName: ptr.To(w.nodes[0]), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
	}
	for _, p := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Port: ptr.To(p.Port), Protocol: ptr.To(corev1.ProtocolTCP)})
	}
	_, err := w.client.DiscoveryV1().EndpointSlices(of.namespace).Create(ctx, slice, metav1.CreateOptions{})
	return err
}

// deleteServices waits until the controller has released them: the next test has a cloud of its own.
func (w *world) deleteServices(all []name) {
	for _, n := range all {
		if err := w.client.DiscoveryV1().EndpointSlices(n.namespace).Delete(context.Background(), n.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
		if err := w.client.CoreV1().Services(n.namespace).Delete(context.Background(), n.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
	}
	w.eventually(func() error {
		for _, n := range all {
			if _, err := w.client.CoreV1().Services(n.namespace).Get(context.Background(), n.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is left: Service %s (%v)", n, err)
			}
		}
		return nil
	})
}

// waitUntilProgrammed waits until all Services of the cluster have their load balancers.
func (w *world) waitUntilProgrammed() {
	w.t.Helper()
	w.eventually(func() error {
		list, err := w.client.CoreV1().Services("").List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer && !meta.IsStatusConditionTrue(s.Status.Conditions, status.Programmed) {
				return fmt.Errorf("%s/%s is not programmed: %+v", s.Namespace, s.Name, s.Status.Conditions)
			}
		}
		return nil
	})
}

// report lets the health monitors report the members of a Service: the first so many are down.
func (w *world) report(s topology.Service, down int) {
	for _, p := range s.LoadBalancer.Pools {
		for i, m := range p.Members {
			state := "ONLINE"
			if i < down {
				state = "ERROR"
			}
			w.cloud.Octavia().SetMemberStatus(m.ID, state)
		}
	}
}

// eventually waits until check finds nothing wrong.
func (w *world) eventually(check func() error) {
	w.t.Helper()
	late := time.After(deadline)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			w.t.Fatalf("waited %v in vain: %v", deadline, err)
		}
	}
}
