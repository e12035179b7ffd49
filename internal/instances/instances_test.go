// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// inCloud starts a cloud and returns what finds the servers of Nodes in it.
func inCloud(t *testing.T) (*cloudsim.Cloud, Options) {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	conf, err := config.Parse("cloud.conf", []byte(cloud.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	compute, err := session.Compute(Microversion)
	if err != nil {
		t.Fatal(err)
	}
	return cloud, Options{Cloud: NewCloud(compute, session.Network(), session.ProjectID()), Recorder: events.NewFakeRecorder(10)}
}

// Kubernetes deletes Nodes by name, perhaps long after it has listed them.
func TestANodeOfADeletedServerIsToBeDeletedUnlessAnotherNodeHasItsNameByNow(t *testing.T) {
	cloud, options := inCloud(t)
	id, err := cloud.AddServer("node-1")
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, uid, server string) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server}}
		n.Name, n.UID = name, types.UID(uid)
		return n
	}
	other := node("node-1", "a", id)
	gone := node("node-2", "b", "00000000-0000-4000-8000-000000000000")
	for name, test := range map[string]struct {
		now    []*corev1.Node
		exists bool
	}{
		"it is still there":      {[]*corev1.Node{other, gone}, false},
		"it is registered again": {[]*corev1.Node{other, node(gone.Name, "c", id)}, true},
		"it is gone":             {[]*corev1.Node{other}, true},
	} {
		options.Nodes = func() ([]*corev1.Node, error) { return test.now, nil }
		if exists, err := New(options).InstanceExists(t.Context(), gone); exists != test.exists || err != nil {
			t.Errorf("%s: exists %v, error %v", name, exists, err)
		}
	}
}
