// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var loadBalancerResource = &resource[*model.LoadBalancer]{
	kind: view.LoadBalancers, path: "/loadbalancers", item: "/loadbalancers/{id}",
	root: "load_balancer", attributes: schema.LoadBalancerCreate, changes: schema.LoadBalancerUpdate,
	known: func(s *state.State) state.Index[*model.LoadBalancer] { return s.LoadBalancers },
	find:  byID((*request).loadBalancer),
	rows:  (*request).visible, update: updateLoadBalancer, remove: deleteLoadBalancer,
	admitChange: func(r *request, v schema.Values) error {
		_, err := r.checks.VIPGroups(v)
		return err
	},
}

// loadBalancerRoutes has its own create, which calls Neutron without the lock.
func loadBalancerRoutes(route router) {
	loadBalancerResource.routes(route)
	route("POST", "/loadbalancers", createLoadBalancer)
	route("GET", "/loadbalancers/{id}/status", loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/statuses", loadBalancerStatus)
	route("GET", "/loadbalancers/{id}/stats", loadBalancerStats)
	route("PUT", "/loadbalancers/{id}/failover", failover)
}

func createLoadBalancer(r *request) (answer, error) {
	v, err := r.parse("load_balancer", "loadbalancer", schema.LoadBalancerCreate)
	if err != nil {
		return answer{}, err
	}
	project := cmp.Or(v.Text("project_id"), v.Text("tenant_id"), r.checks.Caller.ProjectID)
	if err := r.mayWrite(project); err != nil {
		return answer{}, err
	}
	vip, err := r.checks.VIPRequest(v)
	if err != nil {
		return answer{}, err
	}
	groups, err := r.checks.VIPGroups(v)
	if err != nil {
		return answer{}, err
	}
	r.state.RLock()
	lb, err := r.checks.NewLoadBalancer(v, project)
	if err == nil {
		lb.VIPGroups, lb.VIPIsDirect = groups, r.checks.FlavorHas(lb.Flavor, provider.SRIOVForVIP)
		err = validate.CheckVIPType(lb, groups)
	}
	r.state.RUnlock()
	if err != nil {
		return answer{}, err
	}
	if err := allocateVIP(r, lb, vip); err != nil {
		return answer{}, err
	}
	lost := r.checks.SubnetsLost(v)
	r.state.Lock()
	defer r.state.Unlock()
	// Like the real service, it does not delete the VIP port of a load balancer that is refused
	// from here on.
	if err := r.state.Quotas.Check(project, model.LoadBalancerQuota, 1); err != nil {
		return answer{}, err
	}
	if err := r.checks.BuildTree(lb, v); err != nil {
		return answer{}, err
	}
	r.state.Build(r.Context(), lb, lost)
	return answer{http.StatusCreated, view.NewLoadBalancer(r.document(), lb)}, nil
}

// allocateVIP allocates the VIPs of a load balancer.
func allocateVIP(r *request, lb *model.LoadBalancer, req neutron.VIPRequest) error {
	req.LoadBalancerID, req.ProjectID, req.Provider = lb.ID.String(), lb.Project, lb.Provider
	vip, err := r.network.AllocateVIP(req)
	if err != nil {
		return r.checks.VIPFault(err, req)
	}
	lb.Port, lb.Network, lb.Subnet, lb.Address = vip.PortID, vip.NetworkID, vip.SubnetID, vip.Address
	for _, a := range vip.Additional {
		lb.Additional = append(lb.Additional, model.AdditionalVIP{Subnet: a.SubnetID, Address: a.Address})
	}
	if sub, ok := r.network.Subnet("", vip.SubnetID); ok {
		lb.CIDR, _ = netip.ParsePrefix(sub.CIDR) // Neutron's own CIDRs are valid
	}
	return nil
}

func loadBalancerStatus(r *request) (answer, error) {
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		return answer{}, fault.New(http.StatusBadRequest, "Unknown argument: %q", name)
	}
	r.state.RLock()
	defer r.state.RUnlock()
	lb, err := r.loadBalancer(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, view.Statuses(r.document(), lb)}, nil
}

func loadBalancerStats(r *request) (answer, error) {
	r.state.RLock()
	defer r.state.RUnlock()
	if _, err := r.loadBalancer(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, view.Stats(r.document())}, nil
}

func updateLoadBalancer(r *request, lb *model.LoadBalancer, v schema.Values) error {
	if v.Has("vip_qos_policy_id") {
		return fault.Invalid("VIP QoS policy is not allowed in this deployment.")
	}
	tags, err := validate.ChangedTags(v)
	if err != nil {
		return err
	}
	groups := slices.Compact(slices.Sorted(slices.Values(v.Texts("vip_sg_ids"))))
	if err := validate.CheckVIPType(lb, groups); err != nil {
		return err
	}
	c := r.state.Begin(r.Context(), lb, model.PendingUpdate)
	if c == nil {
		return wrongState(lb)
	}
	v.Set("name", &lb.Name)
	v.Set("description", &lb.Description)
	if v.Has("vip_sg_ids") {
		lb.VIPGroups = groups
		c.Admits()
	}
	lb.AdminUp = v.Flag("admin_state_up", lb.AdminUp)
	if tags != nil {
		lb.Tags = tags
	}
	c.Start()
	return nil
}

func deleteLoadBalancer(r *request, lb *model.LoadBalancer) error {
	if !r.flag("cascade") && len(lb.Listeners)+len(lb.Pools) > 0 {
		return fault.Invalid("Cannot delete Load Balancer %s - it has children", lb.ID)
	}
	c := r.state.Begin(r.Context(), lb, model.PendingDelete, model.InError)
	if c == nil {
		return wrongState(lb)
	}
	c.Start()
	return nil
}

func failover(r *request) (answer, error) {
	r.state.Lock()
	defer r.state.Unlock()
	lb, err := r.loadBalancer(r.PathValue("id"), func(string) error { return r.mayAdmin() })
	if err != nil {
		return answer{}, err
	}
	if lb.Provisioning == model.Active || lb.Provisioning == model.InError {
		if err := provider.CheckFailover(lb); err != nil {
			return answer{}, err
		}
	}
	c := r.state.Begin(r.Context(), lb, model.PendingUpdate, model.InError)
	if c == nil {
		return answer{}, wrongState(lb)
	}
	c.Failover()
	return answer{status: http.StatusAccepted}, nil
}

func wrongState(lb *model.LoadBalancer) error {
	return fault.New(http.StatusConflict, "Invalid state %s of loadbalancer resource %s", lb.Provisioning, lb.ID)
}
