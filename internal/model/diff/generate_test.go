// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// anyWanted draws a wanted load balancer with up to six ports of up to five members. Without sharedPorts, no port
// number is used for both TCP and UDP.
func anyWanted(t *rapid.T, sharedPorts bool) lb.Wanted {
	w := usual()
	w.FloatingIP.Address = rapid.SampledFrom([]string{"", "", "198.51.100.1", "198.51.100.2"}).Draw(t, "address")
	w.KeepFloatingIP = rapid.Bool().Draw(t, "keep")
	if rapid.Bool().Draw(t, "internal") {
		w.FloatingIP = nil
	}
	key := func(l lb.Listener) string { return fmt.Sprint(l.Key()) }
	if !sharedPorts {
		key = func(l lb.Listener) string { return fmt.Sprint(l.Port) }
	}
	ports(rapid.SliceOfNDistinct(rapid.Custom(anyPort), 0, 6, key).Draw(t, "ports")...)(&w)
	if rapid.IntRange(0, 4).Draw(t, "monitors") > 0 {
		monitored(rapid.SampledFrom([]lb.MonitorType{lb.MonitorTCP, lb.MonitorHTTP}).Draw(t, "monitor"))(&w)
	}
	w.Serial = rapid.Bool().Draw(t, "serial")
	w.LoadBalancer.VIP.Address = rapid.SampledFrom([]string{"", "", "10.0.0.9"}).Draw(t, "vip")
	w.LoadBalancer.Tags = anyTags(t, web.Tags())
	each(func(l *lb.Listener) { l.Tags, l.Pool.Tags = anyTags(t, web.Tags()), anyTags(t, web.Tags()) })(&w)
	if rapid.IntRange(0, 2).Draw(t, "metrics") == 0 {
		metrics(rapid.IntRange(7, 9).Draw(t, "metricsPort"), rapid.SampledFrom([]string{"10.0.0.0/8", "0.0.0.0/0"}).Draw(t, "metricsSources"))(&w)
	}
	if w.FloatingIP != nil {
		w.FloatingIP.Tags = anyTags(t, nil)
	}
	return w
}

// anyTags draws custom tags in addition to ours.
func anyTags(t *rapid.T, ours []string) []string {
	return lb.WithCustom(ours, rapid.SampledFrom([][]string{nil, nil, {"a"}, {"b"}, {"a", "b", "c"}}).Draw(t, "tags"))
}

func anyPort(t *rapid.T) lb.Listener {
	nodePort := rapid.IntRange(30001, 30003).Draw(t, "nodePort")
	l := port(rapid.SampledFrom([]lb.Transport{lb.TCP, lb.TCP, lb.UDP, lb.SCTP}).Draw(t, "transport"), rapid.IntRange(1, 8).Draw(t, "port"), nodePort)
	if l.Protocol == lb.ListenerTCP {
		rapid.SampledFrom([]func(*lb.Listener){plain, plain, http, proxy, proxyV2, terminated("a"), terminated("b", "c")}).Draw(t, "speaks")(&l)
	}
	if l.TLS != nil {
		rapid.SampledFrom([]func(*lb.Listener){plain, strict(0), strict(60)}).Draw(t, "hsts")(&l)
	}
	l.AllowedCIDRs = rapid.SampledFrom([][]string{nil, {"0.0.0.0/0"}, {"10.0.0.0/8"}, {"10.0.0.0/8", "192.0.2.0/24"}}).Draw(t, "sources")
	l.Pool.Algorithm = rapid.SampledFrom([]lb.Algorithm{lb.RoundRobin, lb.SourceIPPort}).Draw(t, "algorithm")
	l.Pool.Members = nil
	for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"11", "12", "13", "14", "15"}), 0, 5, rapid.ID).Draw(t, "nodes") {
		l.Pool.Members = append(l.Pool.Members, member(n, nodePort))
	}
	if rapid.Bool().Draw(t, "affinity") {
		l.Pool.Persistence = &lb.Persistence{Type: lb.PersistenceSourceIP}
		if l.Protocol == lb.ListenerUDP || l.Protocol == lb.ListenerSCTP {
			l.Pool.Persistence.TimeoutSeconds = rapid.SampledFrom([]int{0, 60, 600}).Draw(t, "timeout")
		}
	}
	return l
}

// copied returns a load balancer that shares no pool with l.
func copied(l *lb.LoadBalancer) lb.LoadBalancer {
	c := cloneLoadBalancer(*l)
	for i := range c.Listeners {
		p := c.Listeners[i].Pool
		if p == nil {
			continue
		}
		p.Members = slices.Clone(p.Members)
		if p.Monitor != nil {
			m := *p.Monitor
			p.Monitor = &m
		}
	}
	return c
}

// anyCloud draws the state of the cloud: empty, or what is or once was wanted, followed by changes of people,
// failures and other controllers.
func anyCloud(t *rapid.T, wanted lb.Wanted, sharedPorts bool) *cloud {
	c := newCloud(web)
	c.sharedPorts = sharedPorts
	if there := rapid.SampledFrom([]string{"nothing", "as wanted", "as wanted", "of another time"}).Draw(t, "there"); there != "nothing" {
		first := wanted
		if there == "of another time" || wanted.LoadBalancer == nil {
			first = anyWanted(t, sharedPorts)
		}
		c.create(copied(first.LoadBalancer), lb.Active)
		for range rapid.IntRange(0, 6).Draw(t, "drifts") {
			rapid.SampledFrom(drifts).Draw(t, "drift").do(t, c)
		}
	}
	floatingIPs := rapid.IntRange(0, 3).Draw(t, "floatingIPs")
	for i := range floatingIPs {
		anyFloating(t, c, fmt.Sprintf("198.51.100.%d", i+1))
	}
	if c.balancer != nil {
		c.duplicates = slices.Clone([]string{"lb-x", "lb-y"}[:rapid.IntRange(0, 2).Draw(t, "duplicates")])
	}
	return c
}

func anyFloating(t *rapid.T, c *cloud, address string) {
	f := lb.FloatingIP{Address: address}
	f.Description = rapid.SampledFrom([]string{web.FloatingIPDescription(), cloudControllerFloating, "a person's", "", api.FloatingIPDescription()}).Draw(t, "description")
	vip := ""
	if c.balancer != nil {
		vip = c.balancer.VIP.PortID
	}
	for _, other := range c.floating {
		if other.PortID == vip {
			vip = ""
		}
	}
	f.PortID = rapid.SampledFrom([]string{"", vip, vip, "port-of-a-server"}).Draw(t, "port")
	f.Tags = anyTags(t, rapid.SampledFrom([][]string{nil, {"by-hand"}}).Draw(t, "others"))
	c.addFloating(f)
}

// drift is a change of a load balancer by another client.
type drift struct {
	name string
	do   func(*rapid.T, *cloud)
}

// String is for messages of failed tests.
func (d drift) String() string { return d.name }

// onListener and onPool return drifts of one listener or pool, drawn from all.
func onListener(do func(*rapid.T, *cloud, *listenerRow)) func(*rapid.T, *cloud) {
	return func(t *rapid.T, c *cloud) {
		o := c.observe().LoadBalancer.Listeners
		if len(o) == 0 {
			return
		}
		row := c.listeners[o[rapid.IntRange(0, len(o)-1).Draw(t, "listener")].ID]
		do(t, c, &row)
		if _, there := c.listeners[row.ID]; there {
			c.listeners[row.ID] = row
		}
	}
}

func onUsedPool(do func(*rapid.T, *lb.Pool)) func(*rapid.T, *cloud) {
	return onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
		if row, there := c.pools[l.pool]; there {
			do(t, &row.Pool)
			c.pools[l.pool] = row
		}
	})
}

func onMember(do func(*lb.Member)) func(*rapid.T, *cloud) {
	return onUsedPool(func(t *rapid.T, p *lb.Pool) {
		p.Members = slices.Clone(p.Members)
		if len(p.Members) > 0 {
			do(&p.Members[rapid.IntRange(0, len(p.Members)-1).Draw(t, "member")])
		}
	})
}

func onMonitor(do func(*lb.HealthMonitor)) func(*rapid.T, *cloud) {
	return onUsedPool(func(_ *rapid.T, p *lb.Pool) {
		if p.Monitor != nil {
			m := *p.Monitor
			do(&m)
			p.Monitor = &m
		}
	})
}

var drifts = []drift{
	{"listener lost", onListener(func(_ *rapid.T, c *cloud, l *listenerRow) { delete(c.listeners, l.ID) })},
	{"listener and pool lost", onListener(func(_ *rapid.T, c *cloud, l *listenerRow) {
		if c.users(l.pool) == 1 {
			delete(c.pools, l.pool)
		}
		delete(c.listeners, l.ID)
	})},
	{"listener without pool", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.pool = "" })},
	{"listener down", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.AdminDown = true })},
	{"listener limited", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.ConnectionLimit = 7 })},
	{"headers added", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) {
		if l.Protocol == lb.ListenerHTTP || l.Protocol == lb.ListenerTerminatedHTTPS {
			l.InsertHeaders = []string{lb.HeaderForwardedFor, "X-Forwarded-Port"}
		}
	})},
	{"HSTS changed", onListener(func(t *rapid.T, _ *cloud, l *listenerRow) {
		if l.Protocol == lb.ListenerTerminatedHTTPS {
			l.HSTS = rapid.SampledFrom([]lb.HSTS{{}, {Enabled: true, MaxAgeSeconds: 7, Preload: true}}).Draw(t, "hsts")
		}
	})},
	{"certificate exchanged", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) {
		if l.TLS != nil {
			l.TLS = &lb.TLS{Certificate: "x", SNI: []string{"c"}}
		}
	})},
	{"listener more patient", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.Timeouts = &lb.Timeouts{ClientData: 600_000} })},
	{"listener untagged", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.Tags = nil })},
	{"listener renamed", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.Name = web.ListenerName(9) })},
	{"listener of another", onListener(func(_ *rapid.T, c *cloud, l *listenerRow) {
		if !c.sharedPorts {
			return // its owner is only known if the transport is the same
		}
		l.Tags = []string{"kube_service_kubernetes_shop_api"}
		if row, there := c.pools[l.pool]; there {
			row.Tags = l.Tags
			c.pools[l.pool] = row
		}
	})},
	{"listener of another kind", onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
		if row, there := c.pools[l.pool]; there && l.Protocol == lb.ListenerTCP && c.users(l.pool) == 1 {
			l.Protocol = rapid.SampledFrom([]lb.ListenerProtocol{lb.ListenerHTTP, lb.ListenerHTTPS, lb.ListenerTerminatedHTTPS}).Draw(t, "protocol")
			if l.Protocol == lb.ListenerTerminatedHTTPS {
				l.TLS = &lb.TLS{SNI: []string{"x"}}
			}
			row.Protocol = rapid.SampledFrom(poolsOf[l.Protocol]).Draw(t, "poolProtocol")
			c.pools[l.pool] = row
		}
	})},
	{"sources changed", onListener(func(_ *rapid.T, _ *cloud, l *listenerRow) { l.AllowedCIDRs = []string{"203.0.113.0/24"} })},
	{"pool protocol", onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
		if row, there := c.pools[l.pool]; there && c.users(l.pool) == 1 {
			row.Protocol = rapid.SampledFrom(poolsOf[l.Protocol]).Draw(t, "protocol")
			c.pools[l.pool] = row
		}
	})},
	{"listener tagged", onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
		if len(l.Tags) == 0 && !c.sharedPorts {
			return // it would be another Service's
		}
		l.Tags = anyTags(t, append(slices.Clone(l.Tags), "by-hand"))
	})},
	{"pool tagged", onUsedPool(func(t *rapid.T, p *lb.Pool) { p.Tags = anyTags(t, append(slices.Clone(p.Tags), "by-hand")) })},
	{"pool untagged", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Tags = nil })},
	{"pool renamed", onUsedPool(func(t *rapid.T, p *lb.Pool) { p.Name = web.PoolName(rapid.IntRange(0, 6).Draw(t, "index")) })},
	{"pool down", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.AdminDown = true })},
	{"pool algorithm", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Algorithm = lb.LeastConnections })},
	{"pool persistence", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Persistence = &lb.Persistence{Type: "HTTP_COOKIE"} })},
	{"pool emptied", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Members = nil })},
	{"member added", onUsedPool(func(_ *rapid.T, p *lb.Pool) {
		p.Members = append(slices.Clone(p.Members), member("9", 1+len(p.Members)))
	})},
	{"member removed", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Members = slices.Clone(p.Members[:len(p.Members)/2]) })},
	{"member weight", onMember(func(m *lb.Member) { m.Weight = 0 })},
	{"member down", onMember(func(m *lb.Member) { m.AdminDown = true })},
	{"member backup", onMember(func(m *lb.Member) { m.Backup = true })},
	{"member monitor port", onMember(func(m *lb.Member) { m.MonitorPort = 999 })},
	{"member subnet and name", onMember(func(m *lb.Member) { m.SubnetID, m.Name = "", "x" })},
	{"monitor lost", onUsedPool(func(_ *rapid.T, p *lb.Pool) { p.Monitor = nil })},
	{"monitor type", onMonitor(func(m *lb.HealthMonitor) { m.Type = lb.MonitorUDPConnect })},
	{"monitor delay", onMonitor(func(m *lb.HealthMonitor) { m.DelaySeconds = 99 })},
	{"monitor path", onMonitor(func(m *lb.HealthMonitor) {
		if m.Type == lb.MonitorHTTP {
			m.URLPath = "/"
		}
	})},
	{"balancer down", func(_ *rapid.T, c *cloud) { c.balancer.AdminDown = true }},
	{"balancer untagged", func(_ *rapid.T, c *cloud) { c.balancer.Tags = []string{"billing=shop"} }},
	{"pool left over", leftOver},
	{"pool left over", leftOver},
	{"port left behind", leftBehind},
	{"all ports left behind", func(_ *rapid.T, c *cloud) { c.leaveBehind() }},
	{"foreign listener", addForeign},
	{"pool shared", onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
		o := c.observe().LoadBalancer.Listeners
		other := c.listeners[o[rapid.IntRange(0, len(o)-1).Draw(t, "other")].ID]
		if row, there := c.pools[other.pool]; there && slices.Contains(poolsOf[l.Protocol], row.Protocol) {
			l.pool = other.pool
		}
	})},
}

func (c *cloud) users(pool string) int {
	n := 0
	for _, l := range c.listeners {
		if l.pool == pool {
			n++
		}
	}
	return n
}

// leftBehind leaves a listener, a pool, or something in the pool PENDING.
var leftBehind = onListener(func(t *rapid.T, c *cloud, l *listenerRow) {
	row, there := c.pools[l.pool]
	switch part := rapid.SampledFrom([]string{"listener", "pool", "member", "monitor"}).Draw(t, "part"); {
	case part == "listener":
		l.ProvisioningStatus = rapid.SampledFrom([]lb.ProvisioningStatus{lb.PendingCreate, lb.PendingUpdate}).Draw(t, "status")
		return
	case !there:
		return
	case part == "pool":
		row.ProvisioningStatus = rapid.SampledFrom([]lb.ProvisioningStatus{lb.PendingCreate, lb.PendingUpdate}).Draw(t, "status")
	case part == "member" && len(row.Members) > 0:
		row.Members = slices.Clone(row.Members)
		row.Members[0].ProvisioningStatus = lb.PendingCreate
	case part == "monitor" && row.Monitor != nil:
		m := *row.Monitor
		m.ProvisioningStatus = lb.PendingCreate
		row.Monitor = &m
	}
	c.pools[l.pool] = row
})

// leaveBehind leaves all children of the load balancer in PENDING_CREATE.
func (c *cloud) leaveBehind() {
	for id, row := range c.listeners {
		row.ProvisioningStatus = lb.PendingCreate
		c.listeners[id] = row
	}
	for id, row := range c.pools {
		row.ProvisioningStatus = lb.PendingCreate
		row.Members = slices.Clone(row.Members)
		for i := range row.Members {
			row.Members[i].ProvisioningStatus = lb.PendingCreate
		}
		if row.Monitor != nil {
			m := *row.Monitor
			m.ProvisioningStatus = lb.PendingCreate
			row.Monitor = &m
		}
		c.pools[id] = row
	}
}

// leftOver adds a pool without a listener: ours by tags or by name, another Service's, or a person's; complete or
// not.
func leftOver(t *rapid.T, c *cloud) {
	p := *anyPort(t).Pool
	p.Name = rapid.SampledFrom([]string{web.PoolName(0), web.PoolName(1), web.PoolName(2), "canary"}).Draw(t, "name")
	p.Tags = rapid.SampledFrom([][]string{web.Tags(), web.Tags(), nil, {"by-hand"}, {"kube-octavia.service=other"}}).Draw(t, "tags")
	if rapid.Bool().Draw(t, "odd") {
		p.Protocol = "PROXY"
	}
	if rapid.Bool().Draw(t, "monitored") {
		p.Monitor = &lb.HealthMonitor{Type: lb.MonitorTCP, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 3}
	}
	c.addPool(p)
}

// addForeign adds a listener that is not ours, with a pool of its own, a pool of ours, or none.
func addForeign(t *rapid.T, c *cloud) {
	l := anyPort(t)
	l.Name, l.Tags = "foreign", rapid.SampledFrom([][]string{{"by-hand"}, {"kube-octavia.service=other"}, {lb.ClusterTag("other"), web.LoadBalancerName()}}).Draw(t, "tags")
	if !c.sharedPorts { // as above
		l.Port += 100
	}
	for _, other := range c.listeners {
		if other.Key() == l.Key() || !c.sharedPorts && other.Port == l.Port {
			return
		}
	}
	pool := ""
	switch all := c.observe().LoadBalancer.Listeners; rapid.SampledFrom([]string{"own", "none", "ours"}).Draw(t, "pool") {
	case "own":
		p := *l.Pool
		p.Name, p.Tags = "foreign", l.Tags
		pool = c.addPool(p)
	case "ours":
		if len(all) > 0 && all[0].Pool != nil && slices.Contains(poolsOf[l.Protocol], all[0].Pool.Protocol) {
			pool = all[0].Pool.ID
		}
	}
	c.addListener(l, pool)
}
