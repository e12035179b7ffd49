// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTags(t *testing.T) {
	t.Parallel()
	g := shared(t)
	n := g.hasSubnet(k8s, "10.77.60.0/24")
	port := "/ports/" + g.has(k8s, "ports", object{"network_id": n.network})
	floating := "/floatingips/" + g.has(k8s, "floatingips", object{"floating_network_id": g.cloud.PublicNetwork})
	group := "/security-groups/" + g.has(k8s, "security-groups", object{"name": g.newName()})
	kinds := []struct{ path, many string }{
		{port, "ports"}, {floating, "floatingips"}, {group, "security_groups"}, {"/networks/" + n.network, "networks"}, {"/subnets/" + n.subnet, "subnets"},
	}
	tags := func(c *try, path string) []string {
		c.Helper()
		var all []string
		for _, tag := range c.as(k8s).net("GET", path+"/tags", nil).is(200).list("tags") {
			all = append(all, tag.(string))
		}
		return all
	}
	revision := func(c *try, path, kind string) float64 {
		c.Helper()
		return c.as(k8s).net("GET", path+"?fields=revision_number", nil).is(200).at(kind + ".revision_number").(float64)
	}

	var cases []statement
	for _, kind := range kinds {
		cases = append(cases, statement{"the tags of one of the " + strings.ReplaceAll(kind.many, "_", " ") + " are replaced, read and removed as a whole", func(c *try) {
			a := c.as(k8s).net("PUT", kind.path+"/tags", object{"tags": list{"b", "a"}}).is(200)
			c.must(len(a.list("tags")) == 2, "it answers %s", a.Text)
			c.must(sameSet(tags(c, kind.path), "a", "b"), "the tags are %v", tags(c, kind.path))
			c.as(k8s).net("DELETE", kind.path+"/tags", nil).is(204)
			c.must(len(tags(c, kind.path)) == 0, "tags are left")
		}})
	}
	state(t, append(cases, []statement{
		{"a tag is added by its own path with 201, once more with 201 too, and removed", func(c *try) {
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{"a"}}).is(200)
			c.as(k8s).net("PUT", floating+"/tags/b", nil).is(201)
			c.as(k8s).net("PUT", floating+"/tags/b", nil).is(201)
			c.must(sameSet(tags(c, floating), "a", "b"), "the tags are not a and b")
			c.as(k8s).net("DELETE", floating+"/tags/b", nil).is(204)
			c.as(k8s).net("DELETE", floating+"/tags/b", nil).refused(404, "TagNotFound")
		}},
		{"whether a tag is there is asked by its path: 204 or 404", func(c *try) {
			c.as(k8s).net("PUT", port+"/tags", object{"tags": list{"a"}}).is(200)
			c.as(k8s).net("GET", port+"/tags/a", nil).is(204)
			c.as(k8s).net("GET", port+"/tags/b", nil).refused(404, "TagNotFound")
		}},
		{"a tag that is given twice is kept once", func(c *try) {
			a := c.as(k8s).net("PUT", port+"/tags", object{"tags": list{"a", "a"}})
			c.must(a.Status == 400, "it is %d %s", a.Status, a.Text)
		}},
		{"a tag longer than 255 is refused with 400, one of 255 is kept", func(c *try) {
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{strings.Repeat("x", 255)}}).is(200)
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{strings.Repeat("x", 256)}}).refused(400, "InvalidInput")
			c.as(k8s).net("PUT", floating+"/tags/"+strings.Repeat("x", 256), nil).refused(400, "InvalidInput")
		}},
		{"fifty-one tags are no more refused than one", until(release2022, func(c *try) {
			var many list
			for i := range 51 {
				many = append(many, fmt.Sprintf("t%d", i))
			}
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": many}).is(200)
			c.must(len(tags(c, floating)) == 51, "there are %d", len(tags(c, floating)))
		})},
		{"fifty tags are taken, fifty-one are refused with 400", since(release2025, func(c *try) {
			many := func(n int) object {
				var tags list
				for i := range n {
					tags = append(tags, fmt.Sprintf("t%d", i))
				}
				return object{"tags": tags}
			}
			c.as(k8s).net("PUT", floating+"/tags", many(50)).is(200)
			c.as(k8s).net("PUT", floating+"/tags", many(51)).refused(400, "BadRequest")
			c.must(len(tags(c, floating)) == 50, "there are %d", len(tags(c, floating)))
		})},
		{"tags may have colons, equals signs and dots", func(c *try) {
			a := c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{"kube-octavia:cluster=a.b-c_d"}}).is(200)
			c.must(a.text("tags.0") == "kube-octavia:cluster=a.b-c_d", "it is %s", a.Text)
		}},
		{"tags that are no list of texts are refused with 400", func(c *try) {
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": "a"}).refused(400, "InvalidInput")
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{1}}).refused(400, "InvalidInput")
			c.as(k8s).net("PUT", floating+"/tags", object{"labels": list{"a"}}).refused(400, "InvalidInput")
		}},
		{"tags of what is not there are refused with 404, and so are those of another project's", until(release2022, func(c *try) {
			c.as(k8s).net("GET", "/floatingips/"+nowhere+"/tags", nil).refused(404, "TagResourceNotFound")
			c.as(k8s).net("PUT", "/floatingips/"+nowhere+"/tags", object{"tags": list{"a"}}).refused(404, "TagResourceNotFound")
			c.as(other).net("GET", floating+"/tags", nil).refused(404, "TagResourceNotFound")
			c.as(other).net("PUT", floating+"/tags", object{"tags": list{"a"}}).refused(404, "TagResourceNotFound")
			c.as(other).net("DELETE", floating+"/tags", nil).refused(404, "TagResourceNotFound")
		})},
		{"tags of what is not there are answered with 500", since(release2025, func(c *try) {
			c.as(k8s).net("GET", "/floatingips/"+nowhere+"/tags", nil).is(500)
			c.as(k8s).net("PUT", "/floatingips/"+nowhere+"/tags", object{"tags": list{"a"}}).is(500)
		})},
		{"a security group rule has no tags: 404", func(c *try) {
			id := c.as(k8s).net("GET", group+"?fields=security_group_rules", nil).is(200).text("security_group.security_group_rules.0.id")
			c.as(k8s).net("PUT", "/security-group-rules/"+id+"/tags", object{"tags": list{"a"}}).is(404)
		}},
		{"a change of tags makes another revision, the same tags again do not", func(c *try) {
			c.quietly(k8s).net("PUT", floating+"/tags", object{"tags": list{"a"}}).is(200)
			before := revision(c, floating, "floatingip")
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{"a"}}).is(200)
			c.must(revision(c, floating, "floatingip") == before, "the same tags make another revision")
			c.as(k8s).net("PUT", floating+"/tags", object{"tags": list{"b"}}).is(200)
			c.must(revision(c, floating, "floatingip") > before, "other tags make no other revision")
		}},
		{"tags, tags-any, not-tags and not-tags-any choose among floating IPs", func(c *try) {
			description, a, b := c.newName(), c.newName(), c.newName()
			ids := map[string]string{}
			for _, with := range []struct {
				name string
				tags list
			}{{"both", list{a, b}}, {"first", list{a}}, {"none", list{}}} {
				ids[with.name] = c.has(k8s, "floatingips", object{"floating_network_id": c.cloud.PublicNetwork, "description": description})
				c.quietly(k8s).net("PUT", "/floatingips/"+ids[with.name]+"/tags", object{"tags": with.tags}).is(200)
			}
			for _, q := range []struct {
				query string
				want  []string
			}{
				{"tags=" + a + "," + b, []string{"both"}}, {"tags=" + a, []string{"both", "first"}}, {"tags-any=" + a + "," + b, []string{"both", "first"}},
				{"not-tags=" + a + "," + b, []string{"first", "none"}}, {"not-tags-any=" + a + "," + b, []string{"none"}}, {"tags=" + a + "&not-tags=" + b, []string{"first"}},
			} {
				found := c.as(k8s).net("GET", "/floatingips?fields=id&description="+description+"&"+q.query, nil).is(200)
				var want []string
				for _, name := range q.want {
					want = append(want, ids[name])
				}
				c.must(sameSet(found.texts("floatingips", "id"), want...), "%s finds %s, want %v", q.query, found.Text, q.want)
			}
		}},
		{"an empty tag is a tag", func(c *try) {
			c.as(k8s).net("PUT", port+"/tags", object{"tags": list{""}}).is(200)
		}},
	}...))
}
