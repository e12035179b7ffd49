// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// A load balancer that is shared is not deleted with the Service.
func TestALoadBalancerWithAnyPartOfAnotherServiceIsShared(t *testing.T) {
	pool := func(tags []string) lb.Pool { return lb.Pool{ID: "p", Name: "a pool", Tags: tags} }
	listener := func(tags []string, p *lb.Pool) lb.Listener {
		return lb.Listener{ID: "l", Protocol: lb.ListenerTCP, Port: 9000, Tags: tags, Pool: p}
	}
	ours, theirs := pool(web.Tags()), pool(api.Tags())
	tests := []struct {
		name   string
		change func(*lb.LoadBalancer)
		want   bool
	}{
		{"nothing of another Service", func(*lb.LoadBalancer) {}, false},
		{"a pool of ours that no listener uses", func(l *lb.LoadBalancer) { l.DetachedPools = []lb.Pool{ours} }, false},
		{"a listener of another client", func(l *lb.LoadBalancer) { l.Listeners = append(l.Listeners, listener(nil, nil)) }, false},
		{"a listener of another Service, without a pool", func(l *lb.LoadBalancer) { l.Listeners = append(l.Listeners, listener(api.Tags(), nil)) }, true},
		{"a pool of another Service, with a listener of ours", func(l *lb.LoadBalancer) { l.Listeners = append(l.Listeners, listener(web.Tags(), &theirs)) }, true},
		{"a pool of another Service, with no listener", func(l *lb.LoadBalancer) { l.DetachedPools = []lb.Pool{theirs} }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := cloudWith(usual()).observe().LoadBalancer
			tt.change(l)
			if got := Shared(*l, web); got != tt.want {
				t.Errorf("shared: %t, want %t", got, tt.want)
			}
		})
	}
}

// joined is observed when the Service has its ports on a load balancer of another Service, which has port 9000.
func joined(t *testing.T) lb.Observed {
	t.Helper()
	c := sharedCloud()
	(&convergence{reporter: t, cloud: c, wanted: usual(sharer)}).converge()
	return c.observe()
}

func TestASharerThatLeavesDeletesOnlyPoolsThatNothingElseUses(t *testing.T) {
	const theirs, first, second = 0, 1, 2 // listeners
	tests := []struct {
		name   string
		change func(*lb.LoadBalancer)
		// want are the pools that are deleted, by the listeners that had them, or their ids.
		want []string
	}{
		{"a pool for each port", func(*lb.LoadBalancer) {}, []string{"first", "second"}},
		{"a pool that a listener of another Service uses, too", func(l *lb.LoadBalancer) { l.Listeners[theirs].Pool = l.Listeners[first].Pool }, []string{"second"}},
		{"one pool for both ports", func(l *lb.LoadBalancer) { l.Listeners[second].Pool = l.Listeners[first].Pool }, []string{"first"}},
		{"a port without a pool", func(l *lb.LoadBalancer) { l.Listeners[second].Pool = nil }, []string{"first"}},
		{"pools that no listener uses", func(l *lb.LoadBalancer) {
			l.DetachedPools = []lb.Pool{{ID: "ours", Tags: web.Tags()}, {ID: "of another Service", Tags: api.Tags()}, {ID: "of another client"}}
		}, []string{"first", "second", "ours"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := joined(t)
			names := map[string]string{o.LoadBalancer.Listeners[first].Pool.ID: "first", o.LoadBalancer.Listeners[second].Pool.ID: "second"}
			tt.change(o.LoadBalancer)
			var listeners int
			var got []string
			for _, op := range New(usual(nothing), o, web).Ops {
				switch op := op.(type) {
				case DeleteListener:
					listeners++
				case DeletePool:
					name, known := names[op.ID]
					if !known {
						name = op.ID
					}
					got = append(got, name)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("deleted pools (-want +got):\n%s", d)
			}
			if listeners != 2 {
				t.Errorf("%d listeners are deleted, want the two of the Service", listeners)
			}
		})
	}
}

func TestASharerThatLeavesMarksTheDeletionOfAPoolInError(t *testing.T) {
	o := joined(t)
	o.LoadBalancer.Listeners[1].Pool.ProvisioningStatus = lb.Error
	var got []bool
	for _, op := range New(usual(nothing), o, web).Ops {
		if deletion, ok := op.(DeletePool); ok {
			got = append(got, deletion.Failed)
		}
	}
	if d := cmp.Diff([]bool{true, false}, got); d != "" {
		t.Errorf("failed (-want +got):\n%s", d)
	}
}

func TestFloatingIPsOfASharedLoadBalancerAreDescribedByItsOwnerOnly(t *testing.T) {
	port := lb.VIP{PortID: "vip"}
	kept := usual(nothing, keepFloatingIP)
	attached := lb.FloatingIP{ID: "f", Address: "198.51.100.1", PortID: "vip", Description: web.FloatingIPDescription()}
	with := func(change func(*lb.FloatingIP)) lb.FloatingIP {
		f := attached
		change(&f)
		return f
	}
	describe := AssociateFloatingIP{ID: "f", Address: "198.51.100.1", PortID: "vip", Description: web.KeptFloatingIPDescription()}
	tests := []struct {
		name     string
		owner    string // whose load balancer it is
		vip      lb.VIP
		floating lb.FloatingIP
		want     []Op
	}{
		{"our load balancer", web.ServiceTag(), port, attached, []Op{describe}},
		{"with a custom tag", web.ServiceTag(), port, with(func(f *lb.FloatingIP) { f.Tags = lb.WithCustom([]string{"by-hand"}, []string{"a"}) }),
			[]Op{SetFloatingIPTags{ID: "f", Address: "198.51.100.1", Tags: []string{"by-hand"}}, describe}},
		{"the load balancer of another Service", api.ServiceTag(), port, attached, nil},
		{"a floating IP of another port", web.ServiceTag(), port, with(func(f *lb.FloatingIP) { f.PortID = "elsewhere" }), nil},
		{"a detached one, while the port is not known", web.ServiceTag(), lb.VIP{}, with(func(f *lb.FloatingIP) { f.PortID = "" }), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := lb.Observed{
				LoadBalancer: &lb.LoadBalancer{ID: "shared", ProvisioningStatus: lb.PendingUpdate, VIP: tt.vip, Tags: []string{tt.owner, "kube_service_kubernetes_shop_third"}},
				FloatingIPs:  []lb.FloatingIP{tt.floating},
			}
			if d := cmp.Diff(written(t, tt.want), written(t, New(kept, o, web).Ops)); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
		})
	}
}

func TestPoolsThatOctaviaLeftBehindAreDeletedOnlyIfTheyAreOurs(t *testing.T) {
	o := observedComplete(t)
	for _, p := range []lb.Pool{{ID: "ours", Tags: web.Tags()}, {ID: "of another Service", Tags: api.Tags()}, {ID: "of another client", Name: "canary"}} {
		p.ProvisioningStatus = lb.PendingCreate
		o.LoadBalancer.DetachedPools = append(o.LoadBalancer.DetachedPools, p)
	}
	want := []Op{DeletePool{ID: "ours", LeftBehind: true}}
	if d := cmp.Diff(written(t, want), written(t, New(usual(), o, web).Ops)); d != "" {
		t.Errorf("ops (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"ours"}, UnfinishedIDs(*o.LoadBalancer, web)); d != "" {
		t.Errorf("unfinished (-want +got):\n%s", d)
	}
}

func TestUnfinishedPartsAreThoseOfOurListenersAndPools(t *testing.T) {
	l := *cloudWith(usual(monitored(lb.MonitorTCP))).observe().LoadBalancer
	listener := &l.Listeners[0]
	listener.ProvisioningStatus, listener.Pool.ProvisioningStatus = lb.PendingUpdate, lb.PendingCreate
	listener.Pool.Monitor.ProvisioningStatus = lb.PendingCreate
	listener.Pool.Members[1].ID, listener.Pool.Members[1].ProvisioningStatus = "member", lb.PendingDelete
	l.Listeners[1].Pool = nil
	theirs := lb.Pool{ID: "of another Service", Tags: api.Tags(), ProvisioningStatus: lb.PendingCreate}
	l.Listeners = append(l.Listeners, lb.Listener{ID: "theirs", Tags: api.Tags(), ProvisioningStatus: lb.PendingCreate, Pool: &theirs})
	l.DetachedPools = []lb.Pool{theirs, {ID: "detached", Tags: web.Tags(), ProvisioningStatus: lb.PendingCreate}, {ID: "done", Tags: web.Tags(), ProvisioningStatus: lb.Active}}
	want := []string{listener.ID, listener.Pool.ID, listener.Pool.Monitor.ID, "member", "detached"}
	if d := cmp.Diff(want, UnfinishedIDs(l, web)); d != "" {
		t.Errorf("ids (-want +got):\n%s", d)
	}
	if slices.Contains(want, "") {
		t.Errorf("the parts have no ids: %q", want)
	}
}

// Every load balancer of the tests has the tags with which kube-octavia recognizes security groups that it set.
func TestASharerNeverChangesTheSecurityGroupsOfTheVIP(t *testing.T) {
	tests := []struct {
		name      string
		requested []edit
	}{
		{"it requests others", []edit{sharer, groups("mine")}},
		{"it requests none", []edit{sharer, sourceRanges("0.0.0.0/0")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := joined(t)
			o.LoadBalancer.VIPSecurityGroups = []string{"of the owner"}
			o.LoadBalancer.Tags = lb.WithVIPGroups(o.LoadBalancer.Tags, o.LoadBalancer.VIPSecurityGroups)
			for _, op := range New(usual(tt.requested...), o, web).Ops {
				if _, sets := op.(SetVIPSecurityGroups); sets {
					t.Errorf("planned: %s", op)
				}
			}
		})
	}
}

func TestASharerAddsOnlyTheTagsThatAreWanted(t *testing.T) {
	o := joined(t)
	o.LoadBalancer.Tags = api.Tags()
	wanted := usual(sharer)
	wanted.LoadBalancer.Tags = nil
	if ops := New(wanted, o, web).Ops; len(ops) > 0 {
		t.Errorf("planned: %v", texts(ops))
	}
}

func TestAPoolThatListenersShareIsReplacedForOursAndStaysForTheOther(t *testing.T) {
	shared := func(o *lb.Observed, tags []string) {
		p := *o.LoadBalancer.Listeners[0].Pool
		o.LoadBalancer.Listeners = append(o.LoadBalancer.Listeners, lb.Listener{
			ID: "other", Name: "other", Protocol: lb.ListenerTCP, Port: 9000, Tags: tags, Pool: &p, ProvisioningStatus: lb.Active,
		})
	}
	tests := []struct {
		name string
		// change adds a listener that uses the pool of port 80, too.
		change func(*lb.Observed)
		wanted lb.Wanted
		want   []string
	}{
		{"with a listener of another Service, the pool is ours", func(o *lb.Observed) { shared(o, api.Tags()) }, usual(), nil},
		{"with a listener of ours that goes, the pool stays", func(o *lb.Observed) { shared(o, web.Tags()) }, usual(), []string{"DeleteListener other"}},
		{"our port goes, and the pool stays for the listener of another Service", func(o *lb.Observed) { shared(o, api.Tags()) },
			usual(ports(port(lb.TCP, 443, 30443))), []string{"DeleteListener 80"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := observedComplete(t)
			tt.change(&o)
			first := o.LoadBalancer.Listeners[0].ID
			var got []string
			for _, op := range New(tt.wanted, o, web).Ops {
				text := Kind(op)
				if deletion, ok := op.(DeleteListener); ok {
					text += " " + map[string]string{first: "80", "other": "other"}[deletion.ID]
				}
				got = append(got, text)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
		})
	}
}
