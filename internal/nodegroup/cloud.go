// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// objectSecurityGroup is the kind of object in metrics.
const objectSecurityGroup = "security group"

// observe reads what is not known: all of it in the beginning, after a failure and once in
// an interval, and the ports of servers that were not looked for yet.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	if !r.unanswered.IsZero() && r.Now().Sub(r.unanswered) >= r.Timing.AnswerLimit {
		// What the create made shows by now.
		r.unanswered, r.known = time.Time{}, false
	}
	if !r.known || r.Now().Sub(r.looked) >= r.Interval {
		if err := r.look(ctx, p); err != nil {
			r.known = false
			return err
		}
	}
	rules := slices.ContainsFunc(p.wanted.Groups, func(w securitygroup.WantedGroup) bool { return len(w.Rules) > 0 })
	if len(r.observed.Groups) == 0 && !rules {
		return nil // there is nothing to put on ports
	}
	var servers []string
	for _, n := range p.wanted.Nodes {
		if n.ServerID != "" && !r.asked[n.ServerID] && !r.observed.HasPorts(n) {
			servers = append(servers, n.ServerID)
		}
	}
	return r.readPorts(ctx, servers...)
}

// look reads the groups and all ports that have one: one call each, for a hundred groups, and
// one more the first time, in which they are looked for among all of the project.
func (r *Reconciler) look(ctx context.Context, p *pass) error {
	var ids []string
	if r.known {
		for _, g := range r.observed.Groups {
			ids = append(ids, g.ID)
		}
	}
	found, err := r.Cloud.SecurityGroups(ctx, ids...)
	if err == nil && len(ids) > len(found) {
		// Somebody deleted one. Another may be there.
		found, err = r.Cloud.SecurityGroups(ctx)
	}
	if err != nil {
		return err
	}
	for i := range found {
		found[i].For = r.useOf(found[i])
	}
	found = slices.DeleteFunc(found, func(g securitygroup.Group) bool { return g.For == "" })
	next := securitygroup.Observed{Groups: found}
	ids = nil
	for _, g := range found {
		ids = append(ids, g.ID)
	}
	if len(ids) > 0 {
		if next.Ports, err = r.Cloud.PortsWithGroups(ctx, ids...); err != nil {
			return err
		}
	}
	if r.known && r.settled != nil && reflect.DeepEqual(*r.settled, p.wanted) && len(securitygroup.Diff(p.wanted, next)) > 0 {
		r.Metrics.Drift.WithLabelValues(objectSecurityGroup).Inc()
		p.log.Info("somebody else changed a security group of the nodes, or took it off a port; that is put right")
	}
	r.observed, r.known, r.looked, r.asked = next, true, r.Now(), map[string]bool{}
	return nil
}

// readPorts reads the ports of servers.
func (r *Reconciler) readPorts(ctx context.Context, servers ...string) error {
	if len(servers) == 0 {
		return nil
	}
	ports, err := r.Cloud.PortsOfServers(ctx, servers...)
	if err != nil {
		return err
	}
	r.observed.Ports = slices.DeleteFunc(slices.Clone(r.observed.Ports), func(p securitygroup.Port) bool { return slices.Contains(servers, p.ServerID) })
	r.observed.Ports = append(r.observed.Ports, ports...)
	for _, id := range servers {
		r.asked[id] = true
	}
	return nil
}

// applyAll carries out the ops of a plan. What fails on one port holds up no other.
func (r *Reconciler) applyAll(ctx context.Context, p *pass, ops []securitygroup.Op) error {
	var failures []error
	r.settled = nil
	for _, op := range ops {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.leaves(op) {
			continue
		}
		create, creates := op.(securitygroup.CreateGroup)
		if creates && !r.mayMake(p, create) {
			p.refused[op.String()] = true
			continue
		}
		if creates && !r.unanswered.IsZero() {
			failures = append(failures, &openstack.Error{Op: op.String(), Class: openstack.Transient,
				Message: "an earlier attempt was not answered, so that the group may show up yet; waiting for that"})
			continue
		}
		if err := r.write(context.WithoutCancel(ctx), p, op); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// write carries out one op, and notes what it leads to. A failure that says that what was
// read does not hold any more is none: it is read again.
func (r *Reconciler) write(ctx context.Context, p *pass, op securitygroup.Op) error {
	began := r.Now()
	made, err := r.Cloud.ApplySecurityGroup(ctx, op)
	r.Metrics.Write(securitygroup.Kind(op), err, r.Now().Sub(began))
	if add, adds := op.(securitygroup.AddRules); adds {
		delete(p.unopened, add.GroupID)
		if err != nil {
			p.unopened[add.GroupID] = add
		}
	}
	if err == nil {
		p.log.Info(op.String())
		r.observed = r.observed.After(op, made)
		if _, deleted := op.(securitygroup.DeleteGroup); deleted {
			// There may be quota now for what was refused.
			clear(p.refused)
			p.failures = nil
		}
		return nil
	}
	class := openstack.Classify(err)
	p.log.Info("op failed", "what", op.String(), "class", class, "error", err.Error())
	set, onPort := op.(securitygroup.SetGroups)
	_, deletes := op.(securitygroup.DeleteGroup)
	var cloud *openstack.Error
	switch {
	case onPort && class == openstack.Conflict:
		return r.readPorts(ctx, set.Port.ServerID)
	case onPort && (class == openstack.Invalid || class == openstack.Quota):
		// It concerns this one node, and not those who wait for rules.
		p.refused[op.String()] = true
		r.lose(p, set.Port, openstack.Reason(err))
		return nil
	case class == openstack.Invalid || class == openstack.Quota:
		// It holds up nothing else.
		p.refused[op.String()] = true
		p.failures = append(p.failures, err)
		return nil
	case deletes && class == openstack.Conflict:
		// Somebody has put it on a port, which shows at the next look.
		r.known = false
		return err
	case class == openstack.Conflict || class == openstack.Gone:
		r.known = false
		return nil
	}
	if _, creates := op.(securitygroup.CreateGroup); creates && errors.As(err, &cloud) && cloud.Unanswered {
		r.unanswered = r.Now()
	}
	r.known = false
	return err
}

// lose notes why the node with the port cannot have the group.
func (r *Reconciler) lose(p *pass, port securitygroup.Port, why string) {
	for _, n := range p.wanted.Nodes {
		if n.ServerID == port.ServerID {
			p.lost[n.Name] = why
		}
	}
}

// tellNodes writes an event on each node that cannot have the group, once for each reason,
// and counts them.
func (r *Reconciler) tellNodes(p *pass) {
	if len(r.observed.Groups) > 0 && r.known {
		for _, n := range p.wanted.Nodes {
			if why := r.without(n); why != "" && p.lost[n.Name] == "" {
				p.lost[n.Name] = why
			}
		}
	}
	r.Metrics.Unattached.Set(float64(len(p.lost)))
	told := map[string]string{}
	for _, n := range p.nodes {
		why := p.lost[n.Name]
		if why == "" {
			continue
		}
		told[n.Name] = why
		if r.told[n.Name] != why {
			r.Recorder.Eventf(n, nil, corev1.EventTypeWarning, status.ReasonSecurityGroupNotAttached, "Reconcile", "%s",
				fmt.Sprintf("the security group by which load balancers reach nodes cannot be put on this one: %s", why))
		}
	}
	r.told = told
}

// without says why the node's port has not got the group, or "".
func (r *Reconciler) without(n securitygroup.Node) string {
	ports := r.observed.PortOf(n)
	switch {
	case n.ServerID == "" || !r.asked[n.ServerID] && len(ports) == 0:
		return ""
	case len(ports) == 0:
		return fmt.Sprintf("the project sees no port of server %s with the address %v", n.ServerID, n.Addresses)
	case slices.ContainsFunc(ports, func(p securitygroup.Port) bool { return p.Unprotected }):
		return "port security is off on its port, so that no security group filters anything there"
	}
	return ""
}
