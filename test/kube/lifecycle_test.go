// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

func TestStopEndsTheProcessesAndRemovesTheDirectory(t *testing.T) {
	cluster, err := kube.Start(t.Context(), kube.Options{Controllers: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	pids := processesIn(t, cluster.Dir())
	if len(pids) != 2 {
		t.Errorf("%d processes run in the cluster's directory, want etcd and kube-apiserver", len(pids))
	}
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if processExists(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if _, err := os.Stat(cluster.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory is still there (%v)", err)
	}
	if err := cluster.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestDirectoryOfTheCallerIsKept(t *testing.T) {
	dir := t.TempDir()
	cluster, err := kube.Start(t.Context(), kube.Options{Dir: dir, Controllers: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "kube-apiserver.log")); err != nil {
		t.Errorf("the log is gone: %v", err)
	}
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := kube.Start(t.Context(), kube.Options{Dir: dir, ServiceCIDRs: "no-cidr"})
	if err == nil {
		t.Fatal("a cluster with a bad flag starts")
	}
	for _, want := range []string{"kube-apiserver ended by itself", "is not a valid cidr"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if count := strings.Count(err.Error(), "ended by itself"); count != 1 {
		t.Errorf("the error says it %d times:\n%v", count, err)
	}
	if pids := processesIn(t, dir); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := kube.Start(ctx, kube.Options{}); !errors.Is(err, enough) {
		t.Errorf("the error is %v, want the context's cause", err)
	}
}

func TestClusterEndsWithTheProcessThatStartedIt(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), abandonVariable+"=1", "TMPDIR="+t.TempDir())
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	dir, readErr := bufio.NewReader(output).ReadString('\n')
	pids := processesIn(t, strings.TrimSpace(dir))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if readErr != nil {
		t.Fatalf("the other process did not start a cluster: %v", readErr)
	}
	if len(pids) != 3 {
		t.Errorf("%d processes run in the cluster's directory, want 3", len(pids))
	}
	eventually(t, func(context.Context) error {
		for _, pid := range pids {
			if processExists(pid) {
				return fmt.Errorf("process %d is still there", pid)
			}
		}
		return nil
	})
}

// abandonCluster starts a cluster, prints its directory, and waits for the end
// of the process.
func abandonCluster() {
	cluster, err := kube.Start(context.Background(), kube.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cluster.Dir())
	select {}
}

// processesIn returns the processes whose working directory is dir.
func processesIn(t *testing.T, dir string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != dir {
			continue // also a process that has just ended, or another user's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// processExists reports whether there is a process, zombies excepted: the system determines when an
// orphan is reaped.
func processExists(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(status), ") Z ")
}
