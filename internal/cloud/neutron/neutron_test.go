// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// handler serves requests without a network.
type handler func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements http.RoundTripper.
func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result(), nil
}

// against returns a client of a Neutron that handle implements.
func against(handle handler) *neutron.Client {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: handle}}
	return neutron.New(&gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: "http://neutron.test/", ResourceBase: "http://neutron.test/v2.0/", Type: "network",
	}, "own")
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// plain decodes JSON; empty text is nil.
func plain(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return v
}

// request is one call, with its body as plain JSON.
type request struct {
	Method, Address string
	Body            any
}

func TestPortsOfVIPsNameTheirLoadBalancer(t *testing.T) {
	const id = "5bbf9a5b-44f1-4b38-9412-2ea96d0f141a"
	for name, c := range map[string]struct{ name, device, owner, want string }{
		"amphora":                            {"octavia-lb-" + id, "lb-" + id, "Octavia", id},
		"ovn":                                {"ovn-lb-vip-" + id, "lb-" + id, "", id},
		"ovn 3":                              {"ovn-lb-vip-" + id, "", "", id},
		"an additional VIP, ovn 8":           {"ovn-lb-vip-additional-1-" + id, "", "", id},
		"an additional VIP, ovn 11":          {"ovn-lb-vip-additional-1-" + id, "lb-" + id, "", id},
		"a port of a user that became a VIP": {"mine", "lb-" + id, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := neutron.LoadBalancerOf(c.name, c.device, c.owner); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
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
				NetworkID: "n1", SubnetIDs: []string{"s1"}, Address: "192.0.2.9", PortID: "p1", Description: "for web", Tags: []string{"not sent"}}},
			method: "POST", path: "floatingips",
			body: `{"floatingip": {"floating_network_id": "n1", "subnet_id": "s1", "floating_ip_address": "192.0.2.9", "port_id": "p1", "description": "for web"}}`,
		},
		"attaching": {op: diff.AssociateFloatingIP{ID: "f1", PortID: "p1"}, method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": "p1"}}`},
		"detaching": {op: diff.DisassociateFloatingIP{ID: "f1"}, method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": null}}`},
		"attaching one that was kept": {op: diff.AssociateFloatingIP{ID: "f1", PortID: "p1", Description: "for web"},
			method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": "p1", "description": "for web"}}`},
		"detaching one to keep it": {op: diff.DisassociateFloatingIP{ID: "f1", Description: "kept"},
			method: "PUT", path: "floatingips/f1", body: `{"floatingip": {"port_id": null, "description": "kept"}}`},
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
			if !cmp.Equal(made, expected) {
				t.Errorf("made %+v", made)
			}
		})
	}
}

func TestReleasingADeletedFloatingIPIsNoError(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 404, `{"NeutronError": {"type": "FloatingIPNotFound", "message": "not found", "detail": ""}}`)
	})
	for _, op := range []diff.Op{diff.DeleteFloatingIP{ID: "f1"}, diff.DisassociateFloatingIP{ID: "f1"}} {
		if _, err := client.Apply(t.Context(), op); err != nil {
			t.Error(err)
		}
	}
}

func TestAFloatingIPIsCreatedMovedAndDeleted(t *testing.T) {
	s := newCloud(t, simulator.Options{TenantsChooseFloatingIPs: true})
	port, ids := s.port(), s.IDs()
	wanted := lb.FloatingIP{
		NetworkID: ids.PublicNetwork, Address: "198.51.100.77", PortID: port, Description: "Floating IP for web",
	}
	made, err := s.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: wanted})
	if err != nil || made.Address != wanted.Address {
		t.Fatalf("made %+v (%v)", made, err)
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

func TestAnEmptyPortOrAddressTakesNoCall(t *testing.T) {
	client := against(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called %s", r.URL) })
	on, err := client.FloatingIPsOn(t.Context(), "")
	with, err2 := client.FloatingIPsWithAddress(t.Context(), "")
	there, err3 := client.ExistingPorts(t.Context(), nil)
	if len(on)+len(with)+len(there) > 0 || errors.Join(err, err2, err3) != nil {
		t.Errorf("%v, %v, %v, %v", on, with, there, errors.Join(err, err2, err3))
	}
}

func TestFloatingIPsThatDoNotMatchTheFilterAreLeftOut(t *testing.T) {
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

func TestAListOfFloatingIPsIsNeverGone(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 404, `{"message": "The resource could not be found."}`)
	})
	if _, err := client.FloatingIPsOn(t.Context(), "p1"); openstack.Classify(err) != openstack.Transient {
		t.Errorf("class %s: %v", openstack.Classify(err), err)
	}
}

func TestAllPortsAreReadWithOneCall(t *testing.T) {
	s := newCloud(t, simulator.Options{})
	a, b := s.port(), s.port()
	s.Recorder().Reset()
	there, err := s.ExistingPorts(t.Context(), []string{a, "11111111-1111-1111-1111-111111111111", b})
	if err != nil {
		t.Fatal(err)
	}
	s.only(1, "GET", "/v2.0/ports")
	if diff := cmp.Diff(map[string]bool{a: true, b: true}, there); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestPortsOfManyLoadBalancersAreReadByTheHundred(t *testing.T) {
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
	there, err := client.ExistingPorts(t.Context(), ids)
	if diff := cmp.Diff(ids, asked); diff != "" || err != nil {
		t.Errorf("%v: asked for (-want +got):\n%s", err, diff)
	}
	if calls != 3 || len(there) != 3 {
		t.Errorf("%d calls found %v", calls, there)
	}
}

func TestVIPPortOfAUserIsDistinguishedFromThoseOfOctavia(t *testing.T) {
	client := against(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, `{"ports": [{"id": "p1", "name": "mine", "device_owner": ""}, {"id": "p2", "name": "", "device_owner": "Octavia"}]}`)
	})
	there, err := client.ExistingPorts(t.Context(), []string{"p1", "p2", "p3"})
	if diff := cmp.Diff(map[string]bool{"p1": false, "p2": true}, there); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
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
	if diff := cmp.Diff([]string{"port_id=p1&project_id=own", "marker=f1&port_id=p1&project_id=own"}, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}
