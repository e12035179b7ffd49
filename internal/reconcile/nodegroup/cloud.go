// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// objectSecurityGroup is the kind of object in metrics.
const objectSecurityGroup = "security group"

// cloud is what is remembered of the cloud between passes.
type cloud struct {
	// Observed is what was read, and written since.
	securitygroup.Observed
	// known is whether plans can be based on it, and read is when all of it was last read.
	known bool
	read  time.Time
	// asked are the servers whose ports were read since then.
	asked map[string]bool
	// unanswered is when a create failed that Neutron may have executed, or zero.
	unanswered time.Time
}

// attempt is the result of the operations of one pass.
type attempt struct {
	// refused are operations that the pass does not repeat, failures their errors, and
	// servers the errors of those that concern only one server, by its id.
	refused  map[string]bool
	failures []error
	servers  map[string]string
	// missing are the rules, by group, that could not be added. The rules that they replace
	// are kept.
	missing map[string]securitygroup.AddRules
}

// skips reports whether the pass does not carry out the operation any more, or not yet.
func (a *attempt) skips(op securitygroup.Op) bool {
	if remove, removes := op.(securitygroup.RemoveRule); removes && a.missing[remove.GroupID].InPlaceOf(remove.Rule) {
		return true
	}
	return a.refused[op.String()]
}

// mostRounds limits how often one pass plans: an operation leads to the next one, and
// simultaneous changes by other clients are read again.
const mostRounds = 6

// apply brings the cloud to the desired state, as far as possible.
func (r *Reconciler) apply(ctx context.Context, wanted securitygroup.Wanted) (*attempt, error) {
	a := &attempt{refused: map[string]bool{}, servers: map[string]string{}, missing: map[string]securitygroup.AddRules{}}
	for range mostRounds {
		if err := r.observe(ctx, wanted); err != nil {
			return a, err
		}
		ops := slices.DeleteFunc(securitygroup.Diff(wanted, r.cloud.Observed), a.skips)
		if len(ops) == 0 {
			r.settled = nil
			if len(a.refused) == 0 {
				r.settled = &wanted
			}
			return a, errors.Join(a.failures...)
		}
		if err := r.applyAll(ctx, a, ops); err != nil {
			return a, errors.Join(append(a.failures, err)...)
		}
	}
	return a, errors.New("another client keeps changing the security groups of the nodes; they are read again later")
}

// observe reads what is not known: everything at first, after a failure and once per
// interval; the ports of servers that were not read yet.
func (r *Reconciler) observe(ctx context.Context, wanted securitygroup.Wanted) error {
	c := &r.cloud
	if !c.unanswered.IsZero() && r.Now().Sub(c.unanswered) >= r.Timing.AnswerLimit {
		// By now the group is visible, if it was created.
		c.unanswered, c.known = time.Time{}, false
	}
	if !c.known || r.Now().Sub(c.read) >= r.Interval {
		next, err := r.read(ctx)
		if err != nil {
			c.known = false
			return err
		}
		if c.known && r.settled != nil && reflect.DeepEqual(*r.settled, wanted) && len(securitygroup.Diff(wanted, next)) > 0 {
			r.Metrics.Drift.WithLabelValues(objectSecurityGroup).Inc()
			logr.FromContextOrDiscard(ctx).Info("another client changed a security group of the nodes, or detached it from a port; that is repaired")
		}
		*c = cloud{Observed: next, known: true, read: r.Now(), asked: map[string]bool{}, unanswered: c.unanswered}
	}
	rules := slices.ContainsFunc(wanted.Groups, func(w securitygroup.WantedGroup) bool { return len(w.Rules) > 0 })
	if len(c.Groups) == 0 && !rules {
		return nil // there is nothing to attach to ports
	}
	var servers []string
	for _, n := range wanted.Nodes {
		if n.ServerID != "" && !c.asked[n.ServerID] && !c.HasPorts(n) {
			servers = append(servers, n.ServerID)
		}
	}
	return r.readPorts(ctx, servers...)
}

// read reads the groups and all ports that have one of them: one call each per hundred
// groups. If the groups are not known, all groups of the project are read.
func (r *Reconciler) read(ctx context.Context) (next securitygroup.Observed, err error) {
	var ids []string
	if r.cloud.known {
		ids = groupIDs(r.cloud.Groups)
	}
	found, err := r.Cloud.SecurityGroups(ctx, ids...)
	if err == nil && len(ids) > len(found) {
		// Another client deleted one. There may be another group.
		found, err = r.Cloud.SecurityGroups(ctx)
	}
	if err != nil {
		return next, err
	}
	for _, g := range found {
		g.For = r.useOf(g)
		if g.For != "" {
			next.Groups = append(next.Groups, g)
		}
	}
	if len(next.Groups) > 0 {
		next.Ports, err = r.Cloud.PortsWithGroups(ctx, groupIDs(next.Groups)...)
	}
	return next, err
}

func groupIDs(groups []securitygroup.Group) (ids []string) {
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	return ids
}

// useOf returns the use of a group of the project, or "" if it is not managed here. Groups of
// Services that openstack-cloud-controller-manager created are left alone with AdoptObserve.
func (r *Reconciler) useOf(g securitygroup.Group) string {
	switch {
	case identity(r.Policy).Owns(g.Name, g.Description):
		return securitygroup.OfNodes
	case r.Config.SecurityGroupMode == config.ServiceSecurityGroups || !r.Observe:
		return lb.SecurityGroupOfService(r.Policy.ClusterName, g.Name, g.Description)
	}
	return ""
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
	others := slices.DeleteFunc(slices.Clone(r.cloud.Ports), func(p securitygroup.Port) bool { return slices.Contains(servers, p.ServerID) })
	r.cloud.Ports = append(others, ports...)
	for _, id := range servers {
		r.cloud.asked[id] = true
	}
	return nil
}

// applyAll carries out the operations of a plan. A failure on one port does not delay others.
func (r *Reconciler) applyAll(ctx context.Context, a *attempt, ops []securitygroup.Op) error {
	var failures []error
	r.settled = nil
	for _, op := range ops {
		create, creates := op.(securitygroup.CreateGroup)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case a.skips(op):
		case creates && create.For != securitygroup.OfNodes && !r.requirements.mayCreate(types.UID(create.For)):
			a.refused[op.String()] = true // its Service was deleted meanwhile
		case creates && !r.cloud.unanswered.IsZero():
			failures = append(failures, &openstack.Error{Op: op.String(), Class: openstack.Transient,
				Message: "an earlier create was not answered, so the group may still appear; waiting for that"})
		default:
			failures = append(failures, r.write(context.WithoutCancel(ctx), a, op))
		}
	}
	return errors.Join(failures...)
}

// write carries out one operation and remembers its result.
func (r *Reconciler) write(ctx context.Context, a *attempt, op securitygroup.Op) error {
	log, began := logr.FromContextOrDiscard(ctx), r.Now()
	made, err := r.Cloud.ApplySecurityGroup(ctx, op)
	r.Metrics.Write(securitygroup.Kind(op), err, r.Now().Sub(began))
	if add, adds := op.(securitygroup.AddRules); adds {
		if delete(a.missing, add.GroupID); err != nil {
			a.missing[add.GroupID] = add
		}
	}
	if err != nil {
		log.Info("operation failed", "what", op.String(), "class", openstack.Classify(err), "error", err.Error())
		return r.failed(ctx, a, op, err)
	}
	log.Info(op.String())
	r.cloud.Observed = r.cloud.After(op, made)
	if made.Missing {
		// Another client deleted it, or something in between answered. A group that is still there would never be read
		// again: only known groups are.
		r.cloud.known = false
	}
	if _, deleted := op.(securitygroup.DeleteGroup); deleted {
		// There may be quota now for operations that were refused.
		clear(a.refused)
		a.failures = nil
	}
	return nil
}

// failed notes a failed operation. A failure that shows that what was read is outdated is not
// an error: it is read again.
func (r *Reconciler) failed(ctx context.Context, a *attempt, op securitygroup.Op, err error) error {
	class := openstack.Classify(err)
	refused := class == openstack.Invalid || class == openstack.Quota
	set, onPort := op.(securitygroup.SetGroups)
	_, creates := op.(securitygroup.CreateGroup)
	_, deletes := op.(securitygroup.DeleteGroup)
	var cloud *openstack.Error
	switch {
	case onPort && class == openstack.Conflict:
		return r.readPorts(ctx, set.Port.ServerID)
	case refused:
		if a.refused[op.String()] = true; onPort {
			// It concerns this node only, not the Services that wait for rules.
			a.servers[set.Port.ServerID] = openstack.Reason(err)
		} else {
			a.failures = append(a.failures, err)
		}
		return nil
	}
	r.cloud.known = false
	switch {
	case class == openstack.Gone, class == openstack.Conflict && !deletes: // a deletion: another client attached the group to a port
		return nil
	case creates && errors.As(err, &cloud) && cloud.Unanswered:
		r.cloud.unanswered = r.Now()
	}
	return err
}

// services returns the uids of the Services that have a group of their own, or nil while that
// is not known.
func (c cloud) services() map[types.UID]bool {
	if !c.known || !c.unanswered.IsZero() {
		return nil
	}
	uids := map[types.UID]bool{}
	for _, g := range c.Groups {
		uids[types.UID(g.For)] = true
	}
	return uids
}
