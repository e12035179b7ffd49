// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrong is a mistake in a setup, and the expected diagnosis.
type wrong struct {
	mistake func(*Facts)
	check   Check
	status  Status
	// what is a part of the finding, and do a part of the advice.
	what, do string
	// why is a part of the reason why it matters.
	why string
	// also are other checks that it affects.
	also []Check
}

// requireDiagnosis makes the mistake in a healthy setup.
func (w wrong) requireDiagnosis(t *testing.T) {
	t.Helper()
	f := healthy(t)
	w.mistake(&f)
	report := Diagnose(f, Names())
	for _, r := range report.Checks {
		if r.Check != w.check {
			if r.Status != OK && !concerns(w.also, r.Check) {
				t.Errorf("check %s is %s: %+v", r.Check, r.Status, r.Findings)
			}
			continue
		}
		if r.Status != w.status {
			t.Errorf("status %s, not %s: seen %q, findings %+v", r.Status, w.status, r.Seen, r.Findings)
		}
		found := len(r.Findings) == 0 && w.what == ""
		for _, finding := range r.Findings {
			found = found || finding.Status == w.status && strings.Contains(finding.What, w.what) && strings.Contains(finding.Do, w.do) && strings.Contains(finding.Why, w.why) && finding.Why != "" && finding.Do != ""
		}
		if !found && !(w.status == Skipped && strings.Contains(r.SkippedBecause, w.what)) {
			t.Errorf("nothing says %q and to do %q: %+v", w.what, w.do, r.Findings)
		}
	}
}

func concerns(all []Check, c Check) bool {
	for _, one := range all {
		if one == c {
			return true
		}
	}
	return false
}

func requireDiagnoses(t *testing.T, cases map[string]wrong) {
	t.Helper()
	for name, w := range cases {
		t.Run(name, w.requireDiagnosis)
	}
}

func TestCorrectSetupIsOK(t *testing.T) {
	report := Diagnose(healthy(t), Names())
	for _, r := range report.Checks {
		if r.Status != OK || len(r.Seen) == 0 {
			t.Errorf("check %s: %s, seen %q, findings %+v", r.Check, r.Status, r.Seen, r.Findings)
		}
	}
	if want := map[Status]int{OK: 17, Warning: 0, Error: 0, Unknown: 0, Skipped: 0}; !cmp.Equal(want, report.Counts) || report.Failed() {
		t.Errorf("counts: %v", report.Counts)
	}
}

func TestOnlyChosenChecksAreShown(t *testing.T) {
	chosen, err := ParseChecks("clock, quotas")
	if err != nil {
		t.Fatal(err)
	}
	var got []Check
	for _, r := range Diagnose(healthy(t), chosen).Checks {
		got = append(got, r.Check)
	}
	if diff := cmp.Diff([]Check{Quotas, Clock}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ParseChecks("clocks"); err == nil || !strings.Contains(err.Error(), `"clocks" is not one of configuration, credentials`) {
		t.Errorf("an unknown check: %v", err)
	}
}

// Without anything to ask, no check fails: each says why it was skipped.
func TestChecksWithoutACloudOrAClusterAreSkippedOrSayWhy(t *testing.T) {
	none := Missing{Kind: NotAsked, Reason: "no login"}
	f := healthy(t)
	f.Cloud, f.Cluster = Cloud{}, Cluster{}
	for _, m := range []*Missing{
		&f.Cloud.APIVersion.Missing, &f.Cloud.Orphans.Missing, &f.Cloud.Octavia.Providers.Missing, &f.Cloud.Octavia.Quota.Missing,
		&f.Cloud.Octavia.Balancers.Missing, &f.Cloud.Network.Networks.Missing, &f.Cloud.Network.Subnets.Missing, &f.Cloud.Network.Ports.Missing,
		&f.Cloud.Network.Quota.Missing, &f.Cloud.Network.Groups.Missing, &f.Cluster.Version.Missing, &f.Cluster.Services.Missing, &f.Cluster.Nodes.Missing,
		&f.Cloud.Octavia.Flavors.Missing, &f.Cloud.Octavia.Zones.Missing, &f.Cloud.Servers.Missing, &f.Cloud.Network.PodRouter.Missing,
	} {
		*m = none
	}
	f.Cloud.Login.Missing = Missing{Kind: Failed, Reason: "authenticate at https://keystone: nothing listens there"}
	got := map[Check]Status{}
	for _, r := range Diagnose(f, Names()).Checks {
		got[r.Check] = r.Status
	}
	want := map[Check]Status{Configuration: OK, Credentials: Error, Catalogue: Skipped, Features: Skipped, Providers: Skipped, Networks: Skipped, Addresses: Skipped,
		Quotas: Skipped, SecurityGroups: Skipped, Clock: Skipped, Kubernetes: Skipped, OtherControllers: Skipped, Annotations: Skipped, LoadBalancers: Skipped, Orphans: Skipped,
		Nodes: Skipped, Routes: Skipped}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Config.Missing = Missing{Kind: Failed, Reason: "cloud.conf:3: unknown key\ncloud.conf:4: another one"}
	f.ConfigProblems = []Problem{{What: "cloud.conf:3: unknown key", Do: "Correct it."}, {What: "cloud.conf:4: another one", Do: "Correct it, too."}}
	r := Diagnose(f, []Check{Configuration}).Checks[0]
	if len(r.Findings) != 2 || r.Status != Error || r.Findings[1].What != "cloud.conf:4: another one" {
		t.Errorf("a broken cloud.conf: %+v", r)
	}
}

func TestTextHasALineForEachCheckAndFits100Columns(t *testing.T) {
	f := healthy(t)
	f.Cloud.Octavia.Providers.Value = []string{"ovn"}
	var out, all strings.Builder
	report := Diagnose(f, []Check{Providers, Clock})
	if err := report.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"ERROR  providers          providers, flavors and availability zones that are configured\n" +
		"       ERROR: [LoadBalancer] lb-provider is amphora, but the providers of the cloud are ovn\n" +
		"         Why: Octavia rejects new load balancers of this provider.\n" +
		"         Do: Set the key to one of them: `openstack loadbalancer provider list`.\n" +
		"ok     clock              the clocks of this machine and Keystone differ by less than 30s\n" +
		"\n2 checks: 1 ok, 0 with warnings, 1 with errors, 0 unknown, 0 skipped\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Diagnose(f, Names()).Print(&all, true); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(all.String()) {
		if len(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("too long: %s", line)
		}
	}
	if !strings.Contains(all.String(), "Seen: the clocks") || !strings.Contains(all.String(), "Looked at: quotas") {
		t.Errorf("--all does not show what was seen:\n%s", all.String())
	}
}

func TestChecksOfControllersThatAreSwitchedOffAreSkipped(t *testing.T) {
	ofNodes := []Check{Nodes, Routes}
	for name, test := range map[string]struct {
		controllers Controllers
		skipped     []Check
	}{
		"only Services": {Controllers{Service: true}, ofNodes},
		"only Nodes":    {Controllers{Node: true}, append(slices.Clone(aboutServices), Routes)},
		"only routes":   {Controllers{Route: true}, append(slices.Clone(aboutServices), Nodes)},
		"lifecycle":     {Controllers{NodeLifecycle: true, Service: true}, []Check{Routes}},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(t)
			test.controllers.ClusterCIDRs = f.Controllers.ClusterCIDRs
			f.Controllers = test.controllers
			f.Config.Value.LoadBalancer.Enabled = test.controllers.Service
			for _, r := range Diagnose(f, Names()).Checks {
				want := OK
				if slices.Contains(test.skipped, r.Check) {
					want = Skipped
				}
				if r.Status != want {
					t.Errorf("check %s is %s, not %s: %+v", r.Check, r.Status, want, r.Findings)
				}
				if r.Status == Skipped && !strings.Contains(r.SkippedBecause, "--controllers") {
					t.Errorf("check %s is skipped because %q", r.Check, r.SkippedBecause)
				}
			}
		})
	}
}
