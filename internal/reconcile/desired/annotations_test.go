// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// respelt gives all annotations of the Service the other one of their keys.
func respelt(in Input) Input {
	given := in.Spec.Annotations
	spec := *in.Spec
	in.Spec = &spec
	in.Spec.Annotations = map[string]string{}
	for _, a := range annotation.Table {
		if value, set := given[a.Key]; set {
			keys := a.Keys()
			in.Spec.Annotations[keys[len(keys)-1]] = value
		}
	}
	return withOptions(in)
}

const (
	someID  = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	someRef = "https://barbican.example.com/v1/containers/" + someID
)

// requests are Services with annotations, some of which are refused or served in part.
func requests() map[string]Input {
	found := func(in *Input) {
		in.Found = &lb.LoadBalancer{ID: "lb-1", VIP: lb.VIP{SubnetID: "subnet-vip", Address: "10.0.0.5"}}
	}
	ovn := provider(lb.ProviderOVN)
	return map[string]Input{
		"a certificate":                              input(annotate(annotation.TLSContainer, someRef)),
		"protocols":                                  input(annotate(annotation.ProtocolsKey, "80=PROXY")),
		"a protocol of a port that is not there":     input(annotate(annotation.ProtocolsKey, "81=PROXY")),
		"TLS without a certificate":                  input(annotate(annotation.ProtocolsKey, "80=TERMINATED_HTTPS")),
		"certificates without TLS":                   input(annotate(annotation.SNIContainers, someRef)),
		"metrics":                                    input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")),
		"metrics for no client":                      input(annotate(annotation.MetricsPort, "9100")),
		"metrics at a port of the Service":           input(annotate(annotation.MetricsPort, "80"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")),
		"metrics that the provider lacks":            input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8"), ovn),
		"a limit and timeouts that the cloud lacks":  input(annotate(annotation.ConnectionLimit, "7"), annotate(annotation.Timeouts[0], "7"), annotate(annotation.Timeouts[2], "8"), ovn),
		"a method that the provider lacks":           input(annotate(annotation.Method, "LEAST_CONNECTIONS"), ovn),
		"a flavor that the cloud lacks":              input(annotate(annotation.FlavorID, someID), ovn),
		"a zone that the cloud lacks":                input(annotate(annotation.AvailabilityZone, "az1"), ovn),
		"tags that the cloud lacks":                  input(annotate(annotation.LoadBalancerTags, "a"), annotate(annotation.PoolTags, "a"), apiVersion(4)),
		"monitors that do harm":                      input(annotate(annotation.EnableMonitor, "true"), ovn, apiVersion(26)),
		"another subnet":                             input(annotate(annotation.SubnetID, someID), found),
		"another subnet of the members":              input(annotate(annotation.MemberSubnetID, someID)),
		"a floating IP of an internal Service":       input(annotate(annotation.FloatingIP, someID), annotate(annotation.Internal, "true")),
		"a floating IP that is kept":                 input(annotate(annotation.KeepFloatingIP, "true"), annotate(annotation.FloatingIPTags, "a")),
		"pods":                                       input(annotate(annotation.TargetType, "pod")),
		"some nodes":                                 input(annotate(annotation.NodeSelector, "zone=b"), annotate(annotation.MaxMembers, "1")),
		"probes that overlap":                        input(annotate("loadbalancer.openstack.org/health-monitor-delay", "2")),
		"the client's address in two ways":           input(annotate(annotation.XForwardedFor, "true"), annotate(annotation.ProxyProtocol, "true")),
		"a class that is not there":                  input(annotate(annotation.ClassKey, "gold")),
		"an address that is none of a floating IP's": input(annotate(annotation.FloatingIP, "203.0.113.9"), address("203.0.113.5")),
	}
}

// typed replaces the keys of the table by those of the Service in a text.
func typed(text string, in Input) string {
	for _, a := range annotation.Table {
		if keys := a.Keys(); len(keys) > 1 && annotation.TypedKey(in.Spec.Annotations, a.Key) != a.Key {
			text = strings.ReplaceAll(text, a.Key, keys[1])
		}
	}
	return text
}

func TestUnderTheOtherPrefixAnnotationsDoTheSameAndMessagesNameWhatWasTyped(t *testing.T) {
	for name, in := range requests() {
		want, wantErr := Wanted(in)
		other := respelt(in)
		got, err := Wanted(other)
		for i := range want.Withheld {
			want.Withheld[i].Message = typed(want.Withheld[i].Message, other)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: wanted under the keys of the table and the others (-table +others):\n%s", name, diff)
		}
		if (wantErr == nil) != (err == nil) || err != nil && err.Error() != typed(wantErr.Error(), other) {
			t.Errorf("%s: refused with %v, want %v with the keys that were typed", name, err, wantErr)
		}
	}
}

func TestAMisspeltKeyThatProtectsRefusesTheServiceAndLeavesWhatServes(t *testing.T) {
	serving := lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{
		Name: "listener_0_kube_service_kubernetes_shop_web", Protocol: lb.ListenerTCP, Port: 80, AllowedCIDRs: []string{"0.0.0.0/0"},
		Tags: input().Owner.Tags(), Pool: &lb.Pool{ID: "p-1", Protocol: lb.PoolTCP},
	}}}}
	for _, a := range annotation.Table {
		if a.Protects == "" {
			continue
		}
		in := input(annotate(a.Key+"s", "x"))
		_, err := Wanted(in)
		var refused *Invalid
		if !errors.As(err, &refused) || refused.Reason != ReasonMisspeltAnnotation || !Refuses(refused.Reason) || refused.Exposed ||
			!strings.Contains(refused.Message, a.Key+`s="x"`) || !strings.Contains(refused.Message, a.Key+", which") {
			t.Errorf("%ss: %v, want a refusal that names both keys", a.Key, err)
		}
		kept := MembersOnly(in, serving)
		if !kept.KeepAddress || !kept.KeepFloatingIP || kept.FloatingIP != nil || len(kept.LoadBalancer.Listeners) != 1 {
			t.Errorf("%ss: wants %+v, want the one listener and its address as they are", a.Key, kept)
		}
		if got := MembersOnly(in, lb.Observed{}); got.LoadBalancer != nil || got.FloatingIP != nil {
			t.Errorf("%ss: creates %+v", a.Key, got)
		}
	}
	_, err := Wanted(input(annotate(annotation.KeepFloatingIP+"s", "x"), annotate(annotation.MetricsPort, "x")))
	var refused *Invalid
	if !errors.As(err, &refused) || refused.Reason != ReasonInvalidAnnotation || !strings.Contains(refused.Message, annotation.KeepFloatingIP) {
		t.Errorf("a misspelt key beside a wrong value: %v", err)
	}
}

func TestAClassThatMayBeAmongTooManyUnknownKeysLeavesTheMembers(t *testing.T) {
	have := observed(t, input())
	in := input(annotate(annotation.ClassKey+"s", "gold"))
	for i := range 60 {
		in.Spec.Annotations[fmt.Sprintf("%sa%03d", annotation.OwnPrefix, i)] = "x"
	}
	in = withOptions(in)
	in.Nodes = append(in.Nodes, node("node-c", "10.0.0.13"))
	want := memberAddresses(have.LoadBalancer, 0)
	if diff := cmp.Diff(want, memberAddresses(MembersOnly(in, have).LoadBalancer, 0)); diff != "" {
		t.Errorf("members (-before +after):\n%s", diff)
	}
}

func TestTwoValuesUnderTwoPrefixesRefuseTheService(t *testing.T) {
	_, err := Wanted(input(annotate(annotation.TLSSecret, "a"), annotate("kube-octavia.io/tls-secret", "b")))
	var refused *Invalid
	if !errors.As(err, &refused) || refused.Reason != ReasonInvalidAnnotation {
		t.Fatal(err)
	}
	for _, text := range []string{annotation.TLSSecret + `="a"`, `kube-octavia.io/tls-secret="b"`} {
		if !strings.Contains(refused.Message, text) {
			t.Errorf("%q does not name %s", refused.Message, text)
		}
	}
}
