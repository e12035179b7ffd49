// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"

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
