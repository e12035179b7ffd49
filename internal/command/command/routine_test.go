// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
)

func TestUnchangedRoutesAreLoggedOnlyAtAHigherLevel(t *testing.T) {
	for name, test := range map[string]struct {
		message   string
		isRoutine bool
	}{
		"a route that is kept":    {`action for Node "node-1" with CIDR "10.244.1.0/24": "keep"`, true},
		"a route that is added":   {`action for Node "node-1" with CIDR "10.244.1.0/24": "add"`, false},
		"a route was created":     {`Created route for node node-1 10.244.1.0/24 with hint 6f0c after 1.2s`, false},
		"a route that is deleted": {`route should be deleted, spec: exist: true, action: "update", Node "a", CIDR "10.244.1.0/24"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			for verbosity, shown := range map[int]bool{0: !test.isRoutine, 4: true} {
				t.Run(fmt.Sprintf("-v=%d", verbosity), func(t *testing.T) {
					var errs bytes.Buffer
					plain := (&Logging{verbosity: verbosity, format: "text"}).Logger(IO{Out: &errs, Err: &errs})
					logr.New(routineSink{plain.GetSink()}).WithName("klog").WithValues("a", 1).Info(test.message)
					if got := errs.Len() > 0; got != shown {
						t.Errorf("level %d: %q is logged: %v", verbosity, test.message, got)
					}
				})
			}
		})
	}
}
