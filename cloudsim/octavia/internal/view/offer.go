// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

func profileColumn(p *model.Profile, name string) cell {
	switch name {
	case "id":
		return idCell(p.ID)
	case "name":
		return textCell(p.Name)
	case "provider_name":
		return textCell(p.Provider)
	case "flavor_data", "availability_zone_data":
		return textCell(p.Data)
	}
	return cell{is: isUnknown}
}

func renderProfile(d *Document, p *model.Profile, data string) {
	d.id("id", p.ID)
	d.text("name", p.Name)
	d.text("provider_name", p.Provider)
	d.text(data, p.Data)
}

func offerColumn(o *model.Offer, name string) cell {
	switch name {
	case "name":
		return textCell(o.Name)
	case "description":
		return textCell(o.Description)
	case "enabled":
		return flagCell(o.Enabled)
	}
	return cell{is: isUnknown}
}

func flavorColumn(f *model.Offer, name string) cell {
	switch name {
	case "id":
		return idCell(f.ID)
	case "flavor_profile_id":
		return idCell(f.Profile)
	}
	return offerColumn(f, name)
}

func zoneColumn(z *model.Offer, name string) cell {
	if name == "availability_zone_profile_id" {
		return idCell(z.Profile)
	}
	return offerColumn(z, name)
}

func renderOffer(d *Document, o *model.Offer, profileKey string) {
	d.text("name", o.Name)
	d.text("description", o.Description)
	d.flag("enabled", o.Enabled)
	d.id(profileKey, o.Profile)
}
