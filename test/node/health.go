// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// health is what a health check node port answers.
type health struct {
	node      string
	namespace string
	at        netip.AddrPort
	service   serviceName
	// localEndpoints is the number of ready endpoints on the node.
	localEndpoints int
}

// serviceName and healthAnswer are the body of kube-proxy's answer.
type serviceName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type healthAnswer struct {
	Service             serviceName `json:"service"`
	LocalEndpoints      int         `json:"localEndpoints"`
	ServiceProxyHealthy bool        `json:"serviceProxyHealthy"`
}

// localHealth returns the health of the Service on the node; nil if the Service has no health check
// node port.
func localHealth(svc *corev1.Service, slices []*discoveryv1.EndpointSlice, nd Node) *health {
	if svc.Spec.HealthCheckNodePort == 0 {
		return nil
	}
	local := map[string]bool{}
	for _, s := range slices {
		for _, e := range s.Endpoints {
			if len(e.Addresses) > 0 && isReady(e) && onNode(e, nd.Name) {
				local[e.Addresses[0]] = true
			}
		}
	}
	return &health{
		node:           nd.Name,
		namespace:      nd.Namespace,
		at:             netip.AddrPortFrom(nd.Address, uint16(svc.Spec.HealthCheckNodePort)),
		service:        serviceName{svc.Namespace, svc.Name},
		localEndpoints: len(local),
	}
}

// healthServer answers on one health check node port of one node.
type healthServer struct {
	node   string
	at     netip.AddrPort
	now    atomic.Pointer[health]
	server *http.Server
	done   sync.WaitGroup
}

// setHealth starts, updates or (h nil) stops the server with this id. The
// caller holds n.mu.
func (n *Nodes) setHealth(id string, h *health) error {
	s := n.health[id]
	if s != nil && (h == nil || s.at != h.at) {
		s.close()
		delete(n.health, id)
		s = nil
	}
	if h == nil {
		return nil
	}
	if s == nil {
		ln, err := listen(h.namespace, h.at.String())
		if err != nil {
			return fmt.Errorf("health check node port: %w", err)
		}
		s = &healthServer{node: h.node, at: h.at}
		s.now.Store(h)
		s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
		s.done.Go(func() { _ = s.server.Serve(ln) })
		n.health[id] = s
	}
	s.now.Store(h)
	return nil
}

// ServeHTTP answers 200 if the node has a ready endpoint, else 503, whatever
// the path, as kube-proxy does.
func (s *healthServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := s.now.Load()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(h.localEndpoints))
	if h.localEndpoints == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// An error here is the client's leaving.
	_ = json.NewEncoder(w).Encode(healthAnswer{h.service, h.localEndpoints, true})
}

func (s *healthServer) close() {
	_ = s.server.Close()
	s.done.Wait()
}
