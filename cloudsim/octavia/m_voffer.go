// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

func profileColumn(p *profile, name string) cell {
	switch name {
	case "id":
		return idCell(p.id)
	case "name":
		return textCell(p.name)
	case "provider_name":
		return textCell(p.provider)
	case "flavor_data", "availability_zone_data":
		return textCell(p.data)
	}
	return cell{is: isUnknown}
}

func renderProfile(d *document, p *profile, data string) {
	d.id("id", p.id)
	d.text("name", p.name)
	d.text("provider_name", p.provider)
	d.text(data, p.data)
}

func flavorColumn(f *flavor, name string) cell {
	switch name {
	case "id":
		return idCell(f.id)
	case "name":
		return textCell(f.name)
	case "description":
		return textCell(f.description)
	case "enabled":
		return flagCell(f.enabled)
	case "flavor_profile_id":
		return idCell(f.profile)
	}
	return cell{is: isUnknown}
}

func renderFlavor(d *document, f *flavor) {
	d.id("id", f.id)
	d.text("name", f.name)
	d.text("description", f.description)
	d.flag("enabled", f.enabled)
	d.id("flavor_profile_id", f.profile)
}

func zoneColumn(z *zone, name string) cell {
	switch name {
	case "name":
		return textCell(z.name)
	case "description":
		return textCell(z.description)
	case "enabled":
		return flagCell(z.enabled)
	case "availability_zone_profile_id":
		return idCell(z.profile)
	}
	return cell{is: isUnknown}
}

func renderZone(d *document, z *zone) {
	d.text("name", z.name)
	d.text("description", z.description)
	d.flag("enabled", z.enabled)
	d.id("availability_zone_profile_id", z.profile)
}
