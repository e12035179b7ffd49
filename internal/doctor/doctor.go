// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor checks whether cloud, cluster and configuration fit together: the diagnosis of `kube-octavia doctor`.
//
// It is pure: facts in, a report out. It may import annotation, build, claim, config, lb, orphan (its objects), status and
// target.
package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Check is the name of a check.
type Check string

// The checks.
const (
	Configuration    Check = "configuration"
	Credentials      Check = "credentials"
	Catalogue        Check = "catalogue"
	Features         Check = "features"
	Providers        Check = "providers"
	Networks         Check = "networks"
	Addresses        Check = "addresses"
	Quotas           Check = "quotas"
	SecurityGroups   Check = "security-groups"
	Clock            Check = "clock"
	Kubernetes       Check = "kubernetes"
	OtherControllers Check = "other-controllers"
	LoadBalancers    Check = "load-balancers"
	Orphans          Check = "orphans"
)

// checks are all checks, in the order of the report. Each looks at the facts on its own.
var checks = []struct {
	name Check
	// about says what the check looks at.
	about string
	run   func(Facts, *Result)
}{
	{Configuration, "cloud.conf", checkConfiguration},
	{Credentials, "the login of cloud.conf: kind, expiry, roles, access rules", checkCredentials},
	{Catalogue, "the endpoints of load-balancer, network and key-manager", checkCatalogue},
	{Features, "the API version of Octavia, and what Services request of it", checkFeatures},
	{Providers, "providers, flavors and availability zones that are configured", checkProviders},
	{Networks, "networks and subnets of cloud.conf, and the router between them", checkNetworks},
	{Addresses, "free addresses for VIPs and floating IPs", checkAddresses},
	{Quotas, "quotas of Octavia and Neutron, against what is used and needed", checkQuotas},
	{SecurityGroups, "what the security groups of the nodes let in", checkSecurityGroups},
	{Clock, "the clock of this machine against that of Keystone", checkClock},
	{Kubernetes, "the API, its version, and the rights of the user", checkKubernetes},
	{OtherControllers, "other controllers of the same Services", checkOtherControllers},
	{LoadBalancers, "load balancers and conditions of the Services", checkLoadBalancers},
	{Orphans, "cloud objects that no Service uses", checkOrphans},
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
			return nil, fmt.Errorf("must be names of checks, separated by commas: %q is none of %s", c, AllNames())
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// Diagnose runs the checks on the facts.
func Diagnose(f Facts, chosen []Check) Report {
	report := Report{Checks: []Result{}, Counts: map[Status]int{OK: 0, Warning: 0, Error: 0, Unknown: 0, Skipped: 0}}
	for _, c := range checks {
		if !slices.Contains(chosen, c.name) {
			continue
		}
		r := Result{Check: c.name, LookedAt: c.about, Seen: []string{}, Findings: []Finding{}}
		c.run(f, &r)
		r.Status = r.status()
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
