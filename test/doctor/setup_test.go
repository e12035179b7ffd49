// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor has the table of the findings and advice of `kube-octavia doctor` in each situation. Each situation is
// created on a simulated or a real cloud and a Kubernetes API in memory, both over HTTP.
package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"

	"github.com/kube-octavia/kube-octavia/test/memory/kubernetes"
)

// setup is the setup that doctor checks: a correct one, until a situation makes a mistake in it.
type setup struct {
	t     testing.TB
	cloud *cloud
	api   *kubernetes.API
	kube  clientgo.Interface
	// conf is the text of cloud.conf, mode its permissions, and confPath its path.
	conf     string
	mode     os.FileMode
	confPath string
	// kubeconfig leads to the API.
	kubeconfig *api.Config
	// kubeconfigPath is where it is written, unless it is empty: then there is no --kubeconfig.
	kubeconfigPath string
	// finds means that there is no --cloud-config: doctor finds the settings of the controller, and says where.
	finds bool
	// args are further flags.
	args []string
	// web is the Service with a load balancer, and balancer the id of that.
	web      *corev1.Service
	balancer string
}

// token is the bearer token of the user in Kubernetes.
const token = "kubernetes-token"

// newSetup returns a correct setup: two nodes, a Service with a load balancer, and an application
// credential.
func newSetup(t testing.TB, c *cloud) *setup {
	t.Helper()
	s := &setup{t: t, cloud: c, mode: 0o600}
	dir := t.TempDir()
	s.confPath, s.kubeconfigPath = filepath.Join(dir, "cloud.conf"), filepath.Join(dir, "kubeconfig")
	s.finally(s.cloud.faults.Clear)
	s.startKubernetes()
	s.addNodes()
	s.addService()
	s.conf = s.cloud.rightConf(s)
	return s
}

func (s *setup) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *setup) ctx() context.Context { return context.WithoutCancel(s.t.Context()) }

// do makes a request to the cloud as the user k8s.
func (s *setup) do(service, method, path string, body, answer any) {
	s.t.Helper()
	s.must(openstacktest.Call(s.ctx(), s.cloud.client, service, method, path, body, answer))
}

// as makes a request as another user.
func (s *setup) as(client *openstacktest.Client, service, method, path string, body, answer any) {
	s.t.Helper()
	s.must(openstacktest.Call(s.ctx(), client, service, method, path, body, answer))
}

func (s *setup) startKubernetes() {
	s.t.Helper()
	s.api = kubernetes.NewWithUIDs(s.cloud.uid)
	s.api.Access = kubernetes.Access{Token: token, User: "system:serviceaccount:kube-octavia:kube-octavia"}
	address, ca := s.serveTLS(s.api, nil)
	s.kubeconfig = kubeconfigFor(address, ca)
	client, err := clientgo.NewForConfig(&rest.Config{Host: address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	s.must(err)
	s.kube = client
}

// kubeconfigFor has context c, cluster k and user u.
func kubeconfigFor(address string, ca []byte) *api.Config {
	config := api.NewConfig()
	config.Clusters["k"] = &api.Cluster{Server: address, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &api.AuthInfo{Token: token}
	config.Contexts["c"] = &api.Context{Cluster: "k", AuthInfo: "u"}
	config.CurrentContext = "c"
	return config
}

// serveTLS serves a handler with the certificate or, if that is nil, with one for 127.0.0.1. It returns the CA.
func (s *setup) serveTLS(handler http.Handler, certificate *certificate) (address string, ca []byte) {
	s.t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // refused handshakes are part of the situations
	if certificate != nil {
		server.TLS = certificate.config()
	}
	server.StartTLS()
	s.t.Cleanup(server.Close)
	if certificate != nil {
		return server.URL, certificate.pem
	}
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// port is a port of Neutron.
type port struct {
	ID     string   `json:"id"`
	Groups []string `json:"security_groups"`
	IPs    []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
}

// portOf returns the port of a server.
func (s *setup) portOf(server string) port {
	s.t.Helper()
	var found struct{ Ports []port }
	s.do(cloudsim.Network, http.MethodGet, "/v2.0/ports?device_id="+server, nil, &found)
	if len(found.Ports) != 1 {
		s.t.Fatalf("server %s has %d ports", server, len(found.Ports))
	}
	return found.Ports[0]
}

// addNodes registers the servers as nodes, and opens their NodePorts.
func (s *setup) addNodes() {
	s.t.Helper()
	for _, server := range s.cloud.servers {
		p := s.portOf(server.id)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: server.name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server.id}}
		made, err := s.kube.CoreV1().Nodes().Create(s.ctx(), node, metav1.CreateOptions{})
		s.must(err)
		made.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: p.IPs[0].Address}}
		_, err = s.kube.CoreV1().Nodes().UpdateStatus(s.ctx(), made, metav1.UpdateOptions{})
		s.must(err)
		if s.cloud.rule == "" {
			s.cloud.rule = s.openPorts(p.Groups[0])
		}
	}
}

// openPorts lets everything into a security group.
func (s *setup) openPorts(group string) string {
	s.t.Helper()
	var made struct {
		Rule struct{ ID string } `json:"security_group_rule"`
	}
	s.do(cloudsim.Network, http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": group, "direction": "ingress", "ethertype": "IPv4"}}, &made)
	return made.Rule.ID
}

// addService makes Service default/web, with a load balancer as a controller makes it.
func (s *setup) addService() {
	s.t.Helper()
	s.web = s.create("web", nil)
	if s.cloud.balancer == "" {
		owner := s.ownerOf(s.web)
		s.cloud.balancer = s.makeBalancer(owner.LoadBalancerName(), owner.Description(), owner.Tags())
	}
	s.balancer = s.cloud.balancer
	s.change(s.web, func(web *corev1.Service) { web.Annotations = map[string]string{annotation.LoadBalancerID: s.balancer} })
}

// create creates a Service of type LoadBalancer.
func (s *setup) create(name string, edit func(*corev1.Service)) *corev1.Service {
	s.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}}}
	if edit != nil {
		edit(service)
	}
	made, err := s.kube.CoreV1().Services(metav1.NamespaceDefault).Create(s.ctx(), service, metav1.CreateOptions{})
	s.must(err)
	return made
}

// change changes a Service.
func (s *setup) change(service *corev1.Service, edit func(*corev1.Service)) {
	s.t.Helper()
	now, err := s.kube.CoreV1().Services(service.Namespace).Get(s.ctx(), service.Name, metav1.GetOptions{})
	s.must(err)
	edit(now)
	_, err = s.kube.CoreV1().Services(service.Namespace).Update(s.ctx(), now, metav1.UpdateOptions{})
	s.must(err)
}

// setConditions sets the conditions of a Service.
func (s *setup) setConditions(service *corev1.Service, conditions ...metav1.Condition) {
	s.t.Helper()
	now, err := s.kube.CoreV1().Services(service.Namespace).Get(s.ctx(), service.Name, metav1.GetOptions{})
	s.must(err)
	now.Status.Conditions = conditions
	_, err = s.kube.CoreV1().Services(service.Namespace).UpdateStatus(s.ctx(), now, metav1.UpdateOptions{})
	s.must(err)
}

// clusterUID returns the uid of the cluster.
func (s *setup) clusterUID() string {
	s.t.Helper()
	system, err := s.kube.CoreV1().Namespaces().Get(s.ctx(), metav1.NamespaceSystem, metav1.GetOptions{})
	s.must(err)
	return string(system.UID)
}

func (s *setup) ownerOf(service *corev1.Service) lb.Owner {
	s.t.Helper()
	return lb.Owner{ClusterName: "kubernetes", ClusterUID: s.clusterUID(), Namespace: service.Namespace, Name: service.Name, ServiceUID: string(service.UID)}
}

// withCredential returns the cloud.conf with an application credential instead of user, password and project.
func withCredential(conf, id, secret string) string {
	var kept []string
	for line := range strings.Lines(conf) {
		switch key, _, _ := strings.Cut(line, "="); strings.TrimSpace(key) {
		case "username", "password", "tenant-id", "domain-name":
		default:
			kept = append(kept, line)
		}
	}
	return strings.Replace(strings.Join(kept, ""), "[Global]\n", fmt.Sprintf("[Global]\napplication-credential-id=%q\napplication-credential-secret=%q\n", id, secret), 1)
}

// global replaces a key of [Global], or adds it.
func (s *setup) global(key, value string) {
	var kept []string
	for line := range strings.Lines(s.conf) {
		if has, _, _ := strings.Cut(line, "="); strings.TrimSpace(has) != key {
			kept = append(kept, line)
		}
	}
	s.conf = strings.Replace(strings.Join(kept, ""), "[Global]\n", fmt.Sprintf("[Global]\n%s=%q\n", key, value), 1)
}

// balancing adds lines to section [LoadBalancer], which is the last one. A later line counts.
func (s *setup) balancing(lines ...string) { s.conf += strings.Join(lines, "\n") + "\n" }

// examine runs `kube-octavia doctor -o json`.
func (s *setup) examine() doctor.Report {
	s.t.Helper()
	if s.conf != "" {
		s.must(os.WriteFile(s.confPath, []byte(s.conf), s.mode))
		s.must(os.Chmod(s.confPath, s.mode))
	}
	args := []string{"doctor", "-o", "json"}
	if !s.finds {
		args = append(args, "--cloud-config="+s.confPath)
	}
	if s.kubeconfigPath != "" {
		args = append(args, "--kubeconfig="+s.kubeconfigPath)
	}
	if s.kubeconfig != nil {
		s.must(clientcmd.WriteToFile(*s.kubeconfig, s.kubeconfigPath))
	}
	var out, errs bytes.Buffer
	status := cli.Run(s.t.Context(), append(args, s.args...), cli.IO{Out: &out, Err: &errs}, cli.Options{Version: "test"})
	var report doctor.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || errs.Len() > 0 && !s.finds {
		s.t.Fatalf("status %d: %v in:\n%s%s", status, err, out.String(), errs.String())
	}
	if failed := status == 1; failed != report.Failed() {
		s.t.Errorf("exit status %d with %d checks with errors", status, report.Counts[doctor.Error])
	}
	return report
}
