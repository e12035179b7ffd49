// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// web and secure are the ports of the Service in these tests.
var (
	web    = corev1.ServicePort{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}
	secure = corev1.ServicePort{Name: "secure", Port: 443, NodePort: 30443}
)

// endpointsOf are the EndpointSlices of a Service with one ready endpoint of each of the ports.
func endpointsOf(ports ...corev1.ServicePort) (all []discoveryv1.EndpointSlice) {
	for _, p := range ports {
		all = append(all, discoveryv1.EndpointSlice{
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(p.Name), Port: ptr.To(int32(8080)), Protocol: ptr.To(corev1.ProtocolTCP)}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.7"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		})
	}
	return all
}

func listenerOf(number int, members int, monitored bool) lb.Listener {
	pool := &lb.Pool{ID: fmt.Sprintf("pool-%d", number), ProvisioningStatus: lb.Active}
	for i := range members {
		pool.Members = append(pool.Members, lb.Member{Address: fmt.Sprintf("10.0.0.%d", i+1), Port: 30000 + number, Weight: 1})
	}
	if monitored {
		pool.Monitor = &lb.HealthMonitor{ID: "monitor"}
	}
	return lb.Listener{Protocol: lb.ListenerTCP, Port: number, Pool: pool}
}

// carrying is a pass over a Service with one port for each of the listeners, that all have endpoints and are as wanted.
func carrying(listeners ...lb.Listener) Pass {
	p := done()
	p.Observed.LoadBalancer.Listeners = listeners
	wanted := *p.Observed.LoadBalancer
	p.Traffic = Traffic{Known: true, Ports: []corev1.ServicePort{web, secure}[:len(listeners)], Wanted: &wanted, Slices: endpointsOf(web, secure)}
	return p
}

func TestServingTellsWhetherConnectionsReachSomething(t *testing.T) {
	two, none, watched := listenerOf(80, 2, false), listenerOf(80, 0, false), listenerOf(80, 2, true)
	change := func(p Pass, edits ...func(*Pass)) Pass {
		for _, edit := range edits {
			edit(&p)
		}
		return p
	}
	health := func(states ...string) func(*Pass) {
		return func(p *Pass) {
			p.setHealth(states...)
		}
	}
	noEndpoints := func(p *Pass) { p.Traffic.Slices = nil }
	local := func(p *Pass) { p.Traffic.Local = true }
	pods := func(p *Pass) { p.Traffic.Pods = true }
	state := func(s lb.ProvisioningStatus) func(*Pass) {
		return func(p *Pass) { p.Observed.LoadBalancer.ProvisioningStatus = s }
	}
	missing := func(p *Pass) { p.Observed.LoadBalancer = nil }
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, c := range map[string]struct {
		pass   Pass
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"members and endpoints, no monitor": {carrying(two), yes, ReasonNotMonitored, "nobody checks"},
		"members that pass their checks":    {change(carrying(watched), health("ONLINE")), yes, ReasonServing, "port 80/TCP: members pass"},
		"some members fail":                 {change(carrying(watched), health("DEGRADED")), yes, ReasonSomeMembersDown, "some members fail"},
		"all members fail":                  {change(carrying(watched), health("ERROR")), no, ReasonAllMembersDown, "all members fail"},
		"nodes without endpoints fail, with policy Local": {change(carrying(listenerOf(80, 2, true)), health("DEGRADED"), func(p *Pass) {
			p.Observed.LoadBalancer.Listeners[0].Pool.Members[1].MonitorPort = 30999
		}), yes, ReasonServing, ""},
		"the cloud has not reported yet":                {carrying(watched), unknown, ReasonHealthUnknown, "not reported"},
		"the cloud reports what says nothing":           {change(carrying(watched), health("OFFLINE")), unknown, ReasonHealthUnknown, ""},
		"the monitor is disabled":                       {change(carrying(listenerOf(80, 2, true)), func(p *Pass) { p.Observed.LoadBalancer.Listeners[0].Pool.Monitor.AdminDown = true }), yes, ReasonNotMonitored, ""},
		"no nodes":                                      {carrying(none), no, ReasonNoMembers, "no node is available"},
		"the last node has just left":                   {change(carrying(two), func(p *Pass) { p.Traffic.Wanted = &lb.LoadBalancer{Listeners: []lb.Listener{none}} }), no, ReasonNoMembers, "no node is available"},
		"no nodes and no endpoints":                     {change(carrying(none), noEndpoints), no, ReasonNoMembers, ""},
		"no nodes, before there is a load balancer":     {change(carrying(none), missing), no, ReasonNoMembers, "no node is available"},
		"no endpoints":                                  {change(carrying(two), noEndpoints), no, ReasonNoEndpoints, "no endpoint is ready"},
		"no endpoints, members that pass their checks":  {change(carrying(watched), health("ONLINE"), noEndpoints), no, ReasonNoEndpoints, ""},
		"no endpoints, before there is a load balancer": {change(carrying(two), missing, noEndpoints), no, ReasonNotProgrammed, "no port is open yet"},
		"policy Local without endpoints":                {change(carrying(none), local, noEndpoints), no, ReasonNoEndpoints, ""},
		"policy Local, the endpoint's node has left":    {change(carrying(none), local), no, ReasonNoMembers, "no member leads to one"},
		"policy Local, being created without endpoints": {change(carrying(none), local, noEndpoints, missing), no, ReasonNotProgrammed, ""},
		"policy Local, endpoints of another port":       {change(carrying(two), local, func(p *Pass) { p.Traffic.Slices = endpointsOf(secure) }), no, ReasonNoEndpoints, ""},
		"Pods, none is ready":                           {change(carrying(none), pods, noEndpoints), no, ReasonNoEndpoints, ""},
		"Pods that are in no subnet of members":         {change(carrying(none), pods), no, ReasonNoMembers, ""},
		"Pods that wait for their readiness gates":      {change(carrying(two), pods, noEndpoints), yes, ReasonNotMonitored, ""},
		"members could not be written":                  {change(carrying(none), func(p *Pass) { p.Traffic.Wanted = &lb.LoadBalancer{Listeners: []lb.Listener{two}} }), no, ReasonNoMembers, "no members yet"},
		"endpoints of the other IP family":              {change(carrying(two), func(p *Pass) { p.Traffic.Slices[0].AddressType = discoveryv1.AddressTypeIPv6 }), no, ReasonNoEndpoints, ""},
		"endpoints that are not ready": {change(carrying(two), func(p *Pass) {
			p.Traffic.Slices[0].Endpoints[0].Conditions.Ready = ptr.To(false)
		}), no, ReasonNoEndpoints, ""},
		"endpoints that end and still serve": {change(carrying(two), func(p *Pass) {
			p.Traffic.Slices[0].Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
		}), yes, ReasonNotMonitored, ""},
		"Octavia is creating it":                                {change(carrying(two), state(lb.PendingCreate)), no, ReasonNotProgrammed, ""},
		"Octavia is changing it":                                {change(carrying(two), state(lb.PendingUpdate)), yes, ReasonNotMonitored, ""},
		"it is in ERROR":                                        {change(carrying(two), state(lb.Error)), unknown, ReasonNotProgrammed, "in ERROR"},
		"it has no listeners yet":                               {change(carrying(two), func(p *Pass) { p.Observed.LoadBalancer.Listeners = nil }), no, ReasonNotProgrammed, ""},
		"one of two ports has no endpoints":                     {change(carrying(two, listenerOf(443, 2, false)), func(p *Pass) { p.Traffic.Slices = endpointsOf(web) }), no, ReasonNoEndpoints, "port 443/TCP:"},
		"one of two ports is down":                              {change(carrying(watched, listenerOf(443, 2, true)), health("ONLINE", "ERROR")), no, ReasonAllMembersDown, "port 443/TCP:"},
		"both ports have no endpoints":                          {change(carrying(two, listenerOf(443, 2, false)), noEndpoints), no, ReasonNoEndpoints, "ports 80/TCP, 443/TCP:"},
		"a port that is not open yet":                           {change(carrying(two), func(p *Pass) { p.Traffic.Ports = append(p.Traffic.Ports, secure) }), yes, ReasonNotMonitored, ""},
		"the port of another Service on a shared load balancer": {change(carrying(two), func(p *Pass) { p.Traffic.Owner.Sharer = true }), no, ReasonNotProgrammed, ""},
		"a working load balancer that is being replaced": {change(carrying(two), func(p *Pass) {
			old := *p.Observed.LoadBalancer
			p.Observed.Predecessor, p.Observed.LoadBalancer = &old, &lb.LoadBalancer{ID: "new", ProvisioningStatus: lb.PendingCreate}
		}), yes, ReasonNotMonitored, ""},
		"a failed one that is being replaced": {change(carrying(two), func(p *Pass) {
			p.Observed.Predecessor = &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Error}
		}), yes, ReasonNotMonitored, ""},
		"only observed": {change(carrying(two), func(p *Pass) { p.OnlyObserved = true }), yes, ReasonNotMonitored, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := find(t, after(c.pass), Serving)
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
				t.Errorf("%+v, want %s %s that says %q", got, c.status, c.reason, c.says)
			}
		})
	}
}

// setHealth sets the operating statuses of the pools.
func (p *Pass) setHealth(states ...string) {
	p.Traffic.PoolHealth = map[string]string{}
	for i, s := range states {
		p.Traffic.PoolHealth[p.Observed.LoadBalancer.Listeners[i].Pool.ID] = s
	}
}

func TestTheFirstEndpointIsNoWarningBeforeItsMemberIsThere(t *testing.T) {
	on := func(edits ...func(*Pass)) Pass {
		p := carrying(listenerOf(80, 0, false))
		p.Traffic.Local = true
		p.Traffic.Wanted.Listeners = []lb.Listener{listenerOf(80, 1, false)}
		for _, edit := range edits {
			edit(&p)
		}
		return p
	}
	for name, c := range map[string]struct {
		pass Pass
		want string // "" is the reason before
	}{
		"the member is on the way":             {on(), ""},
		"the write of the member failed":       {on(func(p *Pass) { p.Err = errors.New("409") }), ReasonNoMembers},
		"the write of the member is overdue":   {on(func(p *Pass) { p.Late = true }), ReasonNoMembers},
		"no node of an endpoint can be member": {on(func(p *Pass) { p.Traffic.Wanted.Listeners = []lb.Listener{listenerOf(80, 0, false)} }), ReasonNoMembers},
		"the member is there": {on(func(p *Pass) {
			p.Observed.LoadBalancer.Listeners = p.Traffic.Wanted.Listeners
		}), ReasonNotMonitored},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []string{ReasonNoEndpoints, ReasonNotProgrammed} {
				conditions := withServing([]metav1.Condition{{Type: Serving, Status: metav1.ConditionFalse, Reason: before}}, 1, c.pass)
				want := c.want
				if want == "" {
					want = before
				}
				if got := meta.FindStatusCondition(conditions, Serving).Reason; got != want {
					t.Errorf("after %s the reason is %s, want %s", before, got, want)
				}
			}
		})
	}
}

func TestWhatIsNotKnownLeavesConditionServing(t *testing.T) {
	down := carrying(listenerOf(80, 2, true))
	down.setHealth("ERROR")
	unknown := carrying(listenerOf(80, 2, true))
	unread, leaving := Pass{Err: silence}, unknown
	leaving.Leaving = true
	for name, p := range map[string]Pass{"the cloud was not read": unread, "a restart forgot the health": unknown, "it is being deleted": leaving} {
		t.Run(name, func(t *testing.T) {
			if got := find(t, after(down, p), Serving); got.Reason != ReasonAllMembersDown {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEachChangeOfServingIsOneEvent(t *testing.T) {
	no, yes, watched := carrying(listenerOf(80, 0, false)), carrying(listenerOf(80, 2, false)), func(state string) Pass {
		p := carrying(listenerOf(80, 2, true))
		p.setHealth(state)
		return p
	}
	idle := carrying(listenerOf(80, 2, false))
	idle.Traffic.Slices = nil
	creating := carrying(listenerOf(80, 2, true))
	creating.Observed.LoadBalancer, creating.Done = nil, false
	early := carrying(listenerOf(80, 0, false))
	early.Observed.LoadBalancer, early.Done = nil, false
	for name, c := range map[string]struct {
		passes []Pass
		want   []string
	}{
		"the last node leaves and comes back": {[]Pass{yes, no, no, yes, yes}, []string{"", "Warning UnAvailableLoadBalancer", "", "Normal Serving", ""}},
		"there is no node from the start":     {[]Pass{early, no}, []string{"Warning UnAvailableLoadBalancer", ""}},
		"the last Pod ends":                   {[]Pass{yes, idle, yes}, []string{"", "Warning NoEndpoints", "Normal Serving"}},
		"members fail one by one and recover": {
			[]Pass{creating, watched("OFFLINE"), watched("ONLINE"), watched("DEGRADED"), watched("ERROR"), watched("DEGRADED"), watched("ONLINE")},
			[]string{"", "", "Normal Serving", "Warning SomeMembersDown", "Warning AllMembersDown", "Normal SomeMembersDown", "Normal Serving"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			var conditions []metav1.Condition
			for _, p := range c.passes {
				next, line := Conditions(conditions, 1, p), ""
				for _, e := range Events(conditions, next) {
					if e.Reason != ReasonProgrammed && e.Reason != ReasonCreating {
						line += e.Type + " " + e.Reason
					}
				}
				lines, conditions = append(lines, line), next
			}
			if diff := cmp.Diff(c.want, lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHealthOfTheCloudRequestsAPassOnlyIfItIsNews(t *testing.T) {
	const noMonitor = "no monitor"
	for name, c := range map[string]struct {
		reason string
		pools  []string
		want   bool
	}{
		"as it was":                       {ReasonServing, []string{"ONLINE"}, false},
		"a pool fails":                    {ReasonServing, []string{"ONLINE", "ERROR"}, true},
		"another pool degrades as well":   {ReasonAllMembersDown, []string{"DEGRADED", "ERROR"}, false},
		"it recovers":                     {ReasonAllMembersDown, []string{"ONLINE"}, true},
		"the first report":                {ReasonHealthUnknown, []string{"ONLINE"}, true},
		"nothing was reported yet":        {ReasonHealthUnknown, []string{"OFFLINE"}, false},
		"a pool says nothing":             {ReasonServing, []string{"OFFLINE"}, false},
		"there are no members":            {ReasonNoMembers, []string{"ONLINE"}, false},
		"there are no endpoints":          {ReasonNoEndpoints, []string{"ERROR"}, false},
		"its monitor was not known":       {ReasonNotMonitored, []string{"ONLINE"}, true},
		"there are no pools with monitor": {ReasonServing, nil, false},
		"another pool has no monitor":     {ReasonNotMonitored, []string{"ONLINE", noMonitor}, false},
		"one fails beside that":           {ReasonNotMonitored, []string{"ERROR", noMonitor}, true},
	} {
		t.Run(name, func(t *testing.T) {
			operating := map[string]string{}
			var pools []lb.Pool
			for i, is := range c.pools {
				pool := *listenerOf(i, 2, is != noMonitor).Pool
				pools, operating[pool.ID] = append(pools, pool), is
			}
			if got := HealthDiffers([]metav1.Condition{{Type: Serving, Reason: c.reason}}, pools, operating); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	pool := *listenerOf(80, 2, true).Pool
	if HealthDiffers(nil, []lb.Pool{pool}, map[string]string{pool.ID: "ERROR"}) {
		t.Error("a Service without the condition gets it by its next pass")
	}
}

func TestAServiceThatStaysAsItIsIsNotWrittenForCondition(t *testing.T) {
	p := carrying(listenerOf(80, 2, false))
	first := after(p)
	p.Observed.LoadBalancer.Listeners[0] = listenerOf(80, 3, false)
	if diff := cmp.Diff(first, Conditions(first, 1, p)); diff != "" {
		t.Errorf("another node changed the conditions (-before +after):\n%s", diff)
	}
}
