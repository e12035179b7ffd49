// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// ledger notes which floating IPs were published, and what was requested then. An address that was published and is still
// requested stays the project's, whatever happens, unless another client deletes it.
type ledger struct {
	published map[string]entry // by uid of the Service
	// kept are the addresses of Services that are gone and requested that they are kept, with their ids.
	kept map[string]string
	// quiet is since when no Service that shares a load balancer, or may own one that is shared, changes what it requests.
	quiet time.Time
	// violations are what was lost, and foreign objects that were changed.
	violations []error
}

type entry struct {
	service string
	request string
	since   time.Time         // of the request, or of the start of the controller after it
	ids     map[string]string // of the floating IPs that were published for the request, by their addresses
	// earlier are the addresses that were published when the request came. They may be those of an earlier request.
	earlier map[string]bool
	// shared are those that were made for other Services. The owner of a load balancer decides about its address, but it stays
	// if the owner leaves.
	shared map[string]string
	keeps  bool // in the end
}

// request returns everything in a Service that decides about its address: what it says, and whether it is accepted.
// What a refused Service says takes effect when the reason to refuse it goes.
func request(v *corev1.Service) string {
	keys := []string{
		internalKey, "loadbalancer.openstack.org/class", "kube-octavia.io/floating-ip", "loadbalancer.openstack.org/floating-network-id", "loadbalancer.openstack.org/floating-subnet-id",
		"loadbalancer.openstack.org/floating-subnet", "loadbalancer.openstack.org/floating-subnet-tags", "kube-octavia.io/status-addresses", "loadbalancer.openstack.org/hostname",
		"loadbalancer.openstack.org/load-balancer-group",
	}
	hasIPv4 := slices.Contains(v.Spec.IPFamilies, corev1.IPv4Protocol)
	text := fmt.Sprint(v.Spec.Type, v.Spec.LoadBalancerIP, v.DeletionTimestamp != nil, hasIPv4)
	for _, key := range keys {
		text += "|" + v.Annotations[key]
	}
	for _, c := range v.Status.Conditions {
		if c.Type == status.Accepted {
			text += "|" + string(c.Status) + c.Reason
		}
	}
	return text
}

const (
	internalKey = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	sourcesKey  = "service.beta.kubernetes.io/load-balancer-source-ranges"
)

// check reports published addresses that are still requested and were lost, and needless writes.
func (l *ledger) check(s *stage) error {
	l.violations = append(l.violations, s.needless.take()...)
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var answer struct {
		FloatingIPs []struct {
			ID, Description string
			Address         string `json:"floating_ip_address"`
		}
	}
	if err := s.neutron(http.MethodGet, "floatingips", nil, &answer); err != nil {
		return err
	}
	ids, whose := map[string]string{}, map[string]string{}
	for _, f := range answer.FloatingIPs {
		ids[f.Address], whose[f.Address] = f.ID, f.Description
	}
	now := map[string]entry{}
	l.noteQuiet(s, services.Items)
	for i := range services.Items {
		v := &services.Items[i]
		uid := string(v.UID)
		e := entry{service: v.Namespace + "/" + v.Name, request: request(v), ids: map[string]string{}, earlier: map[string]bool{}, shared: map[string]string{}}
		if before, known := l.published[uid]; known && before.request == e.request {
			e = before
			if e.since.Before(s.started) {
				e.since = s.started // a controller that did not run has not seen the request
			}
			if e.since.Before(l.quiet) {
				clear(e.shared)
			}
			for _, noted := range []map[string]string{e.ids, e.shared} {
				for address, id := range noted {
					if ids[address] != id {
						l.violations = append(l.violations, fmt.Errorf("the address %s of Service %s was published and is still requested (%s, since %v), and the project has lost it", address, e.service, e.request, time.Since(e.since)))
						delete(noted, address)
					}
				}
			}
		}
		e.keeps = v.Annotations[annotation.KeepFloatingIP] == "true"
		first := e.since.IsZero()
		if first {
			e.since = time.Now()
		}
		for _, ingress := range v.Status.LoadBalancer.Ingress {
			if first {
				e.earlier[ingress.IP] = true
			}
			ours := strings.Contains(whose[ingress.IP], uid) || whose[ingress.IP] == ofPerson
			if id := ids[ingress.IP]; id != "" && ours && (!e.earlier[ingress.IP] || time.Since(e.since) > s.pace.settle && s.process.running()) {
				e.ids[ingress.IP] = id
			}
			if id := ids[ingress.IP]; id != "" && !ours && time.Since(e.since) > s.pace.settle && time.Since(l.quiet) > s.pace.settle && s.process.running() {
				e.shared[ingress.IP] = id
			}
		}
		now[uid] = e
	}
	l.checkKept(ids, now)
	l.published = now
	return l.checkOthers(s)
}

// checkKept checks whether the addresses that were to be kept are there. Those of a Service that is gone since the last
// look are to be kept if it requested that to the end.
func (l *ledger) checkKept(ids map[string]string, now map[string]entry) {
	for uid, e := range l.published {
		if _, there := now[uid]; there || !e.keeps {
			continue
		}
		if l.kept == nil {
			l.kept = map[string]string{}
		}
		maps.Copy(l.kept, e.ids)
	}
	for address, id := range l.kept {
		if ids[address] != id {
			l.violations = append(l.violations, fmt.Errorf("the address %s was to be kept when its Service was deleted, and the project has lost it", address))
			delete(l.kept, address)
		}
	}
}

// noteQuiet notes when a Service requests something else than before.
func (l *ledger) noteQuiet(s *stage, services []corev1.Service) {
	if l.quiet.Before(s.started) {
		l.quiet = s.started
	}
	for i := range services {
		v := &services[i]
		if before, known := l.published[string(v.UID)]; known && v.DeletionTimestamp == nil && before.request != request(v) {
			l.quiet = time.Now()
		}
	}
}

// checkOthers checks whether the objects of others are as they were.
func (l *ledger) checkOthers(s *stage) error {
	now, err := s.othersNow()
	if err != nil {
		return err
	}
	if d := cmp.Diff(s.others, now); d != "" && !slices.ContainsFunc(l.violations, func(err error) bool { return err.Error() == "objects of others were changed:\n"+d }) {
		l.violations = append(l.violations, fmt.Errorf("objects of others were changed:\n%s", d))
	}
	return nil
}

// excuse forgets what was published for a Service whose floating IP another client deletes.
func (l *ledger) excuse(s *stage, a action) {
	if a.Value != "floating-ip-deleted" {
		return
	}
	clear(l.kept)
	for uid, e := range l.published {
		clear(e.shared)
		if e.service == a.On {
			delete(l.published, uid)
		}
	}
}
