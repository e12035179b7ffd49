// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const (
	serverA = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e0a"
	serverB = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e0b"
)

var (
	taint  = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	denied = Missing{Kind: Denied, Reason: "the login may not"}
	failed = Missing{Kind: Failed, Reason: "503"}
	none   = Missing{Kind: NotAsked, Reason: "no cluster"}
)

// healthy returns a cluster of Nodes a and b, with routes to the Pods of both.
func healthyNodes() Facts {
	pods := "10.244.0.0/16"
	return Facts{
		Now:         noon,
		Config:      Value(config.Config{Global: config.Global{Region: "RegionOne"}, Route: config.Route{RouterID: "router"}}),
		Controllers: Controllers{Node: true, NodeLifecycle: true, Route: true, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix(pods)}},
		Cloud: Cloud{
			Login:   Value(Login{ProjectID: "project"}),
			Servers: Value([]instances.Server{{ID: serverA, Name: "a"}, {ID: serverB, Name: "b"}}),
			Network: Network{
				PodRouter:    Value(&routes.Router{ID: "router", Routes: []routes.Route{{Destination: "10.244.1.0/24", NextHop: "10.0.0.11"}, {Destination: "10.244.2.0/24", NextHop: "10.0.0.12"}, {Destination: "192.168.0.0/24", NextHop: "10.0.0.99"}}}),
				AtomicRoutes: Value(true),
				Groups:       Value([]Group{{ID: "group", Rules: []Rule{{Direction: "ingress", EtherType: "IPv4", RemoteIPPrefix: &pods}}}}),
				Ports: Value([]Port{
					{ID: "port-router", NetworkID: "net", DeviceID: "router", FixedIPs: []IP{{SubnetID: "subnet", Address: "10.0.0.1"}}},
					portOf(serverA, "10.0.0.11", "10.244.1.0/24"), portOf(serverB, "10.0.0.12", "10.244.2.0/24"),
				}),
			},
		},
		Cluster: Cluster{
			UID: Value("cluster"), Nodes: Value([]corev1.Node{nodeOf("a", serverA, "10.0.0.11", "10.244.1.0/24"), nodeOf("b", serverB, "10.0.0.12", "10.244.2.0/24")}),
			Own: Value(&othercontroller.Lease{Holder: "pod-1", Renewed: noon}), OwnLease: othercontroller.LeaseName{Namespace: "kube-octavia", Name: "kube-octavia"},
		},
	}
}

func portOf(server, address, podCIDR string) Port {
	return Port{ID: "port-" + address, NetworkID: "net", DeviceID: server, FixedIPs: []IP{{SubnetID: "subnet", Address: address}},
		SecurityGroups: []string{"group"}, AddressPairs: []routes.AddressPair{{Address: podCIDR}}}
}

func nodeOf(name, server, address, podCIDR string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + server, PodCIDRs: []string{podCIDR}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}

// wrongNodes is a mistake in a healthy cluster, and the expected result.
type wrongNodes struct {
	mistake func(*Facts)
	status  Status
	// what is a part of the finding or, without one, of what was seen, and do a part of the advice.
	what, do string
}

// nodeA returns a mistake in the first Node.
func nodeA(change func(*corev1.Node)) func(*Facts) {
	return func(f *Facts) { change(&f.Cluster.Nodes.Value[0]) }
}

// network returns a mistake in Neutron.
func network(change func(*Network)) func(*Facts) {
	return func(f *Facts) { change(&f.Cloud.Network) }
}

// all makes several mistakes.
func all(mistakes ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		for _, one := range mistakes {
			one(f)
		}
	}
}

func idle(f *Facts) { f.Cluster.Own.Value = nil }

// requireResults makes each mistake. It requires one finding or, if the status is OK or Skipped, what was
// seen.
func requireNodeResults(t *testing.T, check func(Facts, *Result), cases map[string]wrongNodes) {
	t.Helper()
	for name, w := range cases {
		t.Run(name, func(t *testing.T) {
			f := healthyNodes()
			if w.mistake != nil {
				w.mistake(&f)
			}
			var r Result
			check(f, &r)
			r.Conclude()
			said := strings.Join(append(r.Seen, r.SkippedBecause), "\n")
			do, findings := "", 0
			if len(r.Findings) > 0 {
				said, do, findings = r.Findings[0].What, r.Findings[0].Do, 1
			}
			if r.Status != w.status || !strings.Contains(said, w.what) || !strings.Contains(do, w.do) || len(r.Findings) != findings {
				t.Errorf("%s, not %s with %q and %q: seen %q, skipped because %q, findings %+v", r.Status, w.status, w.what, w.do, r.Seen, r.SkippedBecause, r.Findings)
			}
		})
	}
}
