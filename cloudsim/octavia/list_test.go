// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fleet creates load balancers named lb-0, lb-1, ..., one per second.
func (c *cloud) fleet(n int, attributes func(i int) string) []string {
	c.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = c.create(fmt.Sprintf(`"name": "lb-%d"%s`, i, attributes(i)))
		c.clock.Add(1)
	}
	return ids
}

func TestPagesTogetherAreTheWholeList(t *testing.T) {
	c := newCloud(t, Options{})
	all := c.fleet(7, func(int) string { return "" })
	for limit := 1; limit <= 8; limit++ {
		for _, order := range []string{"", "name:desc", "project_id,name:asc"} {
			t.Run(fmt.Sprintf("%d by %q", limit, order), func(t *testing.T) {
				next := fmt.Sprintf("http://x/v2.0/lbaas/loadbalancers?limit=%d&sort=%s", limit, order)
				var seen []string
				for next != "" {
					a := c.send(httptest.NewRequest("GET", next, nil), alice)
					page := a.column("loadbalancers", "id")
					if len(page) > limit {
						t.Fatalf("a page of %d", len(page))
					}
					seen = append(seen, page...)
					next = linkOf(a, "next")
				}
				want := slices.Clone(all)
				if order == "name:desc" {
					slices.Reverse(want)
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

func linkOf(a reply, rel string) string {
	links, _ := a.body["loadbalancers_links"].([]any)
	for _, l := range links {
		if l.(map[string]any)["rel"] == rel {
			return l.(map[string]any)["href"].(string)
		}
	}
	return ""
}

func TestLinksKeepTheSortingAndLoseTheFilters(t *testing.T) {
	c := newCloud(t, Options{})
	all := c.fleet(3, func(int) string { return `, "tags": ["x"]` })
	a := c.call("GET", "/loadbalancers?tags=x&fields=id&limit=1&sort=name&marker="+all[0], "")
	if got, want := linkOf(a, "next"), "http://example.com/v2.0/lbaas/loadbalancers?limit=1&sort=name&marker="+all[1]; got != want {
		t.Errorf("next is %s, want %s", got, want)
	}
	if got, want := linkOf(a, "previous"), "http://example.com/v2.0/lbaas/loadbalancers?limit=1&sort=name&marker="+all[1]+"&page_reverse=True"; got != want {
		t.Errorf("previous is %s, want %s", got, want)
	}
	back := c.call("GET", "/loadbalancers?limit=5&page_reverse=True&marker="+all[2], "").column("loadbalancers", "id")
	if diff := cmp.Diff(all[:2], back); diff != "" {
		t.Errorf("backwards -want +got\n%s", diff)
	}
}

func TestTagsFilterLists(t *testing.T) {
	c := newCloud(t, Options{})
	tags := []string{`"a"`, `"a", "b"`, `"b", "c"`, ``}
	c.fleet(len(tags), func(i int) string { return `, "tags": [` + tags[i] + `]` })
	tests := map[string]string{
		"tags=a":                      "0 1",
		"tags=a,b":                    "1",
		"tags=a&tags=b":               "1",
		"tags-any=a,c":                "0 1 2",
		"not-tags=a":                  "2 3",
		"not-tags=a,b":                "0 2 3",
		"not-tags-any=a,c":            "3",
		"tags=b&not-tags=a":           "2",
		"tags=a&name=lb-1":            "1",
		"tags-any=b&not-tags-any=c":   "1",
		"tags=unknown":                "",
		"name=lb-2":                   "2",
		"provisioning_status=ACTIVE":  "0 1 2 3",
		"provisioning_status=DELETED": "",
	}
	for query, want := range tests {
		t.Run(query, func(t *testing.T) {
			names := c.call("GET", "/loadbalancers?"+query, "").column("loadbalancers", "name")
			if got := strings.ReplaceAll(strings.Join(names, " "), "lb-", ""); got != want {
				t.Errorf("gives %q, want %q", got, want)
			}
		})
	}
}

func TestFieldsReduceTheAnswer(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	for path, want := range map[string]string{
		"/loadbalancers?fields=id&fields=provisioning_status&fields=updated_at": `{"loadbalancers":[{"id":"$lb","provisioning_status":"ACTIVE","updated_at":"2027-01-15T08:00:00"}],"loadbalancers_links":[]}`,
		"/loadbalancers/$lb?fields=listeners":                                   `{"loadbalancer":{"listeners":[{"id":"$listener"}]}}`,
		"/pools/$pool?fields=nothing":                                           `{"pool":{}}`,
		"/pools/$pool/members?fields=weight&limit=1&sort=address":               `{"members":[{"weight":1}],"members_links":[{"href":"http://example.com/v2.0/lbaas/pools/$pool/members?limit=1&sort=address&marker=$member1","rel":"next"}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			c.reportTo(t)
			ids := strings.NewReplacer("$lb", tr.lb, "$listener", tr.listener, "$pool", tr.pool, "$member1", tr.member1)
			if got := c.call("GET", ids.Replace(path), "").text; got != ids.Replace(want) {
				t.Errorf("%s answers %s\nwant %s", path, got, ids.Replace(want))
			}
		})
	}
}

func TestSpecialCharactersInNamesAreKept(t *testing.T) {
	c := newCloud(t, Options{})
	for kind, name := range map[string]string{
		"quotes and slashes": `quote " backslash \ slash /`,
		"control characters": "tab\tnewline\n",
		"HTML":               "<html>&",
		"other scripts":      "äöü 日本語 \u2028",
		"empty":              "",
	} {
		t.Run(kind, func(t *testing.T) {
			c.reportTo(t)
			body := fmt.Sprintf(`"name": %s`, mustJSON(t, name))
			id := c.create(body)
			if got := c.call("GET", "/loadbalancers/"+id, "").str("loadbalancer.name"); got != name {
				t.Errorf("%q comes back as %q", name, got)
			}
			found := c.call("GET", "/loadbalancers?fields=id&name="+url.QueryEscape(name), "").column("loadbalancers", "id")
			if diff := cmp.Diff([]string{id}, found); diff != "" {
				t.Errorf("by name %q: %s", name, diff)
			}
		})
	}
}

func TestEveryBasePathServesTheAPI(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create("")
	for _, base := range bases {
		t.Run(base, func(t *testing.T) {
			c.reportTo(t)
			a := c.send(httptest.NewRequest("GET", base+"/loadbalancers/"+lb, nil), alice)
			if got := a.must(http.StatusOK).str("loadbalancer.id"); got != lb {
				t.Errorf("the load balancer is %s", got)
			}
			if got := c.send(httptest.NewRequest("GET", base, nil), alice).must(http.StatusOK).text; got != `"v2"` {
				t.Errorf("the path itself answers %s", got)
			}
		})
	}
}
