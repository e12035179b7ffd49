// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// request is what one call said, its body as plain JSON.
type request struct {
	Method, Address string
	Body            any
}

func TestEachOpIsOneCallWithExactlyItsFields(t *testing.T) {
	for name, c := range map[string]struct {
		op                 diff.Op
		method, path, body string
	}{
		"any floating IP": {
			op:     diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: "n1", PortID: "p1", Description: "for web"}},
			method: "POST", path: "floatingips",
			body: `{"floatingip": {"floating_network_id": "n1", "port_id": "p1", "description": "for web"}}`,
		},
		"a certain floating IP of a subnet": {
			op: diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{
				NetworkID: "n1", SubnetID: "s1", Address: "192.0.2.9", PortID: "p1", Description: "for web", Tags: []string{"not sent"}}},
			method: "POST", path: "floatingips",
			body: `{"floatingip": {"floating_network_id": "n1", "subnet_id": "s1", "floating_ip_address": "192.0.2.9", "port_id": "p1", "description": "for web"}}`,
		},
		"attaching":   {op: diff.AssociateFloatingIP{ID: "f1", PortID: "p1"}, method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": "p1"}}`},
		"detaching":   {op: diff.DisassociateFloatingIP{ID: "f1"}, method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": null}}`},
		"giving back": {op: diff.DeleteFloatingIP{ID: "f1"}, method: "DELETE", path: "floatingips/f1"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []request
			client := against(func(w http.ResponseWriter, r *http.Request) {
				var text []byte
				if r.Body != nil {
					text, _ = io.ReadAll(r.Body)
				}
				got = append(got, request{r.Method, r.URL.Path, plain(t, string(text))})
				answer(w, map[string]int{"POST": 201, "PUT": 200, "DELETE": 204}[r.Method], `{"floatingip": {"id": "f9", "floating_ip_address": "192.0.2.7"}}`)
			})
			made, err := client.Apply(t.Context(), c.op)
			if err != nil {
				t.Fatal(err)
			}
			want := []request{{c.method, "/v2.0/" + c.path, plain(t, c.body)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			var expected diff.Created
			if c.method == "POST" {
				expected = diff.Created{ID: "f9", Address: "192.0.2.7"}
			}
			if made != expected {
				t.Errorf("made %+v", made)
			}
		})
	}
}

func TestARefusalSaysWhatWasTriedAndOfWhichClassItIs(t *testing.T) {
	create := diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: "n1"}}
	for name, c := range map[string]struct {
		op     diff.Op
		status int
		body   string
		class  openstack.Class
	}{
		"for a quota":                     {create, 409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip'].", "detail": ""}}`, openstack.Quota},
		"for an address in use":           {create, 409, `{"NeutronError": {"type": "IpAddressAlreadyAllocated", "message": "in use", "detail": ""}}`, openstack.Conflict},
		"for what it says":                {create, 400, `{"NeutronError": {"type": "BadRequest", "message": "no", "detail": ""}}`, openstack.Invalid},
		"for what is not there":           {diff.AssociateFloatingIP{ID: "f1"}, 404, `{"NeutronError": {"type": "FloatingIPNotFound", "message": "not found", "detail": ""}}`, openstack.Gone},
		"of an answer without the object": {create, 201, `{}`, openstack.Transient},
		"of an answer that is no JSON":    {create, 201, `<html>`, openstack.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			client := against(func(w http.ResponseWriter, _ *http.Request) { answer(w, c.status, c.body) })
			made, err := client.Apply(t.Context(), c.op)
			var e *openstack.Error
			if !errors.As(err, &e) || e.Class != c.class || e.Op != c.op.String() || made != (diff.Created{}) {
				t.Fatalf("made %+v, error %#v, want one of class %s for %q", made, err, c.class, c.op)
			}
			if e.Unanswered != (c.status == 201) {
				t.Errorf("unanswered is %t: what was created is then looked for", e.Unanswered)
			}
		})
	}
}

func TestLettingGoOfAFloatingIPThatIsGoneIsNoError(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 404, `{"NeutronError": {"type": "FloatingIPNotFound", "message": "not found", "detail": ""}}`)
	})
	for _, op := range []diff.Op{diff.DeleteFloatingIP{ID: "f1"}, diff.DisassociateFloatingIP{ID: "f1"}} {
		if _, err := client.Apply(t.Context(), op); err != nil {
			t.Error(err)
		}
	}
}

func TestAnOpOfOctaviaIsRefusedWithoutACall(t *testing.T) {
	client := against(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called %s", r.URL) })
	if _, err := client.Apply(t.Context(), diff.DeletePool{ID: "p1"}); openstack.Classify(err) != openstack.Invalid {
		t.Errorf("error %v", err)
	}
}

func TestAFloatingIPIsMadeMovedAndGivenBack(t *testing.T) {
	s := simulate(t)
	port := s.vipPort(t, "lb1")
	ids := s.IDs()
	wanted := lb.FloatingIP{NetworkID: ids.PublicNetwork, PortID: port, Description: "Floating IP for web"}
	made, err := s.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: wanted})
	if err != nil {
		t.Fatal(err)
	}
	at := diff.After(lb.Observed{}, diff.CreateFloatingIP{FloatingIP: wanted}, made)
	check := func(on int) {
		t.Helper()
		at.FloatingIPs[0].ProjectID, at.FloatingIPs[0].Tags = ids.Project, []string{}
		found, err := s.FloatingIPsWithAddress(t.Context(), made.Address)
		if diff := cmp.Diff(at.FloatingIPs, found); diff != "" || err != nil {
			t.Errorf("%v (-predicted +found by address):\n%s", err, diff)
		}
		if found, err = s.FloatingIPsOn(t.Context(), port); len(found) != on || err != nil {
			t.Errorf("on the port: %+v (%v)", found, err)
		}
	}
	check(1)
	for _, step := range []struct {
		op diff.Op
		on int
	}{
		{diff.DisassociateFloatingIP{ID: made.ID}, 0},
		{diff.DisassociateFloatingIP{ID: made.ID}, 0},
		{diff.AssociateFloatingIP{ID: made.ID, PortID: port}, 1},
	} {
		if _, err := s.Apply(t.Context(), step.op); err != nil {
			t.Fatal(err)
		}
		at = diff.After(at, step.op, diff.Created{})
		check(step.on)
	}
	for range 2 {
		if _, err := s.Apply(t.Context(), diff.DeleteFloatingIP{ID: made.ID}); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := s.FloatingIPsWithAddress(t.Context(), made.Address); len(found) > 0 || err != nil {
		t.Errorf("given back and still there: %+v (%v)", found, err)
	}
}

func TestTheFloatingIPThatIsAskedForIsMade(t *testing.T) {
	s := simulate(t)
	ids := s.IDs()
	any, err := s.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: ids.PublicNetwork, SubnetID: ids.PublicSubnet}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), diff.DeleteFloatingIP{ID: any.ID}); err != nil {
		t.Fatal(err)
	}
	// Asking for a certain address is for admins in Neutron's default policy.
	_, err = s.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: ids.PublicNetwork, Address: any.Address}})
	var e *openstack.Error
	if err != nil && (!errors.As(err, &e) || e.Class != openstack.Invalid || !strings.Contains(e.Error(), any.Address)) {
		t.Errorf("error %v", err)
	}
	if err == nil {
		if found, err := s.FloatingIPsWithAddress(t.Context(), any.Address); len(found) != 1 || err != nil {
			t.Errorf("found %+v (%v)", found, err)
		}
	}
}

func TestNoPortAndNoAddressHaveNoFloatingIPAndTakeNoCall(t *testing.T) {
	client := against(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called %s", r.URL) })
	on, err := client.FloatingIPsOn(t.Context(), "")
	with, err2 := client.FloatingIPsWithAddress(t.Context(), "")
	there, err3 := client.PortsThere(t.Context(), nil)
	if len(on)+len(with)+len(there) > 0 || errors.Join(err, err2, err3) != nil {
		t.Errorf("%v, %v, %v, %v", on, with, there, errors.Join(err, err2, err3))
	}
}

func TestFloatingIPsThatWereNotAskedForAreLeftOut(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, `{"floatingips": [{"id": "f1", "port_id": "p1", "floating_ip_address": "192.0.2.1"}, {"id": "f2", "port_id": null, "floating_ip_address": "192.0.2.2"}]}`)
	})
	if found, err := client.FloatingIPsOn(t.Context(), "p1"); err != nil || len(found) != 1 || found[0].ID != "f1" {
		t.Errorf("on p1: %+v (%v)", found, err)
	}
	if found, err := client.FloatingIPsWithAddress(t.Context(), "192.0.2.2"); err != nil || len(found) != 1 || found[0].ID != "f2" {
		t.Errorf("with 192.0.2.2: %+v (%v)", found, err)
	}
}

// vipPort makes a port as Octavia makes it for a VIP.
func (s simulated) vipPort(t *testing.T, loadBalancer string) (id string) {
	t.Helper()
	id, err := s.Neutron().AddPort(simulator.PortSpec{
		Name: "octavia-lb-" + loadBalancer, DeviceOwner: "Octavia", DeviceID: "lb-" + loadBalancer,
		ProjectID: s.IDs().Project, NetworkID: s.IDs().PrivateNetwork, FixedIPs: []simulator.FixedIP{{SubnetID: s.IDs().PrivateSubnet}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAllPortsAreLookedForInOneCall(t *testing.T) {
	s := simulate(t)
	a, b := s.vipPort(t, "a"), s.vipPort(t, "b")
	var there []string
	calls := s.calls(func() {
		var err error
		if there, err = s.PortsThere(t.Context(), []string{a, "11111111-1111-1111-1111-111111111111", b}); err != nil {
			t.Fatal(err)
		}
	})
	slices.Sort(there)
	want := []string{a, b}
	slices.Sort(want)
	if diff := cmp.Diff(want, there); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"GET /v2.0/ports": 1}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestPortsOfManyLoadBalancersAreLookedForByTheHundred(t *testing.T) {
	var ids, asked []string
	for i := range 250 {
		ids = append(ids, fmt.Sprintf("aaaaaaaa-aaaa-aaaa-aaaa-%012d", i))
	}
	calls := 0
	client := against(func(w http.ResponseWriter, r *http.Request) {
		calls++
		if n := len(r.URL.String()); n > 8000 {
			t.Errorf("an address of %d bytes", n)
		}
		some := r.URL.Query()["id"]
		asked = append(asked, some...)
		answer(w, 200, fmt.Sprintf(`{"ports": [{"id": %q, "name": "ovn-lb-vip-1"}]}`, some[0]))
	})
	there, err := client.PortsThere(t.Context(), ids)
	if diff := cmp.Diff(ids, asked); diff != "" || err != nil {
		t.Errorf("%v: asked for (-want +got):\n%s", err, diff)
	}
	if calls != 3 || len(there) != 3 {
		t.Errorf("%d calls found %v", calls, there)
	}
}

func TestAPortThatAPersonMadeForAVIPIsNotWaitedFor(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, `{"ports": [{"id": "p1", "name": "mine", "device_owner": ""}, {"id": "p2", "name": "", "device_owner": "Octavia"}]}`)
	})
	if there, err := client.PortsThere(t.Context(), []string{"p1", "p2"}); err != nil || !slices.Equal(there, []string{"p2"}) {
		t.Errorf("%v (%v)", there, err)
	}
}

func TestAnAnswerWithoutItsListIsAnErrorAndNoEmptyList(t *testing.T) {
	for name, body := range map[string]string{
		"an empty object": `{}`, "a null": `{"floatingips": null, "ports": null}`, "no list": `{"floatingips": {}, "ports": 7}`,
		"no JSON": `<html>`, "half of it": `{"floatingips": [{"id": "f1"`, "nothing": ``,
		"a next page that never comes": `{"floatingips": [{"id": "f1"}], "floatingips_links": [{"rel": "next"}], "ports": [{"id": "p1"}], "ports_links": [{"rel": "next"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			client := against(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, body) })
			_, on := client.FloatingIPsOn(t.Context(), "p1")
			_, with := client.FloatingIPsWithAddress(t.Context(), "192.0.2.1")
			_, there := client.PortsThere(t.Context(), []string{"p1"})
			_, subnet := client.SubnetOfAddress(t.Context(), "10.0.0.1")
			for _, err := range []error{on, with, there, subnet} {
				if openstack.Classify(err) != openstack.Transient {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func TestAllPagesAreReadWithTheSameFilter(t *testing.T) {
	var queries []string
	client := against(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		switch r.URL.Query().Get("marker") {
		case "":
			answer(w, 200, `{"floatingips": [{"id": "f1", "port_id": "p1"}], "floatingips_links": [{"rel": "next", "href": "http://192.0.2.1/elsewhere"}]}`)
		default:
			answer(w, 200, `{"floatingips": [{"id": "f2", "port_id": "p1"}], "floatingips_links": [{"rel": "previous"}]}`)
		}
	})
	found, err := client.FloatingIPsOn(t.Context(), "p1")
	if err != nil || len(found) != 2 {
		t.Errorf("%+v (%v)", found, err)
	}
	if diff := cmp.Diff([]string{"port_id=p1", "marker=f1&port_id=p1"}, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}
