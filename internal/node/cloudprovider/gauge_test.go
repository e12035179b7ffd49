// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesWithoutInitializationOrRouteAreCounted(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	node := func(age time.Duration, taint string, condition corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: taint}}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, condition}},
		}
	}
	const uninitialized, other = "node.cloudprovider.kubernetes.io/uninitialized", "node.kubernetes.io/not-ready"
	noRoute := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"}
	route := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated"}
	plugin := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "CalicoIsDown"}
	nodes := []*corev1.Node{
		node(time.Hour, other, route), node(time.Hour, other, plugin), node(2*time.Minute, uninitialized, plugin),
		node(3*time.Minute, uninitialized, noRoute), node(time.Hour, other, noRoute),
	}
	want := tally{uninitialized: 2, withoutRoute: 2, longest: 3 * time.Minute}
	if diff := cmp.Diff(want, count(nodes, now), cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := count(nodes[:2], now); got != (tally{}) {
		t.Errorf("nothing is wrong, and counted is %+v", got)
	}
}

func TestNodesAreCountedForControllersThatRun(t *testing.T) {
	none := func() ([]*corev1.Node, error) { return nil, nil }
	for name, test := range map[string]struct {
		gauges gauges
		want   string
	}{
		"node":  {gauges{nodes: none, node: true}, "kube_octavia_nodes_uninitialized kube_octavia_longest_node_uninitialized_seconds"},
		"route": {gauges{nodes: none, route: true}, "kube_octavia_nodes_without_route"},
		"none":  {gauges{nodes: none}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := testutil.CollectAndCount(test.gauges), len(strings.Fields(test.want)); got != want {
				t.Errorf("%d metrics, want %d", got, want)
			}
			for metric := range strings.FieldsSeq(test.want) {
				if testutil.CollectAndCount(test.gauges, metric) != 1 {
					t.Errorf("there is no %s", metric)
				}
			}
		})
	}
}
