// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
	"strconv"
)

// Quota is how many objects a project may have; -1 is unlimited.
type Quota struct{ LoadBalancers, Listeners, Pools, Members, HealthMonitors int }

// The resources that quotas are for, by the names faults call them.
const (
	loadBalancerQuota = "Load Balancer"
	listenerQuota     = "Listener"
	poolQuota         = "Pool"
	memberQuota       = "Member"
	monitorQuota      = "Health Monitor"
	policyQuota       = "L7 Policy"
	ruleQuota         = "L7 Rule"
)

// usage is how many objects a project has.
type usage struct{ loadBalancers, listeners, pools, members, monitors, policies, rules int }

// quota is what was set for a project, by resource; what is not in it has the
// default.
type quota map[string]int

const unlimited = -1

func (s *Service) used(project string) *usage {
	u := s.usage[project]
	if u == nil {
		u = &usage{}
		s.usage[project] = u
	}
	return u
}

// checkQuota reports whether a project may have so many more. It only reads.
func (s *Service) checkQuota(project, resource string, more int) error {
	u := s.usage[project]
	if u == nil {
		u = &usage{}
	}
	has := map[string]int{
		loadBalancerQuota: u.loadBalancers, listenerQuota: u.listeners, poolQuota: u.pools,
		memberQuota: u.members, monitorQuota: u.monitors, policyQuota: u.policies, ruleQuota: u.rules,
	}[resource]
	limit := s.limit(project, resource)
	if more > 0 && limit != unlimited && has+more > limit {
		return overQuota(resource)
	}
	return nil
}

func (s *Service) limit(project, resource string) int {
	if q := s.quotas[project]; q != nil {
		if limit, ok := (*q)[resource]; ok {
			return limit
		}
	}
	d := s.options.DefaultQuota
	if d == nil {
		return unlimited
	}
	limit, ok := map[string]int{
		loadBalancerQuota: d.LoadBalancers, listenerQuota: d.Listeners, poolQuota: d.Pools,
		memberQuota: d.Members, monitorQuota: d.HealthMonitors,
	}[resource]
	if !ok {
		return unlimited
	}
	return limit
}

// quotaNames are the attributes of a quota and the resources they are for. Two
// of them have an older spelling, which is the one that answers use.
var quotaNames = []struct{ attribute, older, resource string }{
	{"loadbalancer", "load_balancer", loadBalancerQuota},
	{"listener", "", listenerQuota},
	{"member", "", memberQuota},
	{"pool", "", poolQuota},
	{"healthmonitor", "health_monitor", monitorQuota},
	{"l7policy", "", policyQuota},
	{"l7rule", "", ruleQuota},
}

func quotaAttributes() []attribute {
	var all []attribute
	for _, n := range quotaNames {
		since := 0
		if n.attribute == "l7policy" || n.attribute == "l7rule" {
			since = 19
		}
		all = append(all, attribute{name: n.attribute, kind: numberKind, min: -1, max: 2000000000, since: since})
		if n.older != "" {
			all = append(all, attribute{name: n.older, kind: numberKind, min: -1, max: 2000000000})
		}
	}
	return all
}

// SetQuota sets a project's whole quota.
func (s *Service) SetQuota(project string, q Quota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas[project] = &quota{
		loadBalancerQuota: q.LoadBalancers, listenerQuota: q.Listeners, poolQuota: q.Pools,
		memberQuota: q.Members, monitorQuota: q.HealthMonitors,
	}
}

func (s *Service) mayReadQuota(r *request, project string) error {
	if r.who.HasRole("load-balancer_quota_admin") {
		return nil
	}
	return r.mayRead(project)
}

func mayWriteQuota(r *request) error {
	if r.who.HasRole("load-balancer_quota_admin") {
		return nil
	}
	return r.mayAdmin()
}

func (s *Service) showQuota(r *request) (answer, error) {
	project := r.PathValue("project")
	if err := s.mayReadQuota(r, project); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.quotaAnswer(r, http.StatusOK, project), nil
}

// showDefaultQuota answers what a project has that has none of its own. Of that
// nobody but an admin may ask for "defaults" instead of a project.
func (s *Service) showDefaultQuota(r *request) (answer, error) {
	if err := s.mayReadQuota(r, r.PathValue("project")); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.quotaAnswer(r, http.StatusOK, ""), nil
}

func (s *Service) quotaAnswer(r *request, status int, project string) answer {
	return s.one(r, status, "quota", func(d *document) {
		for _, n := range quotaNames {
			d.number(orDefault(n.older, n.attribute), s.limit(project, n.resource))
		}
	})
}

func (s *Service) updateQuota(r *request) (answer, error) {
	v, err := s.parse(r.body, "quotas", "quota", quotaAttributes(), false)
	if err != nil {
		return answer{}, err
	}
	if err := mayWriteQuota(r); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	project := r.PathValue("project")
	q := s.quotas[project]
	if q == nil {
		q = &quota{}
		s.quotas[project] = q
	}
	for _, n := range quotaNames {
		for _, name := range []string{n.attribute, n.older} {
			switch {
			case v.isNull(name):
				delete(*q, n.resource)
			case v.has(name):
				(*q)[n.resource] = v.number(name, unlimited)
			}
		}
	}
	return s.quotaAnswer(r, http.StatusAccepted, project), nil
}

func (s *Service) deleteQuota(r *request) (answer, error) {
	if err := mayWriteQuota(r); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	project := r.PathValue("project")
	if s.quotas[project] == nil {
		return answer{}, notFound("Quotas", project)
	}
	delete(s.quotas, project)
	return answer{status: http.StatusAccepted}, nil
}

// listQuotas lists the projects that have a quota of their own.
func (s *Service) listQuotas(r *request) (answer, error) {
	only := r.who.ProjectID
	if r.seesAll() || r.who.HasRole("load-balancer_quota_admin") {
		only = ""
	} else if err := r.mayRead(only); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	projects := slices.DeleteFunc(sortedKeys(s.quotas), func(project string) bool { return only != "" && project != only })
	return answer{http.StatusOK, s.document(r).many("quotas", "quotas_links", len(projects), func(d *document, i int) {
		s.renderOwnQuota(d, projects[i])
	})}, nil
}

func (s *Service) renderOwnQuota(d *document, project string) {
	d.text("project_id", project)
	d.text("tenant_id", project)
	for _, n := range quotaNames {
		value := "null"
		if limit, ok := (*s.quotas[project])[n.resource]; ok {
			value = strconv.Itoa(limit)
		}
		d.raw(n.attribute, value)
		if n.older != "" {
			d.raw(n.older, value)
		}
	}
}
