// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// podSlice is the EndpointSlice with the Pods of the Service, which a case writes by hand.
const podSlice, podPort = "pods", 8080

// toPods requests Pods as members.
func toPods(v *corev1.Service) { metav1.SetMetaDataAnnotation(&v.ObjectMeta, targetTypeKey, "pod") }

func (r *run) slices() discoveryclient.EndpointSliceInterface {
	return r.env.client.DiscoveryV1().EndpointSlices(r.namespace)
}

// podsAre makes these the ready Pods of the Service.
func podsAre(addresses ...string) func(*run) error {
	return func(r *run) error {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: podSlice, Namespace: r.namespace, Labels: map[string]string{discoveryv1.LabelServiceName: r.name}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		for _, port := range []string{"tcp-80", "tcp-81"} {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port, Port: new(int32(podPort)), Protocol: new(corev1.ProtocolTCP)})
		}
		for _, a := range addresses {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		_, err := r.slices().Create(r.ctx, slice, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = r.slices().Update(r.ctx, slice, metav1.UpdateOptions{})
		}
		return err
	}
}

// pods returns the addresses and ports of the Pods, sorted.
func (r *run) pods() ([]string, error) {
	slice, err := r.slices().Get(r.ctx, podSlice, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range slice.Endpoints {
		all = append(all, fmt.Sprintf("%s:%d", e.Addresses[0], podPort))
	}
	slices.Sort(all)
	return all, nil
}
