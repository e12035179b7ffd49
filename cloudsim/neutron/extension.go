// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// extension is an entry of the list of API extensions.
type extension struct {
	Name        string   `json:"name"`
	Alias       string   `json:"alias"`
	Description string   `json:"description"`
	Updated     string   `json:"updated"`
	Links       []string `json:"links"` // always empty
}

// extensions are those that the simulator implements: alias, name, date of the last change.
var extensions = func() []extension {
	var all []extension
	for _, e := range [][3]string{
		{"allowed-address-pairs", "Allowed Address Pairs", "2013-07-23T10:00:00-00:00"},
		{"availability_zone", "Availability Zone", "2015-01-01T10:00:00-00:00"},
		{"binding", "Port Binding", "2014-02-03T10:00:00-00:00"},
		{"empty-string-filtering", "Empty String Filtering Extension", "2018-05-01T10:00:00-00:00"},
		{"ext-gw-mode", "Neutron L3 Configurable external gateway mode", "2013-03-28T10:00:00-00:00"},
		{"external-net", "Neutron external network", "2013-01-14T10:00:00-00:00"},
		{"extraroute", "Neutron Extra Route", "2013-02-01T10:00:00-00:00"},
		{extraRouteAtomic, "Atomically add/remove extra routes", "2019-07-10T00:00:00+00:00"},
		{"filter-validation", "Filter parameters validation", "2018-07-04T10:00:00-00:00"},
		{"fip-port-details", "Floating IP Port Details Extension", "2018-04-09T10:00:00-00:00"},
		{portForwardings, "Floating IP Port Forwarding", "2018-01-19T10:00:00-00:00"},
		{"floatingip-pools", "Floating IP Pools Extension", "2018-03-21T10:00:00-00:00"},
		{"ip-substring-filtering", "IP address substring filtering", "2017-11-28T09:00:00-00:00"},
		{"network-ip-availability", "Network IP Availability", "2015-09-24T00:00:00-00:00"},
		{"net-mtu", "Network MTU", "2015-03-25T10:00:00-00:00"},
		{"net-mtu-writable", "Network MTU (writable)", "2017-07-12T00:00:00-00:00"},
		{"pagination", "Pagination support", "2016-06-12T00:00:00-00:00"},
		{"port-security", "Port Security", "2012-07-23T10:00:00-00:00"},
		{"port-security-groups-filtering", "Port filtering on security groups", "2018-01-09T09:00:00-00:00"},
		{"project-id", "project_id field enabled", "2016-09-09T09:09:09-09:09"},
		{"provider", "Provider Network", "2012-09-07T10:00:00-00:00"},
		{"quota_details", "Quota details management support", "2017-02-10T10:00:00-00:00"},
		{"quotas", "Quota management support", "2012-07-29T10:00:00-00:00"},
		{"revision-if-match", "If-Match constraints based on revision_number", "2016-12-11T00:00:00-00:00"},
		{"router", "Neutron L3 Router", "2012-07-20T10:00:00-00:00"},
		{"security-group", "security-group", "2012-10-05T10:00:00-00:00"},
		{"security-groups-normalized-cidr", "Normalized CIDR field for security group rules", "2020-07-28T10:00:00-00:00"},
		{"sorting", "Sorting support", "2016-06-12T00:00:00-00:00"},
		{"standard-attr-description", "standard-attr-description", "2016-02-10T10:00:00-00:00"},
		{"standard-attr-revisions", "Resource revision numbers", "2016-04-11T10:00:00-00:00"},
		{"standard-attr-tag", "Tag support for resources with standard attribute", "2017-01-01T00:00:00-00:00"},
		{"standard-attr-timestamp", "Resource timestamps", "2016-09-12T10:00:00-00:00"},
		{"stateful-security-group", "Stateful security group", "2019-11-26T09:00:00-00:00"},
		{"trunk", "Trunk Extension", "2016-01-01T10:00:00-00:00"},
		{trunkDetails, "Trunk port details", "2016-01-01T10:00:00-00:00"},
	} {
		all = append(all, extension{Alias: e[0], Name: e[1], Description: e[1], Updated: e[2], Links: []string{}})
	}
	return all
}()

// has reports whether the cloud has the extension with the alias.
func (s *Service) has(alias string) bool { return !slices.Contains(s.options.Without, alias) }

func (s *Service) routeExtensions(mux *http.ServeMux) {
	mux.HandleFunc("GET /v2.0/extensions", func(w http.ResponseWriter, _ *http.Request) {
		wire.JSON(w, http.StatusOK, map[string]any{"extensions": slices.DeleteFunc(slices.Clone(extensions), func(e extension) bool { return !s.has(e.Alias) })})
	})
	mux.HandleFunc("GET /v2.0/extensions/{alias}", func(w http.ResponseWriter, r *http.Request) {
		for _, e := range extensions {
			if e.Alias == r.PathValue("alias") && s.has(e.Alias) {
				wire.JSON(w, http.StatusOK, map[string]any{"extension": e})
				return
			}
		}
		wire.JSON(w, http.StatusNotFound, map[string]any{
			"code": "404 Not Found", "title": "Not Found",
			"message": "The resource could not be found.<br /><br />\nExtension with alias " + r.PathValue("alias") + " does not exist\n\n",
		})
	})
}

// routeEmptyLists serves collections that clients request and that are always empty here.
func (s *Service) routeEmptyLists(mux *http.ServeMux) {
	for path, key := range map[string]string{
		"agents": "agents", "availability_zones": "availability_zones", "address-scopes": "address_scopes", "subnetpools": "subnetpools",
		"rbac-policies": "rbac_policies",
	} {
		mux.HandleFunc("GET /v2.0/"+path, func(w http.ResponseWriter, _ *http.Request) {
			wire.JSON(w, http.StatusOK, map[string]any{key: []any{}})
		})
	}
	mux.HandleFunc("GET /v2.0/subnetpools/{id}", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, notFound("SubnetPoolNotFound", "Subnet pool %s could not be found.", r.PathValue("id")))
	})
	mux.HandleFunc("GET /v2.0/address-scopes/{id}", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, notFound("AddressScopeNotFound", "Address scope %s could not be found", r.PathValue("id")))
	})
	mux.HandleFunc("GET /v2.0/floatingip_pools", s.listFloatingIPPools)
}

// listFloatingIPPools lists the IPv4 subnets of external networks that the
// caller may see.
func (s *Service) listFloatingIPPools(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := wire.Caller(r.Context())
	pools := []map[string]string{}
	for _, sub := range inOrder(s.subnets, func(sub *subnet) bool { return s.networks[sub.network].external && sub.ipVersion() == 4 }) {
		if s.visibleSubnet(c, sub.id) != nil {
			pools = append(pools, map[string]string{
				"subnet_id": sub.id, "subnet_name": sub.name, "network_id": sub.network, "cidr": sub.cidr.String(),
				"project_id": sub.project, "tenant_id": sub.project,
			})
		}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"floatingip_pools": pools})
}
