// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/kube"
)

func TestFlags(t *testing.T) {
	f, err := parse([]string{"-services=5,10", "-profile=ovn", "-time-scale=0.5", "create", "join"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.services) != 2 || f.services[1] != 10 || len(f.scenarios) != 2 || f.profile.Create != 250*time.Millisecond || f.options.Seed == 0 {
		t.Errorf("%+v", f)
	}
}

func TestWrongFlagsAreExplained(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-services=0"}, `"0" is no number above 0`},
		{[]string{"-ports=0"}, "-ports 0: must be 1 or more"},
		{[]string{"-cloud=aws"}, `-cloud "aws": use sim or openstack`},
		{[]string{"-profile=slow"}, `unknown profile "slow"`},
		{[]string{"-tail=pareto"}, `"pareto" is no tail`},
		{[]string{"-format=csv"}, `-format "csv": use text or markdown`},
		{[]string{"-plots=x"}, "-plots needs -out"},
		{[]string{"creat"}, `unknown scenario "creat"`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			_, err := parse(test.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: %v, want an error with %q", test.args, err, test.want)
			}
		})
	}
}

// TestSmallRun measures one Service of the controller of this tree from end to end.
func TestSmallRun(t *testing.T) {
	if _, err := kube.AssetsDir(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.json")
	args := []string{"-services=1", "-ports=2", "-profile=instant", "-out=" + out, "create", "delete"}
	f, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := measure(context.Background(), f, args); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var d report.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 2 {
		t.Fatalf("%d rows: %s", len(d.Rows), text)
	}
	for _, row := range d.Rows {
		// The load balancer and the floating IP.
		if row.Failure != "" || row.Writes != 2 || row.LimitWrites != 2 || row.Calls < row.Writes || row.Seconds <= 0 || row.Times == nil {
			t.Errorf("row %+v", row)
		}
	}
}
