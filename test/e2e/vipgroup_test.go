// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

const groupsKey = ownPrefix + "vip-security-groups"

// groupCloud returns a cloud whose Octavia has security groups of VIPs.
func groupCloud() settings {
	return settings{cloud: cloudsim.Options{APIVersion: "2.29"}}
}

// admitting creates a security group of the name, which admits clients of the range to all TCP ports, and returns its
// id.
func (s *stage) admitting(name, cidr string) string {
	s.t.Helper()
	var made struct {
		Group struct{ ID string } `json:"security_group"`
	}
	err := s.cloud.call(asUser, cloudsim.Network, http.MethodPost, "/v2.0/security-groups", map[string]any{"security_group": map[string]any{"name": name}}, &made)
	if err == nil {
		err = s.cloud.call(asUser, cloudsim.Network, http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": map[string]any{
			"security_group_id": made.Group.ID, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "remote_ip_prefix": cidr}}, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Group.ID
}

// groupsOf returns the security groups that Octavia shows of the load balancer, sorted.
func (v *service) groupsOf() []string {
	v.t.Helper()
	var answer struct {
		Balancer struct {
			Groups []string `json:"vip_sg_ids"`
		} `json:"loadbalancer"`
	}
	if err := v.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/loadbalancers/"+v.now().Annotations[idKey], nil, &answer); err != nil {
		v.t.Fatal(err)
	}
	return slices.Sorted(slices.Values(answer.Balancer.Groups))
}

// waitForGroups waits until the load balancer has exactly these security groups.
func (v *service) waitForGroups(want ...string) {
	v.t.Helper()
	slices.Sort(want)
	v.eventually(func() error {
		if got := v.groupsOf(); !slices.Equal(got, want) {
			return fmt.Errorf("the security groups are %v, want %v", got, want)
		}
		return nil
	})
}

// setGroups gives the load balancer security groups, as another client.
func (v *service) setGroups(groups ...string) {
	v.t.Helper()
	body := map[string]any{"loadbalancer": map[string]any{"vip_sg_ids": groups}}
	if err := v.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/loadbalancers/"+v.tree().ID, body, nil); err != nil {
		v.t.Fatal(err)
	}
}

// removeRanges removes the source ranges of a port, as another client.
func (v *service) removeRanges(port string) {
	v.t.Helper()
	body := map[string]any{"listener": map[string]any{"allowed_cidrs": []string{}}}
	if err := v.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/listeners/"+v.tree().listener(port).ID, body, nil); err != nil {
		v.t.Fatal(err)
	}
}

func TestSecurityGroupsOfTheVIPAreSetChangedAndRemoved(t *testing.T) {
	onlyWithProvider(t, "amphora", "provider ovn takes them without effect")
	s := newStage(t, groupCloud())
	s.needsOctavia("2.29")
	all, none := s.admitting("all", "0.0.0.0/0"), s.admitting("none", "198.51.100.7/32")
	web := s.service("web", tcp(8080), annotated(groupsKey, "none"))
	address := web.waitUntilProgrammed()
	web.waitForGroups(none)
	if s.cloud.packets() {
		s.eventually(func() error {
			if _, err := ask(t.Context(), client{address: "127.0.0.1"}, address, 8080); err == nil {
				return errors.New("127.0.0.1 may connect, whom the group does not admit")
			}
			return nil
		})
	}

	web.change(annotated(groupsKey, "none,"+all))
	web.waitForGroups(all, none)
	web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	web.change(func(v *corev1.Service) {
		v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{Name: "tcp-8081", Port: 8081})
	})
	web.waitUntilProgrammed()

	// Groups that do not exist refuse the Service, and it keeps those that it has.
	web.change(annotated(groupsKey, "nowhere"))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message, groupsKey, "nowhere")
	web.waitForGroups(all, none)
	web.change(notAnnotated(groupsKey))
	web.waitForGroups()
	web.waitUntilProgrammed()
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	s.requireNoFailedRequest(visitor)

	// On a live Service that is open to all addresses.
	web.change(annotated(groupsKey, all))
	web.waitForGroups(all)
	web.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
	for _, id := range []string{all, none} {
		s.cloud.neutron(http.MethodDelete, "security-groups/"+id, nil, nil)
	}
}

func TestSecurityGroupsTakeThePlaceOfSourceRanges(t *testing.T) {
	onlyWithProvider(t, "amphora", "provider ovn takes them without effect")
	s := newStage(t, groupCloud())
	s.needsOctavia("2.29")
	all := s.admitting("all", "0.0.0.0/0")
	web := s.service("web", tcp(8080, 8081), openTo("198.51.100.7/32"))
	address := web.waitUntilProgrammed()
	before := web.tree()
	if err := sources("198.51.100.7/32")(before); err != nil {
		t.Fatal(err)
	}
	web.change(openTo(), annotated(groupsKey, "all"))
	web.waitForGroups(all)
	web.waitForTree(sources())
	web.waitUntilProgrammed()
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if now := web.tree(); now.ID != before.ID {
		t.Errorf("load balancer %s was replaced by %s", before.ID, now.ID)
	}
	s.answers(address, 8080)
	web.delete()
	web.waitUntilGone()
	s.cloud.neutron(http.MethodDelete, "security-groups/"+all, nil, nil)
}

func TestSecurityGroupsDoNotOverrideTheSourceRangesOfAnotherClient(t *testing.T) {
	simulatorOnly(t, "the API version is chosen")
	s := newStage(t, groupCloud())
	s.admitting("all", "0.0.0.0/0")
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	foreign := map[string]any{"listener": map[string]any{"loadbalancer_id": web.tree().ID, "name": "canary", "protocol": "TCP", "protocol_port": 9000,
		"allowed_cidrs": []string{"198.51.100.7/32"}, "tags": []string{"by-hand"}}}
	if err := s.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", foreign, nil); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error {
		if status := web.tree().Status; status != "ACTIVE" {
			return errors.New("the load balancer is " + status)
		}
		return nil
	})
	web.change(annotated(groupsKey, "all")) // before the controller has seen the listener
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "SharingRefused").Message, groupsKey, "another Service or client")
	web.waitForGroups()
}

func TestSecurityGroupsOfTheVIPExcludeSourceRanges(t *testing.T) {
	simulatorOnly(t, "the API version is chosen")
	set := groupCloud()
	set.program = impatient()
	s := newStage(t, set)
	all := s.admitting("all", "0.0.0.0/0")
	web := s.service("web", tcp(8080), annotated(groupsKey, "all"))
	web.waitUntilProgrammed()
	s.resetCalls()
	web.change(openTo("198.51.100.7/32"))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message, groupsKey, "198.51.100.7/32", "spec.loadBalancerSourceRanges")

	// In place of each other they need another load balancer.
	web.change(notAnnotated(groupsKey))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message, "everybody", replaceKey)
	web.waitForGroups(all)
	for _, w := range s.writes() {
		t.Errorf("the cloud was written to: %s", w)
	}
	before := web.tree().ID
	web.change(annotated(replaceKey, "true"))
	web.waitForTree(func(have tree) error {
		if have.ID == before {
			return fmt.Errorf("load balancer %s is not replaced", have.ID)
		}
		return sources("198.51.100.7/32")(have)
	})
	web.waitUntilProgrammed()
	web.waitForGroups()
}

func TestSecurityGroupsOfAnotherClientStay(t *testing.T) {
	simulatorOnly(t, "the API version is chosen")
	s := newStage(t, groupCloud())
	all := s.admitting("all", "0.0.0.0/0")
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.stop()
	web.removeRanges("TCP/8080")
	s.eventually(func() error {
		if status := web.tree().Status; status != "ACTIVE" {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	web.setGroups(all)
	s.resetCalls()
	s.start()
	web.waitUntilProgrammed()
	for _, w := range s.writes() {
		t.Errorf("the cloud was written to: %s", w)
	}
	web.waitForGroups(all)
	web.change(openTo("198.51.100.7/32"))
	if c := web.waitForCondition(accepted, conditionFalse, "Unsupported"); !strings.Contains(c.Message, all) {
		t.Errorf("it says %s", c.Message)
	}
	web.waitForGroups(all)

	// A new port is behind the groups, too.
	web.change(func(v *corev1.Service) {
		v.Spec.LoadBalancerSourceRanges = nil
		v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{Name: "tcp-8081", Port: 8081})
	})
	web.waitUntilProgrammed()
	if sources := web.tree().listener("TCP/8081").Sources; len(sources) > 0 {
		t.Errorf("the new port admits %v", sources)
	}
	web.waitForGroups(all)
}

func TestTheOwnerOfASharedLoadBalancerDecidesAboutItsSecurityGroups(t *testing.T) {
	simulatorOnly(t, "the API version is chosen")
	set := groupCloud()
	set.flags = sweeping // shows the sharer what the owner has changed
	s := newStage(t, set)
	all := s.admitting("all", "0.0.0.0/0")
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	mail := s.service("mail", tcp(8025), annotated(idKey, web.tree().ID))
	mail.waitUntilProgrammed()
	mail.change(annotated(groupsKey, "all"))
	requireWords(t, mail.waitForCondition(accepted, conditionFalse, "SharingRefused").Message, groupsKey, "another Service")
	web.change(annotated(groupsKey, "all"))
	web.waitForGroups(all)
	web.waitUntilProgrammed()
	mail.waitForCondition(accepted, conditionTrue, "Accepted")
	mail.change(notAnnotated(groupsKey), openTo("198.51.100.7/32"))
	requireWords(t, mail.waitForCondition(accepted, conditionFalse, "SharingRefused").Message, all, "no source ranges")
	web.waitForGroups(all)
}
