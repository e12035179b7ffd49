// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"slices"
	"strings"
)

// Version is an API version of Octavia, compared as numbers: 2.10 is newer
// than 2.9.
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

// Feature is something that not every Octavia, or not every provider, can do.
type Feature int

// The features that decisions depend on, with the API version that brought
// each (Octavia's API version history).
const (
	// FeatureTags: tags on every object, and lists filtered by them. 2.5.
	FeatureTags Feature = iota
	// FeatureAllowedCIDRs: source ranges on listeners. 2.12, not ovn.
	FeatureAllowedCIDRs
	// FeatureTransportsShareAPort: a TCP and a UDP listener on one port
	// number. 2.13.
	FeatureTransportsShareAPort
	// FeatureSourceIPPort: the algorithm SOURCE_IP_PORT. 2.13.
	FeatureSourceIPPort
	// FeatureHTTPMonitorOnUDP: monitors of type HTTP on UDP pools. 2.16, not
	// ovn.
	FeatureHTTPMonitorOnUDP
	// FeatureHTTPMonitor: monitors of type HTTP. Any version, not ovn.
	FeatureHTTPMonitor
	// FeatureCreateWithMonitors: health monitors in the call that creates a
	// complete load balancer. Any version, not ovn, which does not make them, and
	// locks a load balancer for ever on which one of them is changed or deleted.
	FeatureCreateWithMonitors
	// FeatureMonitor: health monitors that do no harm. Any version, ovn since
	// 2.27. Before, provider ovn locks a load balancer for ever, also against its
	// deletion, on which a listener is made beside a monitor, and drops the
	// traffic of all other pools when it deletes the monitor of one.
	FeatureMonitor
	// FeatureSessionAffinity: session persistence by source address that is
	// carried out. Any version, ovn since 2.27. Before, provider ovn takes the
	// wish, shows it, and does nothing.
	FeatureSessionAffinity
	// FeatureTimeouts: timeouts on listeners. 2.1, not ovn, which forwards packets
	// and waits for nobody.
	FeatureTimeouts
	// FeatureConnectionLimit: a limit of connections that is enforced. Any version,
	// not ovn, which takes the wish, shows it, and does nothing.
	FeatureConnectionLimit
	// FeatureFlavors: flavors of load balancers. 2.6, not ovn.
	FeatureFlavors
	// FeatureAvailabilityZones: availability zones of load balancers. 2.14, not ovn.
	FeatureAvailabilityZones
	// FeatureHTTP: listeners that read HTTP. Any version, not ovn, which looks into no
	// connection.
	FeatureHTTP
	// FeatureTLS: listeners that end TLS. Any version, not ovn.
	FeatureTLS
	// FeatureProxy: the PROXY protocol, version 1. Any version, not ovn.
	FeatureProxy
	// FeatureProxyV2: the PROXY protocol, version 2. 2.22, not ovn.
	FeatureProxyV2
	// FeatureSCTP: listeners for SCTP. 2.23.
	FeatureSCTP
	// FeatureSCTPMonitor: monitors of type SCTP. 2.23, not ovn.
	FeatureSCTPMonitor
	// FeatureAdditionalVIPs: VIPs of both families. 2.26, not ovn: its driver of Octavia
	// 11 takes the wish and forgets it (create_vip_port in ovn_octavia_provider/driver.py),
	// later ones make a port for each VIP, and no API version tells which of them it is.
	FeatureAdditionalVIPs
	// FeaturePrometheus: listeners that tell Prometheus about the load balancer. 2.25, not
	// ovn.
	FeaturePrometheus
)

var features = map[Feature]struct {
	// name is what cloud.conf calls it.
	name   string
	since  Version
	notOVN bool
	// ovnSince is set where provider ovn got the feature later.
	ovnSince Version
}{
	FeatureTags:                 {name: "tags", since: Version{2, 5}},
	FeatureAllowedCIDRs:         {name: "allowed-cidrs", since: Version{2, 12}, notOVN: true},
	FeatureTransportsShareAPort: {name: "transports-share-a-port", since: Version{2, 13}},
	FeatureSourceIPPort:         {name: "source-ip-port", since: Version{2, 13}},
	FeatureHTTPMonitorOnUDP:     {name: "http-monitor-on-udp", since: Version{2, 16}, notOVN: true},
	FeatureHTTPMonitor:          {name: "http-monitor", since: Version{2, 0}, notOVN: true},
	FeatureCreateWithMonitors:   {name: "create-with-monitors", since: Version{2, 0}, notOVN: true},
	FeatureMonitor:              {name: "monitor", since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureSessionAffinity:      {name: "session-affinity", since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureTimeouts:             {name: "timeouts", since: Version{2, 1}, notOVN: true},
	FeatureConnectionLimit:      {name: "connection-limit", since: Version{2, 0}, notOVN: true},
	FeatureFlavors:              {name: "flavors", since: Version{2, 6}, notOVN: true},
	FeatureAvailabilityZones:    {name: "availability-zones", since: Version{2, 14}, notOVN: true},
	FeatureHTTP:                 {name: "http", since: Version{2, 0}, notOVN: true},
	FeatureTLS:                  {name: "tls", since: Version{2, 0}, notOVN: true},
	FeatureProxy:                {name: "proxy", since: Version{2, 0}, notOVN: true},
	FeatureProxyV2:              {name: "proxy-v2", since: Version{2, 22}, notOVN: true},
	FeatureSCTP:                 {name: "sctp", since: Version{2, 23}},
	FeatureSCTPMonitor:          {name: "sctp-monitor", since: Version{2, 23}, notOVN: true},
	FeatureAdditionalVIPs:       {name: "additional-vips", since: Version{2, 26}, notOVN: true},
	FeaturePrometheus:           {name: "metrics", since: Version{2, 25}, notOVN: true},
}

// ProviderOVN is the provider that is served by the network itself and can do
// less than the others.
const ProviderOVN = "ovn"

// FeatureNames returns what cloud.conf calls the features, sorted.
func FeatureNames() []string {
	names := make([]string, 0, len(features))
	for _, f := range features {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// ParseFeatures reads names of features, separated by commas. The error names the one that is
// none.
func ParseFeatures(text string) ([]Feature, error) {
	var found []Feature
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		of := func() (Feature, bool) {
			for f, is := range features {
				if is.name == name {
					return f, true
				}
			}
			return 0, false
		}
		f, known := of()
		if !known {
			return nil, fmt.Errorf("%q is not a feature; the features are %s", name, strings.Join(FeatureNames(), ", "))
		}
		found = append(found, f)
	}
	return found, nil
}

// Vendor is what the operator says of a provider.
type Vendor struct {
	// Like is the provider whose ways it has: ProviderOVN, or another for those of the rest.
	// Empty is the provider itself.
	Like string
	// Lacks are features that it does not have, whatever the version of the API.
	Lacks []Feature
}

// Capabilities is what one cloud is able to do.
type Capabilities struct {
	// APIVersion is the newest version that Octavia offers.
	APIVersion Version `json:"apiVersion"`
	// Provider is the provider that load balancers are made with.
	Provider string `json:"provider"`
	// Vendors is what the operator says of providers, by name.
	Vendors map[string]Vendor `json:"vendors,omitempty"`
}

// OVN reports whether the provider has the ways of ProviderOVN: it forwards packets, with the
// clients' addresses, and balances by SourceIPPort alone.
func (c Capabilities) OVN() bool {
	if like := c.Vendors[c.Provider].Like; like != "" {
		return like == ProviderOVN
	}
	return c.Provider == ProviderOVN
}

// Has reports whether the cloud has the feature. A feature that is not in the
// table is one nobody has.
func (c Capabilities) Has(f Feature) bool {
	needs, known := features[f]
	if c.OVN() && (needs.notOVN || !c.APIVersion.AtLeast(needs.ovnSince)) || c.withheld(f) {
		return false
	}
	return known && c.APIVersion.AtLeast(needs.since)
}

// withheld reports whether the operator says that the provider lacks the feature.
func (c Capabilities) withheld(f Feature) bool {
	return slices.Contains(c.Vendors[c.Provider].Lacks, f)
}

// Lacking says which version and provider the cloud has that lacks the feature, for messages to
// people: "version 2.11 and load balancers of provider amphora".
func (c Capabilities) Lacking(f Feature) string {
	text := fmt.Sprintf("version %s and load balancers of provider %s", c.APIVersion, c.Provider)
	if c.withheld(f) {
		text += fmt.Sprintf(" (which lack %s according to section [LoadBalancerProvider %q] of cloud.conf)", features[f].name, c.Provider)
	}
	return text
}

// Needs says what the feature asks of a cloud, for messages to people: "API
// version 2.12 and a provider other than ovn".
func (f Feature) Needs() string {
	needs := features[f]
	text := "Octavia API version " + needs.since.String()
	if needs.notOVN {
		text += " and a provider other than ovn"
	}
	if needs.ovnSince != (Version{}) {
		text += " (" + needs.ovnSince.String() + " with provider ovn)"
	}
	return text
}
