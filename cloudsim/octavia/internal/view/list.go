// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// pageSize is the maximum number of items in one answer.
const pageSize = 1000

var framing = []string{"limit", "marker", "page_reverse", "sort", "sort_key", "sort_dir", "fields"}

type sortKey struct {
	name       string
	descending bool
}

// List filters, sorts, pages and writes the list that a GET requests. rows are the resources that
// the caller may see, in any order; find finds the resource after which a page begins. As in the
// real service, unknown filters are refused, repeated ones fail, and the links to other pages have
// the limit and the sorting, but not the filters.
func (k Kind[T]) List(d *Document, r *http.Request, query url.Values, rows []T, find func(id string) (T, bool)) ([]byte, error) {
	limit, err := pageLimit(query)
	if err != nil {
		return nil, err
	}
	sorting, err := sortKeys(query)
	if err != nil {
		return nil, err
	}
	rows, err = k.filter(d, query, rows)
	if err != nil {
		return nil, err
	}
	compare, err := k.order(sorting)
	if err != nil {
		return nil, err
	}
	if marker := query.Get("marker"); query.Has("marker") {
		at, ok := find(marker)
		if !ok {
			return nil, fault.New(http.StatusBadRequest, "Supplied pagination marker '%s' is not valid.", marker)
		}
		before := query.Get("page_reverse") == "True"
		rows = slices.DeleteFunc(rows, func(item T) bool {
			c := compare(item, at)
			return c == 0 || (c < 0) != before
		})
	}
	slices.SortFunc(rows, compare)
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	if limit == 0 && len(rows) > 0 && d.release < release.Epoxy {
		return nil, fault.New(http.StatusInternalServerError, "'>=' not supported between instances of 'int' and 'NoneType'")
	}
	return k.page(d, r, query, rows, limit), nil
}

// pageLimit returns the page size, or 0 if the client wants all items. With 0, the real service
// before 2025.1 fails if there are any.
func pageLimit(query url.Values) (int, error) {
	text := query.Get("limit")
	if !query.Has("limit") {
		return pageSize, nil
	}
	if text == "infinite" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.Outside(http.StatusBadRequest, "Supplied pagination limit '%s' is not valid.", text)
	}
	return min(max(limit, 0), pageSize), nil
}

func sortKeys(query url.Values) ([]sortKey, error) {
	var pairs [][2]string
	if sort := query.Get("sort"); sort != "" {
		for part := range strings.SplitSeq(sort, ",") {
			name, direction, _ := strings.Cut(part, ":")
			if words := strings.Split(part, ":"); len(words) > 2 {
				return nil, fault.Outside(http.StatusBadRequest, "Supplied sort key '['%s']' is not valid.", strings.Join(words, "', '"))
			}
			pairs = append(pairs, [2]string{name, direction})
		}
	} else if names := query.Get("sort_key"); names != "" {
		directions := strings.Split(query.Get("sort_dir"), ",")
		for i, name := range strings.Split(names, ",") {
			direction := ""
			if i < len(directions) {
				direction = directions[i]
			}
			pairs = append(pairs, [2]string{name, direction})
		}
	}
	keys := make([]sortKey, len(pairs))
	for i, pair := range pairs {
		switch strings.ToLower(pair[1]) {
		case "", "asc":
			keys[i] = sortKey{name: pair[0]}
		case "desc":
			keys[i] = sortKey{name: pair[0], descending: true}
		default:
			return nil, fault.Outside(http.StatusBadRequest, "Supplied sort direction '%s' is not valid.", pair[1])
		}
	}
	return keys, nil
}

// order returns the comparison that sorts the list: by the client's keys, then by time of creation,
// then by id.
func (k Kind[T]) order(keys []sortKey) (func(a, b T) int, error) {
	for _, key := range keys {
		if k.column(k.sample, key.name).is == isUnknown {
			return nil, fault.New(http.StatusBadRequest, "Supplied sort key '%s' is not valid.", key.name)
		}
	}
	return func(a, b T) int {
		for _, key := range keys {
			if c := compareCells(k.column(a, key.name), k.column(b, key.name)); c != 0 {
				if key.descending {
					return -c
				}
				return c
			}
		}
		x, y := a.Base(), b.Base()
		return cmp.Or(cmp.Compare(x.Created, y.Created), bytes.Compare(x.ID[:], y.ID[:]))
	}, nil
}

func (k Kind[T]) filter(d *Document, query url.Values, rows []T) ([]T, error) {
	wanted := map[string]string{}
	tags := map[string][]string{}
	repeated := false
	for key, given := range query {
		switch {
		case slices.Contains(framing, key):
		case d.since(5) && (key == "tags" || key == "tags-any" || key == "not-tags" || key == "not-tags-any"):
			for _, v := range given {
				tags[key] = append(tags[key], strings.Split(v, ",")...)
			}
		case len(given) > 1:
			repeated = true
			fallthrough
		default:
			wanted[key] = given[0]
		}
	}
	for key := range wanted {
		if k.column(k.sample, key).is == isUnknown {
			return nil, fault.ErrFilter
		}
	}
	if repeated {
		return nil, fault.ErrRepeated
	}
	var kept []T
	for _, item := range rows {
		if k.matches(item, wanted) && matchesTags(item.Base().Tags, tags) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

func (k Kind[T]) matches(item T, wanted map[string]string) bool {
	for key, value := range wanted {
		if !k.column(item, key).matches(value) {
			return false
		}
	}
	return true
}

func matchesTags(has []string, wanted map[string][]string) bool {
	for key, tags := range wanted {
		all, some := true, false
		for _, t := range tags {
			if slices.ContainsFunc(has, func(h string) bool { return folded(h) == folded(t) }) {
				some = true
			} else {
				all = false
			}
		}
		if ok := map[string]bool{"tags": all, "tags-any": some, "not-tags": !all, "not-tags-any": !some}[key]; !ok {
			return false
		}
	}
	return true
}

func (k Kind[T]) page(d *Document, r *http.Request, query url.Values, rows []T, limit int) []byte {
	d.buf = append(d.buf, `{"`+k.many+`":[`...)
	d.items(len(rows), func(d *Document, i int) { k.render(d, rows[i]) })
	d.buf = append(d.buf, `],"`+cmp.Or(k.links, k.many+"_links")+`":[`...)
	if len(rows) > 0 {
		first, last := rows[0].Base().ID.String(), rows[len(rows)-1].Base().ID.String()
		d.comma = false
		if query.Has("marker") {
			d.link("previous", pageLink(r, query, limit)+"&marker="+first+"&page_reverse=True")
		}
		if len(rows) >= limit {
			d.link("next", pageLink(r, query, limit)+"&marker="+last)
		}
	}
	return append(d.buf, ']', '}')
}

func (d *Document) link(rel, href string) {
	d.separate()
	d.object(func() {
		d.text("href", href)
		d.text("rel", rel)
	})
}

func pageLink(r *http.Request, query url.Values, limit int) string {
	link := "http://" + r.Host + r.URL.Path + "?limit=" + strconv.Itoa(limit)
	for _, key := range []string{"sort", "sort_key"} {
		if v := query.Get(key); v != "" {
			link += "&" + key + "=" + printable(v)
		}
	}
	return link
}

// printable removes characters that would break a link.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) || r == '&' {
			return -1
		}
		return r
	}, s)
}
