// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// profiles are one kind of profile, for admins only.
type profiles struct {
	resource   resource[*profile]
	name, data string // what faults call a profile, and what the provider's part is called
	used       func(*State, *profile) bool
}

// profileResource completes the resource.
func profileResource(k profiles) *resource[*profile] {
	res := k.resource
	res.item = res.path + "/{id}"
	res.find = func(r *request, _ bool) (*profile, error) {
		if err := r.mayAdmin(); err != nil {
			return nil, err
		}
		p, ok := res.known(r.State).Find(r.PathValue("id"))
		if !ok {
			return nil, notFound(k.name, r.PathValue("id"))
		}
		return p, nil
	}
	res.rows = func(r *request) ([]*profile, error) {
		return slices.Collect(res.known(r.State).All()), r.mayAdmin()
	}
	res.admit = func(r *request, v values) error {
		if err := r.mayAdmin(); err != nil {
			return err
		}
		return checkProfile(v.text("provider_name"), v.text(k.data), k.data)
	}
	res.create = func(r *request, v values) (*profile, error) {
		p := &profile{object: newObject(r.State.Now(), nil), name: v.text("name"), provider: v.text("provider_name"), data: v.text(k.data)}
		res.known(r.State).Add(p)
		return p, nil
	}
	res.update = k.update
	res.remove = func(r *request, p *profile) error {
		if k.used(r.State, p) {
			return inUse(k.name, p.id.String())
		}
		res.known(r.State).Remove(p)
		return nil
	}
	return &res
}

func (k profiles) update(r *request, p *profile, v values) error {
	if (v.has("provider_name") || v.has(k.data)) && k.used(r.State, p) {
		return inUse(k.name, p.id.String())
	}
	changed := *p
	v.set("name", &changed.name)
	v.set("provider_name", &changed.provider)
	v.set(k.data, &changed.data)
	if err := checkProfile(changed.provider, changed.data, k.data); err != nil {
		return err
	}
	*p = changed
	return nil
}
