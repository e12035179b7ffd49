// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/test/kube"
)

const (
	namespace = "default"
	// nodePorts has room for a thousand Services with several ports.
	nodePorts = "10000-32767"
	// nodeCount is how many nodes there are at the beginning.
	nodeCount = 2
	// waitTimeout bounds each wait.
	waitTimeout = 3 * time.Minute
	// settleTime without a call means that the watcher has nothing to watch: it reads every
	// 2 s at least.
	settleTime = 2500 * time.Millisecond
)

// stage is a cluster, a cloud, and a controller between them.
type stage struct {
	bench      *bench
	dir        string
	cluster    *kube.Cluster
	client     *kubernetes.Clientset
	cloud      *cloudsim.Cloud
	services   *services
	flags      []string
	controller *controller
	nodes      int
}

// withStage sets up a stage with a controller that is ready, measures on it, and takes it
// down. The flags are given to the controller in addition to those of the stage.
func (b *bench) withStage(ctx context.Context, cloud cloudsim.Options, flags []string, measure func(*stage) error) (err error) {
	s := &stage{bench: b}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx, cloud, flags); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	return measure(s)
}

func (s *stage) open(ctx context.Context, cloud cloudsim.Options, flags []string) (err error) {
	if s.dir, err = os.MkdirTemp(s.bench.dir, "stage-"); err != nil {
		return err
	}
	if s.cluster, err = kube.Start(ctx, kube.Options{NodePortRange: nodePorts}); err != nil {
		return err
	}
	if s.client, err = kubernetes.NewForConfig(s.cluster.Config()); err != nil {
		return err
	}
	cloud.Neutron = neutron.Options{Quotas: map[string]int{"port": -1, "floatingip": -1}}
	if s.cloud, err = cloudsim.Start(cloud); err != nil {
		return err
	}
	for range nodeCount {
		if err := s.addNode(ctx); err != nil {
			return err
		}
	}
	if s.services, err = watchServices(ctx, s.client); err != nil {
		return err
	}
	kubeconfig, cloudConf := filepath.Join(s.dir, "kubeconfig"), filepath.Join(s.dir, "cloud.conf")
	if err := s.cluster.Kubeconfig(kubeconfig); err != nil {
		return err
	}
	if err := cloudsim.WriteFile(cloudConf, s.cloud.CloudConf()); err != nil {
		return err
	}
	s.flags = slices.Concat([]string{"--kubeconfig=" + kubeconfig, "--cloud-config=" + cloudConf}, flags, s.bench.flags)
	if err := s.start(); err != nil {
		return err
	}
	return s.waitUntilReady(ctx)
}

// start starts a controller and does not wait for it.
func (s *stage) start() (err error) {
	s.controller, err = startController(s.bench.binary, filepath.Join(s.dir, "controller.log"), s.flags)
	return err
}

// waitUntilReady waits until the controller's caches are filled.
func (s *stage) waitUntilReady(ctx context.Context) error {
	return s.waitFor(ctx, "the controller to be ready", s.controller.checkReady)
}

// close takes down what there is, the controller first.
func (s *stage) close() error {
	var problems []error
	if s.controller != nil {
		problems = append(problems, s.controller.stop())
	}
	if s.services != nil {
		s.services.close()
	}
	if s.cluster != nil {
		problems = append(problems, s.cluster.Stop())
	}
	if s.cloud != nil {
		problems = append(problems, s.cloud.Close())
	}
	return errors.Join(problems...)
}

// addNode lets a server of the cloud join the cluster. No traffic flows, so
// that a Node object is all there is of it.
func (s *stage) addNode(ctx context.Context) error {
	s.nodes++
	name := fmt.Sprintf("node-%d", s.nodes)
	id, err := s.cloud.AddServer(name)
	if err != nil {
		return err
	}
	address := ""
	for _, server := range s.cloud.Nova().Servers() {
		if server.ID == id {
			address = server.Interfaces[0].FixedIPs[0].Address.String()
		}
	}
	_, err = s.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + id},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}, metav1.CreateOptions{})
	return err
}

// waitFor calls check until it returns no error.
func (s *stage) waitFor(ctx context.Context, what string, check func() error) error {
	late := time.After(waitTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if s.controller != nil {
			if ended := s.controller.checkAlive(); ended != nil {
				return fmt.Errorf("wait for %s: %w", what, ended)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-late:
			return fmt.Errorf("waited %v for %s: %w; the end of the controller's log:\n%s", waitTimeout, what, err, s.controller.tail())
		case <-tick.C:
		}
	}
}

// waitUntilSettled waits until the controller has nothing to do and nothing to watch.
func (s *stage) waitUntilSettled(ctx context.Context) error {
	calls, since := -1, time.Now()
	return s.waitFor(ctx, "the controller to settle", func() error {
		if n := len(s.cloud.Recorder().Calls()); n != calls {
			calls, since = n, time.Now()
		}
		if time.Since(since) < settleTime {
			return fmt.Errorf("the last of %d calls was made just now", calls)
		}
		return s.controller.checkIdle()
	})
}
