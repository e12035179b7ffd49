// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
)

// OctaviaVersion returns the highest API version of Octavia, compared as numbers: 2.10 is above 2.9. An unreadable
// list is an error: it never means an old version.
func (s *Session) OctaviaVersion(ctx context.Context) (major, minor int, err error) {
	const op = "read the API versions of Octavia"
	var answer struct {
		Versions []struct {
			ID string `json:"id"`
		} `json:"versions"`
	}
	_, err = s.LoadBalancer().Get(ctx, s.LoadBalancer().Endpoint, decoding.Into(&answer), &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusMultipleChoices},
	})
	if err != nil {
		return 0, 0, explainEndpoint(Wrap(op, err), calls.ServiceLoadBalancer, s.LoadBalancer().Endpoint)
	}
	for _, v := range answer.Versions {
		if a, b, ok := parseVersion(v.ID); ok && (a > major || a == major && b > minor) {
			major, minor = a, b
		}
	}
	if major == 0 {
		return 0, 0, Wrap(op, errors.New("it lists none at "+withoutPassword(s.LoadBalancer().Endpoint)))
	}
	return major, minor, nil
}

// Providers returns the names of the enabled providers of Octavia; none if the access rules of the application
// credential in use do not allow the call.
func (s *Session) Providers(ctx context.Context) ([]string, error) {
	if !s.MayCall(calls.ProvidersPath) {
		return nil, nil
	}
	var answer struct {
		Providers []struct {
			Name string `json:"name"`
		} `json:"providers"`
	}
	if _, err := s.LoadBalancer().Get(ctx, strings.TrimSuffix(s.LoadBalancer().Endpoint, "/")+calls.ProvidersPath, decoding.Into(&answer), nil); err != nil {
		return nil, Wrap("list the providers of Octavia", err)
	}
	var names []string
	for _, p := range answer.Providers {
		names = append(names, p.Name)
	}
	return names, nil
}

// parseVersion parses "v2.26", and "v2" as 2.0.
func parseVersion(id string) (major, minor int, ok bool) {
	text, prefixed := strings.CutPrefix(id, "v")
	first, second, dotted := strings.Cut(text, ".")
	if !dotted {
		second = "0"
	}
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return major, minor, prefixed && err1 == nil && err2 == nil && major >= 0 && minor >= 0
}
