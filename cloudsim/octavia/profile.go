// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
)

// profiles are one kind of profile, for admins only.
type profiles struct {
	resource   resource[*model.Profile]
	name, data string // what faults call a profile, and what the provider's part is called
	used       func(*state.State, *model.Profile) bool
}

// profileResource completes the resource.
func profileResource(k profiles) *resource[*model.Profile] {
	res := k.resource
	res.item = res.path + "/{id}"
	res.find = func(r *request, _ bool) (*model.Profile, error) {
		if err := r.mayAdmin(); err != nil {
			return nil, err
		}
		p, ok := res.known(r.State).Find(r.PathValue("id"))
		if !ok {
			return nil, fault.NotFound(k.name, r.PathValue("id"))
		}
		return p, nil
	}
	res.rows = func(r *request) ([]*model.Profile, error) {
		return slices.Collect(res.known(r.State).All()), r.mayAdmin()
	}
	res.admit = func(r *request, v schema.Values) error {
		if err := r.mayAdmin(); err != nil {
			return err
		}
		return provider.CheckProfile(v.Text("provider_name"), v.Text(k.data), k.data)
	}
	res.create = func(r *request, v schema.Values) (*model.Profile, error) {
		p := &model.Profile{Object: model.NewObject(r.State.Now(), nil), Name: v.Text("name"), Provider: v.Text("provider_name"), Data: v.Text(k.data)}
		res.known(r.State).Add(p)
		return p, nil
	}
	res.update = k.update
	res.remove = func(r *request, p *model.Profile) error {
		if k.used(r.State, p) {
			return inUse(k.name, p.ID.String())
		}
		res.known(r.State).Remove(p)
		return nil
	}
	return &res
}

func (k profiles) update(r *request, p *model.Profile, v schema.Values) error {
	if (v.Has("provider_name") || v.Has(k.data)) && k.used(r.State, p) {
		return inUse(k.name, p.ID.String())
	}
	changed := *p
	v.Set("name", &changed.Name)
	v.Set("provider_name", &changed.Provider)
	v.Set(k.data, &changed.Data)
	if err := provider.CheckProfile(changed.Provider, changed.Data, k.data); err != nil {
		return err
	}
	*p = changed
	return nil
}
