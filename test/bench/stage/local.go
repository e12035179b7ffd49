// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LocalServices creates n Services with externalTrafficPolicy Local that each have an endpoint
// on the first node, and waits until they are served.
func (s *Stage) LocalServices(ctx context.Context, n, ports int) ([]string, error) {
	var all []service
	var names []string
	for i := range n {
		name := fmt.Sprintf("local-%d", i)
		names, all = append(names, name), append(all, service{name: name, ports: ports, local: true})
	}
	if err := s.createServices(ctx, all); err != nil {
		return names, err
	}
	if err := s.MoveEndpoints(ctx, names, ports, 0); err != nil {
		return names, err
	}
	return names, s.Settle(ctx, func(context.Context) error { return s.services.checkServed(names) })
}

// Delete deletes Services of LocalServices or PodServices.
func (s *Stage) Delete(ctx context.Context, names []string) error {
	if err := s.deleteServices(ctx, names); err != nil {
		return err
	}
	return s.Settle(ctx, func(context.Context) error { return s.services.checkGone(names) })
}

// MoveEndpoints moves the only endpoint of each Service to the node with that index.
func (s *Stage) MoveEndpoints(ctx context.Context, names []string, ports, node int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			if err := s.setEndpoint(ctx, name, ports, s.nodes[node%len(s.nodes)]); err != nil {
				return fmt.Errorf("move the endpoint of Service %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Stage) setEndpoint(ctx context.Context, name string, ports int, node string) error {
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.1"}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}}},
	}
	for p := range ports {
		port := servicePort(p)
		protocol := corev1.ProtocolTCP
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &port.Port, Protocol: &protocol})
	}
	slices := s.client.DiscoveryV1().EndpointSlices(namespace)
	_, err := slices.Create(ctx, slice, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = slices.Update(ctx, slice, metav1.UpdateOptions{})
	}
	return err
}
