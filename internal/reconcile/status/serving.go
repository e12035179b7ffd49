// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// The reasons of condition Serving.
const (
	// ReasonServing: each port has members that pass their health checks.
	ReasonServing = "Serving"
	// ReasonNotMonitored: each port has members, and endpoints behind them. No health monitor checks them.
	ReasonNotMonitored = "NotMonitored"
	// ReasonSomeMembersDown: some members of a port fail their health checks, and others pass them.
	ReasonSomeMembersDown = "SomeMembersDown"
	// ReasonAllMembersDown: all members of a port fail their health checks.
	ReasonAllMembersDown = "AllMembersDown"
	// ReasonNoEndpoints: no endpoint of a port is ready.
	ReasonNoEndpoints = "NoEndpoints"
	// ReasonNoMembers: a port has no members.
	ReasonNoMembers = "NoMembers"
	// ReasonHealthUnknown: the cloud has not reported yet whether the members pass their health checks.
	ReasonHealthUnknown = "HealthUnknown"
	// ReasonNotProgrammed: no port is open yet.
	ReasonNotProgrammed = "NotProgrammed"
)

// ReasonNoNodes is the reason of the event for a Service without members: that of Kubernetes' own controllers.
const ReasonNoNodes = "UnAvailableLoadBalancer"

// The operating statuses of pools that tell whether their members serve. Provider amphora and provider ovn set them alike:
// ERROR if no member passes its health checks, DEGRADED if some do not.
const (
	poolOnline   = "ONLINE"
	poolDegraded = "DEGRADED"
	poolError    = "ERROR"
)

// Traffic is what condition Serving depends on, beside the observed load balancer.
type Traffic struct {
	// Known reports whether the rest is known. Otherwise the condition stays as it is.
	Known bool
	// Ports are the ports of the Service, and Owner is its identity in the cloud.
	Ports []corev1.ServicePort
	Owner lb.Owner
	// Wanted is the wanted load balancer, or nil.
	Wanted *lb.LoadBalancer
	// Slices are the EndpointSlices of the Service. Pods reports whether Pods are members, and Local whether only nodes with
	// endpoints are.
	Slices      []discoveryv1.EndpointSlice
	Pods, Local bool
	// PoolHealth holds the last known operating statuses of pools, by their ids.
	PoolHealth map[string]string
}

// port is an open port of the Service, or one that is to be opened.
type port struct {
	corev1.ServicePort
	pool *lb.Pool
	// wanted is the number of members that the pool is to have.
	wanted int
}

func (p port) String() string { return fmt.Sprintf("%d/%s", p.Port, protocol(p.ServicePort)) }

func protocol(p corev1.ServicePort) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

func keyOf(p corev1.ServicePort) lb.ListenerKey {
	return lb.ListenerKey{Transport: lb.Transport(protocol(p)), Port: int(p.Port)}
}

// withServing adds condition Serving after the pass.
func withServing(conditions []metav1.Condition, generation int64, p Pass) []metav1.Condition {
	if !p.Traffic.Known || p.Leaving {
		return conditions
	}
	before := meta.FindStatusCondition(conditions, Serving)
	c := p.serving()
	if c.Reason == ReasonNoMembers && p.membersFollow() && before != nil && slices.Contains(withoutMembers, before.Reason) {
		return conditions // the first endpoint is there, and its member is on the way: that is no event of its own
	}
	if c.Reason == ReasonHealthUnknown && before != nil && slices.Contains(checked, before.Reason) {
		return conditions // what was known last counts until the cloud reports again
	}
	c.Type, c.ObservedGeneration, c.Message = Serving, generation, shorten(c.Message, longestMessage)
	meta.SetStatusCondition(&conditions, c)
	return conditions
}

// withoutMembers are the reasons that a Service may have before its first member.
var withoutMembers = []string{ReasonNoEndpoints, ReasonNotProgrammed}

// checked are the reasons that come from the cloud's health checks.
var checked = []string{ReasonServing, ReasonSomeMembersDown, ReasonAllMembersDown}

// HealthDiffers reports whether the operating statuses of the Service's pools say something else than its condition Serving.
// Of statuses that say nothing it is false, and so it is of a Service that does not serve for another reason.
func HealthDiffers(conditions []metav1.Condition, pools []lb.Pool, operating map[string]string) bool {
	c := meta.FindStatusCondition(conditions, Serving)
	if c == nil || c.Reason != ReasonHealthUnknown && c.Reason != ReasonNotMonitored && !slices.Contains(checked, c.Reason) {
		return false
	}
	reasons := map[string]bool{}
	for _, p := range pools {
		if Monitored(p) {
			reasons[healthOf(p, operating[p.ID])] = true
		} else {
			reasons[ReasonNotMonitored] = true
		}
	}
	i := slices.IndexFunc(order, func(reason string) bool { return reasons[reason] })
	return i >= 0 && order[i] != ReasonHealthUnknown && order[i] != c.Reason
}

// Monitored reports whether the cloud checks the members of the pool.
func Monitored(p lb.Pool) bool { return p.Monitor != nil && !p.Monitor.AdminDown }

func healthOf(p lb.Pool, operating string) (reason string) {
	switch operating {
	case poolOnline:
		return ReasonServing
	case poolDegraded:
		if slices.ContainsFunc(p.Members, func(m lb.Member) bool { return m.MonitorPort != 0 }) {
			return ReasonServing // with policy Local, nodes without endpoints have to fail
		}
		return ReasonSomeMembersDown
	case poolError:
		return ReasonAllMembersDown
	}
	return ReasonHealthUnknown
}

// order has the reasons that ports can have, the one that counts for the Service first.
var order = []string{ReasonNoMembers, ReasonNoEndpoints, ReasonAllMembersDown, ReasonHealthUnknown, ReasonSomeMembersDown, ReasonNotMonitored, ReasonServing}

// serving returns condition Serving without its type: the worst that is true of a port.
func (p Pass) serving() metav1.Condition {
	ports, open := p.trafficPorts()
	found := map[string][]port{}
	for _, one := range ports {
		reason := p.Traffic.reasonOf(one, open)
		found[reason] = append(found[reason], one)
	}
	if !open && len(found[ReasonNoMembers]) == 0 {
		return p.notOpen()
	}
	for _, reason := range order {
		if some := found[reason]; len(some) > 0 {
			return metav1.Condition{Status: statusOf(reason), Reason: reason, Message: p.Traffic.message(reason, some)}
		}
	}
	return p.notOpen()
}

func statusOf(reason string) metav1.ConditionStatus {
	switch reason {
	case ReasonServing, ReasonNotMonitored, ReasonSomeMembersDown:
		return metav1.ConditionTrue
	case ReasonHealthUnknown:
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

// membersFollow reports whether each open port has members or is about to get them, and nothing has failed on the way.
func (p Pass) membersFollow() bool {
	ports, open := p.trafficPorts()
	lacks := func(one port) bool { return one.wanted == 0 }
	return open && p.Err == nil && !p.Late && !slices.ContainsFunc(ports, lacks)
}

func (p Pass) notOpen() metav1.Condition {
	if l := p.Observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Error {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: ReasonNotProgrammed,
			Message: fmt.Sprintf("load balancer %s is in ERROR, so it is not known whether it serves; see condition %s", l.ID, Programmed)}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonNotProgrammed, Message: "no port is open yet; see condition " + Programmed}
}

// carrier returns the load balancer that has the clients, or nil. While a working load balancer is replaced, that is the old one.
func (p Pass) carrier() *lb.LoadBalancer {
	for _, l := range []*lb.LoadBalancer{p.Observed.Predecessor, p.Observed.LoadBalancer} {
		if l != nil && (l.ProvisioningStatus == lb.Active || l.ProvisioningStatus == lb.PendingUpdate) {
			return l
		}
	}
	return nil
}

// trafficPorts returns the Service's open ports. If there are none, it returns those that are to be opened.
func (p Pass) trafficPorts() (ports []port, open bool) {
	wanted := poolsByPort(p.Traffic.Wanted, func(lb.Listener) bool { return true })
	found := poolsByPort(p.carrier(), p.Traffic.Owner.OwnsListener)
	for _, one := range p.Traffic.Ports {
		pool, is := found[keyOf(one)]
		if !is {
			continue
		}
		next := port{ServicePort: one, pool: pool, wanted: len(pool.Members)}
		if w := wanted[keyOf(one)]; w != nil && !p.OnlyObserved {
			next.wanted = len(w.Members)
		}
		ports = append(ports, next)
	}
	if len(ports) > 0 {
		return ports, true
	}
	for _, one := range p.Traffic.Ports {
		if pool := wanted[keyOf(one)]; pool != nil {
			ports = append(ports, port{ServicePort: one, pool: pool, wanted: len(pool.Members)})
		}
	}
	return ports, false
}

func poolsByPort(l *lb.LoadBalancer, is func(lb.Listener) bool) map[lb.ListenerKey]*lb.Pool {
	pools := map[lb.ListenerKey]*lb.Pool{}
	if l == nil {
		return pools
	}
	for _, listener := range l.Listeners {
		if listener.Protocol == lb.ListenerPrometheus || !is(listener) {
			continue
		}
		pool := listener.Pool
		if pool == nil {
			pool = &lb.Pool{}
		}
		pools[listener.Key()] = pool
	}
	return pools
}

// reasonOf returns the reason that a port has on its own. One that is not open has a reason only if no node could be its member.
func (t Traffic) reasonOf(p port, open bool) string {
	// Members that are about to be removed do not count.
	endpoints, none := t.hasEndpoints(p), len(p.pool.Members) == 0 || p.wanted == 0
	switch {
	case none && (endpoints || !t.follows()):
		return ReasonNoMembers
	case !open:
		return ReasonNotProgrammed
	case !endpoints && (none || !t.Pods): // a Pod may be a member before its endpoint is ready
		return ReasonNoEndpoints
	case !Monitored(*p.pool):
		return ReasonNotMonitored
	}
	return healthOf(*p.pool, t.PoolHealth[p.pool.ID])
}

// follows reports whether the members depend on the endpoints.
func (t Traffic) follows() bool { return t.Pods || t.Local }

// hasEndpoints reports whether the port has an endpoint that its members can reach: kube-proxy forwards within an IP family.
func (t Traffic) hasEndpoints(p port) bool {
	families := map[discoveryv1.AddressType]bool{}
	for _, m := range p.pool.Members {
		if address, err := netip.ParseAddr(m.Address); err == nil && address.Is4() {
			families[discoveryv1.AddressTypeIPv4] = true
		} else if err == nil {
			families[discoveryv1.AddressTypeIPv6] = true
		}
	}
	return slices.ContainsFunc(member.WithPortNames(t.Slices, t.Ports), func(s discoveryv1.EndpointSlice) bool {
		return (len(families) == 0 || families[s.AddressType]) && member.AnyEndpoint(s, p.ServicePort)
	})
}

// message describes a reason of ports. It has no numbers that change while the reason stays, so that the Service is not
// written for them.
func (t Traffic) message(reason string, some []port) string {
	names := make([]string, len(some))
	for i, one := range some {
		names[i] = one.String()
	}
	subject := "port " + names[0]
	if len(names) > 1 {
		subject = "ports " + strings.Join(names, ", ")
	}
	switch reason {
	case ReasonNoMembers:
		return subject + ": " + t.whyNoMembers(some)
	case ReasonNoEndpoints:
		return subject + ": no endpoint is ready, so nothing answers clients. Check the Pods that spec.selector matches, and targetPort"
	case ReasonAllMembersDown:
		return subject + ": all members fail their health checks, so nothing answers clients. Check the Pods, and whether " +
			"security groups and firewalls allow the traffic from the load balancer"
	case ReasonSomeMembersDown:
		return subject + ": some members fail their health checks; the others serve"
	case ReasonHealthUnknown:
		return subject + ": Octavia has not reported yet whether the members pass their health checks"
	case ReasonNotMonitored:
		return subject + ": there are members and ready endpoints. Without a health monitor, nobody checks whether the members respond"
	}
	return subject + ": members pass their health checks"
}

func (t Traffic) whyNoMembers(some []port) string {
	switch {
	case slices.ContainsFunc(some, func(p port) bool { return p.wanted > 0 }):
		return "the pool has no members yet; see condition " + Programmed
	case t.follows():
		return "there are endpoints, but no member leads to one: their nodes are excluded (label " + corev1.LabelNodeExcludeBalancers +
			"), are being deleted, have no address of the load balancer's IP family, or annotation " + annotation.NodeSelector + " does not match them"
	}
	return "no node is available: all are excluded (label " + corev1.LabelNodeExcludeBalancers +
		"), are being deleted, have no address of the load balancer's IP family, or annotation " + annotation.NodeSelector + " matches none"
}

// NotFollowed returns condition Serving for a Service that kube-octavia has stopped writing to.
func NotFollowed(generation int64) metav1.Condition {
	return metav1.Condition{Type: Serving, Status: metav1.ConditionUnknown, Reason: ReasonConflictingController, ObservedGeneration: generation,
		Message: "kube-octavia has stopped writing to this Service, so this condition is not kept up to date; see condition " + Programmed}
}

// servingEvent returns the event for a change of condition Serving, or false for none: while a Service is created, condition
// Programmed tells that.
func servingEvent(old, now *metav1.Condition) (Event, bool) {
	e := Event{Type: corev1.EventTypeWarning, Reason: now.Reason, Message: Note(now.Message)}
	switch now.Reason {
	case ReasonNotProgrammed, ReasonHealthUnknown, ReasonConflictingController:
		return Event{}, false
	case ReasonServing, ReasonNotMonitored:
		again := old != nil && slices.Contains([]string{ReasonNoMembers, ReasonNoEndpoints, ReasonAllMembersDown, ReasonSomeMembersDown, ReasonHealthUnknown}, old.Reason)
		e.Type, e.Reason = corev1.EventTypeNormal, ReasonServing
		return e, again
	case ReasonSomeMembersDown:
		if old != nil && old.Status == metav1.ConditionFalse && old.Reason != ReasonNotProgrammed {
			e.Type = corev1.EventTypeNormal // it serves again
		}
	case ReasonNoMembers:
		e.Reason = ReasonNoNodes
	}
	return e, true
}
