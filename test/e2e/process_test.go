// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// built is the program, which each process of the tests links once. Its directory goes with the cluster of the tests.
var built struct {
	once sync.Once
	path string
	err  error
}

// build builds the program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	directory := kubetest.Cluster(t).Dir()
	built.once.Do(func() {
		built.path = filepath.Join(directory, "kube-octavia")
		out, err := exec.Command("go", "build", "-o", built.path, "../../cmd/kube-octavia").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build the program: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// process is the controller as a process of its own.
type process struct {
	t       *testing.T
	command *exec.Cmd
	log     *log
	ended   chan struct{}
}

// launch starts the program as the stage's controller. Its log is shown when
// the test fails.
func (s *stage) launch(program string, flags ...string) *process {
	s.t.Helper()
	return s.execute(s.command(program, flags...))
}

// command is that of launch.
func (s *stage) command(program string, flags ...string) *exec.Cmd {
	return exec.Command(program, append([]string{"controller", "--cloud-config=" + s.cloudConf(), "--kubeconfig=" + s.kubeconfig(), "--v=4", noSweeps}, flags...)...)
}

// execute starts a command that is the stage's controller.
func (s *stage) execute(command *exec.Cmd) *process {
	s.t.Helper()
	p := &process{t: s.t, command: command, log: &log{}, ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = p.log, p.log
	s.shows("the log of another process", p.log)
	if err := p.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // what it is is read from ProcessState
	}()
	s.logs = append(s.logs, output{fmt.Sprintf("the log of process %d", p.command.Process.Pid), p.log})
	s.t.Cleanup(p.kill)
	return p
}

// kill ends the process with no chance to do anything.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended
	<-p.ended
}

// terminate ends the process as Kubernetes would, which must give status 0.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(deadline()):
		p.t.Fatalf("the controller still runs %v after SIGTERM", deadline())
	}
	if status := p.command.ProcessState.ExitCode(); status != 0 {
		p.t.Errorf("after SIGTERM the controller ended with status %d", status)
	}
}

// TestServiceSurvivesAControllerThatIsKilled kills the controller with SIGKILL
// at a random moment of a create and of a deletion, and starts it again:
// whatever was under way, there is one load balancer and one floating IP in the
// end, and nothing after the deletion. See -kill-rounds.
func TestServiceSurvivesAControllerThatIsKilled(t *testing.T) {
	program := build(t)
	s := newStage(t, settings{off: true, cloud: cloudsim.Options{BuildTime: time.Second, UpdateTime: time.Second / 2, DeleteTime: time.Second / 2}})
	// Slow answers make it likelier that the end comes in the middle of a call.
	for _, service := range []string{cloudsim.LoadBalancer, cloudsim.Network} {
		s.cloud.Latency().Set(wire.Operation{Service: service}, 50*time.Millisecond)
	}
	seed := rand.Uint64()
	t.Logf("the random moments come from seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range *killRounds {
		name := fmt.Sprintf("web-%d", round)
		web := s.service(name, tcp(8080, 8081))
		s.killSoon(program, random)
		p := s.controls(program)
		s.answers(web.waitUntilProgrammed(), 8081)
		if n := len(s.cloud.balancers(web.lbName())); n > 1 {
			// A real Octavia continues with a create after who requested it is gone, and shows it
			// only then: the next controller could not know.
			t.Logf("Service %s has %d load balancers for now", name, n)
		}
		s.eventually(web.checkOneLoadBalancer)
		p.terminate()

		web.delete()
		s.killSoon(program, random)
		p = s.controls(program)
		web.waitUntilGone()
		if err := s.empty(); err != nil {
			t.Errorf("when the Service was gone: %v", err)
		}
		p.terminate()
	}
}

// alone are the flags of a controller that is the only one.
var alone = []string{"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}

// controls starts the program as the only controller and waits until it works.
func (s *stage) controls(program string) *process {
	s.t.Helper()
	p := s.launch(program, alone...)
	s.eventually(func() error {
		if len(p.log.lines("Starting workers")) == 0 {
			return fmt.Errorf("the controller does not work yet:\n%s", p.log)
		}
		return nil
	})
	return p
}

// killSoon lets the program work for a random while of up to 2.5 s, or 5 s with a
// real cloud, in which a create or a deletion ends or does not, and kills it.
func (s *stage) killSoon(program string, random *rand.Rand) {
	s.t.Helper()
	s.resetCalls()
	p := s.launch(program, alone...)
	most := 2500 * time.Millisecond
	if *stateDir != "" {
		most *= 2
	}
	moment := time.Duration(random.Int64N(int64(most)))
	select {
	case <-time.After(moment):
	case <-p.ended:
		s.t.Fatal("the controller ended by itself")
	}
	p.kill()
	s.t.Logf("killed after %v, after %d calls", moment, len(s.cloud.Recorder().Calls()))
}

func TestOneOfTwoControllersWorksAndTheOtherTakesOver(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	program := build(t)
	s := newStage(t, settings{off: true})
	flags := func(health, metrics string) []string {
		return []string{"--leader-elect-resource-namespace=" + deploy.Namespace, "--health-probe-bind-address=" + health, "--metrics-bind-address=" + metrics, "--leader-elect-retry-period=500ms",
			"--leader-elect-renew-deadline=5s"}
	}
	health, metrics := freeAddress(t), freeAddress(t)
	first := s.launch(program, flags(health, metrics)...)
	s.eventually(func() error { return ready(health) })
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	holder := s.holder()
	second := s.launch(program, flags("0", "0")...)
	s.eventually(func() error {
		if len(second.log.lines("ttempting to acquire leader lease")) == 0 {
			return fmt.Errorf("the second controller does not wait for the Lease:\n%s", second.log)
		}
		return nil
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		if body, err := fetch("http://" + health + path); err != nil || body != "ok" {
			t.Errorf("%s answers %q %v", path, body, err)
		}
	}
	body, err := fetch("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kube_octavia_ops_total{", "kube_octavia_openstack_request_duration_seconds_bucket{", "controller_runtime_reconcile_total{"} {
		if !strings.Contains(body, name) {
			t.Errorf("/metrics has no %s", name)
		}
	}

	first.terminate()
	s.eventually(func() error {
		if now := s.holder(); now == "" || now == holder {
			return fmt.Errorf("the Lease is held by %q, before by %q", now, holder)
		}
		return nil
	})
	web.change(tcp(8081))
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	s.answers(address, 8081)
	second.terminate()
}

// deleteLease deletes the Lease of deploy/, which an earlier test may have left: a controller that was killed seems to work.
func (s *stage) deleteLease() {
	s.t.Helper()
	err := s.client.CoordinationV1().Leases(deploy.Namespace).Delete(s.t.Context(), deploy.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	err = s.client.CoreV1().ConfigMaps(deploy.Namespace).Delete(s.t.Context(), deploy.Name+"-settings", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
}

// holder is who holds the controllers' Lease.
func (s *stage) holder() string {
	s.t.Helper()
	lease, err := s.client.CoordinationV1().Leases(deploy.Namespace).Get(s.t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// fetch returns the body of a good answer.
func fetch(url string) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestTimeout}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}
