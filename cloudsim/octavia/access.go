// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The roles of Octavia's policy, besides admin.
const (
	roleAdmin          = "load-balancer_admin"
	roleMember         = "load-balancer_member"
	roleObserver       = "load-balancer_observer"
	roleGlobalObserver = "load-balancer_global_observer"
	roleQuotaAdmin     = "load-balancer_quota_admin"
)

// rolesOfKeystone has the roles that replace Octavia's own since 2025.1. Octavia's own roles give no rights any more:
// Octavia's rules name the new ones (octavia.policies.keystone_default_roles), and oslo.policy no longer applies the
// previous rules (since 2024.2).
var rolesOfKeystone = map[string]string{
	roleAdmin: "admin", roleMember: "member", roleObserver: "reader", roleGlobalObserver: "admin", roleQuotaAdmin: "admin",
}

// hasRole reports whether the user has the role, or the one that replaces it in the release.
func hasRole(who wire.Identity, role string, played release.Release) bool {
	if played >= release.Epoxy {
		role = rolesOfKeystone[role]
	}
	return who.HasRole(role)
}

func (r *request) hasRole(role string) bool { return hasRole(r.checks.Caller, role, r.release) }

// permit refuses a caller that may not perform an action on a project's objects.
type permit func(project string) error

func (r *request) seesAll() bool {
	return r.checks.Admin || r.hasRole(roleGlobalObserver)
}

func (r *request) mayRead(project string) error {
	own := r.checks.Caller.ProjectID == project && (r.hasRole(roleMember) || r.hasRole(roleObserver))
	if !own && !r.seesAll() {
		return fault.ErrForbidden
	}
	return nil
}

func (r *request) mayWrite(project string) error {
	if !r.checks.Admin && (r.checks.Caller.ProjectID != project || !r.hasRole(roleMember)) {
		return fault.ErrForbidden
	}
	return nil
}

func (r *request) mayAdmin() error {
	if !r.checks.Admin {
		return fault.ErrForbidden
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

// mayOffer checks access to what the cloud offers to all projects: admins may change it, and all
// users with a role may see it.
func (r *request) mayOffer(write bool) error {
	if write {
		return r.mayAdmin()
	}
	return r.mayRead(r.checks.Caller.ProjectID)
}

// access finds a part, if the caller may use it. resource is its name in faults.
func access[T model.Part](known state.Index[T], resource, id string, may permit) (T, error) {
	var none T
	found, ok := known.Find(id)
	if !ok {
		return none, fault.NotFound(resource, id)
	}
	if err := may(found.Tree().Project); err != nil {
		return none, err
	}
	return found, nil
}

func (r *request) loadBalancer(id string, may permit) (*model.LoadBalancer, error) {
	return access(r.state.LoadBalancers, "Load Balancer", id, may)
}

func (r *request) listener(id string, may permit) (*model.Listener, error) {
	return access(r.state.Listeners, "Listener", id, may)
}

func (r *request) pool(id string, may permit) (*model.Pool, error) {
	return access(r.state.Pools, "Pool", id, may)
}

func (r *request) monitor(id string, may permit) (*model.Monitor, error) {
	return access(r.state.Monitors, "Health Monitor", id, may)
}

func (r *request) policy(id string, may permit) (*model.L7Policy, error) {
	return access(r.state.Policies, "L7 Policy", id, may)
}

// byID finds the part whose id the path names.
func byID[T model.Part](find func(r *request, id string, may permit) (T, error)) func(*request, bool) (T, error) {
	return func(r *request, write bool) (T, error) { return find(r, r.PathValue("id"), r.may(write)) }
}

// poolInPath finds the pool whose members the path names.
func (r *request) poolInPath(may permit) (*model.Pool, error) {
	id := r.PathValue("id")
	if _, ok := r.state.Pools.Find(id); !ok {
		return nil, fault.Outside(http.StatusNotFound, "Pool %s not found.", id)
	}
	return r.pool(id, may)
}

// member finds a member of the pool that the path names.
func (r *request) member(may permit) (*model.Member, error) {
	if _, err := r.poolInPath(may); err != nil {
		return nil, err
	}
	id := r.PathValue("member")
	if m, ok := r.state.Members.Find(id); ok && m.Pool.ID.String() != r.PathValue("id") {
		return nil, fault.NotFound("Member", id)
	}
	return access(r.state.Members, "Member", id, may)
}

// policyInPath finds the policy whose rules the path names.
func (r *request) policyInPath(may permit) (*model.L7Policy, error) {
	id := r.PathValue("id")
	if _, ok := r.state.Policies.Find(id); !ok {
		return nil, fault.Outside(http.StatusNotFound, "L7Policy %s not found.", id)
	}
	return r.policy(id, may)
}

// rule finds the rule that the path names. Like Octavia, it does not check that the rule belongs to
// the policy in the path.
func (r *request) rule(may permit) (*model.L7Rule, error) {
	if _, err := r.policyInPath(may); err != nil {
		return nil, err
	}
	return access(r.state.Rules, "L7 Rule", r.PathValue("rule"), may)
}

// visible returns the load balancers that a list may show parts of.
func (r *request) visible() ([]*model.LoadBalancer, error) {
	project := r.query.Get("project_id")
	if !r.seesAll() {
		project = cmp.Or(project, r.checks.Caller.ProjectID)
		if err := r.mayRead(project); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"loadbalancer_id", "load_balancer_id"} {
		if !r.query.Has(key) {
			continue
		}
		if lb, ok := r.state.LoadBalancers.Find(r.query.Get(key)); ok && (project == "" || lb.Project == project) {
			return []*model.LoadBalancer{lb}, nil
		}
		return nil, nil
	}
	var all []*model.LoadBalancer
	for lb := range r.state.LoadBalancers.All() {
		if project == "" || lb.Project == project {
			all = append(all, lb)
		}
	}
	return all, nil
}

// parts lists parts of the load balancers that the caller sees.
func parts[T any](of func(*model.LoadBalancer) []T) func(*request) ([]T, error) {
	return func(r *request) ([]T, error) {
		lbs, err := r.visible()
		var all []T
		for _, lb := range lbs {
			all = append(all, of(lb)...)
		}
		return all, err
	}
}
