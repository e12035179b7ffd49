// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// RegionError means that services have endpoints in several regions, and none is configured. The order in the catalogue
// may change from token to token, so the first region is not a safe choice: load balancers would be created again in
// another region.
type RegionError struct {
	// Regions are sorted.
	Regions []string
}

// Error lists the regions.
func (e *RegionError) Error() string {
	return fmt.Sprintf("the service catalogue has several regions (%s), and none is configured: set region in [Global] to the region of the nodes",
		strings.Join(e.Regions, ", "))
}

// region returns the region of the services: the wanted one, or the only one that Neutron and Octavia have in common. If each of
// the two has one region, it is that of Neutron, because the nodes are there. It is empty if both are overridden.
func (w Wanted) region(entries []tokens.CatalogEntry) (string, error) {
	if w.Region != "" {
		return w.Region, nil
	}
	var all, common []string
	several, first := false, true
	for _, service := range []string{calls.ServiceNetwork, calls.ServiceLoadBalancer} {
		regions := w.regionsOf(entries, service)
		if w.Overrides[service] != "" || len(regions) == 0 {
			continue // there is no choice, or Find reports that the service is missing
		}
		several = several || len(regions) > 1
		all = append(all, regions...)
		if first {
			common, first = regions, false
		} else {
			common = slices.DeleteFunc(slices.Clone(common), func(r string) bool { return !slices.Contains(regions, r) })
		}
	}
	switch {
	case len(common) == 1:
		return common[0], nil
	case len(all) == 0:
		return "", nil
	case !several:
		return all[0], nil
	}
	slices.Sort(all)
	return "", &RegionError{Regions: slices.Compact(all)}
}

// regionsOf returns the regions in which a service has endpoints of the wanted type, sorted.
func (w Wanted) regionsOf(entries []tokens.CatalogEntry, service string) []string {
	var regions []string
	for _, e := range endpointsOf(entries, service) {
		if e.Interface == cmp.Or(w.Type, defaultType) {
			regions = append(regions, cmp.Or(e.Region, e.RegionID))
		}
	}
	slices.Sort(regions)
	return slices.Compact(regions)
}
