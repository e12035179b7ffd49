// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is how often RunPod and DeletePod look whether it is done.
const pollInterval = 20 * time.Millisecond

// Pod describes a Pod to run.
type Pod struct {
	Namespace, Name string
	// Node is the name of a node of the set.
	Node   string
	Labels map[string]string
	// Ports are the container ports. TCP ports serve HTTP, UDP ports echo.
	// Ports below 1024 need root.
	Ports []corev1.ContainerPort
	// GraceSeconds is how long the Pod still serves after its deletion; 0 means 1.
	GraceSeconds int64
	// ReadinessGates are the condition types of the Pod's readiness gates. Until
	// a client of the API sets all of these conditions to True, the Pod is not Ready.
	ReadinessGates []corev1.PodConditionType
}

// RunPod creates a Pod bound to a node and returns it when it is Running and,
// unless it has readiness gates, Ready. The Pod terminates when its grace period is over. The error of a Pod
// that cannot start says why.
func (n *Nodes) RunPod(ctx context.Context, p Pod) (*corev1.Pod, error) {
	fail := func(err error) (*corev1.Pod, error) {
		return nil, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	if n.addressOf(p.Node) == "" {
		return fail(fmt.Errorf("node %q is not in the set", p.Node))
	}
	var pod *corev1.Pod
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var err error
		pod, err = n.client.CoreV1().Pods(p.Namespace).Create(ctx, podObject(p), metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			// A namespace of this moment has no service account yet, without
			// which the API server admits no Pod.
			_, missing := n.client.CoreV1().ServiceAccounts(p.Namespace).Get(ctx, "default", metav1.GetOptions{})
			if apierrors.IsNotFound(missing) {
				return false, nil
			}
		}
		return err == nil, err
	})
	if err != nil {
		return fail(err)
	}
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		obj, exists, err := n.podStore.GetByKey(p.Namespace + "/" + p.Name)
		if err != nil || !exists {
			return false, err
		}
		seen := obj.(*corev1.Pod)
		if seen.UID != pod.UID {
			return false, nil
		}
		pod = seen.DeepCopy()
		if pod.Status.Phase == corev1.PodFailed {
			return false, fmt.Errorf("it cannot start: %s", pod.Status.Message)
		}
		return pod.Status.Phase == corev1.PodRunning, nil
	})
	if err != nil {
		return fail(err)
	}
	return pod, nil
}

// podObject returns the Pod as a user would write it, but for the node's name.
func podObject(p Pod) *corev1.Pod {
	var gates []corev1.PodReadinessGate
	for _, gate := range p.ReadinessGates {
		gates = append(gates, corev1.PodReadinessGate{ConditionType: gate})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels},
		Spec: corev1.PodSpec{
			NodeName:                      p.Node,
			ReadinessGates:                gates,
			TerminationGracePeriodSeconds: new(max(p.GraceSeconds, 1)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Containers: []corev1.Container{{
				Name: "echo", Image: "localhost/echo", Ports: p.Ports,
			}},
		},
	}
}

// SetPodReady makes a running Pod ready or not ready, as a readiness probe
// would. Its server continues to answer.
func (n *Nodes) SetPodReady(ctx context.Context, namespace, name string, ready bool) error {
	pod, err := n.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", namespace, name, err)
	}
	if err := n.patchStatus(ctx, pod, corev1.PodStatus{Phase: pod.Status.Phase, Conditions: readiness(pod, ready)}); err != nil {
		return fmt.Errorf("pod %s/%s: cannot set its readiness: %w", namespace, name, err)
	}
	return nil
}

// DeletePod deletes the Pod as a user would and returns when it has terminated
// and the object is gone. A Pod that does not exist is no error.
func (n *Nodes) DeletePod(ctx context.Context, namespace, name string) error {
	pods := n.client.CoreV1().Pods(namespace)
	err := pods.Delete(ctx, name, metav1.DeleteOptions{})
	if err == nil {
		err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			_, err := pods.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("pod %s/%s: cannot delete: %w", namespace, name, err)
	}
	return nil
}
