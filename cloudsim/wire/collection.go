// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// LinkStyle is how a service links the pages of a list.
type LinkStyle int

const (
	// LinksBoth is Neutron's style: there is a list of links only if pages have a size. A full page
	// has a next link. Every page has a previous link, except one that was read backwards and is
	// not full. So an empty list has a link, too.
	LinksBoth LinkStyle = iota
	// LinksAlways is Octavia's style: there is always a list of links, which may be empty. A full
	// page has a next link, and a page that started at a marker a previous one.
	LinksAlways
	// LinksNext is Nova's style: only a full page has a list of links, with next.
	LinksNext
	// LinksNone means no links.
	LinksNone
)

// Collection describes how a list of T is filtered, sorted, paged and projected. T should be a
// struct with json tags, or a pointer to one: such items are filtered and projected without being
// encoded first.
type Collection[T any] struct {
	// Key is the key of the JSON answer, such as "loadbalancers"; the links are
	// under Key+"_links".
	Key string
	// ID returns an item's id, to which markers refer.
	ID func(T) string
	// Filter handles the query keys that have a special meaning in the service. For others it
	// returns known=false; they are compared with the JSON field of that name. Nil means that there
	// are none.
	Filter func(item T, key string, values []string) (match, known bool)
	// Render returns what is encoded for an item; nil encodes the item itself. Filters and sort
	// keys use the item, fields= uses the result of Render.
	Render func(T) any
	// DefaultSort names the JSON fields by which the list is sorted if the client gives none, as
	// "name" or "name:desc"; the last key is always the id. Empty means by id only.
	DefaultSort []string
	// MaxLimit is the maximum page size; 0 means unlimited.
	MaxLimit int
	// LinkStyle is the style of links between pages.
	LinkStyle LinkStyle
	// Links returns the base URL of the links, without query; nil means the
	// request's own.
	Links func(r *http.Request) string
	// Strict refuses query keys that neither Filter nor any item has.
	Strict bool
	// BadMarker and BadQuery answer if a marker names no item, or if a query cannot be parsed. If
	// nil, the answer is 400 with an {"error": ...} body.
	BadMarker func(w http.ResponseWriter, marker string)
	BadQuery  func(w http.ResponseWriter, message string)
}

// framed are the query keys that Collection itself handles.
var framed = map[string]bool{
	"limit": true, "marker": true, "page_reverse": true, "sort_key": true, "sort_dir": true, "sort": true, "fields": true,
	"tags": true, "tags-any": true, "not-tags": true, "not-tags-any": true,
}

// Write answers the GET of a list. It supports limit, marker, page_reverse, sort_key with sort_dir,
// sort ("key:dir,..."), fields (repeatable), tags, tags-any, not-tags, not-tags-any, the keys of
// Filter, and every JSON field (repeatable: any of the values). The items may be in any order; the
// slice itself is not changed.
func (c Collection[T]) Write(w http.ResponseWriter, r *http.Request, items []T) {
	query := r.URL.Query()
	read := fieldsOf(reflect.TypeFor[T]())
	kept, unknown := c.filter(read, query, items)
	if unknown != "" && c.Strict {
		c.badQuery(w, "Unknown query parameter: "+unknown)
		return
	}
	c.sort(read, query, kept)

	limit, err := c.limit(query.Get("limit"))
	if err != "" {
		c.badQuery(w, err)
		return
	}
	backwards, _ := strconv.ParseBool(strings.ToLower(query.Get("page_reverse")))
	page, found := c.page(kept, query.Get("marker"), limit, backwards)
	if !found {
		c.badMarker(w, query.Get("marker"))
		return
	}

	body := map[string]any{c.Key: page}
	if names := fieldNames(query); len(names) > 0 || c.Render != nil {
		shown := make([]any, len(page))
		for i, item := range page {
			shown[i] = c.show(item, names)
		}
		body[c.Key] = shown
	}
	if links := c.links(r, query, page, limit, backwards); len(links) > 0 || c.LinkStyle == LinksAlways {
		body[c.Key+"_links"] = links
	}
	JSON(w, http.StatusOK, body)
}

func (c Collection[T]) show(item T, names []string) any {
	var v any = item
	if c.Render != nil {
		v = c.Render(item)
	}
	if len(names) == 0 || v == nil {
		return v
	}
	return fieldsOf(reflect.TypeOf(v)).project(v, names)
}

// Project reduces one item to the fields that the request names with ?fields=. Without it the item
// is unchanged.
func Project(r *http.Request, v any) any {
	names := fieldNames(r.URL.Query())
	if len(names) == 0 || v == nil {
		return v
	}
	return fieldsOf(reflect.TypeOf(v)).project(v, names)
}

func fieldNames(query url.Values) []string {
	var names []string
	for _, v := range query["fields"] {
		if v != "" {
			names = append(names, v)
		}
	}
	return names
}

// filter returns the items that match the query's filters, and a query key that no item has, if
// there is one.
func (c Collection[T]) filter(read fields, query url.Values, items []T) (kept []T, unknown string) {
	kept = slices.Clone(items)
	for key, values := range query {
		if framed[key] && !strings.Contains(key, "tags") {
			continue
		}
		// An item may lack a field that others have: a key is known if any item has it.
		known := len(items) == 0 || slices.ContainsFunc(items, func(item T) bool {
			_, k := c.matches(read, item, key, values)
			return k
		})
		if !known {
			unknown = key
			continue
		}
		kept = slices.DeleteFunc(kept, func(item T) bool {
			match, _ := c.matches(read, item, key, values)
			return !match
		})
	}
	return kept, unknown
}

func (c Collection[T]) matches(read fields, item T, key string, values []string) (match, known bool) {
	if c.Filter != nil {
		match, known = c.Filter(item, key, values)
		if known {
			return match, true
		}
	}
	switch key {
	case "tags", "tags-any", "not-tags", "not-tags-any":
		v, known := read.get(item, "tags")
		return matchesTags(key, textList(v), values), known
	}
	v, known := read.get(item, key)
	return slices.ContainsFunc(values, func(want string) bool { return textEqual(v, want) }), known
}

func matchesTags(key string, has, values []string) bool {
	wanted := strings.Split(strings.Join(values, ","), ",")
	found := 0
	for _, tag := range wanted {
		if slices.Contains(has, tag) {
			found++
		}
	}
	switch key {
	case "tags":
		return found == len(wanted)
	case "tags-any":
		return found > 0
	case "not-tags":
		return found < len(wanted)
	default: // not-tags-any
		return found == 0
	}
}

type sortKey struct {
	name       string
	descending bool
}

func (c Collection[T]) sort(read fields, query url.Values, items []T) {
	keys := sortKeys(query)
	if len(keys) == 0 {
		keys = sortKeys(url.Values{"sort": c.DefaultSort})
	}
	type row struct {
		values []string
		id     string
		item   T
	}
	rows := make([]row, len(items))
	for i, item := range items {
		rows[i] = row{make([]string, len(keys)), c.ID(item), item}
		for k, key := range keys {
			v, _ := read.get(item, key.name)
			rows[i].values[k] = text(v)
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		for k, key := range keys {
			if order := compareText(a.values[k], b.values[k]); order != 0 {
				if key.descending {
					return -order
				}
				return order
			}
		}
		return cmp.Compare(a.id, b.id)
	})
	for i := range rows {
		items[i] = rows[i].item
	}
}

// compareText orders numbers by value and everything else as text.
func compareText(a, b string) int {
	if m, err := strconv.ParseInt(a, 10, 64); err == nil {
		if n, err := strconv.ParseInt(b, 10, 64); err == nil {
			return cmp.Compare(m, n)
		}
	}
	return cmp.Compare(a, b)
}

func sortKeys(query url.Values) []sortKey {
	var keys []sortKey
	for i, name := range query["sort_key"] {
		descending := i < len(query["sort_dir"]) && query["sort_dir"][i] == "desc"
		keys = append(keys, sortKey{name, descending})
	}
	for _, v := range query["sort"] {
		for part := range strings.SplitSeq(v, ",") {
			if name, dir, _ := strings.Cut(part, ":"); name != "" {
				keys = append(keys, sortKey{name, dir == "desc"})
			}
		}
	}
	return keys
}
