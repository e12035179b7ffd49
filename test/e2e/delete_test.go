// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestServiceStaysUntilAllItsObjectsAreDeleted(t *testing.T) {
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081), udp(5300))
	address := web.waitUntilProgrammed()
	release := s.cloud.hold()
	web.delete()
	s.eventually(func() error { return s.is("PENDING_DELETE", web) })
	s.waitUntilSilent(address, 8080)
	s.waitForPassAfter(func() { web.change(touched("1")) })
	if v := web.now(); !slices.Contains(v.Finalizers, finalizer) {
		t.Errorf("the finalizer went off while Octavia was deleting: %v", v.Finalizers)
	}
	web.waitForCondition(programmed, conditionFalse, "Deleting")
	release()
	web.waitUntilGone()
	if err := s.empty(); err != nil {
		t.Errorf("when the Service was gone: %v", err)
	}
}

func TestServiceWhoseLoadBalancerAnotherClientDeletedCanBeDeleted(t *testing.T) {
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.cloud.octavia("DELETE", "loadbalancers/"+web.tree().ID+"?cascade=true", nil, nil)
	s.eventually(func() error {
		if s.cloud.count("loadbalancers") > 0 {
			return errLeft
		}
		return nil
	})
	web.delete()
	web.waitUntilGone()
	if err := s.empty(); err != nil {
		t.Errorf("when the Service was gone: %v", err)
	}
}

func TestServiceDeletedBeforeItsLoadBalancerIsReady(t *testing.T) {
	s := newStage(t, settings{cloud: cloudsim.Options{BuildTime: time.Second}})
	web := s.service("web", tcp(8080))
	web.waitForCondition(programmed, conditionFalse, "Creating")
	web.delete()
	web.waitUntilGone()
	if err := s.empty(); err != nil {
		t.Errorf("when the Service was gone: %v", err)
	}
}

func TestServiceOfTheSameNameIsCreatedRightAfterDeletion(t *testing.T) {
	skipOnRealOpenStack(t, "what a list by name shows is in the contract")
	s := newStage(t, settings{cloud: cloudsim.Options{DeleteTime: time.Second}})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	old, uid := web.tree().ID, web.now().UID
	web.delete()
	s.eventually(func() error {
		err := web.create(tcp(8080))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		return err
	})
	address := web.waitUntilProgrammed()
	if now := web.now().UID; now == uid {
		t.Fatal("the Service is the old one")
	}
	if have := web.tree(); have.ID == old {
		t.Errorf("load balancer %s is there again", old)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
}
