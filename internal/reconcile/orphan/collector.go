// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// Collector reports orphans, and deletes them after the grace period.
type Collector struct {
	Finder *Finder
	// Uncached reads from the API server. Without its answer nothing is an orphan.
	Uncached client.Reader
	// Grace is how long orphans stay, or Never.
	Grace    time.Duration
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	Logger   logr.Logger

	// known are the orphans of the last sweep.
	known map[key]orphan
	// deleting are the orphans whose deletion has begun and has not been seen to end.
	deleting map[key]orphan
}

// Collect looks for orphans in the inventory. If a read fails, nothing is reported or deleted.
func (c *Collector) Collect(ctx context.Context, all Inventory) error {
	marked := c.Finder.marked(all)
	owners, err := c.Finder.cachedOwners(ctx)
	if err != nil {
		return err
	}
	if len(owners.orphans(marked, all)) > 0 {
		owners, err = c.Finder.owners(openstack.WithRequestID(ctx, openstack.NewRequestID()), c.Uncached)
		if err != nil {
			return err
		}
	}
	orphans, due := judge(owners.withoutServing(marked, all), owners, c.known, c.Finder.kinds(), time.Now(), c.Grace)
	c.note(orphans)
	errs := c.confirmDeletions(ctx, marked)
	for _, o := range due {
		errs = append(errs, c.remove(ctx, o))
	}
	return errors.Join(errs...)
}

// note remembers and counts the orphans, and reports the new ones.
func (c *Collector) note(orphans []orphan) {
	now, count := map[key]orphan{}, map[string]int{}
	for _, o := range orphans {
		count[o.Kind]++
		now[o.key()] = o
		if _, known := c.known[o.key()]; !known {
			c.report(o, corev1.EventTypeWarning, status.ReasonOrphanFound, fmt.Sprintf(
				"%s %s %s; %s", o.Kind, o.Name, c.kind(o).because(o.Object), c.consequence(o)))
		}
	}
	for _, kind := range c.Finder.kinds() {
		c.Metrics.Orphans.WithLabelValues(kind.name).Set(float64(count[kind.name]))
	}
	c.known = now
}

// consequence says what happens to an orphan.
func (c *Collector) consequence(o orphan) string {
	if c.Grace == Never {
		return "delete it by hand if nothing uses it"
	}
	text := fmt.Sprintf("it is deleted after %v", c.Grace)
	if o.InUse != "" {
		text += ", but it is kept at present because " + o.InUse
	}
	return text
}

// confirmDeletions reports the orphans whose deletion has ended. Those that are still marked are
// not read. The others may have lost only their mark.
func (c *Collector) confirmDeletions(ctx context.Context, marked []Object) (errs []error) {
	for _, o := range slices.SortedFunc(maps.Values(c.deleting), func(a, b orphan) int { return cmp.Compare(a.ID, b.ID) }) {
		if slices.ContainsFunc(marked, func(m Object) bool { return m.key() == o.key() }) {
			continue
		}
		gone, err := c.kind(o).gone(openstack.WithRequestID(ctx, openstack.NewRequestID()), o.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("check whether orphan %s %s is gone: %w", o.Kind, o.Name, err))
			continue
		}
		delete(c.deleting, o.key())
		if gone {
			c.reportDeleted(o)
		}
	}
	return errs
}

// remove deletes an orphan, or begins to.
func (c *Collector) remove(ctx context.Context, o orphan) error {
	o.tried = time.Now()
	c.known[o.key()] = o
	kind := c.kind(o)
	ctx = openstack.WithRequestID(ctx, openstack.NewRequestID())
	// The sweep may have taken long: the Service may use the object again.
	owners, err := c.Finder.owners(ctx, c.Uncached)
	keep := ""
	switch {
	case err != nil:
	case owners.have(o.Object):
		keep = "its Service uses it again"
	default:
		keep, err = kind.check(ctx, o.Object, owners)
	}
	if err == nil && keep == "" {
		err = kind.remove(ctx, o.Object)
	}
	log := c.Logger.WithValues("kind", o.Kind, "id", o.ID, "name", o.Name)
	switch {
	case err != nil:
		return fmt.Errorf("delete orphan %s %s: %w", o.Kind, o.Name, err)
	case keep != "":
		log.Info("keeping an orphan", "why", keep)
	case kind.gone != nil:
		log.Info("deleting an orphan")
		if c.deleting == nil {
			c.deleting = map[key]orphan{}
		}
		c.deleting[o.key()] = o
	default:
		c.reportDeleted(o)
	}
	return nil
}

func (c *Collector) kind(o orphan) kind {
	kinds := c.Finder.kinds()
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == o.Kind })]
}

func (c *Collector) reportDeleted(o orphan) {
	c.report(o, corev1.EventTypeNormal, status.ReasonOrphanDeleted, fmt.Sprintf(
		"%s %s was deleted: for %[4]v %[3]s did not exist, or did not use it", o.Kind, o.Name, o.Services(), time.Since(o.since).Round(time.Second)))
}

// report logs and writes an event. Its subject is the namespace whose uid identifies the
// cluster, because there is no Service; the related object is the orphan.
func (c *Collector) report(o orphan, kind, reason, message string) {
	c.Logger.Info(message, "reason", reason, "id", o.ID)
	cluster := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(c.Finder.Policy.ClusterUID)}}
	related := &corev1.ObjectReference{Kind: o.Kind, Name: o.ID}
	c.Recorder.Eventf(cluster, related, kind, reason, "CollectOrphans", "%s", message)
}
