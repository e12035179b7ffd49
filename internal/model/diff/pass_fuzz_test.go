// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// FuzzPass runs passes (build, diff, After, Confirm, conditions and addresses) for any Service in any cloud, until
// nothing is left to do. What must never happen meanwhile is in converge_test.go and guard_test.go.
func FuzzPass(f *testing.F) {
	// An input is what rapid draws from: short ones end before there is a cloud.
	source := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		words := make([]byte, 8*1000)
		for i := 0; i < len(words); i += 8 {
			// Numbers of few bits, as most are that are drawn.
			n := source.Uint64() >> source.IntN(64)
			for j := range 8 {
				words[i+j] = byte(n >> (8 * j))
			}
		}
		f.Add(words)
	}
	f.Fuzz(rapid.MakeFuzz(wholePass))
}

func TestAnyServiceIsServedInAnyCloudAsFarAsPossible(t *testing.T) { rapid.Check(t, wholePass) }

func wholePass(t *rapid.T) {
	in := anyInput(t)
	var there *lb.LoadBalancer
	if before, err := desired.Wanted(anyChange(t, in)); err == nil && rapid.Bool().Draw(t, "there") {
		there = before.LoadBalancer
	}
	cloud := diff.NewCloud(t, there, in.Capabilities.Has(lb.FeatureTransportsShareAPort))
	p := &passes{T: t, in: in}
	diff.Converge(t, cloud, p.decide, p.see)
}

// passes are those over one Service.
type passes struct {
	*rapid.T
	in         desired.Input
	invalid    *desired.Invalid
	wanted     lb.Wanted
	conditions []metav1.Condition
	ingress    []corev1.LoadBalancerIngress
}

// decide builds what is wanted, as the controller does.
func (p *passes) decide(observed lb.Observed) lb.Wanted {
	in := p.in
	in.Found = observed.LoadBalancer
	wanted, err := desired.Wanted(in)
	p.invalid = nil
	if err != nil {
		if !errors.As(err, &p.invalid) || p.invalid.Reason == "" || p.invalid.Message == "" {
			p.Fatalf("error %#v, want an *Invalid with reason and message", err)
		}
		wanted = desired.MembersOnly(in, observed)
	}
	p.wanted = wanted
	return wanted
}

// see reports the plan of a pass, and checks that the report is true.
func (p *passes) see(plan diff.Plan, observed lb.Observed) {
	confirmed := p.confirm(observed)
	pass := status.Pass{
		Acceptance:  status.Acceptance{Invalid: p.invalid, Unknown: annotation.FindUnknown(p.in.Spec.Annotations)},
		Publication: status.Publication{External: p.wanted.FloatingIP != nil}, Observed: confirmed,
		Left: plan.Ops, Refused: plan.Refused, Done: len(plan.Ops) == 0 && len(plan.Refused) == 0 && observed.LoadBalancer != nil,
	}
	if l := p.wanted.LoadBalancer; l != nil && len(l.AdditionalVIPs) > 0 {
		pass.Families = p.in.Families()
	}
	p.conditions = status.Conditions(p.conditions, 1, pass)
	p.ingress = status.Ingress(p.ingress, pass)
	for _, c := range p.conditions {
		if c.Reason == "" || c.Message == "" || len(c.Message) > 4000 {
			p.Fatalf("condition %+v", c)
		}
	}
	if p.invalid != nil && meta.IsStatusConditionTrue(p.conditions, status.Accepted) {
		p.Fatalf("%q is refused and said to be accepted", p.invalid.Message)
	}
	if meta.IsStatusConditionTrue(p.conditions, status.Programmed) && len(plan.Refused) > 0 {
		p.Fatalf("programmed although %v", plan.Refused)
	}
	for _, i := range p.ingress {
		if l := observed.LoadBalancer; l != nil && i.IP != observed.Address() && (len(pass.Families) < 2 || !l.Has(i.IP)) {
			p.Fatalf("%s is published, and the load balancer is at %s", i.IP, observed.Address())
		}
	}
	if len(pass.Families) > 1 && p.invalid == nil && pass.Done && len(p.ingress) != 2 {
		p.Fatalf("%v is published of a load balancer of both families", p.ingress)
	}
	for _, e := range status.Events(nil, p.conditions) {
		if len(e.Message) > 1000 {
			p.Fatalf("an event of %d bytes", len(e.Message))
		}
	}
}

// confirm compares the load balancer with its status tree, which must match.
func (p *passes) confirm(observed lb.Observed) lb.Observed {
	if observed.LoadBalancer == nil {
		return observed
	}
	confirmed, _, err := octavia.Confirm(*observed.LoadBalancer, nil, treeOf(p, *observed.LoadBalancer))
	if err != nil {
		p.Fatalf("what is there is not confirmed: %v", err)
	}
	observed.LoadBalancer = &confirmed
	return observed
}

// treeOf returns the status tree of a load balancer.
func treeOf(p *passes, l lb.LoadBalancer) octavia.Tree {
	type object = map[string]any
	listeners := []object{}
	for _, listener := range l.Listeners {
		pools := []object{}
		if listener.Pool != nil {
			members := []object{}
			for _, m := range listener.Pool.Members {
				members = append(members, object{"id": m.ID, "name": m.Name, "address": m.Address, "protocol_port": m.Port, "provisioning_status": m.ProvisioningStatus})
			}
			pool := object{"id": listener.Pool.ID, "name": listener.Pool.Name, "provisioning_status": listener.Pool.ProvisioningStatus, "members": members}
			if m := listener.Pool.Monitor; m != nil {
				pool["health_monitor"] = object{"id": m.ID, "name": m.Name, "provisioning_status": m.ProvisioningStatus}
			}
			pools = append(pools, pool)
		}
		listeners = append(listeners, object{"id": listener.ID, "name": listener.Name, "provisioning_status": listener.ProvisioningStatus, "pools": pools})
	}
	text, err := json.Marshal(object{"id": l.ID, "name": l.Name, "provisioning_status": l.ProvisioningStatus, "listeners": listeners})
	if err != nil {
		p.Fatalf("%v", err)
	}
	var tree octavia.Tree
	if err := json.Unmarshal(text, &tree); err != nil {
		p.Fatalf("%v", err)
	}
	return tree
}

// anyInput draws a Service that Kubernetes accepts, with unchecked annotations, the nodes, and the capabilities of
// the cloud.
func anyInput(t *rapid.T) desired.Input {
	in := desired.Input{
		Owner: diff.Web,
		Config: config.LoadBalancer{
			Provider: rapid.SampledFrom([]string{"amphora", "amphora", "amphora", lb.ProviderOVN}).Draw(t, "provider"), Method: "ROUND_ROBIN",
			MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
			CreateMonitor: rapid.Bool().Draw(t, "monitors"), Internal: rapid.IntRange(0, 5).Draw(t, "internal") == 5,
		},
		Networks: desired.Networks{VIPSubnetID: "subnet-vip", MemberSubnetID: "subnet-nodes", FloatingNetworkID: "net-public",
			AdditionalSubnetID: rapid.SampledFrom([]string{"subnet-other", "subnet-other", ""}).Draw(t, "additional")},
		Serial: rapid.Bool().Draw(t, "serial"),
	}
	if in.Config.Provider == lb.ProviderOVN {
		in.Config.Method = "SOURCE_IP_PORT"
	}
	minor := rapid.SampledFrom([]int{29, 26, 16, 13, 5}).Draw(t, "minor")
	in.Capabilities = lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: minor}, Provider: in.Config.Provider}
	return anyChange(t, in)
}

// anyChange draws another Service and other nodes, in the same cloud.
func anyChange(t *rapid.T, in desired.Input) desired.Input {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: diff.Web.Namespace, Name: diff.Web.Name}, Spec: anySpec(t)}
	s.Annotations = rapid.MapOfN(anyKey(), anyValue(), 0, 4).Draw(t, "annotations")
	in.Spec = service.Spec(s, in.Config)
	in.Nodes, in.Slices = nil, nil
	for i := range rapid.IntRange(0, 4).Draw(t, "nodes") {
		in.Nodes = append(in.Nodes, anyNode(t, fmt.Sprint("node-", i)))
		if rapid.Bool().Draw(t, "endpoint") {
			in.Slices = append(in.Slices, discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{NodeName: ptr.To(in.Nodes[i].Name)}}})
		}
	}
	return in
}

func anyKey() *rapid.Generator[string] {
	var keys []string
	for _, a := range annotation.Table {
		keys = append(keys, a.Key)
	}
	keys = append(keys, annotation.Prefix+"flavor-id", annotation.Prefix+"misspelt", "example.com/other")
	return rapid.SampledFrom(keys)
}

func anyValue() *rapid.Generator[string] {
	usual := rapid.SampledFrom([]string{"", "true", "false", "1", "2", "3", "10", "60", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.0/8,2001:db8::/32", " true "})
	spoken := rapid.SampledFrom([]string{"v1", "v2", "1=HTTP,2=PROXY", "3=TERMINATED_HTTPS", "appProtocol", "4=PROXYV2,4=UDP",
		"https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", "https://barbican.example.com/v1/secrets/4a1c2b90-0c5d-4e8e-9d43-7b1c2a6f5e04"})
	return rapid.OneOf(usual, usual, usual, spoken, rapid.StringN(0, 6, -1))
}

func anySpec(t *rapid.T) corev1.ServiceSpec {
	spec := corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	spec.Ports = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) corev1.ServicePort {
		return corev1.ServicePort{
			Protocol: rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}).Draw(t, "protocol"),
			Port:     rapid.Int32Range(1, 6).Draw(t, "port"), NodePort: rapid.Int32Range(30001, 30003).Draw(t, "nodePort"),
		}
	}), 1, 5, func(p corev1.ServicePort) string { return fmt.Sprint(p.Protocol, p.Port) }).Draw(t, "ports")
	if rapid.IntRange(0, 20).Draw(t, "odd") == 20 {
		spec.Ports[0].NodePort = 0
	}
	spec.IPFamilies = rapid.SampledFrom([][]corev1.IPFamily{nil, {corev1.IPv4Protocol}, {corev1.IPv6Protocol},
		{corev1.IPv4Protocol, corev1.IPv6Protocol}, {corev1.IPv6Protocol, corev1.IPv4Protocol}}).Draw(t, "families")
	policies := []corev1.IPFamilyPolicy{corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack}
	spec.IPFamilyPolicy = ptr.To(rapid.SampledFrom(policies).Draw(t, "policy"))
	spec.LoadBalancerIP = rapid.SampledFrom([]string{"", "", "", "198.51.100.1", "198.51.100.9", "2001:db8::9", "x"}).Draw(t, "loadBalancerIP")
	spec.LoadBalancerSourceRanges = rapid.SampledFrom([][]string{nil, nil, {"10.0.0.0/8"}, {"0.0.0.0/0"}, {"2001:db8::/32", "10.1.2.3/16"}, {" 10.0.0.0/8 "}}).Draw(t, "sourceRanges")
	if rapid.Bool().Draw(t, "local") {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		spec.HealthCheckNodePort = rapid.SampledFrom([]int32{0, 32000}).Draw(t, "healthCheckNodePort")
	}
	if rapid.Bool().Draw(t, "affinity") {
		spec.SessionAffinity = corev1.ServiceAffinityClientIP
		timeout := rapid.SampledFrom([]*int32{nil, ptr.To[int32](60)}).Draw(t, "timeout")
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: timeout}}
	}
	return spec
}

func anyNode(t *rapid.T, name string) corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	addresses := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1", "2001:DB8::1", "::ffff:10.0.0.1", "x", ""})
	for _, a := range slices.Compact(rapid.SliceOfN(addresses, 0, 3).Draw(t, "addresses")) {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return node
}
