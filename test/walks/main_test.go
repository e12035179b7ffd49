// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"context"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cli"
)

var (
	count    = flag.Int("walks", 24, "how many walks to make")
	steps    = flag.Int("steps", 20, "how many steps a walk has")
	seed     = flag.Uint64("seed", 1, "seed of the first walk; 0 chooses one")
	logs     = flag.Bool("logs", false, "print the log of the controller of a walk that failed")
	shortens = flag.Bool("shorten", true, "shorten the story of a walk that failed")
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestMain(m *testing.M) {
	flag.Parse()
	// A command's first run sets the logger of Kubernetes' libraries, which must not happen while somebody logs. This one
	// ends at once: the file is missing.
	cli.Run(context.Background(), []string{"controller", "--cloud-config=" + os.DevNull + "/missing"}, cli.IO{Out: io.Discard, Err: io.Discard}, cli.Options{Version: "walks"})
	os.Exit(m.Run())
}

// walkInMemory plays a story in memory, in virtual time.
func walkInMemory(t *testing.T, st story, behind tamperer) (log string, err error) {
	dir := t.TempDir()
	synctest.Test(t, func(*testing.T) {
		log, err = walk(context.Background(), dir, newMemoryStage, st, behind)
	})
	return log, err
}

func TestWalks(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1e9) + 1
	}
	begin, failed := time.Now(), 0
	for i := range *count {
		n := first + uint64(i)
		st := draw(n, *steps)
		log, err := walkInMemory(t, st, nil)
		if err == nil {
			continue
		}
		failed++
		if *shortens {
			st, log, err = shorten(st, log, err, func(st story) (string, error) { return walkInMemory(t, st, nil) })
		}
		if !*logs {
			log = ""
		}
		t.Errorf("walk with seed %d and %d steps:\n%v\n%v\n%s", n, *steps, st, err, log)
	}
	t.Logf("walks: %d walks x %d steps from seed %d, %d failed, in %v: %.0f walks an hour", *count, *steps, first, failed, time.Since(begin).Round(time.Second),
		float64(*count)/time.Since(begin).Hours())
}
