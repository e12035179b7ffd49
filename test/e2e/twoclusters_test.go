// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// secondCluster is a stage in the same project of the same cloud, with another Kubernetes
// cluster, a namespace of the same name, one node, and a controller of its own
// with the same flags.
func (s *stage) secondCluster(suffix string) *stage {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	cluster, err := kube.Start(ctx, kube.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			s.t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	named := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, named, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	other := &stage{t: s.t, client: client, namespace: s.namespace, cloud: s.cloud, dir: s.t.TempDir()}
	if other.nodes, err = node.New(ctx, node.Options{Config: cluster.Config(), PodNetwork: s.cloud.podNetwork()}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := other.nodes.Close(); err != nil {
			s.t.Error(err)
		}
	})
	other.addNode(suffix)
	if err := cloudsim.WriteFile(other.cloudConf(), s.cloud.CloudConf()); err != nil {
		s.t.Fatal(err)
	}
	for _, path := range []string{other.kubeconfig(), other.adminKubeconfig()} {
		if err := cluster.Kubeconfig(path); err != nil {
			s.t.Fatal(err)
		}
	}
	other.start()
	s.t.Cleanup(func() {
		if other.controller != nil {
			other.stop()
		}
	})
	return other
}

// clusterUID is the uid that identifies a cluster's objects in the cloud.
func (s *stage) clusterUID() string {
	s.t.Helper()
	system, err := s.client.CoreV1().Namespaces().Get(s.t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(system.UID)
}

// balancer waits until the Service is Programmed and returns its load balancer.
func (v *service) balancer() tree {
	v.t.Helper()
	v.waitUntilProgrammed()
	id := v.now().Annotations[idKey]
	for _, l := range v.cloud.trees(v.lbName()) {
		if l.ID == id {
			return l
		}
	}
	v.t.Fatalf("there is no load balancer %s", id)
	return tree{}
}

// everythingOf has the ids of a load balancer, of all below it, of its port and
// floating IP.
func (c *cloud) everythingOf(l tree) []string {
	c.t.Helper()
	ids := []string{l.ID, l.VIPPort}
	pools := l.Unused
	for _, listener := range l.Listeners {
		ids = append(ids, listener.ID)
		if listener.Pool != nil {
			pools = append(pools, *listener.Pool)
		}
	}
	for _, p := range pools {
		ids = append(ids, p.ID)
	}
	for _, f := range c.floatingIPs() {
		if f.PortID == l.VIPPort {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

var requestIDs = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// callsOf has the global request ids under which the stage's controller has made
// its calls: it logs each.
func (s *stage) callsOf(c *controller) map[string]bool {
	ids := map[string]bool{}
	for _, id := range requestIDs.FindAllString(c.log.String(), -1) {
		ids[id] = true
	}
	return ids
}

// Two clusters in one project that names do not tell apart: they have the same
// --cluster-name, the same namespace and the same Services, at the same time.
func TestTwoClustersOfTheSameNameInOneProjectDoNotAffectEachOther(t *testing.T) {
	simulatorOnly(t, "whose something is, is decided by marks, which the contract tests on a real cloud")
	s := newStage(t, settings{nodes: []string{"a"}})
	other := s.secondCluster("b")
	here, there := &service{stage: s, name: "web"}, &service{stage: other, name: "web"}
	controllers := map[*service]*controller{here: s.controller, there: other.controller}
	owned := map[*service]map[string]bool{here: {}, there: {}}
	look := func(v *service) tree {
		l := v.balancer()
		for _, id := range s.cloud.everythingOf(l) {
			owned[v][id] = true
		}
		return l
	}
	both := func(do func(v *service)) {
		do(here)
		do(there)
		for _, v := range []*service{here, there} {
			look(v)
		}
	}

	both(func(v *service) {
		if err := v.create(tcp(8080)); err != nil {
			t.Fatal(err)
		}
	})
	both(func(v *service) { v.change(tcp(8081)) })
	both(func(v *service) { v.change(without(8080), openTo("192.0.2.0/24")) })
	both(func(v *service) { v.change(annotated(internalKey, "true")) })
	both(func(v *service) { v.change(annotated(internalKey, "false"), openTo()) })
	for v, node := range map[*service]string{here: "a", there: "b"} {
		v.waitForAnswersThrough(v.address(), 8081, v.stage.address(node))
	}
	mine, yours := look(here), look(there)
	if mine.ID == yours.ID || here.address() == there.address() {
		t.Errorf("both have load balancer %s at %s, or one of the two", mine.ID, here.address())
	}
	for v, l := range map[*service]tree{here: mine, there: yours} {
		if tag := "kube-octavia.cluster=" + v.clusterUID(); !slices.Contains(l.Tags, tag) {
			t.Errorf("load balancer %s of %s bears %v", l.ID, tag, l.Tags)
		}
	}

	// A deletion and a new creation on one side does not affect the other.
	before := look(there)
	here.delete()
	here.waitUntilGone()
	if err := here.create(tcp(8080)); err != nil {
		t.Fatal(err)
	}
	look(here)
	here.delete()
	here.waitUntilGone()
	if now := look(there); now.UpdatedAt != before.UpdatedAt || now.ID != before.ID {
		t.Errorf("%+v has become %+v", before, now)
	}
	there.waitForAnswersThrough(there.address(), 8081, other.address("b"))
	there.delete()
	there.waitUntilGone()

	for v, ids := range owned {
		for _, problem := range strangers(s.cloud, s.callsOf(controllers[v]), ids, owned[here], owned[there]) {
			t.Error(problem)
		}
	}
}

// strangers lists the calls that write to known objects of another cluster, or read only such an
// object.
func strangers(c *cloud, calls, own map[string]bool, known ...map[string]bool) []string {
	var found []string
	counted := 0
	for _, call := range c.Recorder().Calls() {
		if !calls[call.GlobalRequestID] {
			continue
		}
		counted++
		for _, ids := range known {
			for id := range ids {
				if !own[id] && strings.Contains(call.Path+call.Query, id) && call.Method != http.MethodGet {
					found = append(found, fmt.Sprintf("%s %s?%s", call.Method, call.Path, call.Query))
				}
			}
		}
	}
	if counted == 0 {
		found = append(found, "none of the controller's calls was found")
	}
	return found
}
