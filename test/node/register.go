// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// register writes the Node object: metadata and spec, then the status. Last it
// removes the taint with which the API server marks a new node until the node
// lifecycle controller sees it Ready.
func (n *Nodes) register(ctx context.Context, nd Node) error {
	nodes := n.client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		obj, err := nodes.Get(ctx, nd.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			obj, err = nodes.Create(ctx, describe(&corev1.Node{}, nd), metav1.CreateOptions{})
		} else if err == nil {
			obj, err = nodes.Update(ctx, describe(obj, nd), metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
		obj.Status = status(obj.Status, nd)
		obj, err = nodes.UpdateStatus(ctx, obj, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		before := len(obj.Spec.Taints)
		obj.Spec.Taints = slices.DeleteFunc(obj.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
		if len(obj.Spec.Taints) == before {
			return nil
		}
		_, err = nodes.Update(ctx, obj, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("node %s: cannot register: %w", nd.Name, err)
	}
	return nil
}

// describe sets name, labels, providerID and, of a new Node, the taint.
func describe(obj *corev1.Node, nd Node) *corev1.Node {
	if obj.Name == "" && nd.Uninitialized {
		obj.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	}
	obj.Name = nd.Name
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	obj.Labels[corev1.LabelHostname] = nd.Name
	obj.Labels[corev1.LabelOSStable] = runtime.GOOS
	obj.Labels[corev1.LabelArchStable] = runtime.GOARCH
	maps.Copy(obj.Labels, nd.Labels)
	if nd.ServerID != "" {
		obj.Spec.ProviderID = "openstack:///" + nd.ServerID
	}
	return obj
}

// status is that of a healthy node.
func status(s corev1.NodeStatus, nd Node) corev1.NodeStatus {
	now := metav1.Now()
	switch {
	case !nd.Uninitialized:
		s.Addresses = append([]corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nd.Address.String()},
			{Type: corev1.NodeHostName, Address: nd.Name},
		}, nd.Addresses...)
	case len(s.Addresses) == 0:
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: nd.Name}}
	}
	s.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "KubeletReady", Message: "the node answers",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	s.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("2"),
		corev1.ResourceMemory: resource.MustParse("4Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	s.Allocatable = s.Capacity
	return s
}

// deleteNode deletes the Node object; that it is gone already is no error.
func (n *Nodes) deleteNode(ctx context.Context, name string) error {
	err := n.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s: cannot delete: %w", name, err)
	}
	return nil
}
