// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestLoadBalancerLists(t *testing.T) {
	t.Parallel()
	lbs := newNursery(t)
	own := (&try{T: t, cloud: theCloud}).newName()
	ids := lbs.make(t,
		object{"name": own + "-a", "description": own, "tags": list{own, "red"}},
		object{"name": own + "-b", "tags": list{own, "red", "blue"}, "admin_state_up": false},
		object{"name": own + "-b", "tags": list{own, "blue"}},
	)
	a, b, twin := ids[0], ids[1], ids[2]
	get := func(c *try, query string) answer {
		c.Helper()
		return c.as(k8s).lb("GET", "/loadbalancers?"+query, nil).is(200)
	}
	lists := func(c *try, query string, wanted ...string) answer {
		c.Helper()
		answer := get(c, query)
		c.must(same(answer.texts("loadbalancers", "id"), wanted), "?%s lists %v", query, answer.texts("loadbalancers", "name"))
		return answer
	}
	ordered := func(c *try, query string, wanted ...string) answer {
		c.Helper()
		answer := get(c, query)
		c.must(slices.Equal(answer.texts("loadbalancers", "id"), wanted), "?%s lists %v", query, answer.texts("loadbalancers", "name"))
		return answer
	}
	refused := func(c *try, query string) { c.Helper(); c.as(k8s).lb("GET", "/loadbalancers?"+query, nil).is(400) }
	vip := (&try{T: t, cloud: theCloud}).quietly(k8s).lb("GET", "/loadbalancers/"+a, nil)
	// link is what a link of the answer requests.
	link := func(answer answer, rel string) url.Values {
		for _, l := range answer.list("loadbalancers_links") {
			if l.(object)["rel"] == rel {
				u, err := url.Parse(l.(object)["href"].(string))
				if err != nil {
					t.Fatal(err)
				}
				return u.Query()
			}
		}
		return nil
	}

	state(t, []statement{
		{"names are not unique: a filter by name lists all that have it", func(c *try) { lists(c, "name="+own+"-b", b, twin) }},
		{"a filter by name finds other case as well", func(c *try) { lists(c, "name="+strings.ToUpper(own)+"-B", b, twin) }},
		{"a filter by a part of a name finds nothing", func(c *try) { lists(c, "name="+own) }},
		{"?tags= lists what has all the tags, given in one or in several, in whatever case", func(c *try) {
			lists(c, "tags="+own, a, b, twin)
			lists(c, "tags="+own+",red", a, b)
			lists(c, "tags="+own+"&tags=red&tags=blue", b)
			lists(c, "tags="+own+"&tags=no-such-tag")
			lists(c, "tags="+strings.ToUpper(own)+",RED", a, b)
		}},
		{"?tags-any= lists what has one of the tags, each once", func(c *try) {
			lists(c, "tags="+own+"&tags-any=red,blue", a, b, twin)
			lists(c, "tags-any="+own+",no-such-tag", a, b, twin)
		}},
		{"?not-tags= leaves out what has all the tags", func(c *try) { lists(c, "tags="+own+"&not-tags=red,blue", a, twin) }},
		{"?not-tags-any= leaves out what has one of the tags", func(c *try) {
			lists(c, "tags="+own+"&not-tags-any=blue", a)
			lists(c, "tags="+own+"&not-tags-any=red,blue")
		}},
		{"a filter by VIP port, address or subnet finds the load balancer", func(c *try) {
			lists(c, "vip_port_id="+vip.text("loadbalancer.vip_port_id"), a)
			lists(c, "tags="+own+"&vip_address="+vip.text("loadbalancer.vip_address"), a)
			lists(c, "tags="+own+"&vip_subnet_id="+c.cloud.Subnet, a, b, twin)
			lists(c, "tags="+own+"&vip_network_id="+c.cloud.Network, a, b, twin)
			lists(c, "vip_port_id="+unknown)
		}},
		{"a filter by id, description, provider or state", func(c *try) {
			lists(c, "id="+twin, twin)
			lists(c, "description="+own, a)
			lists(c, "tags="+own+"&provider=amphora", a, b, twin)
			lists(c, "tags="+own+"&provisioning_status=ACTIVE", a, b, twin)
			lists(c, "tags="+own+"&provisioning_status=ERROR")
			lists(c, "tags="+own+"&admin_state_up=false", b)
			lists(c, "tags="+own+"&admin_state_up=True", a, twin)
		}},
		{"a filter by project is for the own one: 403 for another", func(c *try) {
			lists(c, "tags="+own+"&project_id="+c.cloud.Projects[k8s], a, b, twin)
			c.as(k8s).lb("GET", "/loadbalancers?project_id="+c.cloud.Projects[k8s][1:]+"0", nil).is(403)
		}},
		{"other projects do not see them, an admin does", func(c *try) {
			none := c.as(other).lb("GET", "/loadbalancers?tags="+own, nil).is(200)
			c.must(len(none.list("loadbalancers")) == 0, "it has %s", none.Text)
			all := c.as(admin).lb("GET", "/loadbalancers?tags="+own+"&project_id="+c.cloud.Projects[k8s], nil).is(200)
			c.must(len(all.list("loadbalancers")) == 3, "it has %s", all.Text)
		}},
		{"a filter that there is not is refused", func(c *try) {
			refused(c, "colour=red")
			refused(c, "loadbalancer_id="+a)
		}},
		{"a filter that is given twice is answered with 500", func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers?name="+own+"-a&name="+own+"-b", nil).is(500)
		}},

		{"?fields= once for each field leaves everything else out", func(c *try) {
			answer := lists(c, "tags="+own+"&fields=id&fields=provisioning_status&fields=updated_at", a, b, twin)
			c.must(same(answer.keys("loadbalancers.0"), []string{"id", "provisioning_status", "updated_at"}), "it has %s", answer.Text)
		}},
		{"?fields= with commas is one field that there is not, and leaves empty objects", func(c *try) {
			answer := get(c, "tags="+own+"&fields=id,name")
			c.must(len(answer.list("loadbalancers")) == 3 && len(answer.keys("loadbalancers.0")) == 0, "it has %s", answer.Text)
		}},

		{"?sort= takes keys and directions", func(c *try) {
			ordered(c, "tags="+own+"&sort=description:desc,name:asc&not-tags=blue&fields=id&fields=name", a)
			answer := get(c, "tags="+own+"&sort=name:desc&fields=id&fields=name")
			c.must(answer.text("loadbalancers.2.id") == a, "it has %s", answer.Text)
			answer = get(c, "tags="+own+"&sort=name&fields=id&fields=name")
			c.must(answer.text("loadbalancers.0.id") == a, "it has %s", answer.Text)
		}},
		{"?sort_key= and ?sort_dir= do the same", func(c *try) {
			answer := get(c, "tags="+own+"&sort_key=name&sort_dir=desc&fields=id&fields=name")
			c.must(answer.text("loadbalancers.2.id") == a, "it has %s", answer.Text)
		}},
		{"a sort by VIP address is allowed", func(c *try) { get(c, "tags="+own+"&sort=vip_address&fields=id") }},
		{"a sort key or direction that there is not is refused", func(c *try) {
			refused(c, "sort=colour")
			refused(c, "sort=name:up")
			refused(c, "sort=name:asc:desc")
			refused(c, "sort_key=name&sort_dir=up")
		}},

		{"pages follow each other by limit and marker, the last one empty", func(c *try) {
			by := "tags=" + own + "&sort=name,id&limit=1&fields=id"
			answer := get(c, by)
			seen := answer.texts("loadbalancers", "id")
			for range 2 {
				answer = get(c, by+"&marker="+seen[len(seen)-1])
				seen = append(seen, answer.texts("loadbalancers", "id")...)
			}
			c.must(same(seen, ids) && seen[0] == a, "pages have %v", seen)
			answer = get(c, by+"&marker="+seen[2])
			c.must(len(answer.list("loadbalancers")) == 0 && len(answer.list("loadbalancers_links")) == 0, "it has %s", answer.Text)
		}},
		{"links to other pages keep limit and sort, and lose filters and fields", func(c *try) {
			answer := get(c, "tags="+own+"&sort=name&limit=2&fields=id")
			next := link(answer, "next")
			c.must(next.Get("limit") == "2" && next.Get("sort") == "name" && next.Get("marker") == answer.text("loadbalancers.1.id"), "next asks for %v", next)
			c.must(!next.Has("tags") && !next.Has("fields"), "next asks for %v", next)
			c.must(link(answer, "previous") == nil, "the first page has a link to a previous one: %s", answer.Text)
		}},
		{"a page that has a marker has a link to the previous one", func(c *try) {
			answer := get(c, "tags="+own+"&sort=name&limit=1&fields=id&marker="+a)
			previous := link(answer, "previous")
			c.must(previous.Get("page_reverse") == "True" && previous.Get("marker") == answer.text("loadbalancers.0.id"), "previous asks for %v", previous)
			back := get(c, "tags="+own+"&sort=name&limit=2&fields=id&page_reverse=True&marker="+answer.text("loadbalancers.0.id"))
			c.must(slices.Contains(back.texts("loadbalancers", "id"), a), "it has %s", back.Text)
		}},
		{"a page that is exactly full has a link to an empty one", func(c *try) {
			answer := get(c, "tags="+own+"&limit=3&fields=id")
			c.must(link(answer, "next") != nil, "it has %s", answer.Text)
			answer = get(c, "tags="+own+"&limit=4&fields=id")
			c.must(link(answer, "next") == nil, "it has %s", answer.Text)
		}},
		{"a limit beyond the cloud's page size is taken for that", func(c *try) {
			lists(c, "tags="+own+"&limit=100000&fields=id", a, b, twin)
		}},
		{"a limit of zero, below zero or infinite is answered with 500", until(release2022, func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers?limit=0&tags="+own, nil).is(500)
			c.as(k8s).lb("GET", "/loadbalancers?limit=-1&tags="+own, nil).is(500)
			c.as(k8s).lb("GET", "/loadbalancers?limit=infinite&tags="+own, nil).is(500)
		})},
		{"a limit of zero or below is none", since(release2025, func(c *try) {
			lists(c, "tags="+own+"&limit=0&fields=id", a, b, twin)
			lists(c, "tags="+own+"&limit=-1&fields=id", a, b, twin)
		})},
		{"a limit that is no number is refused", func(c *try) { refused(c, "limit=many") }},
		{"a marker that nothing has is refused", func(c *try) {
			refused(c, "limit=1&marker="+unknown)
			refused(c, "limit=1&marker=web")
		}},
		{"a marker without a limit is allowed, and one that the filters leave out too", func(c *try) {
			lists(c, "tags="+own+"&sort=name&fields=id&marker="+a, b, twin)
			lists(c, "tags="+own+"&name="+own+"-b&sort=name&fields=id&marker="+a, b, twin)
		}},
	})
}
