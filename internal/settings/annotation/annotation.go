// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotation has the annotations of Services in one table: key, type of value, default,
// meaning. The parser and the generated documentation use this table. The package is pure.
package annotation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Prefix is the prefix of most keys, which openstack-cloud-controller-manager has introduced.
const Prefix = "loadbalancer.openstack.org/"

// OwnPrefix is the prefix of keys that openstack-cloud-controller-manager does not have.
const OwnPrefix = "kube-octavia.io/"

// Keys that other code refers to.
const (
	// Internal means that the load balancer has no floating IP. SourceRanges are the addresses of
	// clients that may connect.
	Internal, SourceRanges = kubernetesPrefix + "openstack-internal-load-balancer", kubernetesPrefix + "load-balancer-source-ranges"
	// DriftPolicy is what happens to changes that other clients make in the cloud.
	DriftPolicy = OwnPrefix + "drift-policy"
	// Managed has the uid of a Service with objects in the cloud, and the class of the controller
	// that created them.
	Managed = OwnPrefix + "managed"
	// Programmed has a digest of the Service's spec that was last applied completely, and the state
	// of the cloud at that time: see survey.Note.
	Programmed = OwnPrefix + "programmed"
	// VIPAddress has the address of an internal Service, and the id of its subnet, while its load
	// balancer is deleted and created again.
	VIPAddress = OwnPrefix + "vip-address"
	// ConnectionLimit is the maximum number of simultaneous connections of each port.
	ConnectionLimit = Prefix + "connection-limit"
	// NodeSelector selects the nodes that become members.
	NodeSelector = Prefix + "node-selector"
	// MaxMembers is the maximum number of nodes that become members.
	MaxMembers = OwnPrefix + "max-members"
	// TargetType determines whether nodes or Pods become members.
	TargetType = OwnPrefix + "target-type"
	// NodeAddressType is the type of the node address that becomes the member.
	NodeAddressType = Prefix + "node-address-type"
	// FloatingIP requests a specific floating IP, by address or id.
	FloatingIP = OwnPrefix + "floating-ip"
	// ClassKey names one of the operator's classes.
	ClassKey = Prefix + "class"
	// SubnetID, NetworkID and PortID determine the place of the VIP, FlavorID and AvailabilityZone
	// that of the load balancer.
	SubnetID, NetworkID, PortID = Prefix + "subnet-id", Prefix + "network-id", Prefix + "port-id"
	FlavorID, AvailabilityZone  = Prefix + "flavor-id", Prefix + "availability-zone"
	// AllowReplacement allows a load balancer that cannot be changed to be replaced.
	AllowReplacement = Prefix + "allow-replacement"
	// AdditionalSubnetID is the subnet of the VIP of the second IP family.
	AdditionalSubnetID = OwnPrefix + "additional-subnet-id"
	// MemberSubnetID is the subnet of the members.
	MemberSubnetID = Prefix + "member-subnet-id"
	// ProtocolsKey has the protocols of single ports, and the next three those of all ports.
	ProtocolsKey  = OwnPrefix + "protocols"
	ProxyProtocol = Prefix + "proxy-protocol"
	XForwardedFor = Prefix + "x-forwarded-for"
	TLSContainer  = Prefix + "default-tls-container-ref"
	// TLSSecret names a Secret with a certificate. It takes precedence over TLSContainer.
	TLSSecret = Prefix + "tls-secret"
	// SNIContainers are references to further certificates.
	SNIContainers = OwnPrefix + "sni-container-refs"
	// VIPSecurityGroups are the security groups of the VIP, which restrict its clients.
	VIPSecurityGroups = OwnPrefix + "vip-security-groups"
	// HSTSMaxAge adds the header Strict-Transport-Security to answers. The next two extend the
	// header.
	HSTSMaxAge            = OwnPrefix + "hsts-max-age"
	HSTSIncludeSubdomains = OwnPrefix + "hsts-include-subdomains"
	HSTSPreload           = OwnPrefix + "hsts-preload"
	// TimeoutPrefix is the beginning of the keys of the four timeouts.
	TimeoutPrefix = Prefix + "timeout-"
	// Method is the balancing method of pools.
	Method = Prefix + "lb-method"
	// EnableMonitor gives each pool a health monitor.
	EnableMonitor = Prefix + "enable-health-monitor"
	// MetricsPort is the port at which the load balancer serves its metrics to Prometheus,
	// MetricsAllowedCIDRs the clients that may read them.
	MetricsPort, MetricsAllowedCIDRs = OwnPrefix + "metrics-port", OwnPrefix + "metrics-allowed-cidrs"
	// LoadBalancerTags, ListenerTags, PoolTags and FloatingIPTags are tags in addition to those of
	// kube-octavia.
	LoadBalancerTags, ListenerTags = Prefix + "load-balancer-tags", Prefix + "listener-tags"
	PoolTags, FloatingIPTags       = Prefix + "pool-tags", OwnPrefix + "floating-ip-tags"
	// KeepFloatingIP keeps the floating IP when the load balancer is deleted.
	KeepFloatingIP = Prefix + "keep-floatingip"
	// LoadBalancerGroup names a group of Services that share one load balancer.
	LoadBalancerGroup = Prefix + "load-balancer-group"
	// LoadBalancerID has the Octavia id of the Service's load balancer.
	LoadBalancerID = Prefix + "load-balancer-id"
	// LoadBalancerAddress has the address at which clients reach it.
	LoadBalancerAddress = Prefix + "load-balancer-address"
)

// Timeouts are the keys of the four timeouts.
var Timeouts = []string{TimeoutPrefix + "client-data", TimeoutPrefix + "member-connect", TimeoutPrefix + "member-data", TimeoutPrefix + "tcp-inspect"}

// Drift is what happens to changes that other clients make in the cloud.
type Drift string

// The policies.
const (
	// DriftRepair undoes the changes.
	DriftRepair Drift = "repair"
	// DriftReport keeps the changes until the Service or its nodes change, and reports them.
	DriftReport Drift = "report"
	// DriftIgnore keeps the changes like DriftReport, but without a report.
	DriftIgnore Drift = "ignore"
)

// Options are the values of a Service's annotations, or the operator's defaults for those that are
// not set.
type Options struct {
	// Internal means that the load balancer has no floating IP.
	Internal bool
	// SourceRanges are the CIDRs that may connect if the Service's spec has none.
	SourceRanges []string
	// VIPSecurityGroups are security groups, by id or name, that restrict the clients instead of source ranges.
	VIPSecurityGroups []string
	// KeepFloatingIP keeps the floating IP in the project when it is no longer needed.
	KeepFloatingIP bool
	// Monitor gives each pool a health monitor.
	Monitor bool
	// MonitorDelay and MonitorTimeout are whole seconds.
	MonitorDelay, MonitorTimeout time.Duration
	// MonitorMaxRetries and MonitorMaxRetriesDown are 1 to 10.
	MonitorMaxRetries, MonitorMaxRetriesDown int
	// LoadBalancerID is the id of the load balancer that was last written or that the user has set.
	LoadBalancerID string
	// Group is the group of Services that share one load balancer, or "".
	Group string
	// Drift is what happens to changes that other clients make in the cloud.
	Drift Drift
	// ConnectionLimit is the maximum number of simultaneous connections of each port, or NoLimit.
	ConnectionLimit int
	// Timeouts are the timeouts of each port.
	Timeouts lb.Timeouts
	// NodeSelector selects the nodes that become members.
	NodeSelector value.NodeSelector
	// MaxMembers is the maximum number of nodes that become members of each pool; 0 means all.
	MaxMembers int
	// TargetType is one of config.TargetTypes.
	TargetType string
	// PodNetworkIDs are the networks of the Pods' subnets; see config.LoadBalancer.
	PodNetworkIDs []string
	// NodeAddressType is the preferred type of a node's addresses, one of config.NodeAddressTypes.
	// If it is empty, the subnet of the members decides.
	NodeAddressType string
	// Method is the balancing method of each port's pool, one of config.Methods, or empty if the
	// Service requests none.
	Method string
	// Class is the operator's class that the Service selects, or "".
	Class string
	// Provider is the Octavia provider of a new load balancer. OperatorsMethod is the Method that
	// applies if the Service requests none.
	Provider, OperatorsMethod string
	// SubnetID, or else NetworkID, is where the VIP is created, unless PortID is the port that
	// becomes the VIP port. All may be empty.
	SubnetID, NetworkID, PortID string
	// AdditionalSubnetID is the subnet of the VIP of the second IP family, or empty.
	AdditionalSubnetID string
	// MemberSubnetID is the subnet of the members, or empty for that of the VIP.
	MemberSubnetID string
	// FloatingNetworkID is the external network of the floating IP, or empty for any.
	// FloatingSubnetID, or else FloatingSubnets, is its subnet.
	FloatingNetworkID, FloatingSubnetID string
	FloatingSubnets                     value.SubnetPattern
	// FlavorID and AvailabilityZone are Octavia's, or empty.
	FlavorID, AvailabilityZone string
	// AllowReplacement allows a load balancer that cannot be changed to be replaced.
	AllowReplacement bool
	// Protocols are the protocols of single ports. The next three apply to all other TCP ports:
	// ProxyProtocol, unless it is empty, is the protocol of their pools, and XForwardedFor makes
	// them use HTTP.
	Protocols     Protocols
	ProxyProtocol lb.PoolProtocol
	XForwardedFor bool
	// TLSContainer, unless it is empty, is the certificate with which they terminate TLS.
	TLSContainer string
	// TLSSecret, unless it is empty, is the name of the Secret with their certificate. Then
	// TLSContainer is empty.
	TLSSecret string
	// SNIContainers are further certificates of ports that terminate TLS.
	SNIContainers []string
	// HSTS is the header that ports which terminate TLS add to answers.
	HSTS HSTS
	// Hostname, unless it is empty, is published instead of the address.
	Hostname string
	// StatusAddresses selects the addresses that are published.
	StatusAddresses StatusAddresses
	// FloatingIP is the address or the id of the requested floating IP, or "".
	FloatingIP string
	// MetricsPort is the port at which Prometheus reads the metrics of the load balancer, or 0.
	// MetricsAllowedCIDRs are the networks of clients that may read them; empty admits no client.
	MetricsPort         int
	MetricsAllowedCIDRs []string
	// Tags are the operator's tags of all objects. The others are additional tags, each for one
	// kind of object.
	Tags, LoadBalancerTags, ListenerTags, PoolTags, FloatingIPTags []string
}

// StatusAddresses selects the addresses of an external Service that are published.
type StatusAddresses string

// The choices.
const (
	// StatusFloating publishes the floating IP.
	StatusFloating StatusAddresses = "floating"
	// StatusVIP publishes the VIP.
	StatusVIP StatusAddresses = "vip"
	// StatusBoth publishes the floating IP and then the VIP.
	StatusBoth StatusAddresses = "both"
)

// HSTS has the settings of the header Strict-Transport-Security.
type HSTS struct {
	// MaxAge is in seconds. NoHSTS means no header.
	MaxAge                     int
	IncludeSubdomains, Preload bool
}

// NoHSTS is the MaxAge that means no header.
const NoHSTS = -1

// NoLimit is the ConnectionLimit that means no limit.
const NoLimit = -1

// Problem is an annotation that cannot be applied.
type Problem struct {
	// Key is the key as the user typed it.
	Key, Value string
	// Canonical is the corresponding key of the table or, if the key is misspelt, the nearest one. It is "" for one of
	// too many unknown keys.
	Canonical string
	// Text says what is wrong and what is right.
	Text string
	// Misspelt is true if the key is unknown and is probably meant as one that protects something.
	Misspelt bool
	// SelectorKnown means that the class is unknown, but an annotation names the selector of the nodes.
	SelectorKnown bool
}

// Concerns reports whether the problem concerns, or may concern, one of these keys of the table.
func (p Problem) Concerns(keys ...string) bool {
	return p.Canonical == "" || slices.Contains(keys, p.Canonical)
}

// Error makes a Problem an error that names key and value.
func (p Problem) Error() string {
	return fmt.Sprintf("annotation %s=%q: %s", p.Key, p.Value, p.Text)
}

// Parse parses a Service's annotations, under any of Prefixes. For annotations that are not set, the
// operator's defaults apply: those of the class that the Service selects. Problems are sorted by key. If
// there are any, the options must not be used.
func Parse(raw map[string]string, operator config.LoadBalancer) (Options, []Problem) {
	annotations := Canonical(raw)
	options, problems := parse(raw, annotations, operator)
	for i, p := range problems {
		problems[i].Canonical, problems[i].Key = p.Key, TypedKey(raw, p.Key)
	}
	problems = slices.Concat(problems, conflicts(raw), misspelt(raw))
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return options, problems
}

// parse parses annotations with the keys of the table; raw are the annotations that the user typed.
func parse(raw, annotations map[string]string, operator config.LoadBalancer) (Options, []Problem) {
	var problems []Problem
	defaults, there := operator.Of(classOf(annotations))
	if !there {
		problem := unknownClass(annotations, operator)
		_, problem.SelectorKnown = annotations[NodeSelector]
		problems = append(problems, problem)
		defaults, _ = operator.Of("")
	}
	options := over(defaults)
	withoutOtherNetworks(&options, annotations)
	for _, a := range Table {
		text, there := annotations[a.Key]
		if !there {
			continue
		}
		if err := a.apply(&options, text); err != nil {
			problems = append(problems, Problem{Key: a.Key, Value: text, Text: err.Error()})
		}
	}
	if len(problems) == 0 && options.MonitorTimeout > options.MonitorDelay {
		problems = append(problems, overlap(annotations, options))
	}
	if len(problems) == 0 {
		problems = append(problems, protocolProblems(raw, annotations, options, operator)...)
	}
	if options.TLSSecret != "" {
		options.TLSContainer = ""
	}
	if defaults.AtClusterIP != nil {
		// The ClusterIP determines the place of the VIP, and there may be no NodePorts.
		options.SubnetID, options.NetworkID, options.AdditionalSubnetID, options.PortID = defaults.SubnetID, "", "", ""
		options.TargetType = defaults.TargetType
		if defaults.AtClusterIP.Internal {
			// Annotations from a time when the Service had type LoadBalancer must not keep it public, or
			// prevent the use of its ClusterIP.
			options.FloatingIP, options.AllowReplacement = "", true
		}
	}
	// If the operator allows only internal load balancers, annotations cannot override this.
	options.Internal = options.Internal || defaults.Internal
	return options, problems
}

// over returns the options of a Service without annotations.
func over(defaults config.LoadBalancer) Options {
	options := Options{
		Provider:              defaults.Provider,
		OperatorsMethod:       defaults.Method,
		Drift:                 DriftRepair,
		StatusAddresses:       StatusFloating,
		Internal:              defaults.Internal,
		Monitor:               defaults.CreateMonitor,
		MonitorDelay:          defaults.MonitorDelay,
		MonitorTimeout:        defaults.MonitorTimeout,
		MonitorMaxRetries:     defaults.MonitorMaxRetries,
		MonitorMaxRetriesDown: defaults.MonitorMaxRetriesDown,
		ConnectionLimit:       NoLimit,
		HSTS:                  HSTS{MaxAge: NoHSTS},
		Timeouts:              lb.DefaultTimeouts,
		SubnetID:              defaults.SubnetID,
		NetworkID:             defaults.NetworkID,
		AdditionalSubnetID:    defaults.AdditionalSubnetID,
		MemberSubnetID:        defaults.MemberSubnetID,
		NodeAddressType:       defaults.NodeAddressType,
		MaxMembers:            defaults.MaxMembers,
		TargetType:            defaults.TargetType,
		FloatingNetworkID:     defaults.FloatingNetworkID,
		FloatingSubnetID:      defaults.FloatingSubnetID,
		FloatingSubnets:       defaults.FloatingSubnets,
		FlavorID:              defaults.FlavorID,
		AvailabilityZone:      defaults.AvailabilityZone,
		TLSContainer:          defaults.TLSContainer,
	}
	// The value was checked when the configuration was read.
	options.NodeSelector, _ = value.ParseNodeSelector(defaults.NodeSelector)
	options.SourceRanges, _ = value.ParseCIDRs(strings.Split(defaults.SourceRanges, ","))
	options.MetricsAllowedCIDRs, _ = value.ParseCIDRs(strings.Split(defaults.MetricsAllowedCIDRs, ","))
	options.Tags, _ = value.ParseTags(defaults.Tags)
	options.PodNetworkIDs, _ = value.ParseIDs(value.Network, defaults.PodNetworkIDs)
	return options
}

// withoutOtherNetworks removes the operator's settings of networks other than those in the
// annotations: a subnet of one network does not belong to the other.
func withoutOtherNetworks(o *Options, annotations map[string]string) {
	set := func(name string) bool { return strings.TrimSpace(annotations[Prefix+name]) != "" }
	if set("network-id") {
		o.SubnetID = ""
	}
	if set("network-id") || set("subnet-id") {
		o.AdditionalSubnetID = ""
	}
	if set("floating-network-id") {
		o.FloatingSubnetID, o.FloatingSubnets = "", value.SubnetPattern{}
	}
	if set("floating-subnet") || set("floating-subnet-tags") {
		o.FloatingSubnetID, o.FloatingSubnets = "", value.SubnetPattern{}
	}
}

func classOf(annotations map[string]string) string { return strings.TrimSpace(annotations[ClassKey]) }

func unknownClass(annotations map[string]string, operator config.LoadBalancer) Problem {
	known := "cloud.conf has none"
	if names := operator.ClassNames(); len(names) > 0 {
		known = "cloud.conf has " + strings.Join(names, ", ")
	}
	return Problem{Key: ClassKey, Value: annotations[ClassKey], Text: "class not found; " + known}
}

// Selector returns the selector of the nodes that become members, whatever else is wrong with the annotations. Options
// and problems are what Parse returns. The error is the Problem because of which the selector is unknown.
func Selector(options Options, problems []Problem) (value.NodeSelector, error) {
	for _, p := range problems {
		if p.Concerns(ClassKey, NodeSelector) && !p.SelectorKnown {
			return nil, p
		}
	}
	return options.NodeSelector, nil
}

// KeepsFloatingIP reads the one annotation that matters at the end. These keep the floating IP, too: a value that cannot
// be read, two that contradict each other, a misspelt key of this annotation or of FloatingIP, and so many unknown keys that
// one of these may be among them. The floating IP can still be deleted by hand, and could not be got back.
// Options and problems are what Parse returns for these annotations.
func KeepsFloatingIP(annotations map[string]string, options Options, problems []Problem) bool {
	unreadable := func(p Problem) bool {
		return p.Concerns(KeepFloatingIP) || p.Misspelt && p.Canonical == FloatingIP
	}
	// A key without a prefix is not a problem.
	misspelt := func(u Unknown) bool { return u.Nearest == KeepFloatingIP }
	return options.KeepFloatingIP || slices.ContainsFunc(problems, unreadable) || slices.ContainsFunc(FindUnknown(annotations), misspelt)
}

// overlap returns the problem that a probe of the health monitor may not have ended when the next
// one begins. Its key is that of the annotation that is set.
func overlap(annotations map[string]string, o Options) Problem {
	key := Prefix + "health-monitor-timeout"
	if _, there := annotations[key]; !there {
		key = Prefix + "health-monitor-delay"
	}
	return Problem{Key: key, Value: annotations[key], Text: fmt.Sprintf(
		"the timeout of %v must not be above the delay of %v, or probes would overlap", o.MonitorTimeout, o.MonitorDelay)}
}
