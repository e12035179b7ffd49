// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// deadline bounds every wait: what has not happened by then does not happen.
func deadline() time.Duration {
	if *stateDir != "" {
		return 5 * time.Minute // the machine is shared, and so may be its processor
	}
	return 90 * time.Second // more than the minute for which a create of a killed controller is waited for
}

// pause returns the time from one look at what is waited for, which took a while, to the next. A
// real Octavia must do its work and answer on the same processor, so most of the time is left to
// it; but where that is slow, a look may take so long that the pause would be what is waited for.
func pause(took time.Duration) time.Duration {
	return min(max(25*time.Millisecond, 5*took), 2*time.Second)
}

// settings say how a stage differs from the usual one: two nodes "a" and "b"
// with a Pod each, a cloud that builds at once, and a controller that runs.
type settings struct {
	// cloud are the simulator's options; its data plane is always on. They are for
	// what is a real cloud's nature: one takes its time as it is.
	cloud cloudsim.Options
	// conf are lines for the section [LoadBalancer] of cloud.conf.
	conf []string
	// program is what the controller is made with, such as how long it leaves things
	// alone; the zero value makes the controller that users run.
	program cli.Options
	// flags are given to the controller after the usual ones.
	flags []string
	// password lets the controller come with its user's password.
	password bool
	// nodes are the suffixes of the nodes' names; nil means "a" and "b".
	nodes []string
	// podless leaves out the Pods that each node runs otherwise.
	podless bool
	// podPorts gives each Pod a port of its own, where the cloud has any, so that load balancers
	// reach it. There are not many.
	podPorts bool
	// unproxied leaves the nodes without kube-proxy.
	unproxied bool
	// programs run the containers with these images.
	programs map[string]node.Program
	// amphora lets HAProxy carry packets on a real cloud with noop amphorae.
	amphora bool
	// off leaves the controller to be started by the test.
	off bool
}

// stage is the environment of one test: a namespace, a cloud, nodes with Pods, and a controller. It
// fails the test if anything made for a Service is left in the cloud when the test ends.
type stage struct {
	t         *testing.T
	client    *kubernetes.Clientset
	namespace string
	cloud     *cloud
	nodes     *node.Nodes
	// dir holds cloud.conf and kubeconfigs.
	dir        string
	settings   settings
	controller *controller
	// outputs is what was shown by the commands of the test, and askedBefore how
	// much controllers had asked kube-apiserver for before it.
	outputs     []output
	askedBefore int
	// floatingIPs that are not the controller's to delete, by address.
	given []string
	// keys are those of certificates, which must not be shown anywhere, and unreadable is the
	// name of a Secret that the controller is refused.
	keys       []string
	unreadable string
	// gates are the readiness gates in the template of the Pods.
	gates []corev1.PodConditionType
	// withdrawn is a group to which the controller has no rights.
	withdrawn string
	// afterwards is done when the controller has ended for good.
	afterwards []func()
	// logs are shown if the test has failed, or with -logs, when everything has ended.
	logs []output
}

// newStage sets a stage up and takes it down when the test ends.
func newStage(t *testing.T, with settings) *stage {
	t.Helper()
	s := &stage{t: t, client: kubetest.Client(t), namespace: kubetest.Namespace(t), dir: t.TempDir(), settings: with}
	s.cloud = startCloud(t, with.cloud)
	if with.amphora {
		withAmphora(t, s.cloud)
	}
	s.startNodes()
	s.writeFiles()
	s.askedBefore = len(s.asked())
	t.Cleanup(s.showLogs)
	t.Cleanup(s.cleanUp)
	if !with.off {
		s.start()
	}
	return s
}

// reportTo makes s report failures to t, one case of a test, until the case ends.
func (s *stage) reportTo(t *testing.T) {
	test := s.t
	s.t = t
	t.Cleanup(func() { s.t = test })
}

// showLogs shows the logs if the test has failed, or with -logs. It comes last: what the test leaves is deleted before, and that may fail, too.
func (s *stage) showLogs() {
	if !s.t.Failed() && !*showLogs {
		return
	}
	for _, l := range s.logs {
		s.t.Logf("%s:\n%s", l.name, l.text)
	}
}

// startNodes lets the nodes of the settings join the cluster, each with its Pod.
func (s *stage) startNodes() {
	s.t.Helper()
	o := node.Options{Config: kubetest.Cluster(s.t).Config(), PodNetwork: s.cloud.podNetwork(), Programs: s.settings.programs}
	if s.settings.podPorts {
		o.PodPorts = s.cloud.podPorts()
	}
	nodes, err := node.New(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.nodes = nodes
	names := s.settings.nodes
	if names == nil {
		names = []string{"a", "b"}
	}
	for _, name := range names {
		s.addNode(name)
	}
}

// addNode lets a server of the cloud join the cluster, with a Pod of its own
// name unless the stage is podless.
func (s *stage) addNode(suffix string) {
	s.t.Helper()
	name := s.node(suffix)
	server, err := s.cloud.server(name)
	if err != nil {
		s.t.Fatal(err)
	}
	server.Unserved = server.Unserved || s.settings.unproxied
	if err := s.nodes.Add(s.t.Context(), server); err != nil {
		s.t.Fatal(err)
	}
	if !s.settings.podless {
		s.runPod(suffix, suffix)
	}
}

// node returns the name of the node with the suffix.
func (s *stage) node(suffix string) string { return s.namespace + "-" + suffix }

// address returns the InternalIP of the node.
func (s *stage) address(suffix string) string {
	s.t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(s.t.Context(), s.node(suffix), metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return n.Status.Addresses[0].Address
}

// addresses returns the InternalIPs of the nodes.
func (s *stage) addresses(suffixes ...string) []string {
	s.t.Helper()
	var all []string
	for _, suffix := range suffixes {
		all = append(all, s.address(suffix))
	}
	return all
}

// runPod runs a Pod that every Service of the stage selects.
func (s *stage) runPod(name, nodeSuffix string) {
	s.t.Helper()
	s.runPodFor(name, nodeSuffix, 1)
}

// runPodFor runs a Pod that serves for so many seconds after its deletion.
func (s *stage) runPodFor(name, nodeSuffix string, graceSeconds int64) {
	s.t.Helper()
	_, err := s.nodes.RunPod(s.t.Context(), node.Pod{
		Namespace: s.namespace, Name: name, Node: s.node(nodeSuffix), Labels: map[string]string{"app": "web"}, GraceSeconds: graceSeconds,
		ReadinessGates: s.gates,
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: int32(freePort(8080)), Protocol: corev1.ProtocolTCP},
			{Name: "dns", ContainerPort: int32(freePort(5353)), Protocol: corev1.ProtocolUDP},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// changeNode changes the Node object, whatever else changes it meanwhile.
func (s *stage) changeNode(suffix string, change func(*corev1.Node)) {
	s.t.Helper()
	nodes := s.client.CoreV1().Nodes()
	s.eventually(func() error {
		n, err := nodes.Get(s.t.Context(), s.node(suffix), metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = nodes.Update(s.t.Context(), n, metav1.UpdateOptions{})
		return err
	})
}

// changeNodeStatus changes the Node object's status.
func (s *stage) changeNodeStatus(suffix string, change func(*corev1.Node)) {
	s.t.Helper()
	nodes := s.client.CoreV1().Nodes()
	s.eventually(func() error {
		n, err := nodes.Get(s.t.Context(), s.node(suffix), metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = nodes.UpdateStatus(s.t.Context(), n, metav1.UpdateOptions{})
		return err
	})
}

// writeFiles writes cloud.conf and the kubeconfigs.
func (s *stage) writeFiles() {
	s.t.Helper()
	login := s.cloud.CloudConf()
	if s.settings.password {
		login = s.cloud.PasswordConf()
	}
	conf := login + strings.Join(s.settings.conf, "\n") + "\n"
	if err := cloudsim.WriteFile(s.cloudConf(), conf); err != nil {
		s.t.Fatal(err)
	}
	cluster := kubetest.Cluster(s.t)
	if err := cluster.KubeconfigFor(s.kubeconfig(), controllerToken(s.t)); err != nil {
		s.t.Fatal(err)
	}
	if err := cluster.Kubeconfig(s.adminKubeconfig()); err != nil {
		s.t.Fatal(err)
	}
}

// cloudConf is the path of the controller's cloud.conf.
func (s *stage) cloudConf() string { return filepath.Join(s.dir, "cloud.conf") }

// kubeconfig is the path of the controller's kubeconfig.
func (s *stage) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }

// adminKubeconfig is the path of an administrator's kubeconfig, which the other commands use.
func (s *stage) adminKubeconfig() string { return filepath.Join(s.dir, "admin.kubeconfig") }

// cleanUp deletes the Services, lets the controller clean up, and fails the test when that leaves
// anything in the cloud, or when something secret was shown or something requested that the
// controller's roles do not allow. After a test that failed already it only makes sure that the
// next one does not suffer.
func (s *stage) cleanUp() {
	ctx := context.Background()
	services := s.client.CoreV1().Services(s.namespace)
	s.requireNoSecretShown() // while the Services are there
	defer s.requireOnlyListedCalls()
	defer func() {
		for _, do := range s.afterwards {
			do()
		}
	}()
	defer s.requireOnlyAllowedRequests()
	defer s.requireNoSecretShown()
	if !s.t.Failed() {
		if err := s.deleteServices(ctx); err != nil {
			s.t.Error(err)
		} else if err := s.poll(s.empty); err != nil {
			s.t.Errorf("after all Services were deleted: %v", err)
		}
	}
	if s.controller != nil {
		s.stop()
	}
	s.sweepCloud()
	// Nothing may be left for the next test's controller.
	left, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Error(err)
		return
	}
	for _, v := range left.Items {
		_, _ = services.Patch(ctx, v.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = services.Delete(ctx, v.Name, metav1.DeleteOptions{})
	}
}

// deleteServices deletes the Services of the test, and waits until a controller has released them. It starts one that is off
// only after that: a delete request that arrives with the finalizer deletes a Service at once, and its load balancer stays
// (https://github.com/kubernetes/kubernetes/issues/77988).
func (s *stage) deleteServices(ctx context.Context) error {
	services := s.client.CoreV1().Services(s.namespace)
	list, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, v := range list.Items {
		// A Service that was on its way out already may be gone by now.
		if err := services.Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if s.controller == nil {
		s.start()
	}
	return s.poll(func() error {
		list, err := services.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("Service %s is still there, with finalizers %v and conditions %+v",
				list.Items[0].Name, list.Items[0].Finalizers, list.Items[0].Status.Conditions)
		}
		return err
	})
}

// empty reports what is left in the cloud of what Services had: load balancers and all below them,
// VIP ports, and floating IPs that were not given by the test.
func (s *stage) empty() error {
	var problems []error
	if n := s.cloud.count("loadbalancers"); n > 0 {
		return fmt.Errorf("%d load balancers are left", n) // and what they have
	}
	for _, kind := range []string{"listeners", "pools", "healthmonitors"} {
		if n := s.cloud.count(kind); n > 0 {
			problems = append(problems, fmt.Errorf("%d %s are left", n, kind))
		}
	}
	for _, p := range s.cloud.ports() {
		if strings.HasPrefix(p.DeviceID, "lb-") || strings.Contains(p.DeviceOwner, "Octavia") {
			problems = append(problems, fmt.Errorf("port %s (%s) of load balancer %s is left", p.ID, p.Name, p.DeviceID))
		}
	}
	given := map[string]bool{}
	for _, address := range s.given {
		given[address] = true
	}
	for _, f := range s.cloud.floatingIPs() {
		if !given[f.Address] {
			problems = append(problems, fmt.Errorf("floating IP %s (%q) is left", f.Address, f.Description))
		}
	}
	return errors.Join(problems...)
}

// poll calls check until it finds nothing wrong, and returns its last error when the deadline has
// passed.
func (s *stage) poll(check func() error) error {
	late := time.After(deadline())
	for {
		began := time.Now()
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause(time.Since(began))):
		case <-late:
			return fmt.Errorf("waited %v in vain: %w", deadline(), err)
		}
	}
}

// eventually waits until check finds nothing wrong and fails the test when it
// still does at the deadline.
func (s *stage) eventually(check func() error) {
	s.t.Helper()
	if err := s.poll(check); err != nil {
		s.t.Fatal(err)
	}
}

// parseAddr is for addresses that a test got from the cloud or the API.
func parseAddr(t testing.TB, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sweepCloud takes away what is left on a real cloud, which the next test has,
// too: what a test that failed left, and what it was the test's to delete.
func (s *stage) sweepCloud() {
	if *stateDir == "" {
		return
	}
	if err := s.poll(func() error { return s.cloud.clear(s.namespace) }); err != nil {
		s.t.Errorf("the next test may suffer: %v", err)
	}
}
