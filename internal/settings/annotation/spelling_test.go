// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// misspellings returns all texts with one typing error: a character too few, a wrong one, one too many, or two in the
// wrong order.
func misspellings(text string) []string {
	all := map[string]bool{}
	for i := range text {
		all[text[:i]+text[i+1:]] = true
		for _, c := range "as-" {
			all[text[:i]+string(c)+text[i+1:]] = true
			all[text[:i]+string(c)+text[i:]] = true
		}
		if i > 0 {
			all[text[:i-1]+text[i:i+1]+text[i-1:i]+text[i+1:]] = true
		}
	}
	delete(all, text)
	var sorted []string
	for t := range all {
		if len(t) > 0 {
			sorted = append(sorted, t)
		}
	}
	slices.Sort(sorted)
	return sorted
}

// respellings returns variants of a name with other case and other word separators.
func respellings(name string) []string {
	camel := ""
	for _, w := range strings.Split(name, "-") {
		camel += strings.ToUpper(w[:1]) + w[1:]
	}
	all := []string{strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "-", ""), strings.ToUpper(name), camel}
	for i, c := range name {
		if c == '-' {
			all = append(all, name[:i]+name[i+1:])
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == name })
}

// asNear reports whether a name was recognized as the wanted one, or as one with the same distance.
func asNear(typed string, want, got Annotation) bool {
	_, wanted := Split(want.Key)
	_, understood := Split(got.Key)
	_, name := fold(typed)
	a, b := slipsIn(name, wanted), slipsIn(name, understood)
	return want.Key == got.Key || b <= a && a <= 1
}

func TestEveryMisspeltNameUnderEachPrefixIsReportedWithTheNearestKey(t *testing.T) {
	tried, ambiguous := 0, 0
	for _, a := range Table {
		prefix, name := Split(a.Key)
		prefixes := Prefixes
		if !slices.Contains(Prefixes, prefix) {
			prefixes = []string{prefix}
		}
		for _, p := range prefixes {
			for _, typed := range slices.Concat(misspellings(name), respellings(name)) {
				key := p + typed
				tried++
				if isKnown(key) {
					continue // it is another key of the table
				}
				found := FindUnknown(map[string]string{key: "x", "example.com/" + typed: "x", "prometheus.io/scrape": "true"})
				if len(found) != 1 || found[0].Key != key || !asNear(typed, a, lines[found[0].Nearest]) {
					t.Errorf("%s: found %v, want it with nearest %s", key, found, a.Key)
					continue
				}
				if found[0].Nearest != a.Key {
					ambiguous++
				}
				failsClosed(t, key, found[0])
			}
		}
	}
	t.Logf("%d misspellings, %d of them as near to another key", tried, ambiguous)
	if ambiguous*100 > tried {
		t.Errorf("%d of %d misspellings are taken for another key", ambiguous, tried)
	}
}

// failsClosed fails the test unless a misspelt key is a problem exactly if the nearest key protects
// something.
func failsClosed(t *testing.T, key string, u Unknown) {
	t.Helper()
	if want := lines[u.Nearest].Protects; u.Protects != want {
		t.Errorf("%s: protects %q, want %q as %s does", key, u.Protects, want, u.Nearest)
	}
	_, problems := Parse(map[string]string{key: "x"}, defaults)
	if u.Protects == "" {
		if len(problems) > 0 {
			t.Errorf("%s: protects nothing and is a problem: %v", key, problems)
		}
		return
	}
	if len(problems) != 1 || problems[0].Key != key || problems[0].Canonical != u.Nearest || !problems[0].Misspelt || !strings.Contains(problems[0].Error(), u.Nearest) {
		t.Errorf("%s: problems %v, want one that names it and %s", key, problems, u.Nearest)
	}
	if keeps := keepsFloatingIP(map[string]string{key: "x"}); keeps != (u.Nearest == KeepFloatingIP || u.Nearest == FloatingIP) {
		t.Errorf("%s: keeps the floating IP: %v", key, keeps)
	}
}

func TestEveryNameUnderAMisspeltPrefixIsReportedWithItsKey(t *testing.T) {
	others := []string{
		"loadbalancer.openstack.com/", "loadbalancer.openstack.io/", "loadbalancers.openstack.org/", "load-balancer.openstack.org/", "LoadBalancer.OpenStack.org/",
		"octavia.openstack.org/", "openstack.org/", "kube-octavia.com/", "kube-octavia.org/", "kubeoctavia.io/", "Kube-Octavia.io/", "lb.kube-octavia.io/",
	}
	for _, a := range Table {
		prefix, name := Split(a.Key)
		prefixes := []string{"service.kubernetes.io/", "service.alpha.kubernetes.io/", "Service.Beta.Kubernetes.io/"}
		if slices.Contains(Prefixes, prefix) {
			prefixes = others
			for _, p := range Prefixes {
				for _, wrong := range misspellings(strings.TrimSuffix(p, "/")) {
					prefixes = append(prefixes, wrong+"/")
				}
			}
		}
		for _, p := range prefixes {
			key := p + name
			found := FindUnknown(map[string]string{key: "x"})
			if want := []Unknown{{Key: key, Value: "x", Nearest: a.Key, Protects: a.Protects}}; !cmp.Equal(want, found) {
				t.Errorf("%s: found %v, want nearest %s", key, found, a.Key)
			}
		}
	}
}

func TestCommonWordingsLeadToTheirKey(t *testing.T) {
	for typed, want := range map[string]string{
		// Without a prefix, as in READMEs.
		"keep-floatingip": KeepFloatingIP, "tls-secret": TLSSecret, "default-tls-container-ref": TLSContainer,
		// With our prefixes, other words.
		Prefix + "keep-floating-ip":                                KeepFloatingIP,
		Prefix + "keep-floatingip-address":                         KeepFloatingIP,
		OwnPrefix + "keep-address":                                 KeepFloatingIP,
		OwnPrefix + "retain-floating-ip":                           KeepFloatingIP,
		OwnPrefix + "preserve-floating-ip":                         KeepFloatingIP,
		Prefix + "floating-ip-keep":                                KeepFloatingIP,
		Prefix + "retain-address":                                  KeepFloatingIP,
		OwnPrefix + "internal":                                     Internal,
		OwnPrefix + "internal-load-balancer":                       Internal,
		Prefix + "openstack-internal-load-balancer":                Internal,
		OwnPrefix + "source-ranges":                                SourceRanges,
		Prefix + "load-balancer-source-ranges":                     SourceRanges,
		OwnPrefix + "allowed-cidrs":                                SourceRanges,
		OwnPrefix + "loadBalancerSourceRanges":                     SourceRanges,
		OwnPrefix + "tls":                                          TLSSecret,
		OwnPrefix + "tlsCert":                                      TLSSecret,
		OwnPrefix + "tls-cert":                                     TLSSecret,
		Prefix + "floating-network":                                Prefix + "floating-network-id",
		Prefix + "vip-subnet-id":                                   SubnetID,
		Prefix + "subnet":                                          SubnetID,
		Prefix + "load-balancer-class":                             ClassKey,
		OwnPrefix + "internl-lb":                                   Internal,
		OwnPrefix + "lb-source-range":                              SourceRanges,
		Prefix + "timeout-for-member-data":                         TimeoutPrefix + "member-data",
		Prefix + "floating-subnetid":                               Prefix + "floating-subnet-id",
		OwnPrefix + "load-balancer-id":                             LoadBalancerID,
		OwnPrefix + "load-balancer-address":                        LoadBalancerAddress,
		Prefix + "managed":                                         Managed,
		OwnPrefix + "color":                                        "",
		"service.beta.kubernetes.io/openstack-internal":            Internal,
		"service.beta.kubernetes.io/openstack-load-balancer-class": ClassKey,
		"service.beta.kubernetes.io/openstack-color":               "",
		"service.beta.kubernetes.io/load-balancer-source-range":    SourceRanges,
		"service.beta.kubernetes.io/Load-Balancer-Source-Ranges":   SourceRanges,
	} {
		t.Run(typed, func(t *testing.T) {
			found := FindUnknown(map[string]string{typed: "x"})
			if len(found) != 1 || found[0].Nearest != want {
				t.Errorf("found %v, want nearest %q", found, want)
			}
		})
	}
}

func TestKeysOfOtherProjectsAreNotUnknown(t *testing.T) {
	for _, key := range []string{
		"kubectl.kubernetes.io/last-applied-configuration", "prometheus.io/scrape", "prometheus.io/port", "meta.helm.sh/release-name",
		"service.beta.kubernetes.io/aws-load-balancer-internal", "service.beta.kubernetes.io/aws-load-balancer-scheme", "service.beta.kubernetes.io/azure-load-balancer-internal",
		"service.beta.kubernetes.io/azure-allowed-ip-ranges", "service.beta.kubernetes.io/aws-load-balancer-proxy-protocol", "service.beta.kubernetes.io/do-loadbalancer-protocol",
		"service.beta.kubernetes.io/oci-load-balancer-internal", "service.kubernetes.io/topology-mode", "service.kubernetes.io/headless", "service.alpha.kubernetes.io/tolerate-unready-endpoints",
		"networking.gke.io/load-balancer-type", "cloud.google.com/load-balancer-type", "metallb.universe.tf/address-pool", "metallb.io/loadBalancerIPs",
		"external-dns.alpha.kubernetes.io/hostname", "octavia.ingress.kubernetes.io/internal", "octavia.ingress.kubernetes.io/timeout-client-data",
		"loadbalancer.ovhcloud.com/class", "loadbalancer.ovhcloud.com/flavor", "yawol.stackit.cloud/internalLB", "lb.stackit.cloud/internal-lb", "kubernetes.io/elb.class",
		"cinder.csi.openstack.org/availability-zone", "io.cilium/lb-ipam-ips", "service.cilium.io/global", "class", "hostname", "protocols", "description", "field.cattle.io/publicEndpoints",
		"example.com/keep-floatingip", "example.com/tls-secret",
	} {
		t.Run(key, func(t *testing.T) {
			if found := FindUnknown(map[string]string{key: "x"}); len(found) > 0 {
				t.Errorf("it is taken for ours: %v", found)
			}
		})
	}
}

func TestTooManyUnknownKeysFailClosed(t *testing.T) {
	annotations := map[string]string{}
	for i := range mostUnknown {
		annotations[fmt.Sprintf("%sa%03d", OwnPrefix, i)] = "x"
	}
	if _, problems := Parse(annotations, defaults); len(problems) > 0 {
		t.Errorf("problems %v, want none for keys that protect nothing", problems)
	}
	annotations[OwnPrefix+"tls-secert"] = "web"
	if _, problems := Parse(annotations, defaults); len(problems) != 1 || !problems[0].Misspelt || problems[0].Key != OwnPrefix+"tls-secert" {
		t.Errorf("problems %v, want that of the key after the others", problems)
	}
	if !keepsFloatingIP(annotations) {
		t.Error("the key that keeps the floating IP may be among the unknown ones, and it is lost")
	}
	if s, err := selector(annotations, defaults); err == nil {
		t.Errorf("selects %v, although the class may be among the unknown keys", s)
	}
}

func TestAMisspeltKeyOfTheFloatingIPKeepsIt(t *testing.T) {
	for _, key := range []string{
		OwnPrefix + "retain-floating-ip", OwnPrefix + "preserve-floating-ip", OwnPrefix + "floating-ip-keep", Prefix + "floating-ip-stays",
		Prefix + "floatingip", "loadbalancer.openstack.com/keep-floatingip", "keep-floatingip", "keep-floating-ip",
	} {
		t.Run(key, func(t *testing.T) {
			if !keepsFloatingIP(map[string]string{key: "true"}) {
				t.Error("the floating IP is lost")
			}
		})
	}
	for _, key := range []string{OwnPrefix + "tls-secert", Prefix + "floating-network", "floating-ip", "example.com/keep-floatingip"} {
		t.Run(key, func(t *testing.T) {
			if keepsFloatingIP(map[string]string{key: "true"}) {
				t.Error("keeps the floating IP")
			}
		})
	}
}

func TestAKeyWithoutAPrefixIsReportedAndRefusesNothing(t *testing.T) {
	annotations := map[string]string{}
	for _, a := range Table {
		if _, name := Split(a.Key); strings.Contains(name, "-") {
			annotations[name], annotations[strings.ToUpper(name)] = "x", "x"
		}
	}
	found := FindUnknown(annotations)
	if len(found) != len(annotations) || len(found) <= mostUnknown {
		t.Errorf("found %d of %d keys, want all, and more than %d", len(found), len(annotations), mostUnknown)
	}
	for _, u := range found {
		if u.Nearest == "" || u.Protects != "" {
			t.Errorf("%s: nearest %q, protects %q, want a key that protects nothing", u.Key, u.Nearest, u.Protects)
		}
	}
	if _, problems := Parse(annotations, defaults); len(problems) > 0 {
		t.Errorf("problems %v, want none", problems)
	}
	if _, err := selector(annotations, defaults); err != nil {
		t.Errorf("selects no nodes: %v", err)
	}
}

func TestAMisspeltClassSelectsNoOtherNodes(t *testing.T) {
	operator := defaults
	gold := operator
	gold.NodeSelector = "gold=yes"
	operator.Classes = map[string]config.LoadBalancer{"gold": gold}
	for name, annotations := range map[string]map[string]string{
		"misspelt":                   {Prefix + "clas": "gold"},
		"two classes":                {Prefix + "class": "gold", OwnPrefix + "class": ""},
		"two selectors":              {NodeSelector: "a", OwnPrefix + "node-selector": "b"},
		"a class that is not there":  {OwnPrefix + "class": "silver"},
		"a selector that is no such": {OwnPrefix + "node-selector": "a in (b)"},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := selector(annotations, operator); err == nil {
				t.Errorf("selects %v, want an error", s)
			}
		})
	}
	if s, err := selector(map[string]string{OwnPrefix + "class": "gold"}, operator); err != nil || s["gold"] != "yes" {
		t.Errorf("the class under the other prefix selects %v, %v", s, err)
	}
}
