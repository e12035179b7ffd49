// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// A user who misbehaves in one namespace neither delays another namespace nor gets access to
// objects of others.

// inOtherNamespace returns the stage with another namespace, which is that of another user.
func (s *stage) inOtherNamespace() *stage {
	s.t.Helper()
	other := *s
	other.namespace = kubetest.Namespace(s.t)
	return &other
}

// withoutNodePorts cannot be served.
func withoutNodePorts(v *corev1.Service) { v.Spec.AllocateLoadBalancerNodePorts = ptr.To(false) }

// each does something for each number up to n, several at a time.
func each(n int, do func(i int) error) error {
	var next atomic.Int64
	var errs [8]error
	var workers sync.WaitGroup
	for worker := range errs {
		workers.Go(func() {
			for i := int(next.Add(1)); i <= n && errs[worker] == nil; i = int(next.Add(1)) {
				errs[worker] = do(i)
			}
		})
	}
	workers.Wait()
	return errors.Join(errs[:]...)
}

// noise returns one of many Services that cannot be served and are looked for in the cloud all the
// same.
func (s *stage) noise(i int) *service { return &service{stage: s, name: fmt.Sprintf("noise-%d", i)} }

// nonsense are annotations of many kinds, now and then of all the bytes that
// Kubernetes takes.
func nonsense(i int) edit {
	values := []string{"", "x", "-1", "true", "10.0.0.0/8,x", "00000000-0000-0000-0000-000000000000", "../../quotas", "198.51.100.1"}
	value := values[i%len(values)]
	if i%100 == 0 {
		value = strings.Repeat("9", 255<<10)
	}
	keys := []string{idKey, addressKey, monitorKey, prefix + "health-monitor-delay", prefix + "flavor-id", prefix + "misspelt"}
	return annotated(keys[i/len(values)%len(keys)], value)
}

// servicesLookedAt returns how many of the stage's Services have been processed.
func (s *stage) servicesLookedAt() int {
	s.t.Helper()
	list, err := s.client.CoreV1().Services(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, v := range list.Items {
		if len(v.Status.Conditions) > 0 {
			n++
		}
	}
	return n
}

// restless changes the ports of a Service again and again until the end. Old API servers refuse the port of kubelet.
func (s *stage) restless(end <-chan struct{}) error {
	v := &service{stage: s, name: "restless"}
	if err := v.create(tcp(8080), withoutNodePorts); err != nil {
		return err
	}
	const kubelet = 10250
	for port := int32(1); ; port = port%60000 + 1 {
		if freePort(int(port)) == kubelet {
			continue
		}
		select {
		case <-end:
			return nil
		default:
		}
		object, err := v.client.CoreV1().Services(v.namespace).Get(v.t.Context(), v.name, metav1.GetOptions{})
		if err == nil {
			object.Spec.Ports = nil
			tcp(port)(object)
			err = v.update(object)
		}
		if err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
}

func TestOneNamespaceDoesNotDelayAnother(t *testing.T) {
	simulatorOnly(t, "the order of passes does not depend on the cloud")
	n := 1000
	if testing.Short() {
		n = 600
	}
	// One worker that takes a while: all wait.
	s := newStage(t, settings{flags: []string{"--concurrency=1"}})
	s.cloud.Latency().Set(wire.Operation{Service: cloudsim.LoadBalancer}, 100*time.Millisecond)
	noisy := s.inOtherNamespace()
	end := make(chan struct{})
	var restless sync.WaitGroup
	var failure error
	restless.Go(func() { failure = noisy.restless(end) })
	if err := each(n, func(i int) error { return noisy.noise(i).create(tcp(8080), withoutNodePorts, nonsense(i)) }); err != nil {
		t.Fatal(err)
	}
	web := s.service("web", tcp(8080))
	waiting := n - noisy.servicesLookedAt()
	web.waitUntilProgrammed()
	served := waiting - (n - noisy.servicesLookedAt())
	t.Logf("%d Services of another namespace were waiting before this one came, and %d of them had a pass until it was there", waiting, served)
	if waiting < 100 || served > waiting/4 {
		t.Errorf("%d of %d came first; at most a quarter of many should", served, waiting)
	}
	close(end)
	restless.Wait()
	if failure != nil {
		t.Error(failure)
	}
	services := noisy.client.CoreV1().Services(noisy.namespace)
	if err := each(n, func(i int) error { return services.Delete(t.Context(), noisy.noise(i).name, metav1.DeleteOptions{}) }); err != nil {
		t.Error(err)
	}
}

// anothersThings creates a load balancer and a floating IP in another project.
func (s *stage) anothersThings() (balancer string, floating floatingIP) {
	s.t.Helper()
	var made struct{ LoadBalancer struct{ ID string } }
	wish := map[string]any{"loadbalancer": map[string]any{"name": "another project's", "vip_subnet_id": s.cloud.IDs().PrivateSubnet}}
	if err := s.cloud.call(asAdmin, cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/loadbalancers", wish, &made); err != nil {
		s.t.Fatal(err)
	}
	var given struct{ FloatingIP floatingIP }
	wish = map[string]any{"floatingip": map[string]any{"floating_network_id": s.cloud.IDs().PublicNetwork}}
	if err := s.cloud.call(asAdmin, cloudsim.Network, http.MethodPost, "/v2.0/floatingips", wish, &given); err != nil {
		s.t.Fatal(err)
	}
	return made.LoadBalancer.ID, given.FloatingIP
}

func TestAServiceGetsNoAccessToObjectsOfOtherOwners(t *testing.T) {
	simulatorOnly(t, "whose something is, is decided by marks, which the contract tests on a real cloud")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	before, floating := web.tree(), s.cloud.floatingIP(address)
	balancer, anothers := s.anothersThings()
	// That of a third Service leads nowhere just now.
	third := lb.Owner{ClusterName: clusterName, ClusterUID: "another", Namespace: "shop", Name: "api", ServiceUID: "third"}
	var stray struct{ FloatingIP floatingIP }
	s.cloud.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": s.cloud.IDs().PublicNetwork, "description": third.FloatingIPDescription()}}, &stray)
	s.given = append(s.given, stray.FloatingIP.Address)
	s.resetCalls()

	noisy := s.inOtherNamespace()
	var all []*service
	refused := func(name, kind, reason string, edits ...edit) {
		v := noisy.service(name, append(edits, tcp(8080))...)
		all = append(all, v)
		v.waitForCondition(kind, conditionFalse, reason)
	}
	refused("balancer", programmed, "NotOwned", annotated(idKey, before.ID))
	refused("anothers-balancer", programmed, "NotOwned", annotated(idKey, balancer))
	refused("no-id", programmed, "NotOwned", annotated(idKey, "../../quotas"))
	refused("address", accepted, "FloatingIPInUse", at(address))
	refused("anothers-address", programmed, "RejectedByCloud", at(anothers.Address))
	refused("stray-address", accepted, "FloatingIPInUse", at(stray.FloatingIP.Address))

	theirs := []string{before.ID, floating.ID, balancer, anothers.ID, stray.FloatingIP.ID}
	for _, l := range before.Listeners {
		theirs = append(theirs, l.ID, l.PoolID)
	}
	untouched := func(when string) {
		for _, w := range s.writes() {
			for _, id := range theirs {
				if strings.Contains(w, id) {
					t.Errorf("%s: %s", when, w)
				}
			}
		}
		if diff := cmp.Diff(before, web.tree()); diff != "" {
			t.Errorf("%s the load balancer of another has changed (-before +after):\n%s", when, diff)
		}
		if now := s.cloud.floatingIP(address); !cmp.Equal(now, floating) {
			t.Errorf("%s %+v has become %+v", when, floating, now)
		}
		if now := s.cloud.floatingIP(stray.FloatingIP.Address); !cmp.Equal(now, stray.FloatingIP) {
			t.Errorf("%s %+v has become %+v", when, stray.FloatingIP, now)
		}
	}
	untouched("while they were there")
	for _, v := range all {
		v.delete()
	}
	for _, v := range all {
		v.waitUntilGone()
	}
	untouched("after their end")
	for service, path := range map[string]string{
		cloudsim.LoadBalancer: "/v2.0/lbaas/loadbalancers/" + balancer, cloudsim.Network: "/v2.0/floatingips/" + anothers.ID,
	} {
		if err := s.cloud.call(asAdmin, service, http.MethodDelete, path, nil, nil); err != nil {
			t.Errorf("what another project has is not there any more: %v", err)
		}
	}
}
