// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/node"
)

const (
	// waitTimeout is the limit of each wait.
	waitTimeout  = time.Minute
	pollInterval = 50 * time.Millisecond
	// nodeName is the name of the only node.
	nodeName = "node-1"
)

// try is one installation in a new cluster.
type try struct {
	*clock
	page    page
	dir     string
	cluster *kube.Cluster
	client  *kubernetes.Clientset
	cloud   *cloudsim.Cloud
	nodes   *node.Nodes
	pods    string // network namespace
	pod     *container
}

// inside continues in the network namespace.
func inside(ctx context.Context, method, dir string, c *clock) (err error) {
	t := &try{clock: c, dir: dir}
	defer func() { err = errors.Join(err, t.close()) }()
	t.page, err = readPage(t.clone())
	if err != nil {
		return err
	}
	install := map[string]func(context.Context) error{"helm": t.withHelm, "helm-template": t.withHelmTemplate, "kustomize": t.withKustomize}[method]
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"start a new cluster, a cloud and a node", t.startWorld},
		{"install with " + method, install},
		{"start a Pod of kube-octavia from the files of the image", t.startPod},
		{"create a Service", t.createService},
		{"make a request to the Service", t.ask},
		{"use the plug-in of kubectl", t.usePlugin},
	}
	for _, s := range steps {
		if err := c.step(s.what, func() error { return s.do(ctx) }); err != nil {
			if t.pod != nil {
				err = t.pod.stop(err)
			}
			return err
		}
	}
	fmt.Fprintf(c.out, "\nfrom git clone to the answer: %.1f s\n", time.Since(c.began).Seconds())
	if method == "helm" {
		return c.step("upgrade", func() error { return t.upgrade(ctx) })
	}
	return nil
}

func (t *try) clone() string { return filepath.Join(t.dir, "kube-octavia") }

// run runs commands of the page in a directory, as the administrator of the cluster.
func (t *try) run(ctx context.Context, dir, commands string) error {
	for line := range strings.Lines(commands) {
		fmt.Fprintf(t.out, "  $ %s", line)
	}
	path := strings.Join([]string{filepath.Join(t.dir, "bin"), filepath.Dir(t.cluster.Kubectl()), os.Getenv("PATH")}, ":")
	return t.shell(ctx, dir, commands, "PATH="+path, "KUBECONFIG="+filepath.Join(t.dir, "kubeconfig"), "HOME="+t.dir)
}

func (t *try) startWorld(ctx context.Context) (err error) {
	if _, err := output(ctx, ".", "ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	controllers := append(kube.DefaultControllers(), "deployment-controller", "replicaset-controller")
	t.cluster, err = kube.Start(ctx, kube.Options{Controllers: controllers})
	if err != nil {
		return err
	}
	if err := t.cluster.Kubeconfig(filepath.Join(t.dir, "kubeconfig")); err != nil {
		return err
	}
	t.client, err = kubernetes.NewForConfig(t.cluster.Config())
	if err != nil {
		return err
	}
	t.cloud, err = cloudsim.Start(cloudsim.Options{DataPlane: true, MemberAt: node.Loopback, Nodes: []cloudsim.Node{{Name: nodeName}}})
	if err != nil {
		return err
	}
	// Other Pods have a separate namespace, because kube-octavia uses port 8080 on all addresses of this
	// one.
	t.pods = fmt.Sprintf("ko-install-%d", os.Getpid())
	for _, args := range []string{"netns add " + t.pods, "-n " + t.pods + " link set lo up", "-n " + t.pods + " route add local 0.0.0.0/0 dev lo"} {
		if _, err := output(ctx, ".", "ip", strings.Fields(args)...); err != nil {
			return err
		}
	}
	t.nodes, err = node.New(ctx, node.Options{Config: t.cluster.Config(), PodNetwork: t.pods})
	if err != nil {
		return err
	}
	server := t.cloud.Nova().Servers()[0]
	return t.nodes.Add(ctx, node.Node{Name: nodeName, ServerID: server.ID, Address: server.Interfaces[0].FixedIPs[0].Address})
}

// withHelm follows the section "With Helm".
func (t *try) withHelm(ctx context.Context) error {
	commands, err := t.helmCommands()
	if err != nil {
		return err
	}
	return t.run(ctx, t.clone(), commands)
}

// withHelmTemplate applies the output of helm template instead of installing a release.
func (t *try) withHelmTemplate(ctx context.Context) error {
	commands, err := t.helmCommands()
	if err != nil {
		return err
	}
	version, err := t.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	commands = strings.Replace(commands, "helm install", "helm template", 1)
	commands = fmt.Sprintf("%s --kube-version=%s.%s | kubectl apply -f -\n", strings.TrimSpace(commands), version.Major, version.Minor)
	return t.run(ctx, t.clone(), commands)
}

// helmCommands returns the commands of the section "With Helm", without the last one: it waits for
// both Pods, but only one runs here.
func (t *try) helmCommands() (string, error) {
	commands, err := t.page.block("helm install kube-octavia")
	if err != nil {
		return "", err
	}
	err = cloudsim.WriteFile(filepath.Join(t.clone(), "cloud.conf"), t.cloudConf())
	return without(commands, "rollout status"), err
}

// cloudConf returns the cloud.conf of the cloud. It opens the NodePorts as the page says. Its last section is
// [LoadBalancer].
func (t *try) cloudConf() string { return t.cloud.CloudConf() + "manage-security-groups = true\n" }

// withKustomize follows the section "With kustomize".
func (t *try) withKustomize(ctx context.Context) error {
	kustomization, err := t.page.block("kind: Kustomization")
	if err != nil {
		return err
	}
	commands, err := t.page.block("kubectl apply -k .")
	if err != nil {
		return err
	}
	dir := filepath.Join(t.dir, "prod")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	secret, err := t.secret()
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600),
		cloudsim.WriteFile(filepath.Join(dir, "secret.yaml"), secret)); err != nil {
		return err
	}
	return t.run(ctx, dir, without(commands, "rollout status"))
}

// secret returns the example Secret with the cloud.conf of the cloud.
func (t *try) secret() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.clone(), "deploy/example/secret.yaml"))
	if err != nil {
		return "", err
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict(text, &secret); err != nil {
		return "", err
	}
	secret.StringData["cloud.conf"] = t.cloudConf()
	text, err = yaml.Marshal(secret)
	return string(text), err
}

// startPod runs only one of the two Pods of the Deployment, because both would use the same ports
// here.
func (t *try) startPod(ctx context.Context) error {
	unpacked, err := unpack(filepath.Join(t.clone(), "bin/kube-octavia-image.tar"), imageName, filepath.Join(t.dir, "root"))
	if err != nil {
		return err
	}
	pod, err := t.podOf(ctx, "kube-octavia", "app.kubernetes.io/name=kube-octavia")
	if err != nil {
		return err
	}
	t.pod = &container{client: t.client, config: t.cluster.Config(), pod: pod, image: unpacked}
	fmt.Fprintf(t.out, "    Pod %s: %s\n", pod.Name, strings.Join(t.pod.spec().Args, " "))
	if err := t.pod.start(ctx); err != nil {
		return err
	}
	return t.pod.waitUntilReady(ctx)
}

// podOf waits for a Pod of a Deployment.
func (t *try) podOf(ctx context.Context, namespace, selector string) (*corev1.Pod, error) {
	var pod *corev1.Pod
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		list, err := t.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err == nil && len(list.Items) > 0 {
			pod = &list.Items[0]
		}
		return pod != nil, err
	})
	return pod, err
}

// createService follows the section "Create a Service". It binds the Pod of the Deployment to the node, as the
// scheduler would.
func (t *try) createService(ctx context.Context) error {
	commands, err := t.page.block("kubectl create deployment hello")
	if err != nil {
		return err
	}
	create, rest, _ := strings.Cut(commands, "\n")
	if err := t.run(ctx, t.dir, create+"\n"); err != nil {
		return err
	}
	pod, err := t.podOf(ctx, "default", "app=hello")
	if err != nil {
		return err
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
	if err := t.client.CoreV1().Pods("default").Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	return t.run(ctx, t.dir, rest)
}

// ask makes a request to the address of the Service.
func (t *try) ask(ctx context.Context) error {
	service, err := t.client.CoreV1().Services("default").Get(ctx, "hello", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(service.Status.LoadBalancer.Ingress) != 1 {
		return fmt.Errorf("the Service has the addresses %+v", service.Status.LoadBalancer.Ingress)
	}
	address := service.Status.LoadBalancer.Ingress[0].IP
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // no proxy
	var last error
	err = t.pod.poll(ctx, func(ctx context.Context) (bool, error) {
		answer, err := client.Get("http://" + address + "/")
		if err != nil {
			last = err // the node may not be ready yet
			return false, nil
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		fmt.Fprintf(t.out, "  http://%s/ answers %s: %s", address, answer.Status, said)
		return answer.StatusCode == http.StatusOK, err
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// usePlugin follows the section "Use it with kubectl", with the program of the image: without flags, the commands find
// the controller and its cloud in the cluster.
func (t *try) usePlugin(ctx context.Context) error {
	commands, err := t.page.block("kubectl octavia status", "kubectl octavia doctor")
	if err != nil {
		return err
	}
	plugin := filepath.Join(t.dir, "bin", "kubectl-octavia")
	if err := os.Symlink(filepath.Join(t.pod.image.root, t.pod.image.entrypoint[0]), plugin); err != nil {
		return err
	}
	return t.run(ctx, t.dir, strings.Replace(commands, "-n shop svc/web", "svc/hello", 1))
}

// upgrade follows docs/how-to.md, with adopt=tag, and checks that nothing else changes.
func (t *try) upgrade(ctx context.Context) error {
	before, err := t.client.AppsV1().Deployments("kube-octavia").Get(ctx, "kube-octavia", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := t.run(ctx, t.clone(), "helm upgrade kube-octavia charts/kube-octavia -n kube-octavia --reset-then-reuse-values --set adopt=tag\n"); err != nil {
		return err
	}
	after, err := t.client.AppsV1().Deployments("kube-octavia").Get(ctx, "kube-octavia", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if before.Generation != after.Generation {
		return fmt.Errorf("the Deployment was changed: from %v to %v", before.Spec.Template.Spec, after.Spec.Template.Spec)
	}
	return nil
}

// close stops everything.
func (t *try) close() error {
	var problems []error
	if t.pod != nil {
		problems = append(problems, t.pod.stop(nil))
	}
	if t.nodes != nil {
		problems = append(problems, t.nodes.Close())
	}
	if t.pods != "" {
		_, err := output(context.Background(), ".", "ip", "netns", "delete", t.pods)
		problems = append(problems, err)
	}
	if t.cloud != nil {
		problems = append(problems, t.cloud.Close())
	}
	if t.cluster != nil {
		problems = append(problems, t.cluster.Stop())
	}
	return errors.Join(problems...)
}
