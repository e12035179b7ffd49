// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
)

func (s *Service) createLoadBalancer(r *request) (answer, error) {
	v, err := s.parse(r.body, "load_balancer", "loadbalancer", loadBalancerCreate, false)
	if err != nil {
		return answer{}, err
	}
	project := orDefault(orDefault(v.text("project_id"), v.text("tenant_id")), r.who.ProjectID)
	if err := r.mayWrite(project); err != nil {
		return answer{}, err
	}
	vip, err := s.vipRequest(r, v)
	if err != nil {
		return answer{}, err
	}
	lb, err := s.newLoadBalancer(v, project)
	if err != nil {
		return answer{}, err
	}
	vip.LoadBalancerID, vip.ProjectID, vip.Provider = lb.id.String(), project, lb.provider
	given, err := s.options.Network.AllocateVIP(vip)
	if err != nil {
		return answer{}, vipFault(err, vip)
	}
	s.placeVIP(lb, given)
	lost := len(v.objects("listeners")) > 0 && slices.ContainsFunc(treeSubnets(v), func(id string) bool {
		_, found := s.options.Network.Subnet("", id)
		return id != "" && !found
	})

	s.mu.Lock()
	err = s.plant(r.Context(), lb, v, lost)
	var a answer
	if err == nil {
		a = s.one(r, http.StatusCreated, "loadbalancer", func(d *document) { renderLoadBalancer(d, lb, true) })
	}
	s.mu.Unlock()
	return a, err // the real service leaves the VIP port of what it refuses, too
}

// newLoadBalancer makes a load balancer of the request, with no VIP yet.
func (s *Service) newLoadBalancer(v values, project string) (*loadBalancer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v.text("vip_qos_policy_id") != "" {
		return nil, invalid("VIP QoS policy is not allowed in this deployment.")
	}
	provider, err := s.chooseProvider(v)
	if err != nil {
		return nil, err
	}
	if err := s.checkQuota(project, loadBalancerQuota, 1); err != nil {
		return nil, err
	}
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	return &loadBalancer{
		object: newObject(s.now(), tags), name: v.text("name"), description: v.text("description"), project: project,
		provider: provider, flavor: v.text("flavor_id"), zone: v.text("availability_zone"),
		adminUp: v.flag("admin_state_up", true),
	}, nil
}

// plant puts a new load balancer with all its children into the state, or
// nothing of it. lost says that a member's subnet is not there: Octavia finds
// out only when it builds, and looks only if there are listeners.
func (s *Service) plant(ctx context.Context, lb *loadBalancer, v values, lost bool) error {
	if err := s.checkQuota(lb.project, loadBalancerQuota, 1); err != nil {
		return err
	}
	if err := s.buildTree(ctx, lb, v); err != nil {
		return err
	}
	lb.prov = active // so that it can be locked
	c := s.lock(ctx, lb, pendingCreate)
	lb.updated = 0
	c.fail = c.fail || lost || !rulesFit(lb)
	s.lbs[lb.id] = lb
	s.byPort[lb.port] = lb
	s.used(lb.project).loadBalancers++
	for _, p := range lb.pools {
		s.registerPool(p)
	}
	for _, l := range lb.listeners {
		s.registerListener(l)
	}
	c.touched = finished(lb, s.options.StuckChildren)
	s.start(c)
	return nil
}

func (s *Service) placeVIP(lb *loadBalancer, vip neutron.VIP) {
	lb.port, lb.network, lb.subnet, lb.address = vip.PortID, vip.NetworkID, vip.SubnetID, vip.Address
	for _, a := range vip.Additional {
		lb.additional = append(lb.additional, additionalVIP{subnet: a.SubnetID, address: a.Address})
	}
	if sub, ok := s.options.Network.Subnet("", vip.SubnetID); ok {
		lb.cidr, _ = netip.ParsePrefix(sub.CIDR) // Neutron's own CIDRs are valid
	}
}

func (s *Service) listLoadBalancers(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*loadBalancer]{
		key: "loadbalancers", known: s.lbs, column: loadBalancerColumn, sample: &loadBalancer{},
		render: func(d *document, lb *loadBalancer) { renderLoadBalancer(d, lb, false) },
	}
	err := s.visible(r, func(lb *loadBalancer) { l.rows = append(l.rows, lb) })
	if err != nil {
		return answer{}, err
	}
	return list(s, r, l)
}

// visible visits the load balancers that a list may show parts of.
func (s *Service) visible(r *request, visit func(*loadBalancer)) error {
	project := r.query.Get("project_id")
	if !r.seesAll() {
		project = orDefault(project, r.who.ProjectID)
		if err := r.mayRead(project); err != nil {
			return err
		}
	}
	for _, key := range []string{"loadbalancer_id", "load_balancer_id"} {
		if !r.query.Has(key) {
			continue
		}
		if lb := s.lbs[parseID(r.query.Get(key))]; lb != nil && (project == "" || lb.project == project) {
			visit(lb)
		}
		return nil
	}
	for _, lb := range s.lbs {
		if project == "" || lb.project == project {
			visit(lb)
		}
	}
	return nil
}

func (s *Service) showLoadBalancer(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lb, err := s.loadBalancer(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "loadbalancer", func(d *document) { renderLoadBalancer(d, lb, false) }), nil
}

func (s *Service) loadBalancerStatus(r *request) (answer, error) {
	if names := sortedKeys(r.query); len(names) > 0 {
		return answer{}, faultf(http.StatusBadRequest, "Unknown argument: %q", names[0])
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	lb, err := s.loadBalancer(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "statuses", func(d *document) {
		d.nested("loadbalancer", func() { renderLoadBalancerStatus(d, lb) })
	}), nil
}

func (s *Service) loadBalancerStats(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.loadBalancer(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "stats", renderStats), nil
}

// renderStats writes zeros: nothing counts the traffic.
func renderStats(d *document) {
	for _, name := range []string{"bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"} {
		d.number(name, 0)
	}
}

func (s *Service) updateLoadBalancer(r *request) (answer, error) {
	v, err := s.parse(r.body, "load_balancer", "loadbalancer", loadBalancerUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, err := s.loadBalancer(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if v.has("vip_qos_policy_id") {
		return answer{}, invalid("VIP QoS policy is not allowed in this deployment.")
	}
	tags, err := changedTags(v)
	if err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), lb, pendingUpdate)
	if c == nil {
		return answer{}, wrongState(lb)
	}
	setText(&lb.name, v, "name")
	setText(&lb.description, v, "description")
	lb.adminUp = v.flag("admin_state_up", lb.adminUp)
	if tags != nil {
		lb.tags = tags
	}
	s.start(c)
	return s.one(r, http.StatusOK, "loadbalancer", func(d *document) { renderLoadBalancer(d, lb, false) }), nil
}

// setText sets an attribute that the request gives; null empties it.
func setText(field *string, v values, name string) {
	if v.has(name) {
		*field = v.text(name)
	}
}

func (s *Service) deleteLoadBalancer(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, err := s.loadBalancer(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if !r.flag("cascade") && len(lb.listeners)+len(lb.pools) > 0 {
		return answer{}, invalid("Cannot delete Load Balancer %s - it has children", lb.id)
	}
	c := s.lock(r.Context(), lb, pendingDelete, inError)
	if c == nil {
		return answer{}, wrongState(lb)
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}

func (s *Service) failover(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, err := s.loadBalancer(r.PathValue("id"), func(string) error { return r.mayAdmin() })
	if err != nil {
		return answer{}, err
	}
	if lb.prov == active || lb.prov == inError {
		if err := checkFailover(lb); err != nil {
			return answer{}, err
		}
	}
	c := s.lock(r.Context(), lb, pendingUpdate, inError)
	if c == nil {
		return answer{}, wrongState(lb)
	}
	c.touched = children(lb) // a failover mends them all
	s.start(c)
	return answer{status: http.StatusAccepted}, nil
}
