// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLongStepsPrintWhatTheyWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newPrinter(&out)
		ctx, stop := context.WithCancel(t.Context())
		go p.breakSilence(ctx)
		p.step("Kubernetes")
		time.Sleep(2100 * time.Millisecond)
		p.doing("kube-apiserver starts")
		time.Sleep(1500 * time.Millisecond)
		p.note("it answers")
		time.Sleep(2600 * time.Millisecond)
		p.doing("")
		time.Sleep(time.Minute)
		stop()
		synctest.Wait()
		want := `
[  0.0s] Kubernetes
      2.0s  still: Kubernetes
      3.6s  it answers
`
		lines := strings.Split(out.String(), "\n")
		if diff := cmp.Diff(strings.Split(want, "\n")[:4], lines[:4]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := lines[4:]; len(got) != 2 || !strings.HasSuffix(got[0], "still: kube-apiserver starts") {
			t.Errorf("then it prints %q", got)
		}
	})
}

func TestCommandsAndTheirOutputAreIndented(t *testing.T) {
	var out strings.Builder
	newPrinter(&out).show("kubectl get pods", "NAME\nhello\n\n")
	if diff := cmp.Diff("    $ kubectl get pods\n    NAME\n    hello\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
