// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
)

// Nodes that every case has. firstNode has a server, Pods and a route. The server of Node unreadable is unknown,
// because its provider id is invalid.
const (
	firstNode, firstPods = "first", "10.244.0.0/24"
	unreadableNode       = "unreadable"
)

// The taints of Nodes that are not initialized, and whose servers are stopped.
var (
	uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	shutDown      = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule}
)

// nodeRun is one run of a scenario of Nodes. Its mutex is that of run.
type nodeRun struct {
	*run
	// servers are the ids of the servers of the Nodes that the case has registered; "" is not known.
	servers map[string]string
	// untouched are the Nodes that the controller must not change, as they were.
	untouched map[string]*corev1.Node
	// others are the routes of another client.
	others []route
	// keepsAll is whether no Node may be deleted at the moment, even if its server is.
	keepsAll bool
}

// route is a route of the router.
type route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// startNodeRun starts a controller that also runs the controllers of Nodes and routes, and creates what a scenario starts with.
func startNodeRun(t *testing.T, start func(*nodeRun) error) *nodeRun {
	t.Helper()
	r := &nodeRun{run: newRun(t), servers: map[string]string{}, untouched: map[string]*corev1.Node{}}
	r.converged = r.check
	r.requireNoError(r.prepare(start))
	return r
}

func (r *nodeRun) prepare(start func(*nodeRun) error) error {
	conf, err := os.ReadFile(filepath.Join(r.env.dir, "cloud.conf"))
	if err != nil {
		return err
	}
	file := filepath.Join(r.env.dir, "nodes.conf")
	if err := os.WriteFile(file, fmt.Appendf(conf, "\n[Route]\nrouter-id=%s\n", r.env.cloud.sim().IDs().Router), 0o600); err != nil {
		return err
	}
	// Services have scenarios of their own, so there are no sweeps.
	r.controllerArgs = append(r.controllerArgs, "--cloud-config="+file, "--controllers=*", "--cluster-cidr=10.244.0.0/16", "--sweep-interval=1h")
	inspect := r.inspect
	r.env.proxy.onWrite.Store(&inspect)
	if err := r.register(unreadableNode, "", func(n *corev1.Node) { n.Spec.ProviderID, n.Spec.Taints = "openstack://unreadable", nil }); err != nil {
		return err
	}
	if err := errors.Join(r.setReady(corev1.ConditionUnknown, unreadableNode), r.rememberUntouched()); err != nil {
		return err
	}
	if err := r.startController(); err != nil {
		return err
	}
	if err := r.join(firstNode, firstPods); err != nil {
		return err
	}
	if err := r.addRouteOfOthers("192.168.0.0/24", r.servers[firstNode]); err != nil {
		return err
	}
	if start != nil {
		if err := start(r); err != nil {
			return err
		}
	}
	if err := r.pollStable(r.check); err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	r.env.cloud.Recorder().Reset()
	r.env.proxy.recorder.Reset()
	return nil
}

func (r *nodeRun) rememberUntouched() error {
	list, err := r.nodes().List(r.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		r.untouched[n.Name] = &n
	}
	return nil
}

func (r *nodeRun) nodes() typed.NodeInterface { return r.env.client.CoreV1().Nodes() }

// join adds a server, and registers its Node, with Pods unless podCIDR is "".
func (r *nodeRun) join(name, podCIDR string) error {
	id, err := r.env.cloud.sim().AddServer(name)
	if err != nil {
		return err
	}
	return r.register(name, id, func(n *corev1.Node) {
		if podCIDR != "" {
			n.Spec.PodCIDR, n.Spec.PodCIDRs = podCIDR, []string{podCIDR}
		}
	})
}

// register registers a Node as kubelet does.
func (r *nodeRun) register(name, serverID string, change func(*corev1.Node)) error {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{uninitialized}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	change(n)
	r.mu.Lock()
	r.servers[name] = serverID
	r.mu.Unlock()
	_, err := r.nodes().Create(r.ctx, n, metav1.CreateOptions{})
	return err
}

// setReady sets whether the kubelets of Nodes report.
func (r *nodeRun) setReady(status corev1.ConditionStatus, names ...string) error {
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"SetByTheTest"}]}}`, status)
	var errs []error
	for _, name := range names {
		_, err := r.nodes().Patch(r.ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unregister deletes a Node by hand.
func (r *nodeRun) unregister(name string) error {
	err := r.nodes().Delete(r.ctx, name, metav1.DeleteOptions{})
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.servers, name)
	return err
}

// server returns a server of the cloud, nil if there is none.
func (r *nodeRun) server(id string) *nova.Server {
	for _, s := range r.env.cloud.sim().Nova().Servers() {
		if s.ID == id {
			return &s
		}
	}
	return nil
}

func addressOf(s *nova.Server) string { return s.Interfaces[0].FixedIPs[0].Address.String() }

func (r *nodeRun) routerPath() string { return "routers/" + r.env.cloud.sim().IDs().Router }

func (r *nodeRun) routes() ([]route, error) {
	var answer struct{ Router struct{ Routes []route } }
	err := r.env.cloud.neutron(http.MethodGet, r.routerPath(), nil, &answer)
	return answer.Router.Routes, err
}

// addRouteOfOthers adds a route of another client. Its next hop is the server.
func (r *nodeRun) addRouteOfOthers(destination, serverID string) error {
	added := route{destination, addressOf(r.server(serverID))}
	r.others = append(r.others, added)
	return r.env.cloud.neutron(http.MethodPut, r.routerPath()+"/add_extraroutes", map[string]any{"router": map[string]any{"routes": []route{added}}}, nil)
}

// finish waits until everything is as it should be, checks that no rule was broken, and deletes what the case has created.
func (r *nodeRun) finish() error {
	if err := r.pollStable(r.check); err != nil {
		return errors.Join(err, r.checkViolations())
	}
	if err := errors.Join(r.checkViolations(), r.checkWriteCount()); err != nil {
		return err
	}
	r.controller.kill()
	r.env.cloud.Faults().Clear()
	r.env.proxy.faults.Clear()
	errs := []error{r.env.cloud.neutron(http.MethodPut, r.routerPath(), map[string]any{"router": map[string]any{"routes": []route{}}}, nil)}
	for _, s := range r.env.cloud.sim().Nova().Servers() {
		errs = append(errs, r.env.cloud.sim().RemoveServer(s.ID))
	}
	for name := range r.servers {
		if err := r.nodes().Delete(r.ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inspect notes if the controller deletes a Node whose server exists, or gives a Node another server.
func (r *nodeRun) inspect(method, url string, answer []byte) {
	directory, name := path.Split(strings.TrimSuffix(url, "/status"))
	if directory != "/api/v1/nodes/" {
		return
	}
	r.mu.Lock()
	id, keepsAll := r.servers[name], r.keepsAll
	r.mu.Unlock()
	if method == http.MethodDelete {
		if id == "" || keepsAll || r.server(id) != nil {
			r.addViolation(fmt.Errorf("Node %s was deleted; is its server %s in Nova: %t", name, id, r.server(id) != nil))
		}
		return
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(answer, nil, nil)
	n, is := o.(*corev1.Node)
	switch {
	case err != nil || !is:
		r.addViolation(fmt.Errorf("the answer to %s %s is a %T: %w", method, url, o, err))
	case !hasTaint(n, uninitialized) && n.Spec.ProviderID != "openstack:///"+id:
		r.addViolation(fmt.Errorf("Node %s was initialized with provider id %s, and its server is %s", name, n.Spec.ProviderID, id))
	}
}

func hasTaint(n *corev1.Node, taint corev1.Taint) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// check returns an error while Nodes, routes and address pairs are not as they should be.
func (r *nodeRun) check() error {
	if r.retries() > 0 {
		return errors.New("the change is not made yet")
	}
	list, err := r.nodes().List(r.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes := map[string]*corev1.Node{}
	for _, n := range list.Items {
		nodes[n.Name] = &n
	}
	var errs []error
	for name, before := range r.untouched {
		errs = append(errs, checkUntouched(before, nodes[name]))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := slices.Clone(r.others)
	for name, id := range r.servers {
		n, s := nodes[name], r.server(id)
		if id != "" {
			errs = append(errs, checkNode(name, n, s))
		}
		if n != nil && s != nil && n.Spec.PodCIDR != "" {
			wanted = append(wanted, route{n.Spec.PodCIDR, addressOf(s)})
		}
	}
	return errors.Join(append(errs, r.checkRoutes(wanted))...)
}

// checkUntouched returns an error if a Node that is not the controller's was changed.
func checkUntouched(before, now *corev1.Node) error {
	if now == nil {
		return fmt.Errorf("Node %s is gone", before.Name)
	}
	if d := cmp.Diff(before.ResourceVersion, now.ResourceVersion); d != "" {
		return fmt.Errorf("Node %s was changed (-before +now):\n%s", before.Name, cmp.Diff(before, now))
	}
	return nil
}

// checkNode returns an error if a Node does not match its server. A nil server is a deleted one.
func checkNode(name string, n *corev1.Node, s *nova.Server) error {
	switch {
	case s == nil && n == nil:
		return nil
	case s == nil:
		return fmt.Errorf("Node %s of a deleted server exists", name)
	case n == nil:
		return fmt.Errorf("Node %s is gone, and its server %s exists", name, s.ID)
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelInstanceType: s.Flavor, corev1.LabelInstanceTypeStable: s.Flavor,
			corev1.LabelFailureDomainBetaZone: s.AvailabilityZone, corev1.LabelTopologyZone: s.AvailabilityZone,
			corev1.LabelFailureDomainBetaRegion: "RegionOne", corev1.LabelTopologyRegion: "RegionOne",
			"topology.openstack.org/host-id": s.HostID,
		}},
		Spec: corev1.NodeSpec{ProviderID: "openstack:///" + s.ID, PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: addressOf(s)}, {Type: corev1.NodeHostName, Address: name},
		}},
	}
	if s.Status == "SHUTOFF" {
		want.Spec.Taints = []corev1.Taint{shutDown}
	}
	if n.Spec.PodCIDR != "" {
		want.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated"}}
	}
	have := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: n.Spec, Status: corev1.NodeStatus{Addresses: n.Status.Addresses}}
	have.Spec.Taints = nil
	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.cloudprovider.") { // others are Kubernetes' own, such as not-ready
			have.Spec.Taints = append(have.Spec.Taints, corev1.Taint{Key: t.Key, Effect: t.Effect})
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			have.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status, Reason: c.Reason}}
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		return fmt.Errorf("Node %s is not what its server says (-want +have):\n%s", name, d)
	}
	return nil
}

// admission has the Pods that the port of a server admits, and whether it has the tag of a cluster.
type admission struct {
	Pods   []string
	Tagged bool
}

func (r *nodeRun) admissionAt(serverID string) (admission, error) {
	var answer struct {
		Ports []struct {
			Tags  []string
			Pairs []struct {
				Address string `json:"ip_address"`
			} `json:"allowed_address_pairs"`
		}
	}
	err := r.env.cloud.neutron(http.MethodGet, "ports?device_id="+serverID, nil, &answer)
	var a admission
	for _, p := range answer.Ports {
		a.Tagged = a.Tagged || slices.ContainsFunc(p.Tags, func(tag string) bool { return strings.HasPrefix(tag, "kube-octavia.routes=") })
		for _, pair := range p.Pairs {
			a.Pods = append(a.Pods, pair.Address)
		}
	}
	return a, err
}

// checkRoutes returns an error if the router has other routes than these, or if the ports of servers do not have exactly the
// allowed address pairs and tags that the controller's own routes need. The routes of the other client come first in want.
func (r *nodeRun) checkRoutes(want []route) error {
	have, err := r.routes()
	if err != nil {
		return err
	}
	wanted, actual := map[string]admission{}, map[string]admission{}
	for _, s := range r.env.cloud.sim().Nova().Servers() {
		address := addressOf(&s)
		var p admission
		for _, w := range want[len(r.others):] {
			if w.NextHop == address {
				p = admission{append(p.Pods, w.Destination), true}
			}
		}
		wanted[address] = p
		if actual[address], err = r.admissionAt(s.ID); err != nil {
			return err
		}
	}
	compare := func(a, b route) int { return strings.Compare(a.Destination+a.NextHop, b.Destination+b.NextHop) }
	slices.SortFunc(have, compare)
	if d := cmp.Diff(slices.SortedFunc(slices.Values(want), compare), have); d != "" {
		return fmt.Errorf("the routes (-want +have):\n%s", d)
	}
	if d := cmp.Diff(wanted, actual); d != "" {
		return fmt.Errorf("the allowed address pairs and tags of servers' ports (-want +have):\n%s", d)
	}
	return nil
}
