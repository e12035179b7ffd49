// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// worker changes Services of a soak, one after the other. No other worker changes the same
// Services.
type worker struct {
	soak   *soak
	random *rand.Rand
	runs   []*run
	// nodes is whether this worker also adds and removes a node.
	nodes bool
}

// changePause is the time between two changes of a worker.
const changePause = 200 * time.Millisecond

// run changes one Service after the other until the time is over.
func (w *worker) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(changePause):
		}
		r := w.runs[w.random.IntN(len(w.runs))]
		if err := w.change(r); err != nil && ctx.Err() == nil {
			w.soak.addViolation(fmt.Errorf("change Service %s/%s: %w", r.namespace, r.name, err))
		}
	}
}

// change changes the Service, or the cluster.
func (w *worker) change(r *run) error {
	if w.nodes && w.random.IntN(200) == 0 {
		return w.counted(&w.soak.figures.changes, w.toggleNode(r))
	}
	v, err := r.service()
	switch {
	case err != nil:
		return err
	case v == nil:
		return w.counted(&w.soak.figures.changes, w.create(r))
	case v.DeletionTimestamp != nil:
		return nil
	case v.Spec.Type == corev1.ServiceTypeLoadBalancer && w.random.IntN(12) == 0:
		return w.tamper(r, v)
	}
	return w.counted(&w.soak.figures.changes, w.randomChange(v)(r))
}

// counted adds a change to the figure if it was made. Some are not possible: the Service is
// gone, or its name is not free yet.
func (w *worker) counted(figure *atomic.Int64, err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		figure.Add(1)
	}
	return err
}

// toggleNode removes the node if it exists, and adds it otherwise.
func (w *worker) toggleNode(r *run) error {
	err := nodeLeaves(r)
	if apierrors.IsNotFound(err) {
		return nodeJoins(r)
	}
	return err
}

// create creates the Service, with random fields.
func (w *worker) create(r *run) error {
	changes := []change{tcp(80)}
	for _, more := range []change{tcp(443), udp(80), udp(53)} {
		if w.random.IntN(3) == 0 {
			changes = append(changes, more)
		}
	}
	switch w.random.IntN(8) {
	case 0:
		changes = append(changes, internal)
	case 1:
		if r.given.ID == "" {
			if err := giveFloatingIP(r); err != nil {
				return err
			}
		}
		changes = append(changes, at(r.given.Address))
	case 2:
		changes = append(changes, sticky, openTo("192.0.2.0/24"))
	case 3:
		changes = append(changes, ofType(corev1.ServiceTypeClusterIP))
	}
	return create(changes...)(r)
}

// randomChange chooses a change of the Service.
func (w *worker) randomChange(v *corev1.Service) func(*run) error {
	of := func(all ...change) func(*run) error { return edit(all...) }
	loadBalancer := v.Spec.Type == corev1.ServiceTypeLoadBalancer
	ports := v.Spec.Ports
	options := []func(*run) error{
		remove,
		steps(remove, w.recreate),
		of(ofAnotherType(v, w.random)),
	}
	if free := w.freePort(v); free != 0 && len(ports) < 5 {
		options = append(options, of(tcp(free)), of(udp(free)), of(tcp(free)))
	}
	if one := ports[w.random.IntN(len(ports))]; !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Port == one.Port && p.Protocol != one.Protocol }) {
		other := map[corev1.Protocol]corev1.Protocol{corev1.ProtocolTCP: corev1.ProtocolUDP, corev1.ProtocolUDP: corev1.ProtocolTCP}
		options = append(options, of(without(one.Port), open(other[one.Protocol], one.Port)))
		if len(ports) > 1 {
			options = append(options, of(without(one.Port)), of(without(one.Port)), of(without(one.Port)))
		}
	}
	options = append(options, of(sticky), of(unsticky))
	if !loadBalancer {
		return options[w.random.IntN(len(options))]
	}
	options = append(options, of(openTo()), of(openTo("192.0.2.0/24", "198.51.100.0/24")), of(openTo("203.0.113.0/25")))
	if v.Spec.LoadBalancerIP == "" { // that is a public address
		options = append(options, of(internal), of(external))
	}
	return options[w.random.IntN(len(options))]
}

// freePort returns a random port that the Service does not have, or 0.
func (w *worker) freePort(v *corev1.Service) int32 {
	free := int32(81 + w.random.IntN(8))
	if slices.ContainsFunc(v.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == free }) {
		return 0
	}
	return free
}

// recreate creates the Service again if its name is free within two seconds.
func (w *worker) recreate(r *run) error {
	late := time.After(2 * time.Second)
	for {
		err := w.create(r)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		select {
		case <-late:
			return nil
		case <-r.ctx.Done():
			return nil
		case <-time.After(cloudDurations().pollInterval):
		}
	}
}

func unsticky(v *corev1.Service) {
	v.Spec.SessionAffinity, v.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
}

// ofAnotherType changes the type to LoadBalancer, or from LoadBalancer to another one.
func ofAnotherType(v *corev1.Service, random *rand.Rand) change {
	if v.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ofType(corev1.ServiceTypeLoadBalancer)
	}
	to := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort}[random.IntN(2)]
	return func(v *corev1.Service) {
		openTo()(v) // only Services of type LoadBalancer have source ranges
		external(v)
		ofType(to)(v)
	}
}

// tamper tampers with the objects of the Service in the cloud, if Octavia allows it.
func (w *worker) tamper(r *run, v *corev1.Service) error {
	s, err := r.state()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Balancers, func(b balancer) bool { return slices.Contains(b.Tags, "kube-octavia.service="+string(v.UID)) })
	if i < 0 || !s.Balancers[i].isComplete() {
		return nil
	}
	b, by := s.Balancers[i], tamperings[w.random.IntN(len(tamperings))]
	if err := by.do(r, b); err != nil {
		r.env.cloud.sim().Octavia().Release(b.ID)
		return nil // Octavia was changing it, or it is not possible here
	}
	w.soak.figures.tamperings.Add(1)
	return nil
}

// isComplete reports whether the load balancer has everything that tampering needs. One without its
// name or its tags is not changed: nothing would identify its owner if it lost both.
func (b balancer) isComplete() bool {
	return strings.HasPrefix(b.Name, "kube_service_") && b.Status == "ACTIVE" && len(b.Listeners) > 0 && b.Listeners[0].Pool != nil && len(b.Listeners[0].Pool.Members) > 0
}
