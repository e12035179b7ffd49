// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"regexp"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// These match the version of an API at the end of an endpoint. In Octavia's paths lbaas follows.
var (
	version        = regexp.MustCompile(`/+v\d+(\.\d+)?$`)
	octaviaVersion = regexp.MustCompile(`/+v\d+(\.\d+)?(/+lbaas)?$`)
)

// projectTail matches a project id at the end of an address: an id of Keystone, or any id after AUTH_.
var projectTail = regexp.MustCompile(`/+([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|AUTH_[^/]+)$`)

// rootOf returns the address of a service without the version, with a trailing slash. In some catalogues the endpoint
// has the version of the API, the id of the project after it, a part of Octavia's paths, or trailing slashes.
func rootOf(service, endpoint, projectID string) string {
	address := strings.TrimRight(strings.TrimSpace(endpoint), "/")
	for _, candidate := range []string{withoutProject(address, projectID), address} {
		tail := version
		if service == calls.ServiceLoadBalancer {
			tail = octaviaVersion
		}
		if tail.MatchString(candidate) {
			return tail.ReplaceAllString(candidate, "") + "/"
		}
	}
	return address + "/"
}

// withoutProject removes the id of a project at the end.
func withoutProject(address, projectID string) string {
	if rest, found := strings.CutSuffix(address, "/"+projectID); found && projectID != "" {
		return strings.TrimRight(rest, "/")
	}
	return projectTail.ReplaceAllString(address, "")
}
