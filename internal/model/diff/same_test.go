// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestSourceRangesOfOneFamilyAreNotThoseOfBoth(t *testing.T) {
	for name, c := range map[string]struct {
		want, have   []string
		single, dual bool
	}{
		"every client, in other words":            {nil, []string{"0.0.0.0/0", "::/0"}, true, true},
		"every client of IPv4":                    {nil, []string{"0.0.0.0/0"}, true, false},
		"some clients of IPv4 and all of IPv6":    {[]string{"10.0.0.0/8", "::/0"}, nil, true, false},
		"other clients of IPv4 and all of IPv6":   {[]string{"10.0.0.0/8", "::/0"}, []string{"192.0.2.0/24", "::/0"}, true, false},
		"ranges in another order, and not masked": {[]string{"10.0.0.0/8", "2001:db8::/32"}, []string{"2001:db8::1/32", "10.0.0.7/8"}, true, true},
	} {
		if single, dual := sameSources(c.want, c.have, false), sameSources(c.want, c.have, true); single != c.single || dual != c.dual {
			t.Errorf("%s: the same %v with VIPs of one family, %v of both", name, single, dual)
		}
	}
}

// Each field that was changed by hand is reset with one op, if everything else is as wanted.
func TestEveryRelevantFieldIsReset(t *testing.T) {
	member := func(do func(*lb.Member)) func(*lb.Pool) { return func(p *lb.Pool) { do(&p.Members[0]) } }
	monitor := func(do func(*lb.HealthMonitor)) func(*lb.Pool) { return func(p *lb.Pool) { do(p.Monitor) } }
	for name, c := range map[string]struct {
		drift func(*lb.Pool)
		op    string
	}{
		"member weight":         {member(func(m *lb.Member) { m.Weight = 2 }), "SetMembers"},
		"member monitor port":   {member(func(m *lb.Member) { m.MonitorPort = 2 }), "SetMembers"},
		"member backup":         {member(func(m *lb.Member) { m.Backup = true }), "SetMembers"},
		"member switched off":   {member(func(m *lb.Member) { m.AdminDown = true }), "SetMembers"},
		"member address":        {member(func(m *lb.Member) { m.Address = "10.0.0.99" }), "SetMembers"},
		"member port":           {member(func(m *lb.Member) { m.Port = 2 }), "SetMembers"},
		"monitor delay":         {monitor(func(m *lb.HealthMonitor) { m.DelaySeconds = 9 }), "UpdateMonitor"},
		"monitor timeout":       {monitor(func(m *lb.HealthMonitor) { m.TimeoutSeconds = 9 }), "UpdateMonitor"},
		"monitor retries":       {monitor(func(m *lb.HealthMonitor) { m.MaxRetries = 9 }), "UpdateMonitor"},
		"monitor retries down":  {monitor(func(m *lb.HealthMonitor) { m.MaxRetriesDown = 9 }), "UpdateMonitor"},
		"monitor method":        {monitor(func(m *lb.HealthMonitor) { m.HTTPMethod = "HEAD" }), "UpdateMonitor"},
		"monitor path":          {monitor(func(m *lb.HealthMonitor) { m.URLPath = "/" }), "UpdateMonitor"},
		"monitor codes":         {monitor(func(m *lb.HealthMonitor) { m.ExpectedCodes = "200-299" }), "UpdateMonitor"},
		"monitor switched off":  {monitor(func(m *lb.HealthMonitor) { m.AdminDown = true }), "UpdateMonitor"},
		"monitor name":          {monitor(func(m *lb.HealthMonitor) { m.Name = "monitor_7" }), ""},
		"pool algorithm":        {func(p *lb.Pool) { p.Algorithm = lb.SourceIP }, "UpdatePool"},
		"pool switched off":     {func(p *lb.Pool) { p.AdminDown = true }, "UpdatePool"},
		"pool persistence":      {func(p *lb.Pool) { p.Persistence.Type = "HTTP_COOKIE" }, "UpdatePool"},
		"pool persistence time": {func(p *lb.Pool) { p.Persistence.TimeoutSeconds = 9 }, "UpdatePool"},
		"pool name":             {func(p *lb.Pool) { p.Name = web.PoolName(7) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			udp := func(w *lb.Wanted) { ports(port(lb.UDP, 53, 30053))(w) }
			sticky := each(func(l *lb.Listener) {
				l.Pool.Persistence = &lb.Persistence{Type: lb.PersistenceSourceIP, TimeoutSeconds: 60}
			})
			cloud := cloudWith(usual(udp, monitored(lb.MonitorHTTP), sticky))
			cloud.changePool(53, c.drift)
			plan := (&convergence{reporter: t, cloud: cloud, wanted: usual(udp, monitored(lb.MonitorHTTP), sticky)}).converge()
			var kinds []string
			for _, op := range plan.Ops {
				kinds = append(kinds, Kind(op))
			}
			var want []string
			if c.op != "" {
				want = []string{c.op}
			}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
		})
	}
}

// Octavia may show timeouts that cannot be set.
func TestUnwantedTimeoutsAreNotChanged(t *testing.T) {
	c := cloudWith(usual())
	c.changeListener(80, func(l *listenerRow) { l.Timeouts = &lb.Timeouts{MemberData: 1} })
	plan := New(usual(func(w *lb.Wanted) {
		for i := range w.LoadBalancer.Listeners {
			w.LoadBalancer.Listeners[i].Timeouts = nil
		}
	}), c.observe(), web)
	if len(plan.Ops) > 0 {
		t.Errorf("planned: %v", plan.Ops)
	}
}

// openstack-cloud-controller-manager sets no timeout, whatever the Service requests.
func TestPoolWithoutATimeoutOfItsAffinityGetsOneWhenTheServiceRequestsIt(t *testing.T) {
	for name, c := range map[string]struct {
		want, have int
		updates    bool
	}{
		"Kubernetes filled it in":                  {lb.DefaultPersistenceSeconds, 0, false},
		"the Service requests another":             {60, 0, true},
		"it had another, no longer requested":      {lb.DefaultPersistenceSeconds, 60, true},
		"none can be asked for":                    {0, 60, false},
		"the one that Kubernetes fills in is set":  {lb.DefaultPersistenceSeconds, lb.DefaultPersistenceSeconds, false},
		"the one that the Service requests is set": {60, 60, false},
		"the Service requests another than is set": {60, 70, true},
	} {
		want := &lb.Persistence{Type: lb.PersistenceSourceIP, TimeoutSeconds: c.want}
		have := &lb.Persistence{Type: lb.PersistenceSourceIP, TimeoutSeconds: c.have}
		if got := !samePersistence(want, have); got != c.updates {
			t.Errorf("%s: updated: %v", name, got)
		}
	}
}

func TestAnotherCertificateIsADifference(t *testing.T) {
	tests := []struct {
		name       string
		want, have *lb.TLS
		same       bool
	}{
		{"the same", &lb.TLS{Certificate: "a", SNI: []string{"b", "c"}}, &lb.TLS{Certificate: "a", SNI: []string{"c", "b"}}, true},
		{"another default certificate", &lb.TLS{Certificate: "a", SNI: []string{"b"}}, &lb.TLS{Certificate: "c", SNI: []string{"b"}}, false},
		{"the default certificate and one of SNI are exchanged", &lb.TLS{Certificate: "a", SNI: []string{"b"}}, &lb.TLS{Certificate: "b", SNI: []string{"a"}}, false},
		{"another certificate of SNI", &lb.TLS{Certificate: "a", SNI: []string{"b"}}, &lb.TLS{Certificate: "a", SNI: []string{"c"}}, false},
		{"no TLS", nil, nil, true},
		{"TLS comes", &lb.TLS{Certificate: "a"}, nil, false},
		{"TLS goes", nil, &lb.TLS{Certificate: "a"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sameTLS(tt.want, tt.have); got != tt.same {
				t.Errorf("the same: %t, want %t", got, tt.same)
			}
		})
	}
}

func TestAddressesAreComparedInAnyNotation(t *testing.T) {
	tests := []struct {
		want, have string
		same       bool
	}{
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"2001:db8::1", "2001:DB8:0::1", true},
		{"", "10.0.0.1", false},
		{"10.0.0.1", "", false},
		{"a name", "another name", false},
		{"a name", "a name", true},
	}
	for _, tt := range tests {
		if got := sameAddress(tt.want, tt.have); got != tt.same {
			t.Errorf("%q and %q are the same: %t, want %t", tt.want, tt.have, got, tt.same)
		}
	}
}

// A difference that is not there would be written for ever.
func TestWhatIsSwitchedOffAsWantedIsNoDifference(t *testing.T) {
	m := lb.Member{Address: "10.0.0.11", Port: 30080, Weight: 1, MonitorPort: 32000, Backup: true, AdminDown: true}
	if !sameMember(m, m) {
		t.Error("a member differs from itself")
	}
	monitor := lb.HealthMonitor{Type: lb.MonitorTCP, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 3, AdminDown: true}
	shown := monitor
	shown.HTTPMethod, shown.URLPath, shown.ExpectedCodes = "GET", "/", "200"
	if !sameMonitor(monitor, shown) {
		t.Error("a TCP monitor differs because of what Octavia shows of HTTP")
	}
	pool := lb.Pool{Algorithm: lb.RoundRobin, AdminDown: true}
	if !samePool(pool, pool) {
		t.Error("a pool differs from itself")
	}
}
