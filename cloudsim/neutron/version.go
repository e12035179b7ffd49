// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

type linkView struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// Public reports whether a route needs no token: only the version documents.
func Public(route string) bool { return route == "/" }

// Unnumbered reports whether an answer has no request id: only the list of versions.
func Unnumbered(route string, _ bool) bool { return Public(route) }

func (s *Service) routeVersions(mux *http.ServeMux) {
	base := func(r *http.Request) string { return "http://" + r.Host }
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		wire.JSON(w, http.StatusOK, map[string]any{"versions": []any{map[string]any{
			"id": "v2.0", "status": "CURRENT", "links": []linkView{{"self", base(r) + "/v2.0/"}},
		}}})
	})
	mux.HandleFunc("GET /v2.0/{$}", func(w http.ResponseWriter, r *http.Request) {
		var resources []any
		for _, one := range []string{"network", "subnet", "subnetpool", "port"} {
			resources = append(resources, map[string]any{
				"name": one, "collection": one + "s", "links": []linkView{{"self", base(r) + "/v2.0/" + one + "s"}},
			})
		}
		wire.JSON(w, http.StatusOK, map[string]any{"resources": resources})
	})
}
