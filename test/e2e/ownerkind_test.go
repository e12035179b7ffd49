// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/test/ownerkind"
)

// A kind of owners that has nothing to do with Services is created, changed and deleted by the same passes. A Service of
// the same name is another owner.
func TestAnOwnerOfAnotherKindHasALoadBalancerOfItsOwn(t *testing.T) {
	s := newStage(t, settings{program: cli.Options{MoreKinds: ownerkind.Kinds}, off: true})
	s.settings.flags = append(s.settings.flags, "--kubeconfig="+s.adminKubeconfig()) // no role allows ConfigMaps
	s.start()
	service := s.service("web", tcp(8080))
	nodePort := service.now().Spec.Ports[0].NodePort
	web := s.newConfigMap("web", fmt.Sprintf("%d/TCP=%d", freePort(8081), nodePort))
	address := web.waitUntilProgrammed()
	s.answers(address, 8081)
	if at := service.waitUntilProgrammed(); at == address {
		t.Errorf("the Service of the same name is at %s too", at)
	}

	// It follows changes, and new nodes.
	web.change(fmt.Sprintf("%d/TCP=%d,%d/TCP=%d", freePort(8081), nodePort, freePort(8082), nodePort))
	s.answers(address, 8082)
	s.addNode("c")
	s.eventually(func() error { return web.hasMembers("a", "b", "c") })

	// What it has is no orphan.
	s.stop()
	s.settings.flags = append(s.settings.flags, "--sweep-interval=1s", "--orphan-grace-period=1s")
	s.start()
	s.waitForSweeps(3)
	s.answers(address, 8082)
	web.delete()
	web.waitUntilGone()
	s.answers(service.waitUntilProgrammed(), 8080)
}

// configMap is an owner of package ownerkind.
type configMap struct {
	*stage
	name string
}

// newConfigMap creates an owner with these ports.
func (s *stage) newConfigMap(name, ports string) *configMap {
	s.t.Helper()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, Labels: map[string]string{ownerkind.Label: "true"}},
		Data:       map[string]string{ownerkind.Ports: ports},
	}
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(s.t.Context(), object, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return &configMap{stage: s, name: name}
}

func (c *configMap) get() (*corev1.ConfigMap, error) {
	return c.client.CoreV1().ConfigMaps(c.namespace).Get(c.t.Context(), c.name, metav1.GetOptions{})
}

// waitUntilProgrammed waits for the condition Programmed, and returns the address.
func (c *configMap) waitUntilProgrammed() (address string) {
	c.t.Helper()
	c.eventually(func() error {
		object, err := c.get()
		if err != nil {
			return err
		}
		published := ownerkind.Status(object)
		if !meta.IsStatusConditionTrue(published.Conditions, status.Programmed) || len(published.Addresses) != 1 {
			return fmt.Errorf("ConfigMap %s is not Programmed: %+v", c.name, published)
		}
		address = published.Addresses[0].IP
		return nil
	})
	return address
}

// change gives the ConfigMap other ports.
func (c *configMap) change(ports string) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, ownerkind.Ports, ports)
	if _, err := c.client.CoreV1().ConfigMaps(c.namespace).Patch(c.t.Context(), c.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// hasMembers returns an error unless the pools of the ConfigMap's load balancer have these nodes.
func (c *configMap) hasMembers(suffixes ...string) error {
	object, err := c.get()
	if err != nil {
		return err
	}
	have := tree{ID: object.Annotations["loadbalancer.openstack.org/load-balancer-id"]}
	c.cloud.fill(&have)
	for _, l := range have.Listeners {
		if len(l.Pool.Members) != len(suffixes) {
			return fmt.Errorf("port %d has members %v, want nodes %v", l.Port, l.Pool.Members, suffixes)
		}
	}
	return nil
}

func (c *configMap) delete() {
	c.t.Helper()
	if err := c.client.CoreV1().ConfigMaps(c.namespace).Delete(c.t.Context(), c.name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// waitUntilGone waits until the controller has released the ConfigMap.
func (c *configMap) waitUntilGone() {
	c.t.Helper()
	c.eventually(func() error {
		_, err := c.get()
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("ConfigMap %s is still there: %v", c.name, err)
	})
}
