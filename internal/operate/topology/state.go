// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// Octavia's operating statuses.
const (
	online    = "ONLINE"
	degraded  = "DEGRADED"
	failed    = "ERROR"
	offline   = "OFFLINE"
	draining  = "DRAINING"
	noMonitor = "NO_MONITOR"
)

// statuses returns both statuses and the state that they mean together.
func statuses(provisioning lb.ProvisioningStatus, operating string) Statuses {
	s := Statuses{Provisioning: provisioning, Operating: operating}
	switch {
	case provisioning == lb.Error || operating == failed:
		s.State = Failed
	case provisioning.Pending():
		s.State = Pending
	case operating == degraded || operating == offline || operating == draining:
		s.State = Warning
	case operating == online:
		s.State = OK
	case operating == noMonitor:
		s.State = Unmonitored
	default:
		s.State = Unknown
	}
	return s
}

// passing are the reasons of condition Programmed that are temporary.
var passing = []string{
	status.ReasonCreating, status.ReasonUpdating, status.ReasonDeleting, status.ReasonReplacing, status.ReasonReplacingOnChange,
	status.ReasonChildrenNotActive, status.ReasonWaitingForGroup, status.ReasonReadyForAdoption, status.ReasonChangesOnAdoption,
}

// judge returns the state of a Service, and the reasons why it is not OK, the worst first.
func judge(service *corev1.Service, s Service) (State, []string) {
	type finding struct {
		state  State
		reason string
	}
	var found []finding
	is := func(state State, format string, args ...any) {
		found = append(found, finding{state, fmt.Sprintf(format, args...)})
	}
	if service.DeletionTimestamp != nil {
		is(Pending, "The Service is being deleted.")
	}
	judgeConditions(s, is)
	judgeLoadBalancer(s.LoadBalancer, is)
	judgeServing(s, is)
	judgeAnnotations(s, is)
	judgePlan(s, is)
	for _, r := range s.Plan.Refused {
		said := slices.ContainsFunc(found, func(f finding) bool { return strings.Contains(f.reason, r.Message) })
		if r.Reason != status.ReasonDrifted && r.Reason != status.ReasonWaitingForGroup && !said {
			is(Warning, "%s: %s", r.Reason, r.Message)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.state.badness(), a.state.badness()) })
	state, reasons := OK, []string{}
	for i, f := range found {
		if i == 0 {
			state = f.state
		}
		reasons = append(reasons, f.reason)
	}
	return state, reasons
}

func judgePlan(s Service, is func(State, string, ...any)) {
	switch p := s.Plan; {
	case !p.Known && s.LoadBalancer != nil && !s.LoadBalancer.MembersRead && s.LoadBalancer.Provisioning == lb.Active:
		is(Unknown, "The members were not read yet.")
	case !p.Known:
		is(Unknown, "There is no plan: %s.", strings.TrimSuffix(p.Why, "."))
	case p.Drift:
		is(Warning, "Drift: another client changed the load balancer. The plan shows what would restore it.")
	case len(p.Operations) == 1:
		is(Pending, "1 operation is pending.")
	case len(p.Operations) > 1:
		is(Pending, "%d operations are pending.", len(p.Operations))
	}
}

func judgeConditions(s Service, is func(State, string, ...any)) {
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == status.Programmed })
	switch {
	case i < 0:
		is(Unknown, "The Service has no condition %s: no controller has processed it.", status.Programmed)
	case s.Conditions[i].Status == string(metav1.ConditionTrue):
	case slices.Contains(passing, s.Conditions[i].Reason):
		is(Pending, "%s: %s", s.Conditions[i].Reason, s.Conditions[i].Message)
	case len(s.Addresses) > 0:
		is(Warning, "%s: %s", s.Conditions[i].Reason, s.Conditions[i].Message)
	default:
		is(Failed, "%s: %s", s.Conditions[i].Reason, s.Conditions[i].Message)
	}
}

// judgeServing adds the reasons of condition Serving, such as that no endpoint is ready. Its reason NotProgrammed only
// repeats condition Programmed.
func judgeServing(s Service, is func(State, string, ...any)) {
	for _, c := range s.Conditions {
		switch {
		case c.Type != status.Serving || c.Reason == status.ReasonNotProgrammed:
		case c.Status == string(metav1.ConditionFalse):
			is(Failed, "%s: %s", c.Reason, c.Message)
		case c.Reason == status.ReasonSomeMembersDown:
			is(Warning, "%s: %s", c.Reason, c.Message)
		}
	}
}

// judgeAnnotations adds the annotations that have no effect because their keys are unknown.
func judgeAnnotations(s Service, is func(State, string, ...any)) {
	for _, c := range s.Conditions {
		if c.Type == status.AnnotationsKnown && c.Status == string(metav1.ConditionFalse) {
			is(Warning, "%s: %s", c.Reason, c.Message)
		}
	}
}

func judgeLoadBalancer(l *LoadBalancer, is func(State, string, ...any)) {
	if l == nil {
		return
	}
	switch {
	case l.Provisioning == lb.Error:
		is(Failed, "The provisioning status of load balancer %s is ERROR.", l.ID)
	case l.Provisioning.Pending():
		is(Pending, "Octavia is changing load balancer %s (%s).", l.ID, l.Provisioning)
	}
	for _, p := range l.Pools {
		judgePool(l, p, is)
	}
	if l.Provisioning == lb.Active && (l.State == Failed || l.State == Warning) {
		is(l.State, "The operating status of load balancer %s is %s.", l.ID, l.Operating)
	}
}

func judgePool(l *LoadBalancer, p Pool, is func(State, string, ...any)) {
	var down []string
	for _, m := range p.Members {
		if m.State == Failed {
			down = append(down, m.display())
		}
	}
	all := len(p.Members)
	switch {
	case len(down) == 1 && all == 1:
		is(Failed, "The only member of %s is down: %s.", l.place(p), down[0])
	case len(down) > 0 && len(down) == all:
		is(Failed, "All %d members of %s are down.", all, l.place(p))
	case len(down) == 1:
		is(Warning, "1 of %d members of %s is down: %s.", all, l.place(p), down[0])
	case len(down) > 1:
		is(Warning, "%d of %d members of %s are down: %s.", len(down), all, l.place(p), some(down))
	case all == 0 && l.MembersRead:
		is(Warning, "There are no members for %s.", l.place(p))
	}
}

// unmonitored returns the ports with members that no health monitor checks.
func unmonitored(l *LoadBalancer) []string {
	ports := []string{}
	if l == nil {
		return ports
	}
	for _, p := range l.Pools {
		if slices.ContainsFunc(p.Members, func(m Member) bool { return m.State == Unmonitored }) {
			ports = append(ports, l.portsOf(p)...)
		}
	}
	return ports
}

// portsOf returns the ports whose default pool it is, such as 443/TCP.
func (b *LoadBalancer) portsOf(p Pool) []string {
	var ports []string
	for _, listener := range b.Listeners {
		if listener.PoolID == p.ID {
			ports = append(ports, fmt.Sprintf("%d/%s", listener.Port, listener.Protocol))
		}
	}
	return ports
}

// place describes the pool by its ports or, without ports, by its name.
func (b *LoadBalancer) place(p Pool) string {
	switch ports := b.portsOf(p); len(ports) {
	case 0:
		return "pool " + p.Name
	case 1:
		return "port " + ports[0]
	default:
		return "ports " + strings.Join(ports, ", ")
	}
}

// display returns the name of the member for users.
func (m Member) display() string { return cmp.Or(m.Name, m.Address) }

// some lists a few of the names, and the number of the others.
func some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}
