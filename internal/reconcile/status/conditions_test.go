// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

const fine = "the Service can be served as specified"

var (
	badAnnotation = &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: `annotation x="y": must be true or false`}
	addressTaken  = diff.Refusal{Reason: diff.ReasonFloatingIPInUse, Message: "floating IP 203.0.113.9 is attached elsewhere"}
	portTaken     = diff.Refusal{Reason: diff.ReasonPortInUse, Message: "port TCP/80 is taken"}
	silence       = &openstack.Error{Op: "observe load balancer lb-1", Class: openstack.Transient, Message: "no answer within 1m0s"}
)

func TestConditionsSayWhatAPassFoundOut(t *testing.T) {
	ok := said{metav1.ConditionTrue, ReasonAccepted, fine}
	no := func(reason, message string) said { return said{metav1.ConditionFalse, reason, message} }
	tests := map[string]struct {
		pass                 Pass
		accepted, programmed said
	}{
		"nothing there yet": {
			Pass{Publication: Publication{External: true}}, ok, no(ReasonCreating, "the load balancer has not been created yet"),
		},
		"a Service that leaves and has only a floating IP": {
			Pass{Leaving: true, Left: []diff.Op{diff.DeleteFloatingIP{ID: "f", Address: "203.0.113.7"}}}, ok, no(ReasonDeleting, "delete floating IP 203.0.113.7"),
		},
		"a Service that leaves, and a create may be in progress": {
			Pass{Leaving: true}, ok,
			no(ReasonDeleting, "the cloud shows no load balancer of the Service; the Service stays for about a minute, because an interrupted create may still produce one"),
		},
		"another of its group comes first": {
			Pass{Waits: "first the other"}, ok, no(ReasonWaitingForGroup, "first the other"),
		},
		"the same, where it is only observed": {
			Pass{Waits: "first the other", Observation: onlyObserved}, ok, no(ReasonWaitingForGroup, "first the other"),
		},
		"it was deleted by hand, and that is to be ignored": {
			Pass{Done: true}, ok, no(ReasonDrifted, "the load balancer was deleted outside kube-octavia; because of the drift-policy it is not created again until the Service changes"),
		},
		"Octavia builds": {
			Pass{Observed: observed(lb.PendingCreate, 1)}, ok, no(ReasonCreating, "Octavia is creating load balancer lb-1"),
		},
		"one port": {
			done(), ok, said{metav1.ConditionTrue, ReasonProgrammed, "load balancer lb-1 serves 1 port at 203.0.113.7"},
		},
		"clients refuse the certificate": {
			withProblem(done()), said{metav1.ConditionTrue, ReasonCertificateNotValid, fine + "; it has expired"},
			said{metav1.ConditionTrue, ReasonProgrammed, "load balancer lb-1 serves 1 port at 203.0.113.7"},
		},
		"three ports, internal": {
			Pass{Observed: internalOnly(observed(lb.Active, 3)), Done: true},
			ok, said{metav1.ConditionTrue, ReasonProgrammed, "load balancer lb-1 serves 3 ports at 10.0.0.5"},
		},
		"no port": {
			Pass{Observed: observed(lb.Active, 0), Done: true},
			ok, said{metav1.ConditionTrue, ReasonProgrammed, "load balancer lb-1 serves 0 ports at 203.0.113.7"},
		},
		"one op": {
			Pass{Observed: observed(lb.PendingUpdate, 2), Left: []diff.Op{closePort}},
			ok, no(ReasonUpdating, "close port TCP/81 (listener l-2)"),
		},
		"several ops": {
			Pass{Observed: observed(lb.PendingUpdate, 2), Left: []diff.Op{closePort, members, members}},
			ok, no(ReasonUpdating, "close port TCP/81 (listener l-2) (2 more to do)"),
		},
		"Octavia changes": {
			Pass{Observed: observed(lb.PendingUpdate, 2)}, ok, no(ReasonUpdating, "Octavia is changing load balancer lb-1"),
		},
		"Octavia changes the one that is deleted next": {
			Pass{Observed: lb.Observed{LoadBalancer: observed(lb.Active, 2).LoadBalancer, Predecessor: &lb.LoadBalancer{ID: "lb-0"}}},
			ok, no(ReasonUpdating, "Octavia is changing load balancer lb-0"),
		},
		"a part is not ready": {
			Pass{Observed: observed(lb.Active, 1), Health: Health{Unready: "listener l-1 is in PENDING_CREATE"}},
			ok, no(ReasonChildrenNotActive, "listener l-1 is in PENDING_CREATE"),
		},
		"a part was left behind": {
			Pass{Observed: observed(lb.PendingUpdate, 2), Left: []diff.Op{members, diff.UpdateListener{ID: "l-2", LeftBehind: true}}},
			ok, no(ReasonChildrenNotActive, "Octavia did not finish children of load balancer lb-1, which are being replaced: "+members.String()+" (1 more to do)"),
		},
		"Octavia deletes": {
			Pass{Observed: observed(lb.PendingDelete, 1)}, ok, no(ReasonDeleting, "Octavia is deleting load balancer lb-1"),
		},
		"ERROR": {
			Pass{Observed: observed(lb.Error, 1)}, ok,
			no(ReasonFailed, "load balancer lb-1 is in ERROR; ask the cloud operator for the reason, or delete the Service and create it again"),
		},
		"ERROR of a shared one of another Service": {
			Pass{Observed: shared(observed(lb.Error, 1))}, ok,
			no(ReasonFailed, "load balancer lb-1, which is shared, is in ERROR; condition Programmed of the Service that owns it says what is done about it"),
		},
		"failed, and about to be made anew": {
			Pass{Health: Health{Failed: "load balancer lb-0 went into ERROR; another one is made"}}, ok,
			no(ReasonFailed, "load balancer lb-0 went into ERROR; another one is made"),
		},
		"failed over, and a part is not ready": {
			Pass{Observed: observed(lb.Active, 1), Health: Health{Failed: "load balancer lb-1 went into ERROR; Octavia fails it over", Unready: "listener l-1 is in PENDING_UPDATE"}},
			ok, no(ReasonChildrenNotActive, "listener l-1 is in PENDING_UPDATE"),
		},
		"failed over, and a part was left behind": {
			Pass{Observed: observed(lb.PendingUpdate, 2), Health: Health{Failed: "load balancer lb-1 went into ERROR; Octavia fails it over"}, Left: []diff.Op{diff.UpdateListener{ID: "l-2", LeftBehind: true}}},
			ok, no(ReasonChildrenNotActive, "Octavia did not finish children of load balancer lb-1, which are being replaced: "+diff.UpdateListener{ID: "l-2", LeftBehind: true}.String()),
		},
		"being failed over": {
			Pass{Observed: observed(lb.PendingUpdate, 1), Health: Health{Failed: "load balancer lb-1 went into ERROR; Octavia fails it over"}, Left: []diff.Op{diff.FailoverLoadBalancer{ID: "lb-1"}}},
			ok, no(ReasonFailed, "load balancer lb-1 went into ERROR; Octavia fails it over"),
		},
		"refused as it is written": {
			Pass{Acceptance: Acceptance{Invalid: badAnnotation}, Observed: observed(lb.Active, 1)},
			no(desired.ReasonInvalidAnnotation, badAnnotation.Message), no(ReasonNotAccepted, "ports are not changed until the Service is valid; see condition "+Accepted),
		},
		"forbidden by the state of the cloud": {
			Pass{Refused: []diff.Refusal{addressTaken, portTaken}, Observed: observed(lb.Active, 1)},
			no(diff.ReasonFloatingIPInUse, addressTaken.Message+"; "+portTaken.Message),
			no(ReasonNotAccepted, "the cloud cannot provide everything that the Service requests; see condition "+Accepted),
		},
		"refused and in ERROR": {
			Pass{Acceptance: Acceptance{Invalid: badAnnotation}, Observed: observed(lb.Error, 1)},
			no(desired.ReasonInvalidAnnotation, badAnnotation.Message),
			no(ReasonFailed, "load balancer lb-1 is in ERROR; ask the cloud operator for the reason, or delete the Service and create it again"),
		},
		"a misspelt annotation": {
			Pass{Acceptance: Acceptance{Unknown: unknown("a/b", "a/c")}, Observed: observed(lb.PendingCreate, 1)},
			ok,
			no(ReasonCreating, "Octavia is creating load balancer lb-1"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Conditions(nil, 7, test.pass)
			if diff := cmp.Diff(test.accepted, find(t, got, Accepted)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", Accepted, diff)
			}
			if diff := cmp.Diff(test.programmed, find(t, got, Programmed)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", Programmed, diff)
			}
			for _, c := range got {
				if c.ObservedGeneration != 7 {
					t.Errorf("%s is of generation %d, not 7", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

func TestTheClassOfAFailureGivesTheReason(t *testing.T) {
	for class, want := range map[openstack.Class]string{
		openstack.Quota:        ReasonQuota,
		openstack.Invalid:      ReasonRejected,
		openstack.Unauthorized: ReasonUnauthorized,
		openstack.Foreign:      ReasonNotOwned,
		openstack.Transient:    ReasonUnavailable,
		openstack.Throttled:    ReasonUnavailable,
		openstack.Conflict:     ReasonRejected,
		openstack.Gone:         ReasonRejected,
	} {
		failure := &openstack.Error{Op: "create load balancer x", Class: class, Status: 418, Message: "why", RequestID: "req-1"}
		for _, err := range []error{failure, fmt.Errorf("in passing: %w", failure), errors.Join(failure, errors.New("more"))} {
			got := find(t, after(Pass{Observed: observed(lb.Active, 1), Err: err}), Programmed)
			if diff := cmp.Diff(said{metav1.ConditionFalse, want, err.Error()}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", class, diff)
			}
			if !strings.Contains(got.Message, "create load balancer x: 418: why (request req-1)") {
				t.Errorf("%s: %q does not say what failed and how to find it", class, got.Message)
			}
		}
	}
}

// What only another request or configuration mends must not look like something to wait for.
func TestOnlyFailuresThatPassAreReportedAsUnavailable(t *testing.T) {
	octavia := func(s string) string { return `{"faultcode": "Client", "faultstring": "` + s + `"}` }
	neutron := func(kind, s string) string {
		return `{"NeutronError": {"type": "` + kind + `", "message": "` + s + `"}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"an external network that no router leads to":  {404, neutron("ExternalGatewayForFloatingIPNotFound", "External network n is not reachable from subnet s."), ReasonRejected},
		"an external network that does not exist":      {404, neutron("NetworkNotFound", "Network n could not be found."), ReasonRejected},
		"a subnet of it that does not exist":           {404, neutron("SubnetNotFound", "Subnet s could not be found."), ReasonRejected},
		"a network that is not external":               {400, neutron("BadRequest", "Network n is not a valid external network."), ReasonRejected},
		"an external network without IPv4":             {400, neutron("BadRequest", "Network n does not contain any IPv4 subnet."), ReasonRejected},
		"a subnet without gateway":                     {400, neutron("BadRequest", "Cannot add floating IP to port on subnet s which has no gateway_ip"), ReasonRejected},
		"an external network without addresses":        {409, neutron("IpAddressGenerationFailure", "No more IP addresses available on network n."), ReasonRejected},
		"a floating IP that only operators may choose": {403, neutron("PolicyNotAuthorized", "rule:create_floatingip is disallowed by policy"), ReasonRejected},
		"a floating IP that is gone":                   {404, neutron("FloatingIPNotFound", "Floating IP f could not be found"), ReasonRejected},
		"a port that is gone":                          {404, neutron("PortNotFound", "Port p could not be found."), ReasonRejected},
		"the quota of floating IPs":                    {409, neutron("OverQuota", "Quota exceeded for resources: ['floatingip']."), ReasonQuota},
		"the subnet of a VIP that does not exist":      {400, octavia("Subnet s not found."), ReasonRejected},
		"the subnet of a second VIP":                   {500, octavia("subnet not found (subnet id: s)."), ReasonRejected},
		"the port of a VIP that does not exist":        {400, octavia("Port p not found."), ReasonRejected},
		"the address of a VIP outside of its subnet":   {500, octavia("Provider 'amphora' reports error: IP address a is not a valid IP for the specified subnet."), ReasonRejected},
		"the address of a VIP that is in use":          {500, octavia("Provider 'amphora' reports error: IP address a already allocated in subnet s"), ReasonRejected},
		"a subnet without addresses":                   {500, octavia("Provider 'amphora' reports error: No more IP addresses available on network n."), ReasonRejected},
		"the quota of ports":                           {500, octavia("Provider 'amphora' reports error: Quota exceeded for resources: ['port']."), ReasonQuota},
		"the quota of load balancers":                  {403, octavia("Quota has been met for resources: load_balancer"), ReasonQuota},
		"a flavor that does not exist":                 {400, octavia("Validation failure: Invalid flavor_id."), ReasonRejected},
		"an availability zone that does not exist":     {400, octavia("Validation failure: Invalid availability zone."), ReasonRejected},
		"a provider that does not exist":               {400, octavia("Provider 'x' was not found."), ReasonRejected},
		"what the provider cannot do":                  {501, octavia("Provider 'ovn' does not support a requested option"), ReasonRejected},
		"another project's load balancer":              {403, octavia("Policy does not allow this request to be performed."), ReasonRejected},
		"a load balancer that is gone":                 {404, octavia("Load Balancer l not found."), ReasonRejected},
		"credentials that are rejected":                {401, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`, ReasonUnauthorized},

		"a busy load balancer":    {409, octavia("Load Balancer l is immutable and cannot be updated."), ReasonUnavailable},
		"a busy project":          {503, octavia("Project busy.  Unable to lock the project.  Please try again."), ReasonUnavailable},
		"too many calls":          {429, "", ReasonUnavailable},
		"a fault of the service":  {500, octavia("'NoneType' object has no attribute 'ip_address'"), ReasonUnavailable},
		"a gateway":               {502, "<html>", ReasonUnavailable},
		"a service that is down":  {503, "", ReasonUnavailable},
		"a service that is tardy": {504, "", ReasonUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			err := openstack.Wrap("create x", gophercloud.ErrUnexpectedResponseCode{Actual: c.status, Body: []byte(c.body)})
			got := find(t, after(Pass{Observed: observed(lb.Active, 1), Err: err}), Programmed)
			if diff := cmp.Diff(said{metav1.ConditionFalse, c.want, err.Error()}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAServiceStaysProgrammedWhileItsPoolsFollowTheNodes(t *testing.T) {
	for name, p := range map[string]Pass{
		"members to set":                 {Observed: observed(lb.Active, 1), Left: []diff.Op{members}},
		"two pools":                      {Observed: observed(lb.PendingUpdate, 1), Left: []diff.Op{members, members}},
		"Octavia is at":                  {Observed: observed(lb.PendingUpdate, 1), Steady: true},
		"one to delete that it replaced": {Observed: observed(lb.Active, 1), Left: []diff.Op{diff.DeleteLoadBalancer{ID: "another"}}},
	} {
		before := after(done())
		if diff := cmp.Diff(before, Conditions(before, 1, p)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

func TestAServiceIsProgrammedNoMoreWhen(t *testing.T) {
	for name, test := range map[string]struct {
		pass   Pass
		reason string
	}{
		"a port is to be closed as well":       {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{members, closePort}}, ReasonUpdating},
		"setting members failed":               {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{members}, Err: silence}, ReasonUnavailable},
		"the load balancer is in ERROR":        {Pass{Observed: observed(lb.Error, 1)}, ReasonFailed},
		"another client deletes it":            {Pass{Observed: observed(lb.PendingDelete, 1)}, ReasonDeleting},
		"the load balancer is gone":            {Pass{}, ReasonCreating},
		"the load balancer is built again":     {Pass{Observed: observed(lb.PendingCreate, 1)}, ReasonCreating},
		"Octavia changes more than members":    {Pass{Observed: observed(lb.PendingUpdate, 1)}, ReasonUpdating},
		"members are late for too long":        {Pass{Observed: observed(lb.PendingUpdate, 1), Steady: true, Late: true}, ReasonUpdating},
		"it failed and is being deleted":       {Pass{Observed: observed(lb.PendingDelete, 1), Health: Health{Failed: "it went into ERROR"}, Steady: true}, ReasonFailed},
		"it is to be deleted itself":           {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{diff.DeleteLoadBalancer{ID: observed(lb.Active, 1).LoadBalancer.ID}}}, ReasonUpdating},
		"it is to be replaced":                 {Pass{Observed: observed(lb.Active, 1), Health: Health{Failed: "another one is built", FailedReason: ReasonReplacingOnChange}}, ReasonReplacingOnChange},
		"a part is not ready":                  {Pass{Observed: observed(lb.Active, 1), Health: Health{Unready: "pool p-1 is in ERROR"}}, ReasonChildrenNotActive},
		"the Service is not accepted any more": {Pass{Observed: observed(lb.Active, 1), Acceptance: Acceptance{Invalid: badAnnotation}}, ReasonNotAccepted},
		"an address is refused":                {Pass{Observed: observed(lb.Active, 1), Refused: []diff.Refusal{addressTaken}}, ReasonNotAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			got := find(t, after(done(), test.pass), Programmed)
			if got.Status != metav1.ConditionFalse || got.Reason != test.reason {
				t.Errorf("got %+v, want False for %s", got, test.reason)
			}
		})
	}
}

func TestMembersAloneDoNotMakeAServiceProgrammed(t *testing.T) {
	got := find(t, after(Pass{Observed: observed(lb.PendingCreate, 1)}, Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{members}}), Programmed)
	if got.Status != metav1.ConditionFalse || got.Reason != ReasonUpdating {
		t.Errorf("got %+v", got)
	}
}

// TestARefusalGoesWithTheLoadBalancerThatItWasAbout is from a walk: a Service was refused for a port that another Service has on a
// shared load balancer. When it might not share that any more, it still said so.
func TestARefusalGoesWithTheLoadBalancerThatItWasAbout(t *testing.T) {
	refused := after(Pass{Refused: []diff.Refusal{{Reason: diff.ReasonPortInUse, Message: "used by another Service"}}, Observed: observed(lb.Active, 1)})
	foreign := Pass{Err: &openstack.Error{Class: openstack.Foreign, Message: "it belongs to a Service in another namespace"}, Acceptance: Acceptance{Undecided: true}}
	got := Conditions(refused, 1, foreign)
	if c := meta.FindStatusCondition(got, Accepted); c != nil {
		t.Errorf("it says %+v", c)
	}
	if c := find(t, got, Programmed); c.Reason != ReasonNotOwned {
		t.Errorf("Programmed says %+v", c)
	}
	if c := find(t, Conditions(after(done()), 1, foreign), Accepted); c.Status != metav1.ConditionTrue {
		t.Errorf("a Service that was accepted says %+v", c)
	}
}

func TestWhatIsKnownOfAServiceStaysWhileAPassCannotTell(t *testing.T) {
	refused := after(Pass{Acceptance: Acceptance{Invalid: badAnnotation}, Observed: observed(lb.Active, 1)})
	failing := Pass{Err: silence, Acceptance: Acceptance{Undecided: true}}
	got := Conditions(refused, 1, failing)
	if diff := cmp.Diff(find(t, refused, Accepted), find(t, got, Accepted)); diff != "" {
		t.Errorf("a failing cloud made a refused Service an accepted one (-before +after):\n%s", diff)
	}
	if c := find(t, got, Programmed); c.Reason != ReasonUnavailable {
		t.Errorf("Programmed says %+v", c)
	}
	if c := meta.FindStatusCondition(Conditions(nil, 1, failing), Accepted); c != nil {
		t.Errorf("nothing was known, and it says %+v", c)
	}
	failing.Invalid = badAnnotation
	if c := find(t, Conditions(after(done()), 1, failing), Accepted); c.Reason != desired.ReasonInvalidAnnotation {
		t.Errorf("the Service was found to be refused before the pass failed, and it says %+v", c)
	}
}

func TestTheSameFailureOfAnotherCallIsNotWrittenAgain(t *testing.T) {
	failing := func(message, request string) Pass {
		return Pass{Err: &openstack.Error{Op: "list", Class: openstack.Throttled, Message: message, RequestID: request, RetryAfter: time.Second}}
	}
	first := after(failing("busy", "req-1"))
	if diff := cmp.Diff(first, Conditions(first, 1, failing("busy", "req-2"))); diff != "" {
		t.Errorf("the same failure (-before +after):\n%s", diff)
	}
	if got := find(t, Conditions(first, 1, failing("broken", "req-2")), Programmed); !strings.Contains(got.Message, "broken") {
		t.Errorf("another failure is not told: %+v", got)
	}
}

func TestConditionsOfOthersStay(t *testing.T) {
	others := []metav1.Condition{{Type: "example.com/Ready", Status: metav1.ConditionTrue, Reason: "Fine", ObservedGeneration: 3}}
	got := Conditions(others, 4, done())
	if diff := cmp.Diff(&others[0], meta.FindStatusCondition(got, "example.com/Ready")); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if len(got) != 3 || len(others) != 1 {
		t.Errorf("want three and one conditions, got %v and %v", got, others)
	}
}

func TestTheOldConditionsAreNotTouched(t *testing.T) {
	old := after(done())
	before := append([]metav1.Condition{}, old...)
	Conditions(old, 2, Pass{Observed: observed(lb.Error, 1), Acceptance: Acceptance{Invalid: badAnnotation}})
	if diff := cmp.Diff(before, old); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestTheTimeOfAConditionMovesWithItsStatusOnly(t *testing.T) {
	old := after(Pass{Observed: observed(lb.PendingCreate, 1)})
	for i := range old {
		old[i].LastTransitionTime = metav1.Unix(1000, 0)
	}
	stillFalse := Conditions(old, 2, Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{closePort}})
	if c := meta.FindStatusCondition(stillFalse, Programmed); !c.LastTransitionTime.Equal(&old[1].LastTransitionTime) {
		t.Errorf("the time moved with the reason: %v", c)
	}
	if c := meta.FindStatusCondition(Conditions(old, 2, done()), Programmed); c.LastTransitionTime.Equal(&old[1].LastTransitionTime) {
		t.Errorf("the time did not move with the status: %v", c)
	}
}

func TestMessagesAreCutAtWholeCharacters(t *testing.T) {
	long := &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: strings.Repeat("ä", longestMessage)}
	got := find(t, after(Pass{Acceptance: Acceptance{Invalid: long}}), Accepted).Message
	if len(got) > longestMessage || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä ...") {
		t.Errorf("%d bytes, valid %v, ends with %q", len(got), utf8.ValidString(got), got[len(got)-8:])
	}
	failure := errors.New(strings.Repeat("x", longestMessage+1))
	if got := find(t, after(Pass{Err: failure}), Programmed).Message; len(got) != longestMessage {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAcceptedNamesThePortsThatStayPlain(t *testing.T) {
	const plain = "without the PROXY protocol, which load balancers have only for TCP: ports 53"
	p := done()
	p.Plain = plain
	if c := find(t, after(p), Accepted); c.Status != metav1.ConditionTrue || c.Message != "the Service can be served, but "+plain {
		t.Errorf("got %+v", c)
	}
}

func TestWhyAServiceIsNotProgrammed(t *testing.T) {
	refused := metav1.Condition{Type: Accepted, Status: metav1.ConditionFalse, Reason: "InvalidAnnotation", Message: "a"}
	referring := metav1.Condition{Type: Programmed, Status: metav1.ConditionFalse, Reason: ReasonNotAccepted, Message: "see condition Accepted"}
	failing := metav1.Condition{Type: Programmed, Status: metav1.ConditionFalse, Reason: ReasonRejected, Message: "b"}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		want       string
	}{
		"it is refused":                         {[]metav1.Condition{refused, referring}, "a"},
		"it is refused and the cloud rejects":   {[]metav1.Condition{refused, failing}, "b"},
		"nothing says why it is refused":        {[]metav1.Condition{referring}, "see condition Accepted"},
		"it is programmed":                      {[]metav1.Condition{{Type: Programmed, Status: metav1.ConditionTrue}}, ""},
		"no controller has said anything of it": {nil, ""},
	} {
		got := ""
		if why := WhyNotProgrammed(c.conditions); why != nil {
			got = why.Message
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// shared returns the observed state when another Service owns the load balancer.
func shared(o lb.Observed) lb.Observed {
	o.Sharer = true
	return o
}
