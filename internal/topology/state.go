// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
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

// statuses returns both statuses and what they mean together. An object without a health monitor counts as OK.
func statuses(provisioning lb.ProvisioningStatus, operating string) Statuses {
	s := Statuses{Provisioning: provisioning, Operating: operating}
	switch {
	case provisioning == lb.Error || operating == failed:
		s.State = Failed
	case provisioning.Pending():
		s.State = Pending
	case operating == degraded || operating == offline || operating == draining:
		s.State = Warning
	case operating == online || operating == noMonitor:
		s.State = OK
	default:
		s.State = Unknown
	}
	return s
}

// passing are reasons of condition Programmed with which the Service is on its way.
var passing = []string{
	status.ReasonCreating, status.ReasonUpdating, status.ReasonDeleting, status.ReasonReplacing, status.ReasonReplacingOnChange,
	status.ReasonChildrenNotActive, status.ReasonWaitingForGroup, status.ReasonReadyForAdoption, status.ReasonChangesOnAdoption,
}

// judge returns the state of a Service, and why it is not OK.
func judge(service *corev1.Service, s Service) (State, []string) {
	state, reasons := OK, []string{}
	is := func(as State, format string, args ...any) {
		state = worse(state, as)
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	if service.DeletionTimestamp != nil {
		is(Pending, "The Service is being deleted.")
	}
	judgeConditions(s, is)
	judgeServing(s, is)
	judgeLoadBalancer(s.LoadBalancer, is)
	switch p := s.Plan; {
	case !p.Known && s.LoadBalancer != nil && !s.LoadBalancer.MembersRead && s.LoadBalancer.Provisioning == lb.Active:
		is(Unknown, "The members were not read yet.")
	case !p.Known:
		is(Unknown, "There is no plan: %s.", p.Why)
	case p.Drift:
		is(Warning, "Drift: another client changed the load balancer. The plan shows what would restore it.")
	case len(p.Operations) == 1:
		is(Pending, "1 operation is pending.")
	case len(p.Operations) > 1:
		is(Pending, "%d operations are pending.", len(p.Operations))
	}
	for _, r := range s.Plan.Refused {
		said := slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(reason, r.Message) })
		if r.Reason != status.ReasonDrifted && r.Reason != status.ReasonWaitingForGroup && !said {
			is(Warning, "%s: %s", r.Reason, r.Message)
		}
	}
	return state, reasons
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

// judgeServing says what condition Serving knows, such as that no endpoint is ready. NotProgrammed repeats condition Programmed.
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

func judgeLoadBalancer(l *LoadBalancer, is func(State, string, ...any)) {
	if l == nil {
		return
	}
	switch {
	case l.Provisioning == lb.Error:
		is(Failed, "The provisioning status of load balancer %s is ERROR.", l.ID)
	case l.Provisioning.Pending():
		is(Pending, "Octavia is changing load balancer %s (%s).", l.ID, l.Provisioning)
	case l.State == Failed || l.State == Warning:
		is(l.State, "The operating status of load balancer %s is %s.", l.ID, l.Operating)
	}
	for _, p := range l.Pools {
		down := 0
		for _, m := range p.Members {
			if m.State == Failed {
				down++
			}
		}
		switch {
		case down > 0 && down == len(p.Members):
			is(Failed, "All %d members of pool %s are down.", down, p.Name)
		case down > 0:
			is(Warning, "%d of %d members of pool %s are down.", down, len(p.Members), p.Name)
		case len(p.Members) == 0 && l.MembersRead:
			is(Warning, "Pool %s has no members.", p.Name)
		}
	}
}
