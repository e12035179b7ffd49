// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedoctor

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

const (
	serverA = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e0a"
	serverB = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e0b"
)

var (
	taint  = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	denied = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "the login may not"}
	failed = diagnosis.Missing{Kind: diagnosis.Failed, Reason: "503"}
	none   = diagnosis.Missing{Kind: diagnosis.NotAsked, Reason: "no cluster"}
)

// healthy returns a cluster of Nodes a and b, with routes to the Pods of both.
func healthy() diagnosis.Facts {
	pods := "10.244.0.0/16"
	return diagnosis.Facts{
		Now:         noon,
		Config:      diagnosis.Value(config.Config{Global: config.Global{Region: "RegionOne"}, Route: config.Route{RouterID: "router"}}),
		Controllers: diagnosis.Controllers{Node: true, NodeLifecycle: true, Route: true, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix(pods)}},
		Cloud: diagnosis.Cloud{
			Login:   diagnosis.Value(diagnosis.Login{ProjectID: "project"}),
			Servers: diagnosis.Value([]instances.Server{{ID: serverA, Name: "a"}, {ID: serverB, Name: "b"}}),
			Network: diagnosis.Network{
				PodRouter:    diagnosis.Value(&routes.Router{ID: "router", Routes: []routes.Route{{Destination: "10.244.1.0/24", NextHop: "10.0.0.11"}, {Destination: "10.244.2.0/24", NextHop: "10.0.0.12"}, {Destination: "192.168.0.0/24", NextHop: "10.0.0.99"}}}),
				AtomicRoutes: diagnosis.Value(true),
				Groups:       diagnosis.Value([]diagnosis.Group{{ID: "group", Rules: []diagnosis.Rule{{Direction: "ingress", EtherType: "IPv4", RemoteIPPrefix: &pods}}}}),
				Ports: diagnosis.Value([]diagnosis.Port{
					{ID: "port-router", NetworkID: "net", DeviceID: "router", FixedIPs: []diagnosis.IP{{SubnetID: "subnet", Address: "10.0.0.1"}}},
					portOf(serverA, "10.0.0.11", "10.244.1.0/24"), portOf(serverB, "10.0.0.12", "10.244.2.0/24"),
				}),
			},
		},
		Cluster: diagnosis.Cluster{
			UID: diagnosis.Value("cluster"), Nodes: diagnosis.Value([]corev1.Node{nodeOf("a", serverA, "10.0.0.11", "10.244.1.0/24"), nodeOf("b", serverB, "10.0.0.12", "10.244.2.0/24")}),
			Own: diagnosis.Value(&othercontroller.Lease{Holder: "pod-1", Renewed: noon}), OwnLease: othercontroller.LeaseName{Namespace: "kube-octavia", Name: "kube-octavia"},
		},
	}
}

func portOf(server, address, podCIDR string) diagnosis.Port {
	return diagnosis.Port{ID: "port-" + address, NetworkID: "net", DeviceID: server, FixedIPs: []diagnosis.IP{{SubnetID: "subnet", Address: address}},
		SecurityGroups: []string{"group"}, AddressPairs: []routes.AddressPair{{Address: podCIDR}}}
}

func nodeOf(name, server, address, podCIDR string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + server, PodCIDRs: []string{podCIDR}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}

// wrong is a mistake in a healthy cluster, and the expected result.
type wrong struct {
	mistake func(*diagnosis.Facts)
	status  diagnosis.Status
	// what is a part of the finding or, without one, of what was seen, and do a part of the advice.
	what, do string
}

// nodeA returns a mistake in the first Node.
func nodeA(change func(*corev1.Node)) func(*diagnosis.Facts) {
	return func(f *diagnosis.Facts) { change(&f.Cluster.Nodes.Value[0]) }
}

// network returns a mistake in Neutron.
func network(change func(*diagnosis.Network)) func(*diagnosis.Facts) {
	return func(f *diagnosis.Facts) { change(&f.Cloud.Network) }
}

// all makes several mistakes.
func all(mistakes ...func(*diagnosis.Facts)) func(*diagnosis.Facts) {
	return func(f *diagnosis.Facts) {
		for _, one := range mistakes {
			one(f)
		}
	}
}

func idle(f *diagnosis.Facts) { f.Cluster.Own.Value = nil }

// requireResults makes each mistake. It requires one finding or, if the status is OK or Skipped, what was
// seen.
func requireResults(t *testing.T, check func(diagnosis.Facts, *diagnosis.Result), cases map[string]wrong) {
	t.Helper()
	for name, w := range cases {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			if w.mistake != nil {
				w.mistake(&f)
			}
			var r diagnosis.Result
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
