// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

type link struct {
	Rel string `json:"rel"`
}

// list reads all pages of a collection that the query chooses. gophercloud's own
// pages take an answer without its list for an empty list; here it is an error.
func list[T any](ctx context.Context, service *gophercloud.ServiceClient, op, collection string, query url.Values) ([]T, error) {
	var all []T
	key := strings.ReplaceAll(collection, "-", "_")
	markers := map[string]bool{}
	for {
		var answer map[string]json.RawMessage
		if _, err := service.Get(ctx, service.ServiceURL(collection)+"?"+query.Encode(), &answer, nil); err != nil {
			return nil, openstack.Wrap(op, err)
		}
		page, last, err := decode[T](op, answer[key], key)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		var links []link
		if text := answer[key+"_links"]; text != nil {
			if err := json.Unmarshal(text, &links); err != nil {
				return nil, openstack.Wrap(op, err)
			}
		}
		if last == "" || !slices.Contains(links, link{Rel: "next"}) {
			return all, nil
		}
		if markers[last] {
			return nil, unreadable(op, "no page after "+last)
		}
		markers[last] = true
		query.Set("marker", last)
	}
}

// decode reads one page, and the id of the last object on it.
func decode[T any](op string, text json.RawMessage, collection string) (page []T, last string, err error) {
	if text == nil || string(text) == "null" {
		return nil, "", unreadable(op, "no "+collection)
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, "", openstack.Wrap(op, err)
	}
	var ids []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &ids); err != nil {
		return nil, "", openstack.Wrap(op, err)
	}
	for _, object := range ids {
		if last = object.ID; !openstack.IsID(last) {
			return nil, "", unreadable(op, "an object with the id "+strconv.Quote(last))
		}
	}
	return page, last, nil
}

// unreadable is the error of an answer that lacks what was asked for. A write
// may have been carried out all the same.
func unreadable(op, what string) error {
	return &openstack.Error{Op: op, Class: openstack.Transient, Message: "there is " + what + " in the answer", Unanswered: true}
}
