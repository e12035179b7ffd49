// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Options is what a Tracker is made of.
type Options struct {
	Timing  timing.Delays
	Now     func() time.Time
	Metrics *metrics.Metrics
	Logger  logr.Logger
}

// Tracker knows of other clients' writes to what the Services have: events report those to
// the Service, passes those in the cloud. It is safe for concurrent use.
type Tracker struct {
	Options
	mu  sync.Mutex
	all map[types.NamespacedName]tracked
}

// tracked is what is known of one Service.
type tracked struct {
	uid types.UID
	history
	// reported is whether the Service says that work has stopped, and unreported are the
	// fields that were overwritten since an event said so.
	reported   bool
	unreported []string
	// claimed is when the Service's finalizer was last set while work was stopped.
	claimed time.Time
}

// State is what to do about a Service.
type State struct {
	// Wait is how long the Service is left as it is, or 0. Stopped is whether that is
	// because work on it has stopped, until Until.
	Wait    time.Duration
	Stopped bool
	Until   time.Time
	// Overwritten are the fields of the Service that were written over, and Last those of
	// the last write; Undone is what it would take to make up for what was changed in the
	// cloud.
	Overwritten, Last, Undone []string
	// Reported is whether the Service says that work has stopped.
	Reported bool

	times map[string]int
}

// Concerns reports whether another client did more than once what ops of the kind make up
// for.
func (s State) Concerns(kind string) bool { return s.times[kind] > 1 }

// New returns a Tracker.
func New(o Options) *Tracker {
	o.Metrics.Contested.Set(0)
	return &Tracker{Options: o, all: map[types.NamespacedName]tracked{}}
}

// Wrote notes what another client wrote to what the Service has.
func (t *Tracker) Wrote(service *corev1.Service, writes ...Write) {
	if len(writes) == 0 {
		return
	}
	now, where := t.Now(), "cloud"
	if writes[0].Kind == OnService {
		where = "kubernetes"
	}
	log := t.Logger.WithValues("service", client.ObjectKeyFromObject(service).String())
	t.change(service, func(known *tracked) {
		if known.stopped {
			return
		}
		var texts []string
		for _, w := range writes {
			texts = append(texts, w.Texts...)
		}
		t.Metrics.ForeignWrites.WithLabelValues(where).Inc()
		log.Info("another client wrote to what the Service has", "where", where, "what", texts)
		if known.history = known.after(writes, now, t.Timing); writes[0].Kind == OnService {
			known.unreported = union(known.unreported, texts)
		}
		if known.stopped {
			log.Info("another controller writes to what the Service has again and again; work on it has stopped", "for", known.until.Sub(now).String())
		}
	})
}

// Changed notes that a user changed the Service.
func (t *Tracker) Changed(service *corev1.Service) {
	t.change(service, func(known *tracked) { known.history = known.changed(t.Timing) })
}

// Resume takes up work on a Service whose stop is over, and reports, once, whether that is
// so. Overwritten are the fields that were written over since it last said so.
func (t *Tracker) Resume(service *corev1.Service) (resumed bool, overwritten []string) {
	t.change(service, func(known *tracked) {
		was := known.stopped
		known.history = known.resumed(t.Now())
		if resumed = was && !known.stopped; resumed {
			*known = tracked{uid: known.uid, history: known.history}
		}
		if !known.stopped && known.until.Before(t.Now()) {
			overwritten, known.unreported = known.unreported, nil
		}
	})
	return resumed, overwritten
}

// State returns what to do about the Service now.
func (t *Tracker) State(service *corev1.Service) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.all[client.ObjectKeyFromObject(service)]
	if known.uid != service.UID {
		return State{}
	}
	s := State{Stopped: known.stopped, Until: known.until, Wait: max(known.until.Sub(t.Now()), 0), Reported: known.reported, Undone: known.undone(), times: known.times()}
	s.Overwritten, s.Last = known.overwritten()
	return s
}

// Reported notes that the Service says that work has stopped.
func (t *Tracker) Reported(service *corev1.Service) {
	t.change(service, func(known *tracked) { known.reported = true })
}

// MayClaim reports, now and then, whether the finalizer may be set on a Service on which work
// has stopped.
func (t *Tracker) MayClaim(service *corev1.Service) (may bool) {
	t.change(service, func(known *tracked) {
		if may = t.Now().Sub(known.claimed) >= t.Timing.ConflictWait.Last; may {
			known.claimed = t.Now()
		}
	})
	return may
}

// Forget drops a Service that is gone, or that is not served any more.
func (t *Tracker) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, key)
	t.count()
}

// change changes what is known of a Service; what was known of an earlier one of its name is
// forgotten.
func (t *Tracker) change(service *corev1.Service, change func(*tracked)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(service)
	known := t.all[key]
	if known.uid != service.UID {
		known = tracked{uid: service.UID}
	}
	if change(&known); len(known.writes) > 0 || known.stops > 0 {
		t.all[key] = known
	} else {
		delete(t.all, key)
	}
	t.count()
}

func (t *Tracker) count() {
	stopped := 0
	for _, known := range t.all {
		if known.stopped {
			stopped++
		}
	}
	t.Metrics.Contested.Set(float64(stopped))
}
