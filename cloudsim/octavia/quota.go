// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func quotaRoutes(route router) {
	route("GET", "/quotas", listQuotas)
	route("GET", "/quotas/{project}", showQuota)
	route("GET", "/quotas/{project}/default", showDefaultQuota)
	route("PUT", "/quotas/{project}", updateQuota)
	route("DELETE", "/quotas/{project}", deleteQuota)
}

func (r *request) mayReadQuota(project string) error {
	if r.hasRole(roleQuotaAdmin) {
		return nil
	}
	return r.mayRead(project)
}

func (r *request) mayWriteQuota() error {
	if r.hasRole(roleQuotaAdmin) {
		return nil
	}
	return r.mayAdmin()
}

func showQuota(r *request) (answer, error) {
	project := r.PathValue("project")
	if err := r.mayReadQuota(project); err != nil {
		return answer{}, err
	}
	r.state.RLock()
	defer r.state.RUnlock()
	return quotaAnswer(r, http.StatusOK, project), nil
}

// showDefaultQuota answers with the quota of projects that have none of their own. Only admins may
// request it as "defaults" instead of for a project.
func showDefaultQuota(r *request) (answer, error) {
	if err := r.mayReadQuota(r.PathValue("project")); err != nil {
		return answer{}, err
	}
	r.state.RLock()
	defer r.state.RUnlock()
	return quotaAnswer(r, http.StatusOK, ""), nil
}

func quotaAnswer(r *request, status int, project string) answer {
	limit := func(resource string) int { return r.state.Quotas.Limit(project, resource) }
	if r.release >= release.Newest {
		return answer{status, view.FullQuota(r.document(), r.PathValue("project"), limit)}
	}
	return answer{status, view.Quota(r.document(), limit)}
}

func updateQuota(r *request) (answer, error) {
	v, err := r.parse("quotas", "quota", schema.QuotaAttributes())
	if err != nil {
		return answer{}, err
	}
	if err := r.mayWriteQuota(); err != nil {
		return answer{}, err
	}
	r.state.Lock()
	defer r.state.Unlock()
	project := r.PathValue("project")
	own := r.state.Quotas.Change(project)
	for _, n := range model.QuotaNames {
		for _, name := range []string{n.Attribute, n.Older} {
			switch {
			case v.IsNull(name):
				delete(own, n.Resource)
			case v.Has(name):
				own[n.Resource] = v.Number(name, model.Unlimited)
			}
		}
	}
	return quotaAnswer(r, http.StatusAccepted, project), nil
}

func deleteQuota(r *request) (answer, error) {
	if err := r.mayWriteQuota(); err != nil {
		return answer{}, err
	}
	r.state.Lock()
	defer r.state.Unlock()
	project := r.PathValue("project")
	if r.state.Quotas.Own(project) == nil {
		return answer{}, fault.NotFound("Quotas", project)
	}
	r.state.Quotas.Reset(project)
	return answer{status: http.StatusAccepted}, nil
}

// listQuotas lists the projects that have their own quota.
func listQuotas(r *request) (answer, error) {
	only := r.checks.Caller.ProjectID
	if r.seesAll() || r.hasRole(roleQuotaAdmin) {
		only = ""
	} else if err := r.mayRead(only); err != nil {
		return answer{}, err
	}
	r.state.RLock()
	defer r.state.RUnlock()
	projects := slices.DeleteFunc(r.state.Quotas.Projects(), func(project string) bool { return only != "" && project != only })
	return answer{http.StatusOK, view.Quotas(r.document(), projects, r.state.Quotas.Own)}, nil
}
