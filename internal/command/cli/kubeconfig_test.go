// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// kubeconfigFor writes a kubeconfig with context c, cluster k and user u, and returns its path.
func kubeconfigFor(t *testing.T, server, ca string, edits ...func(*api.Config)) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["k"] = &api.Cluster{Server: server, CertificateAuthorityData: []byte(ca)}
	config.AuthInfos["u"] = &api.AuthInfo{Token: secret}
	config.Contexts["c"] = &api.Context{Cluster: "k", AuthInfo: "u"}
	config.CurrentContext = "c"
	for _, edit := range edits {
		edit(config)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubernetesAPI starts a server with TLS and returns its address and CA.
func kubernetesAPI(t *testing.T, handle http.HandlerFunc) (address, ca string) {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // refused handshakes are part of the tests
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// refusal answers as the Kubernetes API does when it refuses.
func refusal(code int, reason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": %q, "reason": %q, "code": %d}`, message, reason, code)
	}
}

func webPage(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Log in</html>") }

// unusable are kubeconfigs with which no cluster can be used, and what has to be said; PATH and SERVER stand for the path
// and the address of the API.
var unusable = map[string]struct {
	kubeconfig func(*testing.T) (path, server string)
	want       []string
}{
	"a file that is not there": {
		func(t *testing.T) (string, string) { return filepath.Join(t.TempDir(), "none"), "" },
		[]string{"find the cluster: kubeconfig PATH (--kubeconfig) does not exist: set --kubeconfig or $KUBECONFIG"},
	},
	"a file that is no kubeconfig": {
		func(t *testing.T) (string, string) { return file(t, "kubeconfig", "a: b: c"), "" },
		[]string{"find the cluster: kubeconfig PATH (--kubeconfig) cannot be read: ", "mapping values are not allowed"},
	},
	"an empty file": {
		func(t *testing.T) (string, string) { return file(t, "kubeconfig", ""), "" },
		[]string{"kubeconfig PATH (--kubeconfig) does not exist or is empty, and this is not a Pod", "set --kubeconfig"},
	},
	"no current context": {
		func(t *testing.T) (string, string) {
			return kubeconfigFor(t, "https://127.0.0.1:1", "", func(c *api.Config) { c.CurrentContext = "" }), ""
		},
		[]string{"kubeconfig PATH (--kubeconfig): it has no current-context: choose one of c with `kubectl config use-context`"},
	},
	"a current context that is not there": {
		func(t *testing.T) (string, string) {
			return kubeconfigFor(t, "https://127.0.0.1:1", "", func(c *api.Config) { c.CurrentContext = "prod" }), ""
		},
		[]string{`its current-context "prod" does not exist: choose one of c with`},
	},
	"a cluster that is not there": {
		func(t *testing.T) (string, string) {
			return kubeconfigFor(t, "https://127.0.0.1:1", "", func(c *api.Config) { c.Contexts["c"].Cluster = "x" }), ""
		},
		[]string{`context "c" names cluster "x", which it does not have`},
	},
	"an API that is down": {
		func(t *testing.T) (string, string) {
			return kubeconfigFor(t, "https://127.0.0.1:1", ""), "https://127.0.0.1:1"
		},
		[]string{`Kubernetes API at SERVER (kubeconfig PATH (--kubeconfig), context "c"): `, "connection refused", `is the API server running, and is server of cluster "k" in the kubeconfig right?`},
	},
	"a name without an address": {
		func(t *testing.T) (string, string) {
			return kubeconfigFor(t, "https://api.invalid", ""), "https://api.invalid"
		},
		[]string{"Kubernetes API at SERVER", `check server of cluster "k" in the kubeconfig, and the DNS`},
	},
	"a token that is rejected": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, refusal(http.StatusUnauthorized, "Unauthorized", "Unauthorized"))
			return kubeconfigFor(t, server, ca), server
		},
		[]string{"Kubernetes API at SERVER", `log in again, or get another kubeconfig: the credentials of user "u" in the kubeconfig are wrong, expired or revoked`},
	},
	"a user without rights": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, refusal(http.StatusForbidden, "Forbidden", `namespaces "kube-system" is forbidden: User "u" cannot get resource "namespaces"`))
			return kubeconfigFor(t, server, ca), server
		},
		[]string{"Kubernetes API at SERVER", `namespaces "kube-system" is forbidden: User "u" cannot get`, "grant the right with RBAC"},
	},
	"another CA": {
		func(t *testing.T) (string, string) {
			server, _ := kubernetesAPI(t, webPage)
			return kubeconfigFor(t, server, anotherAuthority(t)), server
		},
		[]string{"Kubernetes API at SERVER", `certificate-authority next to server of cluster "k" in the kubeconfig is not the CA that signed`},
	},
	"a certificate of another host": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, webPage)
			return kubeconfigFor(t, strings.Replace(server, "127.0.0.1", "localhost", 1), ca, func(c *api.Config) { c.Clusters["k"].TLSServerName = "api.example.org" }), strings.Replace(server, "127.0.0.1", "localhost", 1)
		},
		[]string{"Kubernetes API at SERVER", "the host must be one of the names in the certificate", "tls-server-name"},
	},
	"a web page": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, webPage)
			return kubeconfigFor(t, server, ca), server
		},
		[]string{"Kubernetes API at SERVER", `check server of cluster "k" in the kubeconfig: another program or a proxy answers there`},
	},
	"a forbidden page": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no</html>", http.StatusForbidden) })
			return kubeconfigFor(t, server, ca), server
		},
		[]string{"another program or a proxy answers there"},
	},
	"an API of something else": {
		func(t *testing.T) (string, string) {
			server, ca := kubernetesAPI(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}")
			})
			return kubeconfigFor(t, server, ca), server
		},
		[]string{"it does not answer as the Kubernetes API does", "another program or a proxy answers there"},
	},
	"http to a server with TLS": {
		func(t *testing.T) (string, string) {
			server, _ := kubernetesAPI(t, webPage)
			server = strings.Replace(server, "https", "http", 1)
			return kubeconfigFor(t, server, ""), server
		},
		[]string{`server of cluster "k" in the kubeconfig: it must begin with https://`},
	},
	"https to a server without TLS": {
		func(t *testing.T) (string, string) {
			server := httptest.NewServer(http.HandlerFunc(webPage))
			t.Cleanup(server.Close)
			address := strings.Replace(server.URL, "http", "https", 1)
			return kubeconfigFor(t, address, ""), address
		},
		[]string{`server of cluster "k" in the kubeconfig: it must begin with http://`},
	},
}

func TestAClusterThatCannotBeUsedIsExplained(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	conf := file(t, "cloud.conf", goodConf)
	for name, test := range unusable {
		t.Run(name, func(t *testing.T) {
			path, server := test.kubeconfig(t)
			for _, args := range [][]string{{"plan"}, {"status"}, {"migrate"}, {"controller", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}} {
				t.Run(args[0], func(t *testing.T) {
					got := runCommand(t, append(args, "--cloud-config="+conf, "--kubeconfig="+path)...)
					for _, want := range test.want {
						want = strings.NewReplacer("PATH", path, "SERVER", server).Replace(want)
						if got.Status != exitError || got.Out != "" || !strings.Contains(got.Err, want) || strings.Contains(got.Err, secret) {
							t.Errorf("%v: %+v, want %q", args, got, want)
						}
					}
				})
			}
		})
	}
}

func TestTheKubeconfigOfTheEnvironmentIsNamed(t *testing.T) {
	conf := file(t, "cloud.conf", goodConf)
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", none)
	if got := runCommand(t, "plan", "--cloud-config="+conf); !strings.Contains(got.Err, "find the cluster: kubeconfig "+none+" ($KUBECONFIG) does not exist") {
		t.Errorf("got %+v", got)
	}
	t.Setenv("KUBECONFIG", kubeconfigFor(t, "https://127.0.0.1:1", ""))
	if got := runCommand(t, "plan", "--cloud-config="+conf); !strings.Contains(got.Err, `($KUBECONFIG), context "c")`) {
		t.Errorf("got %+v", got)
	}
}

// anotherAuthority returns the certificate of an authority that has signed nothing.
func anotherAuthority(t *testing.T) string {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKey("another.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(certificate)
}
