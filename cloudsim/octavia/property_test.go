// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
)

// check reports what is inconsistent in the state: every object must be found
// under its id and in its parent, and be counted once.
func (s *Service) check() error {
	s.state.RLock()
	defer s.state.RUnlock()
	var got Counts
	for lb := range s.state.LoadBalancers.All() {
		if by, _ := s.state.OfPort(lb.Port); by != lb {
			return fmt.Errorf("load balancer %s is not found by its port", lb.ID)
		}
		got.LoadBalancers++
		for _, l := range lb.Listeners {
			if !known(s.state.Listeners, l) || l.LB != lb || l.Pool != nil && !known(s.state.Pools, l.Pool) {
				return fmt.Errorf("listener %s is not where it belongs, or its pool is gone", l.ID)
			}
			got.Listeners++
		}
		for _, p := range lb.Pools {
			if !known(s.state.Pools, p) || p.LB != lb {
				return fmt.Errorf("pool %s is not where it belongs", p.ID)
			}
			got.Pools++
			places := map[string]bool{}
			for _, m := range p.Members {
				at := fmt.Sprint(m.Address.Value(), m.Port)
				if !known(s.state.Members, m) || m.Pool != p || places[at] {
					return fmt.Errorf("member %s is not where it belongs, or twice", m.ID)
				}
				places[at] = true
				got.Members++
			}
			if m := p.Monitor; m != nil {
				if !known(s.state.Monitors, m) || m.Pool != p {
					return fmt.Errorf("monitor %s is not where it belongs", m.ID)
				}
				got.HealthMonitors++
			}
		}
		for _, o := range provider.Children(lb, false) {
			if lb.Provisioning == model.Active && o.Provisioning != model.Active {
				return fmt.Errorf("%s is %s in an ACTIVE load balancer", o.ID, o.Provisioning)
			}
		}
	}
	used := func(resource string) int {
		return s.state.Quotas.Used(alice.ProjectID, resource) + s.state.Quotas.Used(admin.ProjectID, resource)
	}
	counted := Counts{used(model.LoadBalancerQuota), used(model.ListenerQuota), used(model.PoolQuota), used(model.MemberQuota), used(model.MonitorQuota)}
	byID := Counts{s.state.LoadBalancers.Len(), s.state.Listeners.Len(), s.state.Pools.Len(), s.state.Members.Len(), s.state.Monitors.Len()}
	if got != counted || got != byID {
		return fmt.Errorf("%+v are in trees, %+v under their ids, and %+v are counted", got, byID, counted)
	}
	return nil
}

// known reports whether an object is found by its id.
func known[T interface {
	model.Item
	comparable
}](x state.Index[T], o T) bool {
	found, _ := x.Find(o.Base().ID.String())
	return found == o
}

func TestStateStaysConsistentDuringRandomOperations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCloud(t, Options{})
		defer c.Close()
		ids := func(key, path string) []string { return c.call("GET", path, "").column(key, "id") }
		pick := func(key string) string {
			all := append(ids(key, "/"+key), "11111111-2222-3333-4444-555555555555")
			return rapid.SampledFrom(all).Draw(rt, key)
		}
		members := func() string {
			// No duplicates: a batch that contains a member twice locks the load balancer forever.
			var list []string
			for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 0, 4, rapid.ID[int]).Draw(rt, "members") {
				list = append(list, fmt.Sprintf(`{"address": "10.0.0.%d", "protocol_port": %d}`, 1+i/2, 1+i%2))
			}
			return `{"members": [` + strings.Join(list, ",") + `]}`
		}
		act := map[string]func() reply{
			"create": func() reply { return c.post(rapid.SampledFrom([]string{"", web}).Draw(rt, "tree")) },
			"delete": func() reply {
				return c.call("DELETE", "/loadbalancers/"+pick("loadbalancers")+rapid.SampledFrom([]string{"", "?cascade=true"}).Draw(rt, "cascade"), "")
			},
			"new listener": func() reply {
				body := fmt.Sprintf(`{"listener": {"loadbalancer_id": %q, "protocol": "TCP", "protocol_port": %d, "default_pool_id": %q}}`, pick("loadbalancers"), rapid.IntRange(80, 82).Draw(rt, "port"), pick("pools"))
				return c.call("POST", "/listeners", body)
			},
			"new pool": func() reply {
				return c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`, pick("loadbalancers")))
			},
			"new monitor": func() reply {
				return c.call("POST", "/healthmonitors", fmt.Sprintf(`{"healthmonitor": {"pool_id": %q, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}`, pick("pools")))
			},
			"batch":           func() reply { return c.call("PUT", "/pools/"+pick("pools")+"/members", members()) },
			"additive batch":  func() reply { return c.call("PUT", "/pools/"+pick("pools")+"/members?additive_only=true", members()) },
			"delete listener": func() reply { return c.call("DELETE", "/listeners/"+pick("listeners"), "") },
			"delete pool":     func() reply { return c.call("DELETE", "/pools/"+pick("pools"), "") },
			"delete monitor":  func() reply { return c.call("DELETE", "/healthmonitors/"+pick("healthmonitors"), "") },
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(act))).Draw(rt, "step")
			if a := act[name](); a.status >= http.StatusInternalServerError {
				rt.Fatalf("%s answers %d %s", name, a.status, a.text)
			}
			// In half of the steps the load balancer is still locked.
			if rapid.Bool().Draw(rt, "wait") {
				c.wait("nothing is PENDING", func() bool { return !c.pending() })
			}
			if err := c.check(); err != nil {
				rt.Fatalf("after %s: %v", name, err)
			}
		}
		c.wait("nothing is PENDING", func() bool { return !c.pending() })
		if err := c.check(); err != nil {
			rt.Fatal(err)
		}
	})
}

func (s *Service) pending() bool {
	s.state.RLock()
	defer s.state.RUnlock()
	for lb := range s.state.LoadBalancers.All() {
		if lb.Changing {
			return true
		}
	}
	return false
}

func FuzzRequestBodiesAreAcceptedOrRefused(f *testing.F) {
	for _, seed := range []string{
		`{"loadbalancer": {"vip_subnet_id": "$subnet", ` + web + `}}`, `{"listener": {"protocol": "TCP", "protocol_port": 80, "loadbalancer_id": "$lb"}}`,
		`{"pool": {"protocol": "UDP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": "$lb", "session_persistence": {"type": "SOURCE_IP", "persistence_timeout": 3}}}`,
		`{"members": [{"address": "1.2.3.4", "protocol_port": 1e3, "weight": null}]}`, `{"healthmonitor": {"http_version": 1.1}}`, `{"quota": {"pool": -1}}`,
		`{"listener": {"allowed_cidrs": ["1.2.3.4/40"], "insert_headers": {"a": 1}}}`, `[]`, `{"loadbalancer": [{}]}`, `nonsense`, `{"pool": {"tags": ["a", "a"]}}`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		c := newCloud(t, Options{})
		tr := c.web()
		body = strings.NewReplacer("$subnet", c.ids.PrivateSubnetID, "$lb", tr.lb).Replace(body)
		for _, to := range [][2]string{
			{"POST", "/loadbalancers"}, {"PUT", "/loadbalancers/" + tr.lb}, {"POST", "/listeners"}, {"PUT", "/listeners/" + tr.listener},
			{"POST", "/pools"}, {"PUT", "/pools/" + tr.pool}, {"POST", "/pools/" + tr.pool + "/members"}, {"PUT", "/pools/" + tr.pool + "/members"},
			{"PUT", "/pools/" + tr.pool + "/members/" + tr.member1}, {"POST", "/healthmonitors"}, {"PUT", "/healthmonitors/" + tr.monitor},
			{"PUT", "/quotas/x"}, {"POST", "/flavors"}, {"POST", "/flavorprofiles"}, {"POST", "/availabilityzones"},
		} {
			a := c.as(admin, to[0], to[1], body)
			if a.status >= 400 && a.body["faultstring"] == nil {
				t.Errorf("%s %s answers %d %q", to[0], to[1], a.status, a.text)
			}
			c.wait("nothing is PENDING", func() bool { return !c.pending() })
		}
		if err := c.check(); err != nil {
			t.Error(err)
		}
	})
}
