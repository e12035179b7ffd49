// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

// atOnce is the number of objects that are deleted concurrently.
const atOnce = 8

// Cleaner deletes what one cluster has left.
type Cleaner struct {
	Octavia  *octavia.Client
	Neutron  *neutron.Client
	Barbican *barbican.Client
	// Routes are the routes of the cluster; nil if they are not cleaned up.
	Routes  *routes.Routes
	Options Options
	// Spare returns Options.Spared. It is called after everything else was read, so that it knows all Services whose
	// objects were read. It is nil if the cluster is gone.
	Spare func(context.Context) (map[string]string, error)
	// Interval is the time between two reads of the cloud.
	Interval time.Duration
	// Progress is called after each read. It may be nil.
	Progress func(Progress)
}

// Progress is the progress of a cleanup.
type Progress struct {
	// Deleted and Total are numbers of objects. Total grows if objects appear meanwhile.
	Deleted, Total int
	// Waiting has what the next objects wait for, sorted.
	Waiting []string
}

// Look reads the cloud and returns the plan. It writes nothing. It returns an error if it is unclear which cluster is
// meant.
func (c *Cleaner) Look(ctx context.Context) (Plan, error) {
	// Ports are read first, so that a port that is created meanwhile does not count as left behind.
	ports, err := c.Neutron.VIPPorts(ctx)
	if err != nil {
		return Plan{}, err
	}
	all := Inventory{Ports: ports}
	all.LoadBalancers, err = c.Octavia.Listed(ctx)
	if err != nil {
		return Plan{}, err
	}
	all.FloatingIPs, err = c.Neutron.FloatingIPs(ctx)
	if err != nil {
		return Plan{}, err
	}
	if err := c.readGroups(ctx, &all); err != nil {
		return Plan{}, err
	}
	if uid := c.Options.Cluster.UID; uid != "" && c.Barbican.Available() {
		all.Certificates, err = c.Barbican.Certificates(ctx, uid)
		if err := unlessRefused(&all, "certificates in Barbican", err); err != nil {
			return Plan{}, err
		}
	}
	if c.Routes != nil {
		facts, err := c.Routes.Facts(ctx)
		if err := unlessRefused(&all, "routes to Pods", err); err != nil {
			return Plan{}, err
		}
		all.Routes = facts.Left()
	}
	if err := Check(c.Options.Cluster, all); err != nil {
		return Plan{}, err
	}
	options := c.Options
	if c.Spare != nil {
		options.Spared, err = c.Spare(ctx)
		if err != nil {
			return Plan{}, err
		}
	}
	return NewPlan(options, all), nil
}

// readGroups reads the security groups, and the ports that have those of the cluster.
func (c *Cleaner) readGroups(ctx context.Context, all *Inventory) error {
	groups, err := c.Neutron.SecurityGroups(ctx)
	if err != nil {
		return unlessRefused(all, "security groups", err)
	}
	var ids []string
	for _, g := range groups {
		if c.Options.Cluster.CreatedSecurityGroup(g.Name, g.Description) {
			ids = append(ids, g.ID)
		}
	}
	all.SecurityGroups = groups
	all.GroupPorts, err = c.Neutron.PortsWithGroups(ctx, ids...)
	return err
}

// unlessRefused records what these credentials may not read, or what does not exist, such as a router that is already
// deleted. The rest is cleaned up nevertheless.
func unlessRefused(all *Inventory, what string, err error) error {
	switch openstack.Classify(err) {
	case openstack.Unauthorized, openstack.Invalid, openstack.Gone:
		all.Unread = append(all.Unread, what+": "+err.Error())
		return nil
	}
	return err
}

// key identifies the object and the Service of a write: a load balancer that stays may serve several
// Services of the cluster.
type key struct {
	kind    Kind
	id      string
	service string
}

func (o Object) key() key { return key{o.Kind, o.ID, o.Service} }

// run is the state of one Run. It is only for reports: the next step depends only on the cloud.
type run struct {
	*Cleaner
	// seen has all objects that were to be deleted, failed the error of the last write to each.
	seen   map[key]bool
	failed map[key]error
}

// Run deletes the objects of the cluster until none is left or the context ends. It returns the last plan: what
// remains, and what is kept. The error joins the reasons why objects could not be deleted.
func (c *Cleaner) Run(ctx context.Context) (Plan, error) {
	r := run{Cleaner: c, seen: map[key]bool{}, failed: map[key]error{}}
	if c.Options.Deleted == nil {
		c.Options.Deleted = map[string]bool{}
	}
	var last Plan
	for {
		plan, err := c.Look(ctx)
		if err != nil && (ctx.Err() != nil || !temporary(err)) {
			return last, errors.Join(err, r.unfinished(ctx, last))
		}
		if err == nil {
			last = plan
			left := plan.Remaining()
			r.report(left)
			if len(left) == 0 {
				return plan, plan.Incomplete()
			}
			r.write(ctx, left)
			if r.stuck(left) {
				return last, r.unfinished(ctx, last)
			}
		}
		select {
		case <-ctx.Done():
			return last, r.unfinished(ctx, last)
		case <-time.After(c.Interval):
		}
	}
}

// temporary reports whether the same call may succeed later.
func temporary(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Transient, openstack.Throttled, openstack.Busy, openstack.Conflict:
		return true
	}
	return false
}

// stuck reports whether every remaining write is permanently refused.
func (r *run) stuck(left []Object) bool {
	return !slices.ContainsFunc(left, func(o Object) bool {
		if o.heldBack {
			return false // an object that is refused blocks it
		}
		failure := r.failed[o.key()]
		return failure == nil || temporary(failure)
	})
}

func (r *run) report(left []Object) {
	waiting := map[string]int{}
	for _, o := range left {
		r.seen[o.key()] = true
		switch {
		case o.Waits != "":
			waiting[o.Waits]++
		case r.failed[o.key()] != nil:
			waiting[openstack.Reason(r.failed[o.key()])]++
		}
	}
	if r.Progress == nil {
		return
	}
	p := Progress{Deleted: len(r.seen) - len(left), Total: len(r.seen)}
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		p.Waiting = append(p.Waiting, fmt.Sprintf("%d: %s", waiting[reason], reason))
	}
	r.Progress(p)
}

// write carries out the writes that are possible now.
func (r *run) write(ctx context.Context, left []Object) {
	failures := make([]error, len(left))
	var calls errgroup.Group
	calls.SetLimit(atOnce)
	for i, o := range left {
		calls.Go(func() error {
			for _, s := range o.steps {
				failures[i] = r.apply(ctx, s)
				if failures[i] != nil {
					break
				}
			}
			return nil
		})
	}
	_ = calls.Wait() // failures has all errors
	for i, o := range left {
		if len(o.steps) == 0 {
			continue
		}
		r.failed[o.key()] = failures[i]
		if _, whole := o.steps[0].(diff.DeleteLoadBalancer); whole && failures[i] == nil {
			r.Options.Deleted[o.ID] = true
		}
	}
}

func (r *run) apply(ctx context.Context, s step) error {
	switch op := s.(type) {
	case diff.Op:
		if op.Octavia() {
			_, err := r.Octavia.Apply(ctx, op)
			return err
		}
		_, err := r.Neutron.Apply(ctx, op)
		return err
	case securitygroup.Op:
		_, err := r.Neutron.ApplySecurityGroup(ctx, op)
		return err
	case lb.Certificate:
		return r.Barbican.Delete(ctx, op)
	case portDeletion:
		return r.Neutron.DeletePort(ctx, op.id)
	case routeDeletion:
		return r.Routes.Delete(ctx, op.Route)
	}
	return fmt.Errorf("no write for %T", s)
}

// IncompleteError lists what could not be read.
type IncompleteError struct{ Unread []string }

// Error implements error.
func (e *IncompleteError) Error() string {
	return "these could not be read, so some may be left: " + strings.Join(e.Unread, "; ")
}

// Incomplete returns an *IncompleteError if the plan may lack objects.
func (p Plan) Incomplete() error {
	if len(p.Unread) == 0 {
		return nil
	}
	return &IncompleteError{p.Unread}
}

// unfinished returns what could not be deleted, and why.
func (r *run) unfinished(ctx context.Context, last Plan) error {
	left := last.Remaining()
	if len(left) == 0 {
		return ctx.Err()
	}
	problems := []error{fmt.Errorf("%d objects are left; run the command again to continue", len(left)), last.Incomplete()}
	for _, o := range left {
		why := errors.New("its deletion has not ended")
		if failure := r.failed[o.key()]; failure != nil {
			why = failure
		} else if o.Waits != "" {
			why = errors.New(o.Waits)
		}
		problems = append(problems, fmt.Errorf("%s %s (%s): %w", o.Kind, o.ID, o.Name, why))
	}
	return errors.Join(problems...)
}
