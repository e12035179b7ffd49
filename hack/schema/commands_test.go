// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// limit is the deadline of each wait.
const limit = 2 * time.Minute

// world is a cluster and a cloud in which a controller has run.
type world struct {
	t         *testing.T
	client    *kubernetes.Clientset
	cloud     *cloudsim.Cloud
	dir       string
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, client: kubetest.Client(t), namespace: kubetest.Namespace(t), dir: t.TempDir()}
	var err error
	if w.cloud, err = cloudsim.Start(cloudsim.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	conf := w.cloud.CloudConf() + "create-monitor = true\nmanage-security-groups = true\n" // its last section is LoadBalancer
	if err := errors.Join(cloudsim.WriteFile(w.path("cloud.conf"), conf), kubetest.Cluster(t).Kubeconfig(w.path("kubeconfig"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		w.addNode(w.namespace + "-" + name)
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// addNode adds a server to the cloud, and its Node until the end of the test.
func (w *world) addNode(name string) {
	w.t.Helper()
	id, err := w.cloud.AddServer(name)
	if err != nil {
		w.t.Fatal(err)
	}
	nodes := w.client.CoreV1().Nodes()
	made, err := nodes.Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, server := range w.cloud.Nova().Servers() {
		if server.ID == id {
			made.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: server.Interfaces[0].FixedIPs[0].Address.String()}}
		}
	}
	if _, err := nodes.UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// service creates a Service of type LoadBalancer with the annotations.
func (w *world) service(name string, annotations map[string]string) {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443}},
	}}
	if _, err := w.client.CoreV1().Services(w.namespace).Create(w.t.Context(), service, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// serve runs a controller until the Service has its load balancer.
func (w *world) serve(name string) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan int)
	var log strings.Builder
	go func() {
		args := w.flags("controller", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect-resource-namespace="+w.namespace)
		ended <- cli.Run(ctx, args, cli.IO{Out: &log, Err: &log}, cli.Options{Version: "test"})
	}()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		s, err := w.client.CoreV1().Services(w.namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && len(s.Status.LoadBalancer.Ingress) > 0, err
	})
	stop()
	if status := <-ended; status != 0 || err != nil {
		w.t.Fatalf("the controller ended with status %d; Service %s: %v\n%s", status, name, err, log.String())
	}
}

// flags adds the flags for the cluster and the cloud to a command.
func (w *world) flags(args ...string) []string {
	return append(args, "--cloud-config="+w.path("cloud.conf"), "--kubeconfig="+w.path("kubeconfig"))
}

// loseListener deletes a listener as another client would, so that there is drift.
func (w *world) loseListener() {
	w.t.Helper()
	user := openstack.SimulatedUser(w.cloud)
	var list struct{ Listeners []struct{ ID string } }
	err := openstack.Call(w.t.Context(), user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/listeners", nil, &list)
	if err == nil && len(list.Listeners) == 0 {
		err = errors.New("there is no listener")
	}
	if err == nil {
		err = openstack.Call(w.t.Context(), user, cloudsim.LoadBalancer, http.MethodDelete, "/v2.0/lbaas/listeners/"+list.Listeners[0].ID, nil, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		var now struct {
			LoadBalancers []struct {
				Status string `json:"provisioning_status"`
			}
		}
		err := openstack.Call(ctx, user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/loadbalancers", nil, &now)
		return err == nil && len(now.LoadBalancers) > 0 && now.LoadBalancers[0].Status == "ACTIVE", err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// uid returns the uid of the cluster.
func (w *world) uid() string {
	w.t.Helper()
	system, err := w.client.CoreV1().Namespaces().Get(w.t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(system.UID)
}

// TestOutputOfEveryCommandMatchesItsPublishedSchema runs every command that prints JSON where there is much to print: a Service
// that is served, drift, one that is refused and one of another class; and in a cloud in which nothing is.
func TestOutputOfEveryCommandMatchesItsPublishedSchema(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	w := newWorld(t)
	w.requireValid("before", map[string][][]string{
		"version": {{"version"}},
		"status":  {w.flags("status"), w.flags("status", "-n", w.namespace)},
		"plan":    {w.flags("plan", "-n", w.namespace)},
		"migrate": {w.flags("migrate")},
		"doctor":  {w.flags("doctor"), {"doctor", "--cloud-config=" + w.path("none"), "--kubeconfig=" + w.path("kubeconfig")}},
		"cleanup": {{"cleanup", "--cloud-config=" + w.path("cloud.conf"), "--cluster-uid=" + w.uid()}, w.flags("cleanup", "--drain")},
	})
	w.service("web", nil)
	w.serve("web")
	w.service("refused", map[string]string{"service.beta.kubernetes.io/openstack-internal-load-balancer": "perhaps"})
	w.loseListener()
	w.requireValid("with Services", map[string][][]string{
		"status":  {w.flags("status"), w.flags("status", "-n", w.namespace, "svc/web")},
		"plan":    {w.flags("plan"), w.flags("plan", "-n", w.namespace, "web"), w.flags("plan", "-n", "default", "kubernetes")},
		"migrate": {w.flags("migrate")},
		"doctor":  {w.flags("doctor")},
		"cleanup": {{"cleanup", "--cloud-config=" + w.path("cloud.conf"), "--cluster-uid=" + w.uid()}, w.flags("cleanup", "--drain"),
			{"cleanup", "--cloud-config=" + w.path("cloud.conf"), "--cluster-uid=1b4e28ba-2fa1-11d2-883f-0016d3cca427", "--delete"}},
	})
}

// requireValid runs the commands with JSON and YAML, and fails the test unless both outputs are equal and match the
// schema.
func (w *world) requireValid(when string, commands map[string][][]string) {
	w.t.Helper()
	for command, runs := range commands {
		for _, args := range runs {
			what := fmt.Sprintf("%s, %v", when, args)
			status, out, errs := run(w.t, append(slices.Clone(args), "--output=json")...)
			if err := invalid(w.t, command, out); err != nil {
				w.t.Errorf("%s: status %d, %s: %v in:\n%s", what, status, errs, err, out)
				continue
			}
			yamlStatus, text, errs := run(w.t, append(slices.Clone(args), "--output=yaml")...)
			converted, err := yaml.YAMLToJSON([]byte(text))
			if err != nil || yamlStatus != status {
				w.t.Errorf("%s, as YAML: status %d and not %d, %v, %s", what, yamlStatus, status, err, errs)
				continue
			}
			if err := invalid(w.t, command, string(converted)); err != nil {
				w.t.Errorf("%s, as YAML: %v", what, err)
			}
			if command != "doctor" && command != "status" { // they print times and ids of requests
				original, _ := yaml.JSONToYAML([]byte(out))
				if d := cmp.Diff("---\n"+string(original), text); d != "" {
					w.t.Errorf("%s (-JSON +YAML):\n%s", what, d)
				}
			}
		}
	}
}
