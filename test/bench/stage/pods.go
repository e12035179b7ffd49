// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// firstPod is the address of the first Pod. There are no such Pods: no packets flow.
var firstPod = netip.MustParseAddr("10.244.0.1")

// PodAddresses returns those of n Pods from the one with that number.
func PodAddresses(from, n int) []string {
	address := firstPod
	for range from {
		address = address.Next()
	}
	all := make([]string, n)
	for i := range all {
		all[i], address = address.String(), address.Next()
	}
	return all
}

// PodServices creates n Services with one port whose members are Pods, and waits until they are served. All have the
// same Pods.
func (s *Stage) PodServices(ctx context.Context, n int, pods []string) ([]string, error) {
	var all []service
	var names []string
	for i := range n {
		name := fmt.Sprintf("pods-%d", i)
		names, all = append(names, name), append(all, service{name: name, ports: 1, pods: true})
	}
	if err := s.SetPods(ctx, names, pods); err != nil {
		return names, err
	}
	if err := s.createServices(ctx, all); err != nil {
		return names, err
	}
	return names, s.Settle(ctx, func(context.Context) error { return s.services.checkServed(names) })
}

// SetPods sets the Pods of Services.
func (s *Stage) SetPods(ctx context.Context, names, pods []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			if err := s.setPods(ctx, name, pods); err != nil {
				return fmt.Errorf("set the Pods of Service %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Stage) setPods(ctx context.Context, name string, pods []string) error {
	ready, port, protocol := true, servicePort(0), corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &port.Name, Port: &port.Port, Protocol: &protocol}},
	}
	for _, address := range pods {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}})
	}
	slices := s.client.DiscoveryV1().EndpointSlices(namespace)
	_, err := slices.Create(ctx, slice, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = slices.Update(ctx, slice, metav1.UpdateOptions{})
	}
	return err
}
