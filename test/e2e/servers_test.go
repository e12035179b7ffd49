// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cli"
	"github.com/kube-octavia/kube-octavia/internal/timing"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// uninitialized is the taint with which kubelet registers a Node of an external cloud provider.
var uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// nodesInstalled is whether deploy/nodes is installed, once for all tests.
var nodesInstalled struct {
	once sync.Once
	err  error
}

// newServerStage is a stage without nodes, whose controller initializes Nodes and removes those of deleted servers.
func newServerStage(t *testing.T, with settings) *stage {
	t.Helper()
	nodesInstalled.once.Do(func() {
		nodesInstalled.err = deploy.InstallNodes(context.Background(), kubetest.Cluster(t), "../../deploy/nodes")
	})
	if nodesInstalled.err != nil {
		t.Fatal(nodesInstalled.err)
	}
	with.nodes, with.password = []string{}, true
	delays := timing.Default()
	delays.ServerList = 500 * time.Millisecond
	with.program = cli.Options{Timing: delays}
	with.flags = append([]string{"--controllers=node,node-lifecycle", "--node-monitor-period=1s", "--node-status-update-frequency=1s"}, with.flags...)
	return newStage(t, with)
}

// simulation is the simulator of the stage.
func (s *stage) simulation() simulated {
	s.t.Helper()
	c, is := s.cloud.backend.(simulated)
	if !is {
		s.t.Skip("on the simulator only: servers come and go")
	}
	return c
}

// addServer adds a server to the simulator, and returns its id.
func (s *stage) addServer(name string) string {
	s.t.Helper()
	id, err := s.simulation().AddServer(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// register registers a Node as kubelet does, and deletes it after the test.
func (s *stage) register(name string, change func(*corev1.Node)) {
	s.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{uninitialized}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if change != nil {
		change(node)
	}
	nodes := s.client.CoreV1().Nodes()
	if _, err := nodes.Create(s.t.Context(), node, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			s.t.Error(err)
		}
	})
}

// setReady says whether kubelet reports.
func (s *stage) setReady(name string, status corev1.ConditionStatus) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"NodeStatusUnknown"}]}}`, status)
	_, err := s.client.CoreV1().Nodes().Patch(s.t.Context(), name, "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) getNode(name string) *corev1.Node {
	s.t.Helper()
	node, err := s.client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return node
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// waitForNode waits until the Node is as it should be.
func (s *stage) waitForNode(name string, check func(*corev1.Node) error) {
	s.t.Helper()
	s.eventually(func() error { return check(s.getNode(name)) })
}

// waitUntilInitialized waits until the Node has no taint any more, and its addresses.
func (s *stage) waitUntilInitialized(name string) *corev1.Node {
	s.t.Helper()
	s.waitForNode(name, func(n *corev1.Node) error {
		if hasTaint(n, uninitialized.Key) || len(n.Status.Addresses) < 2 {
			return fmt.Errorf("Node %s has the taints %v and the addresses %v", name, n.Spec.Taints, n.Status.Addresses)
		}
		return nil
	})
	return s.getNode(name)
}

// waitUntilDeleted waits until the Node is gone.
func (s *stage) waitUntilDeleted(name string) {
	s.t.Helper()
	s.eventually(func() error {
		_, err := s.client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("Node %s exists", name))
	})
}

// computeCalls counts the calls of the controller to Nova.
func (s *stage) computeCalls(route string) (n int) {
	for _, call := range s.cloud.Recorder().Calls() {
		if call.Service == cloudsim.Compute && strings.HasPrefix(call.Route, route) {
			n++
		}
	}
	return n
}

// findServer returns id and name of a server: on a real cloud of one that was there before.
func (s *stage) findServer(suffix string) (id, name string) {
	s.t.Helper()
	if c, is := s.cloud.backend.(*real); is {
		name = slices.Sorted(maps.Keys(c.Nodes))[0]
		return c.Nodes[name].ID, name
	}
	name = s.node(suffix)
	return s.addServer(name), name
}

func TestANodeIsInitializedFromItsServer(t *testing.T) {
	s := newServerStage(t, settings{})
	id, name := s.findServer("a")
	s.register(name, nil)
	node := s.waitUntilInitialized(name)
	if want := "openstack:///" + id; node.Spec.ProviderID != want {
		t.Errorf("provider id %q, want %q", node.Spec.ProviderID, want)
	}
	labels := map[string]string{}
	for key, value := range node.Labels {
		if key != "topology.openstack.org/host-id" {
			labels[key] = value
		}
	}
	want := map[string]string{
		corev1.LabelHostname: name, corev1.LabelInstanceType: s.flavor(), corev1.LabelInstanceTypeStable: s.flavor(),
		corev1.LabelFailureDomainBetaZone: "nova", corev1.LabelTopologyZone: "nova",
		corev1.LabelFailureDomainBetaRegion: "RegionOne", corev1.LabelTopologyRegion: "RegionOne",
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if node.Labels["topology.openstack.org/host-id"] == "" {
		t.Error("no label with the host")
	}
	if first := node.Status.Addresses[0]; first.Type != corev1.NodeInternalIP || node.Status.Addresses[1].Address != name {
		t.Errorf("addresses %v", node.Status.Addresses)
	}
}

// flavor is the flavor of servers.
func (s *stage) flavor() string {
	if *stateDir == "" {
		return "m1.small"
	}
	return "k8s-node"
}

func TestAFlavorWhoseNameCannotBeALabelIsShownByItsID(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("a")
	id := s.addServer(name)
	s.simulation().Nova().AddFlavor(nova.Flavor{ID: "big-1", Name: "big one", VCPUs: 8, RAM: 16384, Disk: 80})
	if err := s.simulation().Nova().Update(id, func(server *nova.Server) { server.Flavor = "big one" }); err != nil {
		t.Fatal(err)
	}
	s.register(name, nil)
	if got := s.waitUntilInitialized(name).Labels[corev1.LabelInstanceTypeStable]; got != "big-1" {
		t.Errorf("instance type %q", got)
	}
}

func TestANodeIsNotInitializedWhileTwoServersHaveItsName(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("twin")
	first, second := s.addServer(name), s.addServer(name)
	s.register(name, nil)
	s.eventually(func() error {
		return s.hasNodeEvent(name, "NodeNotInitialized", "2 servers of the project are named "+name)
	})
	if !hasTaint(s.getNode(name), uninitialized.Key) {
		t.Error("the Node has lost its taint")
	}
	if err := s.simulation().RemoveServer(second); err != nil {
		t.Fatal(err)
	}
	if node := s.waitUntilInitialized(name); node.Spec.ProviderID != "openstack:///"+first {
		t.Errorf("provider id %q", node.Spec.ProviderID)
	}
}

// hasNodeEvent reports what is wrong if the Node has no such event.
func (s *stage) hasNodeEvent(name, reason, message string) error {
	events, err := s.client.EventsV1().Events("").List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if e.Regarding.Kind == "Node" && e.Regarding.Name == name && e.Reason == reason && strings.Contains(e.Note, message) {
			return nil
		}
	}
	return fmt.Errorf("Node %s has no event %s with %q", name, reason, message)
}

func TestOnlyTheNodeOfADeletedServerIsDeleted(t *testing.T) {
	s := newServerStage(t, settings{})
	gone, stays, foreign, nameless := s.node("gone"), s.node("stays"), s.node("foreign"), s.node("nameless")
	id := s.addServer(gone)
	s.addServer(stays)
	s.register(gone, nil)
	s.register(stays, nil)
	s.register(foreign, func(n *corev1.Node) { n.Spec.ProviderID, n.Spec.Taints = "other:///i-1", nil })
	s.register(nameless, func(n *corev1.Node) { n.Spec.Taints = nil })
	s.waitUntilInitialized(gone)
	s.waitUntilInitialized(stays)

	// While Nova fails, or does not answer, no Node goes, whatever has happened to its server.
	for _, name := range []string{gone, stays, foreign, nameless} {
		s.setReady(name, corev1.ConditionUnknown)
	}
	fault := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.Compute, Kind: wire.FaultStatus, Status: http.StatusInternalServerError})
	if err := s.simulation().RemoveServer(id); err != nil {
		t.Fatal(err)
	}
	before := s.computeCalls("/v2.1/servers")
	s.eventually(func() error {
		if n := s.computeCalls("/v2.1/servers") - before; n < 4 {
			return fmt.Errorf("%d calls to Nova", n)
		}
		return nil
	})
	for _, name := range []string{gone, stays, foreign, nameless} {
		s.getNode(name)
	}
	s.cloud.Faults().Remove(fault)
	s.waitUntilDeleted(gone)
	for _, name := range []string{stays, foreign, nameless} {
		s.getNode(name)
	}
}

func TestANodeStaysIfTheProjectIsAnother(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("a")
	s.register(name, func(n *corev1.Node) {
		n.Spec.ProviderID, n.Spec.Taints = "openstack:///6b2c1f0e-8f3b-4f5e-9a57-0d6f1c1c9d11", nil
	})
	s.setReady(name, corev1.ConditionUnknown)
	s.eventually(func() error { return s.hasNodeEvent(name, "NodeNotDeleted", "has no server of any Node") })
	s.getNode(name)
	// With a server of another Node the project is the right one.
	other := s.node("b")
	s.addServer(other)
	s.register(other, nil)
	s.waitUntilInitialized(other)
	s.waitUntilDeleted(name)
}

func TestAStoppedServerHasATaintUntilItRunsAgain(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("a")
	id := s.addServer(name)
	s.register(name, nil)
	s.waitUntilInitialized(name)
	s.setServerStatus(id, "SHUTOFF")
	s.setReady(name, corev1.ConditionUnknown)
	const shutdown = "node.cloudprovider.kubernetes.io/shutdown"
	s.waitForNode(name, func(n *corev1.Node) error {
		if !hasTaint(n, shutdown) {
			return errors.New("no taint " + shutdown)
		}
		return nil
	})
	s.setServerStatus(id, "ACTIVE")
	s.setReady(name, corev1.ConditionTrue)
	s.waitForNode(name, func(n *corev1.Node) error {
		if hasTaint(n, shutdown) {
			return errors.New("the taint stays")
		}
		return nil
	})
}

// setServerStatus changes the status of a server of the simulator.
func (s *stage) setServerStatus(id, status string) {
	s.t.Helper()
	for _, server := range s.simulation().Nova().Servers() {
		if server.ID == id {
			server.Status = status
			s.simulation().Nova().AddServer(server)
			return
		}
	}
	s.t.Fatalf("there is no server %s", id)
}

func TestNodesThatWereInitializedBeforeAreNotChanged(t *testing.T) {
	s := newServerStage(t, settings{off: true})
	for _, suffix := range []string{"a", "b"} {
		name := s.node(suffix)
		id := s.addServer(name)
		// What openstack-cloud-controller-manager makes of this server.
		s.register(name, func(n *corev1.Node) {
			n.Spec.ProviderID, n.Spec.Taints = "openstack:///"+id, nil
			for key, value := range map[string]string{
				corev1.LabelInstanceType: "m1.small", corev1.LabelInstanceTypeStable: "m1.small",
				corev1.LabelFailureDomainBetaZone: "nova", corev1.LabelTopologyZone: "nova",
				corev1.LabelFailureDomainBetaRegion: "RegionOne", corev1.LabelTopologyRegion: "RegionOne",
			} {
				n.Labels[key] = value
			}
			n.Status.Addresses = []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: s.serverAddress(id)}, {Type: corev1.NodeHostName, Address: name},
			}
		})
	}
	asked := len(s.asked())
	s.start()
	before := s.computeCalls("/v2.1/servers/detail")
	s.eventually(func() error {
		if n := s.computeCalls("/v2.1/servers/detail") - before; n < 3 {
			return fmt.Errorf("%d updates of all Nodes", n)
		}
		return nil
	})
	for _, r := range s.asked()[asked:] {
		if r.Resource == "nodes" && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			t.Errorf("the controller changed a Node: %s %s %s", r.Verb, r.Name, r.Subresource)
		}
	}
}

// serverAddress returns the first address of a server of the simulator.
func (s *stage) serverAddress(id string) string {
	s.t.Helper()
	for _, server := range s.simulation().Nova().Servers() {
		if server.ID == id {
			return server.Interfaces[0].FixedIPs[0].Address.String()
		}
	}
	s.t.Fatalf("there is no server %s", id)
	return ""
}
