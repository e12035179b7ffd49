// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// syncPod runs a Pod that is bound to one of the nodes, and ends one that is
// being deleted when its grace period is over. Pods of other nodes are left
// alone.
func (n *Nodes) syncPod(ctx context.Context, podKey string) (time.Duration, error) {
	name, err := cache.ParseObjectName(podKey)
	if err != nil {
		return 0, err
	}
	id := types.NamespacedName(name)
	obj, exists, err := n.podStore.GetByKey(podKey)
	if err != nil {
		return 0, err
	}
	if !exists {
		n.endPod(id)
		return 0, nil
	}
	pod := obj.(*corev1.Pod)
	if !n.runsHere(pod) {
		return 0, nil
	}
	if pod.DeletionTimestamp != nil {
		if left := time.Until(pod.DeletionTimestamp.Time); left > 0 {
			return left, nil
		}
		n.endPod(id)
		return 0, n.forceDelete(ctx, pod)
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0, nil
	}
	p, started, err := n.process(id, pod)
	if err != nil {
		return 0, n.patchStatus(ctx, pod, failed(pod, err))
	}
	if started || pod.Status.PodIP != p.ip.String() {
		return 0, n.patchStatus(ctx, pod, running(pod, p, n.addressOf(pod.Spec.NodeName)))
	}
	if wanted := readiness(pod, isConditionTrue(pod, corev1.ContainersReady)); !hasConditions(pod, wanted) {
		// A readiness gate has changed.
		return 0, n.patchStatus(ctx, pod, corev1.PodStatus{Phase: pod.Status.Phase, Conditions: wanted})
	}
	return 0, nil
}

// runsHere reports whether the Pod is bound to a node of the set that is up.
func (n *Nodes) runsHere(pod *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	nd := n.nodes[pod.Spec.NodeName]
	return nd != nil && !nd.down
}

func (n *Nodes) addressOf(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if nd := n.nodes[name]; nd != nil {
		return nd.Address.String()
	}
	return ""
}

// process returns the Pod's server, which it starts if there is none yet. A
// server of an earlier Pod of the same name is ended first.
func (n *Nodes) process(id types.NamespacedName, pod *corev1.Pod) (p *process, started bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.pods[id]; p != nil {
		if p.uid == pod.UID {
			return p, false, nil
		}
		p.close()
		delete(n.pods, id)
	}
	if nd := n.nodes[pod.Spec.NodeName]; nd == nil || nd.down {
		return nil, false, fmt.Errorf("node %s has gone", pod.Spec.NodeName)
	}
	taken := func(address netip.Addr) bool {
		for _, p := range n.pods {
			if p.ip == address {
				return true
			}
		}
		return false
	}
	p, err = startProcess(pod, n.network, n.images, n.network.candidates(taken))
	if err != nil {
		return nil, false, err
	}
	n.pods[id] = p
	return p, true, nil
}

// endPod stops the Pod's server if it runs here.
func (n *Nodes) endPod(id types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.pods[id]; p != nil {
		p.close()
		delete(n.pods, id)
	}
}

// forceDelete removes the Pod object, as a kubelet does when the containers
// have ended.
func (n *Nodes) forceDelete(ctx context.Context, pod *corev1.Pod) error {
	zero := int64(0)
	err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another Pod has its name
	}
	return err
}

// deletePodsOn removes all Pods that are bound to the node.
func (n *Nodes) deletePodsOn(ctx context.Context, name string) error {
	pods, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		return fmt.Errorf("node %s: cannot list its pods: %w", name, err)
	}
	var errs []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if err := n.forceDelete(ctx, pod); err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s: cannot delete: %w", pod.Namespace, pod.Name, err))
		}
	}
	return errors.Join(errs...)
}

// patchStatus merges the status into the Pod's, and conditions by their types, so
// that those of others stay. That the Pod is gone is no error.
func (n *Nodes) patchStatus(ctx context.Context, pod *corev1.Pod, s corev1.PodStatus) error {
	type status corev1.PodStatus // without its own conditions
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": struct {
		status     `json:",inline"`
		Conditions []fullCondition `json:"conditions"`
	}{status(s), fullConditions(s.Conditions)}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// running returns the status of a Pod whose server runs.
func running(pod *corev1.Pod, p *process, hostIP string) corev1.PodStatus {
	now := metav1.Now()
	s := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &now,
		HostIP:    hostIP, HostIPs: []corev1.HostIP{{IP: hostIP}},
		PodIP: p.ip.String(), PodIPs: []corev1.PodIP{{IP: p.ip.String()}},
		Conditions: readiness(pod, true),
	}
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return s
}

// failed returns the status of a Pod whose server cannot start.
func failed(pod *corev1.Pod, err error) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodFailed, Reason: "CannotListen", Message: err.Error(), Conditions: readiness(pod, false)}
}
