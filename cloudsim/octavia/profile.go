// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// profileResource returns the resource of the profiles, for admins only.
func (k offers) profileResource() *resource[*model.Profile] {
	res := k.profiles
	res.find = func(r *request, _ bool) (*model.Profile, error) {
		if err := r.mayAdmin(); err != nil {
			return nil, err
		}
		p, ok := res.known(r.state).Find(r.PathValue("id"))
		if !ok {
			return nil, fault.NotFound(k.profileName, r.PathValue("id"))
		}
		return p, nil
	}
	res.rows = func(r *request) ([]*model.Profile, error) {
		return slices.Collect(res.known(r.state).All()), r.mayAdmin()
	}
	res.admit = func(r *request, v schema.Values) error {
		if err := r.mayAdmin(); err != nil {
			return err
		}
		return provider.CheckProfile(v.Text("provider_name"), v.Text(k.dataKey), k.dataKey, r.checks.Minor)
	}
	res.create = func(r *request, v schema.Values) (*model.Profile, error) {
		p := &model.Profile{Object: model.NewObject(r.state.Now(), nil), Name: v.Text("name"), Provider: v.Text("provider_name"), Data: v.Text(k.dataKey)}
		res.known(r.state).Add(p)
		return p, nil
	}
	res.update = k.updateProfile
	res.remove = func(r *request, p *model.Profile) error {
		if err := k.profileUnused(r, p); err != nil {
			return err
		}
		res.known(r.state).Remove(p)
		return nil
	}
	return &res
}

func (k offers) updateProfile(r *request, p *model.Profile, v schema.Values) error {
	if v.Has("provider_name") || v.Has(k.dataKey) {
		if err := k.profileUnused(r, p); err != nil {
			return err
		}
	}
	changed := *p
	v.Set("name", &changed.Name)
	v.Set("provider_name", &changed.Provider)
	v.Set(k.dataKey, &changed.Data)
	if err := provider.CheckProfile(changed.Provider, changed.Data, k.dataKey, r.checks.Minor); err != nil {
		return err
	}
	*p = changed
	return nil
}

// profileUnused refuses to change a profile that an offer uses.
func (k offers) profileUnused(r *request, p *model.Profile) error {
	for o := range k.resource.known(r.state).All() {
		if o.Profile == p.ID {
			return inUse(k.profileName, p.ID.String())
		}
	}
	return nil
}
