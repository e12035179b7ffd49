// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// atClusterIP puts a Service of the type in cluster-ip mode.
func atClusterIP(kind corev1.ServiceType, clusterIPs ...string) change {
	return func(in *Input) {
		in.Spec.ClusterIPs = map[corev1.IPFamily]netip.Addr{}
		for _, ip := range clusterIPs {
			address := netip.MustParseAddr(ip)
			in.Spec.ClusterIPs[FamilyOf(address)] = address
		}
		in.Config.AtClusterIP = &config.AtClusterIP{SubnetID: "subnet-services", Internal: kind != corev1.ServiceTypeLoadBalancer}
		options, _ := annotation.Parse(in.Spec.Annotations, in.Config)
		in.Networks = NetworksOf(options)
		in.Networks.MemberSubnetID = options.SubnetID
		for i := range in.Spec.Ports {
			in.Spec.Ports[i].NodePort = 0
		}
	}
}

func requestedVIP(address string) change {
	return func(in *Input) { in.Spec.LoadBalancerIP = address }
}

func TestTheVIPIsTheClusterIPAndPodsAreMembers(t *testing.T) {
	const ip, elsewhere = "10.96.0.7", "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	for name, c := range map[string]struct {
		changes  []change
		floating string
	}{
		"of type ClusterIP": {[]change{atClusterIP(corev1.ServiceTypeClusterIP, ip), pods(8080, "10.1.0.1")}, "none"},
		"of type NodePort":  {[]change{atClusterIP(corev1.ServiceTypeNodePort, ip), pods(8080, "10.1.0.1")}, "none"},
		"whatever annotations request": {[]change{annotate(annotation.TargetType, "node"), annotate(annotation.SubnetID, elsewhere), annotate(annotation.PortID, elsewhere),
			annotate(keyInside, "false"), atClusterIP(corev1.ServiceTypeClusterIP, ip), pods(8080, "10.1.0.1")}, "none"},
		"of type LoadBalancer":                   {[]change{atClusterIP(corev1.ServiceTypeLoadBalancer, ip), pods(8080, "10.1.0.1")}, ""},
		"of type LoadBalancer, with an address":  {[]change{atClusterIP(corev1.ServiceTypeLoadBalancer, ip), requestedVIP("203.0.113.9"), pods(8080, "10.1.0.1")}, "203.0.113.9"},
		"of type LoadBalancer, internal":         {[]change{annotate(keyInside, "true"), atClusterIP(corev1.ServiceTypeLoadBalancer, ip), pods(8080, "10.1.0.1")}, "none"},
		"internal, which requests its ClusterIP": {[]change{annotate(keyInside, "true"), atClusterIP(corev1.ServiceTypeLoadBalancer, ip), requestedVIP(ip), pods(8080, "10.1.0.1")}, "none"},
		"with a load balancer at the ClusterIP": {[]change{annotate(annotation.SubnetID, elsewhere), annotate(annotation.PortID, elsewhere), atClusterIP(corev1.ServiceTypeClusterIP, ip), pods(8080, "10.1.0.1"),
			existing(&lb.LoadBalancer{ID: "lb", VIP: lb.VIP{Address: ip, SubnetID: "subnet-services", PortID: "port"}})}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(input(c.changes...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lb.VIP{Address: ip, SubnetID: "subnet-services"}, wanted.LoadBalancer.VIP); diff != "" {
				t.Errorf("VIP (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"pod-1 10.1.0.1:8080 in subnet-services weight 1"}, members(wanted.LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			floating := "none"
			if wanted.FloatingIP != nil {
				floating = wanted.FloatingIP.Address
			}
			if floating != c.floating {
				t.Errorf("floating IP %q, want %q", floating, c.floating)
			}
		})
	}
}

func existing(l *lb.LoadBalancer) change { return func(in *Input) { in.Found = l } }

func TestBothClusterIPsAreVIPs(t *testing.T) {
	both := func(in *Input) {
		in.Spec.Families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		in.Networks.AdditionalSubnetID = "subnet-services-v6"
	}
	wanted, err := Wanted(input(atClusterIP(corev1.ServiceTypeClusterIP, "10.96.0.7", "fd00::7"), both))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]lb.VIP{{Address: "fd00::7", SubnetID: "subnet-services-v6"}}, wanted.LoadBalancer.AdditionalVIPs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServicesThatCannotBeAtTheirClusterIPAreRefused(t *testing.T) {
	const ip = "10.96.0.7"
	other := &lb.LoadBalancer{ID: "lb", VIP: lb.VIP{Address: "10.0.0.9", SubnetID: "subnet-nodes"}}
	shared := func(in *Input) { in.Sharer, in.Found, in.FoundAddress = true, other, "10.0.0.9" }
	for name, c := range map[string]struct {
		changes         []change
		reason, message string
	}{
		"with a load balancer elsewhere": {[]change{atClusterIP(corev1.ServiceTypeClusterIP, ip), existing(other)}, ReasonRequiresReplacement, "VIP address 10.96.0.7, the ClusterIP, instead of 10.0.0.9"},
		"that share":                     {[]change{annotate(annotation.LoadBalancerID, "lb"), atClusterIP(corev1.ServiceTypeClusterIP, ip), shared}, ReasonSharingRefused, "requires its ClusterIP 10.96.0.7"},
		"external ones that share":       {[]change{annotate(annotation.LoadBalancerID, "lb"), atClusterIP(corev1.ServiceTypeLoadBalancer, ip), shared}, ReasonSharingRefused, "requires its ClusterIP 10.96.0.7"},
		"that request another VIP": {[]change{annotate(keyInside, "true"), atClusterIP(corev1.ServiceTypeLoadBalancer, ip), requestedVIP("10.0.0.9")},
			ReasonInvalidAddress, "requests 10.0.0.9 for the VIP, but the VIP is the ClusterIP 10.96.0.7"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Wanted(input(c.changes...))
			var refused *Invalid
			if !errors.As(err, &refused) || refused.Reason != c.reason || !strings.Contains(refused.Message, c.message) {
				t.Errorf("got %v, want %s with %q", err, c.reason, c.message)
			}
		})
	}
}

// plan is a subnet with pools "first-last".
func plan(cidr, gateway string, dhcp bool, pools ...string) lb.SubnetPlan {
	p := lb.SubnetPlan{Subnet: subnet("s", cidr), DHCP: dhcp}
	if gateway != "" {
		p.Gateway = netip.MustParseAddr(gateway)
	}
	for _, text := range pools {
		first, last, _ := strings.Cut(text, "-")
		p.Pools = append(p.Pools, lb.AddressRange{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)})
	}
	return p
}

func TestProblemsOfTheServiceSubnetAreNamed(t *testing.T) {
	prefixes := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	services := prefixes("10.96.0.0/16", "fd00:10:96::/112")
	for name, c := range map[string]struct {
		subnet    lb.SubnetPlan
		ranges    []netip.Prefix
		clusterIP string
		want      []string // a part of each problem
	}{
		"none":                                    {plan("10.96.0.0/15", "10.97.0.1", true, "10.97.0.2-10.97.255.254"), services, "10.96.0.7", nil},
		"none with IPv6":                          {plan("fd00:10:96::/64", "fd00:10:96::1:0", false, "fd00:10:96::1:1-fd00:10:96::2:0"), services, "fd00:10:96::7", nil},
		"none without gateway and pools":          {plan("10.96.0.0/16", "", false), services, "10.96.0.7", nil},
		"it does not contain the range":           {plan("10.96.0.0/17", "", false), services, "10.96.0.7", []string{"the addresses 10.96.0.0/17, which do not contain the Service range 10.96.0.0/16"}},
		"of another family":                       {plan("10.96.0.0/15", "10.97.0.1", false), services, "fd00:10:96::7", []string{"do not contain the Service range fd00:10:96::/112"}},
		"gateway in the range":                    {plan("10.96.0.0/15", "10.96.0.1", false, "10.97.0.0-10.97.255.254"), services, "10.96.0.7", []string{"gateway_ip 10.96.0.1 of subnet s is in the Service range 10.96.0.0/16"}},
		"a pool that begins in it":                {plan("10.96.0.0/15", "", false, "10.96.255.255-10.97.0.9"), services, "10.96.0.7", []string{"allocation pool 10.96.255.255-10.97.0.9"}},
		"a pool that ends in it":                  {plan("10.64.0.0/10", "", false, "10.95.0.1-10.96.0.0"), services, "10.96.0.7", []string{"allocation pool 10.95.0.1-10.96.0.0"}},
		"a pool around it":                        {plan("10.64.0.0/10", "", false, "10.95.0.1-10.97.0.0"), services, "10.96.0.7", []string{"allocation pool"}},
		"everything":                              {plan("10.96.0.0/15", "10.96.0.1", true, "10.96.0.2-10.97.255.254"), services, "10.96.0.7", []string{"gateway_ip", "allocation pool"}},
		"pools beside it":                         {plan("10.64.0.0/10", "", false, "10.64.0.1-10.95.255.255", "10.97.0.0-10.127.0.0"), services, "10.96.0.7", nil},
		"DHCP without a pool":                     {plan("10.96.0.0/15", "", true), services, "10.96.0.7", []string{"enable_dhcp"}},
		"unknown ranges":                          {plan("10.96.0.0/15", "10.96.0.1", false, "10.96.0.8-10.97.0.0"), nil, "10.96.0.7", nil},
		"unknown ranges, a pool with the address": {plan("10.96.0.0/15", "10.96.0.1", false, "10.96.0.2-10.97.0.0"), nil, "10.96.0.7", []string{"allocation pool"}},
		"a range that was added elsewhere":        {plan("10.96.0.0/15", "10.97.0.1", false), append(prefixes("192.168.0.0/24"), services...), "10.96.0.7", nil},
		"an address in the added range":           {plan("10.96.0.0/15", "10.97.0.1", false), append(prefixes("192.168.0.0/24"), services...), "192.168.0.9", []string{"do not contain the Service range 192.168.0.0/24"}},
		"an added range in the pools":             {plan("10.96.0.0/15", "", false, "10.97.0.0-10.97.0.255"), append(prefixes("10.97.0.0/24"), services...), "10.96.0.7", []string{"overlaps the Service range 10.97.0.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ServiceSubnetProblems(c.subnet, c.ranges, netip.MustParseAddr(c.clusterIP))
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %d", got, len(c.want))
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("got %q, want %q in it", got[i], c.want[i])
				}
			}
		})
	}
}

func TestASubnetWithoutProblemsNeverAssignsAClusterIP(t *testing.T) {
	at := func(i byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, i}) }
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.Custom(func(t *rapid.T) netip.Addr { return at(rapid.Byte().Draw(t, "last")) })
		services := netip.PrefixFrom(address.Draw(t, "range"), rapid.IntRange(25, 32).Draw(t, "bits")).Masked()
		s := lb.SubnetPlan{Subnet: subnet("s", "10.0.0.0/24"), Gateway: address.Draw(t, "gateway")}
		for range rapid.IntRange(0, 3).Draw(t, "pools") {
			a, b := address.Draw(t, "a"), address.Draw(t, "b")
			if b.Less(a) {
				a, b = b, a
			}
			s.Pools = append(s.Pools, lb.AddressRange{First: a, Last: b})
		}
		taken := services.Contains(s.Gateway)
		for i := range 256 {
			for _, p := range s.Pools {
				a := at(byte(i))
				taken = taken || services.Contains(a) && a.Compare(p.First) >= 0 && a.Compare(p.Last) <= 0
			}
		}
		if problems := ServiceSubnetProblems(s, []netip.Prefix{services}, services.Addr()); (len(problems) > 0) != taken {
			t.Fatalf("Neutron may take a ClusterIP: %t; problems: %q", taken, problems)
		}
	})
}
func TestACreateWithOneCallMayLoseAnAddressOnlyIfAQuotaCanRefuseAPart(t *testing.T) {
	at := func(ip string) func(*Input) {
		return func(in *Input) { in.Spec.LoadBalancerIP = ip }
	}
	clusterIP := func(in *Input) { in.Owner.ClusterIP = "10.96.0.5" }
	internal := annotation.Options{Internal: true}
	for name, test := range map[string]struct {
		edit    func(*Input)
		options annotation.Options
		want    bool
	}{
		"any address":                     {func(*Input) {}, internal, false},
		"a ClusterIP":                     {clusterIP, annotation.Options{}, true},
		"a VIP":                           {at("10.0.0.9"), internal, true},
		"a VIP, and a floating IP for it": {at("fd00::9"), annotation.Options{}, true},
		"a floating IP":                   {at("203.0.113.9"), annotation.Options{}, false},
	} {
		in := Input{Spec: &Spec{}}
		test.edit(&in)
		if got := in.MayLoseAddress(test.options); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
		in.Capabilities.UnlimitedChildren = true
		if in.MayLoseAddress(test.options) {
			t.Errorf("%s, and there is no quota: true", name)
		}
	}
}

// Annotations that cannot be read must not keep a Service public that was changed from type LoadBalancer.
func TestARefusedServiceIsNotPublicWhenItIsNoLongerOfTypeLoadBalancer(t *testing.T) {
	const ip = "10.96.0.7"
	had := observed(t, input(atClusterIP(corev1.ServiceTypeLoadBalancer, ip)))
	inside, outside := atClusterIP(corev1.ServiceTypeClusterIP, ip), atClusterIP(corev1.ServiceTypeLoadBalancer, ip)
	for name, c := range map[string]struct {
		changes []change
		old     *lb.LoadBalancer
		want    string
	}{
		"of type ClusterIP":                     {changes: []change{inside}, want: "[diff.DeleteFloatingIP]"},
		"whose floating IP is kept":             {changes: []change{inside, annotate(annotation.KeepFloatingIP, "true")}, want: "[diff.DisassociateFloatingIP]"},
		"whose floating IP may be kept":         {changes: []change{inside, annotate(annotation.KeepFloatingIP, "rubbish")}, want: "[diff.DisassociateFloatingIP]"},
		"of type LoadBalancer":                  {changes: []change{outside}, want: "[]"},
		"that shares":                           {changes: []change{inside, func(in *Input) { in.Sharer, in.Owner.Sharer = true, true }}, want: "[]"},
		"whose load balancer is being replaced": {changes: []change{inside}, old: &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Active}, want: "[]"},
	} {
		in, have := input(append(c.changes, annotate(annotation.MaxMembers, "rubbish"))...), had
		have.Predecessor = c.old
		types := []string{}
		for _, op := range diff.New(MembersOnly(in, have), have, in.Owner).Ops {
			types = append(types, fmt.Sprintf("%T", op))
		}
		if got := fmt.Sprint(types); got != c.want {
			t.Errorf("%s: operations %s, want %s", name, got, c.want)
		}
	}
}
