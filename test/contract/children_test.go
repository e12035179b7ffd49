// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"testing"
	"time"
)

// unknown is an id that nothing has.
const unknown = "5d9e3b5a-0000-4000-8000-000000000001"

// parts are the ids of what a load balancer has, by name.
type parts struct {
	lb               string
	listeners, pools map[string]string
}

// newTree creates a load balancer as newLB does and looks up what it has.
func newTree(t *testing.T, extra object) parts {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	p := parts{lb: newLB(t, extra)}
	p.listeners = c.byName("listeners", p.lb)
	p.pools = c.byName("pools", p.lb)
	return p
}

// byName returns the ids of a load balancer's listeners or pools by their names.
func (c *try) byName(key, lb string) map[string]string {
	c.Helper()
	a := c.quietly(k8s).lb("GET", "/"+key+"?loadbalancer_id="+lb+"&fields=id&fields=name", nil).is(200)
	ids := map[string]string{}
	for i, name := range a.texts(key, "name") {
		ids[name] = a.texts(key, "id")[i]
	}
	return ids
}

// change makes a write that must be answered with the status, and waits until
// the load balancer is ACTIVE again.
func (c *try) change(lb, method, path string, body any, status int) answer {
	c.Helper()
	a := c.as(k8s).lb(method, path, body).is(status)
	c.active(lb)
	return a
}

// quietChange is change for what only prepares a case.
func (c *try) quietChange(lb, method, path string, body any, status int) answer {
	c.Helper()
	a := c.quietly(k8s).lb(method, path, body).is(status)
	c.active(lb)
	return a
}

// during makes a write to a load balancer, looks at the cloud while the change
// is under way, and waits until it has ended. A real Octavia takes more than a
// second for any change; the simulator is told to wait.
func (c *try) during(lb string, write, look func()) {
	c.Helper()
	func() {
		defer c.hold(lb)()
		write()
		look()
	}()
	c.active(lb)
}

// refuse makes calls of the same kind, one with each body, that must all be
// answered with the status.
func (c *try) refuse(status int, method, path, key string, bodies ...object) {
	c.Helper()
	for _, body := range bodies {
		c.as(k8s).lb(method, path, object{key: body}).is(status)
	}
}

// with returns an object with more attributes; the value missing leaves one out.
func with(o object, more object) object {
	all := object{}
	for key, value := range o {
		all[key] = value
	}
	for key, value := range more {
		all[key] = value
	}
	for key, value := range all {
		if value == missing {
			delete(all, key)
		}
	}
	return all
}

// missing leaves an attribute out of what with makes.
const missing = "(missing)"

// status of an object that the path names, such as "/pools/ID", with key "pool".
func (c *try) status(path, key string) string {
	c.Helper()
	return c.quietly(k8s).lb("GET", path, nil).is(http.StatusOK).text(key + ".provisioning_status")
}

// listenerActive waits until a listener is ACTIVE: Octavia's worker marks the load
// balancer first, and then its listeners, each in a transaction of its own.
func (c *try) listenerActive(id string) {
	c.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for looks, status := 0, ""; status != "ACTIVE"; looks++ {
		if looks > 500 {
			c.Fatalf("listener %s is %s", id, status)
		}
		<-tick.C
		status = c.status("/listeners/"+id, "listener")
	}
}

// laterThan waits until the clock shows a later second than a timestamp of
// Octavia's, so that the next change has a later timestamp.
func (c *try) laterThan(stamp string) {
	c.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", stamp)
	if err != nil {
		c.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !time.Now().UTC().After(at.Add(time.Second)) {
		<-tick.C
	}
}
