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
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

var web = owner.ServiceKey("default", "web")

// cluster is the content of the cache.
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

// newNodes returns nodes for a cluster with one Service and a node for each word: its name, a colon
// and its addresses. Check makes a check and returns the events.
func newNodes(t *testing.T, words ...string) (_ *nodes, _ *cluster, check func() []string) {
	t.Helper()
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	c, recorder := &cluster{}, events.NewFakeRecorder(100)
	for _, text := range words {
		name, addresses, _ := strings.Cut(text, ":")
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
		for _, a := range strings.Fields(addresses) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		c.nodes = append(c.nodes, n)
	}
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	c.services = []corev1.Service{s}
	n := &nodes{Options: Options{
		Finder: &orphan.Finder{Policy: services.Policy, Kinds: []claim.Kind{services}, Reader: c}, Memory: memory.NewStore(), Recorder: recorder, Metrics: counted,
	}}
	return n, c, func() (reported []string) {
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
	n, c, check := newNodes(t, "good:10.0.0.1", "six:fd00::1")
	counts := func(want int) {
		t.Helper()
		if got := testutil.ToFloat64(n.Metrics.Addressless); got != float64(want) {
			t.Errorf("the metric says %v, want %d", got, want)
		}
	}
	if reported := check(); len(reported) > 0 {
		t.Errorf("reported after the first check: %q", reported)
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
	c.nodes[1].Status.Addresses = c.nodes[0].Status.Addresses
	check()
	counts(0)
	c.nodes[1].Status.Addresses = nil
	if reported := append(check(), check()...); len(reported) != 1 {
		t.Errorf("reported after it lost its address again: %q", reported)
	}
}

func TestANodeWithAnAddressThatCannotBeAMemberIsReportedAtOnceWithTheAddress(t *testing.T) {
	for address, reported := range map[string]bool{
		"169.254.169.254": true, "169.254.1.1": true, "0.0.0.0": true, "224.0.0.1": true, "127.0.0.1": true, "255.255.255.255": true,
		"169.254.169.254 10.0.0.2": false, "192.0.2.1": false,
	} {
		t.Run(address, func(t *testing.T) {
			n, c, check := newNodes(t, "good:10.0.0.1", "bad:"+address)
			found := check()
			if (len(found) == 1) != reported || reported && !strings.Contains(found[0], "address "+address+" of its status") {
				t.Errorf("reported: %q", found)
			}
			if again := check(); len(again) > 0 {
				t.Errorf("reported again: %q", again)
			}
			if !reported {
				return
			}
			if counted := testutil.ToFloat64(n.Metrics.Addressless); counted != 1 {
				t.Errorf("the metric says %v", counted)
			}
			c.nodes[1].Status.Addresses[0].Address = "169.254.9.9"
			if other := check(); len(other) != 1 {
				t.Errorf("with another bad address, reported: %q", other)
			}
		})
	}
}

func TestOnlyNodesThatShouldBeMembersNeedAnAddress(t *testing.T) {
	both := func(c *cluster) { c.services[0].Spec.IPFamilies = []corev1.IPFamily{"IPv6", "IPv4"} }
	for name, test := range map[string]struct {
		nodes  []string
		change func(*cluster)
		dual   bool
		want   string
	}{
		"without an address":                       {[]string{"n"}, func(*cluster) {}, false, "n:IPv4"},
		"cordoned":                                 {[]string{"n"}, func(c *cluster) { c.nodes[0].Spec.Unschedulable = true }, false, ""},
		"excluded by its label":                    {[]string{"n"}, func(c *cluster) { c.nodes[0].Labels[corev1.LabelNodeExcludeBalancers] = "" }, false, ""},
		"not selected":                             {[]string{"n"}, func(c *cluster) { c.services[0].Annotations = map[string]string{annotation.NodeSelector: "name=m"} }, false, ""},
		"an invalid selector":                      {[]string{"n"}, func(c *cluster) { c.services[0].Annotations = map[string]string{annotation.NodeSelector: "="} }, false, ""},
		"no Service of type LoadBalancer":          {[]string{"n"}, func(c *cluster) { c.services[0].Spec.Type = corev1.ServiceTypeClusterIP }, false, ""},
		"a family that no Service has":             {[]string{"n:10.0.0.1"}, func(*cluster) {}, false, ""},
		"two families, load balancer of the first": {[]string{"n:10.0.0.1", "m:fd00::1"}, both, false, "n:IPv6"},
		"two families, load balancer of both":      {[]string{"n:10.0.0.1", "m:fd00::1", "x"}, both, true, "x:IPv6"},
		"Services of different families": {[]string{"n"}, func(c *cluster) {
			six := *c.services[0].DeepCopy()
			six.Name = "six"
			six.Spec.IPFamilies = []corev1.IPFamily{"IPv6"}
			c.services = append(c.services, six)
		}, false, "n:IPv4 and IPv6"},
		"an invalid selector of another Service": {[]string{"n"}, func(c *cluster) {
			bad := *c.services[0].DeepCopy()
			bad.Annotations = map[string]string{annotation.NodeSelector: "="}
			c.services = append(c.services, bad)
		}, false, "n:IPv4"},
	} {
		t.Run(name, func(t *testing.T) {
			n, c, _ := newNodes(t, test.nodes...)
			test.change(c)
			if test.dual {
				n.Memory.Put(web, memory.Record{Cloud: memory.Cloud{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{
					VIP: lb.VIP{Address: "10.0.0.9"}, AdditionalVIPs: []lb.VIP{{Address: "fd00::9"}},
				}}}})
			}
			got := ""
			owners := make([]claim.Owner, len(c.services))
			for i := range c.services {
				owners[i] = services.Of(&c.services[i])
			}
			for name, missing := range n.missing(c.nodes, owners) {
				got += fmt.Sprintf("%s:%s", name, missing.families)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// services adapts the Services of the tests.
var services = service.Kind{Policy: claim.Policy{DefaultClass: true}}
