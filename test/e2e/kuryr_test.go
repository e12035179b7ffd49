// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// This is Kuryr-Kubernetes as far as it makes load balancers, after its own formats. It never ran here: the formats are
// those of its code.

const (
	kuryrFinalizer       = "kuryr.openstack.org/service-finalizer"
	kuryrObjectFinalizer = "kuryr.openstack.org/kuryrloadbalancer-finalizers"
	kuryrTag             = "openshiftClusterID=lab-7"
)

var (
	definitions        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	kuryrLoadBalancers = schema.GroupVersionResource{Group: "openstack.org", Version: "v1", Resource: "kuryrloadbalancers"}
)

// kuryrCluster is a cluster whose Services Kuryr has served.
type kuryrCluster struct {
	*stage
	subnet  string
	objects dynamic.Interface
}

// newKuryrCluster defines KuryrLoadBalancers, and selects the Services of the stage for cluster-ip mode.
func newKuryrCluster(t *testing.T) kuryrCluster {
	t.Helper()
	onSimulatedServiceSubnet(t)
	k := kuryrCluster{stage: newStage(t, settings{off: true})}
	k.subnet = k.serviceSubnet(nil)
	k.atClusterIPs(k.subnet, "namespaces = "+k.namespace)
	var err error
	if k.objects, err = dynamic.NewForConfig(kubetest.Cluster(t).Config()); err != nil {
		t.Fatal(err)
	}
	version := fields{"name": "v1", "served": true, "storage": true,
		"schema": fields{"openAPIV3Schema": fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	definition := fields{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": fields{"name": "kuryrloadbalancers.openstack.org"},
		"spec": fields{"group": "openstack.org", "scope": "Namespaced", "versions": []any{version},
			"names": fields{"plural": "kuryrloadbalancers", "singular": "kuryrloadbalancer", "kind": "KuryrLoadBalancer", "shortNames": []any{"klb"}}}}
	if _, err := k.objects.Resource(definitions).Create(t.Context(), object(definition), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	k.eventually(func() error {
		_, err := k.objects.Resource(kuryrLoadBalancers).List(k.t.Context(), metav1.ListOptions{})
		return err
	})
	return k
}

// object returns the document as the API client needs it.
func object(f fields) *unstructured.Unstructured {
	var convert func(any) any
	convert = func(v any) any {
		switch v := v.(type) {
		case fields:
			m := map[string]any{}
			for key, value := range v {
				m[key] = convert(value)
			}
			return m
		case []any:
			for i := range v {
				v[i] = convert(v[i])
			}
		}
		return v
	}
	return &unstructured.Unstructured{Object: convert(f).(map[string]any)}
}

// serves lets Kuryr serve a Service: a load balancer at the ClusterIP, a listener and a pool for each port, members one
// by one, a floating IP for type LoadBalancer, and its marks in the cluster.
func (k kuryrCluster) serves(name string, edits ...edit) (*service, tree) {
	k.t.Helper()
	v := k.service(name, append(edits, func(v *corev1.Service) { v.Finalizers = append(v.Finalizers, kuryrFinalizer) })...)
	now, full := v.now(), k.namespace+"/"+name
	var made struct{ LoadBalancer tree }
	k.cloud.octavia(http.MethodPost, "loadbalancers", fields{"loadbalancer": fields{"name": full, "vip_address": now.Spec.ClusterIP,
		"vip_subnet_id": k.subnet, "provider": "amphora", "tags": []string{kuryrTag}}}, &made)
	add := func(path, kind string, document fields) string {
		var answer map[string]struct{ ID string }
		k.eventually(k.cloud.pending)
		k.cloud.octavia(http.MethodPost, path, fields{kind: document}, &answer)
		return answer[kind].ID
	}
	for _, p := range now.Spec.Ports {
		part := fmt.Sprintf("%s:%s:%d", full, p.Protocol, p.Port)
		listener := add("listeners", "listener", fields{"loadbalancer_id": made.LoadBalancer.ID, "name": part, "protocol": string(p.Protocol), "protocol_port": p.Port, "tags": []string{kuryrTag}})
		pool := add("pools", "pool", fields{"listener_id": listener, "name": part, "protocol": string(p.Protocol), "lb_algorithm": "ROUND_ROBIN", "tags": []string{kuryrTag}})
		for _, pod := range []string{"a", "b"} {
			port := k.podPort(pod, p.TargetPort.StrVal)
			add("pools/"+pool+"/members", "member", fields{"name": fmt.Sprintf("%s/%s:%d", k.namespace, pod, port), "address": k.podAddresses(pod)[0], "protocol_port": port, "subnet_id": k.subnet})
		}
	}
	k.eventually(k.cloud.pending)
	if now.Spec.Type == corev1.ServiceTypeLoadBalancer {
		var answer struct{ FloatingIP floatingIP }
		k.cloud.neutron(http.MethodPost, "floatingips", fields{"floatingip": fields{"floating_network_id": k.cloud.IDs().PublicNetwork, "port_id": made.LoadBalancer.VIPPort, "description": "kuryr_lb"}}, &answer)
		now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: answer.FloatingIP.Address}}
		if _, err := k.client.CoreV1().Services(k.namespace).UpdateStatus(k.t.Context(), now, metav1.UpdateOptions{}); err != nil {
			k.t.Fatal(err)
		}
	}
	k.marks(name, made.LoadBalancer)
	return v, k.tree(made.LoadBalancer.ID)
}

// tree returns what the cloud has for the load balancer.
func (k kuryrCluster) tree(id string) tree {
	k.t.Helper()
	var answer struct{ LoadBalancer tree }
	k.cloud.octavia(http.MethodGet, "loadbalancers/"+id, nil, &answer)
	k.cloud.fill(&answer.LoadBalancer)
	return answer.LoadBalancer
}

// marks creates the KuryrLoadBalancer.
func (k kuryrCluster) marks(name string, l tree) {
	k.t.Helper()
	mark := fields{"apiVersion": "openstack.org/v1", "kind": "KuryrLoadBalancer",
		"metadata": fields{"name": name, "namespace": k.namespace, "finalizers": []any{kuryrObjectFinalizer}},
		"spec":     fields{"ip": l.VIP, "provider": "amphora", "subnet_id": k.subnet},
		"status":   fields{"loadbalancer": fields{"id": l.ID, "ip": l.VIP, "name": k.namespace + "/" + name, "port_id": l.VIPPort}}}
	objects := k.objects.Resource(kuryrLoadBalancers).Namespace(k.namespace)
	if _, err := objects.Create(k.t.Context(), object(mark), metav1.CreateOptions{}); err != nil {
		k.t.Fatal(err)
	}
	k.afterwards = append(k.afterwards, func() {
		_ = objects.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// podPort returns the number of a Pod's port.
func (k kuryrCluster) podPort(pod, port string) int32 {
	k.t.Helper()
	p, err := k.client.CoreV1().Pods(k.namespace).Get(k.t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, have := range p.Spec.Containers[0].Ports {
		if have.Name == port {
			return have.ContainerPort
		}
	}
	k.t.Fatalf("Pod %s has no port %s", pod, port)
	return 0
}

// releasedByKuryr removes Kuryr's finalizer from a Service, as the guide says.
func (v *service) releasedByKuryr() {
	v.change(func(s *corev1.Service) {
		s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == kuryrFinalizer })
	})
}

func TestLoadBalancersOfKuryrAreTakenOverByTheirTagsAlone(t *testing.T) {
	k := newKuryrCluster(t)
	inside, was := k.serves("inside", tcp(8080), udp(5300), toClusterIP)
	outside, wasOutside := k.serves("outside", tcp(8081))
	address := outside.address()
	visitor := k.visit(address, 8081)

	k.settings.flags = []string{observing}
	k.resetCalls()
	k.start()
	for _, v := range []*service{inside, outside} {
		v.waitForCondition(programmed, metav1.ConditionUnknown, readyForAdoption)
	}
	k.waitUntilIdle()
	k.requireUntouched()
	k.stop()

	k.settings.flags = nil
	k.resetCalls()
	k.start()
	for _, v := range []*service{inside, outside} {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	k.waitUntilIdle()
	for _, w := range k.writes() {
		if w != "PUT /v2.0/lbaas/loadbalancers/"+was.ID && w != "PUT /v2.0/lbaas/loadbalancers/"+wasOutside.ID {
			t.Errorf("there was the write %s", w)
		}
	}
	if n := len(k.writes()); n != 2 {
		t.Errorf("%d writes", n)
	}
	for _, before := range []tree{was, wasOutside} {
		now := k.tree(before.ID)
		if d := cmp.Diff(before, now, cmpopts.IgnoreFields(tree{}, "Tags", "UpdatedAt"), cmpopts.IgnoreFields(poolMember{}, "Operating")); d != "" || !slices.Contains(now.Tags, kuryrTag) {
			t.Errorf("tags %v (-was +is):\n%s", now.Tags, d)
		}
	}

	for _, v := range []*service{inside, outside} {
		v.releasedByKuryr()
	}
	k.stop()
	k.resetCalls()
	k.start()
	for _, v := range []*service{inside, outside} {
		v.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	k.waitUntilIdle()
	k.requireUntouched()
	k.requireNoFailedRequest(visitor)

	inside.change(tcp(8082))
	inside.change(without(8080))
	k.eventually(func() error { return ports("TCP/8082", "UDP/5300")(k.tree(was.ID)) })
	for _, v := range []*service{inside, outside} {
		v.delete()
		v.waitUntilGone()
	}
	if left := k.cloud.ids("loadbalancers"); len(left) > 0 || len(k.cloud.floatingIPs()) > 0 {
		t.Errorf("left are load balancers %v and floating IPs %+v", left, k.cloud.floatingIPs())
	}
}

func TestAFloatingIPThatAUserGaveToKuryrIsKept(t *testing.T) {
	k := newKuryrCluster(t)
	given := k.cloud.makeFloatingIP("")
	k.given = append(k.given, given.Address)
	v, l := k.serves("web", tcp(8080), at(given.Address), toClusterIP)
	k.cloud.neutron(http.MethodPut, "floatingips/"+given.ID, fields{"floatingip": fields{"port_id": l.VIPPort}}, nil)
	v.change(ofType(corev1.ServiceTypeLoadBalancer))
	k.start()
	v.waitUntilProgrammed()
	v.releasedByKuryr()
	v.delete()
	v.waitUntilGone()
	if left := k.cloud.floatingIPs(); len(left) != 1 || left[0].ID != given.ID || left[0].PortID != "" {
		t.Errorf("left are %+v", left)
	}
}

func TestMigrateFromKuryrShowsWhatWouldHappenAndWhatKuryrLeft(t *testing.T) {
	k := newKuryrCluster(t)
	_, was := k.serves("inside", tcp(8080), toClusterIP)
	k.serves("affine", tcp(8080), toClusterIP, func(v *corev1.Service) { v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	gone, _ := k.serves("gone", tcp(8080), toClusterIP)
	moved, _ := k.serves("moved", tcp(8080), toClusterIP)
	for _, v := range []*service{gone, moved} {
		v.releasedByKuryr()
		v.delete()
		v.waitUntilGone()
	}
	k.service("moved", tcp(8080), toClusterIP, func(v *corev1.Service) { v.Finalizers = []string{kuryrFinalizer} }) // at another ClusterIP
	k.resetCalls()

	status, out, errs := k.run("migrate", "--from=kuryr", "--output=json")
	m := k.parseMigration(out)
	if status != 2 {
		t.Errorf("it ended with status %d:\n%s%s", status, out, errs)
	}
	for name, want := range map[string]struct{ outcome, says string }{
		"inside": {"adopted", "tags"},
		"affine": {"changed", "SOURCE_IP"},
		"moved":  {"not-owned", "has the name that Kuryr gave to the one of this Service, but its VIP is"},
	} {
		t.Run(name, func(t *testing.T) {
			row := m.of(name)
			if text := fmt.Sprint(row.Reasons, row.Ops); row.Outcome != want.outcome || !strings.Contains(text, want.says) {
				t.Errorf("%+v; want %s that says %q", row, want.outcome, want.says)
			}
		})
	}
	if row := m.of("inside"); row.LoadBalancerID != was.ID {
		t.Errorf("%+v", row)
	}
	if len(m.Others) != 1 || !strings.Contains(m.Others[0].Reason, "Kuryr created it for Service "+k.namespace+"/gone, which does not exist") {
		t.Errorf("others: %+v", m.Others)
	}
	left := map[string]bool{}
	for _, mark := range m.Kuryr {
		if mark.Namespace == k.namespace {
			left[mark.Name] = mark.ServiceFinalizer
			if !mark.Object || !slices.Equal(mark.ObjectFinalizers, []string{kuryrObjectFinalizer}) {
				t.Errorf("%+v", mark)
			}
		}
	}
	if d := cmp.Diff(map[string]bool{"inside": true, "affine": true, "moved": true, "gone": false}, left); d != "" {
		t.Errorf("left by Kuryr (-want +got):\n%s", d)
	}
	_, text, _ := k.run("migrate", "--from=kuryr")
	for _, part := range []string{"Left by Kuryr", "FINALIZER OF SERVICE", kuryrObjectFinalizer} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the text:\n%s", part, text)
		}
	}
	k.requireUntouched()
	for _, b := range k.cloud.ids("loadbalancers") {
		k.cloud.octavia(http.MethodDelete, "loadbalancers/"+b+"?cascade=true", nil, nil)
	}
	for _, name := range []string{"inside", "affine", "moved"} {
		(&service{stage: k.stage, name: name}).releasedByKuryr()
	}
}

func TestMigrateFromKuryrNeedsClusterIPMode(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true})
	for flag, says := range map[string]string{
		"--from=kuryr":  "has no section [ClusterIP] with enabled = true",
		"--from=magnum": `--from "magnum": must be occm or kuryr`,
	} {
		t.Run(flag, func(t *testing.T) {
			s.reportTo(t)
			if status, _, errs := s.run("migrate", flag); status != 1 || !strings.Contains(errs, says) {
				t.Errorf("status %d, %s", status, errs)
			}
		})
	}
}
