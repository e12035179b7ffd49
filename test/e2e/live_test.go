// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// liveValues returns what each annotation is changed to, one after the other, that can be changed
// on a live load balancer; made are ids of what the test made.
func liveValues(s *stage, made map[string]string) map[string][]string {
	return map[string][]string{
		internalKey:                                {"true", "false"},
		sourcesKey:                                 {"127.0.0.0/8,10.0.0.0/8", ""},
		keepKey:                                    {"true", "false"},
		floatingIPKey:                              {made["floating IP"]},
		"kube-octavia.io/status-addresses":         {"both", "vip"},
		hostnameKey:                                {"www.example.com"},
		classKey:                                   {"live"},
		memberSubnetKey:                            {made["subnet"], s.cloud.IDs().PrivateSubnet},
		prefix + "node-selector":                   {"live=yes", ""},
		maxMembersKey:                              {"1", "0"},
		targetTypeKey:                              {"pod", "node"},
		prefix + "node-address-type":               {"ExternalIP", "InternalIP"},
		methodKey:                                  {"LEAST_CONNECTIONS", "ROUND_ROBIN"},
		limitKey:                                   {"1000", "-1"},
		prefix + "timeout-client-data":             {"60000"},
		prefix + "timeout-member-connect":          {"6000"},
		prefix + "timeout-member-data":             {"60000"},
		prefix + "timeout-tcp-inspect":             {"10"},
		monitorKey:                                 {"true"},
		prefix + "health-monitor-delay":            {"10"},
		prefix + "health-monitor-timeout":          {"4"},
		prefix + "health-monitor-max-retries":      {"2"},
		prefix + "health-monitor-max-retries-down": {"4"},
		protocolsKey:                               {"tcp-8081=HTTP,tcp-8080=TCP", "tcp-8080=TCP"}, // 8080 is the port that stays
		proxyKey:                                   {"true", "v2", "false"},
		forwardedKey:                               {"true", "false"},
		tlsKey:                                     {made["certificate"]},
		secretKey:                                  {"web-tls"},
		sniKey:                                     {made["another"]},
		hstsKey:                                    {"100", "200"},
		ownPrefix + "hsts-include-subdomains":      {"true", "false"},
		ownPrefix + "hsts-preload":                 {"true", "false"},
		groupsKey:                                  {made["group"], ""},
		metricsSourcesKey:                          {"127.0.0.0/8", "10.0.0.0/8"},
		metricsKey:                                 {fmt.Sprint(freePort(9100)), fmt.Sprint(freePort(9101))},
		prefix + "load-balancer-tags":              {"a,b", "b,c", ""},
		prefix + "listener-tags":                   {"a,b", "b,c"},
		prefix + "pool-tags":                       {"a,b", "b,c"},
		"kube-octavia.io/floating-ip-tags":         {"a,b", "b,c"},
		replaceKey:                                 {"true", "false"},
		"kube-octavia.io/drift-policy":             {"report", "repair"},
	}
}

func TestEveryAnnotationIsChangedLiveWithoutAFailureOnPortsThatStay(t *testing.T) {
	simulatorOnly(t, "a hundred changes take a real Octavia half an hour")
	s := newStage(t, settings{password: true, conf: []string{`[LoadBalancerClass "live"]`, "lb-method=SOURCE_IP"}, cloud: cloudsim.Options{APIVersion: "2.29"}})
	given := s.cloud.makeFloatingIP("")
	s.given = append(s.given, given.Address)
	made := map[string]string{
		"floating IP": given.Address,
		"certificate": s.bundle(),
		"another":     s.container(),
		"group":       s.admitting("all", "0.0.0.0/0"),
		"subnet":      s.makeSubnet(asUser, s.cloud.IDs().PrivateNetwork, s.namespace, netip.MustParsePrefix("198.18.77.0/24"), 20),
	}
	s.mayRead("web-tls")
	s.renew(time.Hour)
	for _, suffix := range []string{"a", "b"} {
		s.changeNode(suffix, func(n *corev1.Node) { n.Labels["live"] = "yes" })
	}
	web := s.service("web", tcp(8080, 8081), udp(5300))
	web.waitUntilProgrammed()
	visitor := s.visit(web.tree().VIP, 8080)
	values := liveValues(s, made)
	changes := 0
	for _, a := range annotation.Table {
		if a.Output || a.Change != "" && a.Change != annotation.AtOnce {
			continue
		}
		if len(values[a.Key]) == 0 {
			t.Errorf("annotation %s can be changed at once, and the test does not know to what", a.Key)
		}
		for _, value := range values[a.Key] {
			web.change(annotated(a.Key, value))
			web.waitUntilConverged(a.Key + "=" + value)
			changes++
		}
	}
	for _, a := range slices.Backward(annotation.Table) {
		if len(values[a.Key]) > 0 && web.now().Annotations[a.Key] != "" {
			web.change(notAnnotated(a.Key))
			web.waitUntilConverged("no " + a.Key)
			changes++
		}
	}
	t.Logf("%d changes", changes)
	s.requireNoFailedRequest(visitor)
}

// waitUntilConverged waits until nothing is left to do for the Service, as a plan made anew has it,
// and the Service says so.
func (v *service) waitUntilConverged(after string) {
	v.t.Helper()
	v.eventually(func() error {
		status, out, errs := v.run("plan", "-n", v.namespace, v.name)
		if status != 0 {
			return fmt.Errorf("after %s plan ends with %d: %s %s", after, status, out, errs)
		}
		for _, c := range v.now().Status.Conditions {
			if strings.HasPrefix(c.Type, "kube-octavia.io/") && c.Status != conditionTrue {
				return fmt.Errorf("after %s %s is %s: %s", after, c.Type, c.Status, c.Message)
			}
		}
		return nil
	})
}
