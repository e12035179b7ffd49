// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube-octavia/kube-octavia/internal/operate/cleanup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// Drainer drains the Services of one controller.
type Drainer struct {
	// ClusterUID is the uid of the cluster.
	ClusterUID string
	// Owners reads the owners of load balancers from the API server, with the policy of the controller, and Drain.
	Owners claim.Owners
	// Cleaner deletes what is left when the Services are released. New sets its Spare.
	Cleaner *cleanup.Cleaner
	// Interval is the time between two reads of the Services.
	Interval time.Duration
	// Progress is called after each read.
	Progress func(cleanup.Progress)
}

// New returns a Drainer whose Cleaner spares the Services of other controllers.
func New(d Drainer) *Drainer {
	d.Cleaner.Spare = func(ctx context.Context) (map[string]string, error) {
		all, err := d.owners(ctx)
		return Spared(all), err
	}
	return &d
}

// Run waits until all Services are released and deletes what is left. It returns the remaining Services and objects,
// and an error with the reasons. It is not an error if these credentials cannot list some kinds of objects: released
// Services have none of them, only orphans may be left.
func (d *Drainer) Run(ctx context.Context) ([]Service, cleanup.Plan, error) {
	if left, err := d.awaitReleases(ctx); err != nil {
		return left, cleanup.Plan{Cluster: d.Cleaner.Options.Cluster, Objects: []cleanup.Object{}}, err
	}
	last, err := d.Cleaner.Run(ctx)
	if incomplete := (*cleanup.IncompleteError)(nil); len(last.Remaining()) == 0 && errors.As(err, &incomplete) {
		err = nil
	}
	return nil, last, err
}

// awaitReleases waits until no Service is left.
func (d *Drainer) awaitReleases(ctx context.Context) (left []Service, _ error) {
	seen := map[string]bool{}
	for {
		all, err := d.owners(ctx)
		if err != nil {
			return left, errors.Join(err, unreleased(left))
		}
		left = Left(all)
		if d.report(seen, left); len(left) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return left, unreleased(left)
		case <-time.After(d.Interval):
		}
	}
}

// owners lists all owners. It tries again if the API server does not answer.
func (d *Drainer) owners(ctx context.Context) ([]claim.Owner, error) {
	for {
		all, err := orphan.Owners(ctx, d.Owners, d.ClusterUID)
		if err == nil || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return all, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(d.Interval):
		}
	}
}

// report reports how many of the Services seen so far are released, and why the others are not.
func (d *Drainer) report(seen map[string]bool, left []Service) {
	waiting := map[string]int{}
	for _, s := range left {
		seen[s.String()] = true
		waiting[cmp.Or(s.Reason, "not processed yet")]++
	}
	p := cleanup.Progress{Deleted: len(seen) - len(left), Total: len(seen)}
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		p.Waiting = append(p.Waiting, fmt.Sprintf("%d: %s", waiting[reason], reason))
	}
	d.Progress(p)
}

// unreleased returns an error with the Services that are not released, and the reasons. It returns
// nil for none.
func unreleased(left []Service) error {
	if len(left) == 0 {
		return nil
	}
	problems := []error{fmt.Errorf("%d Services are not released; run the command again to continue", len(left))}
	for _, s := range left {
		problems = append(problems, fmt.Errorf("Service %s: %s", s, cmp.Or(s.Message, "not processed yet")))
	}
	return errors.Join(problems...)
}
