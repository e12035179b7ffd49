// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// request is one call, with its body as plain JSON.
type request struct {
	Method, Address string
	Body            any
}

var (
	minus1, limit   = -1, 100
	down, up        = true, false
	noCIDRs, office = []string(nil), []string{"192.0.2.0/24"}
	poolID          = "p2"
	tags            = []string{"a", "b"}
)

var smallPool = lb.Pool{Name: "pool", Tags: tags, Protocol: lb.PoolTCP, Algorithm: lb.RoundRobin}

var requests = map[string]struct {
	op     diff.Op
	can    lb.Capabilities
	method string
	path   string
	body   string // as JSON; empty for none
}{
	"a load balancer in one piece": {
		op: diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{
			Name: "web", Description: "the shop", Tags: tags, Provider: "amphora", FlavorID: "f1", AvailabilityZone: "az1",
			VIP:            lb.VIP{SubnetID: "s1", Address: "10.0.0.9"},
			AdditionalVIPs: []lb.VIP{{SubnetID: "s6"}, {SubnetID: "s7", Address: "fd00::9"}},
			Listeners: []lb.Listener{{
				Name: "listener", Tags: tags, Protocol: lb.ListenerTCP, Port: 80, ConnectionLimit: -1, AllowedCIDRs: office,
				Pool: &lb.Pool{
					Name: "pool", Tags: tags, Protocol: lb.PoolTCP, Algorithm: lb.SourceIP,
					Persistence: &lb.Persistence{Type: lb.PersistenceSourceIP, TimeoutSeconds: 60},
					Members: []lb.Member{
						{Name: "n1", Address: "10.0.0.1", Port: 30080, SubnetID: "s1", Weight: 1, MonitorPort: 32000},
						{Name: "n2", Address: "10.0.0.2", Port: 30080, Weight: 0, Backup: true, AdminDown: true},
					},
					Monitor: &lb.HealthMonitor{
						Name: "monitor", Tags: tags, Type: lb.MonitorHTTP, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 2,
						HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200",
					},
				},
			}},
		}},
		method: "POST", path: "loadbalancers",
		body: `{"loadbalancer": {"name": "web", "description": "the shop", "tags": ["a", "b"], "provider": "amphora", "flavor_id": "f1",
			"availability_zone": "az1", "vip_subnet_id": "s1", "vip_address": "10.0.0.9", "admin_state_up": true,
			"additional_vips": [{"subnet_id": "s6"}, {"subnet_id": "s7", "ip_address": "fd00::9"}],
			"listeners": [{"name": "listener", "tags": ["a", "b"], "protocol": "TCP", "protocol_port": 80, "connection_limit": -1,
				"allowed_cidrs": ["192.0.2.0/24"], "admin_state_up": true,
				"default_pool": {"name": "pool", "tags": ["a", "b"], "protocol": "TCP", "lb_algorithm": "SOURCE_IP", "admin_state_up": true,
					"session_persistence": {"type": "SOURCE_IP", "persistence_timeout": 60},
					"members": [
						{"name": "n1", "address": "10.0.0.1", "protocol_port": 30080, "subnet_id": "s1", "weight": 1, "monitor_port": 32000, "admin_state_up": true},
						{"name": "n2", "address": "10.0.0.2", "protocol_port": 30080, "weight": 0, "backup": true, "admin_state_up": false}],
					"healthmonitor": {"name": "monitor", "tags": ["a", "b"], "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 1,
						"max_retries_down": 2, "http_method": "GET", "url_path": "/healthz", "expected_codes": "200", "admin_state_up": true}}}]}}`,
	},
	"a load balancer for a cloud without tags": {
		op: diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Name: "web", Tags: tags, Provider: "amphora", VIP: lb.VIP{NetworkID: "n1"}, AdminDown: true, Listeners: []lb.Listener{
			{Name: "listener", Tags: tags, Protocol: lb.ListenerUDP, Port: 53, ConnectionLimit: 7, Pool: &lb.Pool{
				Name: "pool", Tags: tags, Protocol: lb.PoolUDP, Algorithm: lb.RoundRobin,
				Monitor: &lb.HealthMonitor{Name: "monitor", Tags: tags, Type: lb.MonitorUDPConnect, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 2},
			}},
		}}},
		can:    lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 4}},
		method: "POST", path: "loadbalancers",
		body: `{"loadbalancer": {"name": "web", "description": "", "vip_network_id": "n1", "admin_state_up": false, "listeners": [
			{"name": "listener", "protocol": "UDP", "protocol_port": 53, "connection_limit": 7, "admin_state_up": true, "default_pool":
				{"name": "pool", "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN", "admin_state_up": true, "members": [], "healthmonitor":
					{"name": "monitor", "type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 2, "admin_state_up": true}}}]}}`,
	},
	"a load balancer's tags": {
		op:     diff.UpdateLoadBalancer{ID: "lb1", Tags: &tags},
		method: "PUT", path: "loadbalancers/lb1", body: `{"loadbalancer": {"tags": ["a", "b"]}}`,
	},
	"a load balancer's switch": {
		op:     diff.UpdateLoadBalancer{ID: "lb1", AdminDown: &down},
		method: "PUT", path: "loadbalancers/lb1", body: `{"loadbalancer": {"admin_state_up": false}}`,
	},
	"the end of a load balancer": {
		op:     diff.DeleteLoadBalancer{ID: "lb1"},
		method: "DELETE", path: "loadbalancers/lb1?cascade=true",
	},
	"a listener": {
		op: diff.CreateListener{LoadBalancerID: "lb1", PoolID: "p1", Listener: lb.Listener{
			Name: "listener", Tags: tags, Protocol: lb.ListenerTCP, Port: 443, ConnectionLimit: 100, Pool: &smallPool, AdminDown: true,
			Timeouts: &lb.Timeouts{ClientData: 60000, MemberData: 1}}},
		method: "POST", path: "listeners",
		body: `{"listener": {"name": "listener", "tags": ["a", "b"], "protocol": "TCP", "protocol_port": 443, "connection_limit": 100,
			"timeout_client_data": 60000, "timeout_member_connect": 0, "timeout_member_data": 1, "timeout_tcp_inspect": 0,
			"loadbalancer_id": "lb1", "default_pool_id": "p1", "admin_state_up": false}}`,
	},
	"a listener for metrics, which has no pool": {
		op: diff.CreateListener{LoadBalancerID: "lb1", Listener: lb.Listener{
			Name: "metrics", Protocol: lb.ListenerPrometheus, Port: 9100, ConnectionLimit: -1, AllowedCIDRs: office}},
		method: "POST", path: "listeners",
		body: `{"listener": {"name": "metrics", "protocol": "PROMETHEUS", "protocol_port": 9100, "connection_limit": -1,
			"allowed_cidrs": ["192.0.2.0/24"], "loadbalancer_id": "lb1", "admin_state_up": true}}`,
	},
	"a listener's timeouts": {
		op:     diff.UpdateListener{ID: "l1", Timeouts: &lb.DefaultTimeouts},
		method: "PUT", path: "listeners/l1",
		body: `{"listener": {"timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0}}`,
	},
	"a listener opened to every client": {
		op:     diff.UpdateListener{ID: "l1", AllowedCIDRs: &noCIDRs},
		method: "PUT", path: "listeners/l1", body: `{"listener": {"allowed_cidrs": []}}`,
	},
	"a listener's every setting": {
		op:     diff.UpdateListener{ID: "l1", AllowedCIDRs: &office, ConnectionLimit: &minus1, PoolID: &poolID, AdminDown: &up},
		method: "PUT", path: "listeners/l1",
		body: `{"listener": {"allowed_cidrs": ["192.0.2.0/24"], "connection_limit": -1, "default_pool_id": "p2", "admin_state_up": true}}`,
	},
	"security groups of the VIP": {
		op:     diff.SetVIPSecurityGroups{ID: "lb1", Groups: []string{"g1", "g2"}, Tags: tags},
		method: "PUT", path: "loadbalancers/lb1", body: `{"loadbalancer": {"vip_sg_ids": ["g1", "g2"], "tags": ["a", "b"]}}`,
	},
	"no security groups of the VIP": {
		op:     diff.SetVIPSecurityGroups{ID: "lb1"},
		method: "PUT", path: "loadbalancers/lb1", body: `{"loadbalancer": {"vip_sg_ids": null, "tags": []}}`,
	},
	"a load balancer with security groups": {
		op:     diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Name: "web", VIP: lb.VIP{NetworkID: "n1"}, VIPSecurityGroups: []string{"g1"}}},
		method: "POST", path: "loadbalancers",
		body: `{"loadbalancer": {"name": "web", "description": "", "vip_network_id": "n1", "vip_sg_ids": ["g1"], "admin_state_up": true, "listeners": []}}`,
	},
	"a listener's HSTS": {
		op:     diff.UpdateListener{ID: "l1", HSTS: &lb.HSTS{Enabled: true, Preload: true}},
		method: "PUT", path: "listeners/l1",
		body: `{"listener": {"hsts_max_age": 0, "hsts_include_subdomains": false, "hsts_preload": true}}`,
	},
	"the end of HSTS": {
		op:     diff.UpdateListener{ID: "l1", HSTS: &lb.HSTS{}},
		method: "PUT", path: "listeners/l1",
		body: `{"listener": {"hsts_max_age": null, "hsts_include_subdomains": false, "hsts_preload": false}}`,
	},
	"a listener that ends TLS, with HSTS": {
		op: diff.CreateListener{LoadBalancerID: "lb1", PoolID: "p1", Listener: lb.Listener{
			Name: "listener", Protocol: lb.ListenerTerminatedHTTPS, Port: 443, ConnectionLimit: -1, TLS: &lb.TLS{Certificate: "a"},
			HSTS: lb.HSTS{Enabled: true, MaxAgeSeconds: 60, IncludeSubdomains: true}}},
		method: "POST", path: "listeners",
		body: `{"listener": {"name": "listener", "protocol": "TERMINATED_HTTPS", "protocol_port": 443, "connection_limit": -1,
			"default_tls_container_ref": "a", "hsts_max_age": 60, "hsts_include_subdomains": true, "hsts_preload": false,
			"loadbalancer_id": "lb1", "default_pool_id": "p1", "admin_state_up": true}}`,
	},
	"a listener's limit alone": {
		op:     diff.UpdateListener{ID: "l1", ConnectionLimit: &limit},
		method: "PUT", path: "listeners/l1", body: `{"listener": {"connection_limit": 100}}`,
	},
	"a listener's tags": {
		op:     diff.SetTags{Of: "listener", ID: "l1", Tags: tags},
		method: "PUT", path: "listeners/l1", body: `{"listener": {"tags": ["a", "b"]}}`,
	},
	"no tags of a pool": {
		op:     diff.SetTags{Of: "pool", ID: "p1"},
		method: "PUT", path: "pools/p1", body: `{"pool": {"tags": []}}`,
	},
	"the end of a listener": {op: diff.DeleteListener{ID: "l1"}, method: "DELETE", path: "listeners/l1"},
	"a pool, without what does not nest": {
		op: diff.CreatePool{LoadBalancerID: "lb1", Pool: lb.Pool{
			Name: "pool", Tags: tags, Protocol: lb.PoolTCP, Algorithm: lb.LeastConnections, Persistence: &lb.Persistence{Type: lb.PersistenceSourceIP},
			Members: []lb.Member{{Address: "10.0.0.1", Port: 1}}, Monitor: &lb.HealthMonitor{Type: lb.MonitorTCP}}},
		method: "POST", path: "pools",
		body: `{"pool": {"name": "pool", "tags": ["a", "b"], "protocol": "TCP", "lb_algorithm": "LEAST_CONNECTIONS", "loadbalancer_id": "lb1",
			"session_persistence": {"type": "SOURCE_IP"}, "admin_state_up": true}}`,
	},
	"the end of persistence": {
		op:     diff.UpdatePool{ID: "p1", Algorithm: lb.RoundRobin},
		method: "PUT", path: "pools/p1", body: `{"pool": {"lb_algorithm": "ROUND_ROBIN", "session_persistence": null, "admin_state_up": true}}`,
	},
	"persistence": {
		op:     diff.UpdatePool{ID: "p1", Algorithm: lb.RoundRobin, Persistence: &lb.Persistence{Type: lb.PersistenceSourceIP}, AdminDown: true},
		method: "PUT", path: "pools/p1",
		body: `{"pool": {"lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "SOURCE_IP"}, "admin_state_up": false}}`,
	},
	"the end of a pool": {op: diff.DeletePool{ID: "p1"}, method: "DELETE", path: "pools/p1"},
	"members": {
		op:     diff.SetMembers{PoolID: "p1", Members: []lb.Member{{Name: "n1", Address: "2001:db8::1", Port: 30080, SubnetID: "s1", Weight: 1}}},
		method: "PUT", path: "pools/p1/members",
		body: `{"members": [{"name": "n1", "address": "2001:db8::1", "protocol_port": 30080, "subnet_id": "s1", "weight": 1, "admin_state_up": true}]}`,
	},
	"no members": {op: diff.SetMembers{PoolID: "p1"}, method: "PUT", path: "pools/p1/members", body: `{"members": []}`},
	"a monitor": {
		op: diff.CreateMonitor{PoolID: "p1", Monitor: lb.HealthMonitor{
			Name: "monitor", Tags: tags, Type: lb.MonitorTCP, DelaySeconds: 10, TimeoutSeconds: 5, MaxRetries: 3, MaxRetriesDown: 4}},
		method: "POST", path: "healthmonitors",
		body: `{"healthmonitor": {"name": "monitor", "tags": ["a", "b"], "type": "TCP", "delay": 10, "timeout": 5, "max_retries": 3,
			"max_retries_down": 4, "pool_id": "p1", "admin_state_up": true}}`,
	},
	"a monitor's settings, without its name and type": {
		op: diff.UpdateMonitor{ID: "m1", Monitor: lb.HealthMonitor{
			Name: "monitor", Tags: tags, Type: lb.MonitorHTTP, DelaySeconds: 10, TimeoutSeconds: 5, MaxRetries: 3, MaxRetriesDown: 4,
			HTTPMethod: "HEAD", URLPath: "/", ExpectedCodes: "200-204"}},
		method: "PUT", path: "healthmonitors/m1",
		body: `{"healthmonitor": {"delay": 10, "timeout": 5, "max_retries": 3, "max_retries_down": 4,
			"http_method": "HEAD", "url_path": "/", "expected_codes": "200-204", "admin_state_up": true}}`,
	},
	"the end of a monitor": {op: diff.DeleteMonitor{ID: "m1"}, method: "DELETE", path: "healthmonitors/m1"},
}

func TestEachOpIsOneCallWithExactlyItsFields(t *testing.T) {
	for name, c := range requests {
		t.Run(name, func(t *testing.T) {
			if reflect.ValueOf(c.can).IsZero() {
				c.can = amphora
			}
			var got []request
			client := against(t, c.can, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				got = append(got, request{r.Method, r.URL.String(), plain(t, string(text))})
				answer(w, http.StatusAccepted, `{"loadbalancer": {"id": "new"}, "listener": {"id": "new"}, "pool": {"id": "new"}, "healthmonitor": {"id": "new"}}`)
			})
			made, err := client.Apply(t.Context(), c.op)
			if err != nil {
				t.Fatal(err)
			}
			want := []request{{c.method, "/v2.0/lbaas/" + c.path, plain(t, c.body)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if creates := c.method == http.MethodPost; creates != (made.ID == "new") {
				t.Errorf("made %+v", made)
			}
		})
	}
}

func TestEveryOctaviaOpHasATestCase(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range requests {
		kinds[diff.Kind(c.op)] = true
	}
	for _, op := range []diff.Op{
		diff.CreateLoadBalancer{}, diff.UpdateLoadBalancer{}, diff.DeleteLoadBalancer{}, diff.CreateListener{}, diff.UpdateListener{},
		diff.DeleteListener{}, diff.CreatePool{}, diff.UpdatePool{}, diff.DeletePool{}, diff.SetMembers{}, diff.CreateMonitor{},
		diff.UpdateMonitor{}, diff.DeleteMonitor{}, diff.SetTags{},
	} {
		if !kinds[diff.Kind(op)] {
			t.Errorf("no test of %s", diff.Kind(op))
		}
	}
}

func TestANewLoadBalancerReturnsItsVIPsAndProject(t *testing.T) {
	client := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusCreated, `{"loadbalancer": {"id": "lb1", "project_id": "pr1", "provider": "amphora", "vip_address": "10.0.0.9", "vip_port_id": "po1",
			"vip_subnet_id": "s1", "vip_network_id": "n1", "provisioning_status": "PENDING_CREATE",
			"additional_vips": [{"subnet_id": "s6", "ip_address": "fd00::9"}, {"subnet_id": "forgotten", "ip_address": null}]}}`)
	})
	made, err := client.Apply(t.Context(), diff.CreateLoadBalancer{})
	want := diff.Created{ID: "lb1", ProjectID: "pr1", Provider: "amphora", VIP: lb.VIP{Address: "10.0.0.9", PortID: "po1", SubnetID: "s1", NetworkID: "n1"},
		AdditionalVIPs: []lb.VIP{{Address: "fd00::9", SubnetID: "s6"}}}
	if diff := cmp.Diff(want, made); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestListenerIsCreatedWithoutItsPoolWhereOctaviaFailsOnASharedPort(t *testing.T) {
	var bodies []string
	client := against(t, amphora, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), "default_pool_id") {
			answer(w, http.StatusInternalServerError, `{"faultcode": "Server", "faultstring": "'NoneType' object has no attribute 'ip_address'"}`)
			return
		}
		answer(w, http.StatusCreated, `{"listener": {"id": "li1"}}`)
	})
	made, err := client.Apply(t.Context(), diff.CreateListener{LoadBalancerID: "lb1", PoolID: "po1", Listener: lb.Listener{Protocol: lb.ListenerUDP, Port: 53}})
	if diff := cmp.Diff(diff.Created{ID: "li1", WithoutPool: true}, made); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(bodies) != 2 {
		t.Errorf("%d requests: %q", len(bodies), bodies)
	}
}

func TestAnErrorSaysWhatWasTriedAndHasItsClass(t *testing.T) {
	create := diff.CreatePool{LoadBalancerID: "lb1", Pool: smallPool}
	for name, c := range map[string]struct {
		op     diff.Op
		status int
		body   string
		class  openstack.Class
	}{
		"while the load balancer is pending": {create, 409, `{"faultstring": "Load Balancer lb1 is immutable and cannot be updated."}`, openstack.Busy},
		"for a quota":                        {create, 403, `{"faultstring": "Quota has been met for resources: Pool"}`, openstack.Quota},
		"for what it says":                   {create, 400, `{"faultstring": "Validation failure: no"}`, openstack.Invalid},
		"for what is not there":              {diff.UpdatePool{ID: "p1"}, 404, `{"faultstring": "Pool p1 not found."}`, openstack.Gone},
		"from an overloaded service":         {create, 503, `{}`, openstack.Throttled},
		"of an answer without the object":    {create, 201, `{}`, openstack.Transient},
		"of an answer that is no JSON":       {create, 201, `<html>`, openstack.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			client := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) { answer(w, c.status, c.body) })
			made, err := client.Apply(t.Context(), c.op)
			var e *openstack.Error
			if !errors.As(err, &e) || e.Class != c.class || e.Op != c.op.String() {
				t.Errorf("error %#v, want one of class %s for %q", err, c.class, c.op)
			}
			if e != nil && e.Unanswered != (c.status == 201) {
				t.Errorf("unanswered is %t: what was created is then looked for", e.Unanswered)
			}
			if !cmp.Equal(made, diff.Created{}) {
				t.Errorf("made %+v in spite of it", made)
			}
		})
	}
}

// The port is in use, so nothing is created: the answer shows whether everything else is valid.
func TestAListenerForAPortInUseIsCheckedByAskingForIt(t *testing.T) {
	create := diff.CreateListener{LoadBalancerID: "lb1", Listener: lb.Listener{Protocol: lb.ListenerTerminatedHTTPS, Port: 443, TLS: &lb.TLS{Certificate: "ref"}}}
	for name, c := range map[string]struct {
		status int
		body   string
		class  openstack.Class
	}{
		"the port is in use":             {409, `{"faultstring": "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 443"}`, ""},
		"the certificate cannot be read": {400, `{"faultstring": "Could not retrieve certificate: ['ref']"}`, openstack.Invalid},
		"the quota is full":              {403, `{"faultstring": "Quota has been met for resources: Listener"}`, openstack.Quota},
		"the load balancer is pending":   {409, `{"faultstring": "Load Balancer lb1 is immutable and cannot be updated."}`, openstack.Busy},
		"the port is free by now":        {201, `{"listener": {"id": "00000000-0000-4000-8000-000000000001"}}`, openstack.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			client := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) { answer(w, c.status, c.body) })
			if err := client.CheckListener(t.Context(), create); openstack.Classify(err) != c.class {
				t.Error(err)
			}
		})
	}
}

func TestDeletingAMissingObjectIsNoError(t *testing.T) {
	client := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) { answer(w, 404, `{"faultstring": "not found."}`) })
	for _, op := range []diff.Op{
		diff.DeleteLoadBalancer{ID: "x"}, diff.DeleteListener{ID: "x"}, diff.DeletePool{ID: "x"}, diff.DeleteMonitor{ID: "x"},
	} {
		t.Run(diff.Kind(op), func(t *testing.T) {
			if _, err := client.Apply(t.Context(), op); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnOpOfNeutronIsRefusedWithoutACall(t *testing.T) {
	client := against(t, amphora, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called %s", r.URL) })
	if _, err := client.Apply(t.Context(), diff.DeleteFloatingIP{ID: "f1"}); openstack.Classify(err) != openstack.Invalid {
		t.Errorf("error %v", err)
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// plain decodes JSON; empty text is nil.
func plain(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return v
}
