// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// drainArgs returns the arguments of `cleanup --drain` as the controller's ServiceAccount.
func (s *stage) drainArgs(args ...string) []string {
	return append([]string{"cleanup", "--drain", "--kubeconfig=" + s.kubeconfig(), "--leader-elect-resource-namespace=" + deploy.Namespace}, args...)
}

// drain runs `kube-octavia cleanup --drain` and returns what it writes.
func (s *stage) drain(status int, args ...string) (out, errs string) {
	s.t.Helper()
	got, out, errs := s.runInCloud(s.drainArgs(append([]string{"--timeout=" + deadline().String()}, args...)...)...)
	if got != status {
		s.t.Fatalf("the drain ended with status %d, not %d:\n%s%s", got, status, out, errs)
	}
	return out, errs
}

// released says what the Service still has of the controller's.
func (v *service) released() error {
	v.t.Helper()
	now := v.now()
	marks := []string{}
	for _, key := range []string{managedKey, programmedKey, addressKey} {
		if now.Annotations[key] != "" {
			marks = append(marks, key)
		}
	}
	if len(now.Finalizers)+len(marks)+len(now.Status.Conditions)+len(now.Status.LoadBalancer.Ingress) > 0 {
		return fmt.Errorf("Service %s has the finalizers %v, the annotations %v and %+v", v.name, now.Finalizers, marks, now.Status)
	}
	return nil
}

// beginDrain starts the program, to drain in a process of its own.
func (s *stage) beginDrain(program string, args ...string) *process {
	s.t.Helper()
	return s.execute(exec.Command(program, s.drainArgs(append(args, "--cloud-config="+s.cloudConf(), "--delete")...)...))
}

// TestADrainReleasesOnlyTheServicesOfTheController drains a cluster with Services that share a load balancer, that
// have given and kept floating IPs, that are refused, and an orphan; and with Services of another class and of
// openstack-cloud-controller-manager. The first drain is killed.
func TestADrainReleasesOnlyTheServicesOfTheController(t *testing.T) {
	skipOnRealOpenStack(t, "a drain only writes to Services; what it deletes, other tests delete too")
	program := build(t)
	s := newStage(t, settings{conf: []string{manageGroups}, cloud: cloudsim.Options{DeleteTime: time.Second}, flags: []string{"--orphan-grace-period=never"}})
	empty := s.leftovers()
	given := s.cloud.makeFloatingIP("")
	s.given = append(s.given, given.Address)
	web, api, _, _ := sharing(s)
	own := []*service{web, api, s.service("given", tcp(8081), at(given.Address)), s.service("classed", tcp(8082), ofClass(ourClass))}
	kept := s.service("kept", tcp(8083), annotated(keepKey, "true"))
	gone := s.service("gone", tcp(8084))
	keptAddress := kept.waitUntilProgrammed()
	s.given = append(s.given, keptAddress)
	own = append(own, kept)
	for _, v := range append(own, gone) {
		v.waitUntilProgrammed()
	}
	refused := s.service("refused", tcp(8085), annotated(internalKey, "perhaps"))
	refused.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	own = append(own, refused)
	s.stop()
	gone.deleteWithoutFinalizer()
	foreign := s.service("foreign", tcp(8086), ofClass("example.com/other"), func(v *corev1.Service) { v.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"} })
	before := s.leftovers()
	occm := &occmService{service: &service{stage: s, name: "occm"}, cluster: "kubernetes", edits: []edit{tcp(8087)}}
	makeAll(s, []*occmService{occm})
	s.eventually(s.cloud.pending)
	withOCCM := s.leftovers()
	wasForeign, wasOCCM, wasTree := foreign.now(), occm.now(), occm.read()

	s.resetCalls()
	shown, said := s.drain(2)
	for _, part := range []string{"Services to release: 5\n", s.namespace + "/web: load balancer ", "floating IP " + keptAddress, "To delete: 1 load balancer, 1 floating IP, 1 security group. Kept: 0."} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not shown:\n%s", part, shown)
		}
	}
	if writes := s.writes(); len(writes) > 0 || !strings.Contains(said, "add --delete") {
		t.Errorf("without --delete it says %q, and writes %v", said, writes)
	}
	s.killDrain(program, before, own)
	if shown, said := s.drain(0, "--delete"); true {
		t.Logf("after the kill:\n%s%s", shown, said)
	}
	for _, v := range own {
		if err := v.released(); err != nil {
			t.Error(err)
		}
	}
	want := leftovers{
		LoadBalancers: empty.LoadBalancers + withOCCM.LoadBalancers - before.LoadBalancers, Listeners: empty.Listeners + withOCCM.Listeners - before.Listeners,
		Pools: empty.Pools + withOCCM.Pools - before.Pools, FloatingIPs: empty.FloatingIPs + withOCCM.FloatingIPs - before.FloatingIPs + 2,
		VIPPorts: empty.VIPPorts + withOCCM.VIPPorts - before.VIPPorts,
	}
	if d := cmp.Diff(want, s.leftovers()); d != "" {
		t.Errorf("in the cloud (-want +have): %s", d)
	}
	if f := s.cloud.floatingIP(given.Address); f.PortID != "" {
		t.Errorf("the given floating IP leads to port %s", f.PortID)
	}
	if f := s.cloud.floatingIP(keptAddress); f.PortID != "" || !strings.Contains(f.Description, "(kept ") {
		t.Errorf("the kept floating IP is %+v", f)
	}
	if d := cmp.Diff([]any{wasForeign, wasOCCM, wasTree}, []any{foreign.now(), occm.now(), occm.read()}); d != "" {
		t.Errorf("what others have was changed (-was +is): %s", d)
	}
	s.requireDrained()

	// A controller that runs again serves them again.
	s.start()
	for _, v := range []*service{web, kept} {
		v.waitUntilProgrammed()
	}
	s.given = append(s.given, kept.address())
	foreign.change(func(v *corev1.Service) { v.Finalizers = nil })
}

// requireDrained fails the test unless another drain and `status` find nothing of the controller.
func (s *stage) requireDrained() {
	s.t.Helper()
	out, _ := s.drain(0, "--output=json")
	var found struct{ Services, Items []any }
	if err := json.Unmarshal([]byte(out), &found); err != nil || found.Services == nil || len(found.Services)+len(found.Items) > 0 {
		s.t.Errorf("a drain of what is drained shows %v\n%s", err, out)
	}
	var status struct{ Orphans, Conflicts []any }
	if _, out, _ = s.run("status", "--output=json"); json.Unmarshal([]byte(out), &status) != nil || len(status.Orphans)+len(status.Conflicts) > 0 {
		s.t.Errorf("status shows\n%s", out)
	}
}

// killDrain starts a drain and kills it when something is deleted, and Services are left.
func (s *stage) killDrain(program string, before leftovers, services []*service) {
	s.t.Helper()
	if *stateDir == "" {
		for _, service := range []string{cloudsim.LoadBalancer, cloudsim.Network} {
			s.cloud.Latency().Set(wire.Operation{Service: service}, 50*time.Millisecond)
		}
	}
	p := s.beginDrain(program)
	s.eventually(func() error {
		if s.leftovers().FloatingIPs == before.FloatingIPs+1 { // that of openstack-cloud-controller-manager
			return errors.New("nothing is deleted yet")
		}
		return nil
	})
	p.kill()
	left := 0
	for _, v := range services {
		if v.released() != nil {
			left++
		}
	}
	if left == 0 {
		s.t.Fatal("nothing is left to resume")
	}
	s.t.Logf("killed with %d Services left", left)
}

func TestADrainWaitsUntilTheControllerHasStopped(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	program := build(t)
	s := newStage(t, settings{off: true})
	lease := "--leader-elect-resource-namespace=" + deploy.Namespace
	running := s.launch(program, lease, "--health-probe-bind-address=0", "--metrics-bind-address=0")
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	holds := "Pod " + host + " holds Lease " + deploy.Namespace + "/" + deploy.Name
	if _, said := s.drain(2); !strings.Contains(said, holds) || !strings.Contains(said, "--replicas=0") {
		t.Errorf("without --delete it says\n%s", said)
	}
	if _, said := s.drain(1, "--delete", "--timeout=5s"); !strings.Contains(said, "nothing was released: "+holds) {
		t.Errorf("while the controller runs it says\n%s", said)
	}
	s.answers(address, 8080)

	// The Job of deploy/drain stops it. Without the right of its Role it may not.
	if _, said := s.drain(1, "--delete", "--scale-down="+deploy.Name); !strings.Contains(said, "--scale-down") || !strings.Contains(said, "forbidden") {
		t.Errorf("without the right it says\n%s", said)
	}
	args := s.drainJob()
	deployments := s.client.AppsV1().Deployments(deploy.Namespace)
	was, err := deployments.GetScale(t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.askedBefore = len(s.asked())
	draining := s.execute(exec.Command(program, append(args, lease, "--kubeconfig="+s.kubeconfig())...))
	s.eventually(func() error {
		now, err := deployments.GetScale(t.Context(), deploy.Name, metav1.GetOptions{})
		if err == nil && (now.Spec.Replicas != 0 || len(draining.log.lines("Waiting: "+holds)) == 0) {
			err = fmt.Errorf("%d replicas:\n%s", now.Spec.Replicas, draining.log)
		}
		return err
	})
	s.answers(address, 8080)
	running.terminate() // as the Deployment's controller would
	select {
	case <-draining.ended:
	case <-time.After(deadline()):
		t.Fatal("the drain does not end")
	}
	if status := draining.command.ProcessState.ExitCode(); status != 0 {
		t.Errorf("the drain ended with status %d", status)
	}
	if err := web.released(); err != nil {
		t.Error(err)
	}
	if err := s.empty(); err != nil {
		t.Error(err)
	}
	was.ResourceVersion = ""
	if _, err := deployments.UpdateScale(t.Context(), deploy.Name, was, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// drainJob gives the controller's ServiceAccount the Role of deploy/drain until the test ends, and returns the arguments of
// the Job.
func (s *stage) drainJob() []string {
	s.t.Helper()
	const role, job = "../../deploy/drain/role.yaml", "../../deploy/drain/job.yaml"
	if err := deploy.InstallDrain(s.t.Context(), kubetest.Cluster(s.t), role); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := deploy.Kubectl(context.Background(), kubetest.Cluster(s.t), "delete", "-f", role); err != nil {
			s.t.Error(err)
		}
	})
	text, err := os.ReadFile(job)
	if err != nil {
		s.t.Fatal(err)
	}
	var j batchv1.Job
	if err := yaml.UnmarshalStrict(text, &j); err != nil {
		s.t.Fatal(err)
	}
	c := j.Spec.Template.Spec.Containers[0]
	var args []string
	for _, arg := range c.Args {
		args = append(args, strings.ReplaceAll(arg, "="+c.VolumeMounts[0].MountPath+"/cloud.conf", "="+s.cloudConf()))
	}
	return args
}

func TestADrainReleasesServicesAtTheirClusterIPsAndThatOfTheAPIServer(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	s.atClusterIPs(s.serviceSubnet(nil), "namespaces = "+metav1.NamespaceDefault+","+s.namespace)
	s.start()
	services := []*service{s.apiService(), s.service("inside", tcp(8080), toClusterIP), s.service("outside", tcp(8081))}
	for _, v := range services {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	s.stop()
	s.drain(0, "--delete")
	for _, v := range services {
		v.waitUntilUnmarked()
	}
	if err := s.empty(); err != nil {
		t.Error(err)
	}
	s.requireDrained()
	s.settings.conf = nil // or default/kubernetes is served again
	s.writeFiles()
}

func TestADrainReleasesServicesWithPodsAsMembers(t *testing.T) {
	skipOnRealOpenStack(t, "the members have no part in it")
	s := newStage(t, reachingPods(t, settings{}))
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	s.stop()
	// Many users may not list secrets.
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.KeyManager, Method: http.MethodGet, Route: "/v1/secrets", Kind: wire.FaultStatus, Status: http.StatusForbidden})
	if shown, said := s.drain(0, "--delete"); !strings.Contains(shown, "not shown, because it could not be read: certificates") || !strings.Contains(said, "so some may be left: certificates") {
		t.Errorf("without the right to list certificates it shows\n%s%s", shown, said)
	}
	s.cloud.Faults().Clear()
	if err := web.released(); err != nil {
		t.Error(err)
	}
	if err := s.empty(); err != nil {
		t.Error(err)
	}
}

// TestADrainKeepsAndReportsWhatMayBelongToOtherOwners takes the mark from a Service of the default class.
func TestADrainKeepsAndReportsWhatMayBelongToOtherOwners(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	unmarked, web := s.service("unmarked", tcp(8080)), s.service("web", tcp(8081))
	address := unmarked.waitUntilProgrammed()
	web.waitUntilProgrammed()
	s.stop()
	unmarked.change(notAnnotated(managedKey))
	out, said := s.drain(2, "--delete")
	if why := "Service " + s.namespace + "/unmarked has the finalizer but no annotation kube-octavia.io/managed"; !strings.Contains(out, "- kept: "+why) || !strings.Contains(said, "2 objects are kept") {
		t.Errorf("it shows\n%s%s", out, said)
	}
	if err := web.released(); err != nil {
		t.Error(err)
	}
	s.answers(address, 8080)
	s.drain(2)
	s.start() // marks it again
}
