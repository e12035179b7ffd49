// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/netns"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// nginxPage is the guide that the test follows.
const nginxPage = "proxy-protocol-with-nginx.md"

// TestNginxSeesTheClientsAddressAsThePageSays applies the manifests of the page. nginx is
// Debian's, and so is HAProxy if the cloud is a real one.
func TestNginxSeesTheClientsAddressAsThePageSays(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn sends no PROXY header")
	needsProgram(t, "nginx")
	w := newNginxWalk(t)
	w.apply("kind: ConfigMap", "default.conf")
	w.apply("kind: Deployment")
	w.runDeployment()
	w.apply("kind: Service")
	w.apply("name: ingress-nginx-controller")
	w.page.requireAllManifestsUsed()

	w.waitForListener("PROXY")
	w.requireClientSeen("through a node", w.addresses("a", "b")...)
	w.requireHeaderOfClientIgnored()
	w.requireNoAnswerWithoutHeader()
	w.web.requireIPMode(corev1.LoadBalancerIPModeProxy)

	user := w.user()
	w.kubectl(strings.Fields(w.page.block("kubectl annotate"))[1:]...)
	w.waitForListener("PROXYV2")
	w.requireClientSeen("by version 2", w.addresses("a", "b")...)

	patch := filepath.Join(w.dir, "patch.yaml")
	if err := os.WriteFile(patch, []byte(w.page.block("externalTrafficPolicy: Local")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.kubectl("patch", "service", "nginx", "--patch-file="+patch)
	w.waitForMonitor("HTTP")
	w.requireClientSeen("with the policy Local", w.web.tree().VIP)
	w.requireNoFailedRequest(user)
	others := slices.DeleteFunc(w.nginx.accessLog(), func(line string) bool { return strings.Contains(line, "\"GET / HTTP/1.1\" 200") })
	if len(others) != 1 {
		t.Errorf("the log of nginx has other lines than that of the client with a header of its own, such as of checks: %q", others)
	}
	if unread := w.nginx.errors("broken header"); len(unread) != 1 {
		t.Errorf("nginx could not read the header of other connections than the one without: %q", unread)
	}
}

// nginxWalk is a stage on which nginx runs by the page.
type nginxWalk struct {
	*stage
	page  *page
	nginx *nginx
	web   *service
}

// newNginxWalk sets up a stage on which nginx runs in the Pods of the page.
func newNginxWalk(t *testing.T) *nginxWalk {
	t.Helper()
	w := &nginxWalk{page: readPage(t, nginxPage), nginx: &nginx{t: t, client: kubetest.Client(t), dir: t.TempDir()}}
	w.stage = newStage(t, settings{podless: true, amphora: true, programs: map[string]node.Program{"registry.example.com/nginx:1.28": w.nginx.run}})
	w.web = &service{stage: w.stage, name: "nginx"}
	return w
}

// apply applies the manifest of the page with these texts, and returns it.
func (w *nginxWalk) apply(texts ...string) string {
	w.t.Helper()
	manifest := w.page.block(append(texts, "apiVersion: ")...)
	// What is another one here: ports, and the subnet of nodes on loopback.
	manifest = strings.ReplaceAll(manifest, "8080", strconv.Itoa(freePort(8080)))
	manifest = strings.ReplaceAll(manifest, "port: 80\n", fmt.Sprintf("port: %d\n", freePort(8080)))
	if *stateDir == "" {
		manifest = strings.ReplaceAll(manifest, "10.0.0.0/24", "127.0.0.0/8")
	}
	path := filepath.Join(w.dir, "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.kubectl("apply", "--validate=strict", "-f", path)
	return manifest
}

// kubectl runs kubectl in the namespace of the stage.
func (w *nginxWalk) kubectl(args ...string) {
	w.t.Helper()
	out, err := deploy.Kubectl(w.t.Context(), kubetest.Cluster(w.t), append([]string{"--namespace=" + w.namespace}, args...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("kubectl %s: %s", strings.Join(args, " "), strings.TrimSpace(out))
}

// runDeployment makes the Pods of the Deployment, one for each node, as the Deployment controller
// and the scheduler would.
func (w *nginxWalk) runDeployment() {
	w.t.Helper()
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(w.t.Context(), "nginx", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	template := deployment.Spec.Template
	for i := range int(ptr.Deref(deployment.Spec.Replicas, 1)) {
		on := []string{"a", "b"}[i]
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nginx-" + on, Labels: template.Labels}, Spec: *template.Spec.DeepCopy()}
		pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = w.node(on), ptr.To[int64](1)
		w.eventually(func() error { // a new namespace has no ServiceAccount yet
			_, err := w.client.CoreV1().Pods(w.namespace).Create(w.t.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
}

// waitForListener waits until the load balancer sends this protocol and the address is published.
func (w *nginxWalk) waitForListener(protocol string) {
	w.t.Helper()
	w.web.waitForTree(speaks("TCP/8080 TCP " + protocol))
	w.web.waitUntilProgrammed()
	w.serve("L4OK") // nginx accepts the connections of the TCP monitor
}

// waitForMonitor waits until the members are checked in this way.
func (w *nginxWalk) waitForMonitor(kind string) {
	w.t.Helper()
	w.web.waitForTree(func(found tree) error {
		if m := found.listener("TCP/8080").Pool.Monitor; m == nil || m.Type != kind {
			return fmt.Errorf("its monitor is %+v", m)
		}
		return nil
	})
	w.web.waitUntilProgrammed()
	w.serve("L7OK") // the health check node port answers, which expects no PROXY header
}

// serve lets HAProxy follow, until it has checked all members with this result.
func (w *nginxWalk) serve(result string) {
	w.t.Helper()
	if a, isAmphora := w.cloud.backend.(*amphora); isAmphora {
		found := w.web.tree()
		a.serve(found.ID, found.VIP, strconv.Itoa(freePort(8080)))
		a.waitForChecks(w.stage, found.ID, result)
	}
}

// at returns where clients connect to: the address of the Service, or the VIP where floating IPs
// lead nowhere.
func (w *nginxWalk) at() string {
	w.t.Helper()
	if _, isAmphora := w.cloud.backend.(*amphora); isAmphora {
		return endpoint(w.web.tree().VIP, 8080)
	}
	return endpoint(w.web.address(), 8080)
}

// requireClientSeen makes requests from an address on the internet, until nginx has logged that it
// got some through each of the peers. All must be answered with the client's address.
func (w *nginxWalk) requireClientSeen(what string, peers ...string) {
	w.t.Helper()
	from, at := w.cloud.internet(), w.at()
	want := fmt.Sprintf("your address is %s\n", from.address)
	w.eventually(func() error {
		for range 4 {
			have, err := get(w.t.Context(), from, at)
			if err != nil {
				return err
			}
			if have != want {
				w.t.Fatalf("%s, nginx says %q instead of %q", what, have, want)
			}
		}
		for _, peer := range peers {
			line := fmt.Sprintf("%s through %s \"GET / HTTP/1.1\" 200", from.address, peer)
			if !slices.Contains(w.nginx.accessLog(), line) {
				return fmt.Errorf("%s, the log of nginx has no line %q: %q", what, line, w.nginx.accessLog())
			}
		}
		return nil
	})
	w.t.Logf("%s: %s %s", what, w.cloud.internet(), strings.TrimSpace(want))
}

// requireHeaderOfClientIgnored sends a PROXY header of the client's own: the load balancer's comes before it.
func (w *nginxWalk) requireHeaderOfClientIgnored() {
	w.t.Helper()
	from := w.cloud.internet()
	c, err := from.dial(w.t.Context(), "tcp", w.at())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(c, "PROXY TCP4 203.0.113.66 203.0.113.67 1 2\r\nGET / HTTP/1.0\r\n\r\n"); err != nil {
		w.t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(answer), "400 Bad Request") {
		w.t.Errorf("a client with a header of its own got %q, %v", answer, err)
	}
	if all := strings.Join(w.nginx.accessLog(), "\n"); strings.Contains(all, "203.0.113.66") {
		w.t.Errorf("nginx believed it:\n%s", all)
	}
}

// requireNoAnswerWithoutHeader connects to a NodePort, past the load balancer.
func (w *nginxWalk) requireNoAnswerWithoutHeader() {
	w.t.Helper()
	at := net.JoinHostPort(w.address("a"), strconv.Itoa(int(w.web.now().Spec.Ports[0].NodePort)))
	if answer, err := get(w.t.Context(), w.cloud.internet(), at); err == nil {
		w.t.Errorf("nginx answered %q to a client that sent no PROXY header", answer)
	}
}

// user makes requests that must be answered all the time.
func (w *nginxWalk) user() *user {
	at := w.at()
	return w.startUser(func(ctx context.Context) error {
		_, err := get(ctx, w.cloud.outside(), at)
		return err
	})
}

// get makes one HTTP request on a connection of its own.
func get(ctx context.Context, from client, at string) (string, error) {
	body, _, err := requestFrom(ctx, from, nil, "http://"+at)
	return body, err
}

// requestFrom makes one request on a connection of its own, with trust for https, and returns body and header of the answer. Another
// status than 200 is an error.
func requestFrom(ctx context.Context, from client, trust *tls.Config, url string) (string, http.Header, error) {
	client := http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: from.dial, TLSClientConfig: trust}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	resp, err := client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), resp.Header, err
}

// nginx runs the containers of nginx, as processes with a log each.
type nginx struct {
	t      *testing.T
	client *kubernetes.Clientset
	dir    string

	mu   sync.Mutex
	dirs []string // of the processes
}

// nginxConf is what the image of nginx has around conf.d. Everything is in one directory.
const nginxConf = `daemon off;
master_process off;
pid nginx.pid;
error_log error.log info;
events {}
http {
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  include conf.d/*.conf;
}
`

// run returns a [node.Program]: it starts nginx with the files of the container's ConfigMap.
func (n *nginx) run(c node.Container) (stop func(), err error) {
	dir := filepath.Join(n.dir, c.Pod.Name)
	if err := n.writeFiles(dir, c); err != nil {
		return nil, err
	}
	stdout, err := os.OpenFile(filepath.Join(dir, "stdout"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	command := exec.Command(program("nginx"), "-p", dir, "-e", "error.log", "-c", "nginx.conf")
	output := &log{}
	command.Stdout, command.Stderr = stdout, output
	if err := netns.In(c.Namespace, command.Start); err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.dirs = append(n.dirs, dir)
	n.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // what it said is in the output
	}()
	stop = func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		<-ended
	}
	at := net.JoinHostPort(c.Address.String(), strconv.Itoa(int(c.Spec.Ports[0].ContainerPort)))
	err = client{namespace: c.Namespace}.waitUntilAccepted(at, ended)
	if err != nil {
		stop()
		return nil, fmt.Errorf("nginx: %w: %s", err, output)
	}
	return stop, nil
}

// writeFiles creates the directory with what the container would have. Where the page's
// configuration listens on all addresses of the Pod, this listens on the one that the Pod has.
func (n *nginx) writeFiles(dir string, c node.Container) error {
	conf := filepath.Join(dir, "conf.d")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(nginxConf), 0o600); err != nil {
		return err
	}
	mount := c.Spec.VolumeMounts[0]
	if mount.MountPath != "/etc/nginx/conf.d" {
		return fmt.Errorf("nginx reads /etc/nginx/conf.d, not %s", mount.MountPath)
	}
	for _, v := range c.Pod.Spec.Volumes {
		if v.Name != mount.Name || v.ConfigMap == nil {
			continue
		}
		files, err := n.client.CoreV1().ConfigMaps(c.Pod.Namespace).Get(context.Background(), v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for name, text := range files.Data {
			text = strings.ReplaceAll(text, "listen ", "listen "+c.Address.String()+":")
			if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("Pod %s has no ConfigMap for %s", c.Pod.Name, mount.MountPath)
}

// accessLog are the lines of the access logs of all processes.
func (n *nginx) accessLog() []string { return n.lines("stdout", "") }

// errors are the lines with the text in the error logs of all processes.
func (n *nginx) errors(text string) []string {
	return n.lines("error.log", text)
}

// lines are the lines with the text in the file of this name, of all processes.
func (n *nginx) lines(file, text string) []string {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, dir := range n.dirs {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			n.t.Error(err)
		}
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, text) {
				all = append(all, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return all
}
