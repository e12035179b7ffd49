// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type vip struct {
	Address string `json:"address"`
}

type item struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Enabled bool     `json:"admin_state_up"`
	Port    int      `json:"protocol_port"`
	Tags    []string `json:"tags"`
	Parent  *string  `json:"parent_id"`
	Created string   `json:"created_at"`
	Hidden  string   `json:"-"`
	Extra   string   `json:"extra,omitempty"`
	VIP     vip      `json:"vip"`
}

func text1(s string) *string { return &s }

var someItems = []item{
	{ID: "c", Name: "web", Enabled: true, Port: 80, Tags: []string{"red", "big"}, Parent: text1("p1"), Created: "2026-01-02"},
	{ID: "a", Name: "dns", Enabled: false, Port: 53, Tags: []string{"red"}, Created: "2026-01-03", Extra: "x"},
	{ID: "b", Name: "web", Enabled: true, Port: 443, Tags: []string{}, Parent: text1("p2"), Created: "2026-01-01"},
	{ID: "d", Name: "ssh", Enabled: true, Port: 22, Tags: []string{"blue", "big"}, Created: "2026-01-04"},
}

func collectionOf() Collection[item] {
	return Collection[item]{Key: "items", ID: func(i item) string { return i.ID }}
}

func list[T any](t *testing.T, c Collection[T], query string, items []T) (status int, body map[string]json.RawMessage) {
	t.Helper()
	w := httptest.NewRecorder()
	c.Write(w, httptest.NewRequest("GET", "http://cloud.test/v2/items?"+query, nil), items)
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("the answer to ?%s is not JSON: %v\n%s", query, err, w.Body)
	}
	return w.Code, body
}

func idsOf(t *testing.T, body map[string]json.RawMessage) string {
	t.Helper()
	var items []struct{ ID string }
	if err := json.Unmarshal(body["items"], &items); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	return strings.Join(ids, "")
}

func linksOf(t *testing.T, body map[string]json.RawMessage) map[string]string {
	t.Helper()
	links := map[string]string{}
	if body["items_links"] == nil {
		return links
	}
	var list []link
	if err := json.Unmarshal(body["items_links"], &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		links[l.Rel] = l.Href
	}
	return links
}

func TestListIsFilteredAndSortedByItsQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                                       "abcd",
		"name=web":                               "bc",
		"name=web&name=ssh":                      "bcd",
		"name=nothing":                           "",
		"admin_state_up=False":                   "a",
		"admin_state_up=true":                    "bcd",
		"protocol_port=53":                       "a",
		"parent_id=p1":                           "c",
		"name=web&protocol_port=80":              "c",
		"nonsense=1":                             "abcd",
		"Hidden=1":                               "abcd",
		"extra=x":                                "a",
		"tags=red":                               "ac",
		"tags=red,big":                           "c",
		"tags=red&tags=big":                      "c",
		"tags-any=blue,red":                      "acd",
		"not-tags=red,big":                       "abd",
		"not-tags-any=blue,red":                  "b",
		"tags=big&not-tags=blue":                 "c",
		"sort_key=protocol_port":                 "dacb",
		"sort_key=protocol_port&sort_dir=desc":   "bcad",
		"sort=name:desc,protocol_port:asc":       "cbda",
		"sort_key=name&sort_key=protocol_port":   "adcb",
		"sort_key=created_at&fields=id":          "bcad",
		"short=1&sort_key=name&sort_dir=asc":     "adbc",
		"limit=2":                                "ab",
		"limit=2&marker=b":                       "cd",
		"limit=2&marker=d":                       "",
		"limit=2&marker=d&page_reverse=True":     "bc",
		"page_reverse=True&limit=3":              "bcd",
		"marker=c&page_reverse=False":            "d",
		"name=web&limit=1&marker=b":              "c",
		"short=True&name=web":                    "bc",
		"short=no&name=web":                      "",
		"limit=0":                                "abcd",
		"limit=3&sort_key=created_at&marker=c":   "ad",
		"tags=red,big&fields=id&fields=tags":     "c",
		"vip=%7B%22address%22%3A%22%22%7D&tags=": "",
	} {
		t.Run("?"+query, func(t *testing.T) {
			c := collectionOf()
			c.Filter = func(i item, key string, values []string) (bool, bool) {
				return (len(i.Name) <= 3) == (values[0] != "no"), key == "short"
			}
			status, body := list(t, c, query, someItems)
			if got := idsOf(t, body); status != http.StatusOK || got != want {
				t.Errorf("got %d %q, want %q", status, got, want)
			}
		})
	}
}

func TestListIsTheSameForStructsPointersAndMarshalers(t *testing.T) {
	pointers := make([]*item, len(someItems))
	selfMade := make([]encodesItself, len(someItems))
	for i := range someItems {
		pointers[i], selfMade[i] = &someItems[i], encodesItself{someItems[i]}
	}
	for _, query := range []string{"", "tags=red", "protocol_port=53", "sort_key=protocol_port", "fields=id&fields=vip&fields=extra", "admin_state_up=True&limit=1", "parent_id=p1"} {
		t.Run("?"+query, func(t *testing.T) {
			_, want := list(t, collectionOf(), query, someItems)
			_, byPointer := list(t, Collection[*item]{Key: "items", ID: func(i *item) string { return i.ID }}, query, pointers)
			_, byItself := list(t, Collection[encodesItself]{Key: "items", ID: func(i encodesItself) string { return i.item.ID }}, query, selfMade)
			for _, got := range []map[string]json.RawMessage{byPointer, byItself} {
				if diff := cmp.Diff(want, got, cmp.Transformer("decode", func(r json.RawMessage) (v any) { _ = json.Unmarshal(r, &v); return })); diff != "" {
					t.Errorf("(-struct +other):\n%s", diff)
				}
			}
		})
	}
}

type encodesItself struct{ item item }

func (e encodesItself) MarshalJSON() ([]byte, error) { return json.Marshal(e.item) }

func TestListHasOnlyTheRequestedFields(t *testing.T) {
	_, body := list(t, collectionOf(), "fields=id&fields=protocol_port&fields=nonsense&name=web", someItems)
	want := `[{"id":"b","protocol_port":443},{"id":"c","protocol_port":80}]`
	if got := string(body["items"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestListFiltersItemsAndShowsThemRendered(t *testing.T) {
	c := collectionOf()
	c.DefaultSort = []string{"created_at:desc"}
	c.Render = func(i item) any { return map[string]any{"id": i.ID, "port": i.Port} }
	_, body := list(t, c, "name=web&fields=id", someItems)
	if got, want := string(body["items"]), `[{"id":"c"},{"id":"b"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, body = list(t, c, "limit=1", someItems)
	if got, want := string(body["items"]), `[{"id":"d","port":22}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProjectReducesOneItem(t *testing.T) {
	w := httptest.NewRecorder()
	JSON(w, 200, Project(httptest.NewRequest("GET", "/x?fields=id&fields=vip&fields=id,name", nil), someItems[0]))
	if got, want := w.Body.String(), `{"id":"c","vip":{"address":""}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Project(httptest.NewRequest("GET", "/x", nil), someItems[0]); cmp.Diff(any(someItems[0]), got) != "" {
		t.Errorf("without fields= the item must stay whole, got %v", got)
	}
}

func TestListDoesNotChangeTheSliceOfTheCaller(t *testing.T) {
	before := slices.Clone(someItems)
	list(t, collectionOf(), "name=web&sort_key=name&limit=1", someItems)
	if diff := cmp.Diff(before, someItems); diff != "" {
		t.Error(diff)
	}
}

func TestListRefusesInvalidQueries(t *testing.T) {
	c := collectionOf()
	c.Strict = true
	for query, want := range map[string]int{
		"limit=-1": 400, "limit=x": 400, "marker=unknown": 400, "nonsense=1": 400, "name=web": 200,
		"extra=x&name=nothing": 200, "name=nothing&extra=y": 200,
	} {
		t.Run("?"+query, func(t *testing.T) {
			if status, _ := list(t, c, query, someItems); status != want {
				t.Errorf("got %d, want %d", status, want)
			}
		})
	}
	c.BadMarker = func(w http.ResponseWriter, marker string) { JSON(w, 404, map[string]string{"gone": marker}) }
	if status, body := list(t, c, "marker=unknown", someItems); status != 404 || string(body["gone"]) != `"unknown"` {
		t.Errorf("the service's own answer to a bad marker was not used: %d %v", status, body)
	}
}

func TestEmptyListIsNotNull(t *testing.T) {
	_, body := list(t, collectionOf(), "", nil)
	if got := string(body["items"]); got != "[]" {
		t.Errorf("got %s", got)
	}
}

func TestPaginationLinksFollowTheStyleOfTheService(t *testing.T) {
	for _, tc := range []struct {
		name string

		style      LinkStyle
		query      string
		next, prev bool
		key        bool // there is a key of links
	}{
		{"both links without a limit", LinksBoth, "", false, false, false},
		{"both links on the first page", LinksBoth, "limit=2", true, true, true},
		{"both links when everything fits a page", LinksBoth, "limit=9", false, true, true},
		{"both links on an empty page before the first item", LinksBoth, "limit=2&marker=a&page_reverse=True", true, false, true}, // empty page
		{"both links on an empty page of a filter", LinksBoth, "limit=2&name=nobody", false, true, true},                          // empty page
		{"both links on the last page, read backwards", LinksBoth, "limit=2&marker=b&page_reverse=True", true, false, true},
		{"links always, without a limit", LinksAlways, "", false, false, true},
		{"links always, on the first page", LinksAlways, "limit=2", true, false, true},
		{"links always, in the middle", LinksAlways, "limit=2&marker=a", true, true, true},
		{"links always, on the last page", LinksAlways, "limit=2&marker=c", false, true, true},
		{"next link in the middle", LinksNext, "limit=2&marker=a", true, false, true},
		{"next link on the last page", LinksNext, "limit=2&marker=c", false, false, false},
		{"no links", LinksNone, "limit=2", false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := collectionOf()
			c.LinkStyle = tc.style
			_, body := list(t, c, tc.query, someItems)
			links := linksOf(t, body)
			_, next := links["next"]
			_, prev := links["previous"]
			if _, key := body["items_links"]; next != tc.next || prev != tc.prev || key != tc.key {
				t.Errorf("style %d ?%s: got next %v, previous %v, key %v", tc.style, tc.query, next, prev, key)
			}
		})
	}
}

func TestPaginationLinksKeepTheQueryAndTheHostOfTheRequest(t *testing.T) {
	c := collectionOf()
	c.MaxLimit = 1
	_, body := list(t, c, "name=web&fields=id&limit=500", someItems)
	if got, want := linksOf(t, body)["next"], "http://cloud.test/v2/items?fields=id&limit=500&marker=b&name=web"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.Links = func(*http.Request) string { return "https://proxy.test/items" }
	_, body = list(t, c, "limit=1", someItems)
	if got, want := linksOf(t, body)["next"], "https://proxy.test/items?limit=1&marker=a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFollowingTheNextLinksVisitsEveryItemOnceInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		items := make([]item, rapid.IntRange(0, 40).Draw(rt, "items"))
		for i := range items {
			items[i] = item{ID: fmt.Sprintf("%02d", i), Port: rapid.IntRange(1, 5).Draw(rt, "port"), Name: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "name")}
		}
		query := rapid.SampledFrom([]string{"", "sort_key=protocol_port&sort_dir=desc", "sort=name:asc,protocol_port:desc", "name=x"}).Draw(rt, "query")
		c := collectionOf()
		c.LinkStyle = rapid.SampledFrom([]LinkStyle{LinksBoth, LinksAlways, LinksNext}).Draw(rt, "style")
		_, whole := list(t, c, query+"&fields=id", items)

		c.MaxLimit = rapid.IntRange(1, 10).Draw(rt, "page size")
		visited, next, last := "", query, query
		for range items {
			_, body := list(t, c, next, items)
			visited += idsOf(t, body)
			href := linksOf(t, body)["next"]
			if href == "" {
				break
			}
			u, err := url.Parse(href)
			if err != nil {
				rt.Fatal(err)
			}
			last, next = next, u.RawQuery
		}
		if want := idsOf(t, whole); visited != want {
			rt.Fatalf("visited %s, want %s (last ?%s)", visited, want, last)
		}
	})
}

func BenchmarkListPageOf1000(b *testing.B) {
	items := make([]item, 2000)
	for i := range items {
		items[i] = item{ID: fmt.Sprintf("%036d", i), Name: strings.Repeat("n", 200), Created: strings.Repeat("2", 1500), Tags: []string{"a=b", "c=d", fmt.Sprint(i % 2)}}
	}
	c := collectionOf()
	c.DefaultSort = []string{"created_at"}
	for name, query := range map[string]string{"whole": "limit=1000", "tags": "limit=1000&tags=1", "fields": "limit=1000&fields=id&fields=admin_state_up", "by name": "limit=1000&name=x"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Write(httptest.NewRecorder(), httptest.NewRequest("GET", "/v2/items?"+query, nil), items)
			}
		})
	}
}
