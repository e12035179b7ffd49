// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

const nowhere = "00000000-0000-0000-0000-000000000000"

// TestEachFloatingIPOpIsOneCallAndDoesWhatIsPredicted goes through the life of a
// floating IP.
func TestEachFloatingIPOpIsOneCallAndDoesWhatIsPredicted(t *testing.T) {
	c := newCloud(t, simulator.Options{TenantsChooseFloatingIPs: true})
	first, second := c.port("10.0.200.1"), c.port("10.0.200.2")
	public := c.IDs().PublicNetwork
	const address = "198.51.100.77"
	observed := lb.Observed{}
	step := func(op diff.Op, method, route string, want request) diff.Created {
		t.Helper()
		c.Recorder().Reset()
		made, err := c.Apply(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		c.only(1, method, route)
		if diff := cmp.Diff(want, c.sent.lastWrite()); diff != "" {
			t.Errorf("%v (-want +sent):\n%s", op, diff)
		}
		observed = diff.After(observed, op, made)
		found, err := c.FloatingIPsWithAddress(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		set := cmpopts.IgnoreFields(lb.FloatingIP{}, "ProjectID", "SubnetID")
		if diff := cmp.Diff(observed.FloatingIPs, found, cmpopts.EquateEmpty(), set); diff != "" {
			t.Errorf("%v (-predicted +there):\n%s", op, diff)
		}
		return made
	}
	const all, one = "/v2.0/floatingips", "/v2.0/floatingips/{id}"
	type object = map[string]any

	given := lb.FloatingIP{NetworkID: public, SubnetID: c.IDs().PublicSubnet, Address: address, PortID: first, Description: "Floating IP for the shop"}
	made := step(diff.CreateFloatingIP{FloatingIP: given}, "POST", all, request{"POST", all, object{"floatingip": object{
		"floating_network_id": public, "subnet_id": c.IDs().PublicSubnet, "floating_ip_address": address, "port_id": first, "description": "Floating IP for the shop"}}})
	path := "/v2.0/floatingips/" + made.ID
	step(diff.AssociateFloatingIP{ID: made.ID, PortID: second}, "PUT", one, request{"PUT", path, object{"floatingip": object{"port_id": second}}})
	step(diff.DisassociateFloatingIP{ID: made.ID}, "PUT", one, request{"PUT", path, object{"floatingip": object{"port_id": nil}}})
	step(diff.DisassociateFloatingIP{ID: made.ID}, "PUT", one, request{"PUT", path, object{"floatingip": object{"port_id": nil}}})
	step(diff.AssociateFloatingIP{ID: made.ID, PortID: first}, "PUT", one, request{"PUT", path, object{"floatingip": object{"port_id": first}}})
	step(diff.DeleteFloatingIP{ID: made.ID}, "DELETE", one, request{"DELETE", path, nil})

	// What is gone is detached and deleted.
	for _, op := range []diff.Op{diff.DeleteFloatingIP{ID: made.ID}, diff.DisassociateFloatingIP{ID: made.ID}} {
		if _, err := c.Apply(t.Context(), op); err != nil {
			t.Errorf("%v once more: %v", op, err)
		}
	}
	if _, err := c.Apply(t.Context(), diff.AssociateFloatingIP{ID: made.ID, PortID: first}); openstack.Classify(err) != openstack.Gone {
		t.Errorf("one that is gone is attached: %v", err)
	}
}

func TestAnyAddressIsTakenWhenNoneIsGiven(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	port := c.port()
	made := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork, PortID: port, Description: "d"}})
	if !strings.HasPrefix(made.Address, "198.51.100.") {
		t.Errorf("the address is %q", made.Address)
	}
	want := []lb.FloatingIP{{ID: made.ID, Address: made.Address, NetworkID: c.IDs().PublicNetwork, Description: "d", ProjectID: c.IDs().Project, PortID: port}}
	found, err := c.FloatingIPsOn(t.Context(), port)
	if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("error %v; on the port (-want +got):\n%s", err, diff)
	}
}

func TestFloatingIPsAreFoundByPortAndByAddress(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	port, bare := c.port(), c.port()
	on := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork, PortID: port}})
	loose := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork}})
	c.Recorder().Reset()
	for what, one := range map[string]struct {
		find func() ([]lb.FloatingIP, error)
		want string
		n    int
	}{
		"on the port":            {func() ([]lb.FloatingIP, error) { return c.FloatingIPsOn(t.Context(), port) }, on.ID, 1},
		"on a bare port":         {func() ([]lb.FloatingIP, error) { return c.FloatingIPsOn(t.Context(), bare) }, "", 1},
		"on no port":             {func() ([]lb.FloatingIP, error) { return c.FloatingIPsOn(t.Context(), "") }, "", 0},
		"an address on a port":   {func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), on.Address) }, on.ID, 1},
		"an address on none":     {func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), loose.Address) }, loose.ID, 1},
		"an address nobody has":  {func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), "198.51.100.250") }, "", 1},
		"no address, not by all": {func() ([]lb.FloatingIP, error) { return c.FloatingIPsWithAddress(t.Context(), "") }, "", 0},
	} {
		found, err := one.find()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if len(found) > 1 || one.want == "" && len(found) > 0 || one.want != "" && (len(found) != 1 || found[0].ID != one.want) {
			t.Errorf("%s: found %+v, want %q", what, found, one.want)
		}
		if n := len(c.Recorder().Calls()); n != one.n {
			t.Errorf("%s: %d calls, want %d", what, n, one.n)
		}
		c.Recorder().Reset()
	}
}

// TestAServiceThatKnowsNoFilter answers with what was not asked for.
func TestAServiceThatKnowsNoFilter(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	c.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusOK, Route: "/v2.0/floatingips", Body: `{"floatingips": [
		{"id": "f1", "floating_ip_address": "198.51.100.1", "port_id": "p1"}, {"id": "f2", "floating_ip_address": "198.51.100.2", "port_id": null}]}`})
	if found, err := c.FloatingIPsOn(t.Context(), "p1"); err != nil || len(found) != 1 || found[0].ID != "f1" {
		t.Errorf("found %+v, error %v", found, err)
	}
	if found, err := c.FloatingIPsWithAddress(t.Context(), "198.51.100.2"); err != nil || len(found) != 1 || found[0].ID != "f2" {
		t.Errorf("found %+v, error %v", found, err)
	}
}

func TestARefusalOfAFloatingIPHasItsClass(t *testing.T) {
	c := newCloud(t, simulator.Options{TenantsChooseFloatingIPs: true, Quotas: map[string]int{"floatingip": 3}})
	public, port, other := c.IDs().PublicNetwork, c.port(), c.port()
	c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, PortID: port}})
	loose := c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public}})
	refused := func(what string, op diff.Op, class openstack.Class) {
		t.Helper()
		made, err := c.Apply(t.Context(), op)
		if openstack.Classify(err) != class || made != (diff.Created{}) {
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
	refused("a network that is none", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: nowhere}}, openstack.Gone)
	refused("a port that is none", diff.AssociateFloatingIP{ID: loose.ID, PortID: nowhere}, openstack.Gone)
	refused("an op of Octavia", diff.DeletePool{ID: nowhere}, openstack.Invalid)
	c.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public}})
	refused("one more than the quota", diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: public, PortID: other}}, openstack.Quota)
}

func TestAnAddressThatTenantsMayNotChooseIsInvalid(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	op := diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: c.IDs().PublicNetwork, Address: "198.51.100.77"}}
	if _, err := c.Apply(t.Context(), op); openstack.Classify(err) != openstack.Invalid {
		t.Errorf("class %q: %v", openstack.Classify(err), err)
	}
}

func TestAFloatingIPWithoutAnAnswerMayHaveBeenMade(t *testing.T) {
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
			if e := asError(t, err); e.Class != openstack.Transient || !e.Unanswered || made != (diff.Created{}) {
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
		})
	}
}
