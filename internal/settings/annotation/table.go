// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Annotation is one line of the table.
type Annotation struct {
	// Key is the whole key.
	Key string
	// Values describes the possible values in a few words.
	Values string
	// Default describes what applies if the annotation is not set.
	Default string
	// Doc describes the effect.
	Doc string
	// Change is when a change of the value takes effect.
	Change Change
	// Needs are the features of the cloud that it requires. Without them the Service is refused or,
	// with WithoutIt, served without the annotation, which a condition reports.
	Needs     []lb.Feature
	WithoutIt bool
	// Protects is what the annotation protects, or "". A misspelt key of such an annotation makes
	// kube-octavia refuse the Service.
	Protects Protection
	// Output is true for annotations that kube-octavia writes for users to read.
	Output bool
	// Rule is the rule with which kube-apiserver refuses what the parser would refuse. Annotations
	// with Output have none.
	Rule Rule

	apply func(*Options, string) error
}

// Change is when a change of an annotation takes effect.
type Change string

// The times of a change.
const (
	// AtOnce is for settings that can be changed in an existing load balancer.
	AtOnce Change = "at once"
	// NextFloatingIP is for settings that apply when a floating IP is created.
	NextFloatingIP Change = "when a floating IP is created"
	// NeedsNewService is for settings that are fixed.
	NeedsNewService Change = "refused: delete the Service and create it again"
	// NeedsReplacement is for settings that Octavia cannot change.
	NeedsReplacement Change = "refused, or with allow-replacement the load balancer is replaced"
)

// Table has all annotations, in the order of the reference page.
var Table = slices.Concat(addressLines, placementLines, protocolLines, trafficLines, monitorLines, metricsLines, tagLines, otherLines, outputLines)

// addressLines are about addresses and access.
var addressLines = []Annotation{
	set(boolean, func(o *Options) *bool { return &o.Internal }, Annotation{
		Key:      Internal,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] internal-lb",
		Doc:      "true: the load balancer gets no floating IP. The VIP stays when the value changes. If the operator sets internal-lb = true, false has no effect.",
	}),
	set(sourceRanges, func(o *Options) *[]string { return &o.SourceRanges }, Annotation{
		Key:      SourceRanges,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] source-ranges",
		Doc: "The clients that may connect, if spec.loadBalancerSourceRanges is empty. An empty value allows every client. " +
			"Needs Octavia API version 2.12, or with provider ovn manage-security-groups = true; otherwise the Service is refused.",
	}),
	set(securityGroups, func(o *Options) *[]string { return &o.VIPSecurityGroups }, Annotation{
		Key:      VIPSecurityGroups,
		Protects: RestrictsAccess,
		Default:  "none",
		Doc: "Security groups of the project that restrict the clients [instead of source ranges](../service-authors.md#security-groups-of-the-vip). " +
			"Cannot be combined with source ranges. On a live Service ranges can be replaced by groups; replacing groups by ranges needs allow-replacement.",
		Needs: []lb.Feature{lb.FeatureVIPSecurityGroups},
	}),
	set(boolean, func(o *Options) *bool { return &o.KeepFloatingIP }, Annotation{
		Key:      KeepFloatingIP,
		Protects: Keeps,
		Default:  "false",
		Doc:      "When the Service is deleted or becomes internal, the floating IP is detached and stays in the project.",
	}),
	set(floatingIP, func(o *Options) *string { return &o.FloatingIP }, Annotation{
		Key:      FloatingIP,
		Protects: Keeps,
		Default:  "spec.loadBalancerIP, or any",
		Doc:      "The floating IP of an external Service, by address or id. A floating IP of the project is attached if it is unused, and kept when the Service is deleted. For an address without a floating IP a new one is created, if the cloud allows that. After a change the Service moves to the other address. Replaces spec.loadBalancerIP, which Kubernetes has deprecated.",
	}),
	set(oneOf(StatusFloating, StatusVIP, StatusBoth), func(o *Options) *StatusAddresses { return &o.StatusAddresses }, Annotation{
		Key:     OwnPrefix + "status-addresses",
		Default: "floating",
		Doc:     "Which addresses of an external Service its status shows: the floating IP, the VIP, or both, the floating IP first. The status of an internal Service shows the VIP.",
	}),
	set(id(value.Network), func(o *Options) *string { return &o.FloatingNetworkID }, Annotation{
		Key:      Prefix + "floating-network-id",
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] floating-network-id",
		Doc:      "The external network of the floating IP. Without one, or with an empty value: with several external networks that have IPv4, the one that the router of the VIP's subnet leads to, or the first by name if the project does not see that router.",
		Change:   NextFloatingIP,
	}),
	set(id(value.FloatingSubnet), func(o *Options) *string { return &o.FloatingSubnetID }, Annotation{
		Key:      Prefix + "floating-subnet-id",
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] floating-subnet-id",
		Doc:      "The subnet of that network for the floating IP.",
		Change:   NextFloatingIP,
	}),
	set(subnetName, func(o *Options) *string { return &o.FloatingSubnets.Name }, Annotation{
		Key:      Prefix + "floating-subnet",
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] floating-subnet",
		Doc:      "The subnets of that network to try in turn, if floating-subnet-id is not set: a name, a pattern with * and ?, or ~ and a regular expression (RE2) that matches any part of the name. A leading ! selects all other subnets.",
		Change:   NextFloatingIP,
	}),
	set(subnetTags, func(o *Options) *string { return &o.FloatingSubnets.Tags }, Annotation{
		Key:      Prefix + "floating-subnet-tags",
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] floating-subnet-tags",
		Doc:      "The tags of the subnets to try: any tag of the list, or with a leading & all of them. A leading ! selects all other subnets. If floating-subnet is set too, both must match.",
		Change:   NextFloatingIP,
	}),
	set(hostname, func(o *Options) *string { return &o.Hostname }, Annotation{
		Key:     Prefix + "hostname",
		Default: "none",
		Doc:     "The host name to show in the status instead of the address; it is not resolved. Traffic from Pods to this name then passes the load balancer.",
	}),
}

// placementLines are about the place and the properties of the load balancer.
var placementLines = []Annotation{
	set(name, func(o *Options) *string { return &o.Class }, Annotation{
		Key:      ClassKey,
		Protects: RestrictsAccess,
		Values:   "name of a [LoadBalancerClass]",
		Default:  "none",
		Doc:      "Selects a section [LoadBalancerClass] of cloud.conf. After a change, settings that Octavia can change in place are applied; the others apply only to load balancers that are created later.",
	}),
	set(name, func(o *Options) *string { return &o.Group }, Annotation{
		Key:      LoadBalancerGroup,
		Protects: ChoosesBalancer,
		Default:  "none",
		Doc:      "Services of a namespace with the same group [share one load balancer](../service-authors.md#share-a-load-balancer). With [LoadBalancer] shared-lb-scope = cluster or any, groups span all namespaces. A Service that already has a load balancer keeps it, even when it leaves the group.",
		Change:   NeedsNewService,
	}),
	set(id(value.Subnet), func(o *Options) *string { return &o.SubnetID }, Annotation{
		Key:      SubnetID,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] subnet-id",
		Doc:      "The subnet of the VIP, and of the members if member-subnet-id is not set. With empty subnet-id and network-id, the subnet of the nodes.",
		Change:   NeedsReplacement,
	}),
	set(id(value.Network), func(o *Options) *string { return &o.NetworkID }, Annotation{
		Key:      NetworkID,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] network-id",
		Doc:      "The network of the VIP, if subnet-id is not set; Octavia chooses the subnet. For a Service with IPv6 it is the first by name of each family.",
		Change:   NeedsReplacement,
	}),
	set(id(value.Port), func(o *Options) *string { return &o.PortID }, Annotation{
		Key:      PortID,
		Protects: RestrictsAccess,
		Default:  "none",
		Doc:      "An existing Neutron port that becomes the VIP port. subnet-id, network-id and, for an internal Service, spec.loadBalancerIP are then ignored. The port is kept when the load balancer is deleted. A port that another load balancer uses is refused.",
		Change:   NeedsReplacement,
	}),
	set(id(value.Subnet), func(o *Options) *string { return &o.AdditionalSubnetID }, Annotation{
		Key:      AdditionalSubnetID,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] additional-subnet-id, or the first by name in the VIP's network",
		Doc:      "For dual-stack Services: the subnet of the second VIP, of the other IP family than subnet-id. It must be in the same network.",
		Change:   NeedsReplacement,
	}),
	set(id(value.Subnet), func(o *Options) *string { return &o.MemberSubnetID }, Annotation{
		Key:     MemberSubnetID,
		Default: "[LoadBalancer] member-subnet-id",
		Doc:     "The subnet of the members. If a node has several addresses, the one in this subnet becomes the member. Pools with members of another subnet are replaced.",
	}),
	set(id(value.Flavor), func(o *Options) *string { return &o.FlavorID }, Annotation{
		Key:       FlavorID,
		Default:   "[LoadBalancer] flavor-id",
		Doc:       "The Octavia flavor of the load balancer.",
		Change:    NeedsReplacement,
		Needs:     []lb.Feature{lb.FeatureFlavors},
		WithoutIt: true,
	}),
	set(name, func(o *Options) *string { return &o.AvailabilityZone }, Annotation{
		Key:       AvailabilityZone,
		Default:   "[LoadBalancer] availability-zone",
		Doc:       "The Octavia availability zone of the load balancer.",
		Change:    NeedsReplacement,
		Needs:     []lb.Feature{lb.FeatureAvailabilityZones},
		WithoutIt: true,
	}),
	set(boolean, func(o *Options) *bool { return &o.AllowReplacement }, Annotation{
		Key:     AllowReplacement,
		Default: "false",
		Doc:     "true: changes that Octavia cannot make in place are applied by building a [replacement](../service-authors.md#replace-what-octavia-cannot-change), which takes over the floating IP when it is complete. The address of an internal Service changes.",
	}),
}

// trafficLines are about connections and balancing.
var trafficLines = []Annotation{
	set(oneOf(config.TargetTypes...), func(o *Options) *string { return &o.TargetType }, Annotation{
		Key:     TargetType,
		Default: "[LoadBalancer] target-type",
		Doc:     "What the members are. node: the NodePorts of the nodes. pod: the [Pods themselves](../service-authors.md#pods-as-members), without NodePorts; externalTrafficPolicy and the selection of nodes then have no effect.",
	}),
	set(nodeSelector, func(o *Options) *value.NodeSelector { return &o.NodeSelector }, Annotation{
		Key:     NodeSelector,
		Default: "[LoadBalancer] node-selector",
		Doc:     "Only nodes with all these labels become members; a key without a value matches any value. An empty value selects all nodes.",
	}),
	set(members, func(o *Options) *int { return &o.MaxMembers }, Annotation{
		Key:     MaxMembers,
		Default: "[LoadBalancer] max-members (all)",
		Doc:     "How many nodes become [members](../service-authors.md#fewer-members-in-large-clusters) of each pool. 0: all nodes. Has no effect with externalTrafficPolicy Local.",
	}),
	set(oneOf(config.NodeAddressTypes...), func(o *Options) *string { return &o.NodeAddressType }, Annotation{
		Key:     NodeAddressType,
		Default: "[LoadBalancer] node-address-type",
		Doc:     "Which of [a node's addresses](../service-authors.md#which-address-of-a-node) becomes the member: the first of this type, or else of the other type. An address in member-subnet-id comes first.",
	}),
	set(oneOf(config.Methods...), func(o *Options) *string { return &o.Method }, Annotation{
		Key:     Method,
		Default: "[LoadBalancer] lb-method",
		Doc:     "The balancing method of each pool. Provider ovn supports SOURCE_IP_PORT, which is its default, and others only if cloud.conf says so. Provider amphora supports all but SOURCE_IP_PORT.",
	}),
	set(connections, func(o *Options) *int { return &o.ConnectionLimit }, Annotation{
		Key:       ConnectionLimit,
		Default:   "-1, no limit",
		Doc:       "The maximum number of simultaneous connections of each port.",
		Needs:     []lb.Feature{lb.FeatureConnectionLimit},
		WithoutIt: true,
	}),
	timeoutLine("client-data", "50000", "How long a client connection may be idle.", func(o *Options) *int { return &o.Timeouts.ClientData }),
	timeoutLine("member-connect", "5000", "How long connecting to a node may take.", func(o *Options) *int { return &o.Timeouts.MemberConnect }),
	timeoutLine("member-data", "50000", "How long a connection to a node may be idle.", func(o *Options) *int { return &o.Timeouts.MemberData }),
	timeoutLine("tcp-inspect", "0", "How long to wait for content to inspect before a connection is forwarded.", func(o *Options) *int { return &o.Timeouts.TCPInspect }),
}

func timeoutLine(name, usual, doc string, field func(*Options) *int) Annotation {
	return set(timeout, field, Annotation{
		Key: TimeoutPrefix + name, Default: usual, Doc: doc, Needs: []lb.Feature{lb.FeatureTimeouts}, WithoutIt: true,
	})
}

// monitorLines are about health monitors.
var monitorLines = []Annotation{
	set(boolean, func(o *Options) *bool { return &o.Monitor }, Annotation{
		Key:       EnableMonitor,
		Default:   "[LoadBalancer] create-monitor",
		Doc:       "true: each pool gets a health monitor. With externalTrafficPolicy Local it probes the health check node port, and traffic goes to the nodes that pass. Without a monitor, the members are the nodes with ready endpoints.",
		Needs:     []lb.Feature{lb.FeatureMonitor},
		WithoutIt: true,
	}),
	set(seconds, func(o *Options) *time.Duration { return &o.MonitorDelay }, Annotation{
		Key:     Prefix + "health-monitor-delay",
		Default: "[LoadBalancer] monitor-delay (5s)",
		Doc:     "The time between two probes.",
	}),
	set(seconds, func(o *Options) *time.Duration { return &o.MonitorTimeout }, Annotation{
		Key:     Prefix + "health-monitor-timeout",
		Values:  "seconds, 1 up to the delay",
		Default: "[LoadBalancer] monitor-timeout (3s)",
		Doc:     "How long a probe may take.",
	}),
	set(retries, func(o *Options) *int { return &o.MonitorMaxRetries }, Annotation{
		Key:     Prefix + "health-monitor-max-retries",
		Default: "[LoadBalancer] monitor-max-retries (1)",
		Doc:     "Successful probes until a member is ONLINE.",
	}),
	set(retries, func(o *Options) *int { return &o.MonitorMaxRetriesDown }, Annotation{
		Key:     Prefix + "health-monitor-max-retries-down",
		Default: "[LoadBalancer] monitor-max-retries-down (3)",
		Doc:     "Failed probes until a member is in ERROR and gets no traffic.",
	}),
}

// metricsLines are about the load balancer's own metrics.
var metricsLines = []Annotation{
	set(sourceRanges, func(o *Options) *[]string { return &o.MetricsAllowedCIDRs }, Annotation{
		Key:      MetricsAllowedCIDRs,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] metrics-allowed-cidrs",
		Doc:      "The clients that may read the metrics at metrics-port. An empty value allows none.",
	}),
	set(number(1, 65535, ""), func(o *Options) *int { return &o.MetricsPort }, Annotation{
		Key:       MetricsPort,
		Default:   "none",
		Doc:       "The port at which the load balancer serves [its own metrics](../service-authors.md#metrics) to Prometheus. It must not be one of the Service's TCP ports. Refused if no client may read it.",
		Needs:     []lb.Feature{lb.FeaturePrometheus},
		WithoutIt: true,
	}),
}

// tagLines are about tags in the cloud.
var tagLines = []Annotation{
	tagLine(LoadBalancerTags, "the load balancer", func(o *Options) *[]string { return &o.LoadBalancerTags }, lb.FeatureTags),
	tagLine(ListenerTags, "the listener of each port", func(o *Options) *[]string { return &o.ListenerTags }, lb.FeatureTags),
	tagLine(PoolTags, "the pool of each port", func(o *Options) *[]string { return &o.PoolTags }, lb.FeatureTags),
	tagLine(FloatingIPTags, "the floating IP", func(o *Options) *[]string { return &o.FloatingIPTags }),
}

func tagLine(key, of string, field func(*Options) *[]string, needs ...lb.Feature) Annotation {
	return set(tags, field, Annotation{
		Key: key, Default: "none", Needs: needs, WithoutIt: len(needs) > 0,
		Doc: "Tags of " + of + ", in addition to [LoadBalancer] tags and the [tags of kube-octavia](names-and-tags.md#custom-tags).",
	})
}

var otherLines = []Annotation{
	set(oneOf(DriftRepair, DriftReport, DriftIgnore), func(o *Options) *Drift { return &o.Drift }, Annotation{
		Key:      DriftPolicy,
		Protects: Keeps,
		Default:  "repair",
		Doc:      "What happens to changes that other clients make in the cloud. repair: undo them at the next sweep. report: keep them until the Service or its nodes change, and report them in condition Programmed and an event. ignore: keep them, without a report.",
	}),
}

// outputLines are written for users to read, and for controllers after a restart.
var outputLines = []Annotation{
	{
		Key:      LoadBalancerID,
		Protects: ChoosesBalancer,
		Values:   "UUID",
		Output:   true,
		Doc:      "The Octavia id of the Service's load balancer. A Service that is created with the id of another Service's load balancer [shares](../service-authors.md#share-a-load-balancer) it, if [LoadBalancer] shared-lb-scope allows that. Do not change it later.",
		apply: func(o *Options, text string) error {
			o.LoadBalancerID = strings.TrimSpace(text)
			return nil
		},
	},
	{
		Key:    LoadBalancerAddress,
		Values: "IP address",
		Output: true,
		Doc:    "The address at which clients reach the Service.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Managed,
		Values: "UUID and class",
		Output: true,
		Doc:    "The Service's uid and the controller's --load-balancer-class. It is set before the first cloud object is created and removed after the last one is deleted, so that the Service is recognised when its type or class changes. Do not change it.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Programmed,
		Values: "text",
		Output: true,
		Doc:    "What was last confirmed: a digest of the Service's last spec that was fully applied, the time at which Octavia last changed the load balancer, a digest of its members, and a digest of their settings. After a restart the controller uses it to distinguish changes of the Service from drift, and to find out which load balancers it must read. Do not change it.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    VIPAddress,
		Values: "IP address and subnet id",
		Output: true,
		Doc:    "The address that an internal Service keeps while its failed load balancer is replaced. If the condition reports AddressInUse, remove the annotation to get another address.",
		apply:  func(*Options, string) error { return nil },
	},
}
