// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// region is an element of the list of regions, with the settings of only this region.
type region struct {
	name   string
	value  value
	values *value
}

// chooseRegion chooses the wanted region, or that of region_name, or the first of several ones. It sets the region,
// unless it is the wanted one, and merges its settings into the entry.
func (t *translation) chooseRegion(wanted string) error {
	named, err := t.regionNames()
	if err != nil {
		return err
	}
	listed, err := t.regionList()
	if err != nil {
		return err
	}
	chosen := region{name: wanted}
	from := ""
	switch {
	case wanted != "":
	case len(named) > 0:
		chosen, from = named[0], "region_name"
	case len(listed) > 0:
		chosen, from = listed[0], "regions"
	}
	t.region = chosen.name
	if from != "" {
		t.set("region", candidate{key: from, value: chosen.value, content: chosen.name})
		t.noticeRegions(from, named, listed)
	}
	at := slices.IndexFunc(listed, func(r region) bool { return r.name == chosen.name })
	if at < 0 || listed[at].values == nil {
		return nil
	}
	return t.entry.add(*listed[at].values, t.section)
}

// noticeRegions adds a notice about regions that are not used.
func (t *translation) noticeRegions(from string, named, listed []region) {
	const do = "Set region in [Global] of cloud.conf, or keep one region."
	switch {
	case len(named) > 1:
		t.notice(from, t.entry.keys[from], true, fmt.Sprintf("It names several regions, of which the first one is used: %s.", named[0].name), do)
	case from == "regions" && len(listed) > 1:
		t.notice(from, t.entry.keys[from], true, fmt.Sprintf("It lists several regions, of which the first one is used: %s.", listed[0].name), do)
	case from == "region_name" && len(listed) > 0 && listed[0].name != named[0].name:
		t.notice(from, t.entry.keys[from], true, fmt.Sprintf("It is used, although OpenStack's own clients use the first one of regions: %s.", listed[0].name), do)
	}
}

// regionNames returns the regions of region_name, which may be a list, or text with commas.
func (t *translation) regionNames() ([]region, error) {
	v, there := t.entry.keys["region_name"]
	if !there {
		return nil, nil
	}
	t.used["region_name"] = true
	var all []region
	for _, element := range v.list() {
		text, err := element.text()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.source(t.section, "region_name"), err)
		}
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			if name != "" {
				all = append(all, region{name: name, value: v})
			}
		}
	}
	return all, nil
}

// regionList returns the elements of regions: names, or maps with name and values.
func (t *translation) regionList() ([]region, error) {
	v, there := t.entry.keys["regions"]
	if !there {
		return nil, nil
	}
	t.used["regions"] = true
	if v.isNull() {
		return nil, nil
	}
	var all []region
	for _, element := range v.list() {
		r, err := readRegion(element)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", element.source(t.section, "regions"), err)
		}
		all = append(all, r)
	}
	return all, nil
}

func readRegion(element value) (region, error) {
	wrong := errors.New("each element must be the name of a region, or a map with name and values")
	if name, err := element.text(); err == nil {
		if name == "" {
			return region{}, wrong
		}
		return region{name: name, value: element}, nil
	}
	keys, err := element.mapping()
	if err != nil {
		return region{}, wrong
	}
	name, there := keys["name"]
	if !there {
		return region{}, wrong
	}
	r := region{value: element}
	r.name, err = name.text()
	if err != nil || r.name == "" {
		return region{}, wrong
	}
	if values, there := keys["values"]; there {
		r.values = &values
	}
	return r, nil
}
