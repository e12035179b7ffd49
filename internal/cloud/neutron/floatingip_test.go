// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

const nowhere = "00000000-0000-0000-0000-000000000000"

func TestARefusalOfAFloatingIPHasItsClass(t *testing.T) {
	c := newCloud(t, simulator.Options{TenantsChooseFloatingIPs: true, Quotas: map[string]int{"floatingip": 3}})
	public, port, other := c.IDs().PublicNetwork, c.port(), c.port()
	c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, PortID: port}})
	loose := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public}})
	refused := func(what string, op diff.Op, class openstack.Class) {
		t.Helper()
		made, err := c.Apply(t.Context(), op)
		if openstack.Classify(err) != class || !diffs.Equal(made, diff.Created{}) {
			t.Errorf("%s: class %q, want %s: %v; made %+v", what, openstack.Classify(err), class, err, made)
		}
		if err != nil && !strings.HasPrefix(err.Error(), op.String()) {
			t.Errorf("%s: the error does not begin with what was tried: %v", what, err)
		}
	}
	refused("a port that has one", diff.AssociateFloatingIP{ID: loose.ID, PortID: port}, openstack.Conflict)
	refused("a new one for a port that has one", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, PortID: port}}, openstack.Conflict)
	refused("an address that is taken", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, Address: loose.Address, PortID: other}}, openstack.Conflict)
	refused("an address outside", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, Address: "192.0.2.1", PortID: other}}, openstack.Invalid)
	refused("a network that is not external", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PrivateNetwork, PortID: other}}, openstack.Invalid)
	refused("a network that is none", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: nowhere}}, openstack.Invalid)
	refused("a port that is none", diff.AssociateFloatingIP{ID: loose.ID, PortID: nowhere}, openstack.Gone)
	refused("an op of Octavia", diff.DeletePool{ID: nowhere}, openstack.Invalid)
	c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public}})
	refused("one more than the quota", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, PortID: other}}, openstack.Quota)
}

func TestAFloatingIPWithoutAnAnswerMayHaveBeenCreated(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	for name, fault := range map[string]wire.Fault{
		"an empty object":    {Kind: wire.FaultStatus, Status: http.StatusCreated, Body: "{}", Header: map[string]string{"Content-Type": "application/json"}},
		"an object of no id": {Kind: wire.FaultStatus, Status: http.StatusCreated, Body: `{"floatingip": {}}`, Header: map[string]string{"Content-Type": "application/json"}},
		"garbage":            {Kind: wire.FaultGarbage},
		"half a body":        {Kind: wire.FaultHalfBody},
		"nothing":            {Kind: wire.FaultResetAfter},
	} {
		t.Run("answered by "+name, func(t *testing.T) {
			fault.Method, fault.Times = http.MethodPost, 1
			c.Faults().Add(fault)
			made, err := c.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork}})
			if e := asError(t, err); e.Class != openstack.Transient || !e.Unanswered || !diffs.Equal(made, diff.Created{}) {
				t.Errorf("class %s, unanswered %t, made %+v: %v", e.Class, e.Unanswered, made, err)
			}
		})
	}
}

func TestABrokenListOfFloatingIPsIsAnErrorAndNeverEmpty(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	port := c.port()
	made := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork, PortID: port}})
	for name, fault := range broken() {
		t.Run(name, func(t *testing.T) {
			fault.Route = "/v2.0/floatingips"
			defer c.Faults().Remove(c.Faults().Add(fault))
			if found, err := c.FloatingIPsOn(t.Context(), port); openstack.Classify(err) != openstack.Transient || found != nil {
				t.Errorf("found %v, class %q: %v", found, openstack.Classify(err), err)
			}
			if found, err := c.FloatingIPsWithAddress(t.Context(), made.Address); openstack.Classify(err) != openstack.Transient || found != nil {
				t.Errorf("found %v, class %q: %v", found, openstack.Classify(err), err)
			}
			if found, err := c.FloatingIPs(t.Context()); openstack.Classify(err) != openstack.Transient || found != nil {
				t.Errorf("listed %v, class %q: %v", found, openstack.Classify(err), err)
			}
		})
	}
}

func TestFloatingIPsOfTheProjectAreListedPageByPage(t *testing.T) {
	c := newCloud(t, simulator.Options{MaxPage: 2})
	port := c.port()
	var want []lb.FloatingIP
	for i := range 5 {
		op := diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork, Description: fmt.Sprint(i)}}
		if i == 3 {
			op.FloatingIP.PortID = port
		}
		made := c.make(op)
		f := op.FloatingIP
		f.ID, f.Address, f.ProjectID, f.Tags = made.ID, made.Address, c.IDs().Project, []string{}
		if i == 2 {
			f.Tags = []string{"cost=7", "prod"}
			if _, err := c.Apply(t.Context(), diff.SetFloatingIPTags{ID: f.ID, Address: f.Address, Tags: f.Tags}); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, f)
	}
	slices.SortFunc(want, func(a, b lb.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	found, err := c.FloatingIPs(t.Context())
	slices.SortFunc(found, func(a, b lb.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	if d := diffs.Diff(want, found); err != nil || d != "" {
		t.Errorf("%v; floating IPs (-want +listed):\n%s", err, d)
	}
	c.Faults().Add(wire.Fault{Route: "/v2.0/floatingips", Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Skip: 1})
	if found, err := c.FloatingIPs(t.Context()); openstack.Classify(err) != openstack.Transient || found != nil {
		t.Errorf("without the second page: %v, %v", found, err)
	}
}

func TestFloatingIPsOfOtherProjectsAreLeftOut(t *testing.T) {
	client := against(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("project_id"); got != "own" {
			t.Errorf("asked for those of project %q", got)
		}
		answer(w, http.StatusOK, `{"floatingips": [{"id": "f1", "project_id": "own"}, {"id": "f2", "project_id": "other"}]}`)
	})
	if found, err := client.FloatingIPs(t.Context()); err != nil || len(found) != 1 || found[0].ID != "f1" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestAnAdministratorDoesNotUseFloatingIPsOfOtherProjects uses a Client whose user sees everything, and
// attaches a floating IP of another project to one of its ports.
func TestAnAdministratorDoesNotUseFloatingIPsOfOtherProjects(t *testing.T) {
	c := newCloud(t, simulator.Options{}, "admin")
	port := c.port()
	create := func(project, portID string) floatingips.FloatingIP {
		t.Helper()
		made, err := floatingips.Create(t.Context(), c.service, floatingips.CreateOpts{
			FloatingNetworkID: c.IDs().PublicNetwork, PortID: portID, ProjectID: project}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		return *made
	}
	theirs, own := create(c.IDs().OtherProject, port), create(c.IDs().Project, "")
	var seen struct {
		FloatingIPs []struct{ ID string }
	}
	if _, err := c.service.Get(t.Context(), c.service.ServiceURL("floatingips"), &seen, nil); err != nil || len(seen.FloatingIPs) != 2 {
		t.Fatalf("the administrator sees %+v, %v: the test would show nothing", seen, err)
	}
	for name, look := range map[string]func() ([]lb.FloatingIP, error){
		"on the port":      func() ([]lb.FloatingIP, error) { return c.FloatingIPsOn(t.Context(), port) },
		"with the address": func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), theirs.FloatingIP) },
	} {
		c.Recorder().Reset()
		if found, err := look(); err != nil || len(found) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		c.only(1, http.MethodGet, "/v2.0/floatingips")
	}
	for name, look := range map[string]func() ([]lb.FloatingIP, error){
		"of the project": func() ([]lb.FloatingIP, error) { return c.FloatingIPs(t.Context()) },
		"with its own":   func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), own.FloatingIP) },
	} {
		if found, err := look(); err != nil || len(found) != 1 || found[0].ID != own.ID {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestFloatingIPsOfOtherProjectsAreLeftOutWhateverTheFilterDoes(t *testing.T) {
	client := against(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("project_id"); got != "own" {
			t.Errorf("asked for those of project %q", got)
		}
		answer(w, http.StatusOK, `{"floatingips": [{"id": "f1", "project_id": "own", "port_id": "p1", "floating_ip_address": "192.0.2.1"},
			{"id": "f2", "project_id": "other", "port_id": "p1", "floating_ip_address": "192.0.2.1"}]}`)
	})
	on, err := client.FloatingIPsOn(t.Context(), "p1")
	if err != nil || len(on) != 1 || on[0].ID != "f1" {
		t.Errorf("on the port: %+v, %v", on, err)
	}
	with, err := client.FloatingIPsWithAddress(t.Context(), "192.0.2.1")
	if err != nil || len(with) != 1 || with[0].ID != "f1" {
		t.Errorf("with the address: %+v, %v", with, err)
	}
}

// TestAddressesThatAreRequestedDuringACallTakeOneCall uses a call that hangs, so that the others, which wait for
// it, are made together.
func TestAddressesThatAreRequestedDuringACallTakeOneCall(t *testing.T) {
	s := newCloud(t, simulator.Options{})
	addresses := []string{"192.0.2.99"} // that no floating IP has
	for range 3 {
		addresses = append(addresses, s.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: s.IDs().PublicNetwork}}).Address)
	}
	hangs := s.Faults().Add(wire.Fault{Kind: wire.FaultLatency, Route: "/v2.0/floatingips", Delay: 3 * time.Second, Times: 1})
	defer s.Faults().Remove(hangs)
	s.Recorder().Reset()
	var calls sync.WaitGroup
	for i, address := range addresses {
		calls.Go(func() {
			found, err := s.FloatingIPsWithAddress(t.Context(), address)
			if known := i > 0; err != nil || known != (len(found) == 1) || known && found[0].Address != address {
				t.Errorf("%s: %+v (%v)", address, found, err)
			}
		})
	}
	calls.Wait()
	s.only(2, "GET", "/v2.0/floatingips")
}
