// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package walks_test runs random walks: authors, operators, other clients and the cloud act, one after the other. A
// story is the data of a walk (action_test.go), and is drawn from a seed (draw_test.go). It runs on a stage
// (stage_test.go), in memory and virtual time or, with -real, with a real kube-apiserver (real_test.go). In the end the
// stage must look (picture_test.go) as one that has only the last requests (walk_test.go), and no address was lost on
// the way (ledger_test.go). In some of them the nodes are servers whose security groups are managed (servers_test.go,
// grouppicture_test.go).
package walks_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

var (
	count    = flag.Int("walks", 24, "how many walks to make")
	steps    = flag.Int("steps", 20, "how many steps a walk has")
	seed     = flag.Uint64("seed", 1, "seed of the first walk; 0 chooses one")
	reals    = flag.Int("real", 0, "how many walks are made at once with real kube-apiservers; 0 makes all in memory")
	shared   = flag.Bool("shared", false, "make only walks in which Services may share load balancers")
	dual     = flag.Bool("families", false, "create only Services with IPv6, and change IP families often")
	grouped  = flag.Bool("groups", false, "make only walks in which the controller manages the security groups of the nodes")
	logs     = flag.Bool("logs", false, "print the log of the controller of a walk that failed")
	shortens = flag.Bool("shorten", true, "shorten the story of a walk that failed")
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestMain(m *testing.M) {
	if os.Getenv(controllerVariable) != "" {
		os.Exit(runController())
	}
	flag.Parse()
	// Kubernetes' libraries wait after an error until a while has passed since the last one of the process. That was in another
	// walk, whose clock is another one. Errors are still logged.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	// A command's first run sets the logger of Kubernetes' libraries, which must not happen while another goroutine logs.
	// This run ends at once, because the file is missing.
	cli.Run(context.Background(), []string{"controller", "--cloud-config=" + os.DevNull + "/missing"}, cli.IO{Out: io.Discard, Err: io.Discard}, cli.Options{Version: "walks"})
	os.Exit(m.Run())
}

// versions are those of what a stage has. The zero value is the newest of each.
type versions struct {
	kubernetes int // the minor version
	openstack  release.Release
}

// walkInMemory runs a story in memory, in virtual time.
func walkInMemory(t *testing.T, v versions, st story, behind tamperer) (log string, err error) {
	dir := t.TempDir()
	synctest.Test(t, func(*testing.T) {
		s, failure := newMemoryStage(context.Background(), dir, v)
		if err = failure; err == nil {
			log, err = walk(s, st, behind)
		}
	})
	return log, err
}

func TestWalks(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1e9) + 1
	}
	play := func(v versions, st story) (string, error) { return walkInMemory(t, v, st, nil) }
	if *reals > 0 {
		defer realClusters.stop(t)
		play = func(v versions, st story) (string, error) { return walkReal(t, v.openstack, st) }
	}
	begin := time.Now()
	var failed atomic.Int64
	seeds := make(chan uint64)
	var walkers sync.WaitGroup
	for range max(1, *reals) {
		walkers.Go(func() {
			for n := range seeds {
				if err := takeWalk(n, versions{openstack: releaseOf(n)}, play); err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		})
	}
	for i := range *count {
		seeds <- first + uint64(i)
		if i > 0 && i%50 == 0 {
			t.Logf("walks: %d of %d have begun, %d failed", i, *count, failed.Load())
		}
	}
	close(seeds)
	walkers.Wait()
	t.Logf("walks: %d walks x %d steps from seed %d, %d failed, in %v: %.0f walks an hour", *count, *steps, first, failed.Load(), time.Since(begin).Round(time.Second),
		float64(*count)/time.Since(begin).Hours())
}

// TestWalksOnAnOlderKubernetes makes the first of these walks on the oldest Kubernetes: what it does not know of what is written to it, it
// removes.
func TestWalksOnAnOlderKubernetes(t *testing.T) {
	for i := range min(*count, 6) {
		n := max(*seed, 1) + uint64(i)
		err := takeWalk(n, versions{kubeversion.Oldest, releaseOf(n)}, func(v versions, st story) (string, error) { return walkInMemory(t, v, st, nil) })
		if err != nil {
			t.Error(err)
		}
	}
}

// releaseOf returns the release of OpenStack that the walk with the seed has. The walks take them in
// turn.
func releaseOf(n uint64) release.Release { return release.All[n%uint64(len(release.All))] }

// takeWalk makes the walk with the seed. The error has its story, shortened.
func takeWalk(n uint64, v versions, play func(versions, story) (string, error)) error {
	st := draw(n, *steps)
	log, err := play(v, st)
	if err == nil {
		return nil
	}
	if *shortens {
		st, log, err = shorten(st, log, err, func(st story) (string, error) { return play(v, st) })
	}
	if !*logs {
		log = ""
	}
	return fmt.Errorf("walk with seed %d and %d steps, on OpenStack %s:\n%v\n%w\n%s", n, *steps, v.openstack, st, err, log)
}
