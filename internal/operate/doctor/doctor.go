// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor checks whether cloud, cluster and configuration fit together: the diagnosis of `kube-octavia doctor`.
//
// It is pure: it turns facts into a report.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
)

// checks has all checks, in the order of the report. They are independent of each other.
var checks = []struct {
	name Check
	// about describes what the check examines.
	about string
	run   func(facts, *Result)
}{
	{Configuration, "cloud.conf", checkConfiguration},
	{Credentials, "the login: kind, expiry, roles, access rules", checkCredentials},
	{Catalogue, "the endpoints of the services that are needed", checkCatalogue},
	{Features, "the API version of Octavia, and what Services request of it", checkFeatures},
	{Providers, "providers, flavors and availability zones that are configured", checkProviders},
	{Networks, "networks and subnets of cloud.conf, and the router between them", checkNetworks},
	{Addresses, "free addresses for VIPs and floating IPs", checkAddresses},
	{Quotas, "quotas of Octavia and Neutron, compared with what is used and needed", checkQuotas},
	{SecurityGroups, "what the security groups of the nodes admit", checkSecurityGroups},
	{Clock, "the clock of this machine, compared with that of Keystone", checkClock},
	{Kubernetes, "the API, its version, and the rights of the user", checkKubernetes},
	{OtherControllers, "other controllers of the same Services", checkOtherControllers},
	{Annotations, "annotations of the Services", checkAnnotations},
	{LoadBalancers, "load balancers and conditions of the Services", checkLoadBalancers},
	{Orphans, "cloud objects that no Service uses", checkOrphans},
	{Nodes, "the servers of the Nodes, and whether these are initialized", ofNodes(CheckNodes)},
	{Routes, "the router with the routes to Pods, and these routes", ofNodes(CheckRoutes)},
}

// aboutServices are the checks that concern only controller service.
var aboutServices = []Check{
	Features, Providers, Networks, Addresses, Quotas, SecurityGroups, Annotations, LoadBalancers, Orphans,
}

// ofNodes returns a check that needs cloud.conf.
func ofNodes(check func(Facts, *Result)) func(facts, *Result) {
	return func(f facts, r *Result) {
		if _, ok := f.configured(r); ok {
			check(f.Facts, r)
		}
	}
}

// facts are the facts, with methods that several checks use.
type facts struct{ Facts }

// services adapts Services with the settings of the controller.
func (f facts) services() service.Kind {
	return service.Kind{Policy: f.Policy, Config: f.Config.Value.LoadBalancer}
}

// Names returns the names of all checks, in the order of the report.
func Names() []Check {
	var all []Check
	for _, c := range checks {
		all = append(all, c.name)
	}
	return all
}

// AllNames returns the names of all checks as a text, separated by commas.
func AllNames() string { return joined(Names()) }

// ParseChecks parses names of checks that are separated by commas; an empty text means all. The error names the unknown
// one.
func ParseChecks(text string) ([]Check, error) {
	if strings.TrimSpace(text) == "" {
		return Names(), nil
	}
	var chosen []Check
	for name := range strings.SplitSeq(text, ",") {
		c := Check(strings.TrimSpace(name))
		if !slices.Contains(Names(), c) {
			return nil, fmt.Errorf("must be names of checks, separated by commas: %q is not one of %s", c, AllNames())
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// Diagnose runs the checks on the facts.
func Diagnose(all Facts, chosen []Check) Report {
	f := facts{all}
	report := Report{Checks: []Result{}, Counts: map[Status]int{OK: 0, Warning: 0, Error: 0, Unknown: 0, Skipped: 0}}
	for _, c := range checks {
		if !slices.Contains(chosen, c.name) {
			continue
		}
		r := Result{Check: c.name, LookedAt: c.about, Seen: []string{}, Findings: []Finding{}}
		if !f.Controllers.Service && slices.Contains(aboutServices, c.name) {
			r.Skip("--controllers has no service")
		} else {
			c.run(f, &r)
		}
		r.Conclude()
		report.Checks = append(report.Checks, r)
		report.Counts[r.Status]++
	}
	return report
}

// joined returns names as "a, b and c" without the "and".
func joined[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
