// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

// world is where cases are played, one after the other: a cluster with two nodes,
// and a cloud. A controller sees all Services and nodes of its cluster, so cases
// that are played at the same time are in different worlds.
type world struct {
	cluster *kube.Cluster
	client  *clientgo.Clientset
	proxy   *kubeProxy
	cloud   *cloud
	dir     string
	cases   int
	// foreign is what another cluster has in a real cloud, where it takes long to
	// make; else each case makes it anew.
	foreign *foreign
}

// worlds are those that were made so far and are not in use.
var worlds pond

// pond lends worlds.
type pond struct {
	mu   sync.Mutex
	free []*world
	all  []*world
	// turns has room for as many as may be in use.
	turns chan struct{}
	once  sync.Once
}

// take lends a world to the test until it ends.
func (p *pond) take(t *testing.T) *world {
	t.Helper()
	p.once.Do(func() {
		if *stateDir != "" {
			*worldsMax = 1 // the one cloud
		}
		p.turns = make(chan struct{}, *worldsMax)
	})
	p.turns <- struct{}{}
	t.Cleanup(func() { <-p.turns })
	w := p.next()
	if w == nil {
		var err error
		if w, err = newWorld(); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		p.all = append(p.all, w)
		p.mu.Unlock()
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !t.Failed() {
			p.free = append(p.free, w)
			return
		}
		// What a case that failed left behind is not the next one's trouble.
		if *stateDir != "" {
			if err := w.cloud.clear(); err != nil {
				t.Error(err)
			}
			w.foreign = nil // it was cleared, too
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
		p.all = slices.DeleteFunc(p.all, func(o *world) bool { return o == w })
	})
	return w
}

func (p *pond) next() *world {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	w := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return w
}

func (p *pond) close() error {
	var errs []error
	for _, w := range p.all {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}

// startCloud starts the cloud of a world, or opens the way to the one there is.
func startCloud() (*cloud, error) {
	if *stateDir != "" {
		return openReal(*stateDir)
	}
	return simulate()
}

// The nodes that every world has.
var nodeAddresses = map[string]string{"node-1": "10.250.0.11", "node-2": "10.250.0.12"}

func newWorld() (*world, error) {
	w := &world{}
	if err := w.start(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) start() error {
	var err error
	if w.dir, err = os.MkdirTemp("", "kube-octavia-chaos-"); err != nil {
		return err
	}
	// No controllers of Kubernetes' own: nothing here depends on them.
	if w.cluster, err = kube.Start(context.Background(), kube.Options{Controllers: []string{}}); err != nil {
		return err
	}
	if w.client, err = clientgo.NewForConfig(w.cluster.Config()); err != nil {
		return err
	}
	if w.proxy, err = startKubeProxy(w.cluster.Config()); err != nil {
		return err
	}
	if err := w.proxy.kubeconfig(filepath.Join(w.dir, "kubeconfig")); err != nil {
		return err
	}
	if w.cloud, err = startCloud(); err != nil {
		return err
	}
	conf := w.cloud.CloudConf() + "\n[Metadata]\nrequest-timeout=" + pace().request.String() + "\n"
	if err := os.WriteFile(filepath.Join(w.dir, "cloud.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	for name, address := range nodeAddresses {
		if err := w.addNode(name, address); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) close() error {
	var errs []error
	if w.foreign != nil {
		errs = append(errs, w.cloud.removeForeign(*w.foreign))
	}
	if w.proxy != nil {
		errs = append(errs, w.proxy.close())
	}
	if w.cloud != nil {
		errs = append(errs, w.cloud.close())
	}
	if w.cluster != nil {
		errs = append(errs, w.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// addNode lets a node join the cluster.
func (w *world) addNode(name, address string) error {
	ctx := context.Background()
	n, err := w.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	_, err = w.client.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

// nodes are the addresses of the cluster's nodes.
func (w *world) nodes(ctx context.Context) ([]string, error) {
	list, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, n := range list.Items {
		for _, a := range n.Status.Addresses {
			all = append(all, a.Address)
		}
	}
	return all, nil
}

// count adds up what became of the cases.
type count struct {
	mu     sync.Mutex
	cases  int
	failed []string
}

var totals count

// add notes how a case ended when its test does.
func (c *count) add(t *testing.T) {
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.Skipped() {
			return
		}
		c.cases++
		if t.Failed() {
			c.failed = append(c.failed, t.Name())
		}
	})
}

// controllerArgs are those of a controller of the world.
func (w *world) controllerArgs() []string {
	return []string{"controller",
		"--cloud-config=" + filepath.Join(w.dir, "cloud.conf"), "--kubeconfig=" + filepath.Join(w.dir, "kubeconfig"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--watch-interval=50ms", "--sweep-interval=1s", "--v=4",
	}
}

// namespace makes a namespace for a case, and what another cluster has for the same.
func (w *world) namespace(ctx context.Context) (string, foreign, error) {
	if w.foreign != nil {
		return "case-1", *w.foreign, nil
	}
	w.cases++
	name := fmt.Sprintf("case-%d", w.cases)
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return "", foreign{}, err
	}
	f, err := w.cloud.addForeign(name)
	if *stateDir != "" {
		w.foreign = &f
	}
	return name, f, err
}
