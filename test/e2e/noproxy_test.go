// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// serviceNetwork creates a network for ClusterIPs behind the cloud's router, as the guide says, and removes it at the
// end.
func (s *stage) serviceNetwork() (subnetID string) {
	s.t.Helper()
	var network struct{ Network struct{ ID string } }
	s.cloud.neutron(http.MethodPost, "networks", map[string]any{"network": map[string]any{"name": "services"}}, &network)
	subnetID = s.serviceSubnet(map[string]any{"network_id": network.Network.ID})
	s.afterwards = append(s.afterwards, func() {
		s.cloud.neutron(http.MethodPut, "routers/"+s.cloud.IDs().Router+"/remove_router_interface", map[string]any{"subnet_id": subnetID}, nil)
		s.cloud.neutron(http.MethodDelete, "networks/"+network.Network.ID, nil, nil)
	})
	return subnetID
}

// apiService is Service default/kubernetes. At the end it has no marks of the controller.
func (s *stage) apiService() *service {
	inDefault := *s
	inDefault.namespace = metav1.NamespaceDefault
	api := &service{stage: &inDefault, name: "kubernetes"}
	s.afterwards = append(s.afterwards, func() { // also if the test failed
		_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Patch(context.Background(), api.name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null,"labels":{"unserved":null}}}`), metav1.PatchOptions{})
		if err != nil {
			s.t.Error(err)
		}
	})
	return api
}

// addAPIServer runs a kube-apiserver in the network of the Pods.
func (s *stage) addAPIServer(at node.PodPort) *kube.APIServer {
	s.t.Helper()
	server, err := kubetest.Cluster(s.t).AddAPIServer(s.t.Context(), at.Namespace, netip.AddrPortFrom(at.Address, 6443))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			s.t.Error(err)
		}
	})
	return server
}

// findsService looks for a Service as a Pod would: from its network namespace, at the ClusterIP of default/kubernetes, on a
// connection of its own.
func (s *stage) findsService(from client, clusterIP, name string, server *kube.APIServer) error {
	config := kubetest.Cluster(s.t).Config()
	config.Host, config.Dial, config.CAData, config.Timeout = "https://"+clusterIP, from.dial, server.CA(), requestTimeout
	access, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = access.CoreV1().Services(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	return err
}

// TestWithoutKubeProxyServicesAreReachedThroughOctavia has nodes on which nothing answers at NodePorts and ClusterIPs.
func TestWithoutKubeProxyServicesAreReachedThroughOctavia(t *testing.T) {
	with := reachingPods(t, settings{off: true, unproxied: true})
	if len(with.conf) == 0 {
		t.Skip("needs a real cloud with packets: ClusterIPs are not on loopback")
	}
	s := newStage(t, with)
	ports := s.cloud.podPorts()
	n := len(ports)
	pod, apiServers := client{namespace: ports[n-1].Namespace}, ports[n-3:n-1]
	first := s.addAPIServer(apiServers[0])
	subnet := s.serviceNetwork()
	s.settings.conf = append(with.conf, "[ClusterIP]", "enabled = true", "service-subnet-id = "+subnet, "provider = ovn",
		"selector = !unserved", "namespaces = default,"+s.namespace)
	s.writeFiles()
	s.start()

	api := s.apiService()
	inside, outside := s.service("inside", tcp(8080), udp(5300), toClusterIP), s.service("outside", tcp(8081))
	for _, v := range []*service{api, inside, outside} {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
		v.waitForTree(v.vipAtClusterIP(subnet))
	}
	clusterIP := func(v *service) string { return v.now().Spec.ClusterIP }
	floating := outside.address()
	answered := 0
	for _, c := range []struct {
		from    client
		ask     func(context.Context, client, string, int) (node.Answer, error)
		address string
		port    int
	}{
		{pod, ask, clusterIP(inside), 8080},
		{pod, askUDP, clusterIP(inside), 5300},
		{pod, ask, clusterIP(outside), 8081},
		{pod, ask, floating, 8081},
		{s.cloud.outside(), ask, floating, 8081},
	} {
		seen := map[string]bool{}
		s.eventually(func() error {
			a, err := c.ask(t.Context(), c.from, c.address, c.port)
			if err == nil {
				answered++
				seen[a.Pod] = true
			}
			if err == nil && len(seen) < 2 {
				err = fmt.Errorf("%s:%d is answered by %v only", c.address, c.port, seen)
			}
			return err
		})
	}
	t.Logf("%d answers from both Pods at ClusterIPs and the floating IP %s", answered, floating)

	s.eventually(func() error { return s.findsService(pod, clusterIP(api), "inside", first) })
	second := s.addAPIServer(apiServers[1])
	api.waitForTree(membersAt(apiServers[0].Address.String(), apiServers[1].Address.String()))
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	api.waitForTree(membersAt(apiServers[1].Address.String()))
	s.eventually(func() error { return s.findsService(pod, clusterIP(api), "inside", second) })
	made := api.tree()

	if address := net.JoinHostPort(s.address("a"), strconv.Itoa(int(outside.now().Spec.Ports[0].NodePort))); reaches(t, pod, address) {
		t.Errorf("something answers at the NodePort %s: is there a kube-proxy?", address)
	}
	api.change(func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "unserved", "") })
	api.waitUntilUnmarked()
	if left := s.cloud.ids("loadbalancers"); slices.Contains(left, made.ID) {
		t.Errorf("load balancer %s of default/kubernetes is left", made.ID)
	}
}

// reaches reports whether something listens at the address.
func reaches(t *testing.T, from client, address string) bool {
	t.Helper()
	c, err := from.dial(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
