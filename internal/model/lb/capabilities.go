// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Version is an API version of Octavia. 2.10 is newer than 2.9.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// String returns the version as "2.26".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// AtLeast reports whether v is w or newer.
func (v Version) AtLeast(w Version) bool {
	return v.Major > w.Major || v.Major == w.Major && v.Minor >= w.Minor
}

// Feature is something that not every Octavia, or not every provider, supports.
type Feature int

// The features, with the API version that introduced each (Octavia's API version history).
const (
	// FeatureTags: tags on every object, and lists filtered by tags. 2.5.
	FeatureTags Feature = iota
	// FeatureAllowedCIDRs: source ranges on listeners. 2.12, not ovn.
	FeatureAllowedCIDRs
	// FeatureTransportsShareAPort: a TCP and a UDP listener with the same port number. 2.13.
	FeatureTransportsShareAPort
	// FeatureSourceIPPort: the algorithm SOURCE_IP_PORT. 2.13, not amphora, which answers 501.
	FeatureSourceIPPort
	// FeatureHTTPMonitorOnUDP: HTTP monitors of UDP pools. 2.16, not ovn.
	FeatureHTTPMonitorOnUDP
	// FeatureHTTPMonitor: HTTP monitors. Any version, not ovn.
	FeatureHTTPMonitor
	// FeatureCreateWithMonitors: health monitors in the call that creates a complete load balancer. Any version, ovn
	// since 2.30 (its release 8 of 2025.1). Before, ovn does not create them, and a change or deletion of one leaves
	// the load balancer PENDING for ever. It is unknown which releases between these two create them.
	FeatureCreateWithMonitors
	// FeatureMonitor: health monitors that are not harmful. Any version, ovn since 2.27. Before, with ovn, a load
	// balancer with a monitor stays PENDING for ever once a listener is created, and cannot even be deleted; and the
	// deletion of one pool's monitor drops the traffic of all other pools.
	FeatureMonitor
	// FeatureSessionAffinity: session persistence by source address. Any version, ovn since 2.27. Before, ovn
	// accepts and shows it without effect.
	FeatureSessionAffinity
	// FeatureTimeouts: timeouts on listeners. 2.1, not ovn, which forwards packets.
	FeatureTimeouts
	// FeatureConnectionLimit: enforced connection limits. Any version, not ovn, which accepts and shows them
	// without effect.
	FeatureConnectionLimit
	// FeatureWeights: weights of members, of which 0 sends no new connections to a member. Any version, not ovn.
	FeatureWeights
	// FeatureFlavors: flavors of load balancers. 2.6, not ovn.
	FeatureFlavors
	// FeatureAvailabilityZones: availability zones of load balancers. 2.14, not ovn.
	FeatureAvailabilityZones
	// FeatureHTTP: listeners for HTTP. Any version, not ovn, which inspects no connections.
	FeatureHTTP
	// FeatureTLS: listeners that terminate TLS. Any version, not ovn.
	FeatureTLS
	// FeatureProxy: the PROXY protocol, version 1. Any version, not ovn.
	FeatureProxy
	// FeatureProxyV2: the PROXY protocol, version 2. 2.22, not ovn.
	FeatureProxyV2
	// FeatureSCTP: listeners for SCTP. 2.23.
	FeatureSCTP
	// FeatureSCTPMonitor: monitors of type SCTP. 2.23, not ovn.
	FeatureSCTPMonitor
	// FeatureAdditionalVIPs: VIPs of both families. 2.26, not ovn: its driver of Octavia 11 accepts and ignores them
	// (create_vip_port in ovn_octavia_provider/driver.py), later ones create a port per VIP, and the API version does
	// not show which driver it is.
	FeatureAdditionalVIPs
	// FeaturePrometheus: listeners that export metrics of the load balancer to Prometheus. 2.25, not ovn.
	FeaturePrometheus
	// FeatureHSTS: header Strict-Transport-Security of listeners that terminate TLS. 2.27, not ovn.
	FeatureHSTS
	// FeatureVIPSecurityGroups: security groups of the VIP's port in place of source ranges. 2.29, not ovn: its release 8
	// accepts and shows them, and the port keeps the project's default group.
	FeatureVIPSecurityGroups
	// FeatureDualStackSourceRanges: source ranges on load balancers with VIPs of both families. 2.30, not ovn. Octavia
	// 11 creates a rule of the VIP's security group for each pair of range and family, which Neutron rejects, and the
	// load balancer is in ERROR (_update_security_group_rules in network/drivers/neutron/allowed_address_pairs.py). A
	// test showed that Octavia 16, which has API version 2.30, accepts them. The releases between these two were not
	// tested.
	FeatureDualStackSourceRanges
	// FeatureCertificatesWithoutCommonName: certificates with names of hosts only. 2.30, not ovn. Octavia 11 reads the
	// first common name without a check that there is one, refuses the certificate, and leaves behind what it created
	// for the request (get_host_names in common/tls_utils/cert_parser.py). A test showed that Octavia 16, which has API
	// version 2.30, accepts such a certificate. It is unknown which releases between these two accept one.
	FeatureCertificatesWithoutCommonName
)

var features = map[Feature]struct {
	// name is the name of the feature in cloud.conf.
	name string
	// doc describes the feature in the documentation.
	doc    string
	since  Version
	notOVN bool
	// notAmphora is set if provider amphora does not support it.
	notAmphora bool
	// ovnSince is set if provider ovn got the feature later.
	ovnSince Version
}{
	FeatureTags:                          {name: "tags", doc: "tags, by which load balancers are identified instead of by name; custom tags", since: Version{2, 5}},
	FeatureAllowedCIDRs:                  {name: "allowed-cidrs", doc: "source ranges", since: Version{2, 12}, notOVN: true},
	FeatureTransportsShareAPort:          {name: "transports-share-a-port", doc: "TCP and UDP ports with one number", since: Version{2, 13}},
	FeatureSourceIPPort:                  {name: "source-ip-port", doc: "balancing method SOURCE_IP_PORT", since: Version{2, 13}, notAmphora: true},
	FeatureHTTPMonitorOnUDP:              {name: "http-monitor-on-udp", doc: "health monitors of type HTTP for UDP ports", since: Version{2, 16}, notOVN: true},
	FeatureHTTPMonitor:                   {name: "http-monitor", doc: "health monitors of type HTTP, for externalTrafficPolicy Local", since: Version{2, 0}, notOVN: true},
	FeatureCreateWithMonitors:            {name: "create-with-monitors", doc: "health monitors in the call that creates a complete load balancer", since: Version{2, 0}, ovnSince: Version{2, 30}},
	FeatureMonitor:                       {name: "monitor", doc: "health monitors", since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureSessionAffinity:               {name: "session-affinity", doc: "session affinity", since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureTimeouts:                      {name: "timeouts", doc: "timeouts", since: Version{2, 1}, notOVN: true},
	FeatureConnectionLimit:               {name: "connection-limit", doc: "connection limits", since: Version{2, 0}, notOVN: true},
	FeatureWeights:                       {name: "weights", doc: "weights of members: Pods that terminate keep their connections", since: Version{2, 0}, notOVN: true},
	FeatureFlavors:                       {name: "flavors", doc: "flavors", since: Version{2, 6}, notOVN: true},
	FeatureAvailabilityZones:             {name: "availability-zones", doc: "availability zones", since: Version{2, 14}, notOVN: true},
	FeatureHTTP:                          {name: "http", doc: "HTTP and X-Forwarded-For", since: Version{2, 0}, notOVN: true},
	FeatureTLS:                           {name: "tls", doc: "TLS that the load balancer terminates", since: Version{2, 0}, notOVN: true},
	FeatureProxy:                         {name: "proxy", doc: "PROXY protocol, version 1", since: Version{2, 0}, notOVN: true},
	FeatureProxyV2:                       {name: "proxy-v2", doc: "PROXY protocol, version 2", since: Version{2, 22}, notOVN: true},
	FeatureSCTP:                          {name: "sctp", doc: "SCTP ports", since: Version{2, 23}},
	FeatureSCTPMonitor:                   {name: "sctp-monitor", doc: "health monitors of SCTP ports", since: Version{2, 23}, notOVN: true},
	FeatureAdditionalVIPs:                {name: "additional-vips", doc: "two IP families on one load balancer (dual-stack)", since: Version{2, 26}, notOVN: true},
	FeaturePrometheus:                    {name: "metrics", doc: "metrics of the load balancer for Prometheus", since: Version{2, 25}, notOVN: true},
	FeatureHSTS:                          {name: "hsts", doc: "HTTP Strict Transport Security (HSTS) of TLS ports", since: Version{2, 27}, notOVN: true},
	FeatureVIPSecurityGroups:             {name: "vip-security-groups", doc: "security groups of the VIP, in place of source ranges", since: Version{2, 29}, notOVN: true},
	FeatureCertificatesWithoutCommonName: {name: "certificates-without-common-name", doc: "TLS certificates whose subject has no common name", since: Version{2, 30}, notOVN: true},
	FeatureDualStackSourceRanges:         {name: "dual-stack-source-ranges", doc: "source ranges on load balancers of two IP families", since: Version{2, 30}, notOVN: true},
}

// ProviderOVN is the provider that uses OVN's own load balancing. It supports fewer features than the others.
const ProviderOVN = "ovn"

// ProviderAmphora is Octavia's own provider.
const ProviderAmphora = "amphora"

// FinishesLate reports whether load balancers of the provider may be ACTIVE before its work is done. Provider ovn 8 of
// 2025.1 takes 1 to 8 s more for the children, which stay PENDING in that time. It also shows a load balancer that it
// deletes as ACTIVE for some seconds. Provider ovn 11 does the same; that of 2022.2 does not. Provider amphora lacks at
// most the statuses of listeners when the load balancer is ACTIVE, for milliseconds. The version of a provider cannot be
// read, so the API version of Octavia is used instead: 2.26 is 2022.2. Other providers were not tested.
func (c Capabilities) FinishesLate(provider string) bool {
	return provider != "" && provider != ProviderAmphora && c.APIVersion.AtLeast(Version{2, 27})
}

// FeatureNames returns the names of the features in cloud.conf, sorted.
func FeatureNames() []string {
	names := make([]string, 0, len(features))
	for _, f := range features {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// Requirement has the requirements of a feature, for the documentation.
type Requirement struct {
	// Name is the name of the feature in cloud.conf.
	Name string
	// Doc describes the feature.
	Doc string
	// Since is the first API version of Octavia that has it.
	Since Version
	// OVNSince is the first API version that has it with provider ovn. It is zero if no version has it.
	OVNSince Version
	// NotAmphora is set if provider amphora does not support the feature.
	NotAmphora bool
}

// Requirements returns the requirements of each feature, in the order of the API versions.
func Requirements() []Requirement {
	list := make([]Requirement, 0, len(features))
	for _, f := range features {
		r := Requirement{Name: f.name, Doc: f.doc, Since: f.since, OVNSince: f.since, NotAmphora: f.notAmphora}
		switch {
		case f.notOVN:
			r.OVNSince = Version{}
		case f.ovnSince != Version{}:
			r.OVNSince = f.ovnSince
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Requirement) int {
		return cmp.Or(cmp.Compare(a.Since.Major, b.Since.Major), cmp.Compare(a.Since.Minor, b.Since.Minor), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// ParseFeatures parses a comma-separated list of features. The error names the unknown one.
func ParseFeatures(text string) ([]Feature, error) {
	var found []Feature
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		known := len(found)
		for f := range features {
			if features[f].name == name {
				found = append(found, f)
			}
		}
		if len(found) == known {
			return nil, fmt.Errorf("%q is not a feature; the features are %s", name, strings.Join(FeatureNames(), ", "))
		}
	}
	return found, nil
}

// Vendor has the operator's statements about a provider.
type Vendor struct {
	// Like is the provider that it behaves like: ProviderOVN, or any other for the rest. Empty means itself.
	Like string
	// Lacks are features that it does not support, whatever the API version.
	Lacks []Feature
	// Methods are the algorithms that the provider supports. If it is empty, the operator has not stated them.
	Methods []Algorithm
}

// Capabilities describe what a cloud supports.
type Capabilities struct {
	// APIVersion is the newest version that Octavia offers.
	APIVersion Version `json:"apiVersion"`
	// Provider is the provider of new load balancers.
	Provider string `json:"provider"`
	// Vendors are the operator's statements, by provider.
	Vendors map[string]Vendor `json:"vendors,omitempty"`
	// UnlimitedChildren means that no quota of the project can refuse a part of a load balancer. It is determined only
	// in cluster-ip mode.
	UnlimitedChildren bool `json:"unlimitedChildren,omitempty"`
}

// Methods returns the algorithms that the provider supports, the default first. An empty result means all algorithms.
//
// Provider ovn supports SourceIPPort. Its release 11 supports SourceIP too, but no API shows the release, so the
// operator has to state that.
func (c Capabilities) Methods() []Algorithm {
	if stated := c.Vendors[c.Provider].Methods; len(stated) > 0 {
		return stated
	}
	if c.OVN() {
		return []Algorithm{SourceIPPort}
	}
	return nil
}

// OVN reports whether the provider behaves like ProviderOVN: it forwards packets with the client's address.
func (c Capabilities) OVN() bool {
	if like := c.Vendors[c.Provider].Like; like != "" {
		return like == ProviderOVN
	}
	return c.Provider == ProviderOVN
}

// Has reports whether the cloud supports the feature. Unknown features are not supported.
func (c Capabilities) Has(f Feature) bool {
	needs, known := features[f]
	if c.OVN() && (needs.notOVN || !c.APIVersion.AtLeast(needs.ovnSince)) || c.lacks(f) {
		return false
	}
	if c.Provider == ProviderAmphora && needs.notAmphora {
		return false
	}
	return known && c.APIVersion.AtLeast(needs.since)
}

// lacks reports whether the operator says that the provider does not support the feature.
func (c Capabilities) lacks(f Feature) bool {
	return slices.Contains(c.Vendors[c.Provider].Lacks, f)
}

// Lacking describes the cloud that lacks the feature, for messages: "version 2.11 and load balancers of provider
// amphora".
func (c Capabilities) Lacking(f Feature) string {
	text := fmt.Sprintf("version %s and load balancers of provider %s", c.APIVersion, c.Provider)
	if c.lacks(f) {
		text += fmt.Sprintf(" (which lack %s according to section [LoadBalancerProvider %q] of cloud.conf)", features[f].name, c.Provider)
	}
	return text
}

// Needs returns what the feature requires, for messages: "Octavia API version 2.12 and a provider other
// than ovn".
func (f Feature) Needs() string {
	needs := features[f]
	text := "Octavia API version " + needs.since.String()
	if needs.notOVN {
		text += " and a provider other than ovn"
	}
	if needs.notAmphora {
		text += " and a provider other than amphora"
	}
	if needs.ovnSince != (Version{}) {
		text += " (" + needs.ovnSince.String() + " with provider ovn)"
	}
	return text
}
