// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The names of the sample Services, the Secret, and the host of its certificate.
const (
	plainName  = "hello"
	tlsName    = "hello-tls"
	secretName = "hello-tls"
	tlsHost    = "hello.example"
)

// writeSamples writes what users continue with: env.sh, commands with their flags, and Services to
// apply.
func (s *stage) writeSamples() error {
	program, err := s.program()
	if err != nil {
		return err
	}
	clouds, cloud := s.cloud.clientConfig()
	files := map[string]string{
		"env.sh":           environment(s.dir, s.kubeconfig, clouds, cloud),
		"bin/kube-octavia": wrapper(program, s.flags(), s.doctorFlags()),
	}
	if err := s.addServices(files); err != nil {
		return err
	}
	if err := os.Mkdir(s.path("bin"), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		mode := os.FileMode(0o600)
		if filepath.Dir(name) == "bin" {
			mode = 0o755
		}
		if err := os.WriteFile(s.path(name), []byte(text), mode); err != nil {
			return err
		}
	}
	if err := os.Symlink("kube-octavia", s.path("bin/kubectl-octavia")); err != nil {
		return err
	}
	return os.Symlink(s.kubectlPath, s.path("bin/kubectl"))
}

// program returns the path of kube-octavia, which `make demo` builds beside the demo.
func (s *stage) program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), "kube-octavia")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find kube-octavia beside the demo, where make demo builds it: %w", err)
	}
	return path, nil
}

// environment returns env.sh.
func environment(dir, kubeconfig, clouds, cloud string) string {
	return fmt.Sprintf(`# For a POSIX shell:  . %[1]s
export DEMO=%[2]s
export KUBECONFIG=%[3]s
export OS_CLIENT_CONFIG_FILE=%[4]s OS_CLOUD=%[5]s
export PATH="$DEMO/bin:$PATH"

# address_of SERVICE prints where the Service is reached.
address_of() {
	kubectl -n %[6]s get service "$1" -o 'jsonpath={.status.loadBalancer.ingress[0].ip}'
}
`, filepath.Join(dir, "env.sh"), quoted(dir), quoted(kubeconfig), quoted(clouds), quoted(cloud), namespace)
}

// wrapper returns a script that runs kube-octavia with the flags of the demo. The caller's flags come last, so they
// take precedence.
func wrapper(program string, flags, doctorFlags []string) string {
	return fmt.Sprintf(`#!/bin/sh
# kube-octavia with the flags of the demo.
case ${1-} in
plan | status | migrate | ui)
	command=$1
	shift
	set -- "$command" %[2]s "$@"
	;;
doctor)
	shift
	set -- doctor %[2]s %[3]s "$@"
	;;
esac
exec %[1]s "$@"
`, quoted(program), quoted(flags...), quoted(doctorFlags...))
}

// quoted returns words quoted for a shell.
func quoted(words ...string) string {
	var all []string
	for _, word := range words {
		all = append(all, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	return strings.Join(all, " ")
}

// addServices adds the manifests, and the certificate of the one with TLS.
func (s *stage) addServices(files map[string]string) (err error) {
	if files["service.yaml"], err = manifest(s.service(plainName, "http", s.port)); err != nil || !s.cloud.terminatesTLS() {
		return err
	}
	certificate, key, err := selfSigned(tlsHost, time.Now())
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace},
		Type:       corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: string(certificate), corev1.TLSPrivateKeyKey: string(key)},
	}
	service := s.service(tlsName, "https", s.tlsPort)
	service.Annotations = with(service.Annotations, annotation.TLSSecret, secretName)
	files["tls.crt"] = string(certificate)
	files["service-tls.yaml"], err = manifest(secret, service)
	return err
}

// service returns a Service of the demo's class for the Pods of the application.
func (s *stage) service(name, portName string, port int32) *corev1.Service {
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.ServiceSpec{
			Type:              corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass: ptr.To(class),
			Selector:          map[string]string{"app": "hello"},
			Ports:             []corev1.ServicePort{{Name: portName, Port: port, TargetPort: intstr.FromString(podPort)}},
		},
	}
	if s.targets.pods() {
		service.Annotations = with(nil, annotation.TargetType, config.PodTargets)
		service.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
	}
	return service
}

func with(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

// manifest returns the YAML of objects as users write it: without the zero values that Go adds.
func manifest(objects ...runtime.Object) (string, error) {
	var documents []string
	for _, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return "", err
		}
		delete(fields, "status")
		delete(fields["metadata"].(map[string]any), "creationTimestamp")
		text, err := yaml.Marshal(fields)
		if err != nil {
			return "", err
		}
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n"), nil
}

// selfSigned returns a self-signed certificate for a host and its key, as PEM.
func selfSigned(host string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	plan := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(7 * 24 * time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
