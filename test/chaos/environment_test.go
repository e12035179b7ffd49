// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/test/kube"
)

// environment is a cluster with two nodes, and a cloud. Cases use it one after the other:
// a controller sees all Services and nodes of its cluster, so cases that run at the same
// time need different environments.
type environment struct {
	cluster *kube.Cluster
	client  *clientgo.Clientset
	proxy   *kubeProxy
	cloud   *cloud
	release release.Release // of a simulated cloud
	dir     string
	cases   int
	// otherCluster has the objects of another cluster in a real cloud, where it takes long
	// to create them; else each case creates its own.
	otherCluster *otherCluster
}

// environments are those of all cases.
var environments environmentCache

// environmentCache keeps environments for the next case.
type environmentCache struct {
	mu   sync.Mutex
	free []*environment
	all  []*environment
	// slots has room for as many as may be in use.
	slots chan struct{}
	once  sync.Once
}

// acquire returns an environment that is the test's until it ends. Its cloud is of the release that the test's scenario has.
func (c *environmentCache) acquire(t *testing.T) *environment {
	t.Helper()
	c.once.Do(func() {
		if *stateDir != "" {
			*maxEnvironments = 1 // the one cloud
		}
		c.slots = make(chan struct{}, *maxEnvironments)
	})
	c.slots <- struct{}{}
	t.Cleanup(func() { <-c.slots })
	played := releaseOf(t.Name())
	e := c.takeFree(played)
	if e == nil {
		var err error
		if e, err = newEnvironment(played); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.all = append(c.all, e)
		c.mu.Unlock()
	}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !t.Failed() {
			c.free = append(c.free, e)
			return
		}
		// What a case that failed left behind must not make the next one fail.
		if *stateDir != "" {
			if err := e.cloud.clear(); err != nil {
				t.Error(err)
			}
			e.otherCluster = nil // it was cleared, too
		}
		if err := e.close(); err != nil {
			t.Error(err)
		}
		c.all = slices.DeleteFunc(c.all, func(o *environment) bool { return o == e })
	})
	if *stateDir != "" {
		return e
	}
	t.Logf("OpenStack %s", played)
	if e.release != played {
		if err := e.play(played); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// releaseOf returns the release of OpenStack that a test uses: all cases of a scenario the same one, so that they make
// the same calls.
func releaseOf(test string) release.Release {
	parts := strings.SplitN(test, "/", 3)
	h := fnv.New32a()
	fmt.Fprint(h, parts[:min(len(parts), 2)])
	return release.All[h.Sum32()%uint32(len(release.All))]
}

// takeFree takes a free environment, if possible one that simulates the release: another one must start its cloud
// again.
func (c *environmentCache) takeFree(played release.Release) *environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		return nil
	}
	i := max(slices.IndexFunc(c.free, func(e *environment) bool { return e.release == played }), 0)
	e := c.free[i]
	c.free = slices.Delete(c.free, i, i+1)
	return e
}

func (c *environmentCache) close() error {
	var errs []error
	for _, e := range c.all {
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}

// startCloud starts a simulated cloud of the release, or connects to the real one.
func startCloud(played release.Release) (*cloud, error) {
	if *stateDir != "" {
		return connectReal(*stateDir)
	}
	return startSimulated(played)
}

// nodeAddresses are those of the nodes that every environment has.
var nodeAddresses = map[string]string{"node-1": "10.250.0.11", "node-2": "10.250.0.12"}

func newEnvironment(played release.Release) (*environment, error) {
	e := &environment{}
	if err := e.start(played); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *environment) start(played release.Release) error {
	var err error
	if e.dir, err = os.MkdirTemp("", "kube-octavia-chaos-"); err != nil {
		return err
	}
	// Without the controllers of Kubernetes: nothing here depends on them.
	if e.cluster, err = kube.Start(context.Background(), kube.Options{Controllers: []string{}}); err != nil {
		return err
	}
	if e.client, err = clientgo.NewForConfig(e.cluster.Config()); err != nil {
		return err
	}
	if e.proxy, err = startKubeProxy(e.cluster.Config()); err != nil {
		return err
	}
	if err := e.proxy.kubeconfig(filepath.Join(e.dir, "kubeconfig")); err != nil {
		return err
	}
	if err := e.play(played); err != nil {
		return err
	}
	for name, address := range nodeAddresses {
		if err := e.addNode(name, address); err != nil {
			return err
		}
	}
	return nil
}

// play gives the environment a cloud of the release, in place of the one that it has.
func (e *environment) play(played release.Release) error {
	if e.cloud != nil {
		if err := e.cloud.close(); err != nil {
			return err
		}
	}
	var err error
	if e.cloud, err = startCloud(played); err != nil {
		return err
	}
	e.release = played
	subnet, err := e.cloud.serviceSubnet()
	if err != nil {
		return err
	}
	conf := e.cloud.CloudConf() + clusterIPMode(subnet) + "\n[Metadata]\nrequest-timeout=" + cloudDurations().requestTimeout.String() + "\n"
	return os.WriteFile(filepath.Join(e.dir, "cloud.conf"), []byte(conf), 0o600)
}

func (e *environment) close() error {
	var errs []error
	if e.otherCluster != nil {
		errs = append(errs, e.cloud.deleteOtherCluster(*e.otherCluster))
	}
	if e.proxy != nil {
		errs = append(errs, e.proxy.close())
	}
	if e.cloud != nil {
		errs = append(errs, e.cloud.close())
	}
	if e.cluster != nil {
		errs = append(errs, e.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// addNode adds a node to the cluster.
func (e *environment) addNode(name, address string) error {
	ctx := context.Background()
	n, err := e.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	_, err = e.client.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

// nodes returns the addresses of the cluster's nodes.
func (e *environment) nodes(ctx context.Context) ([]string, error) {
	list, err := e.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
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

// results counts the cases.
type results struct {
	mu     sync.Mutex
	cases  int
	failed []string
}

var totals results

// record notes how a case ended when its test does.
func (c *results) record(t *testing.T) {
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

// controllerArgs returns the arguments of a controller in the environment.
func (e *environment) controllerArgs() []string {
	return []string{"controller",
		"--cloud-config=" + filepath.Join(e.dir, "cloud.conf"), "--kubeconfig=" + filepath.Join(e.dir, "kubeconfig"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--sweep-interval=1s", "--v=4", "--pod-readiness-gates",
	}
}

// namespace creates a namespace for a case, and the objects of another cluster for the same
// name.
func (e *environment) namespace(ctx context.Context) (string, otherCluster, error) {
	if e.otherCluster != nil {
		return "case-1", *e.otherCluster, nil
	}
	e.cases++
	name := fmt.Sprintf("case-%d", e.cases)
	_, err := e.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return "", otherCluster{}, err
	}
	other, err := e.cloud.createOtherCluster(name)
	if *stateDir != "" {
		e.otherCluster = &other
	}
	return name, other, err
}
