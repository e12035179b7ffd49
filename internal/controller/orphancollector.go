// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// collector tells of objects in the cloud that belong to no Service any more, and
// deletes them when they were so for the grace period.
type collector struct {
	clusterUID string
	kinds      []orphanKind
	grace      time.Duration
	// cached returns the uids of the Services that may have something in the cloud
	// from the cache, to find out whether there is anything to look into; owners asks
	// the API server, and is what decides.
	cached, owners func(context.Context) (map[string]bool, error)
	recorder       events.EventRecorder
	metrics        *metrics.Metrics
	log            logr.Logger
	now            func() time.Time

	// known is since when what is an orphan is one, tried when its deletion was
	// tried last.
	known, tried map[objectKey]time.Time
	// leaving are those whose deletion was begun and not seen to end.
	leaving map[objectKey]orphan
}

// collect makes one look. Whatever it cannot find out ends it before anything is
// told or deleted.
func (c *collector) collect(ctx context.Context, found inventory) error {
	var marked []object
	var kinds []string
	for _, kind := range c.kinds {
		marked = append(marked, kind.marked(found, c.clusterUID)...)
		kinds = append(kinds, kind.name)
	}
	owners, err := c.cached(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(marked, func(o object) bool { return !owned(o, owners) }) {
		if owners, err = c.owners(openstack.WithRequestID(ctx, openstack.NewRequestID())); err != nil {
			return err
		}
	}
	v := judge(marked, owners, c.known, c.tried, kinds, c.now(), c.grace)
	c.note(v)
	errs := c.seeOff(ctx, marked)
	for _, o := range v.due {
		errs = append(errs, c.remove(ctx, o))
	}
	return errors.Join(errs...)
}

// seeOff tells of orphans whose deletion has ended. One that is still listed is not
// asked for; one that is not may have lost its mark only.
func (c *collector) seeOff(ctx context.Context, marked []object) (errs []error) {
	for _, o := range slices.SortedFunc(maps.Values(c.leaving), func(a, b orphan) int { return cmp.Compare(a.id, b.id) }) {
		if slices.ContainsFunc(marked, func(m object) bool { return m.objectKey == o.objectKey }) {
			continue
		}
		gone, err := c.kind(o).gone(openstack.WithRequestID(ctx, openstack.NewRequestID()), o.id)
		if err != nil {
			errs = append(errs, fmt.Errorf("look whether orphan %s %s is gone: %w", o.kind, o.name, err))
			continue
		}
		delete(c.leaving, o.objectKey)
		if gone {
			c.tellDeleted(o)
		}
	}
	return errs
}

func (c *collector) kind(o orphan) orphanKind {
	return c.kinds[slices.IndexFunc(c.kinds, func(k orphanKind) bool { return k.name == o.kind })]
}

// note remembers the orphans and tells of those that are new.
func (c *collector) note(v verdict) {
	known, tried, count := map[objectKey]time.Time{}, map[objectKey]time.Time{}, map[string]int{}
	for _, o := range v.orphans {
		count[o.kind]++
		if when, there := c.tried[o.objectKey]; there {
			tried[o.objectKey] = when
		}
		known[o.objectKey] = o.since
		if _, there := c.known[o.objectKey]; !there {
			c.tell(o, corev1.EventTypeWarning, status.ReasonOrphanFound, fmt.Sprintf(
				"%s %s %s %s, which does not exist or has given it up; %s", o.kind, o.name, c.kind(o).bears, o.serviceUID, c.outlook(o)))
		}
	}
	for _, kind := range c.kinds {
		c.metrics.Orphans.WithLabelValues(kind.name).Set(float64(count[kind.name]))
	}
	c.known, c.tried = known, tried
}

// outlook says what will become of an orphan.
func (c *collector) outlook(o orphan) string {
	if c.grace == Never {
		return "delete it by hand if nobody needs it"
	}
	text := fmt.Sprintf("it is deleted when it has been so for %v", c.grace)
	if o.inUse != "" {
		text += ", but not as it is: " + o.inUse
	}
	return text
}

// remove deletes one orphan, or begins to.
func (c *collector) remove(ctx context.Context, o orphan) error {
	c.tried[o.objectKey] = c.now()
	kind := c.kind(o)
	ctx = openstack.WithRequestID(ctx, openstack.NewRequestID())
	left, err := kind.look(ctx, o.object)
	if err == nil && left == "" {
		// The looks may have taken long, and the Service may have come back meanwhile.
		var owners map[string]bool
		if owners, err = c.owners(ctx); owned(o.object, owners) {
			left = "its Service has it again"
		}
	}
	if err == nil && left == "" {
		err = kind.remove(ctx, o.object)
	}
	switch {
	case err != nil:
		return fmt.Errorf("delete orphan %s %s: %w", o.kind, o.name, err)
	case left != "":
		c.log.Info("an orphan is left as it is", "kind", o.kind, "id", o.id, "name", o.name, "why", left)
	case kind.gone != nil:
		c.log.Info("an orphan is being deleted", "kind", o.kind, "id", o.id, "name", o.name)
		if c.leaving == nil {
			c.leaving = map[objectKey]orphan{}
		}
		c.leaving[o.objectKey] = o
	default:
		c.tellDeleted(o)
	}
	return nil
}

func (c *collector) tellDeleted(o orphan) {
	c.tell(o, corev1.EventTypeNormal, status.ReasonOrphanDeleted, fmt.Sprintf(
		"%s %s was deleted: Service uid %s has not existed, or had given it up, for %v", o.kind, o.name, o.serviceUID, c.now().Sub(o.since).Round(time.Second)))
}

// tell logs and writes an event. There is no Service that it could be about, so it
// is about what gives the cluster its uid, and about the object.
func (c *collector) tell(o orphan, kind, reason, message string) {
	c.log.Info(message, "reason", reason, "id", o.id)
	cluster := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(c.clusterUID)}}
	related := &corev1.ObjectReference{Kind: o.kind, Name: o.id}
	c.recorder.Eventf(cluster, related, kind, reason, "CollectOrphans", "%s", message)
}

// servicesPerPage is how many Services are asked for at once.
const servicesPerPage = 500

// Owners returns the uids of the Services of the cluster, of whatever class, that may
// have something in the cloud (see addOwners and owned). It makes sure that it is this cluster that
// answers, and that it shows everything: every cluster has the Service of its own API.
func (p *Planner) Owners(ctx context.Context, reader client.Reader) (map[string]bool, error) {
	var system corev1.Namespace
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if string(system.UID) != p.ClusterUID {
		return nil, fmt.Errorf("the cluster that answers has uid %s and is not the one of this controller, %s", system.UID, p.ClusterUID)
	}
	owners := map[string]bool{}
	complete := false
	for next := ""; ; {
		var page corev1.ServiceList
		if err := reader.List(ctx, &page, client.Limit(servicesPerPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		p.addOwners(owners, page.Items)
		complete = complete || slices.ContainsFunc(page.Items, func(s corev1.Service) bool {
			return s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes"
		})
		if next = page.Continue; next == "" {
			break
		}
	}
	if !complete {
		return nil, errors.New("the list of Services lacks default/kubernetes, so others may be missing, too")
	}
	return owners, nil
}

// cachedOwners is Owners from the cache, and makes sure of nothing.
func (p *Planner) cachedOwners(ctx context.Context) (map[string]bool, error) {
	var services corev1.ServiceList
	if err := p.Reader.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	owners := make(map[string]bool, len(services.Items))
	p.addOwners(owners, services.Items)
	return owners, nil
}

// addOwners adds the uids of Services that may have something in the cloud, and of others
// that ask for their address to be kept, these for floating IPs only.
func (p *Planner) addOwners(owners map[string]bool, services []corev1.Service) {
	for i := range services {
		switch service := &services[i]; {
		case claim.MayOwn(service):
			owners[string(service.UID)] = true
		case service.Annotations[annotation.KeepFloatingIP] != "" && p.keepsFloatingIP(service):
			owners[addressOwner(string(service.UID))] = true
		}
	}
}

// addressOwner is how a Service stands among owners whose floating IP alone is its own.
func addressOwner(uid string) string { return diff.Object(diff.CreateFloatingIP{}) + " of " + uid }

// owned reports whether one of the owners may want the object.
func owned(o object, owners map[string]bool) bool {
	return owners[o.serviceUID] || o.kind == diff.Object(diff.CreateFloatingIP{}) && owners[addressOwner(o.serviceUID)]
}
