// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// nodeScenario is a change of a Node or its server. What is expected at its end is what Nova and the Node then say.
type nodeScenario struct {
	name string
	// start creates what exists before, besides the Nodes that every case has.
	start func(*nodeRun) error
	// change makes the change.
	change func(*nodeRun) error
}

var nodeScenarios = []nodeScenario{
	{name: "node-initialized", change: joins("")},
	{name: "server-deleted", start: joins(secondPods), change: deleteServer},
	{name: "server-stopped-and-started", start: joins(""), change: stopAndStart},
	{name: "route-added", start: joins(""), change: getPods},
	{name: "route-removed", start: nodeSteps(joins(secondPods), routeOfNeighbour), change: func(r *nodeRun) error { return r.unregister(secondNode) }},
}

// secondNode is the Node that a scenario changes.
const secondNode, secondPods = "second", "10.244.1.0/24"

// nodeSteps calls the functions one after the other.
func nodeSteps(all ...func(*nodeRun) error) func(*nodeRun) error {
	return func(r *nodeRun) error {
		for _, step := range all {
			if err := step(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func joins(podCIDR string) func(*nodeRun) error {
	return func(r *nodeRun) error { return r.join(secondNode, podCIDR) }
}

// deleteServer deletes the server of the second Node. The first one is not ready either.
func deleteServer(r *nodeRun) error {
	return errors.Join(r.setReady(corev1.ConditionUnknown, firstNode, secondNode), r.env.cloud.sim().RemoveServer(r.servers[secondNode]))
}

// stopAndStart stops the server of the second Node, and starts it when its Node has the taint.
func stopAndStart(r *nodeRun) error {
	become := func(status string, ready corev1.ConditionStatus) error {
		err := r.env.cloud.sim().Nova().Update(r.servers[secondNode], func(s *nova.Server) { s.Status = status })
		return errors.Join(err, r.setReady(ready, secondNode))
	}
	if err := become("SHUTOFF", corev1.ConditionUnknown); err != nil {
		return err
	}
	r.keepTrying(func() error {
		n, err := r.nodes().Get(r.ctx, secondNode, metav1.GetOptions{})
		if err != nil || !hasTaint(n, shutDown) {
			return errors.Join(err, fmt.Errorf("Node %s has no taint %s", secondNode, shutDown.Key))
		}
		return become("ACTIVE", corev1.ConditionTrue)
	})
	return nil
}

// getPods gives the second Node a Pod CIDR, as kube-controller-manager does.
func getPods(r *nodeRun) error {
	patch := fmt.Appendf(nil, `{"spec":{"podCIDR":%q,"podCIDRs":[%[1]q]}}`, secondPods)
	_, err := r.nodes().Patch(r.ctx, secondNode, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// routeOfNeighbour adds another client's route with a destination in the Pod network, to a server that is no Node.
func routeOfNeighbour(r *nodeRun) error {
	id, err := r.env.cloud.sim().AddServer("neighbour")
	if err != nil {
		return err
	}
	return r.addRouteOfOthers("10.244.99.0/24", id)
}

// startNodeTest starts a run with two Nodes that are not ready, so that the controller asks about their servers.
func startNodeTest(t *testing.T) *nodeRun {
	t.Helper()
	if *stateDir != "" {
		t.Skip("on the simulator only: servers are deleted")
	}
	t.Parallel()
	totals.record(t)
	r := startNodeRun(t, joins(secondPods))
	r.requireNoError(r.setReady(corev1.ConditionUnknown, firstNode, secondNode))
	return r
}

// periods returns how often the lifecycle controller has checked the servers of all Nodes: in each period it logs
// once that the provider id of one Node cannot be read.
func (r *nodeRun) periods() int {
	return strings.Count(r.controller.log.String(), "error checking if node "+unreadableNode+" exists")
}

// waitPeriods waits for so many periods.
func (r *nodeRun) waitPeriods(n int) {
	r.t.Helper()
	before := r.periods()
	r.requireNoError(r.poll(func() error {
		if passed := r.periods() - before; passed < n {
			return fmt.Errorf("%d of %d periods have passed", passed, n)
		}
		return nil
	}))
}

// fail makes calls to Nova fail in one way after the other, for so many periods each. The last fault stays, and replaces the one
// before, so that there is no moment in between in which Nova answers. Each way must have hit calls. An empty route is all.
func (r *nodeRun) fail(last string, periods int, route string, ways ...wire.Fault) string {
	r.t.Helper()
	for _, f := range ways {
		f.Service, f.Route = cloudsim.Compute, route
		id := r.env.cloud.Faults().Add(f)
		r.env.cloud.Faults().Remove(last)
		last = id
		r.env.cloud.Recorder().Reset()
		r.requireNoError(r.poll(func() error {
			if slices.ContainsFunc(r.env.cloud.Recorder().Calls(), func(c wire.Call) bool { return c.Service == f.Service && c.Fault == string(f.Kind) }) {
				return nil
			}
			return errors.Join(fmt.Errorf("no call was hit by %+v", f), r.checkViolations())
		}))
		r.waitPeriods(periods)
	}
	return last
}

// allowDeletion sets whether Nodes may be deleted whose server is deleted.
func (r *nodeRun) allowDeletion(allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepsAll = !allowed
}

// slowFailures are the failures of Nova that make periods long: the controller waits for an answer, or makes fewer
// calls.
var slowFailures = []wire.Fault{{Kind: wire.FaultHang}, {Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable}}

// failures are the other failures of Nova, or of a proxy in front of it.
var failures = []wire.Fault{
	{Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Body: "{}"},
	{Kind: wire.FaultStatus, Status: http.StatusBadGateway, Body: "<html>Bad Gateway</html>"},
	{Kind: wire.FaultStatus, Status: http.StatusNotFound, Body: "<html>Not Found</html>"},
	{Kind: wire.FaultStatus, Status: http.StatusNotFound, Body: `{"itemNotFound": {"code": 404, "message": "not here"}}`},
	{Kind: wire.FaultStatus, Status: http.StatusForbidden, Body: "{}"},
	{Kind: wire.FaultStatus, Status: http.StatusUnauthorized, Body: "{}"},
	{Kind: wire.FaultStatus, Status: http.StatusOK, Body: "{}"},
	{Kind: wire.FaultResetBefore}, {Kind: wire.FaultResetAfter}, {Kind: wire.FaultGarbage}, {Kind: wire.FaultHalfBody},
}

// tenMinutes is how many periods of the lifecycle controller are ten minutes, with the default of --node-monitor-period.
const tenMinutes = 120

func TestNovaDownForTenMinutesDeletesNoNode(t *testing.T) {
	r := startNodeTest(t)
	r.allowDeletion(false)
	down := r.fail("", 1, "", slowFailures...)
	each := tenMinutes/len(failures) + 1
	down = r.fail(down, each, "", failures[0])
	// Nova would answer that this server does not exist, if one of its answers arrived.
	r.requireNoError(r.env.cloud.sim().RemoveServer(r.servers[secondNode]))
	down = r.fail(down, each, "", failures[1:]...)
	r.requireNoError(r.checkViolations())
	r.allowDeletion(true)
	r.env.cloud.Faults().Remove(down)
	r.requireNoError(r.finish())
}

func TestAPartialListDeletesNoNode(t *testing.T) {
	r := startNodeTest(t)
	missing := []string{r.servers[firstNode], r.servers[secondNode]}
	partial := r.env.cloud.Faults().Add(wire.Fault{Service: cloudsim.Compute, Route: "/v2.1/servers/detail", Kind: wire.FaultPartialList, Missing: missing})
	r.waitPeriods(10)
	down := r.fail("", 3, "/v2.1/servers/{id}", failures...)
	r.env.cloud.Faults().Remove(down)
	r.requireNoError(errors.Join(r.checkViolations(), r.check()))
	// The list still lacks the server of the first Node, and from now on that of the second one rightly.
	r.requireNoError(r.env.cloud.sim().RemoveServer(r.servers[secondNode]))
	r.requireNoError(r.pollStable(r.check))
	r.env.cloud.Faults().Remove(partial)
	r.requireNoError(r.finish())
}

func TestDeletedServerDeletesOnlyItsNode(t *testing.T) {
	r := startNodeTest(t)
	r.requireNoError(r.env.cloud.sim().RemoveServer(r.servers[secondNode]))
	before := r.periods()
	r.requireNoError(r.poll(func() error {
		_, err := r.nodes().Get(r.ctx, secondNode, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("Node %s exists", secondNode))
	}))
	// The server may have been there still when its Node had its turn in the first of these periods. When the test sees that
	// the Node is gone, another one may have begun.
	if n := r.periods() - before; n > 3 {
		t.Errorf("the Node was deleted after %d periods", n)
	}
	r.waitPeriods(5)
	r.requireNoError(r.finish())
}

func TestTwoServersOfOneNameDoNotChangeTheNode(t *testing.T) {
	r := startNodeTest(t)
	const name = "twin"
	first, err := r.env.cloud.sim().AddServer(name)
	r.requireNoError(err)
	second, err := r.env.cloud.sim().AddServer(name)
	r.requireNoError(err)
	r.requireNoError(r.register(name, "", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }))
	before, err := r.nodes().Get(r.ctx, name, metav1.GetOptions{})
	r.requireNoError(err)
	r.requireNoError(r.poll(func() error { return r.checkEvent(name, "2 servers of the project are named "+name) }))
	r.waitPeriods(20)
	now, err := r.nodes().Get(r.ctx, name, metav1.GetOptions{})
	r.requireNoError(errors.Join(err, r.checkViolations()))
	r.requireNoError(checkUntouched(before, now))
	// When one of them is gone, it is known which one the Node is.
	r.mu.Lock()
	r.servers[name] = first
	r.mu.Unlock()
	r.requireNoError(r.env.cloud.sim().RemoveServer(second))
	r.requireNoError(r.finish())
}

// checkEvent returns an error if no event of the Node has the text.
func (r *nodeRun) checkEvent(name, text string) error {
	list, err := r.env.client.EventsV1().Events("").List(r.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Kind == "Node" && e.Regarding.Name == name && strings.Contains(e.Note, text) {
			return nil
		}
	}
	return fmt.Errorf("Node %s has no event with %q", name, text)
}
