// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	adapter "github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// cluster holds the Services and nodes of the caches.
type cluster struct {
	client.Reader
	services []corev1.Service
	nodes    []corev1.Node
	// down makes lists of Services fail.
	down error
}

// List implements client.Reader.
func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.ServiceList:
		list.Items = slices.Clone(c.services)
		return c.down
	case *corev1.NodeList:
		list.Items = slices.Clone(c.nodes)
	}
	return nil
}

// fakeNeutron holds security groups, ports and subnets in memory.
type fakeNeutron struct {
	groups  []securitygroup.Group
	ports   []securitygroup.Port
	subnets map[string]securitygroup.Subnet
	calls   []string
	// before is done before each write, and fails names kinds of ops that fail.
	before func(op securitygroup.Op)
	fails  map[string]error
	made   int
	// denied is how many deletions are answered as if there was no such group.
	denied int
}

func (s *fakeNeutron) SecurityGroups(_ context.Context, ids ...string) ([]securitygroup.Group, error) {
	s.calls = append(s.calls, "GET groups")
	return slices.DeleteFunc(slices.Clone(s.groups), func(g securitygroup.Group) bool { return len(ids) > 0 && !slices.Contains(ids, g.ID) }), s.fails["GET groups"]
}

func (s *fakeNeutron) PortsWithGroups(_ context.Context, ids ...string) ([]securitygroup.Port, error) {
	s.calls = append(s.calls, "GET ports with the group")
	return slices.DeleteFunc(slices.Clone(s.ports), func(p securitygroup.Port) bool {
		return !slices.ContainsFunc(p.Groups, func(id string) bool { return slices.Contains(ids, id) })
	}), nil
}

func (s *fakeNeutron) PortsOfServers(_ context.Context, ids ...string) ([]securitygroup.Port, error) {
	s.calls = append(s.calls, fmt.Sprintf("GET ports of %d servers", len(ids)))
	return slices.DeleteFunc(slices.Clone(s.ports), func(p securitygroup.Port) bool { return !slices.Contains(ids, p.ServerID) }), nil
}

func (s *fakeNeutron) Subnet(_ context.Context, id string) (securitygroup.Subnet, error) {
	s.calls = append(s.calls, "GET subnet")
	subnet, there := s.subnets[id]
	if !there {
		return subnet, &openstack.Error{Op: "look at subnet " + id, Class: openstack.Gone, Message: "the project can see no such subnet"}
	}
	return subnet, nil
}

func (s *fakeNeutron) ApplySecurityGroup(_ context.Context, op securitygroup.Op) (made securitygroup.Made, _ error) {
	kind := securitygroup.Kind(op)
	s.calls = append(s.calls, kind)
	if s.before != nil {
		s.before(op)
	}
	failure := s.fails[kind]
	var lost *openstack.Error
	if failure != nil && !(errors.As(failure, &lost) && lost.Unanswered) {
		return made, failure
	}
	if _, deletes := op.(securitygroup.DeleteGroup); deletes && s.denied > 0 {
		s.denied--
		return securitygroup.Made{Missing: true}, nil
	}
	s.made++
	switch op := op.(type) {
	case securitygroup.CreateGroup:
		made.Group = securitygroup.Group{ID: fmt.Sprintf("group-%d", s.made), Name: op.Name, Description: op.Description}
	case securitygroup.AddRules:
		for i, r := range op.Rules {
			made.Rules = append(made.Rules, securitygroup.FoundRule{ID: fmt.Sprintf("rule-%d-%d", s.made, i), Rule: r})
		}
	case securitygroup.SetGroups:
		i := slices.IndexFunc(s.ports, func(p securitygroup.Port) bool { return p.ID == op.Port.ID })
		if s.ports[i].Revision != op.Port.Revision {
			return made, &openstack.Error{Op: op.String(), Class: openstack.Conflict, Status: 412}
		}
		made.Port = s.ports[i]
		made.Port.Groups, made.Port.Revision = op.Groups, op.Port.Revision+1
	}
	after := securitygroup.Observed{Groups: s.groups, Ports: s.ports}.After(op, made)
	s.groups, s.ports = after.Groups, after.Ports
	return made, failure
}

// stage is a Reconciler with a cluster and a Neutron.
type stage struct {
	*Reconciler
	t        *testing.T
	memory   *memory.Store
	cluster  *cluster
	neutron  *fakeNeutron
	events   *events.FakeRecorder
	clock    time.Time
	enqueued []owner.Key
}

// newStage returns a stage with the nodes "a" and "b", and two Services.
func newStage(t *testing.T) *stage {
	t.Helper()
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, cluster: &cluster{}, neutron: &fakeNeutron{fails: map[string]error{}, subnets: map[string]securitygroup.Subnet{
		"nodes": {CIDR: netip.MustParsePrefix("10.0.0.0/24"), NetworkID: "net"},
	}}, events: events.NewFakeRecorder(100), clock: noon}
	s.memory = memory.NewStore()
	policy := claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-uid", LoadBalancerClass: "class", DefaultClass: true}
	s.Reconciler = New(Options{
		Reader: s.cluster, Kinds: []claim.Kind{adapter.Kind{Policy: policy}}, Cloud: s.neutron, Memory: s.memory, Recorder: s.events, Metrics: counted, Timing: timing.Default(),
		Now: func() time.Time { return s.clock }, Interval: time.Minute, Enqueue: func(key owner.Key) { s.enqueued = append(s.enqueued, key) },
		Policy: policy,
	}, NewRequirements(func() {}))
	s.addNode("a")
	s.addNode("b")
	s.addService("web", 30080)
	s.addService("shop", 30443)
	return s
}

// restart replaces the Reconciler by one without memory.
func (s *stage) restart() {
	s.memory = memory.NewStore()
	o := s.Options
	o.Memory = s.memory
	s.Reconciler = New(o, NewRequirements(func() {}))
}

// uidOf is the uid of a Service.
func uidOf(name string) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012x", name[:min(len(name), 6)]))
}

func serverOf(name string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", name[0])
}

func (s *stage) addNode(name string) {
	address := netip.AddrFrom4([4]byte{10, 0, 0, name[0]})
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + serverOf(name)}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	s.cluster.nodes = append(s.cluster.nodes, n)
	s.neutron.ports = append(s.neutron.ports, securitygroup.Port{ID: "port-" + name, ServerID: serverOf(name), Addresses: []netip.Addr{address}, Groups: []string{"default"}})
}

func (s *stage) removeNode(name string) {
	s.cluster.nodes = slices.DeleteFunc(s.cluster.nodes, func(n corev1.Node) bool { return n.Name == name })
}

// addService adds a Service and its need.
func (s *stage) addService(name string, nodePort int32) owner.Key {
	v := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uidOf(name)}}
	v.Spec.Type, v.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: nodePort}}
	s.cluster.services = append(s.cluster.services, v)
	return s.setNeed(name)
}

// setNeed publishes the Service's need, and remembers a load balancer without members.
func (s *stage) setNeed(name string) owner.Key {
	key := owner.ServiceKey("default", name)
	for _, v := range s.cluster.services {
		if v.Name == name {
			s.requirements.Set(key, v.UID, securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: int(v.Spec.Ports[0].NodePort)}}, FromSubnets: true,
				MemberSubnetIDs: []string{"nodes"}}, false)
			s.remember(key, v.UID)
		}
	}
	return key
}

func (s *stage) remember(key owner.Key, uid types.UID, members ...string) {
	pool := &lb.Pool{}
	for _, m := range members {
		pool.Members = append(pool.Members, lb.Member{Address: m})
	}
	s.memory.Put(key, memory.Record{ServiceUID: uid, Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{
		ID: "lb-" + key.Name, ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{Pool: pool}},
	}}}})
}

// pass makes a pass and returns its calls.
func (s *stage) pass() []string {
	s.t.Helper()
	calls, err := s.tryPass()
	if err != nil {
		s.t.Fatal(err)
	}
	return calls
}

func (s *stage) tryPass() ([]string, error) {
	s.neutron.calls = []string{}
	_, err := s.Reconcile(s.t.Context(), reconcile.Request{})
	return s.neutron.calls, err
}

// requireRules fails the test unless the group has rules for exactly these NodePorts.
func (s *stage) requireRules(ports ...int) {
	s.t.Helper()
	if len(s.neutron.groups) != 1 {
		s.t.Fatalf("%d groups: %+v", len(s.neutron.groups), s.neutron.groups)
	}
	var have []int
	for _, r := range s.neutron.groups[0].Rules {
		have = append(have, r.Port)
	}
	slices.Sort(have)
	if diff := cmp.Diff(ports, have); diff != "" {
		s.t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// attachedNodes returns the nodes whose ports have the group.
func (s *stage) attachedNodes() string {
	var nodes []string
	for _, p := range s.neutron.ports {
		if len(p.Groups) > 1 {
			nodes = append(nodes, strings.TrimPrefix(p.ID, "port-"))
		}
	}
	slices.Sort(nodes)
	return strings.Join(nodes, " ")
}

func requireCalls(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls of %s (-want +got):\n%s", what, diff)
	}
}

func TestSecurityGroupNeedsFewCalls(t *testing.T) {
	s := newStage(t)
	requireCalls(t, "the beginning", s.pass(), "GET subnet", "GET groups", "GET ports of 2 servers", "CreateSecurityGroup", "AddSecurityGroupRules",
		"SetSecurityGroups", "SetSecurityGroups")
	s.requireRules(30080, 30443)
	requireCalls(t, "nothing new", s.pass())
	s.setNeed("web")
	requireCalls(t, "a Service that needs the same", s.pass())
	s.addService("mail", 30025)
	requireCalls(t, "another Service", s.pass(), "AddSecurityGroupRules")
	s.clock = s.clock.Add(time.Hour)
	requireCalls(t, "a sweep", s.pass(), "GET groups", "GET ports with the group")
	s.restart()
	for _, name := range []string{"web", "shop", "mail"} {
		s.setNeed(name)
	}
	requireCalls(t, "a restart", s.pass(), "GET subnet", "GET groups", "GET ports with the group")
}

func TestSecurityGroupOfANewNodeIsAttachedOnce(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.addNode("c")
	requireCalls(t, "a node that joins", s.pass(), "GET ports of 1 servers", "SetSecurityGroups")
	requireCalls(t, "the passes of all Services after that", s.pass())
	if on := s.attachedNodes(); on != "a b c" {
		t.Errorf("the group is on nodes %s", on)
	}
}

func TestScaleDownOfNodesNeverRemovesRules(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.removeNode("b")
	s.remember(web, uidOf("web"), "10.0.0.97", "10.0.0.98") // which is b's address
	requireCalls(t, "a node that a pool still has", s.pass())
	s.remember(web, uidOf("web"), "10.0.0.97")
	requireCalls(t, "a node that has left", s.pass(), "SetSecurityGroups")
	s.requireRules(30080, 30443)
	s.cluster.nodes = nil
	requireCalls(t, "no node at all", s.pass())
	s.requireRules(30080, 30443)
	if on := s.attachedNodes(); on != "a" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestAControllerThatHasJustStartedRemovesNoRule(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.restart()
	s.removeNode("b")
	requireCalls(t, "a pass before those over the Services", s.pass(), "GET groups", "GET ports with the group")
	s.requireRules(30080, 30443)
	if on := s.attachedNodes(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
	s.setNeed("web")
	s.cluster.services = s.cluster.services[:1] // the other one went meanwhile
	s.pass()
	s.requireRules(30080)
	if on := s.attachedNodes(); on != "a" {
		t.Errorf("after that it is on nodes %q", on)
	}
}

func TestListThatFailsRemovesNoRule(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.cluster.down, s.cluster.services = errors.New("no"), nil
	calls, err := s.tryPass()
	if err == nil {
		t.Error("the pass says nothing of it")
	}
	requireCalls(t, "a list that fails", calls)
}

func TestAnotherSecurityGroupOnTheSamePortIsKept(t *testing.T) {
	s := newStage(t)
	once := true
	s.neutron.before = func(op securitygroup.Op) {
		set, ok := op.(securitygroup.SetGroups)
		if i := slices.IndexFunc(s.neutron.ports, func(p securitygroup.Port) bool { return ok && p.ID == set.Port.ID }); i >= 0 && once {
			once = false
			s.neutron.ports[i].Groups, s.neutron.ports[i].Revision = append(slices.Clone(s.neutron.ports[i].Groups), "others"), s.neutron.ports[i].Revision+1
		}
	}
	s.pass()
	for _, p := range s.neutron.ports {
		if p.ID == "port-a" && !cmp.Equal(p.Groups, []string{"default", "others", "group-1"}) {
			t.Errorf("port %s has %v", p.ID, p.Groups)
		}
	}
	if on := s.attachedNodes(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestLostAnswerToACreateLeavesOneSecurityGroup(t *testing.T) {
	s := newStage(t)
	s.neutron.fails["CreateSecurityGroup"] = &openstack.Error{Op: "create", Class: openstack.Transient, Unanswered: true}
	if _, err := s.tryPass(); err == nil {
		t.Error("the pass says nothing of it")
	}
	delete(s.neutron.fails, "CreateSecurityGroup")
	s.pass()
	s.requireRules(30080, 30443)

	// It may as well show only later.
	late := newStage(t)
	late.neutron.fails["CreateSecurityGroup"] = &openstack.Error{Op: "create", Class: openstack.Transient, Unanswered: true}
	_, _ = late.tryPass()
	hidden := late.neutron.groups
	late.neutron.groups = nil
	for range 3 {
		calls, err := late.tryPass()
		if err == nil || slices.Contains(calls, "CreateSecurityGroup") {
			t.Errorf("before it can be known: %v, %v", calls, err)
		}
	}
	late.neutron.groups = hidden
	delete(late.neutron.fails, "CreateSecurityGroup")
	late.clock = late.clock.Add(time.Minute)
	late.pass()
	late.requireRules(30080, 30443)
}

func TestNodeThatCannotHaveTheGroupDelaysNoOther(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"c", "d", "e", "f"} {
		s.addNode(name)
	}
	node := func(name string) *corev1.Node {
		return &s.cluster.nodes[slices.IndexFunc(s.cluster.nodes, func(n corev1.Node) bool { return n.Name == name })]
	}
	port := func(name string) *securitygroup.Port {
		return &s.neutron.ports[slices.IndexFunc(s.neutron.ports, func(p securitygroup.Port) bool { return p.ID == "port-"+name })]
	}
	node("a").Spec.ProviderID = "aws:///zone/i-1"
	port("b").ServerID = "another"
	port("c").Unprotected = true
	node("d").CreationTimestamp = metav1.NewTime(s.clock) // and it will tell its server soon
	node("d").Spec.ProviderID = ""
	s.neutron.before = func(op securitygroup.Op) {
		delete(s.neutron.fails, "SetSecurityGroups")
		if set, ok := op.(securitygroup.SetGroups); ok && set.Port.ID == "port-e" {
			s.neutron.fails["SetSecurityGroups"] = &openstack.Error{Op: op.String(), Class: openstack.Invalid, Status: 403, Message: "not yours"}
		}
	}
	for range 3 {
		s.pass()
		s.clock = s.clock.Add(10 * time.Second)
	}
	if on := s.attachedNodes(); on != "f" {
		t.Errorf("the group is on nodes %q", on)
	}
	s.requireRules(30080, 30443)
	want := []string{"is not of OpenStack", "no port of server", "port security is off", "not yours"}
	if len(s.events.Events) != len(want) {
		t.Errorf("%d events, want one for each of %d nodes", len(s.events.Events), len(want))
	}
	for range len(s.events.Events) {
		e := <-s.events.Events
		i := slices.IndexFunc(want, func(text string) bool { return strings.Contains(e, text) })
		if i < 0 {
			t.Fatalf("event %q", e)
		}
		want = slices.Delete(want, i, i+1)
	}
}

func TestSecurityGroupIsOnThePortsOfTheAddressesThatAreMembers(t *testing.T) {
	s := newStage(t)
	s.neutron.subnets["second"] = securitygroup.Subnet{CIDR: netip.MustParsePrefix("10.0.1.0/24"), NetworkID: "net"}
	outside := netip.MustParseAddr("203.0.113.1")
	for i, address := range []string{"10.0.1.97", outside.String(), "10.0.2.97"} {
		kind := corev1.NodeInternalIP
		if i == 1 {
			kind = corev1.NodeExternalIP
		}
		s.cluster.nodes[0].Status.Addresses = append(s.cluster.nodes[0].Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
		s.neutron.ports = append(s.neutron.ports, securitygroup.Port{ID: "port-" + address, ServerID: serverOf("a"), Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: []string{"default"}})
	}
	s.pass()
	if on := s.attachedNodes(); on != "a b" {
		t.Errorf("the group is on %s", on)
	}
	s.clock = s.clock.Add(time.Hour)
	requireCalls(t, "a sweep", s.pass(), "GET groups", "GET ports with the group")
	// A Service reaches its members in another subnet, and then also at an address outside.
	need := securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}}, FromSubnets: true, MemberSubnetIDs: []string{"nodes", "second"}}
	s.requirements.Set(web, uidOf("web"), need, false)
	requireCalls(t, "another subnet", s.pass(), "GET subnet", "GET ports of 1 servers", "AddSecurityGroupRules", "SetSecurityGroups")
	s.remember(web, uidOf("web"), "10.0.1.97", outside.String())
	requireCalls(t, "another member", s.pass(), "SetSecurityGroups")
	if on := s.attachedNodes(); on != "10.0.1.97 203.0.113.1 a b" {
		t.Errorf("the group is on %s", on)
	}
	need.MemberSubnetIDs = need.MemberSubnetIDs[:1]
	s.requirements.Set(web, uidOf("web"), need, false)
	s.remember(web, uidOf("web"), "10.0.0.97")
	s.pass()
	if on := s.attachedNodes(); on != "a b" {
		t.Errorf("the group is on %s", on)
	}
}

func TestServiceWaitsForItsRulesAndReportsWhyTheyAreMissing(t *testing.T) {
	s := newStage(t)
	open := func() (string, bool) { return s.requirements.Unmet(web, uidOf("web")) }
	if why, failed := open(); why == "" || failed {
		t.Errorf("before the first pass: %q, failed %v", why, failed)
	}
	s.neutron.fails["AddSecurityGroupRules"] = &openstack.Error{Op: "let in", Class: openstack.Quota, Message: "Quota exceeded for resources: ['security_group_rule']."}
	if _, err := s.tryPass(); err != nil {
		t.Errorf("an exhausted quota is retried hot: %v", err)
	}
	if why, failed := open(); !failed || !strings.Contains(why, "security_group_rule") {
		t.Errorf("when that failed: %q, failed %v", why, failed)
	}
	delete(s.neutron.fails, "AddSecurityGroupRules")
	s.enqueued = nil
	s.pass()
	if why, _ := open(); why != "" || !slices.Contains(s.enqueued, web) {
		t.Errorf("when the rules are there: %q, and enqueued were %v", why, s.enqueued)
	}
	// A failure that takes nothing away from it is not its own.
	s.neutron.fails["RemoveSecurityGroupRule"] = &openstack.Error{Op: "remove", Class: openstack.Transient}
	s.requirements.Forget(owner.ServiceKey("default", "shop"))
	s.cluster.services = s.cluster.services[:1]
	if _, err := s.tryPass(); err == nil {
		t.Error("the pass says nothing of it")
	}
	if why, failed := open(); why != "" || failed {
		t.Errorf("after the failure: %q, failed %v", why, failed)
	}
}

// A rule stays until its replacement exists. A rule without a replacement is removed.
func TestRuleIsNotRemovedWhileItsReplacementCannotBeAdded(t *testing.T) {
	for _, class := range []openstack.Class{openstack.Quota, openstack.Invalid, openstack.Transient, openstack.Conflict} {
		t.Run(string(class), func(t *testing.T) {
			s := newStage(t)
			s.pass()
			s.requirements.Forget(owner.ServiceKey("default", "shop"))
			s.cluster.services = s.cluster.services[:1]
			s.requirements.Set(web, uidOf("web"), securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}},
				Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, false)
			s.neutron.fails["AddSecurityGroupRules"] = &openstack.Error{Op: "let in", Class: class, Message: "no"}
			for range 3 {
				_, _ = s.tryPass()
			}
			s.requireRules(30080)
			if source := s.neutron.groups[0].Rules[0].Source.String(); source != "10.0.0.0/24" {
				t.Errorf("it lets in %s", source)
			}
			delete(s.neutron.fails, "AddSecurityGroupRules")
			s.pass()
			s.requireRules(30080)
			if source := s.neutron.groups[0].Rules[0].Source.String(); source != "192.0.2.0/24" {
				t.Errorf("when it could be added it lets in %s", source)
			}
		})
	}
}

func TestSubnetThatTheProjectDoesNotSeeAffectsOneService(t *testing.T) {
	s := newStage(t)
	s.requirements.Set(web, uidOf("web"), securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}}, FromSubnets: true, MemberSubnetIDs: []string{"hidden"}}, false)
	s.pass()
	s.requireRules(30443)
	if why, failed := s.requirements.Unmet(web, uidOf("web")); !failed || !strings.Contains(why, "member-subnet-id") || !strings.Contains(why, "hidden") {
		t.Errorf("it is told %q, failed %v", why, failed)
	}
}

func TestChangesOfTheGroupByAnotherClientAreRepaired(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.neutron.groups[0].Rules = append(s.neutron.groups[0].Rules[1:], securitygroup.FoundRule{ID: "by-hand", Foreign: true})
	i := slices.IndexFunc(s.neutron.ports, func(p securitygroup.Port) bool { return p.ID == "port-a" })
	s.neutron.ports[i].Groups = []string{"default"}
	s.clock = s.clock.Add(time.Hour)
	requireCalls(t, "the next sweep", s.pass(), "GET groups", "GET ports with the group", "GET ports of 1 servers", "AddSecurityGroupRules", "SetSecurityGroups", "RemoveSecurityGroupRule")
	s.requireRules(30080, 30443)
	// Another client deleted the group.
	s.neutron.groups = nil
	for i := range s.neutron.ports {
		s.neutron.ports[i].Groups = []string{"default"}
	}
	s.clock = s.clock.Add(time.Hour)
	s.pass()
	s.requireRules(30080, 30443)
	if on := s.attachedNodes(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestSecurityGroupOfAnotherClusterIsNotChanged(t *testing.T) {
	s := newStage(t)
	theirs := lb.NodesGroup{ClusterName: "kubernetes", ClusterUID: "other", Class: "class"}
	s.neutron.groups = []securitygroup.Group{{ID: "theirs", Name: identity(s.Policy).Name(), Description: theirs.Description(), Rules: []securitygroup.FoundRule{{ID: "r", Foreign: true}}}}
	s.neutron.before = func(op securitygroup.Op) {
		if add, ok := op.(securitygroup.AddRules); ok && add.GroupID == "theirs" {
			t.Errorf("%s", op)
		}
	}
	s.pass()
	if len(s.neutron.groups) != 2 || len(s.neutron.groups[0].Rules) != 1 {
		t.Errorf("groups: %+v", s.neutron.groups)
	}
}

func TestPortsOfMembersStayOpenUntilOctaviaHasReplacedThem(t *testing.T) {
	s := newStage(t)
	s.pass()
	pods := securitygroup.Need{FromSubnets: true, MemberSubnetIDs: []string{"nodes"}}
	s.requirements.Set(web, uidOf("web"), pods, true)
	s.pass()
	s.requireRules(30080, 30443)
	s.requirements.Set(web, uidOf("web"), pods, false)
	s.pass()
	s.requireRules(30443)
}
