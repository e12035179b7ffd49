// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import "fmt"

// Version is an API version of Octavia, compared as numbers: 2.10 is newer
// than 2.9.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// String returns the version as "2.26".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// AtLeast tells whether v is w or newer.
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
)

var features = map[Feature]struct {
	since  Version
	notOVN bool
	// ovnSince is set where provider ovn got the feature later.
	ovnSince Version
}{
	FeatureTags:                 {since: Version{2, 5}},
	FeatureAllowedCIDRs:         {since: Version{2, 12}, notOVN: true},
	FeatureTransportsShareAPort: {since: Version{2, 13}},
	FeatureSourceIPPort:         {since: Version{2, 13}},
	FeatureHTTPMonitorOnUDP:     {since: Version{2, 16}, notOVN: true},
	FeatureHTTPMonitor:          {since: Version{2, 0}, notOVN: true},
	FeatureCreateWithMonitors:   {since: Version{2, 0}, notOVN: true},
	FeatureMonitor:              {since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureSessionAffinity:      {since: Version{2, 0}, ovnSince: Version{2, 27}},
	FeatureTimeouts:             {since: Version{2, 1}, notOVN: true},
	FeatureConnectionLimit:      {since: Version{2, 0}, notOVN: true},
	FeatureFlavors:              {since: Version{2, 6}, notOVN: true},
	FeatureAvailabilityZones:    {since: Version{2, 14}, notOVN: true},
	FeatureHTTP:                 {since: Version{2, 0}, notOVN: true},
	FeatureTLS:                  {since: Version{2, 0}, notOVN: true},
	FeatureProxy:                {since: Version{2, 0}, notOVN: true},
	FeatureProxyV2:              {since: Version{2, 22}, notOVN: true},
	FeatureSCTP:                 {since: Version{2, 23}},
	FeatureSCTPMonitor:          {since: Version{2, 23}, notOVN: true},
	FeatureAdditionalVIPs:       {since: Version{2, 26}, notOVN: true},
}

// ProviderOVN is the provider that is served by the network itself and can do
// less than the others.
const ProviderOVN = "ovn"

// Capabilities is what one cloud is able to do.
type Capabilities struct {
	// APIVersion is the newest version that Octavia offers.
	APIVersion Version `json:"apiVersion"`
	// Provider is the provider that load balancers are made with.
	Provider string `json:"provider"`
}

// Has tells whether the cloud has the feature. A feature that is not in the
// table is one nobody has.
func (c Capabilities) Has(f Feature) bool {
	needs, known := features[f]
	if c.Provider == ProviderOVN && (needs.notOVN || !c.APIVersion.AtLeast(needs.ovnSince)) {
		return false
	}
	return known && c.APIVersion.AtLeast(needs.since)
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
