// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status computes the conditions, addresses and events of a Service from the
// result of a pass. The controller writes them.
//
// It is pure apart from the types it takes.
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

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// The types of conditions on a Service.
const (
	// Accepted reports whether the Service can be served as specified.
	Accepted = "kube-octavia.io/Accepted"
	// Programmed reports whether the cloud has everything that the Service needs.
	Programmed = "kube-octavia.io/Programmed"
	// Serving reports whether connections to the Service reach something that answers, as far as is known.
	Serving = "kube-octavia.io/Serving"
	// AnnotationsKnown reports whether all annotations are known that are meant for kube-octavia. A Service that never had an
	// unknown one lacks it.
	AnnotationsKnown = "kube-octavia.io/AnnotationsKnown"
)

// Types are all types of conditions that the controller writes.
var Types = []string{Accepted, Programmed, Serving, AnnotationsKnown}

// The reasons of conditions that are not refusals of the Service itself; those
// are build's and diff's.
const (
	ReasonAccepted    = "Accepted"
	ReasonProgrammed  = "Programmed"
	ReasonNotAccepted = "NotAccepted"
	// ReasonCertificateNotValid: a certificate is expired or not valid yet; it is used anyway.
	ReasonCertificateNotValid = "CertificateNotValid"
	ReasonCreating            = "Creating"
	ReasonUpdating            = "Updating"
	ReasonDeleting            = "Deleting"
	ReasonFailed              = "LoadBalancerFailed"
	// ReasonReplacing: a failed load balancer is being replaced.
	ReasonReplacing = "Replacing"
	// ReasonReplacingOnChange: a working load balancer is being replaced to apply a change that
	// Octavia cannot make in place.
	ReasonReplacingOnChange = "ReplacingOnChange"
	// ReasonReplacementFailed: the replacements of a failed load balancer failed too.
	ReasonReplacementFailed = "ReplacementFailed"
	// ReasonAddressInUse: the address of a load balancer that is being replaced was allocated elsewhere.
	ReasonAddressInUse      = "AddressInUse"
	ReasonChildrenNotActive = "ChildrenNotActive"
	// ReasonReadyForAdoption: with --adopt=tag only our tags would be written.
	ReasonReadyForAdoption = "ReadyForAdoption"
	// ReasonChangesOnAdoption: with --adopt=tag more than our tags would be written.
	ReasonChangesOnAdoption = "ChangesOnAdoption"
	ReasonDrifted           = "Drifted"
	// ReasonWaitingForGroup: another Service of the group creates the load balancer first.
	ReasonWaitingForGroup = "WaitingForGroup"
	ReasonNotOwned        = "NotOwned"
	ReasonQuota           = "QuotaExceeded"
	ReasonRejected        = "RejectedByCloud"
	ReasonUnauthorized    = "CloudUnauthorized"
	ReasonUnavailable     = "CloudUnavailable"
	// ReasonSecurityGroupNotReady: the security group of the nodes does not admit the traffic yet.
	ReasonSecurityGroupNotReady = "SecurityGroupNotReady"
	// ReasonUnknownAnnotation: annotations that are meant for kube-octavia are not known.
	ReasonUnknownAnnotation = "UnknownAnnotation"
	ReasonAnnotationsKnown  = "AnnotationsKnown"
)

// The maximum message lengths in bytes: the API's limit for an event, a readable length for a condition.
const (
	longestEvent   = 1000
	longestMessage = 4000
)

// shorten truncates a text to the given number of bytes.
func shorten(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	const more = " ..."
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

// Pass is the result of one pass over a Service.
type Pass struct {
	Acceptance
	Publication
	Health
	SecurityGroup
	Observation
	// Traffic is what condition Serving depends on.
	Traffic Traffic
	// Owner is the Service's identity in the cloud. It tells the Service's listeners from those of
	// the Services with which it shares the load balancer. Without it, all listeners count as the Service's.
	Owner lb.Owner
	// Observed is the cloud's state after the pass.
	Observed lb.Observed
	// Left are the operations that are pending or in progress. Refused are those that the
	// state of the cloud forbids. Drift are those that would repair drift and that the
	// Service's policy forbids.
	Left    []diff.Op
	Refused []diff.Refusal
	Drift   []diff.Op
	// Waits names the Service of the group that creates the load balancer first, or is "".
	Waits string
	// Err is the failure of the pass, or nil.
	Err error
	// Leaving reports whether the Service gives up its load balancer.
	Leaving bool
	// Steady reports whether everything but members was complete before the change that
	// Octavia is working on. Late reports whether operations are overdue, so that even pending
	// member updates are reported.
	Steady, Late bool
	// Done reports whether the cloud was seen to match the desired state.
	Done bool
}

// Observation is what the conditions of a Service depend on that is only observed.
type Observation struct {
	// OnlyObserved reports whether nothing but conditions is written: Left is what would be
	// done otherwise.
	OnlyObserved bool
	// Others names other controllers that serve Services now, or is "".
	Others string
}

// Acceptance is what condition Accepted depends on.
type Acceptance struct {
	// Invalid is the reason for refusing the Service, or nil.
	Invalid *desired.Invalid
	// CertificateProblem is the reason why clients may reject the Service's certificate, or "".
	CertificateProblem string
	// Unknown are annotations that are meant for kube-octavia and that this version does not know.
	Unknown []annotation.Unknown
	// LeftOut names the nodes that are not members because of their addresses, or is "".
	LeftOut string
	// Plain names the ports that go without what the Service requests for all of them, because it is only for TCP, or is "".
	Plain string
	// Undecided reports whether the pass failed before it decided about the condition, which
	// then stays as it was.
	Undecided bool
}

// Publication says which addresses the Service publishes.
type Publication struct {
	// External reports whether the Service gets a floating IP, and Internal whether it gets none. It is neither if
	// addresses are left as they are.
	External, Internal bool
	// Requested is the address of the floating IP that the Service requests, or "".
	Requested string
	// Own are the addresses of floating IPs that are attached to the Service's load balancers, or will be attached again.
	Own []string
	// Families are the Service's IP families, if the load balancer serves more than one.
	Families []corev1.IPFamily
	// Addresses selects the addresses to publish for a load balancer with a floating IP.
	Addresses annotation.StatusAddresses
	// Hostname is published in place of the address, unless it is empty.
	Hostname string
	// ThroughLoadBalancer reports whether traffic from within the cluster must pass the load
	// balancer. If HostnameSuffix is set then, a host name made of the address and this suffix
	// is published in place of the address.
	ThroughLoadBalancer bool
	HostnameSuffix      string
}

// Health describes failures and replacements of the load balancer.
type Health struct {
	// Unready names the children that are not ACTIVE although the load balancer is, or is "".
	Unready string
	// Failed describes the failure of a load balancer that is being recovered, or is "".
	// FailedReason is the reason for the condition.
	Failed, FailedReason string
	// Replacing reports whether a load balancer is being replaced: the published address
	// stays the Service's address.
	Replacing bool
	// Beside reports whether the load balancer is a replacement while the old one still has
	// the Service's address and no floating IP. Noted is the id to record on the Service, if
	// it is not that of the load balancer.
	Beside bool
	Noted  string
}

// SecurityGroup says what the security group of the nodes lacks.
type SecurityGroup struct {
	// Missing names the traffic that it does not admit yet, or is "". MissingFailed reports
	// whether adding the rules failed.
	Missing       string
	MissingFailed bool
}

// Conditions returns the conditions of a Service after the pass. Conditions of other
// controllers are kept. It does not modify old.
func Conditions(old []metav1.Condition, generation int64, p Pass) []metav1.Condition {
	return withServing(withProgrammed(withAnnotationsKnown(old, generation, p), generation, p), generation, p)
}

// withProgrammed adds the conditions Accepted and Programmed.
func withProgrammed(old []metav1.Condition, generation int64, p Pass) []metav1.Condition {
	next := slices.Clone(old)
	switch {
	case p.Invalid != nil || !p.Undecided:
		accepted := p.accepted()
		accepted.ObservedGeneration = generation
		meta.SetStatusCondition(&next, accepted)
	case openstack.Classify(p.Err) == openstack.Foreign && saysPortInUse(old):
		// That is a port of a load balancer that the Service may not use any more.
		meta.RemoveStatusCondition(&next, Accepted)
	}
	was := meta.IsStatusConditionTrue(old, Programmed)
	if was && !p.MissingFailed {
		// The group is only being checked again; most likely the rules still exist.
		p.Missing = ""
	}
	if was && p.onlyMembers() {
		// Pools follow the nodes all the time; everything else is complete.
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

// saysPortInUse reports whether the Service was refused because another Service has one of its ports.
func saysPortInUse(conditions []metav1.Condition) bool {
	accepted := meta.FindStatusCondition(conditions, Accepted)
	return accepted != nil && accepted.Reason == diff.ReasonPortInUse
}

// callNotes match what differs between failures of the same kind: request id and Retry-After.
var callNotes = regexp.MustCompile(` \((request|retry after) [^)]*\)`)

// sameFailure reports whether b describes the same failure as a, of another call. The
// Service is not written again for that.
func sameFailure(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason &&
		callNotes.ReplaceAllString(a.Message, "") == callNotes.ReplaceAllString(b.Message, "")
}

func (p Pass) accepted() metav1.Condition {
	c := metav1.Condition{Type: Accepted, Status: metav1.ConditionTrue, Reason: ReasonAccepted,
		Message: "the Service can be served as specified"}
	if p.Plain != "" {
		c.Message = "the Service can be served, but " + p.Plain
	}
	if p.LeftOut != "" {
		c.Message += "; " + p.LeftOut
	}
	if p.CertificateProblem != "" {
		// An expired certificate does less harm than no Service.
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

// onlyMembers reports whether the only pending operations are member updates of existing
// pools and deletions of unused load balancers.
func (p Pass) onlyMembers() bool {
	if p.OnlyObserved || p.Invalid != nil || len(p.Refused) > 0 || len(p.Drift) > 0 || p.Err != nil || p.Unready != "" || p.Failed != "" || p.Done || p.Late || p.MissingFailed {
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
	case p.FailedReason == ReasonAddressInUse && p.Err != nil:
		c.Reason, c.Message = ReasonAddressInUse, p.Failed+": "+p.Err.Error()
	case p.Err != nil:
		c.Reason, c.Message = reason(p.Err), p.Err.Error()
		if p.Failed != "" {
			c.Message = p.Failed + "; " + c.Message
		}
	case p.Failed != "" && !p.unfinished():
		c.Reason, c.Message = cmp.Or(p.FailedReason, ReasonFailed), p.Failed
	case l != nil && l.ProvisioningStatus == lb.Error && p.Observed.Sharer:
		// To create this Service again would not help: it would share the same load balancer.
		c.Reason = ReasonFailed
		c.Message = fmt.Sprintf("load balancer %s, which is shared, is in ERROR; condition Programmed of the Service that owns it says what is done about it", l.ID)
	case l != nil && l.ProvisioningStatus == lb.Error:
		c.Reason = ReasonFailed
		c.Message = fmt.Sprintf("load balancer %s is in ERROR; ask the cloud operator for the reason, or delete the Service and create it again", l.ID)
	case p.Waits != "":
		c.Reason, c.Message = ReasonWaitingForGroup, p.Waits
	case p.OnlyObserved && (l == nil || !l.ProvisioningStatus.Pending()):
		c.Status = metav1.ConditionUnknown
		c.Reason, c.Message = p.prospect()
	case p.Invalid != nil:
		c.Reason, c.Message = ReasonNotAccepted, "ports are not changed until the Service is valid; see condition "+Accepted
	case len(p.Refused) > 0:
		c.Reason, c.Message = ReasonNotAccepted, "the cloud cannot provide everything that the Service requests; see condition "+Accepted
	case len(p.Drift) > 0:
		c.Reason, c.Message = ReasonDrifted, "the cloud objects of this Service were changed outside kube-octavia, and its drift-policy keeps the change; to repair it: "+list(p.Drift)
	case l == nil && p.Done:
		c.Reason, c.Message = ReasonDrifted, "the load balancer was deleted outside kube-octavia; because of the drift-policy it is not created again until the Service changes"
	case l == nil && p.Leaving && len(p.Left) > 0:
		c.Reason, c.Message = ReasonDeleting, p.progress()
	case l == nil && p.Leaving:
		c.Reason = ReasonDeleting
		c.Message = "the cloud shows no load balancer of the Service; the Service stays for about a minute, because an interrupted create may still produce one"
	case l == nil:
		c.Reason, c.Message = ReasonCreating, "the load balancer has not been created yet"
	case l.ProvisioningStatus == lb.PendingCreate:
		c.Reason, c.Message = ReasonCreating, fmt.Sprintf("Octavia is creating load balancer %s", l.ID)
	case l.ProvisioningStatus == lb.PendingDelete:
		c.Reason, c.Message = ReasonDeleting, fmt.Sprintf("Octavia is deleting load balancer %s", l.ID)
	case p.Unready != "":
		c.Reason, c.Message = ReasonChildrenNotActive, p.Unready
	case diff.Repairs(p.Left):
		c.Reason = ReasonChildrenNotActive
		c.Message = fmt.Sprintf("Octavia did not finish children of load balancer %s, which are being replaced: %s", l.ID, p.progress())
	case !p.Done:
		c.Reason, c.Message = ReasonUpdating, p.progress()
	case p.Missing != "":
		c.Reason, c.Message = ReasonSecurityGroupNotReady, p.Missing
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonProgrammed
		c.Message = fmt.Sprintf("load balancer %s serves %s at %s", l.ID, ports(p.served()), p.at())
	}
	return c
}

// ProgrammedReason returns the reason of condition Programmed, "" if there is none.
func ProgrammedReason(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, Programmed); c != nil {
		return c.Reason
	}
	return ""
}

// Served reports whether the conditions show that kube-octavia has worked on the owner's load balancer, rather than
// only observed it.
func Served(conditions []metav1.Condition) bool {
	c := meta.FindStatusCondition(conditions, Programmed)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// prospect describes what would be done for a Service that is only observed, and who serves it now.
func (p Pass) prospect() (reason, message string) {
	reason, message = p.wouldDo()
	if p.Others != "" {
		message += "; now it is served by " + p.Others + ", whose service controller has to be off then"
	}
	return reason, message
}

func (p Pass) wouldDo() (reason, message string) {
	const how = "with --adopt=observe nothing is written for this Service; with --adopt=tag "
	subject := "it"
	if l := p.Observed.LoadBalancer; l != nil {
		subject = "load balancer " + l.ID
	}
	switch {
	case len(p.Left) == 0:
		return ReasonReadyForAdoption, how + subject + " would be taken over, and nothing would be written to it"
	case diff.OnlyTags(p.Left):
		return ReasonReadyForAdoption, how + subject + " would be taken over as it is: only the tags of kube-octavia would be added"
	}
	return ReasonChangesOnAdoption, how + "these operations would be done: " + list(p.Left)
}

// unfinished reports whether the load balancer works but some of its children are not
// ACTIVE. An earlier failure is over then.
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
		busy := p.Observed.LoadBalancer
		if old := p.Observed.Predecessor; old != nil && !busy.ProvisioningStatus.Pending() {
			busy = old
		}
		return fmt.Sprintf("Octavia is changing load balancer %s", busy.ID)
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

// GaveUp reports whether the refused Service has left its own load balancer to others, so that it is not the Service's any
// more.
func (p Pass) GaveUp() bool {
	l := p.Observed.LoadBalancer
	return p.Invalid != nil && p.Invalid.Exposed && l != nil && !p.Observed.Sharer && !slices.Contains(l.Tags, p.Owner.ServiceTag())
}

// served counts the Service's listeners that forward to its members. The listener for metrics does not, and those of
// other Services on the load balancer lead to their Pods.
func (p Pass) served() (n int) {
	l, owner := *p.Observed.LoadBalancer, p.Owner
	owner.Sharer = owner.Sharer || p.Observed.Sharer
	for _, listener := range l.Listeners {
		leadsElsewhere := listener.Pool != nil && owner.MarkedByAnother(l, listener.Pool.Tags)
		if listener.Protocol != lb.ListenerPrometheus && (p.Owner == lb.Owner{} || owner.OwnsListener(listener) && !leadsElsewhere) {
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
	case openstack.Invalid, openstack.Conflict, openstack.Gone:
		return ReasonRejected
	case openstack.Unauthorized:
		return ReasonUnauthorized
	case openstack.Foreign:
		return ReasonNotOwned
	default:
		return ReasonUnavailable
	}
}
