// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// secretKey is the annotation that names a Secret.
const secretKey = prefix + "tls-secret"

// curious returns a program that reads Secrets often.
func curious() cli.Options {
	timing := usualDelays()
	timing.SecretInterval = 200 * time.Millisecond
	return cli.Options{Timing: timing}
}

// pair returns a certificate with its key, as PEM. It ends in the time.
func (s *stage) pair(left time.Duration) (certificate, key []byte) {
	s.t.Helper()
	return s.pairOf(pkix.Name{CommonName: "web.example.test"}, left)
}

// pairOf is pair with another subject.
func (s *stage) pairOf(subject pkix.Name, left time.Duration) (certificate, key []byte) {
	s.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, DNSNames: []string{"web.example.test"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(left)}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, private.Public(), private)
	if err != nil {
		s.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		s.t.Fatal(err)
	}
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	s.keys = append(s.keys, string(key))
	s.keys = append(s.keys, strings.Split(string(key), "\n")[2:3]...)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

// secret makes or changes the Secret of the name, of type kubernetes.io/tls.
func (s *stage) secret(name string, certificate, key []byte) {
	s.t.Helper()
	wish := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": certificate, "tls.key": key}}
	secrets := s.client.CoreV1().Secrets(s.namespace)
	_, err := secrets.Update(s.t.Context(), wish, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(s.t.Context(), wish, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// renew puts a new certificate, which ends in the time, into Secret web-tls.
func (s *stage) renew(left time.Duration) {
	s.t.Helper()
	certificate, key := s.pair(left)
	s.secret("web-tls", certificate, key)
}

// mayRead lets the controller read the Secret of the name, as the docs have it.
func (s *stage) mayRead(name string) {
	s.t.Helper()
	roles := s.client.RbacV1()
	meta := metav1.ObjectMeta{Name: "kube-octavia-reads-" + name}
	_, err := roles.Roles(s.namespace).Create(s.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	if err == nil {
		_, err = roles.RoleBindings(s.namespace).Create(s.t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: deploy.Namespace, Name: deploy.Name}}}, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.unreadable = name // until that is in force
}

// secretID returns the id in a reference. Barbican may be known by more than one address.
func secretID(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// stored returns the ids of the certificates that the controller has stored.
func (s *stage) stored() []string {
	s.t.Helper()
	var answer struct {
		Secrets []struct {
			Name *string `json:"name"`
			Ref  string  `json:"secret_ref"`
		}
	}
	if err := s.cloud.call(asUser, cloudsim.KeyManager, http.MethodGet, "/v1/secrets?limit=100", nil, &answer); err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, secret := range answer.Secrets {
		if secret.Name != nil && strings.HasPrefix(*secret.Name, "kube-octavia.certificate_") {
			ids = append(ids, secretID(secret.Ref))
		}
	}
	return ids
}

func TestAServiceWithACertificateGetsALoadBalancerOfAnotherFlavor(t *testing.T) {
	skipOnRealOpenStack(t, "TestLoadBalancerOfAnotherFlavorTakesOverWithoutAFailedRequest has another flavor")
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	program := curious()
	program.Timing.Drain = time.Second
	s := newStage(t, settings{program: program, password: true})
	gold := s.makeFlavor(s.namespace + "-gold")
	s.renew(time.Hour)
	s.mayRead("web-tls")
	web := s.service("web", tcp(8443), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	web.change(annotated(flavorKey, gold), annotated(replaceKey, "true"))
	web.replacedBy(gold)
	web.waitForCertificate("TCP/8443")
	web.requireOneLoadBalancer()
}

func TestACertificateThatNoPortUsesAnyMoreIsDeleted(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	s := newStage(t, settings{program: curious(), password: true})
	s.renew(time.Hour)
	s.mayRead("web-tls")
	web := s.service("web", udp(5300), tcp(8443), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	web.waitForCertificate("TCP/8443")
	web.change(func(v *corev1.Service) { v.Spec.Ports = v.Spec.Ports[:1] })
	s.eventually(func() error {
		if left := s.stored(); len(left) > 0 {
			return fmt.Errorf("certificates %v are left", left)
		}
		return nil
	})
}

// waitForCertificate waits until the port ends TLS with a certificate that is not among those
// before, and that is the only one which is stored. It returns its id.
func (v *service) waitForCertificate(port string, before ...string) string {
	v.t.Helper()
	var id string
	v.eventually(func() error {
		ids, l := v.stored(), v.tree().listener(port)
		if id = secretID(l.Certificate); len(ids) != 1 || ids[0] != id || slices.Contains(before, id) || l.Protocol != "TERMINATED_HTTPS" {
			return fmt.Errorf("%s is %s with %q, before it was one of %q, stored are %q", port, l.Protocol, l.Certificate, before, ids)
		}
		return nil
	})
	return id
}

// noneStored waits until no certificate is stored.
func (s *stage) noneStored() {
	s.t.Helper()
	s.eventually(func() error {
		if refs := s.stored(); len(refs) > 0 {
			return fmt.Errorf("stored are %q", refs)
		}
		return nil
	})
}

func TestCertificateOfASecretIsStoredFollowedAndDeleted(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	s := newStage(t, settings{password: true, program: curious(), flags: sweeping})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	web := s.service("web", tcp(8080, 8081), annotated(secretKey, "web-tls"), annotated(protocolsKey, "tcp-8081=TCP"))
	address := web.waitUntilProgrammed()
	one := web.waitForCertificate("TCP/8080")
	was := web.tree()
	visitor := s.visit(address, 8081)

	// As cert-manager does.
	s.renew(time.Hour)
	two := web.waitForCertificate("TCP/8080", one)
	web.waitUntilProgrammed()
	web.requireSameListener(was, "TCP/8080")

	// A controller that was just started follows, too, and learns from the sweep what
	// the one before it has stored.
	s.stop()
	s.resetCalls()
	s.start()
	web.waitUntilProgrammed()
	s.renew(time.Hour)
	three := web.waitForCertificate("TCP/8080", one, two)
	writes := s.writes()
	// Those to a real Barbican are not recorded.
	if *stateDir == "" && (len(writes) != 3 || writes[0] != "POST /v1/secrets" || !strings.HasPrefix(writes[1], "PUT /v2.0/lbaas/listeners/") || writes[2] != "DELETE /v1/secrets/"+two) {
		t.Errorf("the third certificate took %v", writes)
	}

	// A reference by hand takes its place, and that the reference's.
	ref := s.bundle()
	web.change(annotated(tlsKey, ref), notAnnotated(secretKey))
	web.waitForTree(ends("TCP/8080", ref))
	s.noneStored()
	web.change(annotated(secretKey, "web-tls"))
	web.waitForCertificate("TCP/8080", one, two, three, secretID(ref))
	web.waitUntilProgrammed()
	web.requireSameListener(was, "TCP/8080")
	s.requireNoFailedRequest(visitor)

	web.delete()
	web.waitUntilGone()
	if refs := s.stored(); len(refs) > 0 {
		t.Errorf("the Service is gone and stored are %q", refs)
	}
	s.readNoOtherSecret()
}

// readNoOtherSecret fails the test if the controller asked kube-apiserver for Secrets
// in another way than one by one.
func (s *stage) readNoOtherSecret() {
	s.t.Helper()
	for _, r := range s.asked()[s.askedBefore:] {
		if r.Resource == "secrets" && (r.Verb != "get" || r.Name == "") {
			s.t.Errorf("it asked kube-apiserver for %+v", r)
		}
	}
}

func TestSecretThatCannotBeUsedIsRefusedWithWhatToDo(t *testing.T) {
	skipOnRealOpenStack(t, "TestCertificateOfASecretIsStoredFollowedAndDeleted has the cloud's part in it")
	s := newStage(t, settings{password: true, cloud: cloudsim.Options{Release: release.Zed}, program: curious()})
	s.unreadable = "web-tls"
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	s.resetCalls()
	web.change(annotated(secretKey, "web-tls"))
	c := web.waitForCondition(accepted, conditionFalse, "SecretForbidden")
	_, commands, _ := strings.Cut(c.Message, "allow it by: ")
	for _, command := range strings.Split(commands, " && ") {
		args := strings.Fields(command)
		if _, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), args[1:]...); args[0] != "kubectl" || err != nil {
			t.Fatalf("the condition says %q: %v", c.Message, err)
		}
	}
	refused := func(words string) {
		t.Helper()
		web.eventually(func() error {
			if c := web.waitForCondition(accepted, conditionFalse, "CertificateUnusable"); !strings.Contains(c.Message, words) {
				return fmt.Errorf("it says %s", c.Message)
			}
			return nil
		})
	}
	refused("there is no Secret web-tls in namespace " + s.namespace)
	certificate, _ := s.pair(time.Hour)
	_, key := s.pair(time.Hour)
	s.secret("web-tls", certificate, key)
	refused("does not fit")
	nameless, itsKey := s.pairOf(pkix.Name{}, time.Hour)
	s.secret("web-tls", nameless, itsKey)
	refused("2.30")
	s.addNode("c")
	web.waitForTree(all(speaks("TCP/8080 TCP TCP"), membersAt(s.addresses("a", "b", "c")...)))
	s.requireNoFailedRequest(visitor)
	for _, w := range s.writes() {
		if !strings.HasSuffix(w, "/members") {
			t.Errorf("the cloud was written to: %s", w)
		}
	}

	// One that has expired is used all the same, and told of.
	s.renew(-time.Hour)
	if c := web.waitForCondition(accepted, conditionTrue, "CertificateNotValid"); !strings.Contains(c.Message, "expired") {
		t.Errorf("it says %s", c.Message)
	}
	web.waitUntilProgrammed()
	web.waitForCertificate("TCP/8080")
	valid := web.tree().listener("TCP/8080").Certificate
	s.eventually(func() error {
		if !slices.Contains(web.events(), "CertificateNotValid") {
			return fmt.Errorf("the events are %v", web.events())
		}
		return nil
	})
	// What serves stays when the Secret becomes useless, and goes with the Service.
	s.secret("web-tls", certificate, key)
	refused("does not fit")
	web.waitForTree(ends("TCP/8080", valid))
	s.secret("web-tls", certificate[:0], key)
	refused("no tls.crt")
	web.delete()
	web.waitUntilGone()
	s.noneStored()
	s.readNoOtherSecret()
}

// ACME authorities issue such certificates.
func TestACertificateWithoutACommonNameIsUsedWhereOctaviaTakesIt(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	s := newStage(t, settings{password: true, cloud: cloudsim.Options{Release: release.Epoxy}})
	s.needsOctavia("2.30")
	s.mayRead("web-tls")
	certificate, key := s.pairOf(pkix.Name{}, time.Hour)
	s.secret("web-tls", certificate, key)
	web := s.service("web", tcp(8080), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	web.waitForCertificate("TCP/8080")
}

// Barbican can do what it was asked to and not say so.
func TestEveryFailureOfBarbicanLeavesOneCertificate(t *testing.T) {
	simulatorOnly(t, "Barbican is made to fail")
	s := newStage(t, settings{password: true, program: curious(), flags: sweeping})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	web := s.service("web", tcp(8080), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	before := []string{web.waitForCertificate("TCP/8080")}
	list, store, end := wire.Operation{Service: cloudsim.KeyManager, Method: http.MethodGet, Route: "/v1/secrets"},
		wire.Operation{Service: cloudsim.KeyManager, Method: http.MethodPost, Route: "/v1/secrets"},
		wire.Operation{Service: cloudsim.KeyManager, Method: http.MethodDelete, Route: "/v1/secrets/{id}"}
	for _, how := range []wire.Fault{{Kind: wire.FaultStatus, Status: http.StatusInternalServerError}, {Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable}, {Kind: wire.FaultResetAfter}, {Kind: wire.FaultResetBefore}, {Kind: wire.FaultHalfBody}} {
		s.failNext(how, list, store, end)
		s.renew(time.Hour)
		before = append(before, web.waitForCertificate("TCP/8080", before...))
		web.waitUntilProgrammed()
		s.cloud.Faults().Clear()
	}
	s.failNext(wire.Fault{Kind: wire.FaultResetAfter}, list, end)
	web.delete()
	web.waitUntilGone()
	s.noneStored()
}

// A controller that was killed may have left certificates of Services that are there, and
// one whose Service was taken away by force leaves all.
func TestCertificatesThatNoListenerUsesAreDeletedByTheSweep(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s := newStage(t, settings{password: true, program: curious(), flags: collecting})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	web, lost := s.service("web", tcp(8080), annotated(secretKey, "web-tls")), s.service("lost", tcp(8081), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	lost.waitUntilProgrammed()
	if refs := s.stored(); len(refs) != 2 {
		t.Fatalf("two Services have %q", refs)
	}
	kept := web.tree().listener("TCP/8080").Certificate
	s.stop()
	lost.deleteWithoutFinalizer()
	var found struct{ Name string }
	if err := s.cloud.call(asUser, cloudsim.KeyManager, http.MethodGet, kept[strings.Index(kept, "/v1/"):], nil, &found); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{found.Name, found.Name[:strings.LastIndex(found.Name, "_")+1] + strings.Repeat("0", 64)} {
		s.leave(name)
	}
	// A person's, and another cluster's.
	strange := "kube-octavia.certificate_another-cluster_another-service_" + strings.Repeat("0", 64)
	s.keep("secrets", map[string]any{"name": strange, "payload": "AAAA", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"})
	if refs := s.stored(); len(refs) != 5 {
		t.Fatalf("there are %q", refs)
	}
	s.start()
	s.eventually(func() error {
		if refs := s.stored(); len(refs) != 2 || !slices.Contains(refs, secretID(kept)) {
			return fmt.Errorf("stored are %q, and %s is in use", refs, kept)
		}
		return nil
	})
	web.waitForTree(ends("TCP/8080", kept))
	web.delete()
	web.waitUntilGone()
	if refs := s.stored(); len(refs) != 1 {
		t.Errorf("beside another cluster's there are %q", refs)
	}
}

// Octavia locks a load balancer for ever if its certificate is gone.
func TestCertificateThatAnotherClientsListenerUsesStays(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a list")
	s := newStage(t, settings{password: true, program: curious(), flags: collecting})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	lost, leaving := s.service("lost", tcp(8080), annotated(secretKey, "web-tls")), s.service("leaving", tcp(8081), annotated(secretKey, "web-tls"))
	lost.waitUntilProgrammed()
	leaving.waitUntilProgrammed()
	refs := []string{lost.tree().listener("TCP/8080").Certificate, leaving.tree().listener("TCP/8081").Certificate}
	s.stop()
	var made struct{ LoadBalancer struct{ ID string } }
	s.cloud.octavia(http.MethodPost, "loadbalancers", fields{"loadbalancer": fields{"name": "a person's", "vip_subnet_id": s.cloud.IDs().PrivateSubnet, "listeners": []fields{
		{"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": refs[0]},
		{"protocol": "TERMINATED_HTTPS", "protocol_port": 444, "default_tls_container_ref": refs[0], "sni_container_refs": refs[1:]},
	}}}, &made)
	s.eventually(s.cloud.pending)
	lost.deleteWithoutFinalizer()
	s.start()
	leaving.delete()
	leaving.waitUntilGone()
	s.eventually(func() error {
		if n := s.cloud.count("loadbalancers"); n != 1 {
			return fmt.Errorf("there are %d load balancers beside a person's", n-1)
		}
		return nil
	})
	s.waitForSweeps(3)
	if have := s.stored(); len(have) != 2 {
		t.Errorf("stored are %q, and a person's listeners have %q", have, refs)
	}
	s.cloud.octavia(http.MethodDelete, "loadbalancers/"+made.LoadBalancer.ID+"?cascade=true", nil, nil)
	s.noneStored()
}

// leave stores something under a name of the controller's, which is to delete it.
func (s *stage) leave(name string) {
	s.t.Helper()
	wish := map[string]any{"name": name, "payload": "AAAA", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}
	if err := s.cloud.call(asUser, cloudsim.KeyManager, http.MethodPost, "/v1/secrets", wish, nil); err != nil {
		s.t.Fatal(err)
	}
}
