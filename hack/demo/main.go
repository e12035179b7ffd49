// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the main feature on one machine: a Service of type LoadBalancer gets a load
// balancer that carries traffic, follows the nodes, and is deleted without leaving anything behind.
// `make demo` runs it.
//
// It needs neither root nor a network: a real Kubernetes API, a simulated OpenStack that forwards real
// traffic, two nodes and the controller run on loopback. With CLOUD=openstack the OpenStack is a real one,
// from Debian's packages, and real packets flow between network namespaces; that needs root and Debian 12.
// With KUBECONFIG in the environment it uses that cluster instead of a new one, and in it only a namespace
// and two Nodes. With TARGETS=pod the members are Pods instead of nodes, with TARGETS=pod-routed behind a
// router. With CONTROLLERS=all the controller also initializes the Nodes, which kubelet registers with a
// taint. With ONCE=1 it ends by itself. It exits with 0 only if every step was observed, and if the
// commands that it otherwise prints at the end succeed.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{cloud: os.Getenv("CLOUD"), kubeconfig: os.Getenv("KUBECONFIG"), targets: targets(cmp.Or(os.Getenv("TARGETS"), string(nodeTargets))), once: os.Getenv("ONCE") != "", controllers: os.Getenv("CONTROLLERS")}
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "demo: failed: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("demo: ok")
}

// options come from the environment.
type options struct {
	cloud, kubeconfig string
	targets           targets
	controllers       string
	once              bool
}

// run starts everything, runs the steps, and removes everything, even after an error.
func run(ctx context.Context, o options) (err error) {
	p := newPrinter(os.Stdout)
	watched, stop := context.WithCancel(context.Background())
	defer stop()
	go p.breakSilence(watched)
	s, err := newStage(ctx, p, o)
	defer func() {
		p.doing("removing everything")
		if closed := s.close(); err == nil {
			err = closed
		}
	}()
	if err != nil {
		return err
	}
	if err := runSteps(ctx, p, s); err != nil {
		p.say("The controller's log: %s", s.logTail())
		return err
	}
	p.doing("the page starts")
	if err := s.startPage(ctx); err != nil {
		return fmt.Errorf("start the page: %w", err)
	}
	if !s.targets.pods() {
		if err := s.addNode(ctx, 2); err != nil { // a step removed it
			return err
		}
	}
	if o.once {
		return triesAreTrue(ctx, p, s)
	}
	p.say("%s", s.goOn())
	p.doing("") // stop reporting progress
	<-ctx.Done()
	p.say("\nRemoving everything.")
	return nil
}
