// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddNodes lets nodes join. They have no servers: no packets flow.
func (s *Stage) AddNodes(ctx context.Context, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for range n {
		node := s.newNode()
		group.Go(func() error {
			_, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("add nodes: %w", err)
	}
	return nil
}

// AddServers adds servers to the simulated cloud, and returns their names.
func (s *Stage) AddServers(n int) ([]string, error) {
	var names []string
	for i := range n {
		name := fmt.Sprintf("server-%d", i)
		if err := s.Cloud.AddServer(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// uninitialized is the taint with which kubelet registers a Node of an external cloud provider.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Register registers Nodes for servers, as their kubelets do.
func (s *Stage) Register(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			_, err := s.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: uninitialized, Effect: corev1.TaintEffectNoSchedule}}},
				Status: corev1.NodeStatus{
					Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				},
			}, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// Initialized reports what is wrong unless all Nodes are initialized.
func (s *Stage) Initialized(ctx context.Context) error {
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	waiting := 0
	for _, n := range nodes.Items {
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
		if tainted || n.Spec.ProviderID == "" || len(n.Status.Addresses) == 0 {
			waiting++
		}
	}
	if waiting > 0 {
		return fmt.Errorf("%d of %d Nodes are not initialized", waiting, len(nodes.Items))
	}
	return nil
}

// newNode gives a node a name and an address that no other had.
func (s *Stage) newNode() *corev1.Node {
	name := fmt.Sprintf("node-%d", s.numbered)
	address := s.Cloud.NodeAddress(s.numbered).String()
	s.numbered++
	s.nodes = append(s.nodes, name)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + uuid.NewString()},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// RemoveNodes lets the n oldest nodes leave.
func (s *Stage) RemoveNodes(ctx context.Context, n int) error {
	for _, name := range s.nodes[:n] {
		if err := s.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("remove the node %s: %w", name, err)
		}
	}
	s.nodes = s.nodes[n:]
	return nil
}
