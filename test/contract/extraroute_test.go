// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// route returns an extra route of a router, as bodies have it.
func route(destination, nextHop string) object {
	return object{"destination": destination, "nexthop": nextHop}
}

// routes returns the body of a change of a router's routes.
func routes(all ...object) object {
	wanted := list{}
	for _, each := range all {
		wanted = append(wanted, each)
	}
	return object{"router": object{"routes": wanted}}
}

// manyRoutes are as many routes with the next hop.
func manyRoutes(count int, nextHop string) []object {
	var all []object
	for i := range count {
		all = append(all, route(fmt.Sprintf("10.78.%d.0/24", i), nextHop))
	}
	return all
}

// hasRouter creates a router that joins the subnet, and returns its path.
func (c *try) hasRouter(user, subnet string) string {
	c.Helper()
	path := "/routers/" + c.has(user, "routers", object{"name": c.newName()})
	joined := object{"subnet_id": subnet}
	c.quietly(user).net("PUT", path+"/add_router_interface", joined).is(200)
	c.Cleanup(func() {
		c.quietly(user).net("PUT", path, routes()).is(200)
		c.quietly(user).net("PUT", path+"/remove_router_interface", joined).is(200)
	})
	return path
}

// routesOf returns the routes of a router as "destination via next hop", sorted.
func (a answer) routesOf() []string {
	all := []string{}
	for i := range a.list("router.routes") {
		at := fmt.Sprintf("router.routes.%d.", i)
		all = append(all, a.text(at+"destination")+" via "+a.text(at+"nexthop"))
	}
	slices.Sort(all)
	return all
}

func (a answer) revision(kind string) float64 {
	a.t.Helper()
	n, ok := a.at(kind + ".revision_number").(float64)
	if !ok {
		a.t.Fatalf("%s: no revision in %s", a.what, a.Text)
	}
	return n
}

func TestExtraRoutes(t *testing.T) {
	t.Parallel()
	const add, remove = "/add_extraroutes", "/remove_extraroutes"
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.40.0/24")
	path := g.hasRouter(k8s, mine.subnet)
	own := "10.77.40.1" // the router's address
	one := route("10.78.1.0/24", "10.77.40.11")
	// each case begins with these routes
	begin := func(c *try, all ...object) float64 {
		c.Helper()
		return c.quietly(k8s).net("PUT", path, routes(all...)).is(200).revision("router")
	}
	have := func(c *try) answer { return c.quietly(k8s).net("GET", path, nil).is(200) }
	has := func(c *try, want ...string) {
		c.Helper()
		c.must(sameSet(have(c).routesOf(), want...), "the routes are %v, want %v", have(c).routesOf(), want)
	}

	state(t, []statement{
		{"the extension is found by its alias", func(c *try) {
			a := c.as(k8s).net("GET", "/extensions/extraroute-atomic", nil).is(200)
			c.must(a.text("extension.alias") == "extraroute-atomic", "it is %s", a.Text)
			c.must(slices.Contains(c.quietly(k8s).net("GET", "/extensions", nil).is(200).texts("extensions", "alias"), "extraroute-atomic"), "it is not listed")
		}},
		{"a router shows its routes and its revision", func(c *try) {
			begin(c, one)
			a := c.as(k8s).net("GET", path, nil).is(200)
			c.must(slices.Equal(a.routesOf(), []string{"10.78.1.0/24 via 10.77.40.11"}), "it has %v", a.at("router.routes"))
			c.as(k8s).net("GET", path+"?fields=routes&fields=revision_number", nil).is(200)
			c.as(k8s).net("GET", "/routers/"+nowhere, nil).refused(404, "RouterNotFound")
			c.as(other).net("GET", path, nil).refused(404, "RouterNotFound")
		}},
		{"routes are added to those that are there, and the answer has all of them", func(c *try) {
			begin(c, one)
			a := c.as(k8s).net("PUT", path+add, routes(route("10.78.2.0/24", "10.77.40.12"), route("10.78.3.0/24", "10.77.40.13"))).is(200)
			want := []string{"10.78.1.0/24 via 10.77.40.11", "10.78.2.0/24 via 10.77.40.12", "10.78.3.0/24 via 10.77.40.13"}
			c.must(slices.Equal(a.routesOf(), want), "the answer has %v", a.routesOf())
			has(c, want...)
		}},
		{"a route that is there already is added without an error and without another revision", func(c *try) {
			before := begin(c, one)
			c.as(k8s).net("PUT", path+add, routes(one, one)).is(200)
			has(c, "10.78.1.0/24 via 10.77.40.11")
			c.must(have(c).revision("router") == before, "it has another revision")
		}},
		{"the same destination with another next hop, and overlapping destinations, are further routes", func(c *try) {
			begin(c, one)
			c.as(k8s).net("PUT", path+add, routes(route("10.78.1.0/24", "10.77.40.12"), route("10.78.0.0/16", "10.77.40.11"), route("10.78.1.0/25", "10.77.40.11"))).is(200)
			has(c, "10.78.0.0/16 via 10.77.40.11", "10.78.1.0/24 via 10.77.40.11", "10.78.1.0/24 via 10.77.40.12", "10.78.1.0/25 via 10.77.40.11")
		}},
		{"a route may lead to the router's own subnet or to everything", func(c *try) {
			begin(c)
			c.as(k8s).net("PUT", path+add, routes(route("10.77.40.0/24", "10.77.40.11"), route("0.0.0.0/0", "10.77.40.11"))).is(200)
		}},
		{"a destination with host bits, or without a length, is taken as it is when it is added, and refused in a replacement", func(c *try) {
			begin(c)
			c.as(k8s).net("PUT", path+add, routes(route("10.78.1.5/24", "10.77.40.11"), route("10.78.2.5", "10.77.40.11"))).is(200)
			has(c, "10.78.1.5/24 via 10.77.40.11", "10.78.2.5 via 10.77.40.11")
			c.as(k8s).net("PUT", path, routes(route("10.78.1.5/24", "10.77.40.11"))).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, routes(route("10.78.2.5", "10.77.40.11"))).refused(400, "HTTPBadRequest")
		}},
		{"a next hop in no subnet of the router is refused with 400, and none of the routes is added", func(c *try) {
			begin(c)
			c.as(k8s).net("PUT", path+add, routes(route("10.78.2.0/24", "10.77.41.11"))).refused(400, "InvalidRoutes")
			c.quietly(k8s).net("PUT", path+add, routes(one, route("10.78.2.0/24", "10.77.41.11"))).refused(400, "InvalidRoutes")
			c.as(k8s).net("PUT", path, routes(route("10.78.2.0/24", "10.77.41.11"))).refused(400, "InvalidRoutes")
			has(c)
		}},
		{"the router's own address is refused as a next hop with 400", func(c *try) {
			begin(c)
			c.as(k8s).net("PUT", path+add, routes(route("10.78.2.0/24", own))).refused(400, "InvalidRoutes")
			c.as(k8s).net("PUT", path, routes(route("10.78.2.0/24", own))).refused(400, "InvalidRoutes")
		}},
		{"what is no destination or no next hop is refused with 400", func(c *try) {
			begin(c)
			for _, wrong := range []object{route("nonsense", "10.77.40.11"), route("10.78.2.0/24", "nonsense"), route("10.78.2.0/24", "")} {
				c.as(k8s).net("PUT", path+add, routes(wrong)).refused(400, "AddrFormatError")
				c.as(k8s).net("PUT", path, routes(wrong)).refused(400, "HTTPBadRequest")
			}
			c.as(k8s).net("PUT", path, routes(route("127.0.1.0/24", "10.77.40.11"))).refused(400, "HTTPBadRequest")
		}},
		{"a body that is none of routes is answered 500, not 400", func(c *try) {
			for _, body := range []any{object{}, object{"router": object{}}, object{"router": object{"routes": nil}}, object{"router": object{"routes": "x"}}, object{"router": object{"routes": list{object{"destination": "10.78.1.0/24"}}}}} {
				c.as(k8s).net("PUT", path+add, body).is(500)
				c.as(k8s).net("PUT", path+remove, body).is(500)
			}
			c.as(k8s).net("PUT", path+add, "nonsense").refused(400, "MalformedRequestBody")
		}},
		{"in a replacement a body that is none of routes is refused with 400, and null is no routes", func(c *try) {
			begin(c, one)
			c.as(k8s).net("PUT", path, object{"router": object{"routes": "x"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, object{"router": object{"routes": list{"x"}}}).refused(400, "HTTPBadRequest")
			c.quietly(k8s).net("PUT", path, routes(object{"destination": "10.78.1.0/24"})).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, routes(one, one)).refused(400, "HTTPBadRequest")
			has(c, "10.78.1.0/24 via 10.77.40.11")
			c.as(k8s).net("PUT", path, object{"router": object{"routes": nil}}).is(200)
			has(c)
		}},
		{"a new router cannot be given routes: 400", func(c *try) {
			c.as(k8s).net("POST", "/routers", object{"router": object{"name": c.newName(), "routes": list{}}}).refused(400, "HTTPBadRequest")
		}},
		{"other changes of the same request are passed over", func(c *try) {
			begin(c)
			name := have(c).text("router.name")
			a := c.as(k8s).net("PUT", path+add, object{"router": object{"routes": list{one}, "name": "x"}}).is(200)
			c.must(a.text("router.name") == name, "its name is %s", a.text("router.name"))
		}},
		{"more than 30 routes are refused with 400", until(release2025, func(c *try) {
			begin(c, manyRoutes(30, "10.77.40.11")...)
			c.as(k8s).net("PUT", path+add, routes(route("10.79.0.0/24", "10.77.40.11"))).refused(400, "RoutesExhausted")
			c.as(k8s).net("PUT", path, routes(manyRoutes(31, "10.77.40.11")...)).refused(400, "RoutesExhausted")
			c.must(len(have(c).list("router.routes")) == 30, "it has %d", len(have(c).list("router.routes")))
		})},
		{"more routes than the quota of the router's project, 30, are refused with 409", since(newest, func(c *try) {
			begin(c, manyRoutes(30, "10.77.40.11")...)
			c.as(k8s).net("PUT", path+add, routes(route("10.79.0.0/24", "10.77.40.11"))).refused(409, "OverQuota")
			c.as(k8s).net("PUT", path, routes(manyRoutes(31, "10.77.40.11")...)).refused(409, "OverQuota")
			c.must(len(have(c).list("router.routes")) == 30, "it has %d", len(have(c).list("router.routes")))
		})},
		{"routes are removed, others stay", func(c *try) {
			begin(c, one, route("10.78.2.0/24", "10.77.40.12"), route("10.78.2.0/24", "10.77.40.13"))
			a := c.as(k8s).net("PUT", path+remove, routes(one, route("10.78.2.0/24", "10.77.40.13"))).is(200)
			c.must(slices.Equal(a.routesOf(), []string{"10.78.2.0/24 via 10.77.40.12"}), "the answer has %v", a.routesOf())
			has(c, "10.78.2.0/24 via 10.77.40.12")
		}},
		{"a route that is not there is removed without an error and without another revision, be it nonsense", func(c *try) {
			before := begin(c, one)
			for _, absent := range []object{route("10.78.2.0/24", "10.77.40.11"), route("10.78.1.0/24", "10.77.40.12"), route("10.78.3.0/24", "10.9.9.9"), route("nonsense", "nonsense")} {
				c.as(k8s).net("PUT", path+remove, routes(absent)).is(200)
			}
			has(c, "10.78.1.0/24 via 10.77.40.11")
			c.must(have(c).revision("router") == before, "it has another revision")
		}},
		{"no routes are added and removed without an error", func(c *try) {
			begin(c, one)
			c.as(k8s).net("PUT", path+add, routes()).is(200)
			c.as(k8s).net("PUT", path+remove, routes()).is(200)
			has(c, "10.78.1.0/24 via 10.77.40.11")
		}},
		{"an unknown router is not found, nor is another project's", func(c *try) {
			for _, action := range []string{add, remove} {
				c.as(k8s).net("PUT", "/routers/"+nowhere+action, routes(one)).refused(404, "RouterNotFound")
				c.as(k8s).net("PUT", "/routers/nonsense"+action, routes(one)).refused(404, "RouterNotFound")
				c.as(other).net("PUT", path+action, routes(one)).refused(404, "RouterNotFound")
			}
			c.as(other).net("PUT", path, routes(one)).refused(404, "RouterNotFound")
		}},
		{"routes are added by PUT only: 405", func(c *try) {
			c.as(k8s).net("GET", path+add, nil).refused(405, "HTTPMethodNotAllowed")
			c.as(k8s).net("DELETE", path+add, nil).refused(405, "HTTPMethodNotAllowed")
		}},
		{"routes are replaced for one revision only: for another 412, and nothing is changed", func(c *try) {
			revision := begin(c, one)
			c.as(k8s).net("PUT", path, routes(), ifMatch(revision-1)).refused(412, "RevisionNumberConstraintFailed")
			has(c, "10.78.1.0/24 via 10.77.40.11")
			a := c.as(k8s).net("PUT", path, routes(route("10.78.2.0/24", "10.77.40.11")), ifMatch(revision)).is(200)
			c.must(a.revision("router") > revision, "the revision is %v, as before", revision)
			c.as(k8s).net("PUT", path, routes(one), ifMatch(revision)).refused(412, "RevisionNumberConstraintFailed")
			has(c, "10.78.2.0/24 via 10.77.40.11")
		}},
		{"routes are added and removed for one revision only, too", func(c *try) {
			revision := begin(c, one)
			c.as(k8s).net("PUT", path+add, routes(route("10.78.2.0/24", "10.77.40.11")), ifMatch(revision+100)).refused(412, "RevisionNumberConstraintFailed")
			c.as(k8s).net("PUT", path+remove, routes(one), ifMatch(revision+100)).refused(412, "RevisionNumberConstraintFailed")
			has(c, "10.78.1.0/24 via 10.77.40.11")
			c.as(k8s).net("PUT", path+remove, routes(one), ifMatch(revision)).is(200)
		}},
		{"the revision may be in quotation marks, and no list of several: 400", func(c *try) {
			revision := begin(c, one)
			c.as(k8s).net("PUT", path, routes(one), fmt.Sprintf(`If-Match: "revision_number=%v"`, revision)).is(200)
			c.as(k8s).net("PUT", path, routes(one), "If-Match: revision_number=1, revision_number=2").refused(400, "BadRequest")
			c.as(k8s).net("PUT", path, routes(one), `If-Match: "revision_number=1", "revision_number=2"`).refused(400, "BadRequest")
		}},
		{"the same routes again are no other revision", func(c *try) {
			before := begin(c, one)
			a := c.as(k8s).net("PUT", path, routes(one)).is(200)
			c.must(a.revision("router") == before, "the revision is %v and was %v", a.revision("router"), before)
		}},
		{"where nothing is to be changed, the revision need not match", func(c *try) {
			revision := begin(c, one)
			c.as(k8s).net("PUT", path, routes(one), ifMatch(revision-1)).is(200)
			c.as(k8s).net("PUT", path+add, routes(one), ifMatch(revision-1)).is(200)
			c.as(k8s).net("PUT", path+remove, routes(route("10.78.2.0/24", "10.77.40.11")), ifMatch(revision-1)).is(200)
			c.as(k8s).net("PUT", path, object{"router": object{"routes": list{one}, "description": ""}}, ifMatch(revision-1)).refused(412, "RevisionNumberConstraintFailed")
		}},
		{"routes that the router cannot have are refused before the revision is", func(c *try) {
			revision := begin(c)
			c.as(k8s).net("PUT", path, routes(route("10.78.1.0/24", own)), ifMatch(revision-1)).refused(400, "InvalidRoutes")
			c.as(k8s).net("PUT", path+add, routes(route("10.78.1.0/24", own)), ifMatch(revision-1)).refused(400, "InvalidRoutes")
		}},
		{"a subnet leaves a router only when no route leads into it: 409", func(c *try) {
			begin(c, one)
			c.as(k8s).net("PUT", path+"/remove_router_interface", object{"subnet_id": mine.subnet}).refused(409, "RouterInterfaceInUseByRoute")
		}},
		{"of the routes that two clients add and remove at the same time none is lost", func(c *try) {
			begin(c)
			each := func(action string) func(c *try, r object) {
				return func(c *try, r object) { c.quietly(k8s).net("PUT", path+action, routes(r)).is(200) }
			}
			twoClients(c, each(add))
			c.must(len(have(c).list("router.routes")) == 16, "there are %v", have(c).routesOf())
			twoClients(c, each(remove))
			has(c)
		}},
		{"of the routes that two clients add at the same time by a replacement for the revision that they read none is lost", func(c *try) {
			begin(c)
			twoClients(c, func(c *try, r object) {
				for {
					now := have(c)
					wanted := routes(r)
					wanted["router"].(object)["routes"] = append(now.list("router.routes"), r)
					a := c.quietly(k8s).net("PUT", path, wanted, ifMatch(now.revision("router")))
					if a.Status != http.StatusPreconditionFailed {
						a.is(200)
						return
					}
				}
			})
			c.must(len(have(c).list("router.routes")) == 16, "there are %v", have(c).routesOf())
		}},
	})
}

// twoClients lets two clients, at the same time, do something with eight routes each.
func twoClients(c *try, do func(c *try, r object)) {
	c.Run("two clients", func(t *testing.T) {
		for client := range 2 {
			t.Run(fmt.Sprint(client), func(t *testing.T) {
				t.Parallel()
				for i := range 8 {
					do(&try{T: t, cloud: c.cloud}, route(fmt.Sprintf("10.78.%d.0/24", 8*client+i), fmt.Sprintf("10.77.40.%d", 11+client)))
				}
			})
		}
	})
}
