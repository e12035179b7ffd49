// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stage sets up what scenarios are measured on: a real Kubernetes API, a cloud, and
// the controller between them. It changes and observes only Kubernetes objects and the
// cloud, so it works with every controller.
package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/controller"
	"github.com/kube-octavia/kube-octavia/test/kube"
)

const (
	namespace = "default"
	// nodePorts has room for 20,000 ports of Services.
	nodePorts = "10000-32767"
)

// Options are what Open makes a stage of.
type Options struct {
	// Command is the controller.
	Command controller.Command
	// Preparing, unless it is empty, runs first instead of Command, until Restart.
	Preparing controller.Command
	// Cloud starts the cloud, or connects to it. The stage closes it.
	Cloud func(context.Context) (*cloud.Cloud, error)
	// Conf are further lines for the section LoadBalancer of cloud.conf.
	Conf string
	// ClusterIPs lets the population be Services of type ClusterIP, which have load balancers in cluster-ip mode.
	ClusterIPs bool
	// Cluster is the name of the cluster.
	Cluster string
	// Nodes is how many nodes there are at the beginning.
	Nodes int
	// Timeout bounds each wait.
	Timeout time.Duration
	// Say reports progress.
	Say func(format string, args ...any)
}

// Stage is a cluster with a cloud and a controller.
type Stage struct {
	Cloud    *cloud.Cloud
	options  Options
	dir      string
	cluster  *kube.Cluster
	client   *kubernetes.Clientset
	services *services
	nodes    []string
	// numbered counts the nodes that ever were, so that names and addresses are new.
	numbered   int
	values     controller.Values
	process    *controller.Process
	population population
}

// Open sets up a stage with a controller that has served a Service. Close must be called.
func Open(ctx context.Context, o Options) (*Stage, error) {
	s := &Stage{options: o}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("set up: %w", err), s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context) (err error) {
	s.options.Say("starting a Kubernetes API and the controller")
	s.dir, err = os.MkdirTemp("", "kube-octavia-bench-")
	if err != nil {
		return err
	}
	s.Cloud, err = s.options.Cloud(ctx)
	if err != nil {
		return err
	}
	s.cluster, err = kube.Start(ctx, kube.Options{NodePortRange: nodePorts})
	if err != nil {
		return err
	}
	s.client, err = kubernetes.NewForConfig(s.cluster.Config())
	if err != nil {
		return err
	}
	if err := s.AddNodes(ctx, s.options.Nodes); err != nil {
		return err
	}
	s.services, err = watchServices(ctx, s.client)
	if err != nil {
		return err
	}
	s.values = controller.Values{Kubeconfig: filepath.Join(s.dir, "kubeconfig"), CloudConfig: filepath.Join(s.dir, "cloud.conf"), Cluster: s.options.Cluster}
	if err := s.cluster.Kubeconfig(s.values.Kubeconfig); err != nil {
		return err
	}
	conf := s.Cloud.Conf + s.options.Conf + "\n"
	if s.options.ClusterIPs {
		subnet, err := s.Cloud.ServiceSubnet(ctx)
		if err != nil {
			return err
		}
		conf += fmt.Sprintf("[ClusterIP]\nenabled=true\nservice-subnet-id=%q\nselector=\"!provider\"\n", subnet) // not default/kubernetes
	}
	if err := cloudsim.WriteFile(s.values.CloudConfig, conf); err != nil {
		return err
	}
	first := s.options.Command
	if len(s.options.Preparing) > 0 {
		first = s.options.Preparing
	}
	if err := s.start(first); err != nil {
		return err
	}
	return s.warmUp(ctx)
}

// warmUp lets the controller serve a Service and release it. After that it is known to work, and
// has made the calls that it makes only once.
func (s *Stage) warmUp(ctx context.Context) error {
	s.options.Say("warming up with one Service")
	if err := s.createServices(ctx, []service{{name: "warm-up", ports: 1}}); err != nil {
		return err
	}
	if err := s.waitServed(ctx, []string{"warm-up"}); err != nil {
		return err
	}
	if err := s.deleteServices(ctx, []string{"warm-up"}); err != nil {
		return err
	}
	return s.Settle(ctx, func(context.Context) error { return s.services.checkGone([]string{"warm-up"}) })
}

// start starts a controller and does not wait for it.
func (s *Stage) start(c controller.Command) (err error) {
	s.process, err = controller.Start(c, s.values, filepath.Join(s.dir, "controller.log"))
	return err
}

// Restart starts the controller that is measured, after Stop or Kill.
func (s *Stage) Restart() error { return s.start(s.options.Command) }

// Stop ends the controller.
func (s *Stage) Stop() error {
	p := s.process
	s.process = nil
	return p.Stop()
}

// Kill ends the controller at once.
func (s *Stage) Kill() error {
	p := s.process
	s.process = nil
	return p.Kill()
}

// Running reports whether there is a controller.
func (s *Stage) Running() bool { return s.process != nil }

// Nodes returns how many there are.
func (s *Stage) Nodes() int { return len(s.nodes) }

// CPU and Memory are those of the controller's process.
func (s *Stage) CPU() time.Duration { return s.process.CPU() }

// Memory is in MB.
func (s *Stage) Memory() float64 { return s.process.Memory() }

// Say reports progress.
func (s *Stage) Say(format string, args ...any) { s.options.Say(format, args...) }

// LoadBalancers returns those of the cluster: a real cloud may have others. Controllers put the
// name of the cluster into theirs.
func (s *Stage) LoadBalancers(ctx context.Context) ([]cloud.LoadBalancer, error) {
	all, err := s.Cloud.LoadBalancers(ctx)
	return slices.DeleteFunc(all, func(l cloud.LoadBalancer) bool { return !strings.Contains(l.Name, s.options.Cluster) }), err
}

// Close takes down what there is. On a real cloud all Services are deleted first, so that
// nothing is left. A controller that has ended by itself was reported before.
func (s *Stage) Close() error {
	var problems []error
	if s.process != nil && s.process.CheckAlive() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
		problems = append(problems, s.clean(ctx), s.Stop())
		cancel()
	}
	if s.services != nil {
		s.services.close()
	}
	if s.cluster != nil {
		problems = append(problems, s.cluster.Stop())
	}
	if s.Cloud != nil {
		problems = append(problems, s.Cloud.Close())
	}
	if s.dir != "" {
		problems = append(problems, os.RemoveAll(s.dir))
	}
	return errors.Join(problems...)
}

// clean deletes what would stay in a real cloud.
func (s *Stage) clean(ctx context.Context) error {
	if s.services == nil || s.Cloud.Simulated() {
		return nil
	}
	names := s.services.names()
	if len(names) == 0 {
		return nil
	}
	s.options.Say("deleting %d Services", len(names))
	if err := s.deleteServices(ctx, names); err != nil {
		return err
	}
	return s.Wait(ctx, "the Services to go", func(context.Context) error { return s.services.checkGone(names) })
}
