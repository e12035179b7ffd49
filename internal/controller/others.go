// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// lookLimit limits the search for other controllers, because the first pass waits for it.
const lookLimit = 10 * time.Second

// OthersOptions configure an Others.
type OthersOptions struct {
	// Reader reads from the API server, without a cache. Client writes events.
	Reader client.Reader
	Client client.Writer
	Policy claim.Policy
	// Lease is the Lease of this controller.
	Lease   othercontroller.LeaseName
	Metrics *metrics.Metrics
	Logger  logr.Logger
}

// Others searches for other controllers of the same Services and reports them in the log, by an event and by a metric.
// It never prevents the controller from working. It is safe for concurrent use.
type Others struct {
	OthersOptions

	looking sync.Mutex
	// facts have the result of the last reads. If a read fails, its earlier result stays. failed has
	// the reads that failed.
	facts  othercontroller.Facts
	looked bool
	failed map[string]bool

	mu sync.Mutex
	// told has the controllers that were reported.
	told map[string]othercontroller.Finding
}

// NewOthers returns an Others that has not searched yet.
func NewOthers(o OthersOptions) *Others {
	o.Logger = o.Logger.WithName("other-controllers")
	return &Others{OthersOptions: o, told: map[string]othercontroller.Finding{}, failed: map[string]bool{},
		facts: othercontroller.Facts{Policy: o.Policy, Own: o.Lease}}
}

// BeforeWriting returns after the first search. Call it before anything is written.
func (o *Others) BeforeWriting(ctx context.Context) {
	o.looking.Lock()
	defer o.looking.Unlock()
	if !o.looked {
		o.look(ctx)
	}
}

// Look searches again.
func (o *Others) Look(ctx context.Context) {
	o.looking.Lock()
	defer o.looking.Unlock()
	o.look(ctx)
}

// Serving returns the names of the other controllers that are known to serve Services now, or "".
func (o *Others) Serving() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for who, one := range o.told {
		if one.Kind == othercontroller.OCCM || one.Kind == othercontroller.Instance {
			names = append(names, who)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sources returns the sources for controllers whose first pass must wait for the first search. Key is the type of
// the items of their queues.
func sources[key comparable](o *Others) []source.TypedSource[key] {
	return []source.TypedSource[key]{source.TypedFunc[key](func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[key]) error {
		o.BeforeWriting(ctx)
		return nil
	})}
}

func (o *Others) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	f := &o.facts
	lease := "Lease " + othercontroller.OCCMLease.String()
	set(ctx, o, lease, &f.OCCM, othercontroller.ReadOCCM)
	f.OCCMUnknown = f.OCCM == nil && o.failed[lease]
	set(ctx, o, "DaemonSets and Deployments of openstack-cloud-controller-manager", &f.Workloads, othercontroller.ReadWorkloads)
	set(ctx, o, "Leases of other kube-octavia", &f.Instances, othercontroller.ReadInstances)
	if !o.looked { // later, the conflict detection notices writes of others
		set(ctx, o, "managed fields of Services", &f.Writes, func(ctx context.Context, reader client.Reader) ([]othercontroller.Write, error) {
			return othercontroller.ReadWrites(ctx, reader, o.Policy.Serves)
		})
	}
	f.Now = time.Now()
	found, seen := othercontroller.Find(*f)
	if !o.looked {
		o.Logger.Info("looked for other controllers of the same Services", "found", len(found), "seen", strings.Join(seen, "; "))
	}
	o.looked = true
	o.tell(ctx, found)
}

// set reads one kind of facts. It logs a failure once.
func set[T any](ctx context.Context, o *Others, what string, into *T, read func(context.Context, client.Reader) (T, error)) {
	value, err := read(ctx, o.Reader)
	if err == nil {
		*into = value
		delete(o.failed, what)
		return
	}
	if errors.Is(err, context.Canceled) || o.failed[what] {
		return
	}
	o.failed[what] = true
	do := "it is retried after each sweep"
	if apierrors.IsForbidden(err) {
		do = "apply deploy/clusterrole.yaml, or upgrade the chart; nothing else needs this right"
	}
	o.Logger.Info("cannot look for other controllers of the same Services", "what", what, "error", err.Error(), "do", do)
}

// tell reports controllers that are new or gone.
func (o *Others) tell(ctx context.Context, found []othercontroller.Finding) {
	now := map[string]othercontroller.Finding{}
	count := map[othercontroller.Kind]int{}
	for _, one := range found {
		now[one.Who] = one
		count[one.Kind]++
	}
	for _, kind := range othercontroller.Kinds() {
		o.Metrics.OtherControllers.WithLabelValues(string(kind)).Set(float64(count[kind]))
	}
	o.mu.Lock()
	before := o.told
	o.told = now
	o.mu.Unlock()
	for _, one := range found {
		if _, known := before[one.Who]; !known {
			o.Logger.Info("another controller serves the same Services", "kind", string(one.Kind), "found", one.What, "why", othercontroller.Why, "do", one.Do)
			o.event(ctx, corev1.EventTypeWarning, status.ReasonOtherController, one.What+". "+othercontroller.Why+" "+one.Do)
		}
	}
	for who, one := range before {
		if _, still := now[who]; !still {
			o.Logger.Info("another controller does not serve the same Services any more", "kind", string(one.Kind), "controller", who)
			o.event(ctx, corev1.EventTypeNormal, status.ReasonOtherControllerGone, who+" does not serve the same Services any more")
		}
	}
}

// event writes an event about namespace kube-system, whose uid identifies the cluster. It uses no recorder, because
// recorders write later, and this event must exist before anything else is written.
func (o *Others) event(ctx context.Context, kind, reason, note string) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "kube-octavia-", Namespace: metav1.NamespaceDefault},
		EventTime:  metav1.NowMicro(), ReportingController: "kube-octavia", ReportingInstance: "kube-octavia-" + host, Action: "LookForOthers",
		Type: kind, Reason: reason, Note: status.Note(note),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem, UID: types.UID(o.Policy.ClusterUID)},
	}
	if err := o.Client.Create(ctx, e); err != nil {
		o.Logger.Error(fmt.Errorf("create event %s about namespace %s: %w", reason, metav1.NamespaceSystem, err), "cannot report another controller by an event")
	}
}
