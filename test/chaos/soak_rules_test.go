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

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// differences are between what all Services request and everything that the cloud has. Given
// are the floating IPs that were created by hand, which must stay.
func (s state) differences(services []corev1.Service, nodes []string, given []floatingIP) []error {
	var all []error
	wants := map[string]bool{}
	for i := range services {
		v := &services[i]
		wants["kube-octavia.service="+string(v.UID)] = expected(v, backends{nodes: nodes}).Balancers > 0
		if err := s.checkServes(v, backends{nodes: nodes}); err != nil {
			all = append(all, err)
		}
		if err := checkConditions(v); err != nil {
			all = append(all, err)
		}
	}
	return append(all, s.leaks(wants, given)...)
}

// leaks returns the objects of the cloud that no Service requests. The keys of wants are the tags
// of Services.
func (s state) leaks(wants map[string]bool, given []floatingIP) []error {
	var all []error
	ports := map[string]bool{}
	for _, b := range s.Balancers {
		ports[b.Port] = true
		if !slices.ContainsFunc(b.Tags, func(tag string) bool { return wants[tag] }) {
			all = append(all, fmt.Errorf("load balancer %s (%s, %s, tags %v) belongs to no Service", b.ID, b.Name, b.Status, b.Tags))
		}
	}
	for _, o := range s.VIPPorts {
		if !ports[o.ID] {
			all = append(all, fmt.Errorf("port %s of %s belongs to no load balancer", o.ID, o.DeviceID))
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
			all = append(all, fmt.Errorf("the floating IP %s, which was created by hand, is gone", f.Address))
		}
	}
	if s.Monitors > 0 {
		all = append(all, fmt.Errorf("there are %d monitors that no Service requests", s.Monitors))
	}
	return all
}

// pollSettled waits until the cloud has what all Services request, and the controller has
// nothing more to do.
func (s *soak) pollSettled() error {
	var left []error
	times, writes, next := 0, -1, time.Now().Add(soakLogInterval)
	err := s.poll(func() error {
		if left = s.differences(); len(left) > 0 {
			times = 0
			s.giveUpAddresses()
			if time.Now().After(next) {
				next = time.Now().Add(soakLogInterval)
				s.t.Logf("round %d: %d differences, among them: %v", s.figures.rounds, len(left), left[0])
			}
			return fmt.Errorf("%d differences", len(left))
		}
		if n := s.writes(); n != writes {
			times, writes = 0, n
		}
		if times++; times < 4 {
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

// giveUpAddresses does what the condition asks the operator to do: another client got the
// address of an internal Service while its failed load balancer was replaced.
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
			continue // it is tried again
		}
		s.figures.addresses++
	}
}

// differences returns those of all Services now.
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

// state returns what the cloud has, without another cluster's objects.
func (s *soak) state() (state, error) {
	now, err := s.env.cloud.state()
	for _, other := range s.otherClusters {
		now.Balancers = slices.DeleteFunc(now.Balancers, func(b balancer) bool { return b.ID == other.balancer.ID })
		now.FloatingIPs = slices.DeleteFunc(now.FloatingIPs, func(o floatingIP) bool { return o.ID == other.floatingIP.ID })
		now.VIPPorts = slices.DeleteFunc(now.VIPPorts, func(o port) bool { return o.ID == other.balancer.Port })
	}
	return now, err
}

// given returns the floating IPs that were created by hand.
func (s *soak) given() []floatingIP {
	var all []floatingIP
	for _, r := range s.runs {
		if r.given.ID != "" {
			all = append(all, r.given)
		}
	}
	return all
}

// services returns all Services of the soak.
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

// checkOtherClusters returns an error if another cluster's objects were written to.
func (s *soak) checkOtherClusters() error {
	var errs []error
	for _, other := range s.otherClusters {
		errs = append(errs, s.env.cloud.checkOtherCluster(other))
	}
	return errors.Join(errs...)
}
