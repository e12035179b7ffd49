// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// minute returns a time, n minutes after the beginning of the tests.
func minute(n int) time.Time { return time.Date(2026, 1, 2, 3, n, 0, 0, time.UTC) }

// shot returns a topology that was completely read at a minute.
func shot(at int, services ...Service) Topology {
	return Topology{ReadAt: minute(at), ServicesAt: minute(at), Services: services}
}

// web returns a Service with a load balancer whose member w-1 is as given, and w-2 is OK.
func web(state State, member State, reasons ...string) Service {
	return Service{Key: "shop/web", State: state, Reasons: reasons, Addresses: []string{"192.0.2.1"}, LoadBalancer: &LoadBalancer{
		ID: "lb-1", MembersRead: true, Pools: []Pool{{ID: "p", Members: []Member{
			{Name: "w-1", Statuses: Statuses{State: member}}, {Name: "w-2", Statuses: Statuses{State: OK}},
		}}},
	}}
}

// observed returns the history of topologies, each observed half a minute after it was read.
func observed(all ...Topology) History {
	var h History
	for _, t := range all {
		h = h.Observe(t, t.ReadAt.Add(30*time.Second))
	}
	return h
}

// edited returns the Service after the edit.
func edited(s Service, edit func(*Service)) Service {
	edit(&s)
	return s
}

func TestHistoryShowsWhatChangedOfAService(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []Service
		want          []string
	}{
		"nothing changed":           {[]Service{web(OK, OK)}, []Service{web(OK, OK)}, nil},
		"it is new":                 {nil, []Service{web(Pending, OK, "1 operation is pending.")}, []string{"shop/web pending New Service."}},
		"it is gone":                {[]Service{web(OK, OK)}, nil, []string{"shop/web unknown Gone: it was deleted, or is not handled any more."}},
		"it fails":                  {[]Service{web(OK, OK)}, []Service{web(Failed, OK, "Quota: no more.", "1 operation is pending.")}, []string{"shop/web failed Failed, was OK: Quota: no more."}},
		"it serves again":           {[]Service{web(Warning, Failed, "1 of 2 is down: w-1.")}, []Service{web(OK, OK)}, []string{"shop/web ok OK, was Warning. Up again: w-1."}},
		"a member goes down":        {[]Service{web(OK, OK)}, []Service{web(Warning, Failed, "1 of 2 is down: w-1.")}, []string{"shop/web warning Warning, was OK: 1 of 2 is down: w-1."}},
		"another reason":            {[]Service{web(Failed, OK, "Quota: no more.")}, []Service{web(Failed, OK, "It is in ERROR.")}, []string{"shop/web failed It is in ERROR."}},
		"the same failure again":    {[]Service{web(Failed, OK, "Quota: no more (request req-1)")}, []Service{web(Failed, OK, "Quota: no more (request req-2)")}, nil},
		"operations go on":          {[]Service{web(Pending, OK, "2 operations are pending.")}, []Service{web(Pending, OK, "1 operation is pending.")}, nil},
		"it becomes unknown":        {[]Service{web(OK, OK)}, []Service{web(Unknown, OK, "There is no plan.")}, nil},
		"it was unknown":            {[]Service{web(Unknown, OK, "There is no plan.")}, []Service{web(OK, OK)}, nil},
		"it was unknown, and fails": {[]Service{web(Unknown, OK, "There is no plan.")}, []Service{web(Failed, OK, "Quota: no more.")}, []string{"shop/web failed Failed, was Unknown: Quota: no more."}},
		"it was unknown, and gets its load balancer": {[]Service{{Key: "shop/web", State: Unknown}}, []Service{web(OK, OK)}, []string{"shop/web ok Address 192.0.2.1, was none. Load balancer lb-1."}},
		"its address changes":                        {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) { s.Addresses = nil })}, []string{"shop/web ok Address none, was 192.0.2.1."}},
		"a port is added":                            {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) { s.Ports = []string{"80/TCP"} })}, []string{"shop/web ok Ports 80/TCP, were none."}},
		"its load balancer is replaced": {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) { s.LoadBalancer.ID = "lb-2" })},
			[]string{"shop/web ok Load balancer lb-2, was lb-1."}},
		"its load balancer is gone": {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) { s.LoadBalancer = nil })}, []string{"shop/web ok Load balancer lb-1 is gone."}},
		"it gets a load balancer":   {[]Service{edited(web(OK, OK), func(s *Service) { s.LoadBalancer = nil })}, []Service{web(OK, OK)}, []string{"shop/web ok Load balancer lb-1."}},
		"a member is replaced": {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) { s.LoadBalancer.Pools[0].Members[1].Name = "w-3" })},
			[]string{"shop/web ok New members: w-3. Removed members: w-2."}},
		"members that were not read": {[]Service{web(OK, OK)}, []Service{edited(web(OK, OK), func(s *Service) {
			s.LoadBalancer.MembersRead, s.LoadBalancer.Pools = false, nil
		})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := observed(shot(1, c.before...), shot(2, c.after...))
			var got []string
			for _, x := range h.Changes {
				got = append(got, fmt.Sprint(x.Service, " ", x.State, " ", x.Text))
				if !x.After.Equal(minute(1)) || !x.At.Equal(minute(2).Add(30*time.Second)) {
					t.Errorf("between %v and %v", x.After, x.At)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryComparesWithWhatWasKnownBeforeTheServiceWasUnknown(t *testing.T) {
	h := observed(shot(1, web(OK, OK)), shot(2, web(Unknown, OK)), shot(3, web(Failed, OK, "All are down.")))
	if len(h.Changes) != 1 || h.Changes[0].Text != "Failed, was OK: All are down." {
		t.Errorf("%+v", h.Changes)
	}
}

func TestMemberIsNamedEvenIfTheReasonNamesOneWithALongerName(t *testing.T) {
	const reason = "5 of 6 members of port 80/TCP are down: w-10, w-11, 10.0.0.11 and 2 others."
	pools := func(state State) func(*Service) {
		return func(s *Service) {
			var members []Member
			for _, name := range []string{"w-1", "w-10", "w-11", "10.0.0.1", "10.0.0.11"} {
				members = append(members, Member{Name: name, Statuses: Statuses{State: state}})
			}
			s.LoadBalancer.Pools = []Pool{{ID: "p", Members: members}}
		}
	}
	h := observed(shot(1, edited(web(OK, OK), pools(OK))), shot(2, edited(web(Warning, OK, reason), pools(Failed))))
	if diff := cmp.Diff("Warning, was OK: "+reason+" Down: 10.0.0.1, w-1.", h.Changes[0].Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnreadServicesAreNoChange(t *testing.T) {
	unread := Topology{ReadAt: minute(2)} // Kubernetes does not answer, so there are no Services
	h := observed(unread, shot(3, web(OK, OK)), unread, shot(4, web(OK, OK)))
	if len(h.Changes) > 0 || !h.Since.Equal(minute(3).Add(30*time.Second)) {
		t.Errorf("since %v: %+v", h.Since, h.Changes)
	}
}

func TestAnOutageHasABeginningAndAnEnd(t *testing.T) {
	var h History
	for at := range 5 { // the outage begins after minute 1, and ends between minutes 3 and 4
		t := shot(at)
		if at == 2 || at == 3 {
			t.Problems = []Problem{{Of: "OpenStack", Message: "502", Since: minute(2).Add(-time.Second)}}
		}
		h = h.Observe(t, minute(at))
	}
	var got []string
	for _, c := range h.Changes {
		got = append(got, fmt.Sprintf("%d %s %s-%s %s", c.Number, c.State, c.After.Format("04:05"), c.At.Format("04:05"), c.Text))
	}
	if diff := cmp.Diff([]string{"1 failed 01:59-02:00 OpenStack cannot be read: 502", "2 ok 03:00-04:00 OpenStack can be read again."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheTextOfAChangeIsBounded(t *testing.T) {
	h := observed(shot(1, web(OK, OK)), shot(2, web(Failed, OK, strings.Repeat("ü", 10*longestText))))
	if text := h.Changes[0].Text; len([]rune(text)) != longestText || !strings.HasSuffix(text, "…") {
		t.Errorf("%d characters: %s", len([]rune(text)), text)
	}
}

func TestHistoryIsBoundedNumberedAndNeverChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		total := 0
		states := rapid.SampledFrom([]State{OK, Unknown, Pending, Warning, Failed})
		for at := range rapid.IntRange(1, 30).Draw(t, "topologies") {
			var services []Service
			for i := range rapid.IntRange(0, 100).Draw(t, "services") {
				services = append(services, Service{Key: fmt.Sprint("s/", i), State: states.Draw(t, "state")})
			}
			before := slices.Clone(h.Changes)
			next := h.Observe(shot(at, services...), minute(at))
			if !slices.Equal(before, h.Changes) {
				t.Fatalf("the earlier history was changed from %v to %v", before, h.Changes)
			}
			if again := next.Observe(shot(at, services...), minute(at)); !slices.Equal(again.Changes, next.Changes) {
				t.Fatalf("the same topology once more is a change: %v", again.Changes)
			}
			h = next
			for i, c := range h.Changes {
				if i > 0 && c.Number != h.Changes[i-1].Number+1 {
					t.Fatalf("number %d follows %d", c.Number, h.Changes[i-1].Number)
				}
			}
			if n := len(h.Changes); n > 0 {
				total = h.Changes[n-1].Number
			}
			if len(h.Changes) != min(total, MostChanges) {
				t.Fatalf("%d of %d changes", len(h.Changes), total)
			}
		}
	})
}
