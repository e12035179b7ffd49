// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/memory/kubernetes"
)

const (
	four, six        = corev1.IPv4Protocol, corev1.IPv6Protocol
	single           = corev1.IPFamilyPolicySingleStack
	prefers, demands = corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
	refused          = "refused"
)

// request changes what a Service requests.
type request func(*corev1.ServiceSpec)

// policy sets a policy, and the families if some are given.
func policy(p corev1.IPFamilyPolicy, families ...corev1.IPFamily) request {
	return func(s *corev1.ServiceSpec) {
		s.IPFamilyPolicy = &p
		if len(families) > 0 {
			s.IPFamilies = families
		}
	}
}

// families sets only the families.
func families(all ...corev1.IPFamily) request {
	return func(s *corev1.ServiceSpec) { s.IPFamilies = all }
}

func withoutPolicy(s *corev1.ServiceSpec) { s.IPFamilyPolicy = nil }

func withoutAddresses(s *corev1.ServiceSpec) { s.ClusterIP, s.ClusterIPs = "", nil }

func onlyFirstAddress(s *corev1.ServiceSpec) { s.ClusterIPs = s.ClusterIPs[:1] }

func nothing(*corev1.ServiceSpec) {}

// summary returns the policy, the families, and the families of the addresses.
func summary(s corev1.ServiceSpec) string {
	var addresses []string
	for _, ip := range s.ClusterIPs {
		family := four
		if strings.Contains(ip, ":") {
			family = six
		}
		addresses = append(addresses, string(family))
	}
	return fmt.Sprint(ptr.Deref(s.IPFamilyPolicy, ""), s.IPFamilies, addresses)
}

// TestFamiliesAreThoseOfARealAPI makes and changes Services in memory and at a real kube-apiserver.
func TestFamiliesAreThoseOfARealAPI(t *testing.T) {
	server := httptest.NewServer(kubernetes.New())
	defer server.Close()
	memory, err := clientgo.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	const (
		only4, only6 = "SingleStack[IPv4] [IPv4]", "SingleStack[IPv6] [IPv6]"
		both         = "PreferDualStack[IPv4 IPv6] [IPv4 IPv6]"
		both6        = "PreferDualStack[IPv6 IPv4] [IPv6 IPv4]"
		needs        = "RequireDualStack[IPv4 IPv6] [IPv4 IPv6]"
	)
	for name, test := range map[string]struct {
		create, change request
		made, changed  string
	}{
		"nothing requested":             {nothing, nothing, only4, only4},
		"IPv6":                          {families(six), nothing, only6, only6},
		"prefers both":                  {policy(prefers), nothing, both, both},
		"prefers both, IPv6 first":      {policy(prefers, six), nothing, both6, both6},
		"requires both":                 {policy(demands, four, six), nothing, needs, needs},
		"both without a policy":         {families(four, six), nothing, refused, ""},
		"both and single":               {policy(single, four, six), nothing, refused, ""},
		"a family twice":                {policy(prefers, four, four), nothing, refused, ""},
		"no family":                     {families("IPv5"), nothing, refused, ""},
		"no policy":                     {policy("Both"), nothing, refused, ""},
		"single becomes both":           {nothing, policy(prefers), only4, both},
		"IPv6 becomes both":             {families(six), policy(prefers), only6, both6},
		"both with families":            {nothing, policy(demands, four, six), only4, needs},
		"both becomes single":           {policy(prefers), policy(single), both, only4},
		"both, IPv6 first, single":      {policy(prefers, six), policy(single), both6, only6},
		"both becomes single by name":   {policy(prefers), policy(single, four), both, only4},
		"prefers becomes requires":      {policy(prefers), policy(demands), both, needs},
		"the policy is left out":        {policy(prefers), withoutPolicy, both, both},
		"the addresses are left out":    {policy(prefers), withoutAddresses, both, both},
		"a family is given up":          {policy(prefers), families(four), both, refused},
		"an address is given up":        {policy(prefers), onlyFirstAddress, both, refused},
		"the order changes":             {policy(prefers), policy(prefers, six, four), both, refused},
		"the family changes":            {nothing, families(six), only4, refused},
		"the second family stays alone": {policy(prefers), policy(single, six), both, refused},
		"another family comes first":    {nothing, policy(prefers, six, four), only4, refused},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := kubetest.Namespace(t)
			for where, try := range map[string]func() (string, string, error){
				"in memory": func() (string, string, error) {
					return makeAndChange(t, memory, metav1.NamespaceDefault, test.create, test.change)
				},
				"at a real one": func() (string, string, error) {
					return makeAndChange(t, kubetest.Client(t), namespace, test.create, test.change)
				},
			} {
				t.Run(where, func(t *testing.T) {
					made, changed, err := try()
					if err != nil {
						t.Fatal(err)
					}
					if made != test.made || changed != test.changed {
						t.Errorf("it is %q and then %q, want %q and then %q", made, changed, test.made, test.changed)
					}
				})
			}
		})
	}
}

// makeAndChange creates a Service and changes it, and returns what it is after each.
func makeAndChange(t *testing.T, client clientgo.Interface, namespace string, create, change request) (made, changed string, _ error) {
	services := client.CoreV1().Services(namespace)
	v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}}}
	create(&v.Spec)
	v, err := services.Create(t.Context(), v, metav1.CreateOptions{})
	if apierrors.IsInvalid(err) {
		return refused, "", nil
	}
	if err != nil {
		return "", "", err
	}
	made = summary(v.Spec)
	change(&v.Spec)
	v, err = services.Update(t.Context(), v, metav1.UpdateOptions{})
	if apierrors.IsInvalid(err) {
		return made, refused, nil
	}
	if err != nil {
		return "", "", err
	}
	return made, summary(v.Spec), nil
}
