// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// routed are the flags of a controller that runs all controllers.
var routed = []string{"--controllers=*", "--cluster-cidr=10.244.0.0/16"}

// newPatientWithRoutes returns a right setup of all controllers: the Nodes have Pods, and routes to
// them.
func newPatientWithRoutes(t *testing.T) *patient {
	t.Helper()
	simulatorOnly(t, "it changes the router and the Nodes, which other tests of a real cloud use")
	nodesInstalled.once.Do(func() {
		nodesInstalled.err = deploy.InstallNodes(context.Background(), kubetest.Cluster(t), "../../deploy/nodes")
	})
	if nodesInstalled.err != nil {
		t.Fatal(nodesInstalled.err)
	}
	flags := append(slices.Clone(routed), "--route-reconciliation-period=1s")
	s := newStage(t, settings{off: true, podless: true, password: true, nodes: []string{}, flags: flags})
	s.settings.conf = []string{"[Route]", "router-id = " + s.cloud.IDs().Router}
	s.writeFiles()
	p := patientOf(s)
	p.args = routed
	_, a := p.joinWithPods("a", "10.244.1.0/24")
	_, b := p.joinWithPods("b", "10.244.2.0/24")
	p.start()
	p.waitUntilInitialized(p.node("a"))
	p.openNodes()
	p.waitForRoutes(a, b)
	p.serve()
	return p
}

// registerFor registers a Node that is not initialized, until the end of the subtest.
func (p *patient) registerFor(name string, change func(*corev1.Node)) {
	p.t.Helper()
	p.register(name, change)
	p.t.Cleanup(func() {
		if err := p.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
	})
}

// misroute adds a route until the end of the subtest.
func (p *patient) misroute(destination, hop string) {
	p.t.Helper()
	before := p.router().Routes
	if err := p.addRoute(route{destination, hop}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.cloud.neutron(http.MethodPut, p.routerPath(), map[string]any{"router": map[string]any{"routes": before}}, nil)
	})
}

// withRouter is cloud.conf with another router for routes.
func (p *patient) withRouter(id string) string {
	return strings.ReplaceAll(p.conf, "router-id = "+p.cloud.IDs().Router, "router-id = "+id)
}

// openNodePorts lets in nothing but the NodePorts.
func (p *patient) openNodePorts() {
	p.t.Helper()
	var answer struct {
		Rule struct{ ID string } `json:"security_group_rule"`
	}
	p.cloud.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": p.portOf("a").Groups[0], "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 30000, "port_range_max": 32767}}, &answer)
	p.cloud.neutron(http.MethodDelete, "security-group-rules/"+p.rule, nil, nil)
	p.t.Cleanup(func() {
		p.openNodes()
		p.cloud.neutron(http.MethodDelete, "security-group-rules/"+answer.Rule.ID, nil, nil)
	})
}

func TestDoctorFindsNoProblemInACorrectSetupOfAllControllersAndWritesNothing(t *testing.T) {
	p := newPatientWithRoutes(t)
	if status, _, _ := p.examine(p.conf, "--checks=clock"); status != 0 { // the client learns what the API has
		t.Errorf("status %d", status)
	}
	p.resetCalls()
	p.requireRight(p.conf)
	if writes := p.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	const most = 23 // servers, the router and the extensions, beside those for Services
	if made := p.cloud.Recorder().Calls(); len(made) > most {
		t.Errorf("%d calls, and at most %d are necessary", len(made), most)
	}
	_, out, _ := p.examine(p.conf, "--all", "--checks=nodes,routes,kubernetes")
	for _, seen := range []string{"2 Nodes with exactly one server", "2 of 2 routes to Pods there", "extraroute-atomic", "it has all 32 rights"} {
		if !strings.Contains(out, seen) {
			t.Errorf("it does not show %q:\n%s", seen, out)
		}
	}
	t.Log(out)
}

// requireRight requires that all checks are ok, but those that are unknown.
func (p *patient) requireRight(conf string, unknown ...doctor.Check) {
	p.t.Helper()
	report, status := p.report(conf)
	for _, r := range report.Checks {
		if want := slices.Contains(unknown, r.Check); r.Status != doctor.OK && !want {
			p.t.Errorf("check %s is %s: %s, %+v", r.Check, r.Status, r.SkippedBecause, r.Findings)
		}
	}
	if status != 0 || len(report.Checks) != len(doctor.Names()) {
		p.t.Errorf("status %d, %d checks", status, len(report.Checks))
	}
}

// The access rules of --with=nodes,routes are enough for the checks of Nodes and routes.
func TestDoctorReadsNodesAndRoutesWithTheAccessRulesOfTheControllers(t *testing.T) {
	p := newPatientWithRoutes(t)
	p.requireRight(p.expiring("restricted", time.Time{}), doctor.Quotas)
}

// The ServiceAccount of the controller, with deploy/nodes, has the rights of all controllers.
func TestDoctorFindsTheRightsOfAllControllersInTheCluster(t *testing.T) {
	p := newPatientWithRoutes(t)
	p.kubeconfig = p.stage.kubeconfig()
	status, out, errs := p.examine(p.conf, "--leader-elect-resource-namespace="+deploy.Namespace)
	if status != 0 || errs != "" || !strings.Contains(out, " 0 with errors, 0 unknown, 0 skipped") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}

func TestDoctorFindsEachMistakeInTheSetupOfNodesAndRoutes(t *testing.T) {
	requireFound(t, newPatientWithRoutes(t), slices.Concat(mistakesOfNodes, mistakesOfRoutes))
}

// ofNewNodes are checks in which a Node that is not initialized shows, too.
var ofNewNodes = []doctor.Check{doctor.SecurityGroups}

var mistakesOfNodes = []mistake{
	{name: "a Node without a server", check: doctor.Nodes, status: doctor.Error, what: "no server of the project has the name of Node", do: "openstack server list",
		unknown: ofNewNodes, make: func(p *patient) string { p.registerFor(p.node("nobody"), nil); return p.conf }},
	{name: "two servers with the name of a Node", check: doctor.Nodes, status: doctor.Error, what: "its name is that of 2 servers (", do: "openstack server set --name",
		unknown: ofNewNodes, make: func(p *patient) string {
			name := p.node("twin")
			for range 2 {
				p.addServer(name)
			}
			p.registerFor(name, nil)
			return p.conf
		}},
	{name: "a Node whose server does not exist", check: doctor.Nodes, status: doctor.Warning, what: "no server with the provider id of Node", do: "openstack server show ID",
		unknown: ofNewNodes, make: func(p *patient) string {
			p.registerFor(p.node("gone"), func(n *corev1.Node) { n.Spec.ProviderID = "openstack:///" + unusedID })
			return p.conf
		}},
	{name: "no Nova", check: doctor.Catalogue, status: doctor.Error, what: "no compute service (Nova)", do: "openstack catalog list",
		make: func(p *patient) string {
			return p.through(func(_ *http.Response, token map[string]any) {
				token["catalog"] = slices.DeleteFunc(token["catalog"].([]any), func(entry any) bool { return entry.(map[string]any)["type"] == cloudsim.Compute })
			})
		}},
	{name: "access rules without Nodes", check: doctor.Credentials, status: doctor.Error, what: "exclude nodes", do: "kube-octavia credential rotate --with=nodes",
		unknown: []doctor.Check{doctor.Quotas, doctor.Networks, doctor.Nodes},
		make:    func(p *patient) string { return p.expiring("without", time.Time{}, calls.FeatureNodes) }},
	{name: "access rules that do not allow to list servers", check: doctor.Nodes, status: doctor.Error, what: "list servers: 401", do: "kube-octavia credential create --with=nodes",
		unknown: []doctor.Check{doctor.Quotas, doctor.Networks, doctor.Credentials},
		make:    func(p *patient) string { return p.expiring("servers", time.Time{}, calls.FeatureNodes) }},
	{name: "openstack-cloud-controller-manager that initializes Nodes", check: doctor.Nodes, status: doctor.Warning, what: "initializes Nodes, too", do: "docs/nodes.md",
		make: func(p *patient) string {
			p.t.Cleanup(p.runOCCM("--controllers=*,-service"))
			return p.conf
		}},
	{name: "no rights for Nodes", check: doctor.Kubernetes, status: doctor.Error, what: "may not delete nodes", do: "deploy/nodes/clusterrole.yaml",
		make:    func(p *patient) string { p.kubeconfig = p.powerless(); return p.conf },
		unknown: []doctor.Check{doctor.SecurityGroups, doctor.OtherControllers, doctor.Annotations, doctor.LoadBalancers, doctor.Orphans, doctor.Nodes, doctor.Routes}},
}

var mistakesOfRoutes = []mistake{
	{name: "no router-id", check: doctor.Routes, status: doctor.Error, what: "[Route] router-id is not set", do: "openstack router list",
		make: func(p *patient) string { return strings.ReplaceAll(p.conf, "router-id", "# router-id") }},
	{name: "a router that does not exist", check: doctor.Routes, status: doctor.Error, what: "router-id is " + unusedID, do: "openstack router list",
		make: func(p *patient) string { return p.withRouter(unusedID) }},
	{name: "a router without the subnet of the Nodes", check: doctor.Routes, status: doctor.Error, what: "no route to the Pods of 2 Nodes", do: "openstack router add subnet",
		make: func(p *patient) string {
			var made struct{ Router struct{ ID string } }
			p.cloud.neutron(http.MethodPost, "routers", map[string]any{"router": map[string]any{"name": "apart"}}, &made)
			p.t.Cleanup(func() { p.cloud.neutron(http.MethodDelete, "routers/"+made.Router.ID, nil, nil) })
			return p.withRouter(made.Router.ID)
		}},
	{name: "another Pod network", check: doctor.Routes, status: doctor.Warning, what: "outside of --cluster-cidr [10.244.0.0/23]", do: "kube-controller-manager",
		make: func(p *patient) string {
			p.args = []string{"--controllers=*", "--cluster-cidr=10.244.0.0/23"}
			return p.conf
		}},
	{name: "a Node without a Pod CIDR", check: doctor.Routes, status: doctor.Warning, what: "no Pod CIDR: Node", do: "--allocate-node-cidrs",
		make: func(p *patient) string {
			p.addNode("plain")
			p.t.Cleanup(func() { deleteNode(p.stage, "plain") })
			return p.conf
		}},
	{name: "a route that leads to no Node", check: doctor.Routes, status: doctor.Warning, what: "the next hop is not a Node: route 10.244.9.0/24 via", do: "openstack router remove route",
		make: func(p *patient) string {
			gone := p.addServer("gone")
			hop := p.serverAddress(gone)
			p.removeServer(gone)
			p.misroute("10.244.9.0/24", hop)
			return p.conf
		}},
	{name: "a route to a server that was a Node", check: doctor.Routes, status: doctor.Warning, what: "the next hop is not a Node: route 10.244.8.0/24 via", do: "A running controller removes it",
		make: func(p *patient) string {
			left := p.addServer("left")
			uid, err := p.client.CoreV1().Namespaces().Get(p.t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
			if err != nil {
				p.t.Fatal(err)
			}
			p.cloud.neutron(http.MethodPut, "ports/"+p.routedPort(left).ID+"/tags/kube-octavia.routes="+string(uid.UID), nil, nil)
			p.misroute("10.244.8.0/24", p.serverAddress(left))
			return p.conf
		}},
	{name: "a route to a server that is no Node", check: doctor.Routes, status: doctor.Warning, what: "not a Node, but a port of the project: route 10.244.7.0/24 via", do: "another Pod network",
		make: func(p *patient) string {
			p.misroute("10.244.7.0/24", p.serverAddress(p.addServer("other")))
			return p.conf
		}},
	{name: "a group that does not admit Pods for sure", check: doctor.Routes, status: doctor.Unknown, what: "only by rules for groups", do: "--remote-ip 10.244.0.0/16",
		unknown: []doctor.Check{doctor.SecurityGroups}, make: func(p *patient) string { p.openNodePorts(); return p.conf }},
}
