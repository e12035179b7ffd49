// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
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
		t.Run(name, func(t *testing.T) {
			options.Nodes = func() ([]*corev1.Node, error) { return test.now, nil }
			if exists, err := New(options).InstanceExists(t.Context(), gone); exists != test.exists || err != nil {
				t.Errorf("exists %v, error %v", exists, err)
			}
		})
	}
}

// softDelete deletes a server as a cloud with reclaim_instance_interval does.
func softDelete(t *testing.T, cloud *cloudsim.Cloud, id string) {
	t.Helper()
	if err := cloud.Nova().Update(id, func(s *nova.Server) { s.Status = "SOFT_DELETED" }); err != nil {
		t.Fatal(err)
	}
}

func TestSoftDeletedServerDoesNotExistForKubernetes(t *testing.T) {
	cloud, options := inCloud(t)
	id, err := cloud.AddServer("node-1")
	if err != nil {
		t.Fatal(err)
	}
	node := readyNode("node-1", id)
	options.Nodes = func() ([]*corev1.Node, error) { return []*corev1.Node{node}, nil }
	softDelete(t, cloud, id)
	// No other server of the project proves that it is the right one: Nova says that this server is deleted.
	if exists, err := New(options).InstanceExists(t.Context(), node); exists || err != nil {
		t.Errorf("exists %v, error %v", exists, err)
	}
	if _, err := New(options).InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("error %v", err)
	}
	requireEvent(t, options, "ServerNotFound", "server "+id+" of the Node's provider id is deleted (SOFT_DELETED), but the Node is ready")

	node.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	if _, err := New(options).InstanceMetadata(t.Context(), node); err == nil {
		t.Error("a new Node of a deleted server is initialized")
	}
	requireEvent(t, options, "NodeNotInitialized", "server "+id+" is deleted (SOFT_DELETED)")

	if err := cloud.Nova().Update(id, func(s *nova.Server) { s.Status = "ACTIVE" }); err != nil {
		t.Fatal(err)
	}
	if exists, err := New(options).InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("restored, it exists %v, error %v", exists, err)
	}
}

func TestEventSaysWhatToDoWhenAServerWasCreatedAgainUnderTheNameOfItsNode(t *testing.T) {
	cloud, options := inCloud(t)
	for name, remove := range map[string]func(id string){
		"deleted":                     func(id string) { cloud.Nova().RemoveServer(id) },
		"deleted and can be restored": func(id string) { softDelete(t, cloud, id) },
	} {
		t.Run(name, func(t *testing.T) {
			name := strings.ReplaceAll(name, " ", "-")
			server := nova.Server{Name: name, ProjectID: options.Cloud.ProjectID()}
			old := cloud.Nova().AddServer(server)
			remove(old)
			again := cloud.Nova().AddServer(server)
			node := readyNode(name, old)
			if metadata, err := New(options).InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				t.Errorf("got %+v, error %v", metadata, err)
			}
			requireEvent(t, options, "ServerNotFound", "server "+again+" has the name of the Node", "kubectl delete node "+name, "restart kubelet")

			// A Node that is not ready is deleted by controller node-lifecycle.
			node.Status.Conditions[0].Status = corev1.ConditionUnknown
			if _, err := New(options).InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				t.Errorf("error %v", err)
			}
			if n := len(recorder(options).Events); n > 0 {
				t.Errorf("%d events about a Node that is about to be deleted", n)
			}
		})
	}
}

func TestProviderIDThatNamesNoServerIsReported(t *testing.T) {
	_, options := inCloud(t)
	for id, told := range map[string]bool{"openstack:///": true, "openstack:///a/b": true, "aws:///eu-1/i-1": false, "": false} {
		t.Run(fmt.Sprintf("%q", id), func(t *testing.T) {
			node := readyNode("node-1", "")
			node.Spec.ProviderID = id
			_, err := New(options).InstanceMetadata(t.Context(), node)
			if exists, _ := New(options).InstanceExists(t.Context(), node); !exists {
				t.Error("the Node would be deleted")
			}
			if told {
				requireEvent(t, options, "InvalidProviderID", "must be openstack:///SERVER", "kubectl delete node node-1")
			}
			if n := len(recorder(options).Events); n > 0 {
				t.Errorf("%d more events, error %v", n, err)
			}
		})
	}
}

// readyNode returns a Node that is initialized and ready.
func readyNode(name, server string) *corev1.Node {
	n := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///" + server}}
	n.Name, n.UID = name, types.UID(name)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func recorder(o Options) *events.FakeRecorder { return o.Recorder.(*events.FakeRecorder) }

// requireEvent takes the next event, which must have the reason and the texts.
func requireEvent(t *testing.T, o Options, reason string, texts ...string) {
	t.Helper()
	select {
	case event := <-recorder(o).Events:
		for _, text := range append([]string{reason}, texts...) {
			if !strings.Contains(event, text) {
				t.Errorf("the event is %q, without %q", event, text)
			}
		}
	default:
		t.Errorf("no event %s", reason)
	}
}
