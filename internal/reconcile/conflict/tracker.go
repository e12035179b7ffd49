// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Options configure a Tracker.
type Options struct {
	Timing  timing.Delays
	Now     func() time.Time
	Metrics *metrics.Metrics
	Logger  logr.Logger
}

// Tracker has the State of each owner. It is safe for concurrent use.
type Tracker struct {
	Options
	mu     sync.Mutex
	states map[owner.Key]State
}

// New returns a Tracker.
func New(o Options) *Tracker {
	o.Metrics.Contested.Set(0)
	return &Tracker{Options: o, states: map[owner.Key]State{}}
}

// ownWrite has the values of the own fields after a write of the controller: as they were sent, and as an API
// server that does not have the field ipMode keeps them.
type ownWrite struct{ sent, withoutIPMode string }

func newOwnWrite(o claim.Owner) ownWrite {
	kept := o
	kept.Recorded.Ingress = status.WithoutIPMode(o.Recorded.Ingress)
	return ownWrite{values(o), values(kept)}
}

// mostPending limits the pending writes of an owner: a write that changes nothing never comes
// back.
const mostPending = 8

// Track makes a write of the controller, after which the owner is as given. Made recognises the write when it comes back
// as an event, also if its answer was lost.
func (t *Tracker) Track(o claim.Owner, write func() error) error {
	written := newOwnWrite(o)
	t.update(o, func(s *State) {
		s.pending = append(slices.Clone(s.pending[max(len(s.pending)-mostPending+1, 0):]), written)
	})
	err := write()
	if rejected := apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err); rejected {
		t.update(o, func(s *State) {
			if i := slices.Index(s.pending, written); i >= 0 {
				s.pending = slices.Delete(slices.Clone(s.pending), i, i+1)
			}
		})
	}
	return err
}

// Made reports whether the controller made the write after which the owner has its present own
// fields. Events arrive in the order of the writes, so earlier writes are no longer pending.
func (t *Tracker) Made(o claim.Owner) (made bool) {
	now := values(o)
	t.update(o, func(s *State) {
		i := slices.IndexFunc(s.pending, func(w ownWrite) bool { return w.sent == now || w.withoutIPMode == now })
		made, s.pending = i >= 0, s.pending[i+1:]
	})
	return made
}

// Wrote notes writes of another client that were detected together, all on the owner or all
// in the cloud.
func (t *Tracker) Wrote(o claim.Owner, writes ...Write) {
	t.update(o, func(s *State) {
		if s.Stopped || len(writes) == 0 {
			return
		}
		where, texts := "cloud", []string{}
		for _, w := range writes {
			texts = append(texts, w.Texts...)
			if w.Kind == OnService {
				where = "kubernetes"
			}
		}
		log := t.Logger.WithValues("service", o.Key.String())
		log.Info("another client changed the Service or its cloud objects", "where", where, "what", texts)
		t.Metrics.ForeignWrites.WithLabelValues(where).Inc()
		if *s = s.wrote(writes, t.Now(), t.Timing); s.Stopped {
			log.Info("another controller keeps changing the Service or its cloud objects; stopped working on it", "for", s.Wait(t.Now()).String())
		}
	})
}

// Changed notes that a user changed the owner.
func (t *Tracker) Changed(o claim.Owner) {
	t.update(o, func(s *State) { *s = s.changed(t.Timing) })
}

// Resume resumes work on the owner if its stop is over, and reports whether it did. It
// also returns, once and after the backoff, the fields that were overwritten.
func (t *Tracker) Resume(o claim.Owner) (resumed bool, overwritten []string) {
	t.update(o, func(s *State) {
		stopped := s.Stopped
		*s = s.resumed(t.Now())
		resumed = stopped && !s.Stopped
		if !s.Stopped && s.Until.Before(t.Now()) {
			overwritten, s.unreported = s.unreported, nil
		}
	})
	return resumed, overwritten
}

// State returns the state of the owner.
func (t *Tracker) State(o claim.Owner) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state(o)
}

// state returns an empty State for an owner whose predecessor had the same name.
func (t *Tracker) state(o claim.Owner) State {
	if s := t.states[o.Key]; s.uid == o.UID {
		return s
	}
	return State{uid: o.UID}
}

// Reported notes that the owner's condition says that work has stopped.
func (t *Tracker) Reported(o claim.Owner) {
	t.update(o, func(s *State) { s.Reported = true })
}

// Restored notes that the finalizer is being restored during a stop.
func (t *Tracker) Restored(o claim.Owner) {
	t.update(o, func(s *State) { s.restored = t.Now() })
}

// Forget forgets an owner that was deleted or is no longer served.
func (t *Tracker) Forget(key owner.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(key, State{})
}

func (t *Tracker) update(o claim.Owner, change func(*State)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(o)
	change(&s)
	t.set(o.Key, s)
}

// set stores the state, unless it is empty.
func (t *Tracker) set(key owner.Key, s State) {
	t.states[key] = s
	if len(s.pending) == 0 && len(s.writes) == 0 && s.stops == 0 {
		delete(t.states, key)
	}
	stopped := 0
	for _, s := range t.states {
		if s.Stopped {
			stopped++
		}
	}
	t.Metrics.Contested.Set(float64(stopped))
}
