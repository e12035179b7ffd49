// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// Amphorae of the noop driver carry no packets. What the questions about traffic
// (see traffic_test.go) come to then is what the API says of where packets would
// go: which members are behind an address and port, and that they are ACTIVE.

// errNowhere says that packets would go nowhere.
var errNowhere = errors.New("leads nowhere")

// members are the addresses of the members to which packets to the address and
// port ("TCP/8080") would go now. The error is errNowhere if there is no such
// listener or no member behind it.
func (c *cloud) membersBehind(address, key string) ([]string, error) {
	l, err := c.listenerAt(address, key)
	if err != nil {
		return nil, err
	}
	var answer struct{ Members []poolMember }
	if err := c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools/"+l.PoolID+"/members", nil, &answer); err != nil {
		return nil, err
	}
	var usable, exchanged []string
	for _, m := range answer.Members {
		switch {
		case works(m.Status):
			usable = append(usable, m.Address)
		case m.Status == "PENDING_CREATE":
			exchanged = append(exchanged, m.Address)
		}
	}
	if len(usable) == 0 {
		// Where all members are exchanged by one call, the old ones are gone from the
		// database before the new ones are ACTIVE; the amphora was told of both before.
		usable = exchanged
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("%s of %s %w: its members are %+v", key, address, errNowhere, answer.Members)
	}
	slices.Sort(usable)
	return usable, nil
}

// listenerAt returns the listener that packets to the address and port would meet.
func (c *cloud) listenerAt(address, key string) (listener, error) {
	id, err := c.balancerAt(address)
	if err != nil {
		return listener{}, err
	}
	var answer struct{ Listeners []listener }
	if err := c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/listeners?loadbalancer_id="+id, nil, &answer); err != nil {
		return listener{}, err
	}
	for _, l := range answer.Listeners {
		if l.key() == key && works(l.Status) && l.PoolID != "" {
			return l, nil
		}
	}
	return listener{}, fmt.Errorf("%s of load balancer %s %w: it has %+v", key, id, errNowhere, answer.Listeners)
}

// balancerAt returns the id of the load balancer with the address as its VIP, or as the floating IP
// on its VIP port.
func (c *cloud) balancerAt(address string) (string, error) {
	query := "vip_address=" + address
	var floating struct{ FloatingIPs []floatingIP }
	if err := c.call(asUser, cloudsim.Network, http.MethodGet, "/v2.0/floatingips?floating_ip_address="+address, nil, &floating); err != nil {
		return "", err
	}
	if len(floating.FloatingIPs) == 1 {
		if floating.FloatingIPs[0].PortID == "" {
			return "", fmt.Errorf("floating IP %s %w", address, errNowhere)
		}
		query = "vip_port_id=" + floating.FloatingIPs[0].PortID
	}
	var answer struct{ LoadBalancers []tree }
	if err := c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/loadbalancers?"+query, nil, &answer); err != nil {
		return "", err
	}
	for _, l := range answer.LoadBalancers {
		if works(l.Status) && !c.earlier[l.ID] {
			return l.ID, nil
		}
	}
	return "", fmt.Errorf("%s %w: its load balancers are %+v", address, errNowhere, answer.LoadBalancers)
}

// works reports whether an object of this provisioning status does what it is for: it continues
// while it is being changed.
func works(status string) bool {
	return status == "ACTIVE" || status == "PENDING_UPDATE"
}

// leadsTo waits until the address and port lead to exactly these nodes; nil means
// to any.
func (s *stage) leadsTo(address, key string, nodes []string) {
	s.t.Helper()
	want := slices.Sorted(slices.Values(nodes))
	s.eventually(func() error {
		have, err := s.cloud.membersBehind(address, key)
		if err != nil || nodes == nil {
			return err
		}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Errorf("%s of %s leads to other nodes (-want +have): %s", key, address, d)
		}
		return nil
	})
}

// waitUntilClosed waits until the address and port do not lead to a member any more.
func (s *stage) waitUntilClosed(address, key string) {
	s.t.Helper()
	s.eventually(func() error {
		have, err := s.cloud.membersBehind(address, key)
		switch {
		case errors.Is(err, errNowhere):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%s of %s leads to %s", key, address, strings.Join(have, ", "))
	})
}

// watch looks again and again whether the address and port lead to a member, for
// a user whose requests could not be answered otherwise.
func (c *cloud) watch(ctx context.Context, address, key string, u *user) {
	for {
		began := time.Now()
		_, err := c.membersBehind(address, key)
		if ctx.Err() != nil {
			return
		}
		u.note(err)
		select {
		case <-time.After(pause(time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}
