// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlaceholdersAreReplaced(t *testing.T) {
	c, err := Parse("/bin/occm  --kubeconfig={kubeconfig} --cloud-config {cloudconfig} --cluster-name={cluster}")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bin/occm", "--kubeconfig=/k", "--cloud-config", "/c", "--cluster-name=one", "-v=4"}
	if diff := cmp.Diff(want, c.With("-v=4").fill(Values{Kubeconfig: "/k", CloudConfig: "/c", Cluster: "one"})); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsThatCannotWorkAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":                  {"", "is empty"},
		"no cloud configuration": {"occm {kubeconfig}", "does not contain {cloudconfig}"},
		"no kubeconfig":          {"occm {cloudconfig}", "does not contain {kubeconfig}"},
		"unknown placeholder":    {"{kubeconfig} {cloudconfig} {name}", "unknown placeholder"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestUsageOfAProcess(t *testing.T) {
	stat := "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 8 0 100 1000 10"
	if got := parseCPU(stat); got != 1750*time.Millisecond {
		t.Errorf("CPU time %v", got)
	}
	if got := parseMemory("Name:\tx\nVmRSS:\t   50000 kB\n"); got != 51.2 {
		t.Errorf("memory %v", got)
	}
	if parseCPU("") != 0 || parseMemory("") != 0 {
		t.Error("something of nothing")
	}
}

func TestEndedControllerIsReportedWithItsLog(t *testing.T) {
	p, err := Start(Command{"sh", "-c", "echo the reason; exit 3"}, Values{}, filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	for name, err := range map[string]error{
		"check": p.CheckAlive(),
		"stop":  p.Stop(),
		"kill":  p.Kill(),
	} {
		t.Run(name, func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the reason") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestControllerIsStoppedAndKilled(t *testing.T) {
	for name, end := range map[string]func(*Process) error{"stop": (*Process).Stop, "kill": (*Process).Kill} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(Command{"sleep", "600"}, Values{}, filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckAlive(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat("/proc/self/stat"); err == nil && p.Memory() <= 0 {
				t.Error("no memory")
			}
			if err := end(p); err != nil {
				t.Error(err)
			}
		})
	}
}
