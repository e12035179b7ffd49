// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

// cluster is a Kubernetes API of Services and nodes.
type cluster struct {
	client.Reader
	services []corev1.Service
	nodes    []corev1.Node
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.ServiceList:
		list.Items = c.services
	case *corev1.NodeList:
		list.Items = c.nodes
	}
	return nil
}

// nodesStage has a node for each word, with the addresses after the colon, and a Service.
func nodesStage(t *testing.T, names ...string) (*nodes, *cluster, func() []string) {
	t.Helper()
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	there, heard := &cluster{}, events.NewFakeRecorder(100)
	for _, text := range names {
		name, addresses, _ := strings.Cut(text, ":")
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
		for _, a := range strings.Fields(addresses) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		there.nodes = append(there.nodes, n)
	}
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	there.services = []corev1.Service{s}
	a := &nodes{Options: Options{Finder: &orphan.Finder{Policy: claim.Policy{DefaultClass: true}, Reader: there}, Memory: upToDate{}, Recorder: heard, Metrics: counted}}
	look := func() (told []string) {
		t.Helper()
		if err := a.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range len(heard.Events) {
			told = append(told, <-heard.Events)
		}
		return told
	}
	return a, there, look
}

func TestANodeWithoutAddressIsReportedOnce(t *testing.T) {
	a, there, look := nodesStage(t, "good:10.0.0.1", "six:fd00::1")
	counts := func(want int) {
		t.Helper()
		if got := testutil.ToFloat64(a.Metrics.Addressless); got != float64(want) {
			t.Errorf("the metric says %v, want %d", got, want)
		}
	}
	if told := look(); len(told) > 0 {
		t.Errorf("after the first look, when it may have just joined: %q", told)
	}
	counts(0)
	if told := look(); len(told) != 1 || !strings.Contains(told[0], "NoMemberAddress") || !strings.Contains(told[0], "of family IPv4.") {
		t.Errorf("told is %q", told)
	}
	counts(1)
	for range 3 {
		if told := look(); len(told) > 0 {
			t.Errorf("told again: %q", told)
		}
	}
	there.nodes[1].Status.Addresses = there.nodes[0].Status.Addresses
	look()
	counts(0)
	there.nodes[1].Status.Addresses = nil
	if told := append(look(), look()...); len(told) != 1 {
		t.Errorf("when it has lost its address anew told is %q", told)
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
			a, there, _ := nodesStage(t, c.nodes...)
			c.change(there)
			a.Memory = upToDate{dualStack: c.dual}
			got := ""
			for name, families := range a.missing(there.nodes, there.services) {
				got += fmt.Sprintf("%s:%s", name, families)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
