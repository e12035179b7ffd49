// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a read that takes a while.
type recorder struct {
	mu    sync.Mutex
	takes time.Duration
	err   error
	reads []string
}

func (r *recorder) read(_ context.Context, keys []string) (map[string]string, error) {
	r.mu.Lock()
	r.reads = append(r.reads, strings.Join(keys, " "))
	takes, err := r.takes, r.err
	r.mu.Unlock()
	time.Sleep(takes) // in fake time
	values := map[string]string{}
	for _, key := range keys {
		values[key] = "value of " + key
	}
	return values, err
}

// get requests the keys, one after the other, each as soon as the one before waits.
func get(t *testing.T, r *Reader[string], keys ...string) (errs []error) {
	t.Helper()
	errs = make([]error, len(keys))
	for i, key := range keys {
		go func() {
			var got string
			if got, errs[i] = r.Get(t.Context(), key); errs[i] == nil && got != "value of "+key {
				t.Errorf("%s: %q", key, got)
			}
		}()
		synctest.Wait()
	}
	return errs
}

func TestRequestsDuringAReadAreBatchedInTheNextRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{takes: 100 * time.Millisecond}
		r := New(s.read)
		get(t, r, "a", "c", "b", "c", "a")
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		get(t, r, "d")
		time.Sleep(time.Second)
		synctest.Wait()
		get(t, r, "e")
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "a b c", "d", "e"}, s.reads); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}

func TestErrorOfABatchIsReturnedToAllItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{takes: 100 * time.Millisecond, err: errors.New("out of order")}
		r := New(s.read)
		errs := get(t, r, "a", "b", "c")
		time.Sleep(time.Second)
		synctest.Wait()
		if slices.Contains(errs, nil) {
			t.Errorf("errors: %v", errs)
		}
		s.err = nil
		errs = get(t, r, "a")
		time.Sleep(time.Second)
		synctest.Wait()
		if errs[0] != nil {
			t.Errorf("error: %v", errs)
		}
	})
}

func TestAReadThatHangsDelaysOthersByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{takes: time.Hour}
		r := New(s.read)
		get(t, r, "a")
		s.takes = 0
		began := time.Now()
		get(t, r, "b")
		if _, err := r.Get(t.Context(), "c"); err != nil || time.Since(began) > patience {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		if diff := cmp.Diff([]string{"a", "b c"}, s.reads); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

func TestAReadThatPanicsDoesNotBlockTheNext(t *testing.T) {
	r := New(func(context.Context, []string) (map[string]string, error) { panic("for the test") })
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = r.Get(t.Context(), "a")
		}()
	}
}
