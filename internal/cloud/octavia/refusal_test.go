// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	simulator "github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

const nowhere = "00000000-0000-0000-0000-000000000000"

func listenerOn(l lb.LoadBalancer, port int) lb.Listener {
	return l.Listeners[slices.IndexFunc(l.Listeners, func(l lb.Listener) bool { return l.Port == port })]
}

func TestRefusalsOfOctaviaHaveTheirErrorClass(t *testing.T) {
	quota := simulator.Quota{LoadBalancers: 1, Listeners: -1, Pools: 3, Members: -1, HealthMonitors: -1}
	s := simulate(t, cloudsim.Options{Octavia: simulator.Options{DefaultQuota: &quota}})
	l, err := s.Observe(t.Context(), s.create(t, wanted(s.IDs().PrivateSubnet)))
	if err != nil {
		t.Fatal(err)
	}
	pool := *listenerOn(l, 80).Pool
	far := wanted(nowhere)
	for name, c := range map[string]struct {
		op    diff.Op
		class openstack.Class
	}{
		"a port that is taken":        {diff.CreateListener{LoadBalancerID: l.ID, Listener: newListener(9, 80, nil), PoolID: pool.ID}, openstack.Conflict},
		"a second monitor":            {diff.CreateMonitor{PoolID: pool.ID, Monitor: *tcpMonitor("m")}, openstack.Conflict},
		"a load balancer that is not": {diff.UpdateLoadBalancer{ID: nowhere, AdminDown: &up}, openstack.Gone},
		"a listener that is not":      {diff.UpdateListener{ID: nowhere, ConnectionLimit: &limit}, openstack.Gone},
		"a pool that is not":          {diff.SetMembers{PoolID: nowhere}, openstack.Gone},
		"a subnet that is not":        {diff.CreateLoadBalancer{LoadBalancer: far}, openstack.Invalid},
		"source ranges that are none": {diff.UpdateListener{ID: l.Listeners[0].ID, AllowedCIDRs: &tags}, openstack.Invalid},
		"a pool too many":             {diff.CreatePool{LoadBalancerID: l.ID, Pool: bare(newPool(9, nil))}, openstack.Quota},
		"a load balancer too many":    {diff.CreateLoadBalancer{LoadBalancer: wanted(s.IDs().PrivateSubnet)}, openstack.Quota},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := s.Apply(t.Context(), c.op)
			if openstack.Classify(err) != c.class || !cmp.Equal(made, diff.Created{}) {
				t.Errorf("class %q, want %s: %v; made %+v", openstack.Classify(err), c.class, err, made)
			}
			if err != nil && !strings.HasPrefix(err.Error(), c.op.String()) {
				t.Errorf("the error does not begin with what was tried: %v", err)
			}
		})
	}
}

func TestEveryOpOnABusyLoadBalancerIsRefusedAsBusy(t *testing.T) {
	s := simulate(t, cloudsim.Options{BuildTime: time.Hour})
	made, err := s.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: wanted(s.IDs().PrivateSubnet)})
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Get(t.Context(), made.ID)
	if err != nil || head.ProvisioningStatus != lb.PendingCreate || head.VIP != made.VIP || made.VIP.PortID == "" {
		t.Fatalf("at once it is %+v (%v), the create said %+v", head, err, made)
	}
	l, err := s.Observe(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	listener := listenerOn(l, 80)
	pool := *listener.Pool
	for _, op := range []diff.Op{
		diff.UpdateLoadBalancer{ID: l.ID, AdminDown: &up},
		diff.DeleteLoadBalancer{ID: l.ID},
		diff.CreateListener{LoadBalancerID: l.ID, Listener: newListener(9, 81, nil), PoolID: pool.ID},
		diff.UpdateListener{ID: listener.ID, ConnectionLimit: &limit},
		diff.DeleteListener{ID: listener.ID},
		diff.CreatePool{LoadBalancerID: l.ID, Pool: bare(newPool(9, nil))},
		diff.UpdatePool{ID: pool.ID, Algorithm: lb.RoundRobin},
		diff.DeletePool{ID: pool.ID},
		diff.SetMembers{PoolID: pool.ID},
		diff.UpdateMonitor{ID: pool.Monitor.ID, Monitor: *pool.Monitor},
		diff.DeleteMonitor{ID: pool.Monitor.ID},
	} {
		t.Run(diff.Kind(op), func(t *testing.T) {
			if _, err := s.Apply(t.Context(), op); openstack.Classify(err) != openstack.Busy {
				t.Errorf("%v: class %q, want Busy: %v", op, openstack.Classify(err), err)
			}
		})
	}
}

func TestACreateWithoutAnAnswerMayHaveBeenCarriedOut(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	op := diff.CreateLoadBalancer{LoadBalancer: wanted(s.IDs().PrivateSubnet)}
	for name, fault := range map[string]wire.Fault{
		"garbage":             {Kind: wire.FaultGarbage},
		"half a body":         {Kind: wire.FaultHalfBody},
		"no answer":           {Kind: wire.FaultResetAfter},
		"a gateway's timeout": {Kind: wire.FaultStatus, Status: http.StatusGatewayTimeout, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := s.FindByName(t.Context(), op.LoadBalancer.Name)
			if err != nil {
				t.Fatal(err)
			}
			fault.Method, fault.Times = http.MethodPost, 1
			s.Faults().Add(fault)
			made, err := s.Apply(t.Context(), op)
			var e *openstack.Error
			if !errors.As(err, &e) || e.Class != openstack.Transient || !e.Unanswered || !cmp.Equal(made, diff.Created{}) {
				t.Errorf("made %+v, error %#v; want one that is Transient and says that there was no answer", made, err)
			}
			after, err := s.FindByName(t.Context(), op.LoadBalancer.Name)
			if want := len(before) + 1; fault.Kind != wire.FaultStatus && (len(after) != want || err != nil) {
				t.Errorf("%d load balancers are found by name (%v), want %d", len(after), err, want)
			}
		})
	}
}

func TestVIPIsAllocatedFromTheNetworkOrHasTheRequestedAddress(t *testing.T) {
	s := simulate(t, cloudsim.Options{PrivateCIDR: "10.0.0.0/16", PublicCIDR: "198.51.100.0/24"})
	for name, test := range map[string]struct {
		address string
		vip     lb.VIP
	}{
		"VIP of a network":  {"", lb.VIP{NetworkID: s.IDs().PrivateNetwork}},
		"requested address": {"10.0.100.7", lb.VIP{SubnetID: s.IDs().PrivateSubnet, Address: "10.0.100.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := s.create(t, lb.LoadBalancer{Name: "web", VIP: test.vip})
			if test.address != "" && made.VIP.Address != test.address || made.VIP.NetworkID != s.IDs().PrivateNetwork || made.VIP.SubnetID == "" || made.VIP.PortID == "" {
				t.Errorf("for %+v it is %+v", test.vip, made.VIP)
			}
		})
	}
}

func TestARefusalOfNeutronIsOneOfTheAddressOnlyIfOneIsRequested(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	s.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers", Kind: wire.FaultStatus, Status: http.StatusInternalServerError,
		Body: `{"faultcode": "Server", "faultstring": "Provider 'amphora' reports error: BadRequestException: 400", "debuginfo": null}`})
	for name, want := range map[string]struct {
		address string

		class  openstack.Class
		advice string
	}{
		"no address is requested": {"", openstack.Transient, "which does not say why"},
		"an address is requested": {"10.99.0.99", openstack.Invalid, "spec.loadBalancerIP must be in the subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			l := wanted(s.IDs().PrivateSubnet)
			l.VIP.Address = want.address
			_, err := s.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: l})
			if openstack.Classify(err) != want.class || !strings.Contains(err.Error(), want.advice) {
				t.Errorf("address %q: class %s, %v", want.address, openstack.Classify(err), err)
			}
		})
	}
}
