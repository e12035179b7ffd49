// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func addresses(port int, hosts ...string) []lb.Member {
	var members []lb.Member
	for _, h := range hosts {
		members = append(members, lb.Member{Name: "node", Address: h, Port: port, Weight: 1})
	}
	return members
}

func tcpMonitor(name string) *lb.HealthMonitor {
	return &lb.HealthMonitor{
		Name: name, Tags: owner.Tags(), Type: lb.MonitorTCP, DelaySeconds: 10, TimeoutSeconds: 5, MaxRetries: 3, MaxRetriesDown: 4,
	}
}

func newPool(i int, members []lb.Member) lb.Pool {
	return lb.Pool{
		Name: owner.PoolName(i), Tags: owner.Tags(), Protocol: lb.PoolTCP, Algorithm: lb.RoundRobin, Members: members,
		Monitor: tcpMonitor(owner.MonitorName(i)),
	}
}

func newListener(i, port int, pool *lb.Pool) lb.Listener {
	timeouts := lb.DefaultTimeouts
	return lb.Listener{
		Name: owner.ListenerName(i), Tags: owner.Tags(), Protocol: lb.ListenerTCP, Port: port, ConnectionLimit: -1, Timeouts: &timeouts, Pool: pool,
	}
}

// wanted returns a load balancer with one listener of each kind.
func wanted(subnet string) lb.LoadBalancer {
	web, tls := newPool(0, addresses(30080, "10.0.0.1", "10.0.0.2")), newPool(1, addresses(30443, "10.0.0.1", "10.0.0.2"))
	web.Monitor = &lb.HealthMonitor{
		Name: owner.MonitorName(0), Tags: owner.Tags(), Type: lb.MonitorHTTP, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1,
		MaxRetriesDown: 2, HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200",
	}
	web.Members[1].MonitorPort, web.Members[1].Weight, web.Members[1].Backup = 32000, 0, true
	tls.Monitor, tls.Persistence = nil, &lb.Persistence{Type: lb.PersistenceSourceIP}
	dns := lb.Pool{
		Name: owner.PoolName(2), Tags: owner.Tags(), Protocol: lb.PoolUDP, Algorithm: lb.SourceIP,
		Persistence: &lb.Persistence{Type: lb.PersistenceSourceIP, TimeoutSeconds: 90},
		Monitor:     tcpMonitor(owner.MonitorName(2)),
	}
	dns.Monitor.Type = lb.MonitorUDPConnect
	udp := newListener(2, 53, &dns)
	udp.Protocol = lb.ListenerUDP
	restricted := newListener(1, 443, &tls)
	restricted.AllowedCIDRs, restricted.ConnectionLimit = []string{"192.0.2.0/24", "198.51.100.0/24"}, 1000
	return lb.LoadBalancer{
		Name: owner.LoadBalancerName(), Description: owner.Description(), Tags: owner.Tags(), Provider: "amphora",
		VIP: lb.VIP{SubnetID: subnet}, Listeners: []lb.Listener{newListener(0, 80, &web), restricted, udp},
	}
}

// alike ignores what cannot be predicted.
var alike = gocmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	cmpopts.SortSlices(func(a, b lb.Listener) bool { return cmp.Or(a.Port-b.Port, cmp.Compare(a.Protocol, b.Protocol)) < 0 }),
	cmpopts.SortSlices(func(a, b lb.Pool) bool { return a.Name < b.Name }),
	cmpopts.IgnoreFields(lb.LoadBalancer{}, "ProvisioningStatus", "OperatingStatus", "UpdatedAt"),
	cmpopts.IgnoreFields(lb.Listener{}, "ID", "ProvisioningStatus"),
	cmpopts.IgnoreFields(lb.Pool{}, "ID", "ProvisioningStatus"),
	cmpopts.IgnoreFields(lb.Member{}, "ID", "ProvisioningStatus", "OperatingStatus"),
	cmpopts.IgnoreFields(lb.HealthMonitor{}, "ID", "ProvisioningStatus"),
}

// course applies ops to a load balancer of a simulated cloud, and checks after each that the observed
// state was predicted.
type course struct {
	simulated
	t  *testing.T
	at lb.Observed
}

func (c *course) apply(op diff.Op) {
	c.t.Helper()
	made, err := c.Apply(c.t.Context(), op)
	if err != nil {
		c.t.Fatal(err)
	}
	c.at = diff.After(c.at, op, made)
	predicted := *c.at.LoadBalancer
	head := c.settled(c.t, predicted.ID)
	if head.ProvisioningStatus != lb.Active {
		c.t.Fatalf("%s: the load balancer is in %s", op, head.ProvisioningStatus)
	}
	observed, err := c.Observe(c.t.Context(), head)
	if err != nil {
		c.t.Fatal(err)
	}
	if diff := gocmp.Diff(predicted, observed, alike); diff != "" {
		c.t.Fatalf("%s (-predicted +observed):\n%s", op, diff)
	}
	if diff := gocmp.Diff(observed, c.listed(head), cmpopts.EquateEmpty()); diff != "" {
		c.t.Fatalf("%s (-observed +listed):\n%s", op, diff)
	}
	tree, err := c.Tree(c.t.Context(), predicted.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	confirmed, _, err := octavia.Confirm(predicted, nil, tree)
	if err != nil {
		c.t.Fatalf("%s: not confirmed: %v", op, err)
	}
	// The tree shows neither detached pools nor updated_at.
	known := gocmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(lb.LoadBalancer{}, "DetachedPools", "UpdatedAt"),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.SortSlices(func(a, b lb.Listener) bool { return a.ID < b.ID })}
	if diff := gocmp.Diff(observed, confirmed, known); diff != "" {
		c.t.Fatalf("%s (-observed +confirmed):\n%s", op, diff)
	}
	c.at.LoadBalancer = &confirmed
	c.at.LoadBalancer.UpdatedAt = observed.UpdatedAt
}

// listed returns the load balancer from the lists of the whole project, with its members.
func (c *course) listed(head lb.LoadBalancer) lb.LoadBalancer {
	c.t.Helper()
	all, err := c.Listed(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(l octavia.Listed) bool { return l.Bare.ID == head.ID })
	if i < 0 || !all[i].Complete {
		c.t.Fatalf("the lists do not show load balancer %s, or not all of it: %+v", head.ID, all)
	}
	full, err := c.ReadMembers(c.t.Context(), all[i])
	if err != nil {
		c.t.Fatal(err)
	}
	return full
}

func (c *course) listener(port int) lb.Listener {
	i := slices.IndexFunc(c.at.LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port == port })
	return c.at.LoadBalancer.Listeners[i]
}

func (c *course) detached(name string) lb.Pool {
	i := slices.IndexFunc(c.at.LoadBalancer.DetachedPools, func(p lb.Pool) bool { return p.Name == name })
	return c.at.LoadBalancer.DetachedPools[i]
}

func begin(t *testing.T) *course {
	cloud := simulate(t, cloudsim.Options{})
	c := &course{simulated: cloud, t: t}
	c.apply(diff.CreateLoadBalancer{LoadBalancer: wanted(cloud.IDs().PrivateSubnet)})
	return c
}

func TestStateAfterOpsOfALoadBalancerIsAsPredicted(t *testing.T) {
	c := begin(t)
	id, tags, yes, no := c.at.LoadBalancer.ID, append(owner.Tags(), "by-hand"), true, false
	c.apply(diff.UpdateLoadBalancer{ID: id, Tags: &tags})
	c.apply(diff.UpdateLoadBalancer{ID: id, AdminDown: &yes})
	c.apply(diff.UpdateLoadBalancer{ID: id, AdminDown: &no})
	if _, err := c.Apply(t.Context(), diff.DeleteLoadBalancer{ID: id}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load balancer gone", func() bool {
		l, err := c.Get(t.Context(), id)
		if err == nil && l.ProvisioningStatus != lb.PendingDelete {
			t.Fatalf("it is in %s", l.ProvisioningStatus)
		}
		return openstack.Classify(err) == openstack.Gone
	})
	if _, err := c.Apply(t.Context(), diff.DeleteLoadBalancer{ID: id}); err != nil {
		t.Errorf("deleting it again: %v", err)
	}
}

func TestStateAfterOpsOfAPoolIsAsPredicted(t *testing.T) {
	c := begin(t)
	web := *c.listener(80).Pool
	members := addresses(30080, "10.0.0.1", "10.0.0.2", "10.0.0.3")
	members[0].MonitorPort, members[1].Weight, members[2].Backup, members[2].AdminDown = 32001, 7, true, true
	c.apply(diff.SetMembers{PoolID: web.ID, Members: members})
	c.apply(diff.SetMembers{PoolID: web.ID, Members: addresses(30080, "10.0.0.1", "10.0.0.2", "10.0.0.3")})
	c.apply(diff.SetMembers{PoolID: web.ID})
	c.apply(diff.SetMembers{PoolID: web.ID, Members: addresses(30081, "10.0.0.1")})
	c.apply(diff.UpdatePool{ID: web.ID, Algorithm: lb.LeastConnections, Persistence: &lb.Persistence{Type: lb.PersistenceSourceIP}})
	c.apply(diff.UpdatePool{ID: web.ID, Algorithm: lb.RoundRobin, AdminDown: true})
	changed := *web.Monitor
	changed.DelaySeconds, changed.TimeoutSeconds, changed.MaxRetries, changed.MaxRetriesDown = 20, 10, 5, 6
	changed.URLPath, changed.HTTPMethod, changed.ExpectedCodes = "/livez", "HEAD", "200,204"
	c.apply(diff.UpdateMonitor{ID: web.Monitor.ID, Monitor: changed})
	c.apply(diff.DeleteMonitor{ID: web.Monitor.ID})
	c.apply(diff.CreateMonitor{PoolID: web.ID, Monitor: *tcpMonitor(owner.MonitorName(0))})
}

func TestStateAfterPortsAreOpenedAndClosedIsAsPredicted(t *testing.T) {
	c := begin(t)
	id := c.at.LoadBalancer.ID
	one := newPool(3, addresses(31000, "10.0.0.1", "10.0.0.2"))
	c.apply(diff.CreatePool{LoadBalancerID: id, Pool: bare(one)})
	made := c.detached(one.Name)
	c.apply(diff.SetMembers{PoolID: made.ID, Members: one.Members})
	c.apply(diff.CreateMonitor{PoolID: made.ID, Monitor: *one.Monitor})
	c.apply(diff.CreateListener{LoadBalancerID: id, Listener: newListener(3, 8443, nil), PoolID: made.ID})

	limit, ranges, noCIDRs := 5, []string{"203.0.113.0/24"}, []string{}
	web := c.listener(80)
	c.apply(diff.UpdateListener{ID: web.ID, ConnectionLimit: &limit, AllowedCIDRs: &ranges})
	c.apply(diff.UpdateListener{ID: web.ID, Timeouts: &lb.Timeouts{ClientData: 1, MemberConnect: 2, MemberData: 3, TCPInspect: 4}})
	c.apply(diff.UpdateListener{ID: web.ID, AllowedCIDRs: &noCIDRs})

	c.apply(diff.CreatePool{LoadBalancerID: id, Pool: bare(newPool(4, nil))})
	next := c.detached(owner.PoolName(4))
	c.apply(diff.UpdateListener{ID: web.ID, PoolID: &next.ID})
	c.apply(diff.DeletePool{ID: web.Pool.ID})
	c.apply(diff.DeleteListener{ID: c.listener(53).ID})
	c.apply(diff.DeletePool{ID: c.detached(owner.PoolName(2)).ID})
	c.apply(diff.DeletePool{ID: next.ID})
}

// bare returns the pool that CreatePool creates.
func bare(p lb.Pool) lb.Pool {
	p.Members, p.Monitor = nil, nil
	return p
}
