// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"net/http"
)

// The roles that Octavia's policy knows, besides admin.
const (
	roleAdmin          = "load-balancer_admin"
	roleMember         = "load-balancer_member"
	roleObserver       = "load-balancer_observer"
	roleGlobalObserver = "load-balancer_global_observer"
	roleQuotaAdmin     = "load-balancer_quota_admin"
)

// permit refuses a caller who may not do something with a project's objects.
type permit func(project string) error

func (r *request) seesAll() bool { return r.Admin || r.Caller.HasRole(roleGlobalObserver) }

func (r *request) mayRead(project string) error {
	own := r.Caller.ProjectID == project && (r.Caller.HasRole(roleMember) || r.Caller.HasRole(roleObserver))
	if !own && !r.seesAll() {
		return errForbidden
	}
	return nil
}

func (r *request) mayWrite(project string) error {
	if !r.Admin && (r.Caller.ProjectID != project || !r.Caller.HasRole(roleMember)) {
		return errForbidden
	}
	return nil
}

func (r *request) mayAdmin() error {
	if !r.Admin {
		return errForbidden
	}
	return nil
}

// may is mayWrite or mayRead.
func (r *request) may(write bool) permit {
	if write {
		return r.mayWrite
	}
	return r.mayRead
}

// mayOffer is for what the cloud offers to all projects: admins change it, and everybody
// with a role sees it.
func (r *request) mayOffer(write bool) error {
	if write {
		return r.mayAdmin()
	}
	return r.mayRead(r.Caller.ProjectID)
}

// access finds an object that the caller may use so. resource is what faults call it.
func access[T row](known index[T], resource, id string, project func(T) string, may permit) (T, error) {
	var none T
	found, ok := known.Find(id)
	if !ok {
		return none, notFound(resource, id)
	}
	if err := may(project(found)); err != nil {
		return none, err
	}
	return found, nil
}

func (r *request) loadBalancer(id string, may permit) (*loadBalancer, error) {
	return access(r.State.LoadBalancers, "Load Balancer", id, func(lb *loadBalancer) string { return lb.project }, may)
}

func (r *request) listener(id string, may permit) (*listener, error) {
	return access(r.State.Listeners, "Listener", id, func(l *listener) string { return l.lb.project }, may)
}

func (r *request) pool(id string, may permit) (*pool, error) {
	return access(r.State.Pools, "Pool", id, func(p *pool) string { return p.lb.project }, may)
}

func (r *request) monitor(id string, may permit) (*monitor, error) {
	return access(r.State.Monitors, "Health Monitor", id, func(m *monitor) string { return m.pool.lb.project }, may)
}

func (r *request) policy(id string, may permit) (*l7policy, error) {
	return access(r.State.Policies, "L7 Policy", id, func(policy *l7policy) string { return policy.listener.lb.project }, may)
}

// poolInPath finds the pool whose members the path names.
func (r *request) poolInPath(may permit) (*pool, error) {
	id := r.PathValue("id")
	if _, ok := r.State.Pools.Find(id); !ok {
		return nil, outsideFault(http.StatusNotFound, "Pool %s not found.", id)
	}
	return r.pool(id, may)
}

// member finds a member of the pool that the path names.
func (r *request) member(may permit) (*member, error) {
	if _, err := r.poolInPath(may); err != nil {
		return nil, err
	}
	id := r.PathValue("member")
	if m, ok := r.State.Members.Find(id); ok && m.pool.id.String() != r.PathValue("id") {
		return nil, notFound("Member", id)
	}
	return access(r.State.Members, "Member", id, func(m *member) string { return m.pool.lb.project }, may)
}

// policyInPath finds the policy whose rules the path names.
func (r *request) policyInPath(may permit) (*l7policy, error) {
	id := r.PathValue("id")
	if _, ok := r.State.Policies.Find(id); !ok {
		return nil, outsideFault(http.StatusNotFound, "L7Policy %s not found.", id)
	}
	return r.policy(id, may)
}

// rule finds the rule that the path names. Nobody asks whether it is the policy's
// that the path names, too.
func (r *request) rule(may permit) (*l7rule, error) {
	if _, err := r.policyInPath(may); err != nil {
		return nil, err
	}
	return access(r.State.Rules, "L7 Rule", r.PathValue("rule"), func(rule *l7rule) string { return rule.policy.listener.lb.project }, may)
}

// visible returns the load balancers that a list may show parts of.
func (r *request) visible() ([]*loadBalancer, error) {
	project := r.query.Get("project_id")
	if !r.seesAll() {
		project = cmp.Or(project, r.Caller.ProjectID)
		if err := r.mayRead(project); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"loadbalancer_id", "load_balancer_id"} {
		if !r.query.Has(key) {
			continue
		}
		if lb, ok := r.State.LoadBalancers.Find(r.query.Get(key)); ok && (project == "" || lb.project == project) {
			return []*loadBalancer{lb}, nil
		}
		return nil, nil
	}
	var all []*loadBalancer
	for lb := range r.State.LoadBalancers.All() {
		if project == "" || lb.project == project {
			all = append(all, lb)
		}
	}
	return all, nil
}

// parts lists parts of the load balancers that the caller sees.
func parts[T any](of func(*loadBalancer) []T) func(*request) ([]T, error) {
	return func(r *request) ([]T, error) {
		lbs, err := r.visible()
		var all []T
		for _, lb := range lbs {
			all = append(all, of(lb)...)
		}
		return all, err
	}
}
