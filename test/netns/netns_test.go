// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package netns_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/netns"
)

// namespace creates a network namespace with a loopback interface. Its name has the process id, so
// that only this test's own is deleted.
func namespace(t *testing.T, suffix string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip(8): install iproute2")
	}
	name := fmt.Sprintf("kotest-%d-%s", os.Getpid(), suffix)
	ip(t, "netns", "add", name)
	t.Cleanup(func() { ip(t, "netns", "delete", name) })
	ip(t, "-n", name, "link", "set", "lo", "up")
	return name
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// listen opens the address in the namespace.
func listen(name, address string) (net.Listener, error) {
	var ln net.Listener
	err := netns.In(name, func() (err error) {
		ln, err = net.Listen("tcp", address)
		return err
	})
	return ln, err
}

func dial(name, address string) error {
	return netns.In(name, func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

func TestSocketStaysInTheNamespaceInWhichItWasOpened(t *testing.T) {
	here, there := namespace(t, "a"), namespace(t, "b")
	ln, err := listen(here, "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var served sync.WaitGroup
	served.Go(func() { // in the namespace of the process
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Close()
	})
	if err := dial(here, "127.0.0.1:7000"); err != nil {
		t.Errorf("from the same namespace: %v", err)
	}
	served.Wait()
	for _, elsewhere := range []string{there, ""} {
		if err := dial(elsewhere, "127.0.0.1:7000"); err == nil {
			t.Errorf("the address answers in namespace %q too", elsewhere)
		}
	}
}

func TestSameAddressCanBeOpenedInEachNamespace(t *testing.T) {
	for _, name := range []string{namespace(t, "a"), namespace(t, "b")} {
		ln, err := listen(name, "127.0.0.1:7000")
		if err != nil {
			t.Fatalf("in %s: %v", name, err)
		}
		defer ln.Close()
	}
}

func TestNoThreadIsLeftInANamespace(t *testing.T) {
	name := namespace(t, "a")
	home := current(t)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			inside := ""
			err := netns.In(name, func() (err error) {
				inside, err = os.Readlink("/proc/thread-self/ns/net")
				return err
			})
			if err != nil || inside == home {
				t.Errorf("in %s the namespace is %s, outside %s; %v", name, inside, home, err)
			}
		})
	}
	all.Wait()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		now, err := os.Readlink("/proc/self/task/" + thread.Name() + "/ns/net")
		if err == nil && now != home { // a thread may have ended
			t.Errorf("thread %s is in %s, the process in %s", thread.Name(), now, home)
		}
	}
}

func current(t *testing.T) string {
	t.Helper()
	name, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNamespaceThatIsMissingIsNamed(t *testing.T) {
	err := netns.In("kotest-none", func() error {
		t.Error("it was carried out in spite of that")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "kotest-none") {
		t.Errorf("the error is: %v", err)
	}
}

func TestErrorIsThatOfTheFunction(t *testing.T) {
	want := errors.New("mine")
	for _, name := range []string{"", namespace(t, "a")} {
		if err := netns.In(name, func() error { return want }); !errors.Is(err, want) {
			t.Errorf("in namespace %q: %v", name, err)
		}
	}
}
