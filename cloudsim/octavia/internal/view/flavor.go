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

func flavorColumn(f *model.Flavor, name string) cell {
	switch name {
	case "id":
		return idCell(f.ID)
	case "name":
		return textCell(f.Name)
	case "description":
		return textCell(f.Description)
	case "enabled":
		return flagCell(f.Enabled)
	case "flavor_profile_id":
		return idCell(f.Profile)
	}
	return cell{is: isUnknown}
}

func renderFlavor(d *Document, f *model.Flavor) {
	d.id("id", f.ID)
	d.text("name", f.Name)
	d.text("description", f.Description)
	d.flag("enabled", f.Enabled)
	d.id("flavor_profile_id", f.Profile)
}

func zoneColumn(z *model.Zone, name string) cell {
	switch name {
	case "name":
		return textCell(z.Name)
	case "description":
		return textCell(z.Description)
	case "enabled":
		return flagCell(z.Enabled)
	case "availability_zone_profile_id":
		return idCell(z.Profile)
	}
	return cell{is: isUnknown}
}

func renderZone(d *Document, z *model.Zone) {
	d.text("name", z.Name)
	d.text("description", z.Description)
	d.flag("enabled", z.Enabled)
	d.id("availability_zone_profile_id", z.Profile)
}
