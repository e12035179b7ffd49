// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// parallel is how many requests are made to the Kubernetes API at once.
const parallel = 20

// population are the Services that scenarios have in common.
type population struct{ services, ports int }

// service is one Service of the bench.
type service struct {
	name  string
	ports int
	// local has externalTrafficPolicy Local and endpoints that SetEndpoint chooses.
	local bool
	// pods has Pods as members, which SetPods chooses.
	pods bool
	// clusterIP is of that type.
	clusterIP bool
}

// Names returns the Services of the population.
func (s *Stage) Names() []string { return namesOf(s.population.services) }

func namesOf(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("bench-%d", i)
	}
	return names
}

// firstPort is that of each Service.
const firstPort = 8000

func (s *service) object() *corev1.Service {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "bench"}},
	}
	switch {
	case s.local:
		object.Spec.Selector, object.Spec.ExternalTrafficPolicy = nil, corev1.ServiceExternalTrafficPolicyLocal
	case s.pods:
		object.Spec.Selector, object.Annotations = nil, map[string]string{"kube-octavia.io/target-type": "pod"}
	case s.clusterIP:
		object.Spec.Type = corev1.ServiceTypeClusterIP
	}
	for p := range s.ports {
		object.Spec.Ports = append(object.Spec.Ports, servicePort(p))
	}
	return object
}

func servicePort(p int) corev1.ServicePort {
	return corev1.ServicePort{Name: fmt.Sprintf("port-%d", p), Port: int32(firstPort + p)}
}

func (s *Stage) createServices(ctx context.Context, all []service) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, one := range all {
		group.Go(func() error {
			err := retry.OnError(retry.DefaultBackoff, overloaded, func() error {
				_, err := s.client.CoreV1().Services(namespace).Create(ctx, one.object(), metav1.CreateOptions{})
				if apierrors.IsAlreadyExists(err) {
					return nil // an earlier try had no answer
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("create Service %s: %w", one.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// overloaded reports whether the Kubernetes API of the bench had no time for a request: it
// shares the machine with everything else.
func overloaded(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

func (s *Stage) deleteServices(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			err := retry.OnError(retry.DefaultBackoff, overloaded, func() error {
				return s.client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{})
			})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete Service %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Populate makes sure that there are exactly n Services with that many ports, all served.
func (s *Stage) Populate(ctx context.Context, n, ports int) error {
	want := population{n, ports}
	if s.population == want {
		return nil
	}
	if s.population.ports != ports || s.population.services > n {
		if err := s.Depopulate(ctx); err != nil {
			return err
		}
	}
	s.Say("preparing %d Services with %d ports", n, ports)
	return s.Create(ctx, n, ports)
}

// Create creates the Services that are missing of n, and waits until all are served and the
// controller has settled.
func (s *Stage) Create(ctx context.Context, n, ports int) error {
	if err := s.Begin(ctx, n, ports); err != nil {
		return err
	}
	return s.Settle(ctx, s.AllServed)
}

// Begin creates the Services that are missing of n, and does not wait.
func (s *Stage) Begin(ctx context.Context, n, ports int) error {
	var missing []service
	for _, name := range namesOf(n)[s.population.services:] {
		missing = append(missing, service{name: name, ports: ports, clusterIP: s.options.ClusterIPs})
	}
	s.population = population{n, ports}
	return s.createServices(ctx, missing)
}

// Depopulate deletes all Services of the population, and then the nodes that have joined.
func (s *Stage) Depopulate(ctx context.Context) error {
	names := s.Names()
	if len(names) == 0 {
		return s.RemoveNodes(ctx, max(0, len(s.nodes)-s.options.Nodes))
	}
	s.Say("deleting %d Services", len(names))
	if err := s.deleteServices(ctx, names); err != nil {
		return err
	}
	s.population = population{}
	if err := s.Settle(ctx, func(context.Context) error { return s.services.checkGone(names) }); err != nil {
		return err
	}
	return s.Depopulate(ctx)
}

// AddPort adds a port to Services.
func (s *Stage) AddPort(ctx context.Context, names []string, number int) error {
	port := servicePort(number)
	patch := fmt.Appendf(nil, `{"spec":{"ports":[{"name":%q,"port":%d,"protocol":"TCP"}]}}`, port.Name, port.Port)
	return s.patch(ctx, names, types.StrategicMergePatchType, patch)
}

// RemovePort removes a port from Services.
func (s *Stage) RemovePort(ctx context.Context, names []string, number int) error {
	patch := fmt.Appendf(nil, `{"spec":{"ports":[{"$patch":"delete","port":%d,"protocol":"TCP"}]}}`, servicePort(number).Port)
	return s.patch(ctx, names, types.StrategicMergePatchType, patch)
}

// Touch changes an annotation that has no meaning.
func (s *Stage) Touch(ctx context.Context, names []string, value string) error {
	return s.patch(ctx, names, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":%q}}}`, value))
}

func (s *Stage) patch(ctx context.Context, names []string, kind types.PatchType, patch []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			err := retry.OnError(retry.DefaultBackoff, overloaded, func() error {
				_, err := s.client.CoreV1().Services(namespace).Patch(ctx, name, kind, patch, metav1.PatchOptions{})
				return err
			})
			if err != nil {
				return fmt.Errorf("change Service %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Served returns how long after began each of the Services had an address.
func (s *Stage) Served(names []string, began time.Time) []time.Duration {
	return s.services.since(beginnings(names, began), false)
}

// Gone returns how long after began each of the Services was gone.
func (s *Stage) Gone(names []string, began time.Time) []time.Duration {
	return s.services.since(beginnings(names, began), true)
}

func beginnings(names []string, began time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	for _, name := range names {
		all[name] = began
	}
	return all
}

func (s *Stage) waitServed(ctx context.Context, names []string) error {
	return s.Wait(ctx, "addresses of Services", func(context.Context) error { return s.services.checkServed(names) })
}

// AllServed is a condition: all Services of the population have addresses.
func (s *Stage) AllServed(context.Context) error { return s.services.checkServed(s.Names()) }
