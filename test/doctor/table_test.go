// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

var (
	update   = flag.Bool("update", false, "write testdata/advice.md instead of comparing it")
	stateDir = flag.String("openstack", "", "run on the real OpenStack with its state in this directory")
)

// situation is one mistake in a correct setup, and the expected finding of doctor.
type situation struct {
	name string
	// simulator is whether the situation is impossible on a real cloud.
	simulator bool
	// arise makes the mistake.
	arise func(*setup)
	check doctor.Check
	// status is that of the check, and of the finding.
	status doctor.Status
	// what is a part of what was found, and do a part of what to do. lie is advice that would be wrong, and must not be
	// in any finding.
	what, do, lie string
	// also are other checks that it concerns.
	also []doctor.Check
}

// chapters are the situations by subject, in the order of the table.
var chapters = []struct {
	title string
	all   []situation
	// kubernetes says that the mistakes are not in the cloud, nor in the way to it.
	kubernetes bool
}{
	{title: "cloud.conf", all: inCloudConf},
	{title: "The login", all: ofTheLogin},
	{title: "The way to Keystone", all: onTheWayToKeystone},
	{title: "Services of OpenStack", all: ofServicesOfOpenStack},
	{title: "Networks, quotas and security groups", all: ofNetworks},
	{title: "The way to Kubernetes", all: onTheWayToKubernetes, kubernetes: true},
	{title: "Rights and other controllers in Kubernetes", all: inKubernetes, kubernetes: true},
	{title: "Services and their load balancers", all: ofLoadBalancers},
	{title: "Nodes and routes", all: ofNodes},
	{title: "Mistakes of writing, and what ends", all: ofMistakes},
	{title: "Without --cloud-config", all: ofTheController, kubernetes: true},
}

// The table has at least as many rows as this.
const rows = 60

func TestCorrectSetupHasNoFindings(t *testing.T) {
	if *stateDir != "" {
		t.Skip("on a real cloud, TestOnARealCloud does the same")
	}
	requireRight(t, newSetup(t, simulated(t)).examine())
}

// requireRight requires that nothing was found.
func requireRight(t *testing.T, report doctor.Report) {
	t.Helper()
	for _, r := range report.Checks {
		if r.Status != doctor.OK && r.Status != doctor.Skipped || r.Status == doctor.Skipped && r.Check != doctor.Nodes && r.Check != doctor.Routes {
			t.Errorf("check %s is %s: %s %+v", r.Check, r.Status, r.SkippedBecause, r.Findings)
		}
	}
}

// TestOnARealCloud makes the situations in one project of a real cloud, one after the other. Between them, the setup
// must be a right one again: the last one is.
func TestOnARealCloud(t *testing.T) {
	if *stateDir == "" {
		t.Skip("without -openstack")
	}
	cloud := openReal(t, *stateDir)
	right := func(t *testing.T) { requireRight(t, newSetup(t, cloud).examine()) }
	t.Run("A right setup", right)
	for _, chapter := range chapters {
		for _, one := range chapter.all {
			t.Run(one.name, func(t *testing.T) {
				if one.simulator {
					t.Skip("no real cloud can be brought into this situation")
				}
				if chapter.kubernetes && testing.Short() {
					t.Skip("the mistake is in Kubernetes, and doctor finds it on the simulator, too")
				}
				s := newSetup(t, cloud)
				one.arise(s)
				report := s.examine()
				one.requireIn(t, report)
				t.Log(s.told(report))
			})
		}
	}
	t.Run("A right setup in the end", right)
}

func TestAdviceForEachSituation(t *testing.T) {
	if *stateDir != "" {
		t.Skip("on a real cloud, TestOnARealCloud does the same")
	}
	var table strings.Builder
	table.WriteString("# What doctor says\n\nA test reproduces each situation, and writes this file with `go test ./test/doctor -update`.\n")
	n := 0
	for _, chapter := range chapters {
		fmt.Fprintf(&table, "\n## %s\n", chapter.title)
		for _, one := range chapter.all {
			n++
			t.Run(one.name, func(t *testing.T) {
				s := newSetup(t, simulated(t))
				one.arise(s)
				report := s.examine()
				one.requireIn(t, report)
				fmt.Fprintf(&table, "\n### %s\n\n%s", one.name, s.told(report))
			})
		}
	}
	if n < rows {
		t.Errorf("%d situations, and at least %d are wanted", n, rows)
	}
	if !t.Failed() && allRan() {
		compare(t, table.String())
	}
}

// allRan reports whether no situation was left out by -run.
func allRan() bool {
	chosen := flag.Lookup("test.run").Value.String()
	return !strings.Contains(chosen, "/") && flag.Lookup("test.skip").Value.String() == ""
}

// requireIn requires that the report says what it should, and nothing else.
func (one situation) requireIn(t *testing.T, report doctor.Report) {
	t.Helper()
	for _, r := range report.Checks {
		for _, f := range r.Findings {
			if f.What == "" || f.Why == "" || f.Do == "" {
				t.Errorf("check %s: a finding without what, why or do: %+v", r.Check, f)
			}
			if one.lie != "" && strings.Contains(f.Do, one.lie) {
				t.Errorf("check %s advises what does not help: %+v", r.Check, f)
			}
		}
		if r.Check != one.check {
			if r.Status != doctor.OK && r.Status != doctor.Skipped && !slices.Contains(one.also, r.Check) {
				t.Errorf("check %s is %s: %+v", r.Check, r.Status, r.Findings)
			}
			continue
		}
		said := slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
			return f.Status == one.status && strings.Contains(f.What, one.what) && strings.Contains(f.Do, one.do)
		})
		if r.Status != one.status || !said {
			t.Errorf("check %s is %s, and nothing says %q and to do %q: %+v", r.Check, r.Status, one.what, one.do, r.Findings)
		}
	}
}

// told returns the findings as text, without parts that differ from run to run.
func (s *setup) told(report doctor.Report) string {
	var b strings.Builder
	for _, r := range report.Checks {
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "- %s, %s: %s\n  - Why: %s\n  - Do: %s\n", r.Check, f.Status, f.What, f.Why, f.Do)
		}
	}
	return s.constant(b.String())
}

// variable has the patterns of texts that differ from run to run, and their replacements.
var variable = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(` \(request [^)]*\)`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]+`), "HOST:PORT"},
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`), "TIME"},
	{regexp.MustCompile(`\b3[0-2][0-9]{3}\b`), "NODEPORT"},
	{regexp.MustCompile(`doctor-ID`), "NAME"},
	{regexp.MustCompile(`read tcp HOST:PORT->HOST:PORT`), "read tcp"},
	{regexp.MustCompile(`lookup ([a-z.-]+) on [^ ]*`), "lookup $1"},
	{regexp.MustCompile(`for \d+h\d+m\d+s`), "for HOURS"},
	{regexp.MustCompile(`(\d+h)?(\d+m)?\d+s (ahead|behind|ago)`), "SECONDS $3"},
	{regexp.MustCompile(`current time TIME is (after|before)`), "current time is $1"},
}

// constant replaces what differs from run to run.
func (s *setup) constant(text string) string {
	text = strings.ReplaceAll(text, filepath.Dir(s.confPath), "DIR")
	text = strings.ReplaceAll(text, "30000:32767", "FIRST:LAST")
	text = strings.ReplaceAll(text, "30000-32767", "FIRST-LAST")
	for _, v := range variable {
		text = v.is.ReplaceAllString(text, v.as)
	}
	text = strings.ReplaceAll(text, "FIRST:LAST", "30000:32767")
	return strings.ReplaceAll(text, "FIRST-LAST", "30000-32767")
}

func compare(t *testing.T, table string) {
	t.Helper()
	const path = "testdata/advice.md"
	if *update {
		if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), table); diff != "" {
		t.Errorf("%s differs; look at it, and write it with -update (-want +got):\n%s", path, diff)
	}
}
