// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// versionTimes are the release times of the versions 2.0, 2.1, ..., as Octavia 16 lists them.
var versionTimes = [newestMinor + 1]string{
	"2016-12-11T00:00:00Z", "2018-04-20T00:00:00Z", "2018-07-31T00:00:00Z", "2018-12-18T00:00:00Z",
	"2018-12-19T00:00:00Z", "2019-01-21T00:00:00Z", "2019-01-25T00:00:00Z", "2018-01-25T12:00:00Z",
	"2019-02-12T00:00:00Z", "2019-03-04T00:00:00Z", "2019-03-05T00:00:00Z", "2019-06-24T00:00:00Z",
	"2019-09-11T00:00:00Z", "2019-09-13T00:00:00Z", "2019-11-10T00:00:00Z", "2020-03-10T00:00:00Z",
	"2020-03-15T00:00:00Z", "2020-04-29T00:00:00Z", "2020-04-29T01:00:00Z", "2020-05-12T00:00:00Z",
	"2020-08-02T00:00:00Z", "2020-09-03T00:00:00Z", "2020-09-04T00:00:00Z", "2020-09-07T00:00:00Z",
	"2020-10-15T00:00:00Z", "2021-10-02T00:00:00Z", "2022-08-29T00:00:00Z", "2023-05-05T00:00:00Z",
	"2023-11-08T00:00:00Z", "2024-10-15T00:00:00Z", "2025-02-26T00:00:00Z",
}

type version struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Updated string `json:"updated"`
	Links   []link `json:"links"`
}

type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// Unnumbered reports whether an answer has no request id: refusals of requests without a valid
// token, which never reach Octavia.
func Unnumbered(_ string, refused bool) bool { return refused }

// NotFound answers requests for paths that do not exist.
func NotFound(w http.ResponseWriter, r *http.Request) {
	var description any
	if strings.HasPrefix(r.URL.Path, "/v2") {
		description = ""
	}
	writeOutside(w, http.StatusNotFound, description)
}

// NotAllowed answers requests whose method the path does not have.
func NotAllowed(w http.ResponseWriter, _ *http.Request) {
	writeOutside(w, http.StatusMethodNotAllowed, "")
}

func writeOutside(w http.ResponseWriter, status int, description any) {
	wire.JSON(w, status, map[string]any{"title": http.StatusText(status), "description": description, "code": status})
}

// versions answers with the API versions, from the oldest to the newest.
func (s *Service) versions(w http.ResponseWriter, r *http.Request) {
	newest := int(s.minor.Load())
	all := make([]version, newest+1)
	for i := range all {
		all[i] = version{
			ID: fmt.Sprintf("v2.%d", i), Status: "SUPPORTED", Updated: versionTimes[i],
			Links: []link{{Href: "http://" + r.Host + "/v2", Rel: "self"}},
		}
	}
	all[newest].Status = "CURRENT"
	wire.JSON(w, http.StatusOK, map[string]any{"versions": all})
}
