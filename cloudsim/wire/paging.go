// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// link leads from one page of a list to another.
type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// limit returns the page size, or 0 for no paging. problem is what is wrong with the client's
// value.
func (c Collection[T]) limit(asked string) (limit int, problem string) {
	if asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 0 {
			return 0, fmt.Sprintf("Invalid input for limit. Reason: '%s' is not a whole number of 0 or more.", asked)
		}
		limit = n
	}
	if c.MaxLimit > 0 && (limit == 0 || limit > c.MaxLimit) {
		limit = c.MaxLimit
	}
	return limit, ""
}

// page returns the page of the sorted items: those that follow the marker or, backwards, those that
// precede it.
func (c Collection[T]) page(items []T, marker string, limit int, backwards bool) (page []T, found bool) {
	at := -1
	if marker != "" {
		at = slices.IndexFunc(items, func(item T) bool { return c.ID(item) == marker })
		if at < 0 {
			return nil, false
		}
	}
	if backwards {
		if at < 0 {
			at = len(items)
		}
		page = items[:at]
		if limit > 0 && len(page) > limit {
			page = page[len(page)-limit:]
		}
	} else {
		page = items[at+1:]
		if limit > 0 && len(page) > limit {
			page = page[:limit]
		}
	}
	if page == nil {
		page = []T{} // an empty list, not null
	}
	return page, true
}

func (c Collection[T]) links(r *http.Request, query url.Values, page []T, limit int, backwards bool) []link {
	links := []link{}
	if limit == 0 || len(page) == 0 && c.LinkStyle != LinksBoth || c.LinkStyle == LinksNone {
		return links
	}
	base := "http://" + r.Host + r.URL.Path
	if c.Links != nil {
		base = c.Links(r)
	}
	add := func(rel, marker string, reverse bool) {
		q := url.Values{}
		for k, v := range query {
			q[k] = v
		}
		q.Del("marker")
		if marker != "" {
			q.Set("marker", marker)
		}
		if c.LinkStyle != LinksBoth {
			q.Set("limit", strconv.Itoa(limit))
		}
		q.Del("page_reverse")
		if reverse {
			q.Set("page_reverse", "True")
		}
		links = append(links, link{Rel: rel, Href: base + "?" + q.Encode()})
	}
	first, last := "", ""
	if len(page) > 0 {
		first, last = c.ID(page[0]), c.ID(page[len(page)-1])
	}
	full := len(page) == limit
	switch c.LinkStyle {
	case LinksAlways:
		if query.Get("marker") != "" {
			add("previous", first, true)
		}
		if full {
			add("next", last, false)
		}
	case LinksNext:
		if full {
			add("next", last, false)
		}
	default:
		if full || backwards {
			add("next", last, false)
		}
		if full || !backwards {
			add("previous", first, true)
		}
	}
	return links
}

func (c Collection[T]) badMarker(w http.ResponseWriter, marker string) {
	if c.BadMarker != nil {
		c.BadMarker(w, marker)
		return
	}
	c.badQuery(w, "marker ["+marker+"] not found")
}

func (c Collection[T]) badQuery(w http.ResponseWriter, message string) {
	if c.BadQuery != nil {
		c.BadQuery(w, message)
		return
	}
	plainError(http.StatusBadRequest, message)(w, nil)
}
