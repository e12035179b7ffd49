// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// minMinor is the minor version of the oldest microversion, 2.minMinor.
const minMinor = 1

// newestMinors has the minor versions of the newest microversions: those of Nova 26, 31 and 34. Servers look the same
// in all versions from 2.93 on.
var newestMinors = map[release.Release]int{release.Zed: 93, release.Epoxy: 100, release.Newest: 104}

// versioned is a handler of requests of one microversion, 2.minor.
type versioned func(w http.ResponseWriter, r *http.Request, minor int)

const (
	newHeader = "OpenStack-API-Version"
	oldHeader = "X-OpenStack-Nova-API-Version"
)

var microversion = regexp.MustCompile(`^([1-9][0-9]*)\.([1-9][0-9]*|0)$`)

// versioned reads the requested microversion.
func (s *Service) versioned(handle versioned) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		minor, shown, err := s.wantedMinor(r)
		if shown != "" {
			w.Header().Set(newHeader, "compute "+shown)
			w.Header().Set(oldHeader, shown)
		}
		w.Header().Add("Vary", newHeader)
		w.Header().Add("Vary", oldHeader)
		if err != nil {
			err.write(w)
			return
		}
		handle(w, r, minor)
	}
}

// wantedMinor returns the requested microversion 2.minor, and the version that the answer names:
// none if the request's cannot be parsed.
func (s *Service) wantedMinor(r *http.Request) (minor int, shown string, p *problem) {
	wanted := r.Header.Get(oldHeader)
	for _, v := range r.Header.Values(newHeader) {
		for part := range strings.SplitSeq(v, ",") {
			if service, version, ok := strings.Cut(strings.TrimSpace(part), " "); ok && strings.EqualFold(service, "compute") {
				wanted = strings.TrimSpace(version)
			}
		}
	}
	switch wanted {
	case "":
		wanted = fmt.Sprintf("2.%d", minMinor)
	case "latest":
		wanted = fmt.Sprintf("2.%d", s.maxMinor)
	}
	parts := microversion.FindStringSubmatch(wanted)
	if parts == nil {
		return minMinor, "", badRequest("API Version String " + wanted + " is of invalid format. Must be of format MajorNum.MinorNum.")
	}
	minor, err := strconv.Atoi(parts[2])
	if err != nil || parts[1] != "2" || minor < minMinor || minor > s.maxMinor {
		return minMinor, wanted, &problem{http.StatusNotAcceptable, "computeFault", fmt.Sprintf(
			"Version %s is not supported by the API. Minimum is 2.%d and maximum is 2.%d.", wanted, minMinor, s.maxMinor)}
	}
	return minor, wanted, nil
}

// problem is an error in Nova's format, {kind: {code, message}}.
type problem struct {
	status        int
	kind, message string
}

func badRequest(message string) *problem {
	return &problem{http.StatusBadRequest, "badRequest", message}
}

func (p *problem) write(w http.ResponseWriter) {
	wire.JSON(w, p.status, map[string]any{p.kind: map[string]any{"code": p.status, "message": p.message}})
}

func notFound(what, id string) *problem {
	return &problem{http.StatusNotFound, "itemNotFound", fmt.Sprintf("%s %s could not be found.", what, id)}
}

// NotFound answers requests for paths that Nova does not have.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	wire.JSON(w, http.StatusNotFound, map[string]string{
		"code": "404 Not Found", "title": "Not Found", "message": "The resource could not be found.<br /><br />\n\n\n",
	})
}

func (s *Service) describeVersion(r *http.Request) map[string]any {
	return map[string]any{
		"id": "v2.1", "status": "CURRENT", "version": fmt.Sprintf("2.%d", s.maxMinor), "min_version": fmt.Sprintf("2.%d", minMinor),
		"updated": "2013-07-23T11:33:21Z", "links": []any{map[string]string{"rel": "self", "href": "http://" + r.Host + "/v2.1/"}},
	}
}

func (s *Service) listVersions(w http.ResponseWriter, r *http.Request) {
	wire.JSON(w, http.StatusOK, map[string]any{"versions": []any{
		map[string]any{
			"id": "v2.0", "status": "SUPPORTED", "version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z",
			"links": []any{map[string]string{"rel": "self", "href": "http://" + r.Host + "/v2/"}},
		},
		s.describeVersion(r),
	}})
}

func (s *Service) showVersion(w http.ResponseWriter, r *http.Request, _ int) {
	v := s.describeVersion(r)
	v["links"] = append(v["links"].([]any), map[string]string{"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"})
	v["media-types"] = []any{map[string]string{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}}
	wire.JSON(w, http.StatusOK, map[string]any{"version": v})
}
