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

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// cluster is what the caches hold.
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

// groupSky is a Neutron.
type groupSky struct {
	groups  []securitygroup.Group
	ports   []securitygroup.Port
	subnets map[string]securitygroup.Subnet
	calls   []string
	// before is done before each write, and fails names kinds of ops that fail.
	before func(op securitygroup.Op)
	fails  map[string]error
	made   int
}

func (s *groupSky) SecurityGroups(_ context.Context, ids ...string) ([]securitygroup.Group, error) {
	s.calls = append(s.calls, "GET groups")
	return slices.DeleteFunc(slices.Clone(s.groups), func(g securitygroup.Group) bool { return len(ids) > 0 && !slices.Contains(ids, g.ID) }), s.fails["GET groups"]
}

func (s *groupSky) PortsWithGroups(_ context.Context, ids ...string) ([]securitygroup.Port, error) {
	s.calls = append(s.calls, "GET ports with the group")
	return slices.DeleteFunc(slices.Clone(s.ports), func(p securitygroup.Port) bool {
		return !slices.ContainsFunc(p.Groups, func(id string) bool { return slices.Contains(ids, id) })
	}), nil
}

func (s *groupSky) PortsOfServers(_ context.Context, ids ...string) ([]securitygroup.Port, error) {
	s.calls = append(s.calls, fmt.Sprintf("GET ports of %d servers", len(ids)))
	return slices.DeleteFunc(slices.Clone(s.ports), func(p securitygroup.Port) bool { return !slices.Contains(ids, p.ServerID) }), nil
}

func (s *groupSky) Subnet(_ context.Context, id string) (securitygroup.Subnet, error) {
	s.calls = append(s.calls, "GET subnet")
	subnet, there := s.subnets[id]
	if !there {
		return subnet, &openstack.Error{Op: "look at subnet " + id, Class: openstack.Gone, Message: "the project can see no such subnet"}
	}
	return subnet, nil
}

func (s *groupSky) ApplySecurityGroup(_ context.Context, op securitygroup.Op) (made securitygroup.Made, _ error) {
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

// groupStage is a reconciler of the group between a cluster and a Neutron.
type groupStage struct {
	*Reconciler
	t       *testing.T
	memory  *memory.Store
	cluster *cluster
	sky     *groupSky
	heard   *events.FakeRecorder
	clock   time.Time
	woken   []types.NamespacedName
}

// newGroupStage has two nodes, "a" and "b", and two Services.
func newGroupStage(t *testing.T) *groupStage {
	t.Helper()
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &groupStage{t: t, cluster: &cluster{}, sky: &groupSky{fails: map[string]error{}, subnets: map[string]securitygroup.Subnet{
		"nodes": {CIDR: netip.MustParsePrefix("10.0.0.0/24"), NetworkID: "net"},
	}}, heard: events.NewFakeRecorder(100), clock: noon}
	s.memory = memory.NewStore()
	s.Reconciler = New(Options{
		Reader: s.cluster, Cloud: s.sky, Members: s.memory, Recorder: s.heard, Metrics: counted, Timing: timing.Default(),
		Now: func() time.Time { return s.clock }, Interval: time.Minute, Enqueue: func(key types.NamespacedName) { s.woken = append(s.woken, key) },
		Policy: claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-uid", LoadBalancerClass: "class", DefaultClass: true},
	}, NewRequirements(func() {}))
	s.addNode("a")
	s.addNode("b")
	s.serve("web", 30080)
	s.serve("shop", 30443)
	return s
}

// restart is a controller that knows nothing, on the same cluster and cloud.
func (s *groupStage) restart() {
	s.memory = memory.NewStore()
	s.requirements, s.Members, s.known, s.observed, s.settled = NewRequirements(func() {}), s.memory, false, securitygroup.Observed{}, nil
	s.looked, s.subnets, s.asked = time.Time{}, map[string]securitygroup.Subnet{}, map[string]bool{}
}

// uidOf is the uid of a Service.
func uidOf(name string) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012x", name[:min(len(name), 6)]))
}

func serverOf(name string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", name[0])
}

func (s *groupStage) addNode(name string) {
	address := netip.AddrFrom4([4]byte{10, 0, 0, name[0]})
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + serverOf(name)}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	s.cluster.nodes = append(s.cluster.nodes, n)
	s.sky.ports = append(s.sky.ports, securitygroup.Port{ID: "port-" + name, ServerID: serverOf(name), Addresses: []netip.Addr{address}, Groups: []string{"default"}})
}

func (s *groupStage) removeNode(name string) {
	s.cluster.nodes = slices.DeleteFunc(s.cluster.nodes, func(n corev1.Node) bool { return n.Name == name })
}

// serve makes a Service, and a pass over it.
func (s *groupStage) serve(name string, nodePort int32) types.NamespacedName {
	v := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uidOf(name)}}
	v.Spec.Type, v.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: nodePort}}
	s.cluster.services = append(s.cluster.services, v)
	return s.passOver(name)
}

// passOver says what the Service needs, and that all of it is in the cloud.
func (s *groupStage) passOver(name string) types.NamespacedName {
	key := types.NamespacedName{Namespace: "default", Name: name}
	for _, v := range s.cluster.services {
		if v.Name == name {
			s.requirements.Set(key, v.UID, securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: int(v.Spec.Ports[0].NodePort)}}, FromSubnets: true,
				MemberSubnetIDs: []string{"nodes"}})
			s.remember(key, v.UID)
		}
	}
	return key
}

func (s *groupStage) remember(key types.NamespacedName, uid types.UID, members ...string) {
	pool := &lb.Pool{}
	for _, m := range members {
		pool.Members = append(pool.Members, lb.Member{Address: m})
	}
	s.memory.Put(key, memory.Record{ServiceUID: uid, Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{
		ID: "lb-" + key.Name, ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{Pool: pool}},
	}}}})
}

// pass makes a pass and returns its calls.
func (s *groupStage) pass() []string {
	s.t.Helper()
	calls, err := s.tryPass()
	if err != nil {
		s.t.Fatal(err)
	}
	return calls
}

func (s *groupStage) tryPass() ([]string, error) {
	s.sky.calls = []string{}
	_, err := s.Reconcile(s.t.Context(), reconcile.Request{})
	return s.sky.calls, err
}

// sees fails the test unless nodes let in exactly these NodePorts.
func (s *groupStage) sees(ports ...int) {
	s.t.Helper()
	if len(s.sky.groups) != 1 {
		s.t.Fatalf("%d groups: %+v", len(s.sky.groups), s.sky.groups)
	}
	var have []int
	for _, r := range s.sky.groups[0].Rules {
		have = append(have, r.Port)
	}
	slices.Sort(have)
	if diff := cmp.Diff(ports, have); diff != "" {
		s.t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// on are the nodes whose ports have the group.
func (s *groupStage) on() string {
	var nodes []string
	for _, p := range s.sky.ports {
		if len(p.Groups) > 1 {
			nodes = append(nodes, strings.TrimPrefix(p.ID, "port-"))
		}
	}
	slices.Sort(nodes)
	return strings.Join(nodes, " ")
}

func costs(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls of %s (-want +got):\n%s", what, diff)
	}
}

func TestSecurityGroupTakesFewCalls(t *testing.T) {
	s := newGroupStage(t)
	costs(t, "the beginning", s.pass(), "GET subnet", "GET groups", "GET ports of 2 servers", "CreateSecurityGroup", "AddSecurityGroupRules",
		"SetSecurityGroups", "SetSecurityGroups")
	s.sees(30080, 30443)
	costs(t, "nothing new", s.pass())
	s.passOver("web")
	costs(t, "a Service that needs the same", s.pass())
	s.serve("mail", 30025)
	costs(t, "another Service", s.pass(), "AddSecurityGroupRules")
	s.clock = s.clock.Add(time.Hour)
	costs(t, "a sweep", s.pass(), "GET groups", "GET ports with the group")
	s.restart()
	for _, name := range []string{"web", "shop", "mail"} {
		s.passOver(name)
	}
	costs(t, "a restart", s.pass(), "GET subnet", "GET groups", "GET ports with the group")
}

func TestSecurityGroupOfANewNodeIsAttachedOnce(t *testing.T) {
	s := newGroupStage(t)
	s.pass()
	s.addNode("c")
	costs(t, "a node that joins", s.pass(), "GET ports of 1 servers", "SetSecurityGroups")
	costs(t, "the passes of all Services after that", s.pass())
	if on := s.on(); on != "a b c" {
		t.Errorf("the group is on nodes %s", on)
	}
}

func TestScaleDownOfNodesNeverRemovesRules(t *testing.T) {
	s := newGroupStage(t)
	s.pass()
	s.removeNode("b")
	s.remember(web, uidOf("web"), "10.0.0.97", "10.0.0.98") // which is b's address
	costs(t, "a node that a pool still has", s.pass())
	s.remember(web, uidOf("web"), "10.0.0.97")
	costs(t, "a node that has left", s.pass(), "SetSecurityGroups")
	s.sees(30080, 30443)
	s.cluster.nodes = nil
	costs(t, "no node at all", s.pass())
	s.sees(30080, 30443)
	if on := s.on(); on != "a" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestAControllerThatHasJustStartedRemovesNoRule(t *testing.T) {
	s := newGroupStage(t)
	s.pass()
	s.restart()
	s.removeNode("b")
	costs(t, "a pass before those over the Services", s.pass(), "GET groups", "GET ports with the group")
	s.sees(30080, 30443)
	if on := s.on(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
	s.passOver("web")
	s.cluster.services = s.cluster.services[:1] // the other one went meanwhile
	s.pass()
	s.sees(30080)
	if on := s.on(); on != "a" {
		t.Errorf("after that it is on nodes %q", on)
	}
}

func TestListThatFailsRemovesNoRule(t *testing.T) {
	s := newGroupStage(t)
	s.pass()
	s.cluster.down, s.cluster.services = errors.New("no"), nil
	calls, err := s.tryPass()
	if err == nil {
		t.Error("the pass says nothing of it")
	}
	costs(t, "a list that fails", calls)
}

func TestAConcurrentlyAddedSecurityGroupOfAPortIsNotLost(t *testing.T) {
	s := newGroupStage(t)
	once := true
	s.sky.before = func(op securitygroup.Op) {
		set, ok := op.(securitygroup.SetGroups)
		if i := slices.IndexFunc(s.sky.ports, func(p securitygroup.Port) bool { return ok && p.ID == set.Port.ID }); i >= 0 && once {
			once = false
			s.sky.ports[i].Groups, s.sky.ports[i].Revision = append(slices.Clone(s.sky.ports[i].Groups), "others"), s.sky.ports[i].Revision+1
		}
	}
	s.pass()
	for _, p := range s.sky.ports {
		if p.ID == "port-a" && !cmp.Equal(p.Groups, []string{"default", "others", "group-1"}) {
			t.Errorf("port %s has %v", p.ID, p.Groups)
		}
	}
	if on := s.on(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestLostAnswerToACreateLeavesOneSecurityGroup(t *testing.T) {
	s := newGroupStage(t)
	s.sky.fails["CreateSecurityGroup"] = &openstack.Error{Op: "create", Class: openstack.Transient, Unanswered: true}
	if _, err := s.tryPass(); err == nil {
		t.Error("the pass says nothing of it")
	}
	delete(s.sky.fails, "CreateSecurityGroup")
	s.pass()
	s.sees(30080, 30443)

	// It may as well show only later.
	late := newGroupStage(t)
	late.sky.fails["CreateSecurityGroup"] = &openstack.Error{Op: "create", Class: openstack.Transient, Unanswered: true}
	_, _ = late.tryPass()
	hidden := late.sky.groups
	late.sky.groups = nil
	for range 3 {
		calls, err := late.tryPass()
		if err == nil || slices.Contains(calls, "CreateSecurityGroup") {
			t.Errorf("before it can be known: %v, %v", calls, err)
		}
	}
	late.sky.groups = hidden
	delete(late.sky.fails, "CreateSecurityGroup")
	late.clock = late.clock.Add(time.Minute)
	late.pass()
	late.sees(30080, 30443)
}

func TestNodeThatCannotHaveTheGroupBlocksNoOther(t *testing.T) {
	s := newGroupStage(t)
	for _, name := range []string{"c", "d", "e", "f"} {
		s.addNode(name)
	}
	node := func(name string) *corev1.Node {
		return &s.cluster.nodes[slices.IndexFunc(s.cluster.nodes, func(n corev1.Node) bool { return n.Name == name })]
	}
	port := func(name string) *securitygroup.Port {
		return &s.sky.ports[slices.IndexFunc(s.sky.ports, func(p securitygroup.Port) bool { return p.ID == "port-"+name })]
	}
	node("a").Spec.ProviderID = "aws:///zone/i-1"
	port("b").ServerID = "another"
	port("c").Unprotected = true
	node("d").CreationTimestamp = metav1.NewTime(s.clock) // and it will tell its server soon
	node("d").Spec.ProviderID = ""
	s.sky.before = func(op securitygroup.Op) {
		delete(s.sky.fails, "SetSecurityGroups")
		if set, ok := op.(securitygroup.SetGroups); ok && set.Port.ID == "port-e" {
			s.sky.fails["SetSecurityGroups"] = &openstack.Error{Op: op.String(), Class: openstack.Invalid, Status: 403, Message: "not yours"}
		}
	}
	for range 3 {
		s.pass()
		s.clock = s.clock.Add(10 * time.Second)
	}
	if on := s.on(); on != "f" {
		t.Errorf("the group is on nodes %q", on)
	}
	s.sees(30080, 30443)
	want := []string{"is not of OpenStack", "no port of server", "port security is off", "not yours"}
	if len(s.heard.Events) != len(want) {
		t.Errorf("%d events, want one for each of %d nodes", len(s.heard.Events), len(want))
	}
	for range len(s.heard.Events) {
		e := <-s.heard.Events
		i := slices.IndexFunc(want, func(text string) bool { return strings.Contains(e, text) })
		if i < 0 {
			t.Fatalf("event %q", e)
		}
		want = slices.Delete(want, i, i+1)
	}
}

func TestSecurityGroupIsOnThePortsOfTheAddressesThatAreMembers(t *testing.T) {
	s := newGroupStage(t)
	s.sky.subnets["second"] = securitygroup.Subnet{CIDR: netip.MustParsePrefix("10.0.1.0/24"), NetworkID: "net"}
	outside := netip.MustParseAddr("203.0.113.1")
	for i, address := range []string{"10.0.1.97", outside.String(), "10.0.2.97"} {
		kind := corev1.NodeInternalIP
		if i == 1 {
			kind = corev1.NodeExternalIP
		}
		s.cluster.nodes[0].Status.Addresses = append(s.cluster.nodes[0].Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
		s.sky.ports = append(s.sky.ports, securitygroup.Port{ID: "port-" + address, ServerID: serverOf("a"), Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: []string{"default"}})
	}
	s.pass()
	if on := s.on(); on != "a b" {
		t.Errorf("the group is on %s", on)
	}
	s.clock = s.clock.Add(time.Hour)
	costs(t, "a sweep", s.pass(), "GET groups", "GET ports with the group")
	// A Service reaches its members in another subnet, and then also at an address outside.
	need := securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}}, FromSubnets: true, MemberSubnetIDs: []string{"nodes", "second"}}
	s.requirements.Set(web, uidOf("web"), need)
	costs(t, "another subnet", s.pass(), "GET subnet", "GET ports of 1 servers", "AddSecurityGroupRules", "SetSecurityGroups")
	s.remember(web, uidOf("web"), "10.0.1.97", outside.String())
	costs(t, "another member", s.pass(), "SetSecurityGroups")
	if on := s.on(); on != "10.0.1.97 203.0.113.1 a b" {
		t.Errorf("the group is on %s", on)
	}
	need.MemberSubnetIDs = need.MemberSubnetIDs[:1]
	s.requirements.Set(web, uidOf("web"), need)
	s.remember(web, uidOf("web"), "10.0.0.97")
	s.pass()
	if on := s.on(); on != "a b" {
		t.Errorf("the group is on %s", on)
	}
}

func TestServiceWaitsForItsRulesAndIsToldWhyThereAreNone(t *testing.T) {
	s := newGroupStage(t)
	open := func() (string, bool) { return s.requirements.Unmet(web, uidOf("web")) }
	if why, failed := open(); why == "" || failed {
		t.Errorf("before the first pass: %q, failed %v", why, failed)
	}
	s.sky.fails["AddSecurityGroupRules"] = &openstack.Error{Op: "let in", Class: openstack.Quota, Message: "Quota exceeded for resources: ['security_group_rule']."}
	if _, err := s.tryPass(); err != nil {
		t.Errorf("an exhausted quota is retried hot: %v", err)
	}
	if why, failed := open(); !failed || !strings.Contains(why, "security_group_rule") {
		t.Errorf("when that failed: %q, failed %v", why, failed)
	}
	delete(s.sky.fails, "AddSecurityGroupRules")
	s.woken = nil
	s.pass()
	if why, _ := open(); why != "" || !slices.Contains(s.woken, web) {
		t.Errorf("when the rules are there: %q, and woken were %v", why, s.woken)
	}
	// A failure that takes nothing away from it is not its own.
	s.sky.fails["RemoveSecurityGroupRule"] = &openstack.Error{Op: "remove", Class: openstack.Transient}
	s.requirements.Forget(types.NamespacedName{Namespace: "default", Name: "shop"})
	s.cluster.services = s.cluster.services[:1]
	if _, err := s.tryPass(); err == nil {
		t.Error("the pass says nothing of it")
	}
	if why, failed := open(); why != "" || failed {
		t.Errorf("after the failure: %q, failed %v", why, failed)
	}
}

// A rule lets in until that which replaces it is there, and one that nothing replaces goes.
func TestRuleIsNotRemovedWhileItsSuccessorCannotBeAdded(t *testing.T) {
	for _, class := range []openstack.Class{openstack.Quota, openstack.Invalid, openstack.Transient, openstack.Conflict} {
		t.Run(string(class), func(t *testing.T) {
			s := newGroupStage(t)
			s.pass()
			s.requirements.Forget(types.NamespacedName{Namespace: "default", Name: "shop"})
			s.cluster.services = s.cluster.services[:1]
			s.requirements.Set(web, uidOf("web"), securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}},
				Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
			s.sky.fails["AddSecurityGroupRules"] = &openstack.Error{Op: "let in", Class: class, Message: "no"}
			for range 3 {
				_, _ = s.tryPass()
			}
			s.sees(30080)
			if source := s.sky.groups[0].Rules[0].Source.String(); source != "10.0.0.0/24" {
				t.Errorf("it lets in %s", source)
			}
			delete(s.sky.fails, "AddSecurityGroupRules")
			s.pass()
			s.sees(30080)
			if source := s.sky.groups[0].Rules[0].Source.String(); source != "192.0.2.0/24" {
				t.Errorf("when it could be added it lets in %s", source)
			}
		})
	}
}

func TestSubnetThatTheProjectDoesNotSeeConcernsOneService(t *testing.T) {
	s := newGroupStage(t)
	s.requirements.Set(web, uidOf("web"), securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30080}}, FromSubnets: true, MemberSubnetIDs: []string{"hidden"}})
	s.pass()
	s.sees(30443)
	if why, failed := s.requirements.Unmet(web, uidOf("web")); !failed || !strings.Contains(why, "member-subnet-id") || !strings.Contains(why, "hidden") {
		t.Errorf("it is told %q, failed %v", why, failed)
	}
}

func TestWhatSomebodyDidToTheGroupIsPutRight(t *testing.T) {
	s := newGroupStage(t)
	s.pass()
	s.sky.groups[0].Rules = append(s.sky.groups[0].Rules[1:], securitygroup.FoundRule{ID: "by-hand", Foreign: true})
	i := slices.IndexFunc(s.sky.ports, func(p securitygroup.Port) bool { return p.ID == "port-a" })
	s.sky.ports[i].Groups = []string{"default"}
	s.clock = s.clock.Add(time.Hour)
	costs(t, "the next sweep", s.pass(), "GET groups", "GET ports with the group", "GET ports of 1 servers", "AddSecurityGroupRules", "SetSecurityGroups", "RemoveSecurityGroupRule")
	s.sees(30080, 30443)
	// Somebody deleted it altogether.
	s.sky.groups = nil
	for i := range s.sky.ports {
		s.sky.ports[i].Groups = []string{"default"}
	}
	s.clock = s.clock.Add(time.Hour)
	s.pass()
	s.sees(30080, 30443)
	if on := s.on(); on != "a b" {
		t.Errorf("the group is on nodes %q", on)
	}
}

func TestSecurityGroupOfAnotherClusterIsNotTouched(t *testing.T) {
	s := newGroupStage(t)
	theirs := lb.NodesGroup{ClusterName: "kubernetes", ClusterUID: "other", Class: "class"}
	s.sky.groups = []securitygroup.Group{{ID: "theirs", Name: s.identity().Name(), Description: theirs.Description(), Rules: []securitygroup.FoundRule{{ID: "r", Foreign: true}}}}
	s.sky.before = func(op securitygroup.Op) {
		if add, ok := op.(securitygroup.AddRules); ok && add.GroupID == "theirs" {
			t.Errorf("%s", op)
		}
	}
	s.pass()
	if len(s.sky.groups) != 2 || len(s.sky.groups[0].Rules) != 1 {
		t.Errorf("groups: %+v", s.sky.groups)
	}
}
