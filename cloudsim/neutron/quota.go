// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"maps"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// neutronQuotas are Neutron's default limits.
var neutronQuotas = map[string]int{
	"network": 100, "subnet": 100, "subnetpool": -1, "port": 500, "router": 10, "floatingip": 50,
	"security_group": 10, "security_group_rule": 100, "rbac_policy": 10, "trunk": -1, "router_route": 30,
}

// quotaNames returns the resources that have a quota. Only the newest release has a quota of router routes.
func (s *Service) quotaNames() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(neutronQuotas)), func(name string) bool {
		return name == "router_route" && s.options.Release < release.Newest
	})
}

// limit returns how many of the resource the project may have; -1 means no limit.
func (s *Service) limit(project, resource string) int {
	routes := map[string]int{"router_route": s.options.MaxRoutes}
	for _, quotas := range []map[string]int{s.quotas[project], s.options.Quotas, routes, neutronQuotas} {
		if n, ok := quotas[resource]; ok {
			return n
		}
	}
	return -1
}

// used returns how many of the resource the project has.
func (s *Service) used(project, resource string) int {
	switch resource {
	case "network":
		return count(s.networks, project)
	case "subnet":
		return count(s.subnets, project)
	case "port":
		return count(s.ports, project)
	case "router":
		return count(s.routers, project)
	case "floatingip":
		return count(s.floatingIPs, project)
	case "security_group":
		return count(s.groups, project)
	case "security_group_rule":
		return count(s.rules, project)
	case "trunk":
		return count(s.trunks, project)
	}
	return 0
}

func count[T object](objects map[string]T, project string) int {
	n := 0
	for _, o := range objects {
		if o.attributes().project == project {
			n++
		}
	}
	return n
}

// checkQuota returns an error if more of the resource would exceed the project's quota.
func (s *Service) checkQuota(project, resource string, more int) error {
	if limit := s.limit(project, resource); limit >= 0 && s.used(project, resource)+more > limit {
		return overQuota(resource)
	}
	return nil
}

// SetQuota limits how many of the resource ("floatingip", "port", ...) the project may have; -1
// means no limit.
func (s *Service) SetQuota(project, resource string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setQuota(project, resource, limit)
}

func (s *Service) setQuota(project, resource string, limit int) {
	if s.quotas[project] == nil {
		s.quotas[project] = map[string]int{}
	}
	s.quotas[project][resource] = limit
}

func (s *Service) routeQuotas(mux *http.ServeMux) {
	mux.HandleFunc("GET /v2.0/quotas", s.quotaHandler("rule:get_quota", s.listQuotas))
	mux.HandleFunc("GET /v2.0/quotas/{project}", s.quotaHandler("rule:get_quota", func(w http.ResponseWriter, r *http.Request) error {
		if r.PathValue("project") == "tenant" || r.PathValue("project") == "project" {
			// Not the id of a project, but a request for the caller's project.
			wire.JSON(w, http.StatusOK, map[string]any{"tenant": map[string]string{"tenant_id": wire.Caller(r.Context()).ProjectID}})
			return nil
		}
		wire.JSON(w, http.StatusOK, map[string]any{"quota": s.projectQuota(r.PathValue("project"))})
		return nil
	}))
	defaults := s.quotaHandler("rule:get_quota", func(w http.ResponseWriter, _ *http.Request) error {
		wire.JSON(w, http.StatusOK, map[string]any{"quota": s.projectQuota("")})
		return nil
	})
	mux.HandleFunc("GET /v2.0/quotas/{project}/default", defaults)
	mux.HandleFunc("GET /v2.0/quotas/{project}/default.json", defaults)
	details := s.quotaHandler("details", s.showQuotaDetails)
	mux.HandleFunc("GET /v2.0/quotas/{project}/details", details)
	mux.HandleFunc("GET /v2.0/quotas/{project}/details.json", details)
	mux.HandleFunc("PUT /v2.0/quotas/{project}", s.quotaHandler("rule:update_quota", s.updateQuota))
	mux.HandleFunc("DELETE /v2.0/quotas/{project}", s.quotaHandler("rule:delete_quota", func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("project")
		if s.quotas[id] == nil {
			owner := "tenant"
			if s.options.Release >= release.Epoxy {
				owner = "project"
			}
			return notFound("TenantQuotaNotFound", "Quota for %s %s could not be found.", owner, id)
		}
		delete(s.quotas, id)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
}

// quotaHandler restricts quotas to admins. A project may only read its own.
func (s *Service) quotaHandler(rule string, do func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, id := wire.Caller(r.Context()), r.PathValue("project")
		asksForOwn := r.Method == http.MethodGet && (id == c.ProjectID || id == "tenant" || id == "project")
		err := s.change(func() error {
			switch {
			case c.Admin() || asksForOwn && id != "":
				return do(w, r)
			case rule == "details":
				return refuse(http.StatusForbidden, "AdminRequired", "User does not have admin privileges: Only admin is authorized to access quotas for another project.")
			}
			return forbidden(rule)
		})
		if err != nil {
			writeError(w, err)
		}
	}
}

func (s *Service) projectQuota(project string) map[string]any {
	quota := map[string]any{}
	for _, name := range s.quotaNames() {
		quota[name] = s.limit(project, name)
	}
	return quota
}

func (s *Service) listQuotas(w http.ResponseWriter, _ *http.Request) error {
	quotas := []map[string]any{}
	for _, project := range slices.Sorted(maps.Keys(s.quotas)) {
		quota := s.projectQuota(project)
		quota["project_id"], quota["tenant_id"] = project, project
		quotas = append(quotas, quota)
	}
	wire.JSON(w, http.StatusOK, map[string]any{"quotas": quotas})
	return nil
}

func (s *Service) showQuotaDetails(w http.ResponseWriter, r *http.Request) error {
	details := map[string]any{}
	for _, name := range s.quotaNames() {
		project := r.PathValue("project")
		details[name] = map[string]int{"limit": s.limit(project, name), "used": s.used(project, name), "reserved": 0}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"quota": details})
	return nil
}

var quotaAttributes = func() attributes {
	all := attributes{"tenant_id": {}, "project_id": {}, "force": {put: true, check: isBool}, "check_limit": {put: true, check: isBool}}
	for name := range neutronQuotas {
		all[name] = attribute{put: true, check: isInt(-1, 1<<31-1)}
	}
	return all
}()

// checkLimits refuses limits below the project's current use, unless they are forced. Neutron does this since 2025.1.
func (s *Service) checkLimits(project string, limits values) error {
	if s.options.Release < release.Epoxy || limits.flag("force", false) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit, ok := limits[name].(int)
		if used := s.used(project, name); ok && limit >= 0 && limit < used {
			return badBody("Quota limit %d for %s must be greater than or equal to already used %d", limit, name, used)
		}
	}
	return nil
}

func (s *Service) updateQuota(w http.ResponseWriter, r *http.Request) error {
	items, _, err := quotaAttributes.body(r, "quota", "quotas", false)
	if err != nil {
		return err
	}
	project := r.PathValue("project")
	if err := s.checkLimits(project, items[0]); err != nil {
		return err
	}
	for name, limit := range items[0] {
		if n, ok := limit.(int); ok {
			s.setQuota(project, name, n)
		}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"quota": s.projectQuota(project)})
	return nil
}
