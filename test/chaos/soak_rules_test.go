// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// differences are between what the Services ask for and what the cloud has, of all
// Services and of everything in the cloud. Given are the floating IPs that a person
// made, which stay whatever becomes of the Services.
func (s state) differences(services []corev1.Service, nodes []string, given []floatingIP) []error {
	var all []error
	wants := map[string]bool{}
	for i := range services {
		v := &services[i]
		wants["kube-octavia.service="+string(v.UID)] = expected(v, nodes).Balancers > 0
		if err := s.checkServes(v, nodes); err != nil {
			all = append(all, err)
		}
		if err := checkConditions(v); err != nil {
			all = append(all, err)
		}
	}
	return append(all, s.leaks(wants, given)...)
}

// leaks are what the cloud has that none of the Services with these tags wants.
func (s state) leaks(wants map[string]bool, given []floatingIP) []error {
	var all []error
	ports := map[string]bool{}
	for _, b := range s.Balancers {
		ports[b.Port] = true
		if !slices.ContainsFunc(b.Tags, func(tag string) bool { return wants[tag] }) {
			all = append(all, fmt.Errorf("load balancer %s (%s, %s, tags %v) is no Service's", b.ID, b.Name, b.Status, b.Tags))
		}
	}
	for _, o := range s.VIPPorts {
		if !ports[o.ID] {
			all = append(all, fmt.Errorf("port %s of %s is no load balancer's", o.ID, o.DeviceID))
		}
	}
	there := map[string]bool{}
	for _, f := range s.FloatingIPs {
		there[f.ID] = true
		if !ports[f.Port] && !slices.ContainsFunc(given, func(g floatingIP) bool { return g.ID == f.ID }) {
			all = append(all, fmt.Errorf("floating IP %s (%q) leads nowhere", f.Address, f.Description))
		}
	}
	for _, f := range given {
		if !there[f.ID] {
			all = append(all, fmt.Errorf("the floating IP %s, which a person made, is gone", f.Address))
		}
	}
	if s.Monitors > 0 {
		all = append(all, fmt.Errorf("there are %d monitors that nobody wants", s.Monitors))
	}
	return all
}

// settle waits until the cloud has what all Services want, and the controller has
// nothing more to do.
func (s *soak) pollSettled() error {
	var left []error
	calm, writes, next := 0, -1, time.Now().Add(soakLogInterval)
	err := s.poll(func() error {
		if left = s.differences(); len(left) > 0 {
			calm = 0
			s.giveUpAddresses()
			if time.Now().After(next) {
				next = time.Now().Add(soakLogInterval)
				s.t.Logf("round %d: %d differences, among them: %v", s.figures.rounds, len(left), left[0])
			}
			return fmt.Errorf("%d differences", len(left))
		}
		if n := s.writes(); n != writes {
			calm, writes = 0, n
		}
		if calm++; calm < 4 {
			return errors.New("it may not last")
		}
		return nil
	})
	s.figures.differences = len(left)
	if err != nil {
		return errors.Join(append([]error{err}, left[:min(len(left), 5)]...)...)
	}
	return s.checkOtherClusters()
}

// giveUpAddresses does what the condition asks of a person: the address of an internal
// Service was taken while its load balancer, which had failed, was replaced.
func (s *soak) giveUpAddresses() {
	services, err := s.services()
	if err != nil {
		return
	}
	for _, v := range services {
		if !slices.ContainsFunc(v.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == status.ReasonAddressInUse }) {
			continue
		}
		without := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, annotation.VIPAddress)
		_, err := s.env.client.CoreV1().Services(v.Namespace).Patch(s.ctx, v.Name, types.MergePatchType, without, metav1.PatchOptions{})
		if err != nil {
			continue // it is asked for again
		}
		s.figures.addresses++
	}
}

// differences are what is not yet as it should be.
func (s *soak) differences() []error {
	services, err := s.services()
	if err != nil {
		return []error{err}
	}
	nodes, err := s.env.nodes(s.ctx)
	if err != nil {
		return []error{err}
	}
	now, err := s.state()
	if err != nil {
		return []error{err}
	}
	return now.differences(services, nodes, s.given())
}

// state is what the cloud has, but for what is another cluster's.
func (s *soak) state() (state, error) {
	now, err := s.env.cloud.state()
	for _, other := range s.otherClusters {
		now.Balancers = slices.DeleteFunc(now.Balancers, func(b balancer) bool { return b.ID == other.balancer.ID })
		now.FloatingIPs = slices.DeleteFunc(now.FloatingIPs, func(o floatingIP) bool { return o.ID == other.floatingIP.ID })
		now.VIPPorts = slices.DeleteFunc(now.VIPPorts, func(o port) bool { return o.ID == other.balancer.Port })
	}
	return now, err
}

// given are the floating IPs that persons made.
func (s *soak) given() []floatingIP {
	var all []floatingIP
	for _, r := range s.runs {
		if r.given.ID != "" {
			all = append(all, r.given)
		}
	}
	return all
}

// services are all Services that the soak has made.
func (s *soak) services() ([]corev1.Service, error) {
	var all []corev1.Service
	namespaces := map[string]bool{}
	for _, r := range s.runs {
		if namespaces[r.namespace] {
			continue
		}
		namespaces[r.namespace] = true
		list, err := r.services().List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// untouched reports whether anybody has written to the other cluster's objects.
func (s *soak) checkOtherClusters() error {
	var errs []error
	for _, other := range s.otherClusters {
		errs = append(errs, s.env.cloud.checkOtherCluster(other))
	}
	return errors.Join(errs...)
}
