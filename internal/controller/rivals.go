// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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

// rivals has what is known of foreign writes to what our Services have: events tell
// of those in Kubernetes, passes find those in the cloud. It is safe for concurrent
// use. A nil one knows of nobody.
type rivals struct {
	timing  timing.Delays
	now     func() time.Time
	metrics *metrics.Metrics
	log     logr.Logger

	mu  sync.Mutex
	all map[types.NamespacedName]rival
}

// rival is who writes to one Service.
type rival struct {
	serviceUID types.UID
	rivalry
}

func newRivals(timing timing.Delays, metrics *metrics.Metrics, log logr.Logger) *rivals {
	metrics.Contested.Set(0)
	return &rivals{timing: timing, now: time.Now, metrics: metrics, log: log, all: map[types.NamespacedName]rival{}}
}

// wrote notes what somebody else wrote to what the Service has.
func (r *rivals) wrote(service *corev1.Service, writes ...foreignWrite) {
	if r == nil || len(writes) == 0 {
		return
	}
	now := r.now()
	for i := range writes {
		writes[i].at = now
	}
	where := "cloud"
	if writes[0].what == onService {
		where = "kubernetes"
	}
	log := r.log.WithValues("service", client.ObjectKeyFromObject(service).String())
	r.change(service, func(known rivalry) rivalry {
		if is, _ := known.stance(now); is == standAside {
			return known // it is nothing to us
		}
		r.metrics.ForeignWrites.WithLabelValues(where).Inc()
		log.Info("somebody else wrote to what the Service has", "where", where, "what", texts(writes))
		next := known.after(writes, now, r.timing)
		if is, wait := next.stance(now); is == standAside && !next.stopped.Equal(known.stopped) {
			log.Info("somebody else writes to what the Service has again and again; work on it has stopped", "for", wait.String())
		}
		return next
	})
}

// changed notes that whoever uses the Service has changed it.
func (r *rivals) changed(service *corev1.Service) {
	if r == nil {
		return
	}
	r.change(service, func(known rivalry) rivalry { return known.changed(r.now(), r.timing) })
}

// told notes that the Service says that work was stopped.
func (r *rivals) told(service *corev1.Service) {
	r.change(service, func(known rivalry) rivalry {
		known.told = true
		return known
	})
}

// mayClaim reports, as often as the longest wait allows, whether the finalizer may be set
// on a Service on which work has stopped.
func (r *rivals) mayClaim(service *corev1.Service) (may bool) {
	now := r.now()
	r.change(service, func(known rivalry) rivalry {
		if may = now.Sub(known.claimed) >= r.timing.LastRivalWait; may {
			known.claimed = now
		}
		return known
	})
	return may
}

// takeUntold returns, once, the marks on the Service to which somebody else wrote.
func (r *rivals) takeUntold(service *corev1.Service) (marks []string) {
	if r == nil {
		return nil
	}
	r.change(service, func(known rivalry) rivalry {
		marks, known.untold = known.untold, nil
		return known
	})
	return marks
}

// resumes reports, once, whether work on the Service was stopped and is taken up again.
func (r *rivals) resumes(service *corev1.Service) bool {
	if r == nil {
		return false
	}
	resumes, now := false, r.now()
	r.change(service, func(known rivalry) rivalry {
		if known.over(now) {
			known = known.resume(now)
		}
		resumes, known.afresh = known.afresh, false
		return known
	})
	return resumes
}

// of returns what is known of a Service, and what to do about it now and for how long.
func (r *rivals) of(service *corev1.Service) (rivalry, stance, time.Duration) {
	if r == nil {
		return rivalry{}, goOn, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.all[client.ObjectKeyFromObject(service)]
	if known.serviceUID != service.UID {
		return rivalry{}, goOn, 0
	}
	is, wait := known.stance(r.now())
	return known.rivalry, is, wait
}

// drop forgets a Service that is gone, or that is not served any more.
func (r *rivals) drop(key types.NamespacedName) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.all[key]; known {
		delete(r.all, key)
		r.count()
	}
}

// change changes what is known of a Service; what was known of an earlier one of its
// name is forgotten.
func (r *rivals) change(service *corev1.Service, change func(rivalry) rivalry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(service)
	known := r.all[key]
	if known.serviceUID != service.UID {
		known = rival{serviceUID: service.UID}
	}
	known.rivalry = change(known.rivalry)
	if len(known.writes) == 0 && known.stops == 0 {
		delete(r.all, key)
	} else {
		r.all[key] = known
	}
	r.count()
}

func (r *rivals) count() {
	contested := 0
	for _, known := range r.all {
		if !known.until.IsZero() {
			contested++
		}
	}
	r.metrics.Contested.Set(float64(contested))
}

func texts(writes []foreignWrite) []string {
	var all []string
	for _, w := range writes {
		all = append(all, w.texts...)
	}
	return all
}
