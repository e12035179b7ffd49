// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestHarmfulMonitorsAreLeftOutAndTheRestIsWanted(t *testing.T) {
	monitor := annotate(keyMonitor, "true")
	for name, c := range map[string]struct {
		in                           Input
		monitored, asFound, withheld bool
	}{
		"amphorae":              {in: input(monitor, apiVersion(26)), monitored: true},
		"ovn since 2.27":        {in: input(monitor, provider(lb.ProviderOVN), apiVersion(27)), monitored: true},
		"ovn before":            {in: input(monitor, provider(lb.ProviderOVN), apiVersion(26)), asFound: true, withheld: true},
		"ovn before, not asked": {in: input(provider(lb.ProviderOVN), apiVersion(26)), asFound: true},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := wanted.LoadBalancer.Listeners[0].Pool.Monitor != nil; got != c.monitored {
				t.Errorf("a monitor is wanted: %v, want %v", got, c.monitored)
			}
			if wanted.KeepMonitors != c.asFound {
				t.Errorf("monitors stay as found: %v, want %v", wanted.KeepMonitors, c.asFound)
			}
			if got := len(wanted.Withheld) > 0; got != c.withheld {
				t.Fatalf("withheld: %+v", wanted.Withheld)
			}
			if members := wanted.LoadBalancer.Listeners[0].Pool.Members; len(members) != 2 {
				t.Errorf("members %+v", members)
			}
			if !c.withheld {
				return
			}
			w := wanted.Withheld[0]
			if w.Reason != ReasonHealthMonitorUnsupported || !strings.Contains(w.Message, "2.27") || !strings.Contains(w.Message, "2.26") || !strings.Contains(w.Message, keyMonitor) {
				t.Errorf("withheld: %+v", w)
			}
		})
	}
}

func TestARepairForARefusedServiceCreatesNoHarmfulMonitors(t *testing.T) {
	for name, c := range map[string]struct {
		cloud change
		made  bool
	}{
		"amphorae":       {cloud: apiVersion(26), made: true},
		"ovn since 2.27": {cloud: func(in *Input) { provider(lb.ProviderOVN)(in); apiVersion(27)(in) }, made: true},
		"ovn before":     {cloud: func(in *Input) { provider(lb.ProviderOVN)(in); apiVersion(26)(in) }},
	} {
		t.Run(name, func(t *testing.T) {
			have := observed(t, input(annotate(keyMonitor, "true")))
			have.LoadBalancer.Listeners[0].Pool.ProvisioningStatus = lb.PendingCreate
			now := input(c.cloud, annotate(keyMonitor, "rubbish"))
			plan := diff.New(MembersOnly(now, have), have, now.Owner)
			made := slices.ContainsFunc(plan.Ops, func(op diff.Op) bool { return diff.Kind(op) == "CreateMonitor" })
			if made != c.made || diff.Kind(plan.Ops[0]) != "CreatePool" {
				t.Errorf("a monitor is made: %v, want %v: %v", made, c.made, plan.Ops)
			}
		})
	}
}

func TestMonitorsAreWithheldOnlyFromPortsThatHaveNone(t *testing.T) {
	two := ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 443, 30443))
	for name, c := range map[string]struct {
		change   func(*lb.LoadBalancer)
		withheld bool
	}{
		"all have one":           {change: func(*lb.LoadBalancer) {}},
		"Octavia works on pools": {change: func(l *lb.LoadBalancer) { l.Listeners[0].Pool.ProvisioningStatus = lb.PendingUpdate }},
		"one pool has none":      {change: func(l *lb.LoadBalancer) { l.Listeners[1].Pool.Monitor = nil }, withheld: true},
		"one has no pool":        {change: func(l *lb.LoadBalancer) { l.Listeners[1].Pool = nil }, withheld: true},
		"one port is not there":  {change: func(l *lb.LoadBalancer) { l.Listeners = l.Listeners[:1] }, withheld: true},
		"one port is another":    {change: func(l *lb.LoadBalancer) { l.Listeners[1].Port = 444 }, withheld: true},
		"one was left unmade": {withheld: true, change: func(l *lb.LoadBalancer) {
			l.Listeners[1].Pool.Monitor.ProvisioningStatus = lb.PendingCreate
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found := observed(t, input(two, annotate(keyMonitor, "true"))).LoadBalancer
			c.change(found)
			wanted, err := Wanted(input(two, annotate(keyMonitor, "true"), provider(lb.ProviderOVN), apiVersion(26), func(in *Input) {
				in.Found = found
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(wanted.Withheld) > 0; got != c.withheld {
				t.Errorf("withheld: %+v", wanted.Withheld)
			}
		})
	}
}
