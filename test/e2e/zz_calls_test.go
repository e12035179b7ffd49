// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// notSeenHere are the calls of the table that no end-to-end test makes, and why.
var notSeenHere = map[string]string{
	"GET /v3/OS-TRUST/trusts/* of identity":  "package openstack tests it",
	"GET /v2.0/subnets/* of network":         "Octavia makes it, which the simulator does without HTTP",
	"GET /v2.0/networks/* of network":        "Octavia makes it, which the simulator does without HTTP",
	"GET /v2.0/ports/* of network":           "Octavia makes it, which the simulator does without HTTP",
	"GET /v2.0/security-groups/* of network": "Octavia makes it for the security groups of a VIP, which the simulator does without HTTP",

	"GET /v1/secrets/*/acl of key-manager":    "Octavia makes it, which the simulator does without HTTP",
	"PUT /v1/secrets/*/acl of key-manager":    "Octavia makes it, which the simulator does without HTTP",
	"GET /v1/containers/*/acl of key-manager": "Octavia makes it, which the simulator does without HTTP",
	"PUT /v1/containers/*/acl of key-manager": "Octavia makes it, which the simulator does without HTTP",
}

// lastTest looks at all that the others did, so it is run after them.
const lastTest = "TestEveryCallOfTheTableIsMade"

// made are the calls that commands of this process have made, in all tests.
var made = struct {
	sync.Mutex
	operations map[wire.Operation]bool
}{operations: map[wire.Operation]bool{}}

// requireOnlyListedCalls fails the test if a call was made that is not in the table of
// calls. An application credential would not be allowed to make it.
func (s *stage) requireOnlyListedCalls() {
	s.t.Helper()
	made.Lock()
	defer made.Unlock()
	operations := s.cloud.Recorder().Operations()
	if err := leave(operations); err != nil {
		s.t.Error(err)
	}
	for _, o := range operations {
		made.operations[o] = true
		if tableOf(o) == "" {
			s.t.Errorf("%s %s of service %s was called, and is not in the table of internal/cloud/calls: add it there, with what it is for",
				o.Method, o.Route, o.Service)
		}
	}
}

// leave adds the operations to the file of calls if this is one of several processes
// that run the suite. They write at once, each its own line.
func leave(operations []wire.Operation) error {
	if *callsFile == "" {
		return nil
	}
	file, err := os.OpenFile(*callsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(operations), file.Close())
}

// left returns the operations in the file of calls; none if this is the only process.
func left() ([]wire.Operation, error) {
	if *callsFile == "" {
		return nil, nil
	}
	file, err := os.Open(*callsFile)
	if err != nil {
		return nil, fmt.Errorf("no process has told which calls it made: %w", err)
	}
	defer file.Close()
	var all []wire.Operation
	for lines := json.NewDecoder(file); ; {
		var operations []wire.Operation
		if err := lines.Decode(&operations); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the calls of all processes: %w", err)
		}
		all = append(all, operations...)
	}
}

// tableOf returns the entry of the table that the operation belongs to. It is "token" for
// operations that are in no table because every user may make them.
func tableOf(o wire.Operation) string {
	if o.Service == cloudsim.Identity && strings.HasSuffix(o.Route, "/v3/auth/tokens") && (o.Method == http.MethodPost || o.Method == http.MethodGet) {
		return "token"
	}
	if call, found := calls.Find(o.Service, o.Method, strings.TrimSuffix(o.Route, "{$}")); found {
		return call.String()
	}
	return ""
}

// TestEveryCallOfTheTableIsMade is the last one. It fails for entries that are in
// the table for no reason: an application credential would be allowed too much.
func TestEveryCallOfTheTableIsMade(t *testing.T) {
	simulatorOnly(t, "a real cloud is spared some tests")
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); *callsFile == "" && f != nil && f.Value.String() != "" {
			t.Skipf("-%s leaves out tests that make calls", name)
		}
	}
	ofOthers, err := left()
	if err != nil {
		t.Fatal(err)
	}
	made.Lock()
	defer made.Unlock()
	seen := map[string]bool{}
	for _, o := range slices.AppendSeq(ofOthers, maps.Keys(made.operations)) {
		seen[tableOf(o)] = true
	}
	var idle []string
	for _, call := range calls.All() {
		_, excused := notSeenHere[call.String()]
		switch {
		case seen[call.String()] && excused:
			t.Errorf("%s is made by now; take it off the list of those that are not", call)
		case !seen[call.String()] && !excused:
			idle = append(idle, call.String())
		}
	}
	slices.Sort(idle)
	if len(idle) > 0 {
		t.Errorf("no test makes these calls of the table in internal/cloud/calls; test them, or take them out:\n%s", strings.Join(idle, "\n"))
	}
}
