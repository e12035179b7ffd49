// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	clientgo "k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/test/kube"
)

// real returns the pace of stages with a real kube-apiserver, where time passes as it does.
func real() pace {
	// Octavia's times are whole seconds, and of two changes within one the sweep sees one. Here each has a second of its own.
	var second atomic.Int64
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	return pace{
		build: 40 * time.Millisecond, update: 10 * time.Millisecond, remove: 15 * time.Millisecond,
		look: 200 * time.Millisecond, settle: 4 * time.Second, patience: 90 * time.Second, unit: 5 * time.Millisecond,
		now:  func() time.Time { return begin.Add(time.Duration(second.Add(1)) * time.Second) },
		conf: "\n[Metadata]\nrequest-timeout=1s\n",
		args: []string{"--sweep-interval=1s", "--orphan-grace-period=3s"},
	}
}

// delays returns those of a controller on such a stage.
func delays() timing.Delays {
	const unit = time.Millisecond
	return timing.Delays{
		FirstBackoff: 50 * unit, LastBackoff: time.Second, SlowRetry: 500 * unit, AnswerLimit: 1500 * unit, DuplicateRetry: 200 * unit, ChildrenRetry: 200 * unit,
		MemberRetry: 200 * unit, Deletion: timing.Backoff{First: 100 * unit, Last: time.Second}, Replacement: timing.Backoff{First: 100 * unit, Last: time.Second},
		LastingFailure: time.Second,
		Drain:          100 * unit, QuotaRetry: 100 * unit, LastQuotaRetry: time.Second, Unfinished: timing.Backoff{First: 300 * unit, Last: 2 * time.Second},
		Repeat:     timing.Backoff{First: 100 * unit, Last: time.Second},
		ServerList: 50 * unit, NodePeriod: 100 * unit, KubernetesLimit: time.Second, SecretInterval: 200 * unit, CloudConfigInterval: 500 * unit,
		ConflictLimit: 5, ConflictWindow: 2 * time.Second, ConflictWait: timing.Backoff{First: 20 * unit, Last: 200 * unit},
		ConflictStop: timing.Backoff{First: time.Second, Last: 2 * time.Second},
	}
}

// controllerVariable is set in the environment of a process of this program that is to be the controller.
const controllerVariable = "KUBE_OCTAVIA_WALKS_CONTROLLER"

// runController returns the controller of a real stage.
func runController() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, os.Args[1:], cli.IO{Out: os.Stdout, Err: os.Stderr}, cli.Options{Version: "walks", Timing: delays()})
}

// outside is a controller in a process of its own, which is really killed. If it ends by itself it is started again, as by
// kubelet.
type outside struct {
	args []string
	text tail
	end  chan syscall.Signal // how to end it; nil if it does not run
	done chan struct{}
}

func (p *outside) running() bool { return p.end != nil }

func (p *outside) start() error {
	if p.running() {
		return nil
	}
	c, err := p.run()
	if err != nil {
		return err
	}
	p.end, p.done = make(chan syscall.Signal), make(chan struct{})
	go p.keep(c, p.end, p.done)
	return nil
}

// run starts one process.
func (p *outside) run() (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(program, p.args...)
	c.Env = append(os.Environ(), controllerVariable+"=1")
	c.Stdout, c.Stderr = &p.text, &p.text
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	return c, nil
}

// keep starts a process that ends by itself again, until it is to end.
func (p *outside) keep(c *exec.Cmd, end <-chan syscall.Signal, done chan<- struct{}) {
	defer close(done)
	for {
		ended := make(chan struct{})
		go func() {
			_ = c.Wait() // its log says why
			close(ended)
		}()
		select {
		case s := <-end:
			_ = c.Process.Signal(s) // it may have ended
			<-ended
			return
		case <-ended:
		}
		select {
		case <-end:
			return
		case <-time.After(100 * time.Millisecond):
		}
		var err error
		if c, err = p.run(); err != nil {
			fmt.Fprintln(&p.text, err)
			<-end
			return
		}
	}
}

func (p *outside) stop() { p.signal(syscall.SIGTERM) }
func (p *outside) kill() { p.signal(syscall.SIGKILL) }

func (p *outside) signal(s syscall.Signal) {
	if !p.running() {
		return
	}
	p.end <- s
	<-p.done
	p.end = nil
}

func (p *outside) log() string { return p.text.String() }

// Write implements io.Writer.
func (p *outside) Write(text []byte) (int, error) { return p.text.Write(text) }

var _ io.Writer = (*outside)(nil)

// clusters are real clusters, each for one walk after the other.
type clusters struct {
	mu   sync.Mutex
	free []*kube.Cluster
	all  []*kube.Cluster
}

// real clusters of this test.
var realClusters clusters

func (c *clusters) take(ctx context.Context) (*kube.Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		cluster := c.free[n-1]
		c.free = c.free[:n-1]
		return cluster, nil
	}
	cluster, err := kube.Start(ctx, kube.Options{Controllers: []string{"namespace-controller"}})
	if err == nil {
		c.all = append(c.all, cluster)
	}
	return cluster, err
}

func (c *clusters) giveBack(cluster *kube.Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cluster)
}

func (c *clusters) stop(t *testing.T) {
	for _, cluster := range c.all {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// walkReal runs a story with a real kube-apiserver, a controller as a separate process, and the simulator over HTTP.
// The result of the last requests alone is computed in memory.
func walkReal(t *testing.T, played release.Release, st story) (log string, err error) {
	ctx, end := context.WithTimeout(context.Background(), 15*time.Minute)
	defer end()
	cluster, err := realClusters.take(ctx)
	if err != nil {
		return "", err
	}
	s := &stage{ctx: ctx, dir: t.TempDir(), release: played, pace: real()}
	if s.client, err = clientgo.NewForConfig(cluster.Config()); err != nil {
		return "", err
	}
	s.alone = func(dir string, r requests) (p picture, err error) {
		synctest.Test(t, func(*testing.T) { p, err = alone(context.Background(), dir, versions{openstack: played}, r) })
		return p, err
	}
	front, err := s.needless.before(cluster.Config())
	if err != nil {
		return "", err
	}
	defer front.Close()
	s.server = front.URL
	if err := s.start(s.cloudOptions()); err != nil {
		return "", err
	}
	s.process = &outside{args: s.args()}
	log, err = walk(s, st, nil)
	if err == nil {
		realClusters.giveBack(cluster) // what a walk that failed left behind must not make the next one fail
	}
	return log, err
}
