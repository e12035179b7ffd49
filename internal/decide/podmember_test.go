// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// podPool is a pool with one member for each Pod, in this operating status.
func podPool(monitored bool, status string, pods ...string) *lb.Pool {
	p := &lb.Pool{}
	if monitored {
		p.Monitor = &lb.HealthMonitor{}
	}
	for _, pod := range pods {
		p.Members = append(p.Members, lb.Member{Name: pod, Address: "10.0.0." + pod[len(pod)-1:], ProvisioningStatus: lb.Active, OperatingStatus: status})
	}
	return p
}

func TestAMemberTakesTrafficWhenEachOfItsPoolsSendsIt(t *testing.T) {
	one := PodMember{"web-1", "10.0.0.1"}
	pending := podPool(false, "NO_MONITOR", "web-1")
	pending.Members[0].ProvisioningStatus = lb.PendingCreate
	stopped := podPool(true, "OFFLINE", "web-1")
	stopped.Monitor.AdminDown = true
	for name, c := range map[string]struct {
		pools []*lb.Pool
		tags  []string
		want  map[PodMember]bool
	}{
		"without a monitor":                 {pools: []*lb.Pool{podPool(false, "NO_MONITOR", "web-1")}, want: map[PodMember]bool{one: true}},
		"the monitor found it":              {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1")}, want: map[PodMember]bool{one: true}},
		"the monitor has not found it":      {pools: []*lb.Pool{podPool(true, "OFFLINE", "web-1")}, want: map[PodMember]bool{one: false}},
		"the monitor lost it":               {pools: []*lb.Pool{podPool(true, "ERROR", "web-1")}, want: map[PodMember]bool{one: false}},
		"the monitor is switched off":       {pools: []*lb.Pool{stopped}, want: map[PodMember]bool{one: true}},
		"being created":                     {pools: []*lb.Pool{pending}, want: map[PodMember]bool{one: false}},
		"in the first pool only":            {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1"), podPool(true, "OFFLINE", "web-1")}, want: map[PodMember]bool{one: false}},
		"in the second pool only":           {pools: []*lb.Pool{podPool(true, "OFFLINE", "web-1"), podPool(true, "ONLINE", "web-1")}, want: map[PodMember]bool{one: false}},
		"a member of one of two pools":      {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1"), podPool(true, "ONLINE")}, want: map[PodMember]bool{one: true}},
		"two Pods":                          {pools: []*lb.Pool{podPool(false, "", "web-1", "web-2")}, want: map[PodMember]bool{one: true, {"web-2", "10.0.0.2"}: true}},
		"a listener without a pool":         {pools: []*lb.Pool{nil}, want: map[PodMember]bool{}},
		"the listener is another Service's": {pools: []*lb.Pool{podPool(false, "", "web-1")}, tags: []string{"kube-octavia.service=uid-2"}, want: map[PodMember]bool{}},
	} {
		var l lb.LoadBalancer
		for _, p := range c.pools {
			l.Listeners = append(l.Listeners, lb.Listener{Pool: p, Tags: c.tags})
		}
		if diff := cmp.Diff(c.want, TakingTraffic(l, owner)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// waitingFacts returns facts about a complete load balancer whose only member is of a Pod, and whose desired state was
// reached, and Pods that wait.
func waitingFacts(status string, waiting map[string]bool) Facts {
	f := factsOf(web(), "10.0.0.11")
	f = f.with(f.built("lb-1"))
	pool := f.Record.Cloud.Observed.LoadBalancer.Listeners[0].Pool
	pool.Monitor, pool.Members = &lb.HealthMonitor{}, podPool(true, status, "web-1").Members
	f.Record.Progress.Reached = f.Desired.Wanted.Fingerprint()
	f.Desired.Input.Waiting = waiting
	return f
}

func TestStatusesAreReadInEachPassWhileAPodWaits(t *testing.T) {
	waits := map[string]bool{"web-1": true}
	for name, c := range map[string]struct {
		f    Facts
		want Need
	}{
		"a Pod waits":                        {waitingFacts("OFFLINE", waits), NeedStatusTree},
		"its member is remembered as ONLINE": {waitingFacts("ONLINE", waits), NeedStatusTree},
		"its gate is True":                   {waitingFacts("OFFLINE", map[string]bool{"web-1": false}), ""},
		"the Pod that waits is not a member": {waitingFacts("OFFLINE", map[string]bool{"web-2": true}), ""},
		"no Pod has a gate":                  {waitingFacts("OFFLINE", nil), ""},
	} {
		d := Decide(c.f)
		if d.Need != c.want {
			t.Errorf("%s: need %q, want %q", name, d.Need, c.want)
		}
		c.f.Provided = []Need{NeedStatusTree}
		if d = Decide(c.f); d.Need != "" || !d.Done {
			t.Errorf("%s: after the read need %q, done %t", name, d.Need, d.Done)
		}
	}
}

func TestAPassFollowsSoonWhileAPodWaitsForItsMember(t *testing.T) {
	waits := map[string]bool{"web-1": true}
	retry := waitingFacts("", nil).Timing.MemberRetry
	for name, c := range map[string]struct {
		status string
		waits  map[string]bool
		edit   func(*Facts)
		soon   bool
	}{
		"the monitor has not found it": {"OFFLINE", waits, nil, true},
		"it takes traffic":             {"ONLINE", waits, nil, false},
		"no Pod waits":                 {"OFFLINE", map[string]bool{"web-1": false}, nil, false},
		"another Pod waits":            {"OFFLINE", map[string]bool{"web-2": true}, nil, false},
		"Octavia is working":           {"OFFLINE", waits, func(f *Facts) { f.loadBalancer().ProvisioningStatus = lb.PendingUpdate }, false},
		"another load balancer serves": {"OFFLINE", waits, func(f *Facts) { f.Record.Cloud.Observed.Predecessor = &lb.LoadBalancer{} }, false},
		"no load balancer":             {"OFFLINE", waits, func(f *Facts) { f.Record.Cloud.Observed.LoadBalancer = nil }, false},
	} {
		f := waitingFacts(c.status, c.waits)
		if c.edit != nil {
			c.edit(&f)
		}
		d := Decision{Record: f.Record, Done: true}
		d.Goal.Input = f.Desired.Input
		wait, err := Next(f, d, Outcome{})
		if is := wait >= retry && wait <= retry+retry/5; is != c.soon || err != nil {
			t.Errorf("%s: %v, %v", name, wait, err)
		}
		d.Delay = 10 * retry
		if wait, _ = Next(f, d, Outcome{}); wait < 10*retry != c.soon {
			t.Errorf("%s: %v although the rest may wait for %v", name, wait, d.Delay)
		}
	}
}

func TestTrafficIsKnownOnlyFromAStatusTreeOfThisPass(t *testing.T) {
	f := waitingFacts("ONLINE", nil)
	if got := f.TakingTraffic(lb.Wanted{}); got != nil {
		t.Errorf("without a read: %v", got)
	}
	f.Provided = []Need{NeedStatusTree}
	if diff := cmp.Diff(map[PodMember]bool{{"web-1", "10.0.0.1"}: true}, f.TakingTraffic(lb.Wanted{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Preview = true
	if got := f.TakingTraffic(lb.Wanted{}); got != nil {
		t.Errorf("in a preview: %v", got)
	}
}

func TestAPodTakesNoTrafficWhileAPoolLacksIt(t *testing.T) {
	f := waitingFacts("ONLINE", nil)
	f.Provided = []Need{NeedStatusTree}
	one := PodMember{"web-1", "10.0.0.1"}
	have := f.loadBalancer().Listeners[0]
	other := lb.Listener{Protocol: lb.ListenerTCP, Port: 443, Pool: podPool(false, "")}
	f.loadBalancer().Listeners = append(f.loadBalancer().Listeners, other)
	both := lb.Wanted{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{have, {Protocol: lb.ListenerTCP, Port: 443, Pool: podPool(false, "", "web-1")}}}}
	if diff := cmp.Diff(map[PodMember]bool{one: false}, f.TakingTraffic(both)); diff != "" {
		t.Errorf("one of two pools has it (-want +got):\n%s", diff)
	}
	f.loadBalancer().Listeners = f.loadBalancer().Listeners[:1]
	if diff := cmp.Diff(map[PodMember]bool{one: false}, f.TakingTraffic(both)); diff != "" {
		t.Errorf("a listener is missing (-want +got):\n%s", diff)
	}
	only := lb.Wanted{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{have}}}
	if diff := cmp.Diff(map[PodMember]bool{one: true}, f.TakingTraffic(only)); diff != "" {
		t.Errorf("all pools have it (-want +got):\n%s", diff)
	}
}
