// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// nodeOne is the server of Node node-1.
var nodeOne = Server{ID: "1", Name: "node-1", Flavor: Flavor{Name: "m1.small"}, AccessIPv4: "192.0.2.1"}

// slowCloud is the read of an inventory with one server, by default nodeOne, that takes a while.
type slowCloud struct {
	server Server
	takes  time.Duration
	err    error
	reads  int
}

func (c *slowCloud) read(context.Context) (Inventory, error) {
	c.reads++
	time.Sleep(c.takes) // in the test's own time
	server := c.server
	if server.ID == "" {
		server = nodeOne
	}
	return Inventory{Servers: map[string]Server{server.ID: server}}, c.err
}

func (c *slowCloud) instances() *Instances {
	return &Instances{
		Options:     Options{ListAge: 15 * time.Second, Now: time.Now, Recorder: events.NewFakeRecorder(100)},
		inventories: newCache(c.read, time.Now),
	}
}

func TestAllNodesShareAListHoweverLongItTakes(t *testing.T) {
	silent := errors.New("Nova does not answer")
	old := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///1"}}
	young := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}}}
	young.Name = "node-2"
	exists := func(ctx context.Context, i *Instances) error { _, err := i.InstanceExists(ctx, old); return err }
	stopped := func(ctx context.Context, i *Instances) error { _, err := i.InstanceShutdown(ctx, old); return err }
	update := func(ctx context.Context, i *Instances) error { _, err := i.InstanceMetadata(ctx, old); return err }
	initialize := func(ctx context.Context, i *Instances) error { _, err := i.InstanceMetadata(ctx, young); return err }
	for name, test := range map[string]struct {
		cloud slowCloud
		ask   func(context.Context, *Instances) error
		fails bool
	}{
		"whether they exist":                 {slowCloud{takes: 20 * time.Second}, exists, false},
		"whether they exist, in vain":        {slowCloud{takes: time.Minute, err: silent}, exists, true},
		"whether they are stopped":           {slowCloud{takes: 20 * time.Second}, stopped, false},
		"for their addresses":                {slowCloud{takes: 20 * time.Second}, update, false},
		"for new Nodes without a server":     {slowCloud{takes: 20 * time.Second}, initialize, true},
		"for new Nodes while Nova is silent": {slowCloud{takes: time.Minute, err: silent}, initialize, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := test.cloud.instances()
				for range 20 {
					if err := test.ask(t.Context(), i); (err != nil) != test.fails {
						t.Fatal(err)
					}
				}
				if test.cloud.reads != 1 {
					t.Errorf("%d reads", test.cloud.reads)
				}
				time.Sleep(20 * time.Second) // in the test's own time
				if err := test.ask(t.Context(), i); (err != nil) != test.fails || test.cloud.reads != 2 {
					t.Errorf("%d reads when the list is old: %v", test.cloud.reads, err)
				}
			})
		})
	}
}

func TestANewNodeGetsAListThatWasReadAfterItWasRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &slowCloud{takes: 3 * time.Second}
		i := cloud.instances()
		node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}}}
		node.Name = "node-1"
		for want := 1; want <= 2; want++ {
			if _, err := i.InstanceMetadata(t.Context(), node); err != nil || cloud.reads != want {
				t.Errorf("%d reads instead of %d: %v", cloud.reads, want, err)
			}
			node.CreationTimestamp.Time = time.Now().Add(-2 * time.Second) // after the read began, and before it ended
		}
	})
}

func TestANewNodeNeedsAnAddressThatIsNoHostName(t *testing.T) {
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}}}
	node.Name = "node-1"
	for name, test := range map[string]struct {
		change func(*Server)
		fails  bool
	}{
		"an access address": {func(*Server) {}, false},
		"a host name":       {func(s *Server) { s.AccessIPv4, s.Metadata = "", map[string]string{"hostname": "node-1"} }, true},
		"an address that only Nova lists": {func(s *Server) {
			s.AccessIPv4, s.Addresses = "", map[string][]Address{"private": {{Address: "10.0.0.1"}}}
		}, false},
		"none": {func(s *Server) { s.AccessIPv4 = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &slowCloud{server: nodeOne}
			test.change(&cloud.server)
			if _, err := cloud.instances().InstanceMetadata(t.Context(), node); (err != nil) != test.fails {
				t.Errorf("a server with %s: %v", name, err)
			}
		})
	}
}

// The Nova of this region would say that there is no such server.
func TestNodeThatTheControllerOfAnotherRegionInitializedIsIgnored(t *testing.T) {
	cloud := &slowCloud{}
	i := cloud.instances()
	i.Region = "R1"
	node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///1"}}
	node.Labels = map[string]string{corev1.LabelTopologyRegion: "R2"}
	exists, err := i.InstanceExists(t.Context(), node)
	if !exists || err != nil {
		t.Error("deleted:", err)
	}
	if stopped, err := i.InstanceShutdown(t.Context(), node); stopped || err != nil {
		t.Error("stopped:", err)
	}
	metadata, err := i.InstanceMetadata(t.Context(), node)
	if diff := cmp.Diff(&cloudprovider.InstanceMetadata{ProviderID: "openstack:///1"}, metadata); diff != "" || err != nil {
		t.Errorf("changed: %v (-want +got):\n%s", err, diff)
	}
	if cloud.reads != 0 {
		t.Error("its server is looked for")
	}
	node.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	if metadata, err := i.InstanceMetadata(t.Context(), node); err != nil || metadata == nil || metadata.Region != "R1" {
		t.Errorf("with a label of kubelet, it is not initialized: %+v, %v", metadata, err)
	}
}

// The API refuses an event with a note of more than 1,024 bytes.
func TestALongReasonWhyANodeIsNotInitializedFitsAnEvent(t *testing.T) {
	cloud := &slowCloud{err: errors.New(strings.Repeat("x", 2000))}
	i, recorder := cloud.instances(), events.NewFakeRecorder(1)
	i.Recorder = recorder
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}}}
	if _, err := i.InstanceMetadata(t.Context(), node); err == nil {
		t.Fatal("no error")
	}
	note, found := strings.CutPrefix(<-recorder.Events, corev1.EventTypeWarning+" NodeNotInitialized ")
	if !found || len(note) > 1024 || !strings.HasPrefix(note, "xxx") {
		t.Errorf("%d bytes: %s", len(note), note)
	}
}

func TestNewNodesShareAListOfFlavors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		f := flavors{now: time.Now, read: func(context.Context) (map[string]string, error) {
			reads++
			time.Sleep(20 * time.Second) // in the test's own time
			return map[string]string{"SCS-2V:4": "scs-1"}, nil
		}}
		ask := func(name, want string, wantReads int) {
			t.Helper()
			if got, err := f.instanceType(t.Context(), name, time.Now().Add(-15*time.Second)); got != want || err != nil || reads != wantReads {
				t.Errorf("%s: %q instead of %q, %d reads instead of %d: %v", name, got, want, reads, wantReads, err)
			}
		}
		ask("m1.small", "m1.small", 0)
		for range 20 {
			ask("SCS-2V:4", "scs-1", 1)
		}
		ask("a deleted one", "a-deleted-one", 2)
		ask("SCS-2V:4", "scs-1", 2)
		time.Sleep(16 * time.Second) // in the test's own time
		ask("SCS-2V:4", "scs-1", 3)
	})
}
