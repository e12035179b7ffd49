// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status says what a Service's users are told: conditions, addresses
// and events, as functions of what a pass found out. Writing them is the
// controller's.
//
// It is pure apart from the types it takes: it imports annotation, build,
// diff, lb and openstack (for the classes of errors).
package status

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// The types of conditions on a Service.
const (
	// Accepted is whether the Service can be served as it is written.
	Accepted = "kube-octavia.io/Accepted"
	// Programmed is whether the cloud has everything that the Service wants.
	Programmed = "kube-octavia.io/Programmed"
)

// The reasons of conditions that are not refusals of the Service itself; those
// are build's and diff's.
const (
	ReasonAccepted    = "Accepted"
	ReasonProgrammed  = "Programmed"
	ReasonNotAccepted = "NotAccepted"
	// ReasonCertificateNotValid: clients refuse a certificate, which is used all the same.
	ReasonCertificateNotValid = "CertificateNotValid"
	ReasonCreating            = "Creating"
	ReasonUpdating            = "Updating"
	ReasonDeleting            = "Deleting"
	ReasonFailed              = "LoadBalancerFailed"
	// ReasonReplacing: another load balancer takes the place of one that failed.
	ReasonReplacing = "Replacing"
	// ReasonReplacingOnChange: another one takes the place of one that works, since the
	// Service asks for what that cannot be made.
	ReasonReplacingOnChange = "ReplacingOnChange"
	// ReasonReplacementFailed: that was tried often enough, and a person has to look.
	ReasonReplacementFailed = "ReplacementFailed"
	// ReasonAddressTaken: the address of a load balancer that was replaced is taken.
	ReasonAddressTaken = "AddressTaken"
	ReasonUnready      = "PartsNotReady"
	// ReasonReadyForAdoption: nothing is written, and all that would be is our tags.
	ReasonReadyForAdoption = "ReadyForAdoption"
	// ReasonChangesOnAdoption: nothing is written, and more would be than our tags.
	ReasonChangesOnAdoption = "ChangesOnAdoption"
	ReasonDrifted           = "Drifted"
	// ReasonWaitingForGroup: the load balancer of the group is made for another Service.
	ReasonWaitingForGroup = "WaitingForGroup"
	ReasonForeign         = "Foreign"
	ReasonQuota           = "QuotaExceeded"
	ReasonRejected        = "RejectedByCloud"
	ReasonUnauthorized    = "CloudUnauthorized"
	ReasonUnavailable     = "CloudUnavailable"
	// ReasonSecurityGroup: the security group of the nodes does not let the traffic in.
	ReasonSecurityGroup = "SecurityGroupNotOpen"
)

// The longest messages, in bytes: of an event what the API takes, of a condition
// what a person reads.
const (
	longestEvent   = 1000
	longestMessage = 4000
)

// shorten cuts a text that holds what a user or a cloud wrote at length.
func shorten(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	const more = " ..."
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

// Pass is what one pass over a Service found out.
type Pass struct {
	// Invalid is why the Service is refused, or nil.
	Invalid *build.Invalid
	// CertificateProblem says why clients may refuse the certificate that the Service has
	// made known, or "".
	CertificateProblem string
	// Unknown are annotations that look like ours and mean nothing here.
	Unknown []string
	// Observed is the cloud's state after the pass.
	Observed lb.Observed
	// External is whether a floating IP is wanted.
	External bool
	// Families are the Service's IP families, if the load balancer serves more than one.
	Families []corev1.IPFamily
	// Addresses says which addresses are published of one that has a floating IP.
	Addresses annotation.StatusAddresses
	// Hostname is published in place of the address, unless it is empty.
	Hostname string
	// ThroughLoadBalancer is whether what is sent to the address from within the cluster
	// must pass the load balancer. Then HostnameSuffix, unless it is empty, is what a host
	// name ends in that is made of the address and published in its place.
	ThroughLoadBalancer bool
	HostnameSuffix      string
	// Late is whether what is left has been left for so long that even an update of
	// members is to be told.
	Late bool
	// Leaving is whether the Service is not to have a load balancer any more.
	Leaving bool
	// OnlyObserved is whether nothing is written to the load balancer, nor to the
	// Service but its conditions: Left is what would be done otherwise.
	OnlyObserved bool
	// Left are the ops that are still to be done or whose end is awaited, and
	// Refused is what the state of the cloud forbids.
	Left    []diff.Op
	Refused []diff.Refusal
	// Unready says which parts of the load balancer Octavia has not made ready
	// although it has ended its work, or "".
	Unready string
	// Waits says for whom the Service waits that is to make the load balancer of its
	// group, or "".
	Waits string
	// Err is why the pass failed, or nil.
	Err error
	// Undecided is whether the pass failed before it was known if the Service
	// can be served as it is written. What was known of that before then stays.
	Undecided bool
	// Failed says what went wrong in Octavia with a load balancer that is now
	// being deleted or made anew, or "", and FailedReason is the condition's reason.
	Failed, FailedReason string
	// Replacing is whether one load balancer takes another one's place: what was
	// published is still the Service's address.
	Replacing bool
	// Beside is whether the load balancer is built beside another one, which has the
	// Service's address and no floating IP. Noted is the id that the Service is to bear, if
	// it is not that of the load balancer.
	Beside bool
	Noted  string
	// Steady is whether everything wanted but members was there before the
	// change that Octavia is working on.
	Steady bool
	// Done is whether everything wanted was seen in the cloud.
	Done bool
	// Unopened says what the security group of the nodes does not let in yet, or "", and
	// OpeningFailed whether that is since it could not be done.
	Unopened      string
	OpeningFailed bool
	// Drift are the ops that would repair what another client changed, and that
	// the Service's policy forbids.
	Drift []diff.Op
}

// Conditions returns the conditions of a Service after the pass, with those of
// others kept. It does not touch old.
func Conditions(old []metav1.Condition, generation int64, p Pass) []metav1.Condition {
	next := slices.Clone(old)
	if p.Invalid != nil || !p.Undecided {
		accepted := p.accepted()
		accepted.ObservedGeneration = generation
		meta.SetStatusCondition(&next, accepted)
	}
	was := meta.IsStatusConditionTrue(old, Programmed)
	if was && !p.OpeningFailed {
		// The group is looked at anew; what was open most likely is.
		p.Unopened = ""
	}
	if was && p.onlyMembers() {
		// Pools follow the nodes all the time; what the Service asks for is
		// there.
		return next
	}
	programmed := p.programmed()
	programmed.ObservedGeneration = generation
	programmed.Message = shorten(programmed.Message, longestMessage)
	if before := meta.FindStatusCondition(old, Programmed); before != nil && sameFailure(*before, programmed) {
		programmed.Message = before.Message
	}
	meta.SetStatusCondition(&next, programmed)
	return next
}

// callNotes are what differs between failures of the same kind: the id of the
// request and the patience asked for.
var callNotes = regexp.MustCompile(` \((request|retry after) [^)]*\)`)

// sameFailure reports whether b says what a said, of another call. The Service is
// not written again for that.
func sameFailure(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason &&
		callNotes.ReplaceAllString(a.Message, "") == callNotes.ReplaceAllString(b.Message, "")
}

func (p Pass) accepted() metav1.Condition {
	c := metav1.Condition{Type: Accepted, Status: metav1.ConditionTrue, Reason: ReasonAccepted,
		Message: "the Service can be served as it is written"}
	if len(p.Unknown) > 0 {
		c.Message += "; not known and without effect: " + strings.Join(p.Unknown, ", ")
	}
	if p.CertificateProblem != "" {
		// An expired one may be the lesser evil: it does not take the Service away.
		c.Reason = ReasonCertificateNotValid
		c.Message += "; " + p.CertificateProblem
	}
	if p.Invalid != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.Invalid.Reason, p.Invalid.Message
	} else if len(p.Refused) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.Refused[0].Reason, refusals(p.Refused)
	}
	c.Message = shorten(c.Message, longestMessage)
	return c
}

// onlyMembers reports whether the pass has nothing left to do but the membership
// of pools that are there, and the end of load balancers that nobody uses.
func (p Pass) onlyMembers() bool {
	if p.OnlyObserved || p.Invalid != nil || len(p.Refused) > 0 || len(p.Drift) > 0 || p.Err != nil || p.Unready != "" || p.Failed != "" || p.Done || p.Late || p.OpeningFailed {
		return false
	}
	if len(p.Left) == 0 && !p.Steady {
		return false
	}
	l := p.Observed.LoadBalancer
	for _, op := range p.Left {
		_, members := op.(diff.SetMembers)
		end, ends := op.(diff.DeleteLoadBalancer)
		if !members && (!ends || l == nil || end.ID == l.ID) {
			return false
		}
	}
	return l != nil && (l.ProvisioningStatus == lb.Active || l.ProvisioningStatus == lb.PendingUpdate)
}

func (p Pass) programmed() metav1.Condition {
	c := metav1.Condition{Type: Programmed, Status: metav1.ConditionFalse}
	l := p.Observed.LoadBalancer
	switch {
	case p.FailedReason == ReasonAddressTaken && p.Err != nil:
		c.Reason, c.Message = ReasonAddressTaken, p.Failed+": "+p.Err.Error()
	case p.Err != nil:
		c.Reason, c.Message = reason(p.Err), p.Err.Error()
		if p.Failed != "" {
			c.Message = p.Failed + "; " + c.Message
		}
	case p.Failed != "" && !p.unfinished():
		c.Reason, c.Message = cmp.Or(p.FailedReason, ReasonFailed), p.Failed
	case l != nil && l.ProvisioningStatus == lb.Error:
		c.Reason = ReasonFailed
		c.Message = fmt.Sprintf("load balancer %s is in ERROR; ask the cloud's operator for the reason, or delete the Service and create it again", l.ID)
	case p.Waits != "":
		c.Reason, c.Message = ReasonWaitingForGroup, p.Waits
	case p.OnlyObserved && (l == nil || !l.ProvisioningStatus.Pending()):
		c.Status = metav1.ConditionUnknown
		c.Reason, c.Message = p.prospect()
	case p.Invalid != nil:
		c.Reason, c.Message = ReasonNotAccepted, "no port is opened, changed or closed until the Service is right; see condition "+Accepted
	case len(p.Refused) > 0:
		c.Reason, c.Message = ReasonNotAccepted, "a part of what is wanted cannot be had; see condition "+Accepted
	case len(p.Drift) > 0:
		c.Reason, c.Message = ReasonDrifted, "another client changed what this Service has in the cloud, and its drift-policy leaves it so; to repair it: "+list(p.Drift)
	case l == nil && p.Done:
		c.Reason, c.Message = ReasonDrifted, "another client deleted the load balancer, and this Service's drift-policy leaves it so, until the Service is changed"
	case l == nil:
		c.Reason, c.Message = ReasonCreating, "the load balancer is yet to be created"
	case l.ProvisioningStatus == lb.PendingCreate:
		c.Reason, c.Message = ReasonCreating, fmt.Sprintf("Octavia is building load balancer %s", l.ID)
	case l.ProvisioningStatus == lb.PendingDelete:
		c.Reason, c.Message = ReasonDeleting, fmt.Sprintf("Octavia is deleting load balancer %s", l.ID)
	case p.Unready != "":
		c.Reason, c.Message = ReasonUnready, p.Unready
	case diff.Repairs(p.Left):
		c.Reason = ReasonUnready
		c.Message = fmt.Sprintf("Octavia left parts of load balancer %s unfinished, others take their place: %s", l.ID, p.progress())
	case !p.Done:
		c.Reason, c.Message = ReasonUpdating, p.progress()
	case p.Unopened != "":
		c.Reason, c.Message = ReasonSecurityGroup, p.Unopened
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonProgrammed
		c.Message = fmt.Sprintf("load balancer %s serves %s at %s", l.ID, ports(served(*l)), p.at())
	}
	return c
}

// prospect says what would be done for a Service that is only observed.
func (p Pass) prospect() (reason, message string) {
	const how = "with --adopt=observe nothing is written for this Service; with --adopt=tag "
	subject := "it"
	if l := p.Observed.LoadBalancer; l != nil {
		subject = "load balancer " + l.ID
	}
	switch {
	case len(p.Left) == 0:
		return ReasonReadyForAdoption, how + subject + " would be taken over, and nothing would be written to it"
	case diff.OnlyTags(p.Left):
		return ReasonReadyForAdoption, how + subject + " would be taken over as it is, by adding our tags to it"
	}
	return ReasonChangesOnAdoption, how + "this would be done: " + list(p.Left)
}

// unfinished reports whether the load balancer works, and what is left is that not all
// of its parts do: whatever failed before is over then.
func (p Pass) unfinished() bool {
	l := p.Observed.LoadBalancer
	if l == nil {
		return false
	}
	active := l.ProvisioningStatus == lb.Active
	return active && p.Unready != "" || (active || l.ProvisioningStatus == lb.PendingUpdate) && diff.Repairs(p.Left)
}

func (p Pass) progress() string {
	switch len(p.Left) {
	case 0:
		return fmt.Sprintf("Octavia is changing load balancer %s", p.Observed.LoadBalancer.ID)
	case 1:
		return p.Left[0].String()
	}
	return fmt.Sprintf("%s (%d more to do)", p.Left[0], len(p.Left)-1)
}

func list(ops []diff.Op) string {
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = op.String()
	}
	return strings.Join(texts, "; ")
}

// served is how many ports of the load balancer lead to nodes; one for metrics does not.
func served(l lb.LoadBalancer) (n int) {
	for _, listener := range l.Listeners {
		if listener.Protocol != lb.ListenerPrometheus {
			n++
		}
	}
	return n
}

func ports(n int) string {
	if n == 1 {
		return "1 port"
	}
	return fmt.Sprintf("%d ports", n)
}

func refusals(all []diff.Refusal) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.Message
	}
	return strings.Join(texts, "; ")
}

func reason(err error) string {
	switch openstack.Classify(err) {
	case openstack.Quota:
		return ReasonQuota
	case openstack.Invalid, openstack.Conflict:
		return ReasonRejected
	case openstack.Unauthorized:
		return ReasonUnauthorized
	case openstack.Foreign:
		return ReasonForeign
	default:
		return ReasonUnavailable
	}
}
