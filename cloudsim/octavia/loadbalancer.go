// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
)

var loadBalancerResource = &resource[*loadBalancer]{
	kind: loadBalancersView, path: "/loadbalancers", item: "/loadbalancers/{id}",
	root: "load_balancer", attributes: loadBalancerCreate, changes: loadBalancerUpdate,
	known: func(s *State) index[*loadBalancer] { return s.LoadBalancers },
	find: func(r *request, write bool) (*loadBalancer, error) {
		return r.loadBalancer(r.PathValue("id"), r.may(write))
	},
	rows: (*request).visible, update: updateLoadBalancer, remove: deleteLoadBalancer,
}

// loadBalancerRoutes has a create of its own, which asks Neutron without the lock.
func loadBalancerRoutes(route router) {
	res := loadBalancerResource
	route("GET", res.path, res.list)
	route("POST", res.path, createLoadBalancer)
	route("GET", res.item, res.show)
	route("PUT", res.item, res.change)
	route("DELETE", res.item, res.delete)
	route("GET", "/loadbalancers/{id}/status", loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/statuses", loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/stats", loadBalancerStats)
	route("PUT", "/loadbalancers/{id}/failover", failover)
}

func createLoadBalancer(r *request) (answer, error) {
	v, err := r.parse("load_balancer", "loadbalancer", loadBalancerCreate)
	if err != nil {
		return answer{}, err
	}
	project := cmp.Or(v.text("project_id"), v.text("tenant_id"), r.Caller.ProjectID)
	if err := r.mayWrite(project); err != nil {
		return answer{}, err
	}
	vip, err := r.vipRequest(v)
	if err != nil {
		return answer{}, err
	}
	r.State.RLock()
	lb, err := r.newLoadBalancer(v, project)
	r.State.RUnlock()
	if err != nil {
		return answer{}, err
	}
	if err := r.allocateVIP(lb, vip); err != nil {
		return answer{}, err
	}
	lost := r.subnetsLost(v)
	r.State.Lock()
	defer r.State.Unlock()
	// The real service leaves the VIP port of what it refuses now, too.
	if err := r.State.Quotas.Check(project, loadBalancerQuota, 1); err != nil {
		return answer{}, err
	}
	if err := r.buildTree(lb, v); err != nil {
		return answer{}, err
	}
	r.State.Build(r.Context(), lb, lost)
	return answer{http.StatusCreated, newLoadBalancerDocument(r.document(), lb)}, nil
}

func loadBalancerStatus(r *request) (answer, error) {
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		return answer{}, faultf(http.StatusBadRequest, "Unknown argument: %q", name)
	}
	r.State.RLock()
	defer r.State.RUnlock()
	lb, err := r.loadBalancer(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, statusTree(r.document(), lb)}, nil
}

func loadBalancerStats(r *request) (answer, error) {
	r.State.RLock()
	defer r.State.RUnlock()
	if _, err := r.loadBalancer(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, stats(r.document())}, nil
}

func updateLoadBalancer(r *request, lb *loadBalancer, v values) error {
	if v.has("vip_qos_policy_id") {
		return invalid("VIP QoS policy is not allowed in this deployment.")
	}
	tags, err := changedTags(v)
	if err != nil {
		return err
	}
	c := r.State.Begin(r.Context(), lb, pendingUpdate)
	if c == nil {
		return wrongState(lb)
	}
	v.set("name", &lb.name)
	v.set("description", &lb.description)
	lb.adminUp = v.flag("admin_state_up", lb.adminUp)
	if tags != nil {
		lb.tags = tags
	}
	c.Start()
	return nil
}

func deleteLoadBalancer(r *request, lb *loadBalancer) error {
	if !r.flag("cascade") && len(lb.listeners)+len(lb.pools) > 0 {
		return invalid("Cannot delete Load Balancer %s - it has children", lb.id)
	}
	c := r.State.Begin(r.Context(), lb, pendingDelete, inError)
	if c == nil {
		return wrongState(lb)
	}
	c.Start()
	return nil
}

func failover(r *request) (answer, error) {
	r.State.Lock()
	defer r.State.Unlock()
	lb, err := r.loadBalancer(r.PathValue("id"), func(string) error { return r.mayAdmin() })
	if err != nil {
		return answer{}, err
	}
	if lb.prov == active || lb.prov == inError {
		if err := checkFailover(lb); err != nil {
			return answer{}, err
		}
	}
	c := r.State.Begin(r.Context(), lb, pendingUpdate, inError)
	if c == nil {
		return answer{}, wrongState(lb)
	}
	c.Failover()
	return answer{status: http.StatusAccepted}, nil
}

func wrongState(lb *loadBalancer) error {
	return faultf(http.StatusConflict, "Invalid state %s of loadbalancer resource %s", lb.prov, lb.id)
}
