// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"testing"

	"github.com/go-logr/logr"
)

func TestThatNothingChangesIsLoggedOnlyAtAHigherLevel(t *testing.T) {
	for message, isRoutine := range map[string]bool{
		`action for Node "node-1" with CIDR "10.244.1.0/24": "keep"`:                                   true,
		`action for Node "node-1" with CIDR "10.244.1.0/24": "add"`:                                    false,
		`Created route for node node-1 10.244.1.0/24 with hint 6f0c after 1.2s`:                        false,
		`route should be deleted, spec: exist: true, action: "update", Node "a", CIDR "10.244.1.0/24"`: false,
	} {
		for verbosity, shown := range map[int]bool{0: !isRoutine, 4: true} {
			var errs bytes.Buffer
			plain := (&Logging{verbosity: verbosity, format: "text"}).Logger(IO{Out: &errs, Err: &errs})
			logr.New(routineSink{plain.GetSink()}).WithName("klog").WithValues("a", 1).Info(message)
			if got := errs.Len() > 0; got != shown {
				t.Errorf("level %d: %q is logged: %v", verbosity, message, got)
			}
		}
	}
}
