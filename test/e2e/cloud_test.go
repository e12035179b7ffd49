// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/node"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// cloud is the OpenStack of a stage. What the test itself reads and writes through
// its methods does not go the way of the controller's calls, so that the record
// of calls has the controller's only.
type cloud struct {
	backend
	t testing.TB
	// made are the paths of what the test made by hand, in Neutron.
	made []string
	// limited are the paths of quotas that the test set.
	limited []string
	// earlier are the ids of what the project had before the test: on a real cloud
	// an earlier test may have left behind something that can no longer be deleted.
	// That is the trouble of the test that left it.
	earlier map[string]bool
}

// backend is what the simulator and a real OpenStack do in different ways.
type backend interface {
	// AuthURL is where the controller finds the cloud, CloudConf what it is told
	// of it, and Credentials are whose credentials that has. PasswordConf has this
	// user's password.
	AuthURL() string
	CloudConf() string
	PasswordConf() string
	Credentials() cloudsim.Credentials
	// Reader is a user who may only read in the project: name and password.
	Reader() cloudsim.Credentials
	// IDs are the ids of what the cloud had from the start.
	IDs() cloudsim.IDs

	// Recorder has the controller's calls, Faults and Latency disturb them, and
	// ExpireTokens makes it authenticate again.
	Recorder() *wire.Recorder
	Faults() *wire.Faults
	Latency() *wire.Latency
	ExpireTokens()
	// Secrets are the passwords and tokens that must not be shown anywhere.
	Secrets() []string

	// requester makes requests of the test's own.
	requester(as person) openstack.Requester
	// server gives the stage a server that can be the node of the name.
	server(name string) (node.Node, error)

	// provider is Octavia's default provider, amphora or ovn.
	provider() string
	// finishes reports whether Octavia ends all that one call began.
	finishes() bool
	// packets reports whether packets flow. Where none do, only the API can tell
	// where they would go.
	packets() bool
	// podNetwork is the network namespace of Pods; empty where nodes are on
	// loopback addresses.
	podNetwork() string
	// podPorts are network namespaces with ports of the cloud, for Pods with the setting podPorts,
	// and podNetworkID is their network; none where Pods are on loopback addresses.
	podPorts() []node.PodPort
	podNetworkID() string
	// outside is a client on the public network, internet one beyond it, and inside
	// one beside the nodes; they make requests only where packets flow.
	outside() client
	internet() client
	inside() client

	// hold keeps load balancers PENDING_CREATE and PENDING_DELETE until release is
	// called.
	hold() (release func())
	// fail puts a load balancer into ERROR, repair makes it work again as the
	// cloud's operator would.
	fail(loadBalancerID string)
	repair(loadBalancerID string)
	// miscarry makes the next create of a load balancer of this name end in ERROR.
	miscarry(name string)
}

// person is who makes a request.
type person string

const (
	asUser  person = "user" // the controller's
	asAdmin person = "admin"
)

// startCloud starts a cloud for the test: one of its own, simulated, or the way
// to the real one that the flag names.
func startCloud(t testing.TB, o cloudsim.Options) *cloud {
	t.Helper()
	if *stateDir == "" {
		return &cloud{backend: newSimulated(t, o), t: t}
	}
	c := &cloud{backend: newReal(t), t: t}
	c.earlier = c.everything()
	return c
}

// everything has the ids of all that empty looks at, and of security groups.
func (c *cloud) everything() map[string]bool {
	c.t.Helper()
	all := map[string]bool{}
	for _, kind := range []string{"loadbalancers", "listeners", "pools", "healthmonitors"} {
		for _, id := range c.ids(kind) {
			all[id] = true
		}
	}
	for _, p := range c.ports() {
		all[p.ID] = true
	}
	for _, f := range c.floatingIPs() {
		all[f.ID] = true
	}
	var answer struct {
		Groups []struct{ ID string } `json:"security_groups"`
	}
	c.neutron(http.MethodGet, "security-groups?fields=id", nil, &answer)
	for _, g := range answer.Groups {
		all[g.ID] = true
	}
	return all
}

// simulatorOnly skips the test on a real OpenStack, and says why.
func simulatorOnly(t *testing.T, why string) {
	t.Helper()
	if *stateDir != "" {
		t.Skipf("on the simulator only: %s", why)
	}
}

// skipOnRealOpenStack skips the test on a real OpenStack when the run is to be short, and says
// why that is no loss. A real load balancer takes seconds to be made, changed and
// deleted, and what the test is about does not depend on who does that.
func skipOnRealOpenStack(t *testing.T, why string) {
	t.Helper()
	if *stateDir != "" && testing.Short() {
		t.Skipf("without -short only on a real cloud: %s", why)
	}
}

// onlyWithProvider skips the test on a real OpenStack with another provider, and
// says what is the matter with that. The simulator has both.
func onlyWithProvider(t *testing.T, provider, why string) {
	t.Helper()
	if *stateDir == "" {
		return
	}
	if c, err := openstack.Load(*stateDir); err == nil && c.Provider != provider {
		t.Skipf("with provider %s only: %s", provider, why)
	}
}

// needsPackets skips a test that is about packets alone, before it makes anything.
func needsPackets(t *testing.T) {
	t.Helper()
	if *stateDir == "" {
		return
	}
	if c, err := openstack.Load(*stateDir); err == nil && c.DataPlane == nil {
		t.Skip("no packets with noop amphorae")
	}
}

// needsOctavia skips the rest of a test where the cloud's Octavia has only older API versions than this one.
func (s *stage) needsOctavia(version string) {
	s.t.Helper()
	if !slices.Contains(s.octaviaVersions(), "v"+version) {
		s.t.Skipf("Octavia has no API version %s", version)
	}
}

// notAfter skips the rest of a test where the cloud's Octavia has newer API versions than this one.
func (s *stage) notAfter(version string) {
	s.t.Helper()
	if all := s.octaviaVersions(); all[len(all)-1] != "v"+version {
		s.t.Skipf("Octavia has API version %s, after %s", all[len(all)-1], version)
	}
}

// hasNewOVN reports whether the cloud is a real one with provider ovn of release 8 or newer, on OVN 25.03 or newer. The children of
// its load balancers become ACTIVE up to 8 s after them, which changes the time of the last change once more. And OVN cuts
// what is open through floating IPs at a member that is removed, see docs/reference/providers.md.
func (s *stage) hasNewOVN() bool {
	s.t.Helper()
	if *stateDir == "" {
		return false
	}
	c, err := openstack.Load(*stateDir)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Provider == "ovn" && slices.Contains(s.octaviaVersions(), "v2.27")
}

// octaviaVersions returns the API versions of the cloud's Octavia, the oldest first.
func (s *stage) octaviaVersions() []string {
	s.t.Helper()
	var answer struct {
		Versions []struct{ ID string }
	}
	if err := s.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/", nil, &answer); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, v := range answer.Versions {
		all = append(all, v.ID)
	}
	return all
}

// call makes a request to Octavia, Neutron or Barbican (cloudsim.LoadBalancer,
// cloudsim.Network, cloudsim.KeyManager) and decodes the answer into it unless that is nil.
func (c *cloud) call(as person, service, method, path string, body, answer any) error {
	// A test that has ended cleans up.
	return openstack.Call(context.WithoutCancel(c.t.Context()), c.requester(as), service, method, path, body, answer)
}

// octavia makes a request to Octavia that must succeed.
func (c *cloud) octavia(method, path string, body, answer any) {
	c.t.Helper()
	if err := c.call(asUser, cloudsim.LoadBalancer, method, "/v2.0/lbaas/"+path, body, answer); err != nil {
		c.t.Fatal(err)
	}
}

// neutron makes a request to Neutron that must succeed.
func (c *cloud) neutron(method, path string, body, answer any) {
	c.t.Helper()
	if err := c.call(asUser, cloudsim.Network, method, "/v2.0/"+path, body, answer); err != nil {
		c.t.Fatal(err)
	}
}

// port is a Neutron port, as far as tests look at it.
type port struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DeviceID    string `json:"device_id"`
	DeviceOwner string `json:"device_owner"`
}

// ports returns all Neutron ports of the controller's project, but earlier ones.
func (c *cloud) ports() []port {
	c.t.Helper()
	var answer struct{ Ports []port }
	c.neutron(http.MethodGet, "ports", nil, &answer)
	return slices.DeleteFunc(answer.Ports, func(p port) bool { return c.earlier[p.ID] })
}

// floatingIP is a floating IP, as far as tests look at it.
type floatingIP struct {
	ID          string `json:"id"`
	Address     string `json:"floating_ip_address"`
	PortID      string `json:"port_id"`
	Description string `json:"description"`
	Tags        []string
}

// floatingIPs returns all floating IPs of the controller's project, but earlier ones.
func (c *cloud) floatingIPs() []floatingIP {
	c.t.Helper()
	var answer struct{ FloatingIPs []floatingIP }
	c.neutron(http.MethodGet, "floatingips", nil, &answer)
	return slices.DeleteFunc(answer.FloatingIPs, func(f floatingIP) bool { return c.earlier[f.ID] })
}

// floatingIP returns the one with the address; its ID is empty when there is none.
func (c *cloud) floatingIP(address string) floatingIP {
	c.t.Helper()
	for _, f := range c.floatingIPs() {
		if f.Address == address {
			return f
		}
	}
	return floatingIP{}
}

// makeFloatingIP creates a floating IP as a user would, attached to the port unless that is empty.
func (c *cloud) makeFloatingIP(portID string) floatingIP {
	c.t.Helper()
	wish := map[string]any{"floating_network_id": c.IDs().PublicNetwork, "description": "by hand"}
	if portID != "" {
		wish["port_id"] = portID
	}
	var answer struct{ FloatingIP floatingIP }
	c.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": wish}, &answer)
	c.made = append(c.made, "floatingips/"+answer.FloatingIP.ID)
	return answer.FloatingIP
}

// makePort creates a port on the private network as a user would.
func (c *cloud) makePort() port {
	c.t.Helper()
	var answer struct{ Port port }
	c.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"network_id": c.IDs().PrivateNetwork}}, &answer)
	c.made = append(c.made, "ports/"+answer.Port.ID)
	return answer.Port
}

// showPublicSubnets lets the controller's project see the subnets of the public network,
// as hack/openstack does with the real one.
func (c *cloud) showPublicSubnets() {
	c.t.Helper()
	if sim, ok := c.backend.(simulated); ok {
		if err := sim.Neutron().ShareNetwork(c.IDs().PublicNetwork, c.IDs().Project); err != nil {
			c.t.Fatal(err)
		}
	}
}

// count returns how many objects of a kind, such as "listeners", the controller's project has in
// Octavia, not counting earlier ones.
func (c *cloud) count(kind string) int {
	c.t.Helper()
	return len(c.ids(kind))
}

// ids are the ids of all objects of a kind, such as "listeners", without those of before the test.
func (c *cloud) ids(kind string) []string {
	c.t.Helper()
	var answer map[string][]struct{ ID string }
	c.octavia(http.MethodGet, kind+"?fields=id", nil, &answer)
	var all []string
	for _, o := range answer[kind] {
		if !c.earlier[o.ID] {
			all = append(all, o.ID)
		}
	}
	return all
}

// quota sets how many objects of a kind, such as "floatingip", the controller's
// project may have, until the test ends.
func (c *cloud) quota(service, kind string, limit int) {
	c.t.Helper()
	path := "/v2.0/quotas/" + c.IDs().Project
	if service == cloudsim.LoadBalancer {
		path = "/v2.0/lbaas/quotas/" + c.IDs().Project
	}
	if !slices.Contains(c.limited, path) {
		c.limited = append(c.limited, path)
		c.t.Cleanup(func() {
			if err := c.call(asAdmin, service, http.MethodDelete, path, nil, nil); err != nil {
				c.t.Errorf("take the quota back: %v", err)
			}
		})
	}
	values := map[string]any{kind: limit}
	if service == cloudsim.Network && *stateDir == "" {
		values["force"] = true // a limit below what is used already
	}
	wish := map[string]any{"quota": values}
	if err := c.call(asAdmin, service, http.MethodPut, path, wish, nil); err != nil {
		c.t.Fatal(err)
	}
}

// clear deletes the load balancers and floating IPs that bear the text in name or
// description, whatever made them, and what the test made by hand. The error says
// what is still there.
func (c *cloud) clear(text string) error {
	var errs []error
	var balancers struct{ LoadBalancers []tree }
	if err := c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/loadbalancers", nil, &balancers); err != nil {
		return err
	}
	for _, l := range balancers.LoadBalancers {
		if strings.Contains(l.Name, text) {
			err := c.call(asUser, cloudsim.LoadBalancer, http.MethodDelete, "/v2.0/lbaas/loadbalancers/"+l.ID+"?cascade=true", nil, nil)
			errs = append(errs, err, fmt.Errorf("load balancer %s is left", l.ID))
		}
	}
	var floating struct{ FloatingIPs []floatingIP }
	if err := c.call(asUser, cloudsim.Network, http.MethodGet, "/v2.0/floatingips", nil, &floating); err != nil {
		return err
	}
	for _, f := range floating.FloatingIPs {
		if strings.Contains(f.Description, text) {
			errs = append(errs, c.call(asUser, cloudsim.Network, http.MethodDelete, "/v2.0/floatingips/"+f.ID, nil, nil))
		}
	}
	for _, path := range c.made {
		// It may have been the test's to delete it.
		err := c.call(asUser, cloudsim.Network, http.MethodDelete, "/v2.0/"+path, nil, nil)
		if failed := new(openstack.StatusError); !errors.As(err, &failed) || failed.Status != http.StatusNotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
