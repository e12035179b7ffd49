// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	adapter "github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// addGroupOf adds the group that openstack-cloud-controller-manager of the cluster creates for the
// Service, and attaches it to the ports of the nodes.
func (s *stage) addGroupOf(cluster, name string, nodePort int, nodes ...string) securitygroup.Group {
	o := lb.Owner{ClusterName: cluster, Namespace: "default", Name: name, ServiceUID: string(uidOf(name))}
	g := securitygroup.Group{ID: "old-" + name, Name: o.SecurityGroupName(), Description: o.SecurityGroupDescription()}
	g.Rules = []securitygroup.FoundRule{{ID: "old-rule-" + name, Rule: securitygroup.Rule{
		PortKey: securitygroup.PortKey{Transport: lb.TCP, Port: nodePort}, Source: netip.MustParsePrefix("10.0.0.0/24")}}}
	s.neutron.groups = append(s.neutron.groups, g)
	for i := range s.neutron.ports {
		if p := &s.neutron.ports[i]; slices.Contains(nodes, strings.TrimPrefix(p.ID, "port-")) {
			p.Groups = append(p.Groups, g.ID)
		}
	}
	return g
}

// newPerServiceStage returns a stage in which openstack-cloud-controller-manager has created a
// group for each Service.
func newPerServiceStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.addGroupOf("kubernetes", "web", 30080, "a", "b")
	s.addGroupOf("kubernetes", "shop", 30443, "a", "b")
	return s
}

// isReleased releases a Service that has nothing but its group in the cloud, and reports whether
// that is deleted.
func (s *stage) isReleased(name string) bool {
	key := web
	key.Name = name
	gone, _ := s.requirements.Release(key, uidOf(name))
	if gone {
		s.requirements.Forget(key)
		s.cluster.services = slices.DeleteFunc(s.cluster.services, func(v corev1.Service) bool { return v.Name == name })
	}
	return gone
}

// release marks the Service as deleted.
func (s *stage) release(name string) {
	for i := range s.cluster.services {
		if v := &s.cluster.services[i]; v.Name == name {
			v.DeletionTimestamp = &metav1.Time{Time: s.clock}
			v.Finalizers, v.Annotations = []string{claim.Finalizer}, map[string]string{annotation.Managed: s.Policy.Mark(v)}
		}
	}
}

func (s *stage) names() (names []string) {
	for _, g := range s.neutron.groups {
		names = append(names, g.ID)
	}
	slices.Sort(names)
	return names
}

func TestSecurityGroupsOfServicesAreTakenOverWithoutAWrite(t *testing.T) {
	s := newPerServiceStage(t)
	requireCalls(t, "the beginning", s.pass(), "GET subnet", "GET groups", "GET ports with the group")
	if why, _ := s.requirements.Unmet(web, uidOf("web")); why != "" {
		t.Errorf("Service web waits: %s", why)
	}
	s.restart()
	requireCalls(t, "a restart, before the passes over the Services", s.pass(), "GET groups", "GET ports with the group")
	s.addNode("c")
	s.setNeed("web")
	s.setNeed("shop")
	requireCalls(t, "a node that joins", s.pass(), "GET subnet", "GET ports of 1 servers", "SetSecurityGroups")
	s.removeNode("a")
	requireCalls(t, "a node that leaves", s.pass(), "SetSecurityGroups")
	s.addService("mail", 30025)
	requireCalls(t, "another Service", s.pass(), "CreateSecurityGroup", "AddSecurityGroupRules", "SetSecurityGroups", "SetSecurityGroups")
	if made := s.neutron.groups[2]; made.Name != fmt.Sprintf("lb-sg-%s-default-mail", uidOf("mail")) ||
		made.Description != "Security Group for default/mail Service LoadBalancer in cluster kubernetes" {
		t.Errorf("made was %q, %q", made.Name, made.Description)
	}
}

// on returns the nodes whose ports have the group of the purpose.
func (s *stage) on(purpose string) string {
	var nodes []string
	for _, p := range s.neutron.ports {
		if slices.ContainsFunc(s.neutron.groups, func(g securitygroup.Group) bool { return g.For == purpose && slices.Contains(p.Groups, g.ID) }) {
			nodes = append(nodes, strings.TrimPrefix(p.ID, "port-"))
		}
	}
	slices.Sort(nodes)
	return strings.Join(nodes, " ")
}

// newRefusedStage returns a stage that has just changed to one group for each Service. Service shop does not tell which nodes
// it selects, and it is not known which members its load balancer has.
func newRefusedStage(t *testing.T) (s *stage, shop owner.Key) {
	t.Helper()
	s = newStage(t)
	s.pass()
	s.restart()
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.cluster.services[1].Annotations = map[string]string{annotation.NodeSelector: "=="}
	s.setNeed("web")
	shop = s.setNeed("shop")
	s.memory.Forget(shop)
	return s, shop
}

// TestARefusedServiceHasItsOwnGroupOnTheNodesOfItsLoadBalancer is from a random walk: the class of a Service was unknown, the mode
// of security groups changed, and the group of the former mode stayed for ever, with the rules for all Services.
func TestARefusedServiceHasItsOwnGroupOnTheNodesOfItsLoadBalancer(t *testing.T) {
	for what, annotations := range map[string]map[string]string{
		"a selector that cannot be read": {annotation.NodeSelector: "=="},
		"an unknown class":               {annotation.ClassKey: "unknown"},
	} {
		t.Run(what, func(t *testing.T) {
			s, shop := newRefusedStage(t)
			s.cluster.services[1].Annotations = annotations
			s.pass()
			if names, on := s.names(), s.on(securitygroup.OfNodes); len(names) != 2 || on != "a b" {
				t.Errorf("while its members are not known, there are groups %v, and the cluster's is on nodes %q", names, on)
			}
			s.remember(shop, uidOf("shop"), "10.0.0.97") // which is a's address
			s.pass()
			if names := s.names(); len(names) != 2 || s.on(securitygroup.OfNodes) != "" {
				t.Errorf("when they are known, there are groups %v", names)
			}
			if web, own := s.on(string(uidOf("web"))), s.on(string(uidOf("shop"))); web != "a b" || own != "a" {
				t.Errorf("the groups are on nodes %q and %q", web, own)
			}
			s.cluster.services[1].Annotations = nil
			s.pass()
			s.cluster.services[1].Annotations = annotations
			requireCalls(t, "another refusal", s.pass())
			if own := s.on(string(uidOf("shop"))); own != "a b" {
				t.Errorf("a refused Service keeps what it has, and its group is on nodes %q", own)
			}
		})
	}
}

func TestSecurityGroupsAreReconciledWhenTheMembersOfARefusedServiceAreKnown(t *testing.T) {
	s, shop := newRefusedStage(t)
	passes := 0
	s.requirements.changed = func() { passes++ }
	s.pass()
	s.remember(shop, uidOf("shop"), "10.0.0.97")
	if s.requirements.Passed(); passes != 1 {
		t.Errorf("after the pass over the Service there are %d passes over the groups", passes)
	}
	s.pass()
	if s.requirements.Passed(); passes != 1 {
		t.Error("each pass over a Service leads to one over the groups, for ever")
	}
}

func TestTheGroupOfTheClusterStaysWhilePacketsToPodsMayEnterThroughAnyNode(t *testing.T) {
	for name, test := range map[string]struct {
		podPorts bool
		want     string
	}{
		"packets to Pods are admitted":     {true, "a b"},
		"packets to Pods are not admitted": {false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, shop := newRefusedStage(t)
			s.Config.SecurityGroupPodPorts = test.podPorts
			s.remember(shop, uidOf("shop"), "10.0.0.97", "10.244.0.7")
			s.pass()
			if on := s.on(securitygroup.OfNodes); on != test.want {
				t.Errorf("with the ports of Pods %v, the cluster's group is on nodes %q", test.podPorts, on)
			}
		})
	}
}

// TestTheGroupOfTheClusterStaysOnlyForServicesWhoseNeedsAreNotKnown is about a Service that is refused because the subnet of its
// members does not exist, as after another random walk.
func TestTheGroupOfTheClusterStaysOnlyForServicesWhoseNeedsAreNotKnown(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.restart()
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	former := func() (ports []int) {
		for _, g := range s.neutron.groups {
			for _, r := range g.Rules {
				if g.For == securitygroup.OfNodes {
					ports = append(ports, r.Port)
				}
			}
		}
		return ports
	}
	s.setNeed("web")
	s.pass()
	if ports := former(); !slices.Equal(ports, []int{30080, 30443}) {
		t.Errorf("before the pass over a Service it lets in %v", ports)
	}
	shop := s.setNeed("shop")
	s.requirements.Set(shop, uidOf("shop"), securitygroup.Need{Ports: []securitygroup.PortKey{{Transport: lb.TCP, Port: 30443}}, FromSubnets: true,
		MemberSubnetIDs: []string{"gone"}}, false)
	s.cluster.services[1].Spec.Ports[0].NodePort = 30444 // its load balancer keeps sending to the former one
	s.pass()
	s.addNode("c")
	s.pass()
	if ports, on := former(), s.on(securitygroup.OfNodes); !slices.Equal(ports, []int{30443}) || on != "a b" {
		t.Errorf("it lets in %v on nodes %q", ports, on)
	}
	if web := s.on(string(uidOf("web"))); web != "a b c" {
		t.Errorf("the group of the other Service is on nodes %q", web)
	}
}

func TestGroupOfAServiceIsOnTheNodesThatItSelects(t *testing.T) {
	s := newStage(t)
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.cluster.services[0].Annotations = map[string]string{annotation.NodeSelector: "disk=ssd"}
	s.cluster.services = s.cluster.services[:1]
	s.cluster.nodes[1].Labels = map[string]string{"disk": "ssd"}
	s.pass()
	if on := s.attachedNodes(); on != "b" {
		t.Errorf("the group is on nodes %q", on)
	}
	s.cluster.services[0].Annotations[annotation.NodeSelector] = "=="
	s.cluster.nodes[0].Labels = s.cluster.nodes[1].Labels
	requireCalls(t, "a selector that cannot be read", s.pass())
}

func TestGroupOfAServiceIsDeletedWithIt(t *testing.T) {
	s := newPerServiceStage(t)
	s.pass()
	s.release("web")
	if s.isReleased("web") {
		t.Error("it is let go before its group is looked at")
	}
	s.enqueued = nil
	requireCalls(t, "a Service that goes", s.pass(), "SetSecurityGroups", "SetSecurityGroups", "DeleteSecurityGroup")
	if !slices.Contains(s.enqueued, web) || !s.isReleased("web") {
		t.Errorf("enqueued were %v, and it is not let go", s.enqueued)
	}
	if names := s.names(); !slices.Equal(names, []string{"old-shop"}) {
		t.Errorf("groups %v are left", names)
	}
}

// openstack-cloud-controller-manager forgets a group whose deletion is refused once.
func TestDeletionOfASecurityGroupThatIsRefusedIsNotForgotten(t *testing.T) {
	s := newPerServiceStage(t)
	s.pass()
	s.release("web")
	s.isReleased("web")
	s.neutron.fails["DeleteSecurityGroup"] = &openstack.Error{Op: "delete security group old-web", Class: openstack.Conflict, Status: 409, Message: "in use"}
	for range 3 {
		if _, err := s.tryPass(); err == nil {
			t.Error("the pass returns no error, so no other pass follows")
		}
		if s.isReleased("web") {
			t.Fatal("the Service is let go, and its group stays")
		}
	}
	if _, why := s.requirements.Release(web, uidOf("web")); !strings.Contains(why, "in use") {
		t.Errorf("the Service's users are told %q", why)
	}
	s.restart()
	s.isReleased("web") // and a controller that knows nothing goes on
	if _, err := s.tryPass(); err == nil || s.isReleased("web") {
		t.Errorf("after a restart: %v", err)
	}
	delete(s.neutron.fails, "DeleteSecurityGroup")
	s.pass()
	if names := s.names(); !s.isReleased("web") || !slices.Equal(names, []string{"old-shop"}) {
		t.Errorf("in the end groups %v are left", names)
	}
}

func TestNoGroupIsCreatedForAServiceThatWasJustDeleted(t *testing.T) {
	s := newStage(t)
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.pass()
	s.addService("mail", 30025)
	mail := web
	mail.Name = "mail"
	s.neutron.calls = nil
	s.neutron.before = func(op securitygroup.Op) { t.Errorf("%s", op) }
	f, _, err := s.gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if gone, _ := s.requirements.Release(mail, uidOf("mail")); !gone {
		t.Error("it has no group yet, and waits")
	}
	if _, err := s.apply(t.Context(), want(f)); err != nil {
		t.Fatal(err)
	}
	// One whose create was not answered may have one.
	late := newStage(t)
	late.Config.SecurityGroupMode = config.ServiceSecurityGroups
	late.neutron.fails["CreateSecurityGroup"] = &openstack.Error{Op: "create", Class: openstack.Transient, Unanswered: true}
	_, _ = late.tryPass()
	late.release("web")
	if late.isReleased("web") {
		t.Error("it is let go while its group may show up")
	}
	delete(late.neutron.fails, "CreateSecurityGroup")
	late.clock = late.clock.Add(time.Minute)
	late.pass()
	if !late.isReleased("web") || len(late.neutron.groups) != 1 {
		t.Errorf("in the end there are groups %v", late.names())
	}
}

func TestQuotaForOneServiceDelaysNoOther(t *testing.T) {
	s := newStage(t)
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.neutron.before = func(op securitygroup.Op) {
		delete(s.neutron.fails, "CreateSecurityGroup")
		if create, ok := op.(securitygroup.CreateGroup); ok && create.For == string(uidOf("web")) {
			s.neutron.fails["CreateSecurityGroup"] = &openstack.Error{Op: op.String(), Class: openstack.Quota, Message: "Quota exceeded for resources: ['security_group']."}
		}
	}
	if _, err := s.tryPass(); err != nil {
		t.Errorf("an exhausted quota is retried hot: %v", err)
	}
	shop := web
	shop.Name = "shop"
	if why, _ := s.requirements.Unmet(shop, uidOf("shop")); why != "" {
		t.Errorf("Service shop waits: %s", why)
	}
	if why, failed := s.requirements.Unmet(web, uidOf("web")); !failed || !strings.Contains(why, "security_group") {
		t.Errorf("Service web is told %q", why)
	}
}

func TestGroupsOfServicesAreDeletedWhenTheGroupOfTheClusterReplacesThem(t *testing.T) {
	s := newStage(t)
	s.addGroupOf("kubernetes", "web", 30080, "a", "b")
	s.addGroupOf("other", "shop", 30443, "a", "b")
	s.addGroupOf("kubernetes", "mail", 30025, "a") // which is no Service of ours
	s.restart()
	s.pass()
	if names := s.names(); !slices.Equal(names, []string{"old-mail", "old-shop", "old-web"}) {
		t.Errorf("before the passes over the Services there are groups %v", names)
	}
	s.setNeed("web")
	s.setNeed("shop")
	var ports []string
	s.neutron.before = func(op securitygroup.Op) {
		if set, ok := op.(securitygroup.SetGroups); ok {
			ports = append(ports, strings.Join(set.Groups, " "))
		}
	}
	s.pass()
	want := []string{"default old-web old-shop old-mail group-1", "default old-web old-shop group-1", "default old-shop old-mail group-1", "default old-shop group-1"}
	if !slices.Equal(ports, want) {
		t.Errorf("the ports had, one after the other,\n%s", strings.Join(ports, "\n"))
	}
	if names := s.names(); !slices.Equal(names, []string{"group-1", "old-mail", "old-shop"}) {
		t.Errorf("in the end there are groups %v", names)
	}
}

func TestGroupsOfServicesStayWhileTheClusterIsOnlyObserved(t *testing.T) {
	s := newStage(t)
	s.Observe = true
	s.addGroupOf("kubernetes", "web", 30080, "a", "b")
	s.pass()
	if names := s.names(); !slices.Equal(names, []string{"group-1", "old-web"}) || s.attachedNodes() != "a b" {
		t.Errorf("groups %v, on nodes %s", names, s.attachedNodes())
	}
	if !s.isReleased("web") {
		t.Error("a Service waits for a group that stays")
	}
}

func TestGroupOfTheClusterIsDeletedWhenEachServiceHasItsOwn(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.restart()
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.setNeed("web")
	s.pass()
	if names := s.names(); !slices.Contains(names, "group-1") {
		t.Errorf("a Service is not known yet, and the groups are %v", names)
	}
	s.setNeed("shop")
	s.pass()
	if names := s.names(); len(names) != 2 || slices.Contains(names, "group-1") {
		t.Errorf("in the end there are groups %v", names)
	}
}

// TestSecurityGroupWhoseDeletionIsAnswered404IsReadAgain is from a random walk: a deletion was answered with 404, and the group stayed.
func TestSecurityGroupWhoseDeletionIsAnswered404IsReadAgain(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.restart()
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.setNeed("web")
	s.setNeed("shop")
	s.neutron.denied = 2
	_, _ = s.tryPass() // it may end early, and is repeated then
	s.pass()
	if names := s.names(); len(names) != 2 || slices.Contains(names, "group-1") {
		t.Errorf("in the end there are groups %v", names)
	}
	requireCalls(t, "nothing new", s.pass())
}

func TestAServiceThatIsRefusedAndHasNothingDoesNotKeepTheGroupOfTheCluster(t *testing.T) {
	s := newStage(t)
	refused := s.addService("refused", 30500)
	s.cluster.services[len(s.cluster.services)-1].Annotations = map[string]string{annotation.NodeSelector: "=="}
	s.pass()
	s.restart()
	s.Config.SecurityGroupMode = config.ServiceSecurityGroups
	s.setNeed("web")
	s.setNeed("shop")
	s.setNeed("refused")
	s.memory.Forget(refused)
	s.pass()
	if names := s.names(); !slices.Contains(names, "group-1") {
		t.Errorf("it is not known which nodes a load balancer uses, and the groups are %v", names)
	}
	s.requirements.Set(refused, uidOf("refused"), securitygroup.Need{}, false) // it never had one, or it is deleted
	s.pass()
	if names := s.names(); len(names) != 2 || slices.Contains(names, "group-1") {
		t.Errorf("in the end there are groups %v", names)
	}
}

func TestTheGroupOfDefaultKubernetesIsThatOfItsUIDInTheCloud(t *testing.T) {
	policy := claim.Policy{ClusterUID: "c"}
	api := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes", UID: "uid-2"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1"}}
	of := policy.Owner(api)
	if s := serviceOf(adapter.Kind{Policy: policy}.Of(api), need{uid: types.UID(of.ServiceUID)}, nil, config.LoadBalancer{}); s.Need == nil {
		t.Error("its need is unknown")
	}
	if uid := lb.SecurityGroupOfService("", of.SecurityGroupName(), ""); uid != of.ServiceUID {
		t.Errorf("group %s is that of %q", of.SecurityGroupName(), uid)
	}
}
