// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e_test runs the controller as a user does, against a real
// Kubernetes API (with the real endpointslice controllers), an OpenStack, and
// nodes whose NodePorts answer.
//
// The OpenStack is a parameter. Usually it is a simulated one, over HTTP, whose
// load balancers really forward. With -openstack=DIR it is the real one that was
// brought up with its state in DIR, and the controller's calls go through a proxy
// of the test's that counts and disturbs them. With amphorae, which are noop there, no packets
// flow, and the API must show where they would go; see noop_test.go. What a real cloud cannot do,
// the test says at its start: see simulatorOnly, onlyWithProvider and needsPackets. With -short a
// real cloud is spared some tests that do not depend on it: see skipOnRealOpenStack.
//
// Each test has a stage of its own: a namespace, a cloud, nodes and a
// controller; see stage. The controller is the ServiceAccount of deploy/, with its
// roles. What a test leaves in the cloud after its Services are deleted makes it
// fail, and so does a secret in a log, and a right that the roles lack. Nodes are seen
// by every controller of the cluster, so the tests of a process run one after the
// other. The whole suite runs in five processes, each with a cluster; see -shards.
//
// On the simulator a port that a test names, 8080, is not the port of the Service, which is one
// that no program of the machine has; see portOffset.
//
// TestServiceSurvivesAControllerThatIsKilled kills the controller at random
// moments, three times by default; -kill-rounds=20 does so more often.
//
// The words of its methods: waitFor... and waitUntil... wait on a condition, and fail the
// test when it does not come; require... fail the test at once; check... return an error, for
// eventually; nouns read; other verbs act.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// killRounds is how often the controller is killed in the test of that.
var killRounds = flag.Int("kill-rounds", 3, "how often the controller is killed at a random moment")

// stateDir is where a real OpenStack was brought up; empty means a simulated one.
var stateDir = flag.String("openstack", "", "run on the real OpenStack with its state in this directory")

// showLogs is whether the logs of tests that pass are shown, too.
var showLogs = flag.Bool("logs", false, "show the logs of the controllers also of tests that pass")

func TestMain(m *testing.M) {
	flag.Parse()
	if sharded() {
		os.Exit(runShards())
	}
	if err := chooseFreePorts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// A command's first run sets the logger of Kubernetes' libraries, which must not
	// happen while another goroutine logs. This run ends at once, because the file is missing.
	cli.Run(context.Background(), []string{"controller", "--cloud-config=" + os.DevNull + "/missing"}, cli.IO{Out: io.Discard, Err: io.Discard}, cli.Options{Version: "test"})
	options := kube.Options{Audited: []string{deploy.User}, AdvertiseAddress: apiServer}
	if *stateDir != "" {
		options.AdvertiseAddress = "" // so that only API servers that can be reached are endpoints of default/kubernetes
	}
	kubetest.MainWith(m, options, kubetest.IgnoreStoppedQueue())
}
