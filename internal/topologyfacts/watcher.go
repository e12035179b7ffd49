// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topologyfacts reads the facts of the topology, again and again, for the page of `kube-octavia ui`: Services,
// nodes, EndpointSlices and events from watches, load balancers from lists of the project, and what lists lack from a
// few calls for single load balancers. It writes nothing, and reads no Secret.
//
// It may import planner and what that imports, and topology.
package topologyfacts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/report"
	"github.com/kube-octavia/kube-octavia/internal/topology"
)

// Options configure a Watcher.
type Options struct {
	// Planner makes the plans. Its Reader is replaced by one with a cache, and its Secrets by a reader that reads none.
	Planner *planner.Planner
	// Cluster and Cache are for that cache. Explain says what to do about an error of the cluster.
	Cluster *rest.Config
	Cache   cache.Options
	Explain func(error) error
	// Interval is the time between two readings of the lists.
	Interval time.Duration
	Logger   logr.Logger
}

// Limits of the calls for single load balancers.
const (
	// batch is how many new or changed load balancers are read before the topology is published.
	batch = 40
	// parallel is how many are read at once.
	parallel = 4
	// mostStatuses is how many status trees are read after the lists, the oldest first.
	mostStatuses = 10
	// surveyInterval is the time between two searches for orphans, conflicts and left ports.
	surveyInterval = time.Minute
	// planAge is how old a plan may be if nothing has changed that it is known to depend on.
	planAge = time.Minute
	// settle is the time in which changes of the cluster are shown together.
	settle = 250 * time.Millisecond
)

// The places that problems are of.
const (
	ofKubernetes = "Kubernetes"
	ofOpenStack  = "OpenStack"
)

// Watcher reads the facts. Only one Watch may run at a time.
type Watcher struct {
	Options
	lists      lists
	survey     report.Survey
	surveyedAt time.Time
	plans      map[types.NamespacedName]plan
	// used are the load balancers of Services, by the last topology.
	used     map[string]bool
	problems map[string]topology.Problem
	kube     *kube
}

// New returns a Watcher that reads nothing before Watch.
func New(o Options) *Watcher {
	o.Planner.Secrets = withoutSecrets{o.Planner.Secrets}
	return &Watcher{Options: o, lists: lists{details: map[string]detail{}}, plans: map[types.NamespacedName]plan{},
		used: map[string]bool{}, problems: map[string]topology.Problem{}}
}

// Watch reads until the context ends, and publishes each topology. What it has read is used by the next Watch.
func (w *Watcher) Watch(ctx context.Context, publish func(topology.Topology)) {
	w.kube = newKube(w.Options)
	defer w.kube.stop()
	for ctx.Err() == nil {
		w.note(ofKubernetes, w.kube.start(ctx))
		w.note(ofOpenStack, w.read(ctx, func() { publish(w.topology(ctx)) }))
		if ctx.Err() == nil {
			publish(w.topology(ctx))
			w.wait(ctx, func() { publish(w.topology(ctx)) })
		}
	}
}

// read reads the lists and then the details. It publishes in between.
func (w *Watcher) read(ctx context.Context, publish func()) error {
	if err := w.readLists(ctx); err != nil {
		return err
	}
	w.topology(ctx) // to know which load balancers are used
	for {
		left, err := w.readDetails(ctx)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		publish()
	}
	if err := w.readStatuses(ctx); err != nil {
		return err
	}
	return w.readSurvey(ctx)
}

func (w *Watcher) readLists(ctx context.Context) error {
	balancers, err := w.Planner.Octavia.Listed(ctx)
	if err != nil {
		return err
	}
	floating, err := w.Planner.Neutron.FloatingIPs(ctx)
	if err != nil {
		return err
	}
	w.lists.readAt, w.lists.balancers, w.lists.floating = time.Now(), balancers, floating
	for id := range w.lists.details {
		if w.lists.find(id) == nil {
			delete(w.lists.details, id)
		}
	}
	return nil
}

func (w *Watcher) readSurvey(ctx context.Context) error {
	if !w.kube.synced || time.Since(w.surveyedAt) < surveyInterval {
		return nil
	}
	source := w.Planner.Source()
	source.Reader = w.Planner.Secrets                                             // has no cache, and reads namespaces
	found, err := report.Status(ctx, source, report.StatusOptions{NoDrift: true}) // the plans are the watcher's own
	if err != nil {
		return err
	}
	w.survey, w.surveyedAt = found, time.Now()
	return nil
}

// wait waits until the lists are to be read again. Meanwhile it publishes changes of the cluster.
func (w *Watcher) wait(ctx context.Context, publish func()) {
	next := time.After(w.Interval)
	for {
		select {
		case <-ctx.Done():
			return
		case <-next:
			return
		case <-w.kube.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
			publish()
		}
	}
}

// note keeps what could not be read, or forgets it if err is nil.
func (w *Watcher) note(of string, err error) {
	if err == nil {
		delete(w.problems, of)
		return
	}
	p := topology.Problem{Of: of, Message: openstack.Reason(err), Action: action(of, err), Since: time.Now()}
	if before, known := w.problems[of]; known {
		p.Since = before.Since
	} else {
		w.Logger.Info("cannot read everything that the page shows", "of", of, "error", err.Error())
	}
	w.problems[of] = p
}

// action says what to do about a problem.
func action(of string, err error) string {
	if of == ofKubernetes {
		return "Check the kubeconfig or the rights of the service account: list and watch of services, nodes, endpointslices and events in all namespaces. It is tried again after each interval."
	}
	switch openstack.Classify(err) {
	case openstack.Unauthorized:
		return "Replace the credentials in cloud.conf. The file is read again when it changes."
	case openstack.Invalid:
		return "Check the roles and access rules of the credentials in cloud.conf. `kube-octavia doctor` says what is missing."
	case openstack.Throttled:
		return "The cloud limits the rate of calls. It is tried again; a longer --refresh-interval needs fewer calls."
	}
	return "It is tried again after each interval. If it persists, `kube-octavia doctor` checks the cloud."
}

// sortedProblems returns the problems in a stable order.
func (w *Watcher) sortedProblems() []topology.Problem {
	var all []topology.Problem
	for _, p := range w.problems {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b topology.Problem) int { return slices.Compare([]string{a.Of}, []string{b.Of}) })
	return all
}

// errNotSynced says which rights are missing.
func errNotSynced(limit time.Duration) error {
	return fmt.Errorf("the watches of Services, nodes, EndpointSlices and events did not begin within %v", limit)
}
