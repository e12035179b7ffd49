// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gateLabel lets the controller set readiness gates in a namespace. gate is that of the Service.
const (
	gateLabel = "kube-octavia.io/readiness-gates"
	gate      = corev1.PodConditionType("kube-octavia.io/" + serviceName)
)

// gatedPods are Pods whose containers are ready, and which lack only the gate.
func gatedPods(addresses ...string) func(*run) error {
	return func(r *run) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"enabled"}}}`, gateLabel)
		if _, err := r.env.client.CoreV1().Namespaces().Patch(r.ctx, r.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := podsAre(addresses...)(r); err != nil {
			return err
		}
		for _, address := range addresses {
			if err := r.createGatedPod(address); err != nil {
				return err
			}
		}
		return r.updateSlice(func(e *discoveryv1.Endpoint) {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: r.namespace, Name: gatedPod(e.Addresses[0])}
			e.Conditions.Ready = new(false)
		})
	}
}

func gatedPod(address string) string { return "pod-" + strings.ReplaceAll(address, ".", "-") }

func (r *run) createGatedPod(address string) error {
	pods := r.env.client.CoreV1().Pods(r.namespace)
	pod, err := pods.Create(r.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: gatedPod(address)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "none"}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, Conditions: []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", LastTransitionTime: metav1.Now()},
	}}
	_, err = pods.UpdateStatus(r.ctx, pod, metav1.UpdateOptions{})
	return err
}

func (r *run) updateSlice(change func(*discoveryv1.Endpoint)) error {
	slice, err := r.slices().Get(r.ctx, podSlice, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range slice.Endpoints {
		change(&slice.Endpoints[i])
	}
	_, err = r.slices().Update(r.ctx, slice, metav1.UpdateOptions{})
	return err
}

// checkGate returns an error if the gate of a Pod is True while not all pools have it as a member that has taken effect.
func (s state) checkGate(p *corev1.Pod) error {
	if !isTrue(p, gate) {
		return nil
	}
	active := func(m member) bool { return m.Address == p.Status.PodIP && m.Status == "ACTIVE" }
	for _, b := range s.Balancers {
		for _, l := range b.Listeners {
			if l.Pool == nil || !slices.ContainsFunc(l.Pool.Members, active) {
				return fmt.Errorf("the gate of Pod %s is True, and it takes no traffic of listener %s", p.Name, l.Name)
			}
		}
	}
	return nil
}

func isTrue(p *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t && c.Status == corev1.ConditionTrue })
}

// playKubelet makes Pods ready whose gate is True, and their endpoints, as kubelet and Kubernetes do. It returns an error
// while a Pod that the Service has lacks its gate.
func (r *run) playKubelet() error {
	pods, err := r.env.client.CoreV1().Pods(r.namespace).List(r.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	v, err := r.service()
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		switch {
		case isTrue(&p, corev1.PodReady):
		case isTrue(&p, gate):
			patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":null}]}}`)
			if _, err := r.env.client.CoreV1().Pods(r.namespace).Patch(r.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				return err
			}
			return r.updateSlice(func(e *discoveryv1.Endpoint) {
				if e.TargetRef.Name == p.Name {
					e.Conditions.Ready = new(true)
				}
			})
		case v != nil && v.DeletionTimestamp == nil:
			return fmt.Errorf("Pod %s lacks the gate of Service %s", p.Name, v.Name)
		}
	}
	return nil
}
