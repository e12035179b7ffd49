// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// flags are those of a connection as they are without a command line.
func flags() *connection {
	c := &connection{}
	c.addFlags(pflag.NewFlagSet("test", pflag.ContinueOnError))
	return c
}

func parse(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASessionKnowsWhatTheCloudCanDo(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{APIVersion: "2.10"})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	conf := parse(t, cloud.CloudConf()+"lb-provider = ovn\n")
	session, can, err := flags().connect(t.Context(), conf, "test", logr.Discard(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if diff := cmp.Diff(lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 10}, Provider: "ovn"}, can); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOfANodeOnlyWhatDecidesAboutMembersIsKept(t *testing.T) {
	now := metav1.Now()
	address := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}
	taint := corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler"}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, DeletionTimestamp: &now,
			Annotations: map[string]string{"c": "d"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: corev1.NodeSpec{ProviderID: "openstack:///1", Taints: []corev1.Taint{taint}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{address}, Images: []corev1.ContainerImage{{Names: []string{"i"}}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}},
	}
	got, err := slimNode(node)
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, DeletionTimestamp: &now},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///1", Taints: []corev1.Taint{taint}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{address}},
	}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got, err := slimNode("something else"); got != "something else" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTheLeaseIsWhereTheFlagSays(t *testing.T) {
	if got := (&controllerOptions{leaseNamespace: "ns"}).namespace(); got != "ns" {
		t.Errorf("got %q", got)
	}
}
