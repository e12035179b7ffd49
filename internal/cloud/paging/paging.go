// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paging reads lists of OpenStack page by page.
package paging

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

// Size is the requested page size: the usual maximum of Octavia and Neutron.
const Size = 1000

// List reads all pages of the collection at path; the last word of the path is its key in the response.
//
// Links to further pages are not followed: Octavia's lack the filters and fields of the query, and may name
// another host or scheme. A response without its list is an error, not an empty list as in gophercloud's pages. A
// repeated marker is an error, too: the pages would never end.
func List[T any](ctx context.Context, service *gophercloud.ServiceClient, op, path string, query url.Values) ([]T, error) {
	return ListOf[T](ctx, service, op, path, strings.ReplaceAll(path[strings.LastIndex(path, "/")+1:], "-", "_"), query)
}

// ListNamed is List for objects whose ids users choose, such as Nova's flavors. These ids may contain any character, so
// they must not become parts of URLs.
func ListNamed[T any](ctx context.Context, service *gophercloud.ServiceClient, op, path string, query url.Values) ([]T, error) {
	return list[T](ctx, service, op, path, path, query, func(id string) bool { return id != "" })
}

// ListOf is List for a collection with another key in the response, such as Nova's servers/detail.
func ListOf[T any](ctx context.Context, service *gophercloud.ServiceClient, op, path, key string, query url.Values) ([]T, error) {
	return list[T](ctx, service, op, path, key, query, openstack.IsID)
}

func list[T any](ctx context.Context, service *gophercloud.ServiceClient, op, path, key string, query url.Values, isID func(string) bool) ([]T, error) {
	query = maps.Clone(query)
	all, markers := []T{}, map[string]bool{}
	for {
		var answer map[string]json.RawMessage
		if _, err := service.Get(ctx, service.ServiceURL(path)+"?"+query.Encode(), decoding.Into(&answer), nil); err != nil {
			return nil, openstack.Wrap(op, err)
		}
		var page []T
		if answer[key] == nil {
			return nil, openstack.Unreadable(op, "no list of "+key)
		}
		if err := decoding.Unmarshal(answer[key], &page); err != nil {
			return nil, openstack.Wrap(op, fmt.Errorf("%s: %w", key, err))
		}
		if page == nil {
			return nil, openstack.Unreadable(op, "no list of "+key)
		}
		all = append(all, page...)
		last, err := lastID(op, answer[key], isID)
		if err != nil {
			return nil, err
		}
		more, err := hasNext(op, key+"_links", answer)
		if err != nil {
			return nil, err
		}
		if last == "" || !more {
			return all, nil
		}
		if markers[last] {
			return nil, openstack.Unreadable(op, "no page after "+last)
		}
		markers[last] = true
		query.Set("marker", last)
	}
}

// lastID returns the id of the last object on a page, or "" for an empty page.
func lastID(op string, page json.RawMessage, isID func(string) bool) (last string, err error) {
	var objects []struct {
		ID string `json:"id"`
	}
	if err := decoding.Unmarshal(page, &objects); err != nil {
		return "", openstack.Wrap(op, err)
	}
	for _, object := range objects {
		last = object.ID
		if !isID(last) {
			return "", openstack.Unreadable(op, "an object with the id "+strconv.Quote(last))
		}
	}
	return last, nil
}

// hasNext reports whether the response has a link to a further page.
func hasNext(op, key string, answer map[string]json.RawMessage) (bool, error) {
	type link struct {
		Rel string `json:"rel"`
	}
	var links []link
	if text := answer[key]; text != nil {
		if err := decoding.Unmarshal(text, &links); err != nil {
			return false, openstack.Unreadable(op, "no list of "+key)
		}
	}
	return slices.Contains(links, link{Rel: "next"}), nil
}
