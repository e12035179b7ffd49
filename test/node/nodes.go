// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
)

// closeTimeout bounds how long Close talks to the API server.
const closeTimeout = 15 * time.Second

// Options are what a set of nodes depends on.
type Options struct {
	// Config is how to reach the API server, with the rights to write Nodes
	// and Pods and to read Services and EndpointSlices.
	Config *rest.Config
	// Logger gets what goes wrong after the call that caused it has returned.
	// The zero value discards it.
	Logger logr.Logger
	// PodNetwork is the network namespace in which Pods listen, if there are
	// nodes with network namespaces. Every address must be local there, as it is after `ip route
	// add local 0.0.0.0/0 dev lo`.
	PodNetwork string
	// PodPorts are for Pods with network namespaces of their own. Each Pod takes one, and nodes
	// forward to it from their own namespace. Empty: all Pods are in PodNetwork.
	PodPorts []PodPort
	// Programs run the containers with these images. Any other container is a small server.
	Programs map[string]Program
}

// Program runs a container: it returns when the container answers at its address, and stop ends it.
type Program func(Container) (stop func(), err error)

// Container is what a [Program] runs.
type Container struct {
	Pod  *corev1.Pod
	Spec corev1.Container
	// Address is where the container must listen, in the network namespace, if there is one.
	Namespace string
	Address   netip.Addr
}

// PodPort is a network namespace with an address for one Pod.
type PodPort struct {
	Namespace string
	Address   netip.Addr
}

// Node describes one node.
type Node struct {
	// Name is the name of the Node object.
	Name string
	// Address is the InternalIP: a loopback address on which no other
	// process listens, such as 127.30.0.11, or the address that the node has in its
	// network namespace.
	Address netip.Addr
	// Namespace is the network namespace in which the node listens, as
	// ip-netns(8) names it.
	Namespace string
	// Unserved leaves the node without a proxy: nothing answers at its address,
	// which then can be any. Its Pods run.
	Unserved bool
	// ServerID is the id of the Nova server; it becomes the providerID
	// openstack:///<id>. Empty: the Node has no providerID.
	ServerID string
	// Uninitialized registers the Node as kubelet does with an external cloud provider: with the taint that a node
	// controller removes, and without addresses of the cloud.
	Uninitialized bool
	// Labels are added to the usual ones (kubernetes.io/hostname, os, arch).
	Labels map[string]string
	// Addresses are published in the Node's status after the InternalIP, for
	// instance an IPv6 one. Nothing listens on them.
	Addresses []corev1.NodeAddress
}

// Nodes is a set of nodes of one cluster. Its methods may be called from
// several goroutines.
type Nodes struct {
	logger logr.Logger
	client kubernetes.Interface
	// plane does the forwarding of all nodes: to it, a Service on a node is a
	// load balancer.
	plane   *dataplane.Plane
	network podNetwork
	images  map[string]Program

	factory  informers.SharedInformerFactory
	services cache.Indexer
	slices   cache.Indexer
	podStore cache.Indexer
	proxied  queue
	kubelet  queue
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	// closeMu makes Close run once; it guards closed.
	closeMu sync.Mutex
	closed  bool

	mu     sync.Mutex
	nodes  map[string]*node
	pods   map[types.NamespacedName]*process
	health map[string]*healthServer
}

// node is a node of the set.
type node struct {
	Node
	// registered is whether the Node object is ours to delete.
	registered bool
	// down means that nothing on the node answers, now and later.
	down bool
	// serving are the ids under which the plane forwards for the node.
	serving map[string]bool
}

// New starts watching the cluster and returns an empty set once it knows the
// cluster's Services, EndpointSlices and Pods. ctx bounds the start only. Close
// must be called.
func New(ctx context.Context, o Options) (*Nodes, error) {
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("nodes: client configuration: %w", err)
	}
	n := &Nodes{
		logger:  o.Logger,
		client:  client,
		plane:   dataplane.New(dataplane.Options{Logger: o.Logger}),
		network: podNetwork{namespace: o.PodNetwork, ports: o.PodPorts},
		images:  o.Programs,
		factory: informers.NewSharedInformerFactory(client, 0),
		proxied: newQueue(),
		kubelet: newQueue(),
		nodes:   map[string]*node{},
		pods:    map[types.NamespacedName]*process{},
		health:  map[string]*healthServer{},
	}
	running, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	if err := n.watch(ctx, running); err != nil {
		n.stop()
		return nil, err
	}
	n.workers.Go(func() { n.work(running, n.proxied, n.syncService) })
	n.workers.Go(func() { n.work(running, n.kubelet, n.syncPod) })
	return n, nil
}

// Add registers the node, or updates a Node object that exists, marks it Ready
// and starts to answer on its NodePorts and to run its Pods.
func (n *Nodes) Add(ctx context.Context, add Node) error {
	add.Address = add.Address.Unmap()
	if err := n.check(add); err != nil {
		return err
	}
	n.mu.Lock()
	for _, other := range n.nodes {
		if other.Name == add.Name || other.Address == add.Address {
			n.mu.Unlock()
			return fmt.Errorf("node %s: node %s exists already and has the address %s", add.Name, other.Name, other.Address)
		}
	}
	n.nodes[add.Name] = &node{Node: add, registered: true, serving: map[string]bool{}}
	n.mu.Unlock()
	if err := n.register(ctx, add); err != nil {
		n.mu.Lock()
		delete(n.nodes, add.Name)
		n.mu.Unlock()
		return err
	}
	n.resync()
	return nil
}

// check reports what is wrong with the description of a node.
func (n *Nodes) check(add Node) error {
	switch {
	case add.Name == "" || !add.Address.IsValid():
		return fmt.Errorf("node %q: it needs a name and an address, not %s", add.Name, add.Address)
	case add.Unserved:
		return nil
	case add.Namespace != "" && !n.network.inNamespace():
		return fmt.Errorf("node %s: it has a network namespace, so the set needs one for Pods (Options.PodNetwork)", add.Name)
	case add.Namespace == "" && !add.Address.IsLoopback():
		return fmt.Errorf("node %s: without a network namespace it needs a loopback address, not %s", add.Name, add.Address)
	}
	return nil
}

// Unregister deletes the Node object while the node continues to answer: a node that is leaving, as
// the cluster sees it first. Remove ends it.
func (n *Nodes) Unregister(ctx context.Context, name string) error {
	if _, err := n.change(name, func(nd *node) { nd.registered = false }); err != nil {
		return err
	}
	return n.deleteNode(ctx, name)
}

// Crash makes everything on the node fall silent and leaves its objects as
// they are: what a power failure looks like before Kubernetes notices it.
func (n *Nodes) Crash(name string) error {
	if _, err := n.change(name, func(nd *node) { nd.down = true }); err != nil {
		return err
	}
	n.silence(name)
	return nil
}

// Remove stops the node and deletes its Pods and the Node object. Removing a
// node that is not in the set is an error.
func (n *Nodes) Remove(ctx context.Context, name string) error {
	was, err := n.change(name, func(nd *node) { nd.down = true })
	if err != nil {
		return err
	}
	n.silence(name)
	errs := []error{n.deletePodsOn(ctx, name)}
	if was.registered {
		errs = append(errs, n.deleteNode(ctx, name))
	}
	n.mu.Lock()
	delete(n.nodes, name)
	n.mu.Unlock()
	return errors.Join(errs...)
}

// change changes a node of the set and returns what it was before.
func (n *Nodes) change(name string, f func(*node)) (was node, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nd := n.nodes[name]
	if nd == nil {
		return node{}, fmt.Errorf("node %q is not in the set", name)
	}
	was = *nd
	f(nd)
	return was, nil
}

// Close stops all nodes and deletes their Pods and Node objects. It returns
// when nothing of the set runs any more; the error tells what could not be
// deleted, for instance because the API server has gone. A second call does
// nothing.
func (n *Nodes) Close() error {
	n.closeMu.Lock()
	defer n.closeMu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, name := range n.names() {
		if err := n.Remove(ctx, name); err != nil {
			errs = append(errs, err)
		}
	}
	n.stop()
	return errors.Join(errs...)
}

// stop ends the goroutines and everything that listens.
func (n *Nodes) stop() {
	n.cancel()
	n.proxied.ShutDown()
	n.kubelet.ShutDown()
	n.workers.Wait()
	n.factory.Shutdown()
	for _, name := range n.names() {
		n.silence(name)
	}
	n.plane.Close()
}

func (n *Nodes) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for name := range n.nodes {
		names = append(names, name)
	}
	return names
}
