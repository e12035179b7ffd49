// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// nowhere is a reference to a certificate that is not there.
const nowhere = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

// keep stores something in Barbican for the test and returns its reference. It stays as
// long as load balancers may need it: Octavia 11 locks one for ever whose certificate is
// gone.
func (s *stage) keep(kind string, wish map[string]any) string {
	s.t.Helper()
	var answer map[string]string
	if err := s.cloud.call(asUser, cloudsim.KeyManager, http.MethodPost, "/v1/"+kind, wish, &answer); err != nil {
		s.t.Fatal(err)
	}
	ref := answer[strings.TrimSuffix(kind, "s")+"_ref"]
	s.afterwards = append(s.afterwards, func() {
		u, err := url.Parse(ref)
		if err == nil {
			err = s.cloud.call(asUser, cloudsim.KeyManager, http.MethodDelete, u.Path, nil, nil)
		}
		if err != nil {
			s.t.Log(err)
		}
	})
	return ref
}

// bundle returns a certificate with its key as one secret.
func (s *stage) bundle() string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "contract", "testdata", "certificate", "bundle.p12"))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.opaque(content)
}

// opaque returns a secret of which Barbican knows the bytes alone.
func (s *stage) opaque(content []byte) string {
	s.t.Helper()
	return s.keep("secrets", map[string]any{"payload": base64.StdEncoding.EncodeToString(content),
		"payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"})
}

// container returns a certificate with its key as a container of two secrets.
func (s *stage) container() string {
	s.t.Helper()
	certificate, key := s.pair(time.Hour)
	text := func(content []byte) string {
		return s.keep("secrets", map[string]any{"payload": string(content), "payload_content_type": "text/plain"})
	}
	refs := []any{map[string]any{"name": "certificate", "secret_ref": text(certificate)},
		map[string]any{"name": "private_key", "secret_ref": text(key)}}
	return s.keep("containers", map[string]any{"type": "certificate", "secret_refs": refs})
}

// ends checks the certificates with which a listener ends TLS.
func ends(key, certificate string, sni ...string) func(tree) error {
	return func(t tree) error {
		l := t.listener(key)
		if l.Protocol != "TERMINATED_HTTPS" || l.Certificate != certificate || !cmp.Equal(slices.Sorted(slices.Values(sni)), slices.Sorted(slices.Values(l.SNI))) && len(sni)+len(l.SNI) > 0 {
			return fmt.Errorf("%s is %s with %q, %q", key, l.Protocol, l.Certificate, l.SNI)
		}
		return nil
	}
}

// lookups are the calls to Barbican since resetCalls. With a real cloud they go past the record.
func (s *stage) lookups() []string {
	var calls []string
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Service == cloudsim.KeyManager && c.Path != "/v1/secrets" { // which the sweep lists
			calls = append(calls, c.Method+" "+c.Path)
		}
	}
	return calls
}

// Octavia makes the port of the VIP before it looks at the certificate, and leaves it.
func TestCertificateThatOctaviaRefusesLeavesOneVIPPortAndDelaysNoLoadBalancer(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "what Octavia leaves behind is in the contract")
	s := newStage(t, settings{password: true})
	ref := s.opaque([]byte("no bundle"))
	web := s.service("web", tcp(8080, 8081), annotated(protocolsKey, "tcp-8080=TCP"), annotated(sniKey, ref), annotated(tlsKey, ref))
	refused := func() {
		t.Helper()
		c := web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
		if !strings.Contains(c.Message, "The PKCS12 bundle is unreadable") {
			t.Errorf("the message does not say what is wrong: %s", c.Message)
		}
	}
	refused()
	for i := range 3 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint("time ", i))) })
	}
	refused()
	was := web.tree()
	if was.listener("TCP/8080").ID == "" {
		t.Errorf("the port without the certificate is not open: %+v", was)
	}

	web.change(annotated(tlsKey, s.bundle()), notAnnotated(sniKey))
	address := web.waitUntilProgrammed()
	web.waitForTree(speaks("TCP/8080 TCP TCP", "TCP/8081 TERMINATED_HTTPS HTTP"))
	web.requireSameListener(was, "TCP/8080")
	s.answers(address, 8080)
	web.requireOneLoadBalancer()
	s.dropPortsLeft(1)
}

// Behind the port that Octavia leaves the address would be allocated for ever.
func TestCertificateThatOctaviaRefusesDoesNotChangeTheAddressOfAnInternalService(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "what Octavia leaves behind is in the contract")
	s := newStage(t, settings{password: true})
	own := s.service("own", tcp(8080), annotated(internalKey, "true"))
	address := own.waitUntilProgrammed()
	own.delete()
	own.waitUntilGone()

	web := s.service("web", tcp(8080), annotated(internalKey, "true"), at(address), annotated(tlsKey, s.opaque([]byte("no bundle"))))
	web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	web.change(annotated(tlsKey, s.bundle()))
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("it is at %s, not at %s", got, address)
	}
	web.waitForTree(speaks("TCP/8080 TERMINATED_HTTPS HTTP"))
	s.dropPortsLeft(0)
}

func TestTogglingTLSOnALiveServiceClosesNoOtherPort(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "another pool for another protocol is in the contract, and so are listeners with certificates")
	s := newStage(t, settings{password: true})
	one, two := s.bundle(), s.container()
	web := s.service("web", tcp(8080, 8081), udp(8080), annotated(protocolsKey, "tcp-8081=TCP"))
	address := web.waitUntilProgrammed()
	was := web.tree()
	visitor := s.visit(address, 8081)
	s.resetCalls()

	web.change(annotated(tlsKey, one))
	web.waitForTree(all(speaks("TCP/8080 TERMINATED_HTTPS HTTP", "TCP/8081 TCP TCP", "UDP/8080 UDP UDP"), ends("TCP/8080", one), adds("TCP/8080", nil)))
	web.waitUntilProgrammed()
	s.closedFor(was.listener("TCP/8080").ID)
	now := web.tree()

	// What is under TLS changes without closing it.
	web.change(annotated(tlsKey, two), annotated(forwardedKey, "true"))
	web.waitForTree(all(ends("TCP/8080", two), adds("TCP/8080", forwardedFor)))
	web.change(annotated(sniKey, one), notAnnotated(forwardedKey))
	web.waitForTree(all(ends("TCP/8080", two, one), adds("TCP/8080", nil)))
	web.change(annotated(protocolsKey, "tcp-8080=TERMINATED_HTTPS,tcp-8081=TCP"))
	web.waitForTree(all(ends("TCP/8080", two, one), adds("TCP/8080", map[string]string{"X-Forwarded-For": "true", "X-Forwarded-Proto": "true"})))
	web.waitUntilProgrammed()
	web.requireSameListener(now, "TCP/8080")
	if calls := s.lookups(); *stateDir == "" && (len(calls) != 2 || !strings.Contains(calls[0], "/v1/secrets/") || !strings.Contains(calls[1], "/v1/containers/")) {
		t.Errorf("two certificates were looked up by %v", calls)
	}

	web.change(annotated(protocolsKey, "tcp-8080=HTTP,tcp-8081=TCP"), notAnnotated(sniKey))
	web.waitForTree(all(speaks("TCP/8080 HTTP HTTP", "TCP/8081 TCP TCP", "UDP/8080 UDP UDP"), adds("TCP/8080", forwardedFor)))
	s.answers(address, 8080)
	web.change(annotated(protocolsKey, "tcp-8081=TCP"), notAnnotated(tlsKey))
	web.waitForTree(speaks("TCP/8080 TCP TCP", "TCP/8081 TCP TCP", "UDP/8080 UDP UDP"))
	s.answers(address, 8080)
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
	for _, status := range []int{400, 409} {
		s.noneAnswered(status)
	}
	web.requireSameListener(was, "TCP/8081")
	web.requireSameListener(was, "UDP/8080")
}

func TestCertificateOfCloudConfIsTheDefaultOfServices(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "listeners that end TLS are in the contract")
	s := newStage(t, settings{password: true, off: true})
	ref := s.bundle()
	s.settings.conf = append(s.settings.conf, "default-tls-container-ref="+ref)
	s.writeFiles()
	s.start()
	web, plain := s.service("web", tcp(8080)), s.service("plain", tcp(8080), annotated(tlsKey, ""))
	web.waitUntilProgrammed()
	web.waitForTree(ends("TCP/8080", ref))
	plain.waitUntilProgrammed()
	plain.waitForTree(speaks("TCP/8080 TCP TCP"))
}

// Octavia leaves the port of the VIP behind when it refuses a create for that.
func TestCertificateThatDoesNotExistIsRefusedBeforeAnythingChanges(t *testing.T) {
	skipOnRealOpenStack(t, "what Barbican answers for what is not there is in the contract")
	s := newStage(t, settings{password: true})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	text := s.keep("secrets", map[string]any{"payload": "hello", "payload_content_type": "text/plain"})
	s.resetCalls()
	s.service("never", tcp(8080), annotated(tlsKey, nowhere)).waitForCondition(accepted, conditionFalse, "CertificateUnusable")
	for _, ref := range []string{nowhere, text} {
		web.change(annotated(tlsKey, ref))
		web.eventually(func() error {
			c := web.waitForCondition(accepted, conditionFalse, "CertificateUnusable")
			if !strings.Contains(c.Message, ref) {
				return fmt.Errorf("it says %s", c.Message)
			}
			return nil
		})
		web.waitForCondition(programmed, conditionFalse, "NotAccepted")
	}
	s.addNode("c")
	web.waitForTree(all(speaks("TCP/8080 TCP TCP"), membersAt(s.addresses("a", "b", "c")...)))
	s.requireNoFailedRequest(visitor)
	for _, w := range s.writes() {
		if !strings.HasSuffix(w, "/members") {
			t.Errorf("the cloud was written to: %s", w)
		}
	}
}

func TestCertificateInAnotherStoreIsNotChecked(t *testing.T) {
	skipOnRealOpenStack(t, "the contract has the cloud's part in it")
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	s := newStage(t, settings{password: true, conf: []string{"container-store=external"}})
	ref := s.bundle()
	web := s.service("web", tcp(8080), annotated(tlsKey, ref))
	web.waitUntilProgrammed()
	if calls := s.lookups(); len(calls) > 0 {
		t.Errorf("it was looked up: %v", calls)
	}
	web.change(annotated(tlsKey, "my-certificate"))
	if c := web.waitForCondition(programmed, conditionFalse, "RejectedByCloud"); !strings.Contains(c.Message, "my-certificate") {
		t.Errorf("it says %s", c.Message)
	}
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitForTree(ends("TCP/8080", ref))
}

// What openstack-cloud-controller-manager made with its switches is as it is to be:
// nothing but our marks is written.
func TestListenersThatOCCMCreatedForAnnotationsAreTakenOverUnchanged(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "TestLoadBalancersOfTheOtherControllerAreTakenOverByTheirTagsAlone takes over what is made there")
	s := newStage(t, settings{password: true, off: true})
	ref, published := s.bundle(), map[string][]corev1.LoadBalancerIngress{}
	for name, c := range map[string]struct {
		annotations    map[string]string
		listener, pool string
		extra          map[string]any
	}{
		"proxy":     {map[string]string{proxyKey: "true"}, "TCP", "PROXY", nil},
		"proxy-v2":  {map[string]string{proxyKey: "v2"}, "TCP", "PROXYV2", nil},
		"forwarded": {map[string]string{forwardedKey: "true"}, "HTTP", "HTTP", map[string]any{"insert_headers": forwardedFor}},
		"tls":       {map[string]string{tlsKey: ref}, "TERMINATED_HTTPS", "HTTP", map[string]any{"default_tls_container_ref": ref}},
		"tls-forwarded": {map[string]string{tlsKey: ref, forwardedKey: "true"}, "TERMINATED_HTTPS", "HTTP",
			map[string]any{"default_tls_container_ref": ref, "insert_headers": forwardedFor}},
		"tls-proxy": {map[string]string{tlsKey: ref, proxyKey: "v1"}, "TERMINATED_HTTPS", "PROXY", map[string]any{"default_tls_container_ref": ref}},
	} {
		var edits []edit
		for key, value := range c.annotations {
			edits = append(edits, annotated(key, value))
		}
		web := s.service(name, append(edits, tcp(8080), annotated(internalKey, "true"))...)
		s.asBefore(web, c.listener, c.pool, c.extra)
		published[name] = web.now().Status.LoadBalancer.Ingress
	}
	s.resetCalls()
	s.start()
	for _, name := range []string{"proxy", "proxy-v2", "forwarded", "tls", "tls-forwarded", "tls-proxy"} {
		web := &service{stage: s, name: name}
		web.waitForCondition(programmed, conditionTrue, "Programmed")
		if d := cmp.Diff(published[name], web.now().Status.LoadBalancer.Ingress); d != "" {
			t.Errorf("status of %s (-before +after): %s", name, d)
		}
	}
	for _, w := range s.writes() {
		if !strings.HasPrefix(w, "PUT /v2.0/lbaas/loadbalancers/") {
			t.Errorf("written: %s", w)
		}
	}
	if calls := s.lookups(); len(calls) > 0 {
		t.Errorf("certificates that are in use were looked up: %v", calls)
	}
}

// asBefore creates an internal Service's load balancer as that one made it.
func (s *stage) asBefore(v *service, listener, pool string, extra map[string]any) {
	s.t.Helper()
	name := v.lbName()
	var members []any
	for _, suffix := range []string{"a", "b"} {
		members = append(members, map[string]any{"name": s.node(suffix), "address": s.address(suffix),
			"protocol_port": v.now().Spec.Ports[0].NodePort, "subnet_id": s.cloud.IDs().PrivateSubnet})
	}
	l := map[string]any{"name": "listener_0_" + name, "protocol": listener, "protocol_port": freePort(8080), "connection_limit": -1, "tags": []string{name},
		"timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0,
		"allowed_cidrs": []string{"0.0.0.0/0"},
		"default_pool":  map[string]any{"name": "pool_0_" + name, "protocol": pool, "lb_algorithm": "ROUND_ROBIN", "members": members}}
	for key, value := range extra {
		l[key] = value
	}
	var made struct{ LoadBalancer tree }
	s.cloud.octavia("POST", "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "vip_subnet_id": s.cloud.IDs().PrivateSubnet, "tags": []string{name}, "listeners": []any{l},
		"description": "Kubernetes external service " + s.namespace + "/" + v.name + " from cluster kubernetes",
	}}, &made)
	s.eventually(s.cloud.pending)
	v.change(annotated(idKey, made.LoadBalancer.ID), annotated(addressKey, made.LoadBalancer.VIP))
	mode := corev1.LoadBalancerIPModeVIP
	if strings.HasPrefix(pool, "PROXY") {
		mode = corev1.LoadBalancerIPModeProxy
	}
	v.eventually(func() error {
		now := v.now()
		now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: made.LoadBalancer.VIP, IPMode: &mode}}
		_, err := v.client.CoreV1().Services(v.namespace).UpdateStatus(v.t.Context(), now, metav1.UpdateOptions{})
		return err
	})
}
