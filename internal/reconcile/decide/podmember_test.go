// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// podPool is a pool with one member for each Pod, in this operating status.
func podPool(monitored bool, status string, pods ...string) *lb.Pool {
	p := &lb.Pool{}
	if monitored {
		p.Monitor = &lb.HealthMonitor{}
	}
	for _, pod := range pods {
		p.Members = append(p.Members, lb.Member{Name: pod, Address: "10.0.0." + pod[len(pod)-1:], Weight: 1, ProvisioningStatus: lb.Active, OperatingStatus: status})
	}
	return p
}

func TestAWantedMemberTakesTrafficWhenEachOfItsPoolsSendsIt(t *testing.T) {
	one := PodMember{"web-1", "10.0.0.1"}
	pending := podPool(false, "NO_MONITOR", "web-1")
	pending.Members[0].ProvisioningStatus = lb.PendingCreate
	stopped := podPool(true, "OFFLINE", "web-1")
	stopped.Monitor.AdminDown = true
	draining := podPool(true, "ONLINE", "web-1")
	draining.Members[0].Weight = 0
	old := podPool(true, "ONLINE", "old-1")
	for name, c := range map[string]struct {
		pools []*lb.Pool
		// wanted are the pools that are wanted instead.
		wanted []*lb.Pool
		tags   []string
		want   map[PodMember]bool
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
		"that member is to be added":        {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1"), podPool(true, "ONLINE")}, wanted: []*lb.Pool{podPool(true, "", "web-1"), podPool(true, "", "web-1")}, want: map[PodMember]bool{one: false}},
		"a listener is to be added":         {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1")}, wanted: []*lb.Pool{podPool(true, "", "web-1"), podPool(true, "", "web-1")}, want: map[PodMember]bool{one: false}},
		"a member of an earlier Pod":        {pools: []*lb.Pool{old}, wanted: []*lb.Pool{podPool(true, "", "web-1")}, want: map[PodMember]bool{one: true}},
		"it drains, and is wanted again":    {pools: []*lb.Pool{draining}, wanted: []*lb.Pool{podPool(true, "", "web-1")}, want: map[PodMember]bool{one: false}},
		"it is to be removed":               {pools: []*lb.Pool{podPool(true, "ONLINE", "web-1")}, wanted: []*lb.Pool{podPool(true, "")}, want: map[PodMember]bool{}},
		"two Pods":                          {pools: []*lb.Pool{podPool(false, "", "web-1", "web-2")}, want: map[PodMember]bool{one: true, {"web-2", "10.0.0.2"}: true}},
		"a listener without a pool":         {pools: []*lb.Pool{nil}, want: map[PodMember]bool{}},
		"its pool is to be added":           {pools: []*lb.Pool{nil}, wanted: []*lb.Pool{podPool(false, "", "web-1")}, want: map[PodMember]bool{one: false}},
		"the listener is another Service's": {pools: []*lb.Pool{podPool(false, "", "web-1")}, tags: []string{"kube-octavia.service=uid-2"}, want: map[PodMember]bool{one: false}},
	} {
		with := func(pools []*lb.Pool, tags []string) *lb.LoadBalancer {
			l := &lb.LoadBalancer{ProvisioningStatus: lb.Active}
			for i, p := range pools {
				l.Listeners = append(l.Listeners, lb.Listener{Protocol: lb.ListenerTCP, Port: i, Pool: p, Tags: tags})
			}
			return l
		}
		if c.wanted == nil {
			c.wanted = c.pools
		}
		f := Facts{Provided: []Need{NeedStatusTree}, Owner: claim.Owner{Identity: webOwner}}
		f.Record.Cloud.Observed.LoadBalancer = with(c.pools, c.tags)
		if diff := cmp.Diff(c.want, f.TakingTraffic(lb.Wanted{LoadBalancer: with(c.wanted, nil)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// waitingFacts returns facts about a complete load balancer whose only member is of a Pod, and whose desired state was
// reached, and Pods that wait.
func waitingFacts(status string, waiting map[string]bool, edits ...func(*lb.Pool)) Facts {
	f := factsOf(web(), "10.0.0.11")
	f = f.with(f.built("lb-1"))
	pool := f.Record.Cloud.Observed.LoadBalancer.Listeners[0].Pool
	pool.Monitor, pool.Members = &lb.HealthMonitor{}, podPool(true, status, "web-1").Members
	for _, edit := range edits {
		edit(pool)
	}
	f.Desired.Wanted.LoadBalancer.Listeners[0].Pool.Members = podPool(true, "", "web-1").Members
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
		"its member has an earlier name":     {waitingFacts("ONLINE", waits, func(p *lb.Pool) { p.Members[0].Name = "old-1" }), NeedStatusTree},
		"the pool lacks its member":          {waitingFacts("ONLINE", waits, func(p *lb.Pool) { p.Members = nil }), ""},
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
		"its weight is not written":    {"ONLINE", waits, func(f *Facts) { f.loadBalancer().Listeners[0].Pool.Members[0].Weight = 0 }, true},
		"the pool lacks its member":    {"OFFLINE", waits, func(f *Facts) { f.loadBalancer().Listeners[0].Pool.Members = nil }, false},
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
		d.Goal.Input, d.Goal.Wanted = f.Desired.Input, f.Desired.Wanted
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
	if got := f.TakingTraffic(f.Desired.Wanted); got != nil {
		t.Errorf("without a read: %v", got)
	}
	f.Provided = []Need{NeedStatusTree}
	if diff := cmp.Diff(map[PodMember]bool{{"web-1", "10.0.0.1"}: true}, f.TakingTraffic(f.Desired.Wanted)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Preview = true
	if got := f.TakingTraffic(f.Desired.Wanted); got != nil {
		t.Errorf("in a preview: %v", got)
	}
}
