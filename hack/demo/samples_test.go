// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// odd returns a directory whose name a shell would split.
func odd(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's a "$HOME"`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, text)
	}
	return string(text)
}

func TestTheCommandGetsTheFlagsOfTheDemoBeforeThoseOfTheCaller(t *testing.T) {
	dir := odd(t)
	program := write(t, filepath.Join(dir, "program"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
	script := write(t, filepath.Join(dir, "kube-octavia"), wrapper(program, []string{"--cloud-config=" + dir}, []string{"--lease=it's"}))
	for _, c := range []struct {
		name       string
		args, want []string
	}{
		{"no command", nil, nil},
		{"a command without flags of the demo", []string{"version"}, []string{"version"}},
		{"a command that takes the configuration", []string{"plan", "-n", "a b"}, []string{"plan", "--cloud-config=" + dir, "-n", "a b"}},
		{"a command that takes everything", []string{"doctor", "--all"}, []string{"doctor", "--cloud-config=" + dir, "--lease=it's", "--all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			if text := strings.TrimSpace(output(t, script, c.args...)); text != "" {
				got = strings.Split(text, "\n")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.args, diff)
			}
		})
	}
}

func TestTheEnvironmentIsSetForEachShell(t *testing.T) {
	dir := odd(t)
	file := write(t, filepath.Join(dir, "env.sh"), environment(dir, dir+"/kubeconfig", "clouds.yaml", "demo"))
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "bin", "kubectl"), "#!/bin/sh\necho \"kubectl $3 $4 $5\"\n")
	for _, shell := range []string{"sh", "bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip("not each machine has each shell; there is always sh")
			}
			got := output(t, shell, "-c", `. "$1"; echo "$KUBECONFIG"; echo "$OS_CLOUD"; address_of web`, shell, file)
			if want := dir + "/kubeconfig\ndemo\nkubectl get service web\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestTheServiceWithTLSHasItsSecretAndCertificate(t *testing.T) {
	s := &stage{cloud: &simulated{}, targets: podTargets, port: 8080, tlsPort: 8443}
	files := map[string]string{}
	if err := s.addServices(files); err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	var service corev1.Service
	first, second, _ := strings.Cut(files["service-tls.yaml"], "\n---\n")
	for text, object := range map[string]any{first: &secret, second: &service} {
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
	}
	pair, err := tls.X509KeyPair([]byte(secret.StringData[corev1.TLSCertKey]), []byte(secret.StringData[corev1.TLSPrivateKeyKey]))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(files["tls.crt"])) {
		t.Fatal("tls.crt is no certificate")
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tlsHost, CurrentTime: time.Now()}); err != nil {
		t.Error(err)
	}
	if got := service.Annotations[annotation.TLSSecret]; got != secret.Name || service.Namespace != secret.Namespace {
		t.Errorf("the Service names Secret %q, and there is %s/%s", got, secret.Namespace, secret.Name)
	}
	if service.Annotations[annotation.TargetType] == "" || service.Spec.Ports[0].Port != s.tlsPort {
		t.Errorf("the Service is %+v", service)
	}
	if strings.Contains(files["service.yaml"]+files["service-tls.yaml"], "null") {
		t.Errorf("empty fields are left:\n%s", files["service-tls.yaml"])
	}
}

func TestWithoutTLSInTheCloudThereIsNoSampleOfIt(t *testing.T) {
	s := &stage{cloud: &real{}, targets: nodeTargets, port: 8080, tlsPort: 8443}
	files := map[string]string{}
	if err := s.addServices(files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files["service.yaml"] == "" {
		t.Errorf("there are %d files", len(files))
	}
}

func TestTheContextHasTheNamespaceOfTheDemo(t *testing.T) {
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["c"] = &api.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	if err := setNamespace(path, namespace); err != nil {
		t.Fatal(err)
	}
	got, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil).Namespace()
	if err != nil || got != namespace {
		t.Errorf("namespace %q, %v", got, err)
	}
}
