// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// This is openstack-cloud-controller-manager as far as it makes things: for a Service, the
// requests that it sends to Octavia and Neutron, and what it then writes on the Service.
// It is spelled out without any name or rule of ours, so that a change of those shows.

// fields is a document of the cloud's.
type fields map[string]any

// occmService is what it makes for one Service.
type occmService struct {
	*service
	// edits make the Service.
	edits []edit
	// cluster is its --cluster-name.
	cluster string
	// changes are what differs from the usual in what is POSTed.
	changes []func(balancer fields)
	// internal leaves out the floating IP, given is the id of one that is there, and
	// placed is where one is taken from.
	internal bool
	given    string
	placed   fields
	// serial makes each part by a call of its own.
	serial bool
	// untold omits annotations and the finalizer, as in old versions.
	untold bool
	// host is the Service for which the load balancer was made, if that is another.
	host string
	// mode is what is published of how the address is reached, if that is not as usual.
	mode corev1.LoadBalancerIPMode
	// hostname is published in place of the address.
	hostname string

	// balancer is what is POSTed, made what came of it.
	balancer fields
	made     tree
	// was is the Service when all objects existed.
	was *corev1.Service
}

// cut255 is its cut, by bytes.
func cut255(s string) string { return s[:min(len(s), 255)] }

// balancerName returns the name of the load balancer.
func (o *occmService) balancerName() string {
	return cut255("kube_service_" + o.cluster + "_" + o.namespace + "_" + o.name)
}

// legacyName returns the name of the load balancer as up to version 1.14.
func (o *occmService) legacyName() string {
	return ("a" + strings.ReplaceAll(string(o.now().UID), "-", ""))[:32]
}

// usual returns the document of the load balancer of a Service without annotations.
func (o *occmService) usual() fields {
	name := o.balancerName()
	listeners := []fields{}
	for i, p := range o.now().Spec.Ports {
		pool := fields{"name": cut255(fmt.Sprintf("pool_%d_%s", i, name)), "protocol": string(p.Protocol), "lb_algorithm": "ROUND_ROBIN",
			"members": []fields{o.member("a", p), o.member("b", p)}}
		listener := fields{"name": cut255(fmt.Sprintf("listener_%d_%s", i, name)), "protocol": string(p.Protocol), "protocol_port": p.Port,
			"connection_limit": -1, "tags": []string{name}, "default_pool": pool}
		if o.cloud.provider() == "ovn" {
			pool["lb_algorithm"] = "SOURCE_IP_PORT"
		} else {
			maps.Copy(listener, fields{"allowed_cidrs": []string{"0.0.0.0/0"}, "timeout_client_data": 50000,
				"timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0})
		}
		listeners = append(listeners, listener)
	}
	return fields{
		"name": name, "description": cut255(fmt.Sprintf("Kubernetes external service %s/%s from cluster %s", o.namespace, o.name, o.cluster)),
		"provider": o.cloud.provider(), "vip_subnet_id": o.cloud.IDs().PrivateSubnet, "tags": []string{name}, "listeners": listeners,
	}
}

// member is the member for a port at a node, as openstack-cloud-controller-manager requests it.
func (o *occmService) member(node string, p corev1.ServicePort) fields {
	return fields{"name": o.node(node), "address": o.stage.address(node), "protocol_port": p.NodePort, "subnet_id": o.cloud.IDs().PrivateSubnet}
}

// listenersOf are all listeners in the document of a load balancer.
func listenersOf(balancer fields) []fields { return balancer["listeners"].([]fields) }

// poolsOf are all pools in the document of a load balancer.
func poolsOf(balancer fields) []fields {
	var pools []fields
	for _, l := range listenersOf(balancer) {
		pools = append(pools, l["default_pool"].(fields))
	}
	return pools
}

// membersOf are all members in the document of a load balancer.
func membersOf(balancer fields) []fields {
	var members []fields
	for _, p := range poolsOf(balancer) {
		members = append(members, p["members"].([]fields)...)
	}
	return members
}

// differs lets the document differ from the usual.
func (o *occmService) differs(do func(balancer fields)) { o.changes = append(o.changes, do) }

// sets puts fields into what part finds in the document.
func (o *occmService) sets(part func(fields) []fields, set fields) {
	o.differs(func(balancer fields) {
		for _, f := range part(balancer) {
			maps.Copy(f, set)
		}
	})
}

// itself returns the load balancer alone.
func itself(balancer fields) []fields { return []fields{balancer} }

// monitored gives each pool a health monitor.
func (o *occmService) monitored(set fields) {
	o.differs(func(balancer fields) {
		for i, p := range poolsOf(balancer) {
			monitor := fields{"name": cut255(fmt.Sprintf("monitor_%d_%s", i, o.balancerName())), "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3, "type": "TCP"}
			if p["protocol"] == "UDP" {
				monitor["type"] = "UDP-CONNECT"
			}
			maps.Copy(monitor, set)
			p["healthmonitor"] = monitor
		}
	})
}

// checked lets monitors check kube-proxy, as with externalTrafficPolicy Local.
func (o *occmService) checked() {
	o.monitored(fields{"type": "HTTP", "http_method": "GET", "url_path": "/healthz", "expected_codes": "200"})
	o.differs(func(balancer fields) {
		for _, m := range membersOf(balancer) {
			m["monitor_port"] = o.now().Spec.HealthCheckNodePort
		}
	})
}

// comesInParts is whether what its load balancer has is added to it later: it did that
// itself, or the cloud would not end it otherwise.
func (o *occmService) comesInParts() bool {
	return o.host == "" && (o.serial || !o.cloud.finishes())
}

// posts creates the Service, and asks Octavia for the load balancer.
func (o *occmService) posts() {
	o.t.Helper()
	if err := o.create(o.edits...); err != nil {
		o.t.Fatal(err)
	}
	o.balancer = o.usual()
	if o.host != "" {
		return
	}
	for _, change := range o.changes {
		change(o.balancer)
	}
	sent := maps.Clone(o.balancer)
	if o.comesInParts() {
		delete(sent, "listeners")
	}
	var answer struct{ LoadBalancer tree }
	o.cloud.octavia(http.MethodPost, "loadbalancers", fields{"loadbalancer": sent}, &answer)
	o.made = answer.LoadBalancer
}

// ends does what is left when the load balancer is ACTIVE.
func (o *occmService) ends() {
	o.t.Helper()
	address := o.made.VIP
	if o.host != "" {
		address = o.uses()
	} else if !o.internal {
		address = o.makeFloatingIP()
	}
	o.tell(address)
	o.was = o.now()
	o.made = o.read()
}

// uses adds the Service to those that use the load balancer, and returns its address.
func (o *occmService) uses() (address string) {
	o.cloud.octavia(http.MethodPut, "loadbalancers/"+o.made.ID, fields{"loadbalancer": fields{"tags": append(slices.Clone(o.made.Tags), o.balancerName())}}, nil)
	o.eventually(o.cloud.pending)
	return (&service{stage: o.stage, name: o.host}).address()
}

// parts returns the calls that add listeners, pools, members and monitors.
func (o *occmService) parts() (calls []func()) {
	add := func(path, kind string, document fields) string {
		var answer map[string]struct{ ID string }
		o.cloud.octavia(http.MethodPost, path, fields{kind: document}, &answer)
		return answer[kind].ID
	}
	for _, l := range listenersOf(o.balancer) {
		pool := l["default_pool"].(fields)
		listener := maps.Clone(l)
		delete(listener, "default_pool")
		alone := maps.Clone(pool)
		delete(alone, "members")
		delete(alone, "healthmonitor")
		id := ""
		calls = append(calls, func() {
			listener["loadbalancer_id"] = o.made.ID
			alone["listener_id"] = add("listeners", "listener", listener)
		}, func() {
			id = add("pools", "pool", alone)
		}, func() {
			o.cloud.octavia(http.MethodPut, "pools/"+id+"/members", fields{"members": pool["members"]}, nil)
		})
		if monitor, ok := pool["healthmonitor"].(fields); ok {
			calls = append(calls, func() {
				monitor["pool_id"] = id
				add("healthmonitors", "healthmonitor", monitor)
			})
		}
	}
	return calls
}

// addParts adds the parts of the load balancers, to each one after the other.
func (s *stage) addParts(of ...*occmService) {
	s.t.Helper()
	left := make([][]func(), len(of))
	for i, o := range of {
		left[i] = o.parts()
	}
	for slices.ContainsFunc(left, func(calls []func()) bool { return len(calls) > 0 }) {
		for i, calls := range left {
			if len(calls) > 0 {
				calls[0]()
				left[i] = calls[1:]
			}
		}
		s.eventually(s.cloud.pending)
	}
}

// makeFloatingIP creates the floating IP, or attaches the one that is given.
func (o *occmService) makeFloatingIP() (address string) {
	var answer struct{ FloatingIP floatingIP }
	if o.given != "" {
		o.cloud.neutron(http.MethodPut, "floatingips/"+o.given, fields{"floatingip": fields{"port_id": o.made.VIPPort}}, &answer)
		return answer.FloatingIP.Address
	}
	wish := fields{"floating_network_id": o.cloud.IDs().PublicNetwork, "port_id": o.made.VIPPort,
		"description": fmt.Sprintf("Floating IP for Kubernetes external service %s/%s from cluster %s", o.namespace, o.name, o.cluster)}
	maps.Copy(wish, o.placed)
	o.cloud.neutron(http.MethodPost, "floatingips", fields{"floatingip": wish}, &answer)
	return answer.FloatingIP.Address
}

// tell writes the annotations and the status of the Service.
func (o *occmService) tell(address string) {
	o.t.Helper()
	write := func(do func(*corev1.Service) error) {
		o.eventually(func() error {
			err := do(o.now())
			if err != nil && !apierrors.IsConflict(err) {
				o.t.Fatal(err)
			}
			return err
		})
	}
	if !o.untold {
		write(func(v *corev1.Service) error {
			annotated(idKey, o.made.ID)(v)
			annotated(addressKey, address)(v)
			controllerutil.AddFinalizer(v, finalizer)
			return o.update(v)
		})
	}
	write(func(v *corev1.Service) error {
		mode := cmp.Or(o.mode, corev1.LoadBalancerIPModeVIP)
		v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address, IPMode: &mode}}
		if o.hostname != "" {
			v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: o.hostname}}
		}
		_, err := o.client.CoreV1().Services(o.namespace).UpdateStatus(o.t.Context(), v, metav1.UpdateOptions{FieldManager: "openstack-cloud-controller-manager"})
		return err
	})
}

// read returns what the cloud has for the Service now.
func (o *occmService) read() tree {
	o.t.Helper()
	var answer struct{ LoadBalancer tree }
	o.cloud.octavia(http.MethodGet, "loadbalancers/"+o.made.ID, nil, &answer)
	o.cloud.fill(&answer.LoadBalancer)
	return answer.LoadBalancer
}

// makeAll lets openstack-cloud-controller-manager make all of it, at the same time.
func makeAll(s *stage, all []*occmService) {
	s.t.Helper()
	for _, o := range all {
		o.posts()
	}
	s.eventually(s.cloud.pending)
	var inParts []*occmService
	for _, o := range all {
		if o.comesInParts() {
			inParts = append(inParts, o)
		}
	}
	s.addParts(inParts...)
	for _, o := range all {
		if i := slices.IndexFunc(all, func(other *occmService) bool { return other.name == o.host }); i >= 0 {
			o.made = all[i].made
			s.addParts(o)
		}
		o.ends()
	}
	for _, o := range all {
		o.made = o.read() // others may have come to share it
	}
}
