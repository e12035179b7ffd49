// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// ErrSimulatedOnly is returned if a real cloud cannot do what a scenario needs.
var ErrSimulatedOnly = errors.New("only the simulated cloud can do this")

// Simulated starts a simulated cloud with the times of the profile. The seed is for its tail.
func Simulated(p Profile, seed uint64) (*Cloud, error) {
	c := &Cloud{
		PollInterval: 100 * time.Millisecond, SettleTime: settleTime(max(p.Create, p.Update, p.Delete), p.Call), finished: map[string]time.Time{}, changes: map[string]int{},
		limits: func(_ context.Context, n, ports int) (Limits, error) { return p.Limits(n, ports), nil },
	}
	options := cloudsim.Options{
		Release:  release.Zed, // the times of the profiles were measured there
		Provider: p.Provider, BuildTime: p.Create, UpdateTime: p.Update, DeleteTime: p.Delete,
		Neutron: neutron.Options{Quotas: map[string]int{"port": -1, "floatingip": -1}},
	}
	if p.Provider == "ovn" {
		// The simulator takes a tenth of the times for this provider.
		options.BuildTime, options.UpdateTime, options.DeleteTime = 10*p.Create, 10*p.Update, 10*p.Delete
	}
	options.Octavia.OnChange = c.finish
	if p.Tail.Kind != "" {
		options.Octavia.Vary = p.Tail.drawer(seed)
	}
	sim, err := cloudsim.Start(options)
	if err != nil {
		return nil, err
	}
	sim.Latency().Set(wire.Operation{}, p.Call)
	c.sim, c.close, c.recorder, c.Faults, c.user = sim, sim.Close, sim.Recorder(), sim.Faults(), openstack.SimulatedUser(sim)
	c.Conf = sim.CloudConf()
	if p.Provider == "ovn" {
		c.Conf += "lb-provider=\"ovn\"\nlb-method=\"SOURCE_IP_PORT\"\n"
	}
	c.subnet, err = subnetOf(context.Background(), c.user, sim.IDs().PrivateSubnet)
	if err != nil {
		return nil, errors.Join(err, sim.Close())
	}
	return c, nil
}

// settleTime is longer than a controller waits between two polls of an operation of this duration:
// a tenth of it, but at most 5 s.
func settleTime(operation, call time.Duration) time.Duration {
	return 2*time.Second + min(operation/10, 5*time.Second) + 10*call
}

// subnetOf reads the addresses of a subnet.
func subnetOf(ctx context.Context, user openstack.Requester, id string) (netip.Prefix, error) {
	var answer struct {
		Subnet struct{ CIDR netip.Prefix }
	}
	err := openstack.Call(ctx, user, cloudsim.Network, "GET", "/v2.0/subnets/"+id, nil, &answer)
	return answer.Subnet.CIDR, err
}
