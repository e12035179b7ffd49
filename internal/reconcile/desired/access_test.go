// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// byGroups requests security groups of the VIP, of which the ids are known.
func byGroups(ids ...string) change {
	return func(in *Input) {
		in.Spec.Annotations[annotation.VIPSecurityGroups] = "web,office"
		in.Networks.VIPSecurityGroupIDs = ids
	}
}

// there is an existing load balancer with security groups, ours if it has the tags for that, and a listener with source ranges.
func there(tags, groups []string, ranges ...string) change {
	return func(in *Input) {
		in.Found = &lb.LoadBalancer{ID: "lb-1", Tags: tags, VIPSecurityGroups: groups, VIP: lb.VIP{SubnetID: "subnet-vip", Address: "10.0.0.5"},
			Listeners: []lb.Listener{{ID: "l-1", Protocol: lb.ListenerTCP, Port: 80, AllowedCIDRs: ranges}}}
	}
}

// byAnotherClient makes the existing listener that of another client.
func byAnotherClient(in *Input) { in.Found.Listeners[0].Tags = []string{"by-hand"} }

// shares makes the Service share the existing load balancer.
func shares(in *Input) {
	in.Sharer, in.Owner.Sharer, in.FoundAddress, in.Config.MaxShared = true, true, "203.0.113.9", 2
}

func TestSecurityGroupsOfTheVIPTakeThePlaceOfSourceRanges(t *testing.T) {
	ours := lb.WithVIPGroups(nil, []string{"g1"})
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"none":                                  {input(), nil},
		"two, of a new load balancer":           {input(byGroups("g2", "g1", "g2")), []string{"g1", "g2"}},
		"beside a range of all addresses":       {input(byGroups("g1"), ranges("0.0.0.0/0")), []string{"g1"}},
		"beside a range of all addresses there": {input(byGroups("g1"), there(nil, nil, "0.0.0.0/0")), []string{"g1"}},
		"in place of ranges":                    {input(byGroups("g1"), there(nil, nil, "192.0.2.0/24")), []string{"g1"}},
		"in place of others":                    {input(byGroups("g2"), there(ours, []string{"g1"})), []string{"g2"}},
		"in place of another client's":          {input(byGroups("g2"), there(nil, []string{"g1"})), []string{"g2"}},
		"of a sharer, as the owner's":           {input(byGroups("g2", "g1"), there(nil, []string{"g1", "g2"}), shares), nil},
		"with metrics for every client":         {input(byGroups("g1"), annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "0.0.0.0/0")), []string{"g1"}},
	} {
		wanted, err := Wanted(c.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, wanted.LoadBalancer.VIPSecurityGroups); diff != "" {
			t.Errorf("%s: groups (-want +got):\n%s", name, diff)
		}
		for _, l := range wanted.LoadBalancer.Listeners {
			if c.want != nil && l.AllowedCIDRs != nil {
				t.Errorf("%s: port %d has source ranges %v", name, l.Port, l.AllowedCIDRs)
			}
		}
	}
}

func TestSecurityGroupsAndSourceRangesExcludeEachOther(t *testing.T) {
	ours, key := lb.WithVIPGroups(nil, []string{"g1"}), annotation.VIPSecurityGroups
	office := ranges("192.0.2.0/24")
	for name, c := range map[string]struct {
		in     Input
		reason string
		text   []string
	}{
		"both":                {input(byGroups("g1"), office), ReasonInvalidAnnotation, []string{key, "web,office", "192.0.2.0/24", "spec.loadBalancerSourceRanges"}},
		"both, by annotation": {input(byGroups("g1"), annotate(annotation.SourceRanges, "192.0.2.0/24")), ReasonInvalidAnnotation, []string{key, annotation.SourceRanges}},
		"both, by cloud.conf": {input(byGroups("g1"), func(in *Input) { in.Config.SourceRanges = "192.0.2.0/24" }), ReasonInvalidAnnotation, []string{"cloud.conf", annotation.SourceRanges, "empty value"}},
		"before 2.29":         {input(byGroups("g1"), apiVersion(28)), ReasonUnsupported, []string{key, "2.29", "2.28"}},
		"with ovn":            {input(byGroups("g1"), provider(lb.ProviderOVN), apiVersion(30)), ReasonUnsupported, []string{key, "other than ovn"}},
		"without tags": {input(byGroups("g1"), func(in *Input) {
			in.Capabilities.Vendors = map[string]lb.Vendor{"amphora": {Lacks: []lb.Feature{lb.FeatureTags}}}
		}), ReasonUnsupported, []string{key, "2.5"}},
		"in place of another client's ranges": {input(byGroups("g1"), there(nil, nil, "192.0.2.0/24"), byAnotherClient), ReasonSharingRefused, []string{"lb-1", key, "another Service or client"}},
		"ranges in place of ours":             {input(office, there(ours, []string{"g1"})), ReasonRequiresReplacement, []string{"lb-1", "everybody"}},
		"ranges beside another client's":      {input(office, there(nil, []string{"g1"})), ReasonUnsupported, []string{"another client", "g1", "loadbalancer unset --vip-sg-id lb-1"}},
		"of a sharer":                         {input(byGroups("g1"), there(nil, nil), shares), ReasonSharingRefused, []string{key, "lb-1", "it has none"}},
		"of a sharer, others than there":      {input(byGroups("g1"), there(nil, []string{"g2"}), shares), ReasonSharingRefused, []string{key, "it has g2"}},
		"ranges of a sharer beside groups":    {input(office, there(ours, []string{"g1"}), shares), ReasonSharingRefused, []string{"lb-1", "g1", "no source ranges"}},
	} {
		_, err := Wanted(c.in)
		var refused *Invalid
		if !errors.As(err, &refused) || refused.Reason != c.reason {
			t.Errorf("%s: %v, want reason %s", name, err, c.reason)
			continue
		}
		for _, part := range c.text {
			if !strings.Contains(refused.Message, part) {
				t.Errorf("%s: %q does not say %s", name, refused.Message, part)
			}
		}
	}
}

func TestMetricsThatOnlySomeMayReadAreLeftOutBesideSecurityGroups(t *testing.T) {
	metrics := []change{annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")}
	for name, in := range map[string]Input{
		"requested":        input(append(metrics, byGroups("g1"))...),
		"another client's": input(append(metrics, there(nil, []string{"g1"}))...),
	} {
		wanted, err := Wanted(in)
		if err != nil || len(wanted.LoadBalancer.Listeners) != 1 || len(wanted.Withheld) != 1 || wanted.Withheld[0].Reason != ReasonMetricsUnsupported {
			t.Errorf("%s: %+v, withheld %+v, %v", name, wanted.LoadBalancer, wanted.Withheld, err)
		}
	}
}
