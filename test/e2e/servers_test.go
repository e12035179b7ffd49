// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// uninitialized is the taint with which kubelet registers a Node of an external cloud provider.
var uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// shutdown is the key of the taint of a Node whose server is stopped.
const shutdown = "node.cloudprovider.kubernetes.io/shutdown"

// nodesInstalled is whether deploy/nodes is installed, once for all tests.
var nodesInstalled struct {
	once sync.Once
	err  error
}

// newServerStage returns a stage without nodes, whose controller initializes Nodes and removes those of deleted
// servers.
func newServerStage(t *testing.T, with settings) *stage {
	t.Helper()
	nodesInstalled.once.Do(func() {
		nodesInstalled.err = deploy.InstallNodes(context.Background(), kubetest.Cluster(t), "../../deploy/nodes")
	})
	if nodesInstalled.err != nil {
		t.Fatal(nodesInstalled.err)
	}
	with.nodes, with.password = []string{}, true
	delays := usualDelays()
	delays.ServerList = 500 * time.Millisecond
	with.program = cli.Options{Timing: delays}
	with.flags = append([]string{"--controllers=node,node-lifecycle", "--node-monitor-period=1s", "--node-status-update-frequency=1s"}, with.flags...)
	return newStage(t, with)
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

// getNode reads the Node of this name.
func (s *stage) getNode(name string) *corev1.Node {
	s.t.Helper()
	node, err := s.client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return node
}

// hasTaint reports whether the Node has a taint with the key.
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

func TestANodeIsInitializedFromItsServer(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("a")
	id := s.addServer(name)
	usual, _ := s.flavors()
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
		corev1.LabelHostname: name, corev1.LabelInstanceType: usual.name, corev1.LabelInstanceTypeStable: usual.name,
		corev1.LabelFailureDomainBetaZone: "nova", corev1.LabelTopologyZone: "nova",
		corev1.LabelFailureDomainBetaRegion: "RegionOne", corev1.LabelTopologyRegion: "RegionOne",
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if node.Labels["topology.openstack.org/host-id"] == "" {
		t.Error("no label with the host")
	}
	if diff := cmp.Diff(s.nodeAddresses(id, name), node.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// nodeAddresses returns the addresses of the Node of a server.
func (s *stage) nodeAddresses(id, name string) (all []corev1.NodeAddress) {
	s.t.Helper()
	for _, address := range s.serverAddresses(id) {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: name})
}

// Ids of flavors may have dots and blanks.
func TestAFlavorWhoseNameCannotBeALabelIsShownByItsID(t *testing.T) {
	s := newServerStage(t, settings{})
	name := s.node("a")
	big := flavor{id: name + ".big", name: "big one of " + name}
	for _, f := range []flavor{big, {id: "m1 " + name, name: "an unrelated one of " + name}} {
		s.makeServerFlavor(f)
	}
	s.resizeServer(s.addServer(name), big)
	s.register(name, nil)
	if got := s.waitUntilInitialized(name).Labels[corev1.LabelInstanceTypeStable]; got != big.id {
		t.Errorf("instance type %q", got)
	}
}

// Kubernetes sets the label with the instance type only once, so the wrong one would stay.
func TestOnlyANodeThatNeedsTheIDOfItsFlavorWaitsForFlavors(t *testing.T) {
	skipOnRealOpenStack(t, "what Nova says of flavors is in the contract")
	s := newServerStage(t, settings{})
	waits, usual := s.node("waits"), s.node("usual")
	big := flavor{id: waits + "-big", name: "big one of " + waits}
	s.makeServerFlavor(big)
	s.resizeServer(s.addServer(waits), big)
	s.addServer(usual)
	fault := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.Compute, Route: "/v2.1/flavors", Kind: wire.FaultStatus, Status: http.StatusInternalServerError})
	s.register(waits, nil)
	s.eventually(func() error {
		return s.hasNodeEvent(waits, "NodeNotInitialized", "the name of flavor")
	})
	s.register(usual, nil)
	s.waitUntilInitialized(usual)
	if !hasTaint(s.getNode(waits), uninitialized.Key) {
		t.Error("the Node has lost its taint")
	}
	s.cloud.Faults().Remove(fault)
	if got := s.waitUntilInitialized(waits).Labels[corev1.LabelInstanceTypeStable]; got != big.id {
		t.Errorf("instance type %q", got)
	}
}

func TestANodeIsNotInitializedWhileTwoServersHaveItsName(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud they are two servers")
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
	s.removeServer(second)
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
	const all, one = "/v2.1/servers/detail", "/v2.1/servers/{id}"
	fails := wire.Fault{Service: cloudsim.Compute, Kind: wire.FaultStatus, Status: http.StatusInternalServerError}
	for _, c := range []struct {
		name string
		// faults are those of Nova while servers with these ids are not to be found out about.
		faults func(ids ...string) []wire.Fault
		// calls is the route that the controller tries in vain.
		calls string
	}{
		{"Nova fails", func(...string) []wire.Fault { return []wire.Fault{fails} }, all},
		{"Nova does not answer", func(...string) []wire.Fault {
			return []wire.Fault{{Service: cloudsim.Compute, Kind: wire.FaultHang}}
		}, all},
		{"a cell of Nova is down", func(ids ...string) []wire.Fault {
			down := fails
			down.Route = one
			return []wire.Fault{{Service: cloudsim.Compute, Route: all, Kind: wire.FaultPartialList, Missing: ids}, down}
		}, one},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServerStage(t, settings{conf: []string{"[Metadata]", "request-timeout=2s"}})
			gone, stays, foreign, nameless := s.node("gone"), s.node("stays"), s.node("foreign"), s.node("nameless")
			nodes := []string{gone, stays, foreign, nameless}
			goneID, staysID := s.addServer(gone), s.addServer(stays)
			s.register(gone, nil)
			s.register(stays, nil)
			s.register(foreign, func(n *corev1.Node) { n.Spec.ProviderID, n.Spec.Taints = "other:///i-1", nil })
			s.register(nameless, func(n *corev1.Node) { n.Spec.Taints = nil })
			s.waitUntilInitialized(gone)
			s.waitUntilInitialized(stays)

			for _, fault := range c.faults(goneID, staysID) {
				s.cloud.Faults().Add(fault)
			}
			for _, name := range nodes {
				s.setReady(name, corev1.ConditionUnknown)
			}
			s.removeServer(goneID)
			s.waitUntilTried(c.calls, nodes...)

			s.cloud.Faults().Clear()
			s.waitUntilDeleted(gone)
			for _, name := range []string{stays, foreign, nameless} {
				s.getNode(name)
			}
		})
	}
}

// waitUntilTried waits until the controller has made several calls of the route to Nova, and has their outcome. The
// Nodes must exist all the time.
func (s *stage) waitUntilTried(route string, nodes ...string) {
	s.t.Helper()
	before := s.computeCalls(route)
	s.eventually(func() error {
		for _, name := range nodes {
			s.getNode(name)
		}
		if n := s.computeCalls(route) - before; n < 4 {
			return fmt.Errorf("%d calls of %s to Nova", n, route)
		}
		return nil
	})
}

// A list of Nova that lacks a server without saying so, as when one of its cells is down, is no answer about the server.
func TestANodeStaysWhileListsLackItsServer(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud does not see what its lists lack")
	s := newServerStage(t, settings{})
	old, young := s.node("old"), s.node("young")
	ids := []string{s.addServer(old), s.addServer(young)}
	s.register(old, nil)
	s.waitUntilInitialized(old)
	fault := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.Compute, Route: "/v2.1/servers/detail", Kind: wire.FaultPartialList, Missing: ids})
	s.setReady(old, corev1.ConditionUnknown)
	s.register(young, nil)
	s.waitUntilTried("/v2.1/servers/{id}", old)
	s.eventually(func() error {
		return s.hasNodeEvent(young, "NodeNotInitialized", "no server of the project is named "+young)
	})
	s.cloud.Faults().Remove(fault)
	s.waitUntilInitialized(young)
	s.removeServer(ids[0])
	s.waitUntilDeleted(old)
	s.getNode(young)
}

func TestARenamedServerKeepsItsNode(t *testing.T) {
	skipOnRealOpenStack(t, "what Nova lists after a change of the name is in the contract")
	s := newServerStage(t, settings{})
	a, b := s.node("a"), s.node("b")
	id := s.addServer(a)
	s.addServer(b)
	for _, name := range []string{a, b} {
		s.register(name, nil)
		s.waitUntilInitialized(name)
		s.setReady(name, corev1.ConditionUnknown)
	}
	s.waitForUpdates()
	before := []*corev1.Node{s.getNode(a), s.getNode(b)}
	s.renameServer(id, b) // now two servers have the name of Node b, and none that of Node a
	s.waitForUpdates(a, b)
	s.requireUnchanged(before)
}

// Kubernetes sets labels when it initializes a Node, and never again.
func TestTheNodeOfAResizedServerKeepsItsInstanceTypeUntilItIsRegisteredAgain(t *testing.T) {
	s := newServerStage(t, settings{})
	usual, larger := s.flavors()
	name := s.node("a")
	id := s.addServer(name)
	s.register(name, nil)
	s.waitUntilInitialized(name)
	s.setReady(name, corev1.ConditionUnknown)
	s.resizeServer(id, larger)
	s.waitForUpdates(name)
	if node := s.getNode(name); node.Labels[corev1.LabelInstanceTypeStable] != usual.name || hasTaint(node, shutdown) {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
	if err := s.client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.register(name, nil)
	if node := s.waitUntilInitialized(name); node.Labels[corev1.LabelInstanceTypeStable] != larger.name || node.Spec.ProviderID != "openstack:///"+id {
		t.Errorf("labels %v, provider id %s", node.Labels, node.Spec.ProviderID)
	}
}

func TestANodeStaysIfItsServersAreInAnotherProject(t *testing.T) {
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
	s.stopServer(id)
	s.setReady(name, corev1.ConditionUnknown)
	s.waitForNode(name, func(n *corev1.Node) error {
		if !hasTaint(n, shutdown) {
			return errors.New("no taint " + shutdown)
		}
		return nil
	})
	s.startServer(id)
	s.setReady(name, corev1.ConditionTrue)
	s.waitForNode(name, func(n *corev1.Node) error {
		if hasTaint(n, shutdown) {
			return errors.New("the taint stays")
		}
		return nil
	})
}

// With reclaim_instance_interval, Nova keeps a deleted server for a while and answers when asked for its id.
func TestNodeOfASoftDeletedServerIsDeletedAndReturnsWithIt(t *testing.T) {
	simulatorOnly(t, "the real cloud deletes servers at once")
	s := newServerStage(t, settings{})
	name, other := s.node("a"), s.node("b")
	id := s.addServer(name)
	s.addServer(other)
	for _, n := range []string{name, other} {
		s.register(n, nil)
		s.waitUntilInitialized(n)
	}
	s.changeServer(id, func(server *nova.Server) { server.Status = "SOFT_DELETED" })
	s.eventually(func() error { return s.hasNodeEvent(name, "ServerNotFound", "is deleted (SOFT_DELETED)") })
	s.setReady(name, corev1.ConditionUnknown)
	s.waitUntilDeleted(name)
	s.getNode(other)
	s.startServer(id)
	s.register(name, nil)
	if node := s.waitUntilInitialized(name); node.Spec.ProviderID != "openstack:///"+id {
		t.Errorf("provider id %q", node.Spec.ProviderID)
	}
}

func TestServerThatWasCreatedAgainUnderTheNameOfItsNodeIsReported(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a server that is deleted, and one that is created")
	s := newServerStage(t, settings{})
	name := s.node("a")
	old := s.addServer(name)
	s.register(name, nil)
	s.waitUntilInitialized(name)
	s.removeServer(old)
	s.eventually(func() error { return s.hasNodeEvent(name, "ServerNotFound", "Nova has no server "+old) })
	// The new text is an event of its own, although Kubernetes counts events of the same reason.
	again := s.addServer(name)
	s.eventually(func() error {
		return errors.Join(s.hasNodeEvent(name, "ServerNotFound", "server "+again+" has the name of the Node"),
			s.hasNodeEvent(name, "ServerNotFound", "kubectl delete node "+name))
	})
	// What the event says.
	if err := s.client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.register(name, nil)
	node := s.waitUntilInitialized(name)
	if node.Spec.ProviderID != "openstack:///"+again {
		t.Errorf("provider id %q", node.Spec.ProviderID)
	}
	if diff := cmp.Diff(s.nodeAddresses(again, name), node.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestNodesThatWereInitializedBeforeAreNotChanged(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud they are servers that are only read")
	s := newServerStage(t, settings{off: true})
	usual, _ := s.flavors()
	var before []*corev1.Node
	for _, suffix := range []string{"a", "b"} {
		name := s.node(suffix)
		id := s.addServer(name)
		// What openstack-cloud-controller-manager makes of this server.
		s.register(name, func(n *corev1.Node) {
			n.Spec.ProviderID, n.Spec.Taints = "openstack:///"+id, nil
			for key, value := range map[string]string{
				corev1.LabelInstanceType: usual.name, corev1.LabelInstanceTypeStable: usual.name,
				corev1.LabelFailureDomainBetaZone: "nova", corev1.LabelTopologyZone: "nova",
				corev1.LabelFailureDomainBetaRegion: "RegionOne", corev1.LabelTopologyRegion: "RegionOne",
			} {
				n.Labels[key] = value
			}
			n.Status.Addresses = s.nodeAddresses(id, name)
		})
		before = append(before, s.getNode(name))
	}
	asked := len(s.asked())
	s.start()
	s.waitForUpdates()
	s.requireUnchanged(before)
	if *stateDir != "" {
		return // the servers have two addresses of a type, see requireUnchanged
	}
	for _, r := range s.asked()[asked:] {
		if r.Resource == "nodes" && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			t.Errorf("the controller wrote to a Node: %s %s %s", r.Verb, r.Name, r.Subresource)
		}
	}
}

// requireUnchanged fails the test if anything was written to one of the Nodes. Patches that change nothing do not count:
// Kubernetes makes one in each update if a Node has two addresses of a type.
func (s *stage) requireUnchanged(before []*corev1.Node) {
	s.t.Helper()
	for _, node := range before {
		if diff := cmp.Diff(node, s.getNode(node.Name)); diff != "" {
			s.t.Errorf("Node %s was changed (-before +now):\n%s", node.Name, diff)
		}
	}
}
