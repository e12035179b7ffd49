// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestServiceGetsALoadBalancerThatCarriesTraffic(t *testing.T) {
	skipOnRealOpenStack(t, "TestCallsStayWithinTheBudget has five ports, TestFloatingIPAnswersFromOutsideThroughEveryNode TCP and UDP")
	for _, c := range []struct {
		name  string
		edits []edit
		ports []string
	}{
		{"one TCP port", []edit{tcp(8080)}, []string{"TCP/8080"}},
		{"five TCP ports", []edit{tcp(8081, 8082, 8083, 8084, 8085)}, []string{"TCP/8081", "TCP/8082", "TCP/8083", "TCP/8084", "TCP/8085"}},
		{"a UDP port", []edit{udp(5300)}, []string{"UDP/5300"}},
		{"TCP and UDP on one port number", []edit{tcp(8080), udp(8080)}, []string{"TCP/8080", "UDP/8080"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, settings{})
			web := s.service("web", c.edits...)
			address := web.waitUntilProgrammed()
			have := web.waitForTree(all(ports(c.ports...), membersAt(s.addresses("a", "b")...)))
			if f := s.cloud.floatingIP(address); f.PortID != have.VIPPort {
				t.Errorf("the address %s is no floating IP on the VIP port %s: %+v", address, have.VIPPort, s.cloud.floatingIPs())
			}
			for _, p := range web.now().Spec.Ports {
				if p.Protocol == corev1.ProtocolUDP {
					s.echoes(address, testPort(int(p.Port)))
				} else {
					s.waitForAnswersThrough(address, testPort(int(p.Port)), s.addresses("a", "b")...)
				}
			}
		})
	}
}

func TestObjectsHaveTheNamesAndTagsThatOtherToolsExpect(t *testing.T) {
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	object, have := web.now(), web.tree()
	system, err := s.client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := "kube_service_kubernetes_" + s.namespace + "_web"
	tags := []string{"kube-octavia.cluster=" + string(system.UID), "kube-octavia.service=" + string(object.UID), name}
	var got []string
	for _, l := range have.Listeners {
		got = append(got, fmt.Sprintf("listener %s %s limit %d, open to %v, %v", l.key(), l.Name, l.Limit, l.Sources, l.Tags))
		got = append(got, fmt.Sprintf("pool %s %s %s %v", l.Pool.Protocol, l.Pool.Algorithm, l.Pool.Name, l.Pool.Tags))
		got = append(got, fmt.Sprintf("monitor %s %s %v", l.Pool.Monitor.Type, l.Pool.Monitor.Name, l.Pool.Monitor.Tags))
		for i, m := range l.Pool.Members {
			got = append(got, fmt.Sprintf("member %d %s %s", i, m.Name, m.Subnet))
		}
	}
	subnet := s.cloud.IDs().PrivateSubnet
	members := []string{"member 0 " + s.node("a") + " " + subnet, "member 1 " + s.node("b") + " " + subnet}
	want := slices.Concat([]string{
		fmt.Sprintf("listener TCP/8080 listener_0_%s limit -1, open to [0.0.0.0/0], %v", name, tags),
		fmt.Sprintf("pool TCP ROUND_ROBIN pool_0_%s %v", name, tags),
		fmt.Sprintf("monitor TCP monitor_0_%s %v", name, tags),
	}, members, []string{
		fmt.Sprintf("listener UDP/5300 listener_1_%s limit -1, open to [0.0.0.0/0], %v", name, tags),
		fmt.Sprintf("pool UDP ROUND_ROBIN pool_1_%s %v", name, tags),
		fmt.Sprintf("monitor UDP-CONNECT monitor_1_%s %v", name, tags),
	}, members)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("below the load balancer (-want +have): %s", d)
	}
	if d := cmp.Diff(tree{
		ID: have.ID, Name: name, Description: "Kubernetes external service " + s.namespace + "/web from cluster kubernetes",
		Status: "ACTIVE", UpdatedAt: have.UpdatedAt, Provider: "amphora", VIP: have.VIP, VIPPort: have.VIPPort,
		Subnet: subnet, Tags: tags, Listeners: have.Listeners,
	}, have, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("load balancer (-want +have): %s", d)
	}
	description := s.cloud.floatingIP(address).Description
	if !strings.HasPrefix(description, "Floating IP for Kubernetes external service "+s.namespace+"/web") ||
		!strings.HasSuffix(description, " from cluster kubernetes") ||
		!strings.Contains(description, tags[0]) || !strings.Contains(description, tags[1]) {
		t.Errorf("the floating IP is described as %q", description)
	}
}

func TestServiceShowsItsAddressConditionsAndLoadBalancer(t *testing.T) {
	s := newStage(t, settings{})
	s.sweepWithNewOVN()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.waitUntilNoted()
	object := web.now()
	want := []corev1.LoadBalancerIngress{{IP: address, IPMode: s.keptIPMode(corev1.LoadBalancerIPModeVIP)}}
	if d := cmp.Diff(want, object.Status.LoadBalancer.Ingress); d != "" {
		t.Errorf("status.loadBalancer.ingress (-want +have): %s", d)
	}
	have := web.tree()
	if note := object.Annotations[programmedKey]; !strings.Contains(note, have.UpdatedAt) {
		t.Errorf("the note %q does not say %s, when the load balancer was changed last", note, have.UpdatedAt)
	}
	delete(object.Annotations, programmedKey)
	if d := cmp.Diff(map[string]string{idKey: have.ID, addressKey: address, managedKey: string(object.UID) + " " + ourClass}, object.Annotations); d != "" {
		t.Errorf("annotations (-want +have): %s", d)
	}
	if !slices.Contains(object.Finalizers, finalizer) {
		t.Errorf("finalizers are %v", object.Finalizers)
	}
	c := web.waitForCondition(accepted, conditionTrue, "Accepted")
	if c.ObservedGeneration != object.Generation || c.Message == "" {
		t.Errorf("condition %+v of generation %d", c, object.Generation)
	}
	c = web.waitForCondition(programmed, conditionTrue, "Programmed")
	if c.ObservedGeneration != object.Generation || !strings.Contains(c.Message, address) {
		t.Errorf("condition %+v of generation %d", c, object.Generation)
	}
}

func TestKubectlWaitsUntilAServiceIsProgrammed(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	release := s.cloud.hold()
	web := s.service("web", tcp(8080))
	web.waitForCondition(programmed, conditionFalse, "Creating")
	wait := exec.CommandContext(t.Context(), kubetest.Cluster(t).Kubectl(), "--kubeconfig="+s.adminKubeconfig(), "--namespace="+s.namespace,
		"wait", "--for=condition=kube-octavia.io/Programmed", "--timeout=60s", "service/web")
	var out log
	wait.Stdout, wait.Stderr = &out, &out
	if err := wait.Start(); err != nil {
		t.Fatal(err)
	}
	if ingress := web.now().Status.LoadBalancer.Ingress; len(ingress) > 0 {
		t.Errorf("a load balancer that is being built is published: %+v", ingress)
	}
	release()
	if err := wait.Wait(); err != nil {
		t.Errorf("kubectl wait: %v\n%s", err, out.String())
	}
	if len(web.now().Status.LoadBalancer.Ingress) != 1 {
		t.Error("kubectl wait ended before an address was published")
	}
}

func TestEachChangeOfStateIsOneEvent(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	told := func(want ...string) {
		t.Helper()
		s.eventually(func() error {
			if d := cmp.Diff(want, web.events()); d != "" {
				return fmt.Errorf("events (-want +have): %s", d)
			}
			return nil
		})
	}
	told("Creating", "Programmed")
	for i := range 5 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint(i))) })
	}
	// Events are written in the background and in order: had one come of a
	// pass above, it would be told before the next.
	web.change(annotated(monitorKey, "perhaps"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	told("Creating", "Programmed", "InvalidAnnotation")
}
