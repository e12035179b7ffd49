// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topologyfacts continuously reads the facts of the topology for the page of `kube-octavia ui`: Services,
// nodes, EndpointSlices and events from watches, load balancers from lists of the project, and what lists lack from a
// few calls for single load balancers. It writes nothing, and reads no Secrets.
package topologyfacts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// Options configure a Watcher.
type Options struct {
	// Policy selects the Services that are shown.
	Policy claim.Policy
	// Cloud has what a planner needs once OpenStack is connected. Until then Services are shown without their load balancers.
	Cloud *Cloud
	// Login is the place of the cloud's login, for messages. LoginFollowed means that it is read again when it changes.
	Login         string
	LoginFollowed bool
	// Cluster and Cache configure the cache. Explain adds what to do to an error of the cluster.
	Cluster *rest.Config
	Cache   cache.Options
	Explain func(error) error
	// Interval is the time between two reads of the lists.
	Interval time.Duration
	Logger   logr.Logger
}

// Limits of the calls for single load balancers.
const (
	// batch is the number of new or changed load balancers that are read before the topology is
	// published.
	batch = 40
	// parallel is the number of load balancers that are read at once.
	parallel = 4
	// mostStatuses is the number of status trees that are read after the lists, the oldest first.
	mostStatuses = 10
	// statusInterval is the time between two searches for orphans, conflicts and left ports.
	statusInterval = time.Minute
	// planAge is the maximum age of a plan if nothing has changed that it is known to depend on.
	planAge = time.Minute
	// settle is the time in which changes of the cluster are combined.
	settle = 250 * time.Millisecond
)

// The sources of problems.
const (
	ofKubernetes = "Kubernetes"
	ofOpenStack  = "OpenStack"
)

// Watcher reads the facts. Only one Watch may run at a time.
type Watcher struct {
	Options
	// planner is nil until OpenStack is connected.
	planner  *planner.Planner
	lists    lists
	status   report.StatusList
	statusAt time.Time
	// services, events and nothing (why there is no Service) are the state of the cluster when it was last read.
	// servicesAt is when it last answered.
	services   []topology.ServiceFacts
	events     map[types.UID][]corev1.Event
	nothing    string
	servicesAt time.Time
	plans      map[owner.Key]plan
	// used are the load balancers of Services in the last topology.
	used     map[string]bool
	problems map[string]topology.Problem
	kube     *kube
}

// New returns a Watcher, which reads nothing before Watch.
func New(o Options) *Watcher {
	return &Watcher{Options: o, lists: lists{details: map[string]detail{}}, plans: map[owner.Key]plan{},
		used: map[string]bool{}, problems: map[string]topology.Problem{}}
}

// Watch reads until the context ends, and publishes each topology. The next Watch reuses what it has read.
func (w *Watcher) Watch(ctx context.Context, publish func(topology.Topology)) {
	w.kube = newKube(w.Options)
	defer w.kube.stop()
	show := func() {
		if ctx.Err() == nil {
			publish(w.topology(ctx))
		}
	}
	for first := true; ctx.Err() == nil; first = false {
		w.readCluster(ctx)
		w.connect()
		if first && (w.planner == nil || !w.lists.readAt.IsZero()) {
			show() // the cloud may be slow
		}
		if w.planner != nil {
			w.noteUnlessEnded(ctx, ofOpenStack, w.read(ctx, show))
		}
		show()
		w.wait(ctx, show)
	}
}

// readCluster starts the watches of the cluster or, if they run, checks that it answers.
func (w *Watcher) readCluster(ctx context.Context) {
	err := w.kube.start(ctx)
	if err == nil {
		w.servicesAt = time.Now()
	}
	w.noteUnlessEnded(ctx, ofKubernetes, err)
}

// connect makes the planner when OpenStack is connected.
func (w *Watcher) connect() {
	// Signals until now are handled now. Otherwise the wait would end at once, and everything would be read twice.
	select {
	case <-w.Cloud.changed:
	default:
	}
	connected, since, failure := w.Cloud.current()
	if connected == nil {
		w.planner = nil
		w.note(ofOpenStack, failure, since)
		return
	}
	options := *connected
	if w.kube.synced {
		options.Reader = w.kube.reader
	}
	w.planner = planner.New(options)
}

// read reads the lists and then the details, and publishes in between.
func (w *Watcher) read(ctx context.Context, publish func()) error {
	if err := w.readLists(ctx); err != nil {
		return err
	}
	w.topology(ctx) // finds out which load balancers are used
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
	return w.readStatus(ctx)
}

func (w *Watcher) readLists(ctx context.Context) error {
	balancers, err := w.planner.Options.Octavia.Listed(ctx)
	if err != nil {
		return err
	}
	floating, err := w.planner.Options.Neutron.FloatingIPs(ctx)
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

func (w *Watcher) readStatus(ctx context.Context) error {
	if !w.kube.synced || time.Since(w.statusAt) < statusInterval {
		return nil
	}
	source := report.NewSource(w.planner)
	source.Finder.Reader = w.planner.Options.Secrets                              // has no cache, and reads namespaces
	found, err := report.Status(ctx, source, report.StatusOptions{NoDrift: true}) // the plans are the watcher's own
	if err != nil {
		return err
	}
	w.status, w.statusAt = found, time.Now()
	return nil
}

// wait waits until the lists must be read again, or until the connection to OpenStack changes. Meanwhile it publishes
// changes of the cluster.
func (w *Watcher) wait(ctx context.Context, publish func()) {
	next := time.After(w.Interval)
	for {
		select {
		case <-ctx.Done():
			return
		case <-next:
			return
		case <-w.Cloud.changed:
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

// noteUnlessEnded records the error of a read, unless the read was cancelled, which is not a problem of the cluster or
// the cloud.
func (w *Watcher) noteUnlessEnded(ctx context.Context, of string, err error) {
	if ctx.Err() == nil {
		w.note(of, err, time.Now())
	}
}

// note records what could not be read, and since when, or clears it if err is nil.
func (w *Watcher) note(of string, err error, since time.Time) {
	if err == nil {
		delete(w.problems, of)
		return
	}
	p := topology.Problem{Of: of, Message: openstack.Reason(err), Action: w.action(of, err), Since: since}
	if before, known := w.problems[of]; known {
		p.Since = before.Since
	} else {
		w.Logger.Info("cannot read everything that the page shows", "of", of, "error", err.Error())
	}
	w.problems[of] = p
}

// action returns what to do about a problem.
func (w *Watcher) action(of string, err error) string {
	const again = "It is retried after each interval."
	switch {
	case of == ofKubernetes && apierrors.IsForbidden(err):
		return "Give the user the right to list and watch services, nodes, endpointslices and events in all namespaces, and to get namespace kube-system. " + again
	case of == ofKubernetes:
		return again
	}
	switch openstack.Classify(err) {
	case openstack.Unauthorized:
		if w.LoginFollowed {
			return fmt.Sprintf("Replace the credentials in %s. It is read again when it changes.", w.Login)
		}
		return fmt.Sprintf("Replace the credentials in %s, and start this command again.", w.Login)
	case openstack.Invalid:
		return "Check the roles and access rules of the credentials in " + w.Login + ". `kube-octavia doctor` shows what is missing."
	case openstack.Throttled:
		return "The cloud limits the rate of calls. They are retried; a longer --refresh-interval needs fewer calls."
	}
	return again + " If it persists, `kube-octavia doctor` checks the cloud."
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

// errNotSynced returns the error that the watches did not start in time.
func errNotSynced(limit time.Duration) error {
	return fmt.Errorf("the watches of Services, nodes, EndpointSlices and events did not start within %v", limit)
}
