// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubetest gives the tests of one package one Kubernetes API to share,
// and each test a namespace of its own.
//
//	func TestMain(m *testing.M) { kubetest.Main(m) }
//
//	func TestServiceGetsAnAddress(t *testing.T) {
//		cluster := kubetest.Cluster(t)
//		namespace := kubetest.Namespace(t)
//		...
//	}
//
// It may be imported by tests only, and imports test/kube and client-go.
package kubetest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// shared is the cluster of the package under test. It is started by the first
// test that asks, so that `go test -list` and a run of other tests only do
// without.
var shared struct {
	once    sync.Once
	options kube.Options
	cluster *kube.Cluster
	client  *kubernetes.Clientset
	err     error
}

// Main is to be called by TestMain. It runs the tests, stops the cluster and
// checks that no goroutine is left. It does not return.
func Main(m *testing.M, leakOptions ...goleak.Option) {
	MainWith(m, kube.Options{}, leakOptions...)
}

// MainWith is Main with a cluster that is not the usual one.
func MainWith(m *testing.M, options kube.Options, leakOptions ...goleak.Option) {
	shared.options = options
	goleak.VerifyTestMain(stopping{m}, leakOptions...)
}

// IgnoreStoppedQueue is for packages whose tests stop controllers of controller-runtime. Stopping one races with its queue
// handing out an item, and the goroutine that loses stays behind. A process that stops its controller ends.
func IgnoreStoppedQueue() goleak.Option {
	return goleak.IgnoreAnyFunction("sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems")
}

// stopping stops the cluster after the tests and before the check for leaks.
type stopping struct{ m *testing.M }

// Run runs the tests and returns their exit code, or 1 if the cluster cannot be
// stopped or one of its processes had died.
func (s stopping) Run() int {
	code := s.m.Run()
	if shared.cluster == nil {
		return code
	}
	if err := shared.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Cluster returns the cluster of the package, which it starts at the first
// call. The test fails if there is none to be had; it is not skipped.
func Cluster(t testing.TB) *kube.Cluster {
	t.Helper()
	shared.once.Do(func() {
		shared.cluster, shared.err = kube.Start(context.Background(), shared.options)
		if shared.err == nil {
			shared.client, shared.err = kubernetes.NewForConfig(shared.cluster.Config())
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Client returns a client of an administrator of the package's cluster.
func Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	Cluster(t)
	return shared.client
}

// MinorVersion returns the minor version of Kubernetes that the cluster has: 28 of 1.28.15.
func MinorVersion(t testing.TB) int {
	t.Helper()
	info, err := Client(t).Discovery().ServerVersion()
	if err != nil {
		t.Fatalf("read the version of Kubernetes: %v", err)
	}
	minor, err := strconv.Atoi(strings.TrimSuffix(info.Minor, "+"))
	if err != nil {
		t.Fatalf("the version of Kubernetes is %+v: %v", info, err)
	}
	return minor
}

// NeedsVersion skips the test on a Kubernetes older than 1.minor. The reason is what only newer ones
// have, as the object of a sentence.
func NeedsVersion(t testing.TB, minor int, reason string) {
	t.Helper()
	if actual := MinorVersion(t); actual < minor {
		t.Skipf("Kubernetes 1.%d does not have %s: that comes with 1.%d", actual, reason, minor)
	}
}

// KeepsIPMode reports whether the API server keeps the field ipMode of addresses in the status of
// Services. Older ones remove it from what is written.
func KeepsIPMode(t testing.TB) bool {
	t.Helper()
	return MinorVersion(t) >= kubeversion.HasIPMode
}

// Namespace creates a namespace for the test and returns its name. When the test ends, the
// namespace is deleted, which continues in the background.
func Namespace(t testing.TB) string {
	t.Helper()
	namespaces := Client(t).CoreV1().Namespaces()
	namespace, err := namespaces.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("make a namespace for the test: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := namespaces.Delete(context.Background(), namespace.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete the test's namespace: %v", err)
		}
	})
	return namespace.Name
}
