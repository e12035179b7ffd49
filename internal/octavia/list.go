// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// pageSize is how many objects are asked for at once: Octavia's usual maximum.
const pageSize = 1000

// identified is a document that pages can be continued after.
type identified interface{ id() string }

type link struct {
	Rel string `json:"rel"`
}

// list reads all pages of a list. The key of the answer is the last word of the
// path. Octavia's links to further pages are not followed: they have lost the
// filters and fields of the query, and may name another host or scheme. A marker
// that comes a second time is an error: pages would go on for ever.
func list[T identified](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	key := path[strings.LastIndex(path, "/")+1:]
	op := "list " + path
	query = maps.Clone(query)
	query.Set("limit", strconv.Itoa(pageSize))
	all, markers := []T{}, map[string]bool{}
	for {
		page, more, err := readPage[T](ctx, c, op, path, key, query)
		if err != nil {
			return nil, err
		}
		for _, document := range page {
			if id := document.id(); !openstack.IsID(id) {
				return nil, unreadable(op, "an object with the id "+strconv.Quote(id))
			}
		}
		all = append(all, page...)
		if len(page) == 0 || !more {
			return all, nil
		}
		last := page[len(page)-1].id()
		if markers[last] {
			return nil, unreadable(op, "no page after "+last)
		}
		markers[last] = true
		query.Set("marker", last)
	}
}

// readPage reads one page and reports whether there may be more. An answer without
// its list is no empty list, but an error.
func readPage[T any](ctx context.Context, c *Client, op, path, key string, query url.Values) (page []T, more bool, err error) {
	var answer map[string]json.RawMessage
	if err := c.get(ctx, op, path, query, &answer); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(answer[key], &page); err != nil || page == nil {
		return nil, false, unreadable(op, "no list of "+key)
	}
	var links []link
	if text := answer[key+"_links"]; text != nil {
		if err := json.Unmarshal(text, &links); err != nil {
			return nil, false, unreadable(op, "no list of "+key+"_links")
		}
	}
	return page, slices.Contains(links, link{Rel: "next"}), nil
}
