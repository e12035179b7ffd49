// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

var web = types.NamespacedName{Namespace: "default", Name: "web"}

// cluster is what the caches hold.
type cluster struct {
	client.Reader
	services []corev1.Service
	nodes    []corev1.Node
}

// List implements client.Reader.
func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.ServiceList:
		list.Items = slices.Clone(c.services)
	case *corev1.NodeList:
		list.Items = slices.Clone(c.nodes)
	}
	return nil
}

// newNodes has a node for each word, with the addresses after the colon, and a Service. Check
// returns the events of one check.
func newNodes(t *testing.T, words ...string) (_ *nodes, _ *cluster, check func() []string) {
	t.Helper()
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	there, recorder := &cluster{}, events.NewFakeRecorder(100)
	for _, text := range words {
		name, addresses, _ := strings.Cut(text, ":")
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
		for _, a := range strings.Fields(addresses) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		there.nodes = append(there.nodes, n)
	}
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	there.services = []corev1.Service{s}
	n := &nodes{Options: Options{
		Finder: &orphan.Finder{Policy: claim.Policy{DefaultClass: true}, Reader: there}, Memory: &remembered{}, Recorder: recorder, Metrics: counted,
	}}
	return n, there, func() (reported []string) {
		t.Helper()
		if err := n.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range len(recorder.Events) {
			reported = append(reported, <-recorder.Events)
		}
		return reported
	}
}

func TestNodeWithoutAddressIsReportedOnce(t *testing.T) {
	n, there, check := newNodes(t, "good:10.0.0.1", "six:fd00::1")
	counts := func(want int) {
		t.Helper()
		if got := testutil.ToFloat64(n.Metrics.Addressless); got != float64(want) {
			t.Errorf("the metric says %v, want %d", got, want)
		}
	}
	if reported := check(); len(reported) > 0 {
		t.Errorf("after the first check, when it may have just joined: %q", reported)
	}
	counts(0)
	if reported := check(); len(reported) != 1 || !strings.Contains(reported[0], "NoMemberAddress") || !strings.Contains(reported[0], "of family IPv4.") {
		t.Errorf("reported: %q", reported)
	}
	counts(1)
	for range 3 {
		if reported := check(); len(reported) > 0 {
			t.Errorf("reported again: %q", reported)
		}
	}
	there.nodes[1].Status.Addresses = there.nodes[0].Status.Addresses
	check()
	counts(0)
	there.nodes[1].Status.Addresses = nil
	if reported := append(check(), check()...); len(reported) != 1 {
		t.Errorf("reported when it has lost its address again: %q", reported)
	}
}

func TestOnlyNodesThatAreToBeMembersNeedAnAddress(t *testing.T) {
	both := func(c *cluster) { c.services[0].Spec.IPFamilies = []corev1.IPFamily{"IPv6", "IPv4"} }
	for name, c := range map[string]struct {
		nodes  []string
		change func(*cluster)
		dual   bool
		want   string
	}{
		"a node without":                    {[]string{"n"}, func(*cluster) {}, false, "n:IPv4"},
		"a cordoned one":                    {[]string{"n"}, func(c *cluster) { c.nodes[0].Spec.Unschedulable = true }, false, ""},
		"one that is left out":              {[]string{"n"}, func(c *cluster) { c.nodes[0].Labels[corev1.LabelNodeExcludeBalancers] = "" }, false, ""},
		"one that is not selected":          {[]string{"n"}, func(c *cluster) { c.services[0].Annotations = map[string]string{annotation.NodeSelector: "name=m"} }, false, ""},
		"one that may be selected, or not":  {[]string{"n"}, func(c *cluster) { c.services[0].Annotations = map[string]string{annotation.NodeSelector: "="} }, false, ""},
		"no Service with a load balancer":   {[]string{"n"}, func(c *cluster) { c.services[0].Spec.Type = corev1.ServiceTypeClusterIP }, false, ""},
		"a family for which nobody asks":    {[]string{"n:10.0.0.1"}, func(*cluster) {}, false, ""},
		"two families, served by the first": {[]string{"n:10.0.0.1", "m:fd00::1"}, both, false, "n:IPv6"},
		"two families, served by both":      {[]string{"n:10.0.0.1", "m:fd00::1", "x"}, both, true, "x:IPv6"},
		"Services of different families": {[]string{"n"}, func(c *cluster) {
			six := *c.services[0].DeepCopy()
			six.Name = "six"
			six.Spec.IPFamilies = []corev1.IPFamily{"IPv6"}
			c.services = append(c.services, six)
		}, false, "n:IPv4 and IPv6"},
		"Services of which one cannot be read": {[]string{"n"}, func(c *cluster) {
			bad := *c.services[0].DeepCopy()
			bad.Annotations = map[string]string{annotation.NodeSelector: "="}
			c.services = append(c.services, bad)
		}, false, "n:IPv4"},
	} {
		t.Run(name, func(t *testing.T) {
			n, there, _ := newNodes(t, c.nodes...)
			c.change(there)
			n.Memory = &remembered{dualStack: c.dual}
			got := ""
			for name, families := range n.missing(there.nodes, there.services) {
				got += fmt.Sprintf("%s:%s", name, families)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
