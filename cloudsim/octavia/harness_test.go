// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wireIdentity = wire.Identity

// The callers of the tests.
var (
	alice = wire.Identity{UserID: "alice", ProjectID: "project-a", Roles: []string{"member", "load-balancer_member"}}
	bob   = wire.Identity{UserID: "bob", ProjectID: "project-b", Roles: []string{"member", "load-balancer_member"}}
	carol = wire.Identity{UserID: "carol", ProjectID: "project-a", Roles: []string{"reader"}}
	admin = wire.Identity{UserID: "admin", ProjectID: "project-admin", Roles: []string{"admin"}}
)

// patience is how long a test waits for something that should happen at once.
const patience = 30 * time.Second

// cloud is an Octavia on a Neutron with a network, called by alice.
type cloud struct {
	*Service
	t       testing.TB
	mux     http.Handler
	neutron *neutron.Service
	ids     neutron.Seeded
	clock   atomic.Int64 // Unix seconds

	mu      sync.Mutex
	changes []string      // the arguments of OnChange
	news    chan struct{} // closed and renewed at each of them
}

func newCloud(t testing.TB, o Options) *cloud {
	t.Helper()
	c := &cloud{t: t, news: make(chan struct{})}
	c.clock.Store(1_800_000_000)
	c.neutron = neutron.New(neutron.Options{Release: o.Release, Quotas: map[string]int{"port": -1}})
	var err error
	c.ids, err = c.neutron.Seed(neutron.Seed{
		ProjectID: alice.ProjectID, AdminProjectID: admin.ProjectID, Projects: []string{bob.ProjectID},
		PublicCIDR: netip.MustParsePrefix("127.16.128.0/24"), PrivateCIDR: netip.MustParsePrefix("10.0.0.0/16"),
		PrivateIPv6CIDR: netip.MustParsePrefix("fd00:1::/64"),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Network, o.OnChange = c.neutron, c.changed
	o.Now = func() time.Time { return time.Unix(c.clock.Load(), 0) }
	if c.Service, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.mux = c.Mux()
	return c
}

// reportTo makes c report failures to t, one case of a test, until the case ends.
func (c *cloud) reportTo(t testing.TB) {
	test := c.t
	c.t = t
	t.Cleanup(func() { c.t = test })
}

func (c *cloud) changed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, id)
	close(c.news)
	c.news = make(chan struct{})
}

// wait waits until the condition holds. It checks after each change.
func (c *cloud) wait(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-news:
		case <-deadline:
			c.t.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}

// reply is an answer of the API.
type reply struct {
	t      testing.TB
	status int
	text   string
	body   map[string]any
}

func (c *cloud) as(who wire.Identity, method, path, body string) reply {
	c.t.Helper()
	return c.send(apitest.Request(method, "/v2.0/lbaas"+path, body), who)
}

func (c *cloud) call(method, path, body string) reply {
	c.t.Helper()
	return c.as(alice, method, path, body)
}

func (c *cloud) send(r *http.Request, who wire.Identity) reply {
	c.t.Helper()
	got := apitest.Do(c.t, c.mux, apitest.As(who, r))
	return reply{t: c.t, status: got.Status, text: got.Text, body: got.Body}
}

// must checks the status.
func (a reply) must(status int) reply {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.text)
	}
	return a
}

// refused checks status and text of a fault.
func (a reply) refused(status int, text string) {
	a.t.Helper()
	code := "Client"
	if status >= 500 {
		code = "Server"
	}
	if a.status != status || a.body["faultstring"] != text || a.body["faultcode"] != code || a.body["debuginfo"] != nil {
		a.t.Errorf("answer %d %s\nwant   %d %s %q", a.status, a.text, status, code, text)
	}
}

// get follows a path such as "loadbalancer.listeners.0.id" into the answer.
func (a reply) get(path string) any {
	a.t.Helper()
	var x any = a.body
	for part := range strings.SplitSeq(path, ".") {
		switch v := x.(type) {
		case map[string]any:
			x = v[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(v) {
				a.t.Fatalf("no %s in %s", path, a.text)
			}
			x = v[i]
		default:
			a.t.Fatalf("no %s in %s", path, a.text)
		}
	}
	return x
}

func (a reply) str(path string) string {
	a.t.Helper()
	s, ok := a.get(path).(string)
	if !ok {
		a.t.Fatalf("%s is no text in %s", path, a.text)
	}
	return s
}

// column returns one member of all items of a list, in their order.
func (a reply) column(key, name string) []string {
	a.t.Helper()
	items, ok := a.must(http.StatusOK).body[key].([]any)
	if !ok {
		a.t.Fatalf("no list %s in %s", key, a.text)
	}
	values := []string{}
	for _, item := range items {
		values = append(values, fmt.Sprint(item.(map[string]any)[name]))
	}
	return values
}

// status returns a load balancer's provisioning status, "" if it is gone.
func (c *cloud) status(id string) string {
	c.t.Helper()
	a := c.as(admin, "GET", "/loadbalancers/"+id, "")
	if a.status == http.StatusNotFound {
		return ""
	}
	return a.must(http.StatusOK).str("loadbalancer.provisioning_status")
}

func (c *cloud) await(id, status string) {
	c.t.Helper()
	c.wait(fmt.Sprintf("load balancer %s is %q", id, status), func() bool { return c.status(id) == status })
}

// settled waits until the load balancer is ACTIVE after an accepted change.
func (c *cloud) settled(lb string, a reply) reply {
	c.t.Helper()
	if a.status >= 300 {
		a.t.Fatalf("refused: %d %s", a.status, a.text)
	}
	c.await(lb, "ACTIVE")
	return a
}

// create makes a load balancer with the given further attributes, such as
// `"listeners": [...]`, and waits for it.
func (c *cloud) create(attributes string) string {
	c.t.Helper()
	id := c.post(attributes).must(http.StatusCreated).str("loadbalancer.id")
	c.await(id, "ACTIVE")
	return id
}

func (c *cloud) post(attributes string) reply {
	c.t.Helper()
	if attributes != "" {
		attributes = ", " + attributes
	}
	return c.call("POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer": {"vip_subnet_id": %q%s}}`, c.ids.PrivateSubnetID, attributes))
}

// web is a listener with pool, monitor and two members, as attributes of a load
// balancer.
const web = `"name": "web", "listeners": [{"name": "http", "protocol": "TCP", "protocol_port": 80, "default_pool": {
	"name": "pool", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
	"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
	"members": [{"address": "10.0.0.11", "protocol_port": 30080}, {"address": "10.0.0.12", "protocol_port": 30080}]}}]`

// tree has the ids of the objects of web.
type tree struct{ lb, listener, pool, monitor, member1, member2 string }

func (c *cloud) web() tree {
	c.t.Helper()
	t := tree{lb: c.create(web)}
	a := c.call("GET", "/loadbalancers/"+t.lb, "")
	t.listener, t.pool = a.str("loadbalancer.listeners.0.id"), a.str("loadbalancer.pools.0.id")
	a = c.call("GET", "/pools/"+t.pool, "")
	t.monitor, t.member1, t.member2 = a.str("pool.healthmonitor_id"), a.str("pool.members.0.id"), a.str("pool.members.1.id")
	return t
}

// fetch makes a GET and ignores the answer's body.
func (c *cloud) fetch(b *testing.B, path string) {
	r := httptest.NewRequest("GET", "/v2.0/lbaas"+path, nil)
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), alice)))
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
}
