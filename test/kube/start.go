// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// Files in the cluster's directory.
const (
	etcdSocket     = "unix://etcd.sock" // relative, as a socket's path may have 107 characters only
	certDir        = "tls"
	tokenFile      = "tokens.csv"
	signingKeyFile = "service-account.key"
	adminFile      = "admin.kubeconfig"
)

// pollInterval is the pause between two checks of something that is starting.
const pollInterval = 50 * time.Millisecond

// start runs the three processes. Each is waited for before it is needed.
func (c *Cluster) start(ctx context.Context, opts Options) error {
	if err := c.writeKeys(); err != nil {
		return err
	}
	opts.Progress("etcd and kube-apiserver start")
	if err := c.startEtcd(); err != nil {
		return err
	}
	apiserver, err := c.startAPIServer(opts)
	if err != nil {
		return err
	}
	if err := c.waitForAPI(ctx, apiserver); err != nil {
		return err
	}
	opts.Progress("kube-controller-manager starts")
	return c.startControllers(ctx, opts)
}

// writeKeys makes the administrator's token and the key that signs the tokens
// of service accounts. The certificates are made by kube-apiserver itself.
func (c *Cluster) writeKeys() error {
	c.token = uuid.NewString()
	tokens := fmt.Sprintf("%s,%s,%[2]s,system:masters\n", c.token, Administrator)
	if err := os.WriteFile(filepath.Join(c.dir, tokenFile), []byte(tokens), 0o600); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return os.WriteFile(filepath.Join(c.dir, signingKeyFile), block, 0o600)
}

// startEtcd runs etcd on sockets in the cluster's directory: there is no port that
// another process could take, and no other user can read or write the store.
func (c *Cluster) startEtcd() error {
	_, err := c.run(etcdBinary,
		"--name=kube-octavia",
		"--data-dir=etcd",
		"--listen-client-urls="+etcdSocket,
		"--listen-peer-urls=unix://peer.sock",
		// Required beside a listen URL, but no client uses it.
		"--advertise-client-urls=http://etcd.invalid:0",
		"--initial-advertise-peer-urls=http://etcd.invalid:0",
		"--initial-cluster=kube-octavia=http://etcd.invalid:0",
		"--unsafe-no-fsync", // the data does not outlive the process
		"--log-level=warn",
	)
	return err
}

// waitForAPI waits until kube-apiserver serves and has made its namespaces, and
// learns the certificate that it made for itself.
func (c *Cluster) waitForAPI(ctx context.Context, apiserver *process) error {
	err := apiserver.waitFor(ctx, "to make its certificate", func(context.Context) error {
		// The key is written after the certificate.
		if _, err := os.Stat(filepath.Join(c.dir, certDir, "apiserver.key")); err != nil {
			return err
		}
		var err error
		c.ca, err = os.ReadFile(filepath.Join(c.dir, certDir, "apiserver.crt"))
		return err
	})
	if err != nil {
		return err
	}
	return c.poll(ctx, apiserver, "to be ready", func(ctx context.Context, client *kubernetes.Clientset) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		for _, name := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
			if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// startControllers runs kube-controller-manager and waits until the first of
// its controllers has done something.
func (c *Cluster) startControllers(ctx context.Context, opts Options) error {
	if len(opts.Controllers) == 0 {
		return nil
	}
	if err := c.Kubeconfig(filepath.Join(c.dir, adminFile)); err != nil {
		return err
	}
	names, err := c.known(ctx, opts.Controllers)
	if err != nil {
		return err
	}
	controllers, err := c.run(controllerManagerBinary,
		"--kubeconfig="+adminFile,
		"--controllers="+strings.Join(names, ","),
		"--leader-elect=false",
		"--secure-port=0", // serves nothing
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-service-endpoint-syncs=20",
		"--profiling=false",
	)
	if err != nil {
		return err
	}
	return c.poll(ctx, controllers, "to run its controllers", func(ctx context.Context, client *kubernetes.Clientset) error {
		return controllersRun(ctx, client, opts.Controllers)
	})
}

// firstWith has the controllers that not every version of Kubernetes has, and the first minor version with each.
var firstWith = map[string]int{"validatingadmissionpolicy-status-controller": kubeversion.HasValidatingAdmissionPolicy}

// known returns those of the controllers that this kube-controller-manager knows: it refuses to start with an unknown one.
func (c *Cluster) known(ctx context.Context, names []string) ([]string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(c.assets, controllerManagerBinary), "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask for the version of %s: %w", controllerManagerBinary, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "Kubernetes v%d.%d", &major, &minor); err != nil {
		return nil, fmt.Errorf("the version of %s is %q: %w", controllerManagerBinary, out, err)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return minor < firstWith[name] }), nil
}

// controllersRun is nil when the work of the controllers is seen: the service account controller
// creates an account in each namespace. Other sets of controllers have no such sign, and are taken
// to run.
func controllersRun(ctx context.Context, client *kubernetes.Clientset, controllers []string) error {
	for _, name := range controllers {
		if name == "serviceaccount-controller" {
			_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		}
	}
	return nil
}

// poll calls ready with a client of the cluster until it returns nil. The
// client's connections are closed at the end.
func (c *Cluster) poll(ctx context.Context, p *process, what string, ready func(context.Context, *kubernetes.Clientset) error) error {
	httpClient, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		return err
	}
	defer httpClient.CloseIdleConnections()
	client, err := kubernetes.NewForConfigAndClient(c.Config(), httpClient)
	if err != nil {
		return err
	}
	return p.waitFor(ctx, what, func(ctx context.Context) error { return ready(ctx, client) })
}
