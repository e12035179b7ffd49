// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube-octavia/kube-octavia/test/netns"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// amphora is a real OpenStack with noop amphorae, in which the test runs HAProxy as an amphora
// would: with the configuration that Octavia generates from the requests to its API. HAProxy,
// nodes, Pods and clients share a network namespace in which every address is local. Floating IPs
// lead nowhere: clients use the VIP.
type amphora struct {
	*real
	namespace, dir string
	haproxy        *exec.Cmd
	ended          chan struct{}
}

// withAmphora adds HAProxy to the cloud of the test if that is a real one.
func withAmphora(t *testing.T, c *cloud) {
	t.Helper()
	of, isReal := c.backend.(*real)
	if !isReal {
		return
	}
	needsProgram(t, "haproxy")
	dir, err := os.MkdirTemp("", "ko-") // the path of a socket may have only 97 characters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	a := &amphora{real: of, namespace: fmt.Sprintf("ko-amphora-%d", os.Getpid()), dir: dir}
	a.ip("netns add " + a.namespace)
	t.Cleanup(func() { a.ip("netns delete " + a.namespace) })
	a.ip("-n " + a.namespace + " link set lo up")
	a.ip("-n " + a.namespace + " route add local 0.0.0.0/0 dev lo")
	t.Cleanup(a.end)
	c.backend = a
}

// ip runs the command `ip` of the system with these arguments, which are separated by blanks.
func (a *amphora) ip(args string) {
	a.t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		a.t.Fatalf("ip %s: %v\n%s", args, err, out)
	}
}

// packets reports true: HAProxy carries them.
func (a *amphora) packets() bool { return true }

// podNetwork is the namespace of the amphora, in which the nodes are, too.
func (a *amphora) podNetwork() string { return a.namespace }

// outside is the same client as internet: there is only one namespace.
func (a *amphora) outside() client { return a.internet() }

// inside is the same client as internet: there is only one namespace.
func (a *amphora) inside() client { return a.internet() }

// internet is a client with an address that is in no subnet of the cloud.
func (a *amphora) internet() client {
	return client{namespace: a.namespace, address: "198.51.100.7"}
}

// server returns a node in the namespace.
func (a *amphora) server(name string) (node.Node, error) {
	nd, err := a.real.server(name)
	nd.Unserved, nd.Namespace = false, a.namespace
	return nd, err
}

// serve makes HAProxy serve the load balancer as it is now. An earlier HAProxy finishes its
// connections, as in an amphora.
func (a *amphora) serve(loadBalancerID, vip, port string) {
	a.t.Helper()
	// An amphora has the VIP as its address. Another one for the same destinations takes it from there.
	a.ip("-n " + a.namespace + " address replace " + vip + "/32 dev lo")
	a.ip("-n " + a.namespace + " route replace local 10.0.0.0/24 dev lo src " + vip)
	config := filepath.Join(a.dir, "haproxy.cfg")
	made := a.configuration(loadBalancerID)
	a.t.Logf("HAProxy's configuration, made by Octavia:\n%s", made.Configuration)
	a.write(config, made.Configuration)
	for path, text := range made.Files {
		a.write(path, text)
	}
	// -db: in the foreground, although the configuration says daemon. -n: a machine may not allow as many
	// files as Octavia's connections need.
	args := []string{"-db", "-n", "1000", "-f", config, "-L", "amphora"}
	if a.haproxy != nil {
		args = append(args, "-sf", fmt.Sprint(a.haproxy.Process.Pid))
	}
	command := exec.Command(program("haproxy"), args...)
	output := &log{}
	command.Stdout, command.Stderr = output, output
	if err := netns.In(a.namespace, command.Start); err != nil {
		a.t.Fatal(err)
	}
	before := a.ended
	a.haproxy, a.ended = command, make(chan struct{})
	go func(ended chan struct{}) {
		defer close(ended)
		_ = command.Wait() // what it said is in the output
	}(a.ended)
	if before != nil {
		<-before
	}
	if err := a.internet().waitUntilAccepted(net.JoinHostPort(vip, port), a.ended); err != nil {
		a.t.Fatalf("HAProxy does not serve: %v\n%s", err, output)
	}
}

// write writes a file that only the user of the test can read, and makes its directory.
func (a *amphora) write(path, text string) {
	a.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// waitForChecks waits until HAProxy has checked all members with this result: L4OK is a connection, L7OK a good answer.
func (a *amphora) waitForChecks(s *stage, loadBalancerID, result string) {
	a.t.Helper()
	s.eventually(func() error {
		results, err := a.checks(loadBalancerID)
		if err != nil {
			return err
		}
		for member, have := range results {
			if have != result {
				return fmt.Errorf("HAProxy has checked member %s with the result %q, not %s", member, have, result)
			}
		}
		if len(results) == 0 {
			return errors.New("HAProxy checks no member")
		}
		return nil
	})
}

// checks returns the results of HAProxy's checks, by member.
func (a *amphora) checks(loadBalancerID string) (map[string]string, error) {
	c, err := net.Dial("unix", filepath.Join(a.dir, loadBalancerID+".sock"))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "show stat\n"); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(c).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("HAProxy's statistics have %d rows: %w", len(rows), err)
	}
	name, result := slices.Index(rows[0], "svname"), slices.Index(rows[0], "check_status")
	results := map[string]string{}
	for _, row := range rows[1:] {
		if row[name] != "FRONTEND" && row[name] != "BACKEND" {
			results[row[name]] = row[result]
		}
	}
	return results, nil
}

// waitUntilAccepted waits until connections to the address are accepted. That the server ends is an error.
func (from client) waitUntilAccepted(at string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline())
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 25*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case <-ended:
			return false, errors.New("the program has ended")
		default:
		}
		conn, err := from.dial(ctx, "tcp", at)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
}

// written is what Octavia writes into an amphora for HAProxy: its configuration, and certificates by their paths.
type written struct {
	Configuration string
	Files         map[string]string
}

// configuration returns what Octavia writes into the amphora.
func (a *amphora) configuration(loadBalancerID string) (made written) {
	a.t.Helper()
	said, err := exec.CommandContext(a.t.Context(), program("haproxy"), "-v").Output()
	version := regexp.MustCompile(`version ([0-9]+\.[0-9]+\.[0-9]+)`).FindSubmatch(said)
	if err != nil || version == nil {
		a.t.Fatalf("haproxy -v: %v\n%s", err, said)
	}
	state := strings.TrimSuffix(filepath.Clean(*stateDir), "/unpatched")
	command := exec.CommandContext(a.t.Context(), "../../hack/openstack/run.sh", "/usr/bin/python3", "-m", "openstack_shims.amphora_haproxy",
		filepath.Join(state, "etc/octavia/octavia.conf"), loadBalancerID, a.dir, string(version[1]))
	command.Env = append(os.Environ(), "OPENSTACK_STATE="+state)
	text, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		a.t.Fatalf("Octavia's configuration of HAProxy: %v", err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		a.t.Fatal(err)
	}
	return made
}

// end ends HAProxy.
func (a *amphora) end() {
	if a.haproxy != nil {
		_ = a.haproxy.Process.Signal(syscall.SIGTERM) // it may have ended
		<-a.ended
	}
}

// program returns the path of an installed program; Debian has servers in /usr/sbin. It is empty if
// the program is not installed.
func program(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// needsProgram skips the test if the program is not installed. In CI, as root on Debian, that is
// a failure: .ci/run installs it.
func needsProgram(t *testing.T, name string) {
	t.Helper()
	if program(name) != "" {
		return
	}
	release, _ := os.ReadFile("/etc/os-release") // without it, this is not Debian
	if os.Getenv("CI") == "true" && os.Getuid() == 0 && strings.Contains(string(release), "\nID=debian\n") {
		t.Fatalf("%s is not installed, which .ci/run should have done", name)
	}
	t.Skipf("%s is not installed: on Debian, apt-get install %[1]s", name)
}
