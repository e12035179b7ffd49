// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"net/http"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The microversions on offer. Since 1.1 secrets have consumers.
const (
	oldest = "1.0"
	newest = "1.1"

	versionHeader = "OpenStack-API-Version"
)

// versioned answers in the microversion that the request names.
func versioned(handle http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := wanted(r)
		if version != oldest && version != newest {
			wire.JSON(w, http.StatusNotAcceptable, map[string]any{
				"code": "406 Not Acceptable", "title": "Not Acceptable",
				"message": "The resource could not be generated that was acceptable to your browser\n(content of type application/json. <br /><br />\n" +
					"Invalid microversion: Unacceptable version header: " + version,
			})
			return
		}
		w.Header().Set(versionHeader, "key-manager "+version)
		w.Header().Add("Vary", versionHeader)
		handle(w, r)
	})
}

func wanted(r *http.Request) string {
	version := oldest
	for part := range strings.SplitSeq(r.Header.Get(versionHeader), ",") {
		if service, v, ok := strings.Cut(strings.TrimSpace(part), " "); ok && service == "key-manager" {
			version = strings.TrimSpace(v)
		}
	}
	if version == "latest" {
		return newest
	}
	return version
}

func listVersions(w http.ResponseWriter, r *http.Request) {
	versioned(func(w http.ResponseWriter, r *http.Request) {
		v := map[string]any{
			"id": "v1", "status": "stable",
			"links": []any{
				map[string]string{"rel": "self", "href": "http://" + r.Host + "/v1/"},
				map[string]string{"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
			},
			"media-types": []any{map[string]string{"base": "application/json", "type": "application/vnd.openstack.key-manager-v1+json"}},
		}
		if wanted(r) == newest {
			v["status"], v["min_version"], v["max_version"] = "CURRENT", oldest, newest
		}
		wire.JSON(w, http.StatusMultipleChoices, map[string]any{"versions": map[string]any{"values": []any{v}}})
	}).ServeHTTP(w, r)
}
