// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/test/freeport"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// limit is the deadline of each wait.
const limit = 90 * time.Second

// live is a controller that runs on a real Kubernetes API and a simulated cloud, and a Prometheus that scrapes it.
// The test triggers the scrapes; their timestamps are scrapeInterval apart.
type live struct {
	t         *testing.T
	client    *kubernetes.Clientset
	namespace string
	cloud     *cloudsim.Cloud
	dir       string
	metrics   string
	prom      *memory
	at        time.Time
}

const scrapeInterval = 30 * time.Second

// target has the labels that Prometheus adds to scraped metrics in a cluster.
var target = labels.FromStrings("namespace", "kube-octavia", "job", "kube-octavia-metrics", "instance", "10.0.0.7:8080", "pod", "kube-octavia-0")

func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{t: t, client: kubetest.Client(t), namespace: kubetest.Namespace(t), dir: t.TempDir(), prom: newMemory(t), at: began}
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	l.cloud = cloud
	l.writeConf(cloud.CloudConf())
	if err := kubetest.Cluster(t).Kubeconfig(l.path("kubeconfig")); err != nil {
		t.Fatal(err)
	}
	if l.metrics, err = freeport.Address(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		l.addServer(name)
	}
	return l
}

func (l *live) path(name string) string { return filepath.Join(l.dir, name) }

// writeConf writes cloud.conf with this login.
func (l *live) writeConf(login string) {
	l.t.Helper()
	if err := cloudsim.WriteFile(l.path("cloud.conf"), login+"manage-security-groups=true\n"); err != nil {
		l.t.Fatal(err)
	}
}

// addServer adds a server of the cloud to the cluster.
func (l *live) addServer(name string) {
	l.t.Helper()
	name = l.namespace + "-" + name
	id, err := l.cloud.AddServer(name)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, server := range l.cloud.Nova().Servers() {
		if server.ID == id {
			l.addNode(name, server.Interfaces[0].FixedIPs[0].Address.String(), corev1.NodeSpec{ProviderID: "openstack:///" + id})
		}
	}
}

// addNode creates a ready Node; if address is empty, it has none. It is deleted at the end of the test.
func (l *live) addNode(name, address string, spec corev1.NodeSpec) {
	l.t.Helper()
	nodes := l.client.CoreV1().Nodes()
	made, err := nodes.Create(l.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if address != "" {
		made.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	}
	if _, err := nodes.UpdateStatus(l.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// start starts a controller, and returns a function that stops it and waits for its end.
func (l *live) start(flags ...string) (stop func()) {
	l.t.Helper()
	delays := timing.Default()
	delays.AnswerLimit = time.Second
	delays.ConflictLimit = 3
	delays.ConflictWait = timing.Backoff{First: 20 * time.Millisecond, Last: 200 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	var log bytes.Buffer
	status := make(chan int, 1)
	args := append([]string{"controller", "--cloud-config=" + l.path("cloud.conf"), "--kubeconfig=" + l.path("kubeconfig"),
		"--leader-elect-resource-namespace=" + l.namespace, "--metrics-bind-address=" + l.metrics, "--health-probe-bind-address=0",
		"--sweep-interval=1s", "--log-format=json"}, flags...)
	go func() {
		status <- cli.Run(ctx, args, cli.IO{Out: &log, Err: &log}, cli.Options{Version: "test", Timing: delays})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if ended := <-status; ended != 0 || l.t.Failed() {
			l.t.Errorf("the controller ended with status %d; its log:\n%s", ended, &log)
		}
	}
	l.t.Cleanup(stop)
	return stop
}

// fetch reads the metrics of the controller over HTTP.
func (l *live) fetch() (page []byte, contentType string, err error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + l.metrics + "/metrics")
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	page, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, page)
	}
	return page, answer.Header.Get("Content-Type"), err
}

// until scrapes the metrics until a query has a result for them. Meanwhile it calls the functions in repeat.
func (l *live) until(expr string, repeat ...func()) {
	l.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(l.t.Context(), 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		for _, do := range repeat {
			do()
		}
		page, contentType, err := l.fetch()
		if last = err; err != nil {
			return false, nil
		}
		now := newMemory(l.t)
		now.scrape(l.t, page, contentType, l.at)
		if len(now.query(l.t, expr, l.at)) == 0 {
			last = fmt.Errorf("the metrics are\n%s", ours(page))
			return false, nil
		}
		l.take(page, contentType)
		return true, nil
	})
	if err != nil {
		l.t.Fatalf("waited for %s: %v: %v", expr, err, last)
	}
}

// ours returns the lines with the controller's own metrics, without buckets.
func ours(page []byte) string {
	var lines []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "kube_octavia_") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "openstack_request") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// scrape scrapes the current metrics.
func (l *live) scrape() {
	l.t.Helper()
	page, contentType, err := l.fetch()
	if err != nil {
		l.t.Fatal(err)
	}
	l.take(page, contentType)
}

// take adds a page of metrics to Prometheus.
func (l *live) take(page []byte, contentType string) {
	l.t.Helper()
	l.at = l.at.Add(scrapeInterval)
	var all []labels.Label
	target.Range(func(label labels.Label) { all = append(all, label) })
	l.prom.scrape(l.t, page, contentType, l.at, all...)
}

// service creates a Service of type LoadBalancer.
func (l *live) service(name string, annotations ...string) {
	l.t.Helper()
	v := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	for i := 0; i+1 < len(annotations); i += 2 {
		v.Annotations[annotations[i]] = annotations[i+1]
	}
	if _, err := l.client.CoreV1().Services(l.namespace).Create(l.t.Context(), v, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// patch changes a Service, or its status.
func (l *live) patch(name, patch string, subresources ...string) {
	l.t.Helper()
	_, err := l.client.CoreV1().Services(l.namespace).Patch(l.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "other"}, subresources...)
	if err != nil {
		l.t.Fatal(err)
	}
}

// drop deletes a Service.
func (l *live) drop(name string) {
	l.t.Helper()
	if err := l.client.CoreV1().Services(l.namespace).Delete(l.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// loadBalancer returns the id of the Service's load balancer.
func (l *live) loadBalancer(name string) string {
	l.t.Helper()
	v, err := l.client.CoreV1().Services(l.namespace).Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return v.Annotations["loadbalancer.openstack.org/load-balancer-id"]
}

// call makes a call to the cloud as another client.
func (l *live) call(as openstack.Requester, service, method, path string, body, answer any) {
	l.t.Helper()
	if err := openstack.Call(l.t.Context(), as, service, method, path, body, answer); err != nil {
		l.t.Fatal(err)
	}
}

// expiringLogin returns a login with an application credential that expires soon.
func (l *live) expiringLogin() string {
	l.t.Helper()
	person := l.path("person.conf")
	if err := cloudsim.WriteFile(person, l.cloud.CloudConf()); err != nil {
		l.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"credential", "create", "--cloud-config=" + person, "--format=conf", "--expires=12h"}
	if status := cli.Run(l.t.Context(), args, cli.IO{Out: &out, Err: &errs}, cli.Options{Version: "test"}); status != 0 {
		l.t.Fatalf("credential create: status %d: %s", status, &errs)
	}
	return out.String()
}
