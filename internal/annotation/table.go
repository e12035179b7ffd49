// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Annotation is one line of the table.
type Annotation struct {
	// Key is the whole key.
	Key string
	// Values says in a word or two what may stand there.
	Values string
	// Default says what holds when the annotation is not set.
	Default string
	// Doc says what it does.
	Doc string
	// Change says when a change of the value takes effect.
	Change Change
	// Needs are the features of the cloud without which it cannot be honoured. Then
	// the Service is refused, or, with WithoutIt, served and told.
	Needs     []lb.Feature
	WithoutIt bool
	// Output is set for annotations that are written for the user to read.
	Output bool
	// Rule is for kube-apiserver, to refuse what the parser would. Those with Output have none.
	Rule Rule

	apply func(*Options, string) error
}

// Change says when a change of an annotation takes effect.
type Change string

// The times of a change.
const (
	// AtOnce is for what can be changed in a load balancer that is there.
	AtOnce Change = "at once"
	// NextFloatingIP is for what counts when a floating IP is made.
	NextFloatingIP Change = "when a floating IP is made"
	// NeedsNewService is for what is decided once.
	NeedsNewService Change = "refused: delete the Service and make it again"
	// NeedsReplacement is for what Octavia cannot change.
	NeedsReplacement Change = "refused, or with allow-replacement the load balancer is replaced"
)

// Table is all annotations that are known, in the order of the reference page.
var Table = slices.Concat(addressLines, placementLines, protocolLines, trafficLines, monitorLines, metricsLines, tagLines, otherLines, outputLines)

// addressLines say where clients reach the Service, and who may.
var addressLines = []Annotation{
	set(boolean, func(o *Options) *bool { return &o.Internal }, Annotation{
		Key:     "service.beta.kubernetes.io/openstack-internal-load-balancer",
		Default: "[LoadBalancer] internal-lb",
		Doc:     "The load balancer has a VIP and no floating IP. The VIP stays when it changes. Where internal-lb is true, false has no effect here.",
	}),
	set(sourceRanges, func(o *Options) *[]string { return &o.SourceRanges }, Annotation{
		Key:     "service.beta.kubernetes.io/load-balancer-source-ranges",
		Default: "[LoadBalancer] source-ranges",
		Doc:     "Who may connect, when spec.loadBalancerSourceRanges is empty. Set and empty it is everybody.",
		Needs:   []lb.Feature{lb.FeatureAllowedCIDRs},
	}),
	set(boolean, func(o *Options) *bool { return &o.KeepFloatingIP }, Annotation{
		Key:     KeepFloatingIP,
		Default: "false",
		Doc:     "The floating IP stays in the project, detached, when the Service is deleted or becomes internal.",
	}),
	set(floatingIP, func(o *Options) *string { return &o.FloatingIP }, Annotation{
		Key:     FloatingIP,
		Default: "spec.loadBalancerIP, or any",
		Doc:     "The floating IP of an external Service, by its address or its id. One that the project has is attached when nothing uses it, and stays when the Service goes; of an address that nobody has one is made, where the cloud allows that. A change moves the Service from one to the other. Takes the place of spec.loadBalancerIP, which Kubernetes has deprecated.",
	}),
	set(oneOf(StatusFloating, StatusVIP, StatusBoth), func(o *Options) *StatusAddresses { return &o.StatusAddresses }, Annotation{
		Key:     OwnPrefix + "status-addresses",
		Default: "floating",
		Doc:     "Which addresses of an external Service its status has: the floating IP, the VIP, or the floating IP and then the VIP. That of an internal Service has the VIP.",
	}),
	set(uuid, func(o *Options) *string { return &o.FloatingNetworkID }, Annotation{
		Key:     Prefix + "floating-network-id",
		Default: "[LoadBalancer] floating-network-id",
		Doc:     "The external network to take a floating IP from. Set and empty it is the first by name that has an IPv4 subnet.",
		Change:  NextFloatingIP,
	}),
	set(uuid, func(o *Options) *string { return &o.FloatingSubnetID }, Annotation{
		Key:     Prefix + "floating-subnet-id",
		Default: "[LoadBalancer] floating-subnet-id",
		Doc:     "The subnet of that network to take it from.",
		Change:  NextFloatingIP,
	}),
	set(subnetName, func(o *Options) *string { return &o.FloatingSubnets.Name }, Annotation{
		Key:     Prefix + "floating-subnet",
		Default: "[LoadBalancer] floating-subnet",
		Doc:     "The subnets of that network to try, one after the other, where floating-subnet-id is not set: a name, a pattern with * and ?, or a regular expression (RE2, of any part of the name) after ~; each after ! for all others.",
		Change:  NextFloatingIP,
	}),
	set(subnetTags, func(o *Options) *string { return &o.FloatingSubnets.Tags }, Annotation{
		Key:     Prefix + "floating-subnet-tags",
		Default: "[LoadBalancer] floating-subnet-tags",
		Doc:     "Their tags: any of a list, or all of it after &; each after ! for subnets that have not. With floating-subnet both must hold.",
		Change:  NextFloatingIP,
	}),
	set(hostname, func(o *Options) *string { return &o.Hostname }, Annotation{
		Key:     Prefix + "hostname",
		Default: "none",
		Doc:     "The Service's status has this name in place of the address, which is not looked up. Pods of the cluster that use the name then take the way through the load balancer.",
	}),
}

// placementLines say where and how the load balancer is made.
var placementLines = []Annotation{
	set(name, func(o *Options) *string { return &o.Class }, Annotation{
		Key:     ClassKey,
		Values:  "name of a [LoadBalancerClass]",
		Default: "none",
		Doc:     "A choice of settings that the operator made. Other annotations win over it, and it wins over [LoadBalancer]. When it changes, what can be changed in the load balancer that is there is changed; the rest counts for the next one.",
	}),
	set(name, func(o *Options) *string { return &o.Group }, Annotation{
		Key:     LoadBalancerGroup,
		Default: "none",
		Doc:     "Services of one namespace with the same name here share one load balancer, and those of other namespaces, too, where [LoadBalancer] shared-lb-scope is cluster or any. The oldest makes it. A Service that has a load balancer already keeps that, and so does one that leaves the group.",
		Change:  NeedsNewService,
	}),
	set(uuid, func(o *Options) *string { return &o.SubnetID }, Annotation{
		Key:     SubnetID,
		Default: "[LoadBalancer] subnet-id",
		Doc:     "The subnet of the VIP, and of the members where member-subnet-id is not set. With subnet-id and network-id both empty it is the subnet of the nodes.",
		Change:  NeedsReplacement,
	}),
	set(uuid, func(o *Options) *string { return &o.NetworkID }, Annotation{
		Key:     NetworkID,
		Default: "[LoadBalancer] network-id",
		Doc:     "The network of the VIP, where subnet-id is not set; Octavia chooses the subnet.",
		Change:  NeedsReplacement,
	}),
	set(uuid, func(o *Options) *string { return &o.PortID }, Annotation{
		Key:     PortID,
		Default: "none",
		Doc:     "A port that is there already and becomes the VIP. It says where that is, so that subnet-id, network-id and the address in spec.loadBalancerIP of an internal Service do not count. It stays when the load balancer goes. A port that another load balancer has is refused.",
		Change:  NeedsReplacement,
	}),
	set(uuid, func(o *Options) *string { return &o.AdditionalSubnetID }, Annotation{
		Key:     AdditionalSubnetID,
		Default: "[LoadBalancer] additional-subnet-id, or the first by name in the VIP's network",
		Doc:     "The subnet of the VIP of the other IP family than subnet-id's, for a Service that has both in spec.ipFamilies. It has to be in the same network.",
		Change:  NeedsReplacement,
	}),
	set(uuid, func(o *Options) *string { return &o.MemberSubnetID }, Annotation{
		Key:     MemberSubnetID,
		Default: "[LoadBalancer] member-subnet-id",
		Doc:     "The subnet from which nodes are reached. Of a node with several addresses that inside it is the member. Where members of another subnet are there, pools with the right ones take their place.",
	}),
	set(uuid, func(o *Options) *string { return &o.FlavorID }, Annotation{
		Key:       FlavorID,
		Default:   "[LoadBalancer] flavor-id",
		Doc:       "Octavia's flavor of the load balancer.",
		Change:    NeedsReplacement,
		Needs:     []lb.Feature{lb.FeatureFlavors},
		WithoutIt: true,
	}),
	set(name, func(o *Options) *string { return &o.AvailabilityZone }, Annotation{
		Key:       AvailabilityZone,
		Default:   "[LoadBalancer] availability-zone",
		Doc:       "Octavia's availability zone of the load balancer.",
		Change:    NeedsReplacement,
		Needs:     []lb.Feature{lb.FeatureAvailabilityZones},
		WithoutIt: true,
	}),
	set(boolean, func(o *Options) *bool { return &o.AllowReplacement }, Annotation{
		Key:     AllowReplacement,
		Default: "false",
		Doc:     "What Octavia cannot change is had by another load balancer, which is built beside the one that is there, takes over the floating IP when it is complete, and then stays alone. The address of an internal Service changes.",
	}),
}

// trafficLines say how connections are taken and spread.
var trafficLines = []Annotation{
	set(nodeSelector, func(o *Options) *config.NodeSelector { return &o.NodeSelector }, Annotation{
		Key:     NodeSelector,
		Default: "[LoadBalancer] node-selector",
		Doc:     "Only nodes that have all these labels become members; a key alone stands for any value. Set and empty it selects all nodes. A change of a node's labels is followed at once.",
	}),
	set(oneOf(config.NodeAddressTypes...), func(o *Options) *string { return &o.NodeAddressType }, Annotation{
		Key:     NodeAddressType,
		Default: "[LoadBalancer] node-address-type",
		Doc:     "Which of [a node's addresses](../service-authors.md#which-address-of-a-node) is the member: one of this type if there is any, and else one of the other. With member-subnet-id an address in that subnet comes before both.",
	}),
	set(oneOf(config.Methods...), func(o *Options) *string { return &o.Method }, Annotation{
		Key:     Prefix + "lb-method",
		Default: "[LoadBalancer] lb-method",
		Doc:     "How each port chooses a node for a new connection. Provider ovn knows SOURCE_IP_PORT only, and takes that when nothing is set here.",
	}),
	set(connections, func(o *Options) *int { return &o.ConnectionLimit }, Annotation{
		Key:       ConnectionLimit,
		Default:   "-1, any number",
		Doc:       "How many connections each port takes at once.",
		Needs:     []lb.Feature{lb.FeatureConnectionLimit},
		WithoutIt: true,
	}),
	timeoutLine("client-data", "50000", "How long a client may be silent before its connection is closed.", func(o *Options) *int { return &o.Timeouts.ClientData }),
	timeoutLine("member-connect", "5000", "How long a connection to a node may take to open.", func(o *Options) *int { return &o.Timeouts.MemberConnect }),
	timeoutLine("member-data", "50000", "How long a node may be silent before its connection is closed.", func(o *Options) *int { return &o.Timeouts.MemberData }),
	timeoutLine("tcp-inspect", "0", "How long to wait for what is to be looked into before a connection is forwarded.", func(o *Options) *int { return &o.Timeouts.TCPInspect }),
}

func timeoutLine(name, value, doc string, field func(*Options) *int) Annotation {
	return set(timeout, field, Annotation{
		Key: TimeoutPrefix + name, Default: value, Doc: doc, Needs: []lb.Feature{lb.FeatureTimeouts}, WithoutIt: true,
	})
}

// monitorLines are about health monitors.
var monitorLines = []Annotation{
	set(boolean, func(o *Options) *bool { return &o.Monitor }, Annotation{
		Key:       Prefix + "enable-health-monitor",
		Default:   "[LoadBalancer] create-monitor",
		Doc:       "Each pool has a health monitor. With externalTrafficPolicy: Local it looks at the node's health check port and decides which nodes get traffic; without one the members are the nodes that have ready endpoints.",
		Needs:     []lb.Feature{lb.FeatureMonitor},
		WithoutIt: true,
	}),
	set(seconds, func(o *Options) *time.Duration { return &o.MonitorDelay }, Annotation{
		Key:     Prefix + "health-monitor-delay",
		Default: "[LoadBalancer] monitor-delay (5s)",
		Doc:     "The time between two looks of the health monitor.",
	}),
	set(seconds, func(o *Options) *time.Duration { return &o.MonitorTimeout }, Annotation{
		Key:     Prefix + "health-monitor-timeout",
		Values:  "seconds, 1 up to the delay",
		Default: "[LoadBalancer] monitor-timeout (3s)",
		Doc:     "How long one look may take.",
	}),
	set(retries, func(o *Options) *int { return &o.MonitorMaxRetries }, Annotation{
		Key:     Prefix + "health-monitor-max-retries",
		Default: "[LoadBalancer] monitor-max-retries (1)",
		Doc:     "How many good looks bring a member up.",
	}),
	set(retries, func(o *Options) *int { return &o.MonitorMaxRetriesDown }, Annotation{
		Key:     Prefix + "health-monitor-max-retries-down",
		Default: "[LoadBalancer] monitor-max-retries-down (3)",
		Doc:     "How many bad looks take a member down.",
	}),
}

// metricsLines are about the load balancer's own metrics.
var metricsLines = []Annotation{
	set(sourceRanges, func(o *Options) *[]string { return &o.MetricsAllowedCIDRs }, Annotation{
		Key:     MetricsAllowedCIDRs,
		Default: "[LoadBalancer] metrics-allowed-cidrs",
		Doc:     "Who may read the metrics at metrics-port. Set and empty it is nobody.",
	}),
	set(number(1, 65535), func(o *Options) *int { return &o.MetricsPort }, Annotation{
		Key:       MetricsPort,
		Default:   "none",
		Doc:       "A port of the load balancer, none of the Service's TCP ports, at which it tells Prometheus [about itself](../service-authors.md#metrics). Refused where nobody may read it.",
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
		Doc: "Tags of " + of + " beside those of [LoadBalancer] tags and [our own](../service-authors.md#tags).",
	})
}

var otherLines = []Annotation{
	set(oneOf(DriftRepair, DriftReport, DriftIgnore), func(o *Options) *Drift { return &o.Drift }, Annotation{
		Key:     DriftPolicy,
		Default: "repair",
		Doc:     "What becomes of what somebody else changed in the cloud: it is repaired at the next sweep; or told, in condition Programmed and an event, and left until the Service or its nodes change; or left without a word.",
	}),
}

// outputLines are written for the user to read, and for the controller after this one.
var outputLines = []Annotation{
	{
		Key:    LoadBalancerID,
		Values: "UUID",
		Output: true,
		Doc:    "The Octavia id of the Service's load balancer. Written by kube-octavia. A Service that is made with the id of another one's load balancer gets its ports on that, where [LoadBalancer] shared-lb-scope allows it: an external Service on one with a floating IP, an internal one on one without. It is not to be changed later.",
		apply: func(o *Options, value string) error {
			o.LoadBalancerID = strings.TrimSpace(value)
			return nil
		},
	},
	{
		Key:    LoadBalancerAddress,
		Values: "IP address",
		Output: true,
		Doc:    "The address at which clients reach the Service. Written by kube-octavia.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Managed,
		Values: "UUID and class",
		Output: true,
		Doc:    "The Service's uid and the controller's --load-balancer-class. Written by kube-octavia before anything is made and removed when everything is gone: by it the Service is known when its type or class has changed. Leave it alone.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Programmed,
		Values: "text",
		Output: true,
		Doc:    "With drift-policy report or ignore: a digest of what the Service asked for when the cloud last had all of it. By it a controller that was just started tells a change of the Service from a change of the cloud. Leave it alone.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    VIPAddress,
		Values: "IP address and subnet id",
		Output: true,
		Doc:    "The address that an internal Service keeps while its load balancer, which failed, is replaced. Written by kube-octavia. Remove it if the condition says that somebody took the address, to get another one.",
		apply:  func(*Options, string) error { return nil },
	},
}
