// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/freeport"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/node"
)

const (
	namespace = "kube-octavia-demo"
	// class keeps the demo away from all other Services.
	class = "kube-octavia.io/demo"
)

// The durations of the simulated Octavia. A real one builds for half a minute or longer.
const (
	buildTime  = 4 * time.Second
	updateTime = time.Second
	deleteTime = time.Second
)

// targets are the members of the demo's load balancer.
type targets string

const (
	nodeTargets targets = "node"
	// podTargets are reached in their own network, routedPodTargets through a router. On loopback both are the
	// same.
	podTargets       targets = "pod"
	routedPodTargets targets = "pod-routed"
)

func (t targets) pods() bool { return t == podTargets || t == routedPodTargets }

// podGrace is how long, in seconds, a Pod serves after its deletion, while clients move to other Pods.
const podGrace = 15

// stage has the cluster, the cloud, the nodes and the controller of the demo. A part is nil until
// it is started.
type stage struct {
	dir         string
	kubeconfig  string
	kubectlPath string
	cluster     *kube.Cluster
	config      *rest.Config
	client      *kubernetes.Clientset
	cloud       cloud
	targets     targets
	// allControllers makes the controller also initialize the Nodes.
	allControllers bool
	nodes          *node.Nodes
	session        *openstack.Session
	// port is the port of the Pods and of Services, tlsPort that of a Service with TLS.
	port, tlsPort int32
	// before is the inventory of the cloud when the demo began.
	before  inventory
	stop    context.CancelFunc
	stopped chan int
	log     *os.File
	page    *page
}

func newStage(ctx context.Context, p *printer, o options) (*stage, error) {
	s := &stage{kubeconfig: o.kubeconfig, targets: o.targets, allControllers: o.controllers == "all"}
	if o.controllers != "" && o.controllers != "service" && o.controllers != "all" {
		return s, fmt.Errorf("CONTROLLERS=%s: use service or all", o.controllers)
	}
	if o.targets != nodeTargets && !o.targets.pods() {
		return s, fmt.Errorf("TARGETS=%s: use node, pod or pod-routed", o.targets)
	}
	// On ports above 1023 a load balancer can listen without root.
	offset, err := freeport.Offset(0, 8080, 8443)
	if err != nil {
		return s, err
	}
	s.port, s.tlsPort = int32(8080+offset), int32(8443+offset)
	s.dir, err = os.MkdirTemp("", "kube-octavia-demo-")
	if err != nil {
		return s, err
	}
	s.cloud, err = newCloud(o.cloud, s.dir)
	if err != nil {
		return s, err
	}
	if err := s.startCluster(ctx, p); err != nil {
		return s, err
	}
	p.step("OpenStack (%s): Keystone, Neutron, Nova, Octavia", s.cloud.what())
	if err := s.startCloud(ctx, p); err != nil {
		return s, err
	}
	p.note("Keystone answers at %s", s.cloud.authURL())
	p.step("Two nodes, and a Pod on each")
	if err := s.startNodes(ctx, p); err != nil {
		return s, err
	}
	return s, s.writeSamples()
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) startCluster(ctx context.Context, p *printer) (err error) {
	if s.kubeconfig == "" {
		p.step("Kubernetes: etcd, kube-apiserver and kube-controller-manager")
		s.cluster, err = kube.Start(ctx, kube.Options{Progress: func(what string) { p.doing("%s", what) }})
		if err != nil {
			return err
		}
		s.kubeconfig, s.kubectlPath = s.path("kubeconfig"), s.cluster.Kubectl()
		if err := s.cluster.Kubeconfig(s.kubeconfig); err != nil {
			return err
		}
		if err := setNamespace(s.kubeconfig, namespace); err != nil {
			return err
		}
		s.config = s.cluster.Config()
	} else {
		p.step("Kubernetes: the cluster of %s", s.kubeconfig)
		s.config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig)
		if err != nil {
			return err
		}
		s.kubectlPath, err = exec.LookPath("kubectl")
		if err != nil {
			return errors.New("with a cluster of your own, kubectl has to be in the PATH")
		}
	}
	s.client, err = kubernetes.NewForConfig(s.config)
	if err != nil {
		return err
	}
	v, err := s.client.ServerVersion()
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	p.note("Kubernetes %s answers at %s", v.GitVersion, s.config.Host)
	_, err = s.client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	return err
}

// setNamespace sets the namespace of the contexts of a kubeconfig.
func setNamespace(kubeconfig, namespace string) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return err
	}
	for _, c := range config.Contexts {
		c.Namespace = namespace
	}
	return clientcmd.WriteToFile(*config, kubeconfig)
}

func (s *stage) startCloud(ctx context.Context, p *printer) error {
	if err := s.cloud.start(ctx, p); err != nil {
		return err
	}
	text := s.cloud.cloudConf()
	if id := s.cloud.podNetworkID(); s.targets == podTargets && id != "" {
		text += "pod-network-ids=" + id + "\n"
	}
	if err := cloudsim.WriteFile(s.path("cloud.conf"), text); err != nil {
		return err
	}
	conf, err := config.Load(s.path("cloud.conf"))
	if err != nil {
		return err
	}
	s.session, err = openstack.Connect(ctx, openstack.Options{Config: conf.Global})
	if err != nil {
		return err
	}
	s.before, err = s.inventory(ctx)
	return err
}

func (s *stage) startNodes(ctx context.Context, p *printer) (err error) {
	o := node.Options{Config: s.config, PodNetwork: s.cloud.podNetwork()}
	if s.targets.pods() {
		o.PodPorts = s.cloud.podPorts()
	}
	s.nodes, err = node.New(ctx, o)
	if err != nil {
		return err
	}
	for i := 1; i <= 2; i++ {
		if err := s.addNode(ctx, i); err != nil {
			return err
		}
	}
	p.show("kubectl get nodes", s.kubectl(ctx, "get", "nodes", "-o", nodeColumns))
	p.show("kubectl get pods -o wide", s.kubectl(ctx, "get", "pods", "-o", "wide"))
	return nil
}

// nodeColumns are the columns of Nodes that come from the cloud.
const nodeColumns = "custom-columns=NAME:.metadata.name,ADDRESSES:.status.addresses[*].address,PROVIDER ID:.spec.providerID," +
	"TYPE:.metadata.labels.node\\.kubernetes\\.io/instance-type,ZONE:.metadata.labels.topology\\.kubernetes\\.io/zone,TAINTS:.spec.taints[*].key"

func nodeName(i int) string { return fmt.Sprintf("demo-node-%d", i) }

// addNode creates node i with a Pod of the application on it.
func (s *stage) addNode(ctx context.Context, i int) error {
	add, err := s.cloud.node(i)
	if err != nil {
		return err
	}
	if s.allControllers {
		add.Uninitialized = true
		if _, is := s.cloud.(*simulated); is { // the servers have the names of the Nodes
			add.ServerID = ""
		}
	}
	if err := s.nodes.Add(ctx, add); err != nil {
		return err
	}
	return s.runPod(ctx, i, nodeName(i))
}

// runPod runs the i-th Pod of the application.
func (s *stage) runPod(ctx context.Context, i int, on string) error {
	_, err := s.nodes.RunPod(ctx, node.Pod{Namespace: namespace, Name: podName(i), Node: on, GraceSeconds: podGrace,
		Labels: map[string]string{"app": "hello"}, Ports: []corev1.ContainerPort{{Name: podPort, ContainerPort: s.port}}})
	return err
}

// podPort is the name of the Pods' port.
const podPort = "http"

func podName(i int) string { return fmt.Sprintf("hello-%d", i) }

// flags returns the flags that all commands share.
func (s *stage) flags() []string {
	return []string{"--cloud-config=" + s.path("cloud.conf"), "--kubeconfig=" + s.kubeconfig, "--cluster-name=demo",
		"--load-balancer-class=" + class, "--handle-default-class=false"}
}

// doctorFlags returns further flags of `kube-octavia doctor`: those of the controller that it
// checks.
func (s *stage) doctorFlags() []string {
	flags := []string{"--leader-elect-resource-namespace=" + namespace}
	if s.allControllers {
		flags = append(flags, "--controllers="+allControllers)
	}
	return flags
}

// allControllers are the controllers of CONTROLLERS=all.
const allControllers = "service,node,node-lifecycle"

func (s *stage) startController() (err error) {
	s.log, err = os.Create(s.path("controller.log"))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.stopped = stop, make(chan int, 1)
	args := append([]string{"controller", "--leader-elect-resource-namespace=" + namespace,
		"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"}, s.flags()...)
	if s.allControllers {
		args = append(args, "--controllers="+allControllers)
	}
	go func() { s.stopped <- cli.Run(ctx, args, cli.IO{Out: s.log, Err: s.log}, cli.Options{Version: "demo"}) }()
	return nil
}

// plan returns what `kube-octavia plan` prints.
func (s *stage) plan(ctx context.Context) (status int, output string) {
	var out bytes.Buffer
	args := append([]string{"plan", "-n", namespace}, s.flags()...)
	status = cli.Run(ctx, args, cli.IO{Out: &out, Err: &out}, cli.Options{Version: "demo"})
	return status, out.String()
}

// kubectl runs kubectl in the demo's namespace and returns what it printed.
func (s *stage) kubectl(ctx context.Context, args ...string) string {
	c := exec.CommandContext(ctx, s.kubectlPath, append([]string{"--kubeconfig=" + s.kubeconfig, "-n", namespace}, args...)...)
	output, err := c.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s(kubectl: %v)", output, err)
	}
	return string(output)
}

// logTail returns the end of the controller's log.
func (s *stage) logTail() string { return tail(s.path("controller.log")) }

// tail returns the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "none: " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// close stops everything in the reverse order, and removes all files.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var problems []error
	if s.page != nil {
		problems = append(problems, s.page.close())
	}
	if s.stop != nil {
		problems = append(problems, s.clearServices(ctx))
		s.stop()
		if status := <-s.stopped; status != 0 {
			problems = append(problems, fmt.Errorf("the controller ended with status %d; its log:%s", status, s.logTail()))
		}
		problems = append(problems, s.log.Close())
	}
	if s.nodes != nil {
		problems = append(problems, s.nodes.Close())
	}
	if s.client != nil && s.cluster == nil {
		err := s.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
	}
	if s.cluster != nil {
		problems = append(problems, s.cluster.Stop())
	}
	if s.session != nil {
		s.session.Close()
	}
	if s.cloud != nil {
		problems = append(problems, s.cloud.close())
	}
	problems = append(problems, os.RemoveAll(s.dir))
	return errors.Join(problems...)
}

// clearServices deletes the remaining Services while the controller can still clean up after them.
func (s *stage) clearServices(ctx context.Context) error {
	services := s.client.CoreV1().Services(namespace)
	list, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, service := range list.Items {
		if err := services.Delete(ctx, service.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return until(ctx, func() (bool, error) {
		list, err := services.List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, err
	})
}
