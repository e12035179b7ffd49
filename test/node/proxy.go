// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// syncService makes every node answer, or no longer answer, for the Service.
func (n *Nodes) syncService(_ context.Context, service string) (time.Duration, error) {
	svc, slices, err := n.lookup(service)
	if err != nil {
		return 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for _, nd := range n.nodes {
		if err := n.serve(nd, service, svc, slices); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", nd.Name, err))
		}
	}
	return 0, errors.Join(errs...)
}

// lookup finds the Service, nil if there is none, and its slices.
func (n *Nodes) lookup(service string) (*corev1.Service, []*discoveryv1.EndpointSlice, error) {
	obj, exists, err := n.services.GetByKey(service)
	if err != nil || !exists {
		return nil, nil, err
	}
	found, err := n.slices.ByIndex(byService, service)
	if err != nil {
		return nil, nil, err
	}
	var slices []*discoveryv1.EndpointSlice
	for _, s := range found {
		slices = append(slices, s.(*discoveryv1.EndpointSlice))
	}
	return obj.(*corev1.Service), slices, nil
}

// serve makes one node answer for one Service. The caller holds n.mu.
func (n *Nodes) serve(nd *node, service string, svc *corev1.Service, slices []*discoveryv1.EndpointSlice) error {
	id := nd.Name + "/" + service
	if svc == nil || nd.down || nd.Unserved {
		n.unserve(nd, id)
		return n.setHealth(id, nil)
	}
	lb := forwarding(svc, slices, nd.Node, n.network)
	lb.ID = id
	var err error
	if len(lb.Listeners) == 0 {
		n.unserve(nd, id)
	} else {
		nd.serving[id] = true
		err = n.plane.Set(lb)
	}
	return errors.Join(err, n.setHealth(id, localHealth(svc, slices, nd.Node)))
}

func (n *Nodes) unserve(nd *node, id string) {
	delete(nd.serving, id)
	n.plane.Remove(id)
}

// silence stops everything that listens on the node.
func (n *Nodes) silence(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nd := n.nodes[name]
	if nd == nil {
		return
	}
	nd.down = true
	for id := range nd.serving {
		n.unserve(nd, id)
	}
	for id, h := range n.health {
		if h.node == name {
			h.close()
			delete(n.health, id)
		}
	}
	for k, p := range n.pods {
		if p.node == name {
			p.close()
			delete(n.pods, k)
		}
	}
}
