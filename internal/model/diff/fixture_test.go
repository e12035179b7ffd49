// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

var update = flag.Bool("update", false, "write the golden files anew")

var web = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-uid", Namespace: "shop", Name: "web", ServiceUID: "s-uid"}

// api is another Service.
var api = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-uid", Namespace: "shop", Name: "api", ServiceUID: "another-uid"}

// cloudControllerFloating is openstack-cloud-controller-manager's description of the Service's floating IP.
const cloudControllerFloating = "Floating IP for Kubernetes external service shop/web from cluster kubernetes"

// edit is one difference of a wanted load balancer from the usual one.
type edit func(*lb.Wanted)

// usual returns a wanted load balancer with ports TCP 80 and 443, two members each, and any
// floating IP.
func usual(changes ...edit) lb.Wanted {
	w := lb.Wanted{
		LoadBalancer: &lb.LoadBalancer{
			Name: web.LoadBalancerName(), Description: web.Description(), Tags: web.Tags(), Provider: "amphora",
			VIP: lb.VIP{SubnetID: "subnet-vip"},
		},
		FloatingIP: &lb.FloatingIP{NetworkID: "net-public", Description: web.FloatingIPDescription()},
	}
	ports(port(lb.TCP, 80, 30080), port(lb.TCP, 443, 30443))(&w)
	for _, c := range changes {
		c(&w)
	}
	return w
}

// port returns an open port with members 10.0.0.11 and 10.0.0.12.
func port(transport lb.Transport, number, nodePort int) lb.Listener {
	timeouts := lb.DefaultTimeouts
	l := lb.Listener{
		Timeouts: &timeouts, Tags: web.Tags(), Protocol: lb.ListenerProtocol(transport), Port: number, ConnectionLimit: -1, AllowedCIDRs: []string{"0.0.0.0/0"},
		Pool: &lb.Pool{Tags: web.Tags(), Protocol: lb.PoolProtocol(transport), Algorithm: lb.RoundRobin},
	}
	for _, node := range []string{"11", "12"} {
		l.Pool.Members = append(l.Pool.Members, member(node, nodePort))
	}
	return l
}

// plain, http, proxy, proxyV2 and terminated are the protocols of a TCP port.
func plain(*lb.Listener) {}

func http(l *lb.Listener) {
	l.Protocol, l.Pool.Protocol, l.InsertHeaders = lb.ListenerHTTP, lb.PoolHTTP, []string{lb.HeaderForwardedFor}
}

func proxy(l *lb.Listener)   { l.Pool.Protocol = lb.PoolProxy }
func proxyV2(l *lb.Listener) { l.Pool.Protocol = lb.PoolProxyV2 }

func terminated(certificate string, sni ...string) func(*lb.Listener) {
	return func(l *lb.Listener) {
		l.Protocol, l.Pool.Protocol, l.TLS = lb.ListenerTerminatedHTTPS, lb.PoolHTTP, &lb.TLS{Certificate: certificate, SNI: sni}
	}
}

// strict lets a port that ends TLS add header Strict-Transport-Security.
func strict(maxAge int) func(*lb.Listener) {
	return func(l *lb.Listener) { l.HSTS = lb.HSTS{Enabled: true, MaxAgeSeconds: maxAge, IncludeSubdomains: true} }
}

// speak sets the protocol of one port.
func speak(number int, do func(*lb.Listener)) edit {
	return each(func(l *lb.Listener) {
		if l.Port == number {
			do(l)
		}
	})
}

func member(node string, nodePort int) lb.Member {
	return lb.Member{Name: "node-" + node, Address: "10.0.0." + node, Port: nodePort, SubnetID: "subnet-nodes", Weight: 1}
}

// ports sets the open ports, named in this order.
func ports(all ...lb.Listener) edit {
	return func(w *lb.Wanted) {
		for i := range all {
			all[i].Name, all[i].Pool.Name = web.ListenerName(i), web.PoolName(i)
			if m := all[i].Pool.Monitor; m != nil {
				m.Name = web.MonitorName(i)
			}
		}
		w.LoadBalancer.Listeners = all
	}
}

// each changes every port.
func each(do func(*lb.Listener)) edit {
	return func(w *lb.Wanted) {
		for i := range w.LoadBalancer.Listeners {
			do(&w.LoadBalancer.Listeners[i])
		}
		ports(w.LoadBalancer.Listeners...)(w)
	}
}

// nodes sets the members of every pool.
func nodes(all ...string) edit {
	return each(func(l *lb.Listener) {
		nodePort := l.Pool.Members[0].Port
		l.Pool.Members = nil
		for _, n := range all {
			l.Pool.Members = append(l.Pool.Members, member(n, nodePort))
		}
	})
}

// monitored gives every pool a monitor, which checks the NodePorts or, with type HTTP, the nodes' health check
// port.
func monitored(kind lb.MonitorType) edit {
	return each(func(l *lb.Listener) {
		l.Pool.Monitor = &lb.HealthMonitor{Tags: web.Tags(), Type: kind, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 3}
		if kind == lb.MonitorHTTP {
			l.Pool.Monitor.HTTPMethod, l.Pool.Monitor.URLPath, l.Pool.Monitor.ExpectedCodes = "GET", "/healthz", "200"
			for i := range l.Pool.Members {
				l.Pool.Members[i].MonitorPort = 32000
			}
		}
	})
}

func sourceRanges(all ...string) edit {
	return each(func(l *lb.Listener) { l.AllowedCIDRs = all })
}

// metrics opens a port for metrics, unless the number is taken.
func metrics(number int, sources ...string) edit {
	return func(w *lb.Wanted) {
		if slices.ContainsFunc(w.LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port == number }) {
			return
		}
		w.LoadBalancer.Listeners = append(w.LoadBalancer.Listeners, lb.Listener{
			Name: web.MetricsListenerName(), Tags: web.Tags(), Protocol: lb.ListenerPrometheus, Port: number, ConnectionLimit: -1, AllowedCIDRs: sources,
		})
	}
}

func affinity(l *lb.Listener) { l.Pool.Persistence = &lb.Persistence{Type: lb.PersistenceSourceIP} }

func internal(w *lb.Wanted) { w.FloatingIP = nil }

func keepFloatingIP(w *lb.Wanted) { w.KeepFloatingIP = true }

func requestedElsewhere(addressOrID string) edit {
	return func(w *lb.Wanted) { w.Addresses.Requested = []string{addressOrID} }
}

func address(a string) edit { return func(w *lb.Wanted) { w.FloatingIP.Address = a } }

func nothing(w *lb.Wanted) { w.LoadBalancer, w.FloatingIP = nil, nil }

// cloudWith returns a cloud in which everything wanted was done.
func cloudWith(w lb.Wanted) *cloud {
	c := newCloud(web)
	if w.LoadBalancer != nil {
		made := copied(w.LoadBalancer)
		made.Tags = lb.WithVIPGroups(made.Tags, made.VIPSecurityGroups)
		c.create(made, lb.Active)
		if w.FloatingIP != nil {
			f := *w.FloatingIP
			f.PortID, f.Tags = c.balancer.VIP.PortID, nil
			made, err := c.createFloating(f, nil)
			if err != nil {
				panic(err)
			}
			f = c.floating[made.ID]
			f.Tags = slices.Clone(w.FloatingIP.Tags)
			c.floating[made.ID] = f
		}
	}
	return c
}

// listenerID and poolID find what a test changes by hand.
func (c *cloud) listenerID(number int) string {
	for id, l := range c.listeners {
		if l.Port == number {
			return id
		}
	}
	return ""
}

func (c *cloud) poolID(number int) string { return c.listeners[c.listenerID(number)].pool }

func (c *cloud) changeListener(number int, do func(*listenerRow)) {
	row := c.listeners[c.listenerID(number)]
	do(&row)
	c.listeners[row.ID] = row
}

func (c *cloud) changePool(number int, do func(*lb.Pool)) {
	row := c.pools[c.poolID(number)]
	do(&row.Pool)
	c.pools[row.ID] = row
}

// addFloating adds a floating IP.
func (c *cloud) addFloating(f lb.FloatingIP) {
	id, _ := c.id("fip")
	f.ID, f.NetworkID = id, cmp.Or(f.NetworkID, "net-public")
	c.floating[id] = f
}

// removeFloating removes the floating IP.
func (c *cloud) removeFloating() { clear(c.floating) }

// goldenPlan is the form of the golden files.
type goldenPlan struct {
	// Passes are the ops of each pass.
	Passes [][]string `json:"passes"`
	// Refused are the refused changes.
	Refused []Refusal `json:"refused,omitempty"`
	// Plan is the first plan in full.
	Plan []goldenOp `json:"plan"`
}

type goldenOp struct {
	Op   string `json:"op"`
	Text string `json:"text"`
	With Op     `json:"with"`
}

// golden compares a plan and the passes that follow with a file in testdata.
func golden(t *testing.T, name string, plan Plan, passes [][]string) {
	t.Helper()
	g := goldenPlan{Passes: passes, Refused: plan.Refused}
	for _, op := range plan.Ops {
		g.Plan = append(g.Plan, goldenOp{Kind(op), op.String(), op})
	}
	var got bytes.Buffer
	out := json.NewEncoder(&got)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(g); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := gocmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got); go test -update accepts it:\n%s", file, diff)
	}
}

// texts returns the ops' texts.
func texts(ops []Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, fmt.Sprint(op))
	}
	return all
}
