// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	keySources = "service.beta.kubernetes.io/load-balancer-source-ranges"
	keyInside  = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	keyMethod  = "loadbalancer.openstack.org/lb-method"
	keyMonitor = "loadbalancer.openstack.org/enable-health-monitor"
)

// change is one difference of an input from the usual one.
type change func(*Input)

// input is that of an owner with TCP port 80, two nodes of both families, and a cloud that supports everything.
func input(changes ...change) Input {
	in := Input{
		Spec: &Spec{
			Annotations: map[string]string{},
			Families:    []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:       []corev1.ServicePort{port(corev1.ProtocolTCP, 80, 30080)},
		},
		Nodes: []corev1.Node{node("node-b", "10.0.0.12", "2001:db8::12"), node("node-a", "10.0.0.11", "2001:db8::11")},
		Config: config.LoadBalancer{
			Provider: "amphora", Method: "ROUND_ROBIN",
			MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
		},
		Networks:     Networks{VIPSubnetID: "subnet-vip", AdditionalSubnetID: "subnet-other", MemberSubnetID: "subnet-nodes", FloatingNetworkID: "net-public"},
		Capabilities: lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 29}, Provider: "amphora"},
		Owner:        lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-uid", Namespace: "shop", Name: "web", ServiceUID: "s-uid"},
	}
	for _, c := range changes {
		c(&in)
	}
	return withOptions(in)
}

// withOptions returns the input with what its annotations request now.
func withOptions(in Input) Input {
	spec, read := *in.Spec, SpecOf(in.Spec.Annotations, in.Config)
	spec.Options, spec.Problems = read.Options, read.Problems
	in.Spec = &spec
	return in
}

func port(protocol corev1.Protocol, number, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Protocol: protocol, Port: number, NodePort: nodePort}
}

func node(name string, addresses ...string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func ports(all ...corev1.ServicePort) change {
	return func(in *Input) { in.Spec.Ports = all }
}

func annotate(key, value string) change {
	return func(in *Input) { in.Spec.Annotations[key] = value }
}

func apiVersion(minor int) change {
	return func(in *Input) { in.Capabilities.APIVersion.Minor = minor }
}

func provider(name string) change {
	return func(in *Input) { in.Capabilities.Provider, in.Config.Provider = name, name }
}

func address(text string) change {
	return func(in *Input) { in.Spec.LoadBalancerIP = text }
}

func ranges(all ...string) change {
	return func(in *Input) { in.Spec.SourceRanges = all }
}

func families(all ...corev1.IPFamily) change {
	return func(in *Input) { in.Spec.Families = all }
}

// local sets the traffic policy Local, with a ready endpoint on node-b only.
func local(in *Input) {
	in.Spec.LocalTraffic = true
	in.Spec.HealthCheckNodePort = 32000
	in.Slices = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{
		{NodeName: ptr.To("node-a"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
		{NodeName: ptr.To("node-b"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}},
	}}}
}

func affinity(timeoutSeconds int) change {
	return func(in *Input) {
		in.Spec.SessionAffinity, in.Spec.AffinityTimeoutSeconds = true, timeoutSeconds
	}
}

// golden compares v, as JSON, with a file in testdata.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var got bytes.Buffer
	out := json.NewEncoder(&got)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
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
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got); go test -update accepts it:\n%s", file, diff)
	}
}
