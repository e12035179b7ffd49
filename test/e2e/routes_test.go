// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// newRouteStage returns a stage whose controller also keeps routes to Pods in 10.244.0.0/16. When the test ends, the
// router has the routes that it had before.
func newRouteStage(t *testing.T, o cloudsim.Options) *stage {
	t.Helper()
	s := newServerStage(t, settings{cloud: o, off: true, flags: []string{
		"--controllers=node,node-lifecycle,route", "--cluster-cidr=10.244.0.0/16", "--route-reconciliation-period=1s",
	}})
	conf, err := os.ReadFile(s.cloudConf())
	if err != nil {
		t.Fatal(err)
	}
	text := string(conf) + "\n[Route]\nrouter-id = " + s.cloud.IDs().Router + "\n"
	if err := cloudsim.WriteFile(s.cloudConf(), text); err != nil {
		t.Fatal(err)
	}
	before := s.router().Routes
	t.Cleanup(func() { s.setRoutes(before) })
	s.start()
	return s
}

// setRoutes changes all routes of the router, as a user does.
func (s *stage) setRoutes(routes []route) {
	s.t.Helper()
	if err := s.putRoutes(append([]route{}, routes...)); err != nil {
		s.t.Error(err)
	}
}

// putRoutes writes all routes of the router, and returns the error of the call.
func (s *stage) putRoutes(routes []route) error {
	return s.cloud.call(asUser, cloudsim.Network, http.MethodPut, "/v2.0/"+s.routerPath(), map[string]any{"router": map[string]any{"routes": routes}}, nil)
}

// route is a route of a router.
type route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// router is the router of the cloud, as far as routes are concerned.
type router struct {
	Routes   []route `json:"routes"`
	Revision int     `json:"revision_number"`
}

// routerPath is the path of the router of the cloud in the API of Neutron.
func (s *stage) routerPath() string { return "routers/" + s.cloud.IDs().Router }

// router reads the router of the cloud.
func (s *stage) router() router {
	s.t.Helper()
	var answer struct{ Router router }
	s.cloud.neutron(http.MethodGet, s.routerPath(), nil, &answer)
	return answer.Router
}

// waitForRoutes waits until the router has exactly these routes.
func (s *stage) waitForRoutes(want ...route) {
	s.t.Helper()
	less := func(a, b route) int { return strings.Compare(a.Destination+a.NextHop, b.Destination+b.NextHop) }
	slices.SortFunc(want, less)
	s.eventually(func() error {
		got := s.router().Routes
		slices.SortFunc(got, less)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("routes (-want +got):\n%s", diff)
		}
		return nil
	})
}

// routedServerPort is the port of a server.
type routedServerPort struct {
	ID      string `json:"id"`
	Allowed []struct {
		Address string `json:"ip_address"`
	} `json:"allowed_address_pairs"`
	Tags []string `json:"tags"`
}

// routedPort reads the only port of a server.
func (s *stage) routedPort(serverID string) routedServerPort {
	s.t.Helper()
	var answer struct{ Ports []routedServerPort }
	s.cloud.neutron(http.MethodGet, "ports?device_id="+serverID, nil, &answer)
	if len(answer.Ports) != 1 {
		s.t.Fatalf("server %s has the ports %v", serverID, answer.Ports)
	}
	return answer.Ports[0]
}

// joinWithPods lets a server join with Pods in the CIDR. It returns the server's id and its route.
func (s *stage) joinWithPods(suffix, podCIDR string) (id string, r route) {
	s.t.Helper()
	name := s.node(suffix)
	id = s.addServer(name)
	s.register(name, func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = podCIDR, []string{podCIDR} })
	return id, route{Destination: podCIDR, NextHop: s.serverAddress(id)}
}

// addRoute adds a route as a careless client does: it changes all routes at once, whoever has changed them since it read them.
func (s *stage) addRoute(r route) error { return s.putRoutes(append(s.router().Routes, r)) }

func TestRoutesLeadToThePodsOfEachNodeAndThoseOfOtherClientsStay(t *testing.T) {
	for name, o := range map[string]cloudsim.Options{
		"routes are added one by one":             {},
		"all routes are changed at the same time": {Neutron: neutron.Options{Without: []string{"extraroute-atomic"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if o.Neutron.Without != nil {
				simulatorOnly(t, "a real Neutron has the extensions that it has")
			}
			s := newRouteStage(t, o)
			id, gateway := s.joinWithPods("gateway", "10.244.0.0/24")
			others := []route{{"192.168.0.0/24", gateway.NextHop}}
			if err := s.addRoute(others[0]); err != nil {
				t.Fatal(err)
			}
			s.waitForRoutes(gateway, others[0])

			foreign := s.node("foreign")
			s.register(foreign, func(n *corev1.Node) {
				n.Spec = corev1.NodeSpec{ProviderID: "aws:///i-1", PodCIDR: "10.244.9.0/24", PodCIDRs: []string{"10.244.9.0/24"}}
				n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.9"}}
			})

			// Nodes join while another client changes the router, too. That client may undo what the controller does, but
			// the controller undoes none of the client's changes.
			more := make([]route, 20)
			for i := range more {
				more[i] = route{fmt.Sprintf("192.168.%d.0/24", i+1), gateway.NextHop}
			}
			others = append(others, more...)
			var changing sync.WaitGroup
			changing.Go(func() {
				for _, r := range more {
					if err := s.addRoute(r); err != nil {
						t.Error(err)
					}
				}
			})
			aID, a := s.joinWithPods("a", "10.244.1.0/24")
			bID, b := s.joinWithPods("b", "10.244.2.0/24")
			changing.Wait()
			s.waitForRoutes(append(others, gateway, a, b)...)
			s.waitForNode(s.node("a"), func(n *corev1.Node) error {
				for _, c := range n.Status.Conditions {
					if c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse && c.Reason == "RouteCreated" {
						return nil
					}
				}
				return fmt.Errorf("conditions %v", n.Status.Conditions)
			})
			for id, cidr := range map[string]string{id: "10.244.0.0/24", aID: "10.244.1.0/24"} {
				if p := s.routedPort(id); len(p.Allowed) != 1 || p.Allowed[0].Address != cidr || !slices.ContainsFunc(p.Tags, isRouteTag) {
					t.Errorf("port %+v of a Node with the Pods %s", p, cidr)
				}
			}

			// One Node is removed and its server stays; of the other one both go.
			if err := s.client.CoreV1().Nodes().Delete(t.Context(), s.node("a"), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.waitForRoutes(append(others, gateway, b)...)
			s.eventually(func() error {
				if p := s.routedPort(aID); len(p.Allowed) > 0 || slices.ContainsFunc(p.Tags, isRouteTag) {
					return fmt.Errorf("port %+v still has something of the route", p)
				}
				return nil
			})
			s.setReady(s.node("b"), corev1.ConditionUnknown)
			s.removeServer(bID)
			s.waitForRoutes(append(others, gateway)...)
			conditions := s.getNode(foreign).Status.Conditions
			if slices.ContainsFunc(conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeNetworkUnavailable }) {
				t.Errorf("a Node of another cloud got the conditions %v", conditions)
			}
		})
	}
}

// isRouteTag reports whether the tag is the one with which kube-octavia marks ports of Nodes with routes.
func isRouteTag(tag string) bool { return strings.HasPrefix(tag, "kube-octavia.routes=") }

func TestAnAddressPairThatAnotherClientRemovedIsRepaired(t *testing.T) {
	skipOnRealOpenStack(t, "TestRoutesLeadToThePodsOfEachNodeAndThoseOfOtherClientsStay adds pairs to real ports")
	s := newRouteStage(t, cloudsim.Options{})
	id, r := s.joinWithPods("a", "10.244.1.0/24")
	s.waitForRoutes(r)
	s.allow(id)
	// What makes the controller read the ports again is a change of Nodes.
	_, other := s.joinWithPods("b", "10.244.2.0/24")
	s.waitForRoutes(r, other)
	s.eventually(func() error {
		if p := s.routedPort(id); len(p.Allowed) != 1 {
			return fmt.Errorf("port %+v", p)
		}
		return nil
	})
}

// allow sets the allowed address pairs of a server's port, as a user or another program does.
func (s *stage) allow(serverID string, cidrs ...string) {
	s.t.Helper()
	pairs := []any{}
	for _, cidr := range cidrs {
		pairs = append(pairs, map[string]any{"ip_address": cidr})
	}
	s.cloud.neutron(http.MethodPut, "ports/"+s.routedPort(serverID).ID, map[string]any{"port": map[string]any{"allowed_address_pairs": pairs}}, nil)
}

// TestRoutesOfOCCMAreTakenOver removes Nodes whose routes openstack-cloud-controller-manager had created, and whose servers
// stay. What an operator allows for the whole Pod network is not the cluster's.
func TestRoutesOfOCCMAreTakenOver(t *testing.T) {
	s := newRouteStage(t, cloudsim.Options{})
	s.stop()
	aID, a := s.joinWithPods("a", "10.244.1.0/24")
	bID, b := s.joinWithPods("b", "10.244.2.0/24")
	s.allow(aID, "10.244.1.0/24")
	s.allow(bID, "10.244.0.0/16")
	s.setRoutes([]route{a, b})
	s.start()
	s.eventually(func() error {
		for _, id := range []string{aID, bID} {
			if p := s.routedPort(id); !slices.ContainsFunc(p.Tags, isRouteTag) {
				return fmt.Errorf("port %+v has no tag", p)
			}
		}
		return nil
	})
	s.waitForRoutes(a, b)
	for _, name := range []string{"a", "b"} {
		if err := s.client.CoreV1().Nodes().Delete(t.Context(), s.node(name), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.waitForRoutes()
	s.eventually(func() error {
		for id, want := range map[string]int{aID: 0, bID: 1} {
			if p := s.routedPort(id); len(p.Allowed) != want || slices.ContainsFunc(p.Tags, isRouteTag) {
				return fmt.Errorf("port %+v", p)
			}
		}
		return nil
	})
}

// TestCleanupRemovesTheRoutesOfALostCluster loses a cluster of which one server stays.
func TestCleanupRemovesTheRoutesOfALostCluster(t *testing.T) {
	skipOnRealOpenStack(t, "TestRoutesLeadToThePodsOfEachNodeAndThoseOfOtherClientsStay removes routes from a real router")
	s := newRouteStage(t, cloudsim.Options{})
	id, stays := s.joinWithPods("stays", "10.244.1.0/24")
	goneID, gone := s.joinWithPods("gone", "10.244.2.0/24")
	strangerID := s.addServer(s.node("stranger"))
	others := []route{{"192.168.0.0/24", stays.NextHop}, {"10.244.3.0/24", s.serverAddress(strangerID)}}
	for _, r := range others {
		if err := s.addRoute(r); err != nil {
			t.Fatal(err)
		}
	}
	s.waitForRoutes(append(others, stays, gone)...)
	s.stop()
	s.removeServer(goneID)

	args := []string{"--cluster-uid=" + s.clusterUID(), "--cluster-cidr=10.244.0.0/16"}
	shown, _ := s.cleanup(2, args...)
	for _, part := range []string{ // earlier tests may have left the security group of the nodes
		"2 routes. Kept: 1.", "route (destination=10.244.2.0/24,gateway=" + gone.NextHop + ") - delete",
		"route (destination=10.244.3.0/24,gateway=" + others[1].NextHop + ") - kept: port",
	} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not shown:\n%s", part, shown)
		}
	}
	s.waitForRoutes(append(others, stays, gone)...)
	s.cleanup(0, append(args, "--delete")...)
	s.waitForRoutes(others...)
	if p := s.routedPort(id); len(p.Allowed) > 0 || slices.ContainsFunc(p.Tags, isRouteTag) {
		t.Errorf("port %+v still has something of the route", p)
	}
	if out, _ := s.cleanup(0, args...); !strings.Contains(out, "To delete: nothing. Kept: 1.") {
		t.Errorf("a cleanup of what is clean shows\n%s", out)
	}
}

func TestRouteControllerRequiresARouterAndTheCIDROfPods(t *testing.T) {
	s := newServerStage(t, settings{off: true})
	for flags, want := range map[string]string{
		"--controllers=route":                                      "--cluster-cidr",
		"--controllers=route --cluster-cidr=10.244.0.0/16":         "[Route] router-id is required by controller route",
		"--controllers=nodes":                                      `"nodes" is not one of service, node, node-lifecycle, route`,
		"--controllers=node --cluster-cidr=10.0.0.0/8,10.1.0.0/16": "one CIDR of each IP family",
	} {
		t.Run(flags, func(t *testing.T) {
			s.reportTo(t)
			args := append([]string{"controller", "--cloud-config=" + s.cloudConf(), "--kubeconfig=" + s.kubeconfig(), "--leader-elect=false",
				"--metrics-bind-address=0", "--health-probe-bind-address=0"}, strings.Fields(flags)...)
			var out, errs strings.Builder
			if status := cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &errs}, cli.Options{}); status == 0 || !strings.Contains(errs.String(), want) {
				t.Errorf("status %d, %s", status, errs.String())
			}
		})
	}
}
