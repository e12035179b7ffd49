// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The sizes of pages.
const (
	usualPage   = 10
	largestPage = 100
)

// writePage answers with the page of the items that the query requests. The links to other pages
// contain the paging of the query and the parameters in kept, and nothing else.
func writePage(w http.ResponseWriter, r *http.Request, collection, key string, items []any, kept url.Values) {
	offset, limit := paging(r.URL.Query())
	first, end := min(offset, len(items)), min(offset+limit, len(items))
	body := map[string]any{key: append([]any{}, items[first:end]...), "total": len(items)}
	link := func(offset int) string {
		to := fmt.Sprintf("http://%s/v1/%s?limit=%d&offset=%d", r.Host, collection, limit, offset)
		if len(kept) > 0 {
			to += "&" + kept.Encode()
		}
		return to
	}
	if end > first {
		if offset > 0 {
			body["previous"] = link(max(0, offset-limit))
		}
		if len(items) > offset+limit {
			body["next"] = link(offset + limit)
		}
	}
	wire.JSON(w, http.StatusOK, body)
}

// paging reads the offset and the size of a page; values that cannot be read are ignored.
func paging(query url.Values) (offset, limit int) {
	offset, err := strconv.Atoi(query.Get("offset"))
	if err != nil || offset < 0 {
		offset = 0
	}
	limit, err = strconv.Atoi(query.Get("limit"))
	if err != nil || limit == 0 {
		limit = usualPage
	}
	return offset, min(max(limit, 1), largestPage)
}

func (s *Service) listSecrets(w http.ResponseWriter, r *http.Request) error {
	who, query := wire.Caller(r.Context()), r.URL.Query()
	if !s.policy.mayList(who) {
		return notAllowed("Secret(s) retrieval")
	}
	keys, ok := sortKeys(query.Get("sort"))
	if !ok {
		return refused(http.StatusBadRequest, "URI provided invalid query string parameters.")
	}
	var found []map[string]any
	for _, x := range s.secrets {
		if x.in(who) && !x.expired(s.now()) && x.matches(query) {
			found = append(found, x.describe(r))
		}
	}
	slices.SortStableFunc(found, func(a, b map[string]any) int {
		for _, k := range keys {
			if order := cmp.Compare(sortText(a[k.name]), sortText(b[k.name])); order != 0 {
				return order * k.direction
			}
		}
		return 0
	})
	items := make([]any, 0, len(found))
	for _, d := range found {
		items = append(items, d)
	}
	writePage(w, r, "secrets", "secrets", items, s.keptFilters(query))
	return nil
}

// keptFilters returns the parameters of the query that links to other pages of secrets contain: since the newest
// release, all.
func (s *Service) keptFilters(query url.Values) url.Values {
	if s.release < release.Newest {
		return nil
	}
	delete(query, "limit")
	delete(query, "offset")
	return query
}

func (x *secret) matches(query url.Values) bool {
	for key, value := range map[string]any{"name": x.name, "alg": x.algorithm, "mode": x.mode, "secret_type": x.kind} {
		if want := query.Get(key); want != "" && want != value {
			return false
		}
	}
	bits, err := strconv.Atoi(query.Get("bits"))
	return err != nil || bits <= 0 || x.bits == float64(bits)
}

// sortKey is a field to sort by; the direction is 1 or -1.
type sortKey struct {
	name      string
	direction int
}

// sortKeys reads "key:direction,...".
func sortKeys(text string) (keys []sortKey, ok bool) {
	if text == "" {
		return nil, true
	}
	known := []string{"algorithm", "bit_length", "created", "expiration", "mode", "name", "secret_type", "status", "updated"}
	for part := range strings.SplitSeq(text, ",") {
		name, direction, given := strings.Cut(part, ":")
		if !slices.Contains(known, name) || given && direction != "asc" && direction != "desc" {
			return nil, false
		}
		k := sortKey{name, 1}
		if direction == "desc" {
			k.direction = -1
		}
		keys = append(keys, k)
	}
	return keys, true
}

// sortText returns the text by which a value is sorted. Numbers are padded to the same length.
func sortText(x any) string {
	if n, ok := x.(float64); ok {
		return fmt.Sprintf("%06d", int(n))
	}
	s, _ := x.(string)
	return s
}
