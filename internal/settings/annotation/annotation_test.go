// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

const (
	keyInternal = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	keySources  = "service.beta.kubernetes.io/load-balancer-source-ranges"
	keyMonitor  = Prefix + "enable-health-monitor"
	keyDelay    = Prefix + "health-monitor-delay"
	keyTimeout  = Prefix + "health-monitor-timeout"
	keyUp       = Prefix + "health-monitor-max-retries"
	keyMethod   = Prefix + "lb-method"
	keyDown     = Prefix + "health-monitor-max-retries-down"
)

// cloudControllerKeys are all annotations that openstack-cloud-controller-manager reads or writes.
// Services may already have them, so none may be unknown.
var cloudControllerKeys = []string{
	keyInternal, keySources,
	Prefix + "node-selector", Prefix + "connection-limit", Prefix + "floating-network-id", Prefix + "floating-subnet-id",
	Prefix + "floating-subnet", Prefix + "floating-subnet-tags", Prefix + "class", Prefix + "keep-floatingip",
	Prefix + "port-id", Prefix + "subnet-id", Prefix + "network-id", Prefix + "member-subnet-id", Prefix + "lb-method",
	Prefix + "proxy-protocol", Prefix + "x-forwarded-for", Prefix + "default-tls-container-ref",
	Prefix + "timeout-client-data", Prefix + "timeout-member-connect", Prefix + "timeout-member-data", Prefix + "timeout-tcp-inspect",
	Prefix + "flavor-id", Prefix + "availability-zone",
	keyMonitor, keyDelay, keyTimeout, keyUp, keyDown,
	Prefix + "hostname", Prefix + "load-balancer-address", Prefix + "load-balancer-id",
	Prefix + "load-balancer-tags", Prefix + "listener-tags", Prefix + "pool-tags",
	Prefix + "node-address-type", // proposed there, but not released yet
}

const (
	someID  = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	someRef = "https://barbican.example.com/v1/containers/" + someID
)

var defaults = config.LoadBalancer{
	MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
}

func defaultOptions() Options {
	return Options{HSTS: HSTS{MaxAge: NoHSTS}, NodeSelector: value.NodeSelector{}, Drift: DriftRepair, StatusAddresses: StatusFloating, MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
		ConnectionLimit: -1, Timeouts: lb.Timeouts{ClientData: 50000, MemberConnect: 5000, MemberData: 50000}}
}

func TestEveryKeyOfOpenstackCloudControllerManagerAndOurOwnIsInTheTableOnce(t *testing.T) {
	count := map[string]int{}
	for _, a := range Table {
		count[a.Key]++
	}
	for _, key := range append(slices.Clone(cloudControllerKeys), ProtocolsKey, TLSSecret, SNIContainers, VIPSecurityGroups, HSTSMaxAge, HSTSIncludeSubdomains, HSTSPreload, DriftPolicy, FloatingIP, FloatingIPTags, MetricsPort, MetricsAllowedCIDRs, MaxMembers, TargetType, LoadBalancerGroup, AllowReplacement, OwnPrefix+"status-addresses", AdditionalSubnetID, Managed, Programmed, VIPAddress) {
		if count[key] != 1 {
			t.Errorf("%s is in the table %d times, want once", key, count[key])
		}
		delete(count, key)
	}
	if len(count) > 0 {
		t.Errorf("the table has keys that this test does not know: %v", count)
	}
}

func TestEveryLineOfTheTableIsComplete(t *testing.T) {
	for _, a := range Table {
		if a.Key == "" || a.Values == "" || !strings.HasSuffix(a.Doc, ".") || a.apply == nil {
			t.Errorf("%q: wants a key, values, a sentence and something to do, has %+v", a.Key, a)
		}
		if complete := a.Rule.Kind != "" && a.Rule.Right != "" && (a.Rule.Value != "" || a.Rule.Part != ""); complete == a.Output {
			t.Errorf("%s: wants a rule for kube-apiserver unless it is written by the controller, has %+v", a.Key, a.Rule)
		}
		if a.Output != slices.Contains([]string{LoadBalancerID, LoadBalancerAddress, Managed, Programmed, VIPAddress}, a.Key) {
			t.Errorf("%s: Output is %v", a.Key, a.Output)
		}
	}
}

func TestWithoutAnnotationsTheDefaultsOfCloudConfApply(t *testing.T) {
	all := config.LoadBalancer{
		Internal: true, CreateMonitor: true, MonitorDelay: 9 * time.Second, MonitorTimeout: 8 * time.Second,
		MonitorMaxRetries: 7, MonitorMaxRetriesDown: 6,
	}
	all.NodeSelector, all.MaxMembers, all.Tags = "zone=a", 6, "cost=7, prod"
	want := Options{HSTS: HSTS{MaxAge: NoHSTS}, NodeSelector: value.NodeSelector{"zone": "a"}, MaxMembers: 6, Drift: DriftRepair, StatusAddresses: StatusFloating, Internal: true, Monitor: true, MonitorDelay: 9 * time.Second, MonitorTimeout: 8 * time.Second,
		MonitorMaxRetries: 7, MonitorMaxRetriesDown: 6, ConnectionLimit: NoLimit, Timeouts: lb.DefaultTimeouts, Tags: []string{"cost=7", "prod"}}
	for name, annotations := range map[string]map[string]string{
		"none": nil, "others'": {"example.com/internal": "false"},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := Parse(annotations, all)
			if diff := cmp.Diff(want, got); diff != "" || problems != nil {
				t.Errorf("with %s: problems %v, options (-want +got):\n%s", name, problems, diff)
			}
		})
	}
}

func TestEachAnnotationSetsItsOption(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       func(*Options)
	}{
		{keyInternal, "true", func(o *Options) { o.Internal = true }},
		{keyInternal, " true ", func(o *Options) { o.Internal = true }},
		{keyInternal, "false", func(*Options) {}},
		{keyInternal, "", func(*Options) {}},
		{keySources, "10.0.0.0/8", func(o *Options) { o.SourceRanges = []string{"10.0.0.0/8"} }},
		{keySources, " 10.1.2.3/8 ,, 2001:DB8::1/32,", func(o *Options) { o.SourceRanges = []string{"10.0.0.0/8", "2001:db8::/32"} }},
		{keySources, "", func(*Options) {}},
		{MetricsPort, "9100", func(o *Options) { o.MetricsPort = 9100 }},
		{MetricsAllowedCIDRs, "10.0.0.0/8", func(o *Options) { o.MetricsAllowedCIDRs = []string{"10.0.0.0/8"} }},
		{Prefix + "load-balancer-tags", "a, b c", func(o *Options) { o.LoadBalancerTags = []string{"a", "b", "c"} }},
		{Prefix + "listener-tags", "a", func(o *Options) { o.ListenerTags = []string{"a"} }},
		{Prefix + "pool-tags", "a", func(o *Options) { o.PoolTags = []string{"a"} }},
		{FloatingIPTags, "a,a", func(o *Options) { o.FloatingIPTags = []string{"a"} }},
		{FloatingIPTags, " ", func(*Options) {}},
		{Prefix + "keep-floatingip", "true", func(o *Options) { o.KeepFloatingIP = true }},
		{Prefix + "keep-floatingip", "false", func(*Options) {}},
		{AllowReplacement, "true", func(o *Options) { o.AllowReplacement = true }},
		{AllowReplacement, "false", func(*Options) {}},
		{keyMonitor, "true", func(o *Options) { o.Monitor = true }},
		{keyMonitor, "false", func(*Options) {}},
		{keyDelay, "3", func(o *Options) { o.MonitorDelay = 3 * time.Second }},
		{keyDelay, "86400", func(o *Options) { o.MonitorDelay = 24 * time.Hour }},
		{keyDelay, "", func(*Options) {}},
		{keyTimeout, "1", func(o *Options) { o.MonitorTimeout = time.Second }},
		{keyTimeout, " 5 ", func(o *Options) { o.MonitorTimeout = 5 * time.Second }},
		{keyUp, "1", func(o *Options) { o.MonitorMaxRetries = 1 }},
		{keyUp, "10", func(o *Options) { o.MonitorMaxRetries = 10 }},
		{keyDown, "1", func(o *Options) { o.MonitorMaxRetriesDown = 1 }},
		{keyDown, "10", func(o *Options) { o.MonitorMaxRetriesDown = 10 }},
		{ConnectionLimit, "100", func(o *Options) { o.ConnectionLimit = 100 }},
		{ConnectionLimit, "0", func(o *Options) { o.ConnectionLimit = 0 }},
		{ConnectionLimit, "-1", func(*Options) {}},
		{ConnectionLimit, " ", func(*Options) {}},
		{NodeSelector, "zone=b, gpu", func(o *Options) { o.NodeSelector = value.NodeSelector{"zone": "b", "gpu": ""} }},
		{NodeSelector, "", func(*Options) {}},
		{MaxMembers, "6", func(o *Options) { o.MaxMembers = 6 }},
		{MaxMembers, "0", func(*Options) {}},
		{MaxMembers, "", func(*Options) {}},
		{TargetType, "pod", func(o *Options) { o.TargetType = "pod" }},
		{TargetType, " node ", func(o *Options) { o.TargetType = "node" }},
		{NodeAddressType, "ExternalIP", func(o *Options) { o.NodeAddressType = "ExternalIP" }},
		{NodeAddressType, " InternalIP", func(o *Options) { o.NodeAddressType = "InternalIP" }},
		{NodeAddressType, "", func(*Options) {}},
		{keyMethod, "LEAST_CONNECTIONS", func(o *Options) { o.Method = "LEAST_CONNECTIONS" }},
		{keyMethod, " SOURCE_IP ", func(o *Options) { o.Method = "SOURCE_IP" }},
		{keyMethod, "", func(*Options) {}},
		{TimeoutPrefix + "client-data", "1", func(o *Options) { o.Timeouts.ClientData = 1 }},
		{TimeoutPrefix + "client-data", "2073600000", func(o *Options) { o.Timeouts.ClientData = 2073600000 }},
		{TimeoutPrefix + "member-connect", "0", func(o *Options) { o.Timeouts.MemberConnect = 0 }},
		{TimeoutPrefix + "member-data", " 600000 ", func(o *Options) { o.Timeouts.MemberData = 600000 }},
		{TimeoutPrefix + "tcp-inspect", "5", func(o *Options) { o.Timeouts.TCPInspect = 5 }},
		{TimeoutPrefix + "tcp-inspect", "", func(*Options) {}},
		{Prefix + "floating-network-id", someID, func(o *Options) { o.FloatingNetworkID = someID }},
		{Prefix + "floating-subnet-id", " " + someID, func(o *Options) { o.FloatingSubnetID = someID }},
		{Prefix + "floating-subnet", "public-*", func(o *Options) { o.FloatingSubnets.Name = "public-*" }},
		{Prefix + "floating-subnet-tags", "&a,b", func(o *Options) { o.FloatingSubnets.Tags = "&a,b" }},
		{SubnetID, someID, func(o *Options) { o.SubnetID = someID }},
		{NetworkID, strings.ToUpper(strings.ReplaceAll(someID, "-", "")), func(o *Options) { o.NetworkID = someID }},
		{PortID, someID, func(o *Options) { o.PortID = someID }},
		{MemberSubnetID, someID, func(o *Options) { o.MemberSubnetID = someID }},
		{FlavorID, someID, func(o *Options) { o.FlavorID = someID }},
		{AvailabilityZone, "az 1", func(o *Options) { o.AvailabilityZone = "az 1" }},
		{FloatingIP, someID, func(o *Options) { o.FloatingIP = someID }},
		{FloatingIP, " 203.0.113.7", func(o *Options) { o.FloatingIP = "203.0.113.7" }},
		{OwnPrefix + "status-addresses", "both", func(o *Options) { o.StatusAddresses = StatusBoth }},
		{OwnPrefix + "status-addresses", "", func(*Options) {}},
		{Prefix + "hostname", "www.example.com", func(o *Options) { o.Hostname = "www.example.com" }},
		{Prefix + "hostname", "", func(*Options) {}},
		{ClassKey, "", func(*Options) {}},
		{ProxyProtocol, "true", func(o *Options) { o.ProxyProtocol = lb.PoolProxy }},
		{ProxyProtocol, "v1", func(o *Options) { o.ProxyProtocol = lb.PoolProxy }},
		{ProxyProtocol, " v2 ", func(o *Options) { o.ProxyProtocol = lb.PoolProxyV2 }},
		{ProxyProtocol, "false", func(*Options) {}},
		{ProxyProtocol, "", func(*Options) {}},
		{XForwardedFor, "true", func(o *Options) { o.XForwardedFor = true }},
		{XForwardedFor, "false", func(*Options) {}},
		{TLSContainer, someRef, func(o *Options) { o.TLSContainer = someRef }},
		{TLSContainer, "", func(*Options) {}},
		{TLSSecret, " web-tls", func(o *Options) { o.TLSSecret = "web-tls" }},
		{TLSSecret, "", func(*Options) {}},
		{SNIContainers, someRef + " ,, " + someRef + "," + strings.ReplaceAll(someRef, "containers", "secrets"), func(o *Options) {
			o.SNIContainers = []string{someRef, strings.ReplaceAll(someRef, "containers", "secrets")}
		}},
		{SNIContainers, "", func(*Options) {}},
		{VIPSecurityGroups, " web ,, " + strings.ToUpper(someID) + ", web,", func(o *Options) { o.VIPSecurityGroups = []string{"web", someID} }},
		{VIPSecurityGroups, "", func(*Options) {}},
		{HSTSMaxAge, " 31536000", func(o *Options) { o.HSTS.MaxAge = 31536000 }},
		{HSTSMaxAge, "0", func(o *Options) { o.HSTS.MaxAge = 0 }},
		{HSTSMaxAge, "", func(*Options) {}},
		{HSTSIncludeSubdomains, "true", func(o *Options) { o.HSTS.IncludeSubdomains = true }},
		{HSTSPreload, "true", func(o *Options) { o.HSTS.Preload = true }},
		{ProtocolsKey, " 80=HTTP, web = TERMINATED_HTTPS,, 53=UDP,", func(o *Options) {
			o.Protocols.Ports = []NamedPort{{"80", PortHTTP}, {"web", PortTerminatedHTTPS}, {"53", PortUDP}}
		}},
		{ProtocolsKey, "appProtocol,80=HTTPS", func(o *Options) {
			o.Protocols = Protocols{AppProtocol: true, Ports: []NamedPort{{"80", PortHTTPS}}}
		}},
		{ProtocolsKey, "", func(*Options) {}},
		{LoadBalancerID, " 4711 ", func(o *Options) { o.LoadBalancerID = "4711" }},
		{LoadBalancerAddress, "203.0.113.5", func(*Options) {}},
		{LoadBalancerAddress, "whatever stood there", func(*Options) {}},
		{DriftPolicy, "report", func(o *Options) { o.Drift = DriftReport }},
		{DriftPolicy, " ignore ", func(o *Options) { o.Drift = DriftIgnore }},
		{DriftPolicy, "repair", func(*Options) {}},
		{DriftPolicy, "", func(*Options) {}},
	} {
		t.Run(c.key[strings.LastIndex(c.key, "/")+1:]+"="+c.value, func(t *testing.T) {
			want := defaultOptions()
			c.want(&want)
			got, problems := Parse(map[string]string{c.key: c.value}, defaults)
			if diff := cmp.Diff(want, got); diff != "" || problems != nil {
				t.Errorf("problems %v, options (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestAnAnnotationOverrulesTheOperatorUnlessOnlyInternalIsAllowed(t *testing.T) {
	operator := defaults
	operator.Internal, operator.CreateMonitor = true, true
	got, problems := Parse(map[string]string{keyInternal: "false", keyMonitor: "false"}, operator)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if !got.Internal {
		t.Error("the annotation made a load balancer external although the operator allows internal ones only")
	}
	if got.Monitor {
		t.Error("the annotation did not switch the monitor off")
	}
}

func TestInvalidValueIsAProblemThatNamesKeyAndValue(t *testing.T) {
	bad := map[string][]string{
		keyInternal:                {"yes", "True", "1", "tru e"},
		keySources:                 {"10.0.0.1", "10.0.0.0/33", "10.0.0.0/8;192.0.2.0/24", "example.com", "10.0.0.0/8,x", "fe80::%eth0/64"},
		Prefix + "keep-floatingip": {"yes", "FALSE"},
		keyMonitor:                 {"on"},
		keyDelay:                   {"0", "-1", "5s", "1.5", "86401", "99999999999999999999"},
		keyTimeout:                 {"0", "3s", "six"},
		keyUp:                      {"0", "11", "1-2"},
		keyDown:                    {"0", "11", "-3"},
		ConnectionLimit:            {"-2", "2147483648", "many", "1e3"},
		NodeSelector:               {"zone in (a)", "zone=a,zone=b", "=", "!zone"},
		keyMethod:                  {"round_robin", "LEAST", "ROUND_ROBIN,SOURCE_IP"},
	}
	bad[Prefix+"hostname"] = []string{"WWW.example.com", "192.0.2.1", "::1", "a_b", "-a", "*.example.com", "a..b"}
	bad[FloatingIP] = []string{"web", "2001:db8::1", "203.0.113.7/32", "203.0.113", "203.0.113.7,203.0.113.8"}
	bad[OwnPrefix+"status-addresses"] = []string{"none", "VIP", "vip,floating"}
	bad[Prefix+"floating-subnet"] = []string{"~(", "!", "~"}
	bad[Prefix+"floating-subnet-tags"] = []string{"!&", "&", ","}
	bad[AvailabilityZone] = []string{strings.Repeat("z", 256)}
	bad[ClassKey] = []string{"gold", "none"}
	for _, key := range []string{SubnetID, NetworkID, PortID, MemberSubnetID, FlavorID, Prefix + "floating-network-id", Prefix + "floating-subnet-id"} {
		bad[key] = []string{"private", "3f2b1a90-0c5d-4e8e-9d43", someID + "0", "x" + someID[1:], "../" + someID}
	}
	for _, name := range []string{"client-data", "member-connect", "member-data", "tcp-inspect"} {
		bad[TimeoutPrefix+name] = []string{"-1", "50s", "2073600001", "0.5"}
	}
	for _, key := range []string{LoadBalancerTags, ListenerTags, PoolTags, FloatingIPTags} {
		bad[key] = []string{",", "a,,b", "a,", strings.Repeat("t", 256), "kube-octavia.share=*", "a,kube_service_c_n_s"}
	}
	bad[MetricsPort] = []string{"0", "65536", "-1", "metrics", "9100/TCP"}
	bad[MetricsAllowedCIDRs] = []string{"10.0.0.1", "everybody"}
	bad[MaxMembers] = []string{"-1", "all", "2.5", "2147483648"}
	bad[TargetType] = []string{"Pod", "nodes", "node,pod"}
	bad[DriftPolicy] = []string{"Repair", "none", "repair report"}
	bad[ProxyProtocol] = []string{"True", "1", "v3", "PROXY"}
	bad[XForwardedFor] = []string{"yes", "For"}
	bad[TLSContainer] = []string{"my-certificate", someRef + "/payload", "https://barbican.example.com/v1/orders/" + someID, someRef + strings.Repeat("x", 250)}
	bad[TLSSecret] = []string{"Web", "shop/web-tls", "web tls", strings.Repeat("w", 254)}
	bad[SNIContainers] = []string{"a," + someRef, someRef + ";" + someRef}
	bad[VIPSecurityGroups] = []string{",", " , ,", "web," + strings.Repeat("g", 256)}
	bad[HSTSMaxAge] = []string{"-1", "1y", "31536000s", "1.5", "2147483648"}
	bad[HSTSIncludeSubdomains], bad[HSTSPreload] = []string{"yes"}, []string{"1"}
	bad[ProtocolsKey] = []string{"HTTP", "80", "80=", "=HTTP", "80=http", "80=HTTP;81=HTTP", "80=HTTP=HTTP", "appprotocol", "80:HTTP", "80=PROMETHEUS"}
	for key, values := range bad {
		t.Run(key, func(t *testing.T) {
			for _, wrong := range values {
				_, problems := Parse(map[string]string{key: wrong, LoadBalancerAddress: "203.0.113.5"}, defaults)
				if len(problems) != 1 || problems[0].Key != key || problems[0].Value != wrong || problems[0].Text == "" {
					t.Errorf("%s=%q: problems %+v, want one with key, value and a text", key, wrong, problems)
					continue
				}
				if text := problems[0].Error(); !strings.Contains(text, key) || !strings.Contains(text, `"`+wrong+`"`) {
					t.Errorf("%s=%q: %q does not name both", key, wrong, text)
				}
			}
		})
	}
}

func TestAnAnnotationWinsOverTheClassAndTheClassOverTheRest(t *testing.T) {
	operator := defaults
	operator.FlavorID, operator.Provider, operator.SubnetID, operator.SourceRanges = "f0", "amphora", "s0", "10.0.0.0/8"
	operator.FloatingNetworkID, operator.FloatingSubnetID = "fn0", "fs0"
	gold := operator
	gold.FlavorID, gold.Provider, gold.Method, gold.CreateMonitor = "f1", "ovn", "SOURCE_IP_PORT", true
	gold.NodeSelector, gold.AvailabilityZone = "gold=yes", "az1"
	operator.MaxMembers, gold.MaxMembers = 4, 6
	operator.TargetType, gold.TargetType, gold.PodNetworkIDs = "node", "pod", someID
	operator.Classes = map[string]config.LoadBalancer{"gold": gold}
	got, problems := Parse(map[string]string{ClassKey: " gold", FlavorID: someID, AvailabilityZone: "", keySources: "192.0.2.0/24"}, operator)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := defaultOptions()
	want.Class, want.Provider, want.OperatorsMethod, want.Monitor, want.MaxMembers = "gold", "ovn", "SOURCE_IP_PORT", true, 6
	want.TargetType, want.PodNetworkIDs = "pod", []string{someID}
	want.FlavorID, want.SubnetID, want.SourceRanges = someID, "s0", []string{"192.0.2.0/24"}
	want.FloatingNetworkID, want.FloatingSubnetID, want.NodeSelector = "fn0", "fs0", value.NodeSelector{"gold": "yes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	_, problems = Parse(map[string]string{ClassKey: "silver"}, operator)
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "cloud.conf has gold") {
		t.Errorf("an unknown class: %+v", problems)
	}
	if got, _ := Parse(map[string]string{ClassKey: "gold", MaxMembers: "0"}, operator); got.MaxMembers != 0 {
		t.Errorf("the Service requests all nodes, and gets %d", got.MaxMembers)
	}
	if s, err := selector(map[string]string{ClassKey: "gold"}, operator); err != nil || s["gold"] != "yes" {
		t.Errorf("the class selects %v, %v", s, err)
	}
	if _, err := selector(map[string]string{ClassKey: "silver"}, operator); err == nil {
		t.Error("an unknown class selects nodes")
	}
	s, err := selector(map[string]string{ClassKey: "silver", NodeSelector: "pool=lb"}, operator)
	if err != nil || s["pool"] != "lb" {
		t.Errorf("the annotation selects %v, %v, although the class does not matter", s, err)
	}
}

func TestSubnetOfCloudConfIsIgnoredIfTheServiceNamesANetwork(t *testing.T) {
	operator := defaults
	operator.SubnetID, operator.NetworkID, operator.FloatingSubnetID = "s", "n", "fs"
	operator.FloatingSubnets = value.SubnetPattern{Name: "a", Tags: "b"}
	got, _ := Parse(map[string]string{NetworkID: someID, Prefix + "floating-network-id": someID}, operator)
	if got.SubnetID != "" || got.NetworkID != someID || got.FloatingSubnetID != "" || !got.FloatingSubnets.Empty() {
		t.Errorf("got %+v", got)
	}
	got, _ = Parse(map[string]string{Prefix + "floating-subnet-tags": "c"}, operator)
	if got.FloatingSubnetID != "" || got.FloatingSubnets != (value.SubnetPattern{Tags: "c"}) || got.SubnetID != "s" {
		t.Errorf("got %+v", got)
	}
}

func TestMonitorTimeoutAboveTheDelayIsAProblemOfTheAnnotationThatIsSet(t *testing.T) {
	for _, c := range []struct {
		name string

		annotations map[string]string
		key         string
	}{
		{"timeout above the default delay", map[string]string{keyTimeout: "6"}, keyTimeout},
		{"delay below the default timeout", map[string]string{keyDelay: "2"}, keyDelay},
		{"both are set", map[string]string{keyDelay: "10", keyTimeout: "11"}, keyTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Parse(c.annotations, defaults)
			if len(problems) != 1 || problems[0].Key != c.key || problems[0].Value != c.annotations[c.key] {
				t.Errorf("%v: problems %+v, want one with %s", c.annotations, problems, c.key)
			}
		})
	}
	if _, problems := Parse(map[string]string{keyDelay: "4", keyTimeout: "4"}, defaults); len(problems) > 0 {
		t.Errorf("a look as long as the time between looks: %v", problems)
	}
}

func TestProxyProtocolAndXForwardedForExcludeEachOther(t *testing.T) {
	_, problems := Parse(map[string]string{XForwardedFor: "true", ProxyProtocol: "v2"}, defaults)
	if len(problems) != 1 || problems[0].Key != XForwardedFor || !strings.Contains(problems[0].Text, ProxyProtocol) {
		t.Errorf("problems %+v", problems)
	}
	for name, annotations := range map[string]map[string]string{
		"header off":                     {XForwardedFor: "false", ProxyProtocol: "v2"},
		"PROXY protocol off":             {XForwardedFor: "true", ProxyProtocol: "false"},
		"PROXY protocol on another port": {XForwardedFor: "true", ProtocolsKey: "5432=PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, problems := Parse(annotations, defaults); len(problems) > 0 {
				t.Errorf("%v: %+v", annotations, problems)
			}
		})
	}
}

func TestAnEmptyReferenceOverrulesTheOperatorsCertificate(t *testing.T) {
	operator := defaults
	operator.TLSContainer = someRef
	if got, _ := Parse(nil, operator); got.TLSContainer != someRef {
		t.Errorf("without the annotation it is %q", got.TLSContainer)
	}
	if got, problems := Parse(map[string]string{TLSContainer: " "}, operator); got.TLSContainer != "" || problems != nil {
		t.Errorf("it is %q, %v", got.TLSContainer, problems)
	}
}

func TestASecretTakesThePlaceOfAnyReference(t *testing.T) {
	operator := defaults
	operator.TLSContainer = someRef
	got, problems := Parse(map[string]string{TLSSecret: "web-tls", TLSContainer: someRef}, operator)
	if problems != nil || got.TLSContainer != "" || got.TLSSecret != "web-tls" {
		t.Errorf("%+v, %v", got, problems)
	}
}

func TestAnyReferenceIsAcceptedForCertificatesInAnotherStore(t *testing.T) {
	operator := defaults
	operator.ContainerStore = "external"
	got, problems := Parse(map[string]string{TLSContainer: "my-certificate", SNIContainers: "a,b"}, operator)
	if problems != nil || got.TLSContainer != "my-certificate" || !slices.Equal(got.SNIContainers, []string{"a", "b"}) {
		t.Errorf("%+v, %v", got, problems)
	}
}

func TestMetricsRangesOfTheServiceOverrideThoseOfCloudConf(t *testing.T) {
	operator := defaults
	operator.MetricsAllowedCIDRs = "10.0.0.0/8"
	for text, want := range map[string][]string{"192.0.2.0/24": {"192.0.2.0/24"}, "": nil} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got, problems := Parse(map[string]string{MetricsAllowedCIDRs: text}, operator); problems != nil || !slices.Equal(got.MetricsAllowedCIDRs, want) {
				t.Errorf("%q, %v", got.MetricsAllowedCIDRs, problems)
			}
		})
	}
	if got, _ := Parse(nil, operator); !slices.Equal(got.MetricsAllowedCIDRs, []string{"10.0.0.0/8"}) {
		t.Errorf("without the annotation it is %q", got.MetricsAllowedCIDRs)
	}
}

func TestAllProblemsAreReturnedSortedByKey(t *testing.T) {
	_, problems := Parse(map[string]string{
		Prefix + "x-forwarded-for": "yes", keyUp: "0", keyInternal: "maybe", Prefix + "class": "gold",
	}, defaults)
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	want := []string{Prefix + "class", keyUp, Prefix + "x-forwarded-for", keyInternal}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys of the problems (-want +got):\n%s", diff)
	}
}

func TestUnknownKeysAreSortedAndNameTheNearestKey(t *testing.T) {
	got := FindUnknown(map[string]string{
		Prefix + "keep-floating-ip": "true", Prefix + "Class": "x", Prefix: "", keyDelay: "5", LoadBalancerID: "x",
		"example.com/class": "x", "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
	})
	want := []Unknown{
		{Key: Prefix},
		{Key: Prefix + "Class", Value: "x", Nearest: ClassKey, Protects: RestrictsAccess},
		{Key: Prefix + "keep-floating-ip", Value: "true", Nearest: KeepFloatingIP, Protects: Keeps},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unknown annotations (-want +got):\n%s", diff)
	}
	if got := FindUnknown(nil); got != nil {
		t.Errorf("FindUnknown(nil) = %v", got)
	}
}

// FuzzParse sets two annotations, the second with an arbitrary key.
func FuzzParse(f *testing.F) {
	for i, a := range Table {
		f.Add(uint(i), "true", a.Key, "7")
		f.Add(uint(i), "11", a.Key+"x", "")
	}
	f.Add(uint(1), "10.0.0.0/8,::/0", keyDelay, "1")
	f.Fuzz(func(t *testing.T, line uint, text, key, other string) {
		annotations := map[string]string{key: other}
		annotations[Table[line%uint(len(Table))].Key] = text
		options, problems := Parse(annotations, defaults)
		for _, p := range problems {
			if got, there := annotations[p.Key]; !there || got != p.Value {
				t.Errorf("problem of %s=%q, which was not set", p.Key, p.Value)
			}
		}
		for _, u := range FindUnknown(annotations) {
			if slices.Contains(cloudControllerKeys, u.Key) {
				t.Errorf("%s is unknown", u)
			}
		}
		if len(problems) > 0 {
			return
		}
		if options.MonitorTimeout < time.Second || options.MonitorDelay < options.MonitorTimeout || options.MonitorDelay > 24*time.Hour ||
			options.MonitorDelay%time.Second != 0 || options.MonitorTimeout%time.Second != 0 {
			t.Errorf("delay %v, timeout %v", options.MonitorDelay, options.MonitorTimeout)
		}
		if min(options.MonitorMaxRetries, options.MonitorMaxRetriesDown) < 1 || max(options.MonitorMaxRetries, options.MonitorMaxRetriesDown) > 10 {
			t.Errorf("retries %d up, %d down", options.MonitorMaxRetries, options.MonitorMaxRetriesDown)
		}
		if options.ConnectionLimit < NoLimit || options.Method != "" && !slices.Contains(config.Methods, options.Method) {
			t.Errorf("a limit of %d, method %q", options.ConnectionLimit, options.Method)
		}
		for _, ms := range []int{options.Timeouts.ClientData, options.Timeouts.MemberConnect, options.Timeouts.MemberData, options.Timeouts.TCPInspect} {
			if ms < 0 || ms > longestTimeout {
				t.Errorf("a timeout of %d ms", ms)
			}
		}
		for _, r := range options.SourceRanges {
			if _, err := netip.ParsePrefix(r); err != nil {
				t.Error(err)
			}
		}
	})
}
