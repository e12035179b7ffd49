// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotation holds the annotations of a Service as one table: key, kind
// of value, default, meaning. The parser works from the table, and so does
// whatever explains annotations to people.
//
// It is pure.
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

// Prefix is what most keys begin with, as openstack-cloud-controller-manager
// named them.
const Prefix = "loadbalancer.openstack.org/"

// OwnPrefix is what keys begin with that openstack-cloud-controller-manager does
// not know.
const OwnPrefix = "kube-octavia.io/"

// Keys that are named elsewhere.
const (
	// Internal leaves the load balancer without a floating IP, and SourceRanges say who may connect.
	Internal, SourceRanges = kubernetesPrefix + "openstack-internal-load-balancer", kubernetesPrefix + "load-balancer-source-ranges"
	// DriftPolicy says how changes of other clients in the cloud are handled.
	DriftPolicy = OwnPrefix + "drift-policy"
	// Managed holds the uid of a Service that has something in the cloud, and the
	// class of the controller that made it.
	Managed = OwnPrefix + "managed"
	// Programmed holds a digest of what the Service asked for when the cloud last
	// had all of it, and what the cloud had then: see survey.Note.
	Programmed = OwnPrefix + "programmed"
	// VIPAddress holds the address of an internal Service, and the id of its subnet,
	// while its load balancer is deleted and another one made.
	VIPAddress = OwnPrefix + "vip-address"
	// ConnectionLimit says how many connections each port takes at once.
	ConnectionLimit = Prefix + "connection-limit"
	// NodeSelector says which nodes become members.
	NodeSelector = Prefix + "node-selector"
	// MaxMembers says how many of them.
	MaxMembers = OwnPrefix + "max-members"
	// TargetType says whether nodes or Pods become members.
	TargetType = OwnPrefix + "target-type"
	// NodeAddressType says which of a node's addresses becomes a member.
	NodeAddressType = Prefix + "node-address-type"
	// FloatingIP asks for a floating IP of the project, by its address or id.
	FloatingIP = OwnPrefix + "floating-ip"
	// ClassKey names one of the operator's classes.
	ClassKey = Prefix + "class"
	// SubnetID, NetworkID and PortID say where the VIP is, and FlavorID and
	// AvailabilityZone what the load balancer is made of.
	SubnetID, NetworkID, PortID = Prefix + "subnet-id", Prefix + "network-id", Prefix + "port-id"
	FlavorID, AvailabilityZone  = Prefix + "flavor-id", Prefix + "availability-zone"
	// AllowReplacement lets a load balancer be replaced that cannot be changed.
	AllowReplacement = Prefix + "allow-replacement"
	// AdditionalSubnetID says where the VIP of the second IP family is made.
	AdditionalSubnetID = OwnPrefix + "additional-subnet-id"
	// MemberSubnetID says from where nodes are reached.
	MemberSubnetID = Prefix + "member-subnet-id"
	// ProtocolsKey says what single ports speak, and the next three what all do.
	ProtocolsKey  = OwnPrefix + "protocols"
	ProxyProtocol = Prefix + "proxy-protocol"
	XForwardedFor = Prefix + "x-forwarded-for"
	TLSContainer  = Prefix + "default-tls-container-ref"
	// TLSSecret names a Secret with a certificate; it stands beside TLSContainer, whose
	// place it takes.
	TLSSecret = Prefix + "tls-secret"
	// SNIContainers holds further certificates.
	SNIContainers = OwnPrefix + "sni-container-refs"
	// VIPSecurityGroups are the security groups of the VIP, which say who may connect.
	VIPSecurityGroups = OwnPrefix + "vip-security-groups"
	// HSTSMaxAge adds header Strict-Transport-Security to answers, which the next two extend.
	HSTSMaxAge            = OwnPrefix + "hsts-max-age"
	HSTSIncludeSubdomains = OwnPrefix + "hsts-include-subdomains"
	HSTSPreload           = OwnPrefix + "hsts-preload"
	// TimeoutPrefix is what the keys of the four timeouts begin with.
	TimeoutPrefix = Prefix + "timeout-"
	// Method is how pools choose a member.
	Method = Prefix + "lb-method"
	// EnableMonitor gives each pool a health monitor.
	EnableMonitor = Prefix + "enable-health-monitor"
	// MetricsPort is where the load balancer tells Prometheus about itself, and
	// MetricsAllowedCIDRs say whom.
	MetricsPort, MetricsAllowedCIDRs = OwnPrefix + "metrics-port", OwnPrefix + "metrics-allowed-cidrs"
	// LoadBalancerTags, ListenerTags, PoolTags and FloatingIPTags are tags beside ours.
	LoadBalancerTags, ListenerTags = Prefix + "load-balancer-tags", Prefix + "listener-tags"
	PoolTags, FloatingIPTags       = Prefix + "pool-tags", OwnPrefix + "floating-ip-tags"
	// KeepFloatingIP keeps the floating IP when the load balancer goes.
	KeepFloatingIP = Prefix + "keep-floatingip"
	// LoadBalancerGroup names a group of Services that share one load balancer.
	LoadBalancerGroup = Prefix + "load-balancer-group"
	// LoadBalancerID holds the Octavia id of the Service's load balancer.
	LoadBalancerID = Prefix + "load-balancer-id"
	// LoadBalancerAddress holds the address at which clients reach it.
	LoadBalancerAddress = Prefix + "load-balancer-address"
)

// Timeouts are the keys of the four timeouts.
var Timeouts = []string{TimeoutPrefix + "client-data", TimeoutPrefix + "member-connect", TimeoutPrefix + "member-data", TimeoutPrefix + "tcp-inspect"}

// Drift says how changes of other clients in the cloud are handled.
type Drift string

// The policies.
const (
	// DriftRepair makes it again as the Service asks for.
	DriftRepair Drift = "repair"
	// DriftReport leaves it until the Service or its nodes change, and reports it.
	DriftReport Drift = "report"
	// DriftIgnore leaves it as DriftReport does, without a report.
	DriftIgnore Drift = "ignore"
)

// Options is what a Service's annotations say, over the operator's defaults.
type Options struct {
	// Internal leaves the load balancer without a floating IP.
	Internal bool
	// SourceRanges are CIDRs that may connect, for when the Service's spec has
	// none.
	SourceRanges []string
	// VIPSecurityGroups are security groups, by id or name, that say in place of source ranges who may connect.
	VIPSecurityGroups []string
	// KeepFloatingIP leaves the floating IP in the project when it is no
	// longer needed.
	KeepFloatingIP bool
	// Monitor gives each pool a health monitor.
	Monitor bool
	// MonitorDelay and MonitorTimeout are whole seconds.
	MonitorDelay, MonitorTimeout time.Duration
	// MonitorMaxRetries and MonitorMaxRetriesDown are 1 to 10.
	MonitorMaxRetries, MonitorMaxRetriesDown int
	// LoadBalancerID is the id of the load balancer as last written, or as the
	// user gave it.
	LoadBalancerID string
	// Group is the group of Services that share one load balancer, or "".
	Group string
	// Drift says how changes of other clients in the cloud are handled.
	Drift Drift
	// ConnectionLimit is how many connections each port takes at once, NoLimit for any
	// number.
	ConnectionLimit int
	// Timeouts are those of each port.
	Timeouts lb.Timeouts
	// NodeSelector says which nodes become members.
	NodeSelector value.NodeSelector
	// MaxMembers is how many nodes become members of each pool, 0 for all.
	MaxMembers int
	// TargetType is one of config.TargetTypes.
	TargetType string
	// PodNetworkIDs are the networks of the Pods' subnets; see config.LoadBalancer.
	PodNetworkIDs []string
	// NodeAddressType is which of a node's addresses comes first, one of
	// config.NodeAddressTypes; empty leaves it to the subnet of the members.
	NodeAddressType string
	// Method is how each port's pool chooses a node, one of config.Methods; empty when
	// the Service leaves it to the operator.
	Method string
	// Class is the operator's class that the Service names, or "".
	Class string
	// Provider is Octavia's provider of a new load balancer, and OperatorsMethod a Method
	// for when the Service asks for none.
	Provider, OperatorsMethod string
	// SubnetID, or else NetworkID, is where the VIP is made, unless PortID is the port
	// that becomes it. All may be empty.
	SubnetID, NetworkID, PortID string
	// AdditionalSubnetID is where the VIP of the second IP family is made, or empty.
	AdditionalSubnetID string
	// MemberSubnetID is the subnet of the members, or empty for that of the VIP.
	MemberSubnetID string
	// FloatingNetworkID is the external network, or empty for any. FloatingSubnetID, or
	// else FloatingSubnets, is the part of it to take a floating IP from.
	FloatingNetworkID, FloatingSubnetID string
	FloatingSubnets                     value.SubnetPattern
	// FlavorID and AvailabilityZone are Octavia's, or empty.
	FlavorID, AvailabilityZone string
	// AllowReplacement lets another load balancer take the place of one that cannot be
	// changed.
	AllowReplacement bool
	// Protocols say what single ports speak. Of all other TCP ports the next three do:
	// ProxyProtocol, unless it is empty, is the protocol of their pools, and
	// XForwardedFor makes them speak HTTP.
	Protocols     Protocols
	ProxyProtocol lb.PoolProtocol
	XForwardedFor bool
	// TLSContainer, unless it is empty, is the certificate with which they end TLS.
	TLSContainer string
	// TLSSecret, unless it is empty, is the name of the Secret that has their certificate,
	// and TLSContainer is empty then.
	TLSSecret string
	// SNIContainers are further certificates for ports that end TLS.
	SNIContainers []string
	// HSTS is the header that ports which end TLS add to answers.
	HSTS HSTS
	// Hostname is published in place of the address, unless it is empty.
	Hostname string
	// StatusAddresses says which addresses are published.
	StatusAddresses StatusAddresses
	// FloatingIP is the address or the id of the floating IP that is asked for, or "".
	FloatingIP string
	// MetricsPort is the port at which Prometheus reads the metrics of the load balancer, 0 for none, and
	// MetricsAllowedCIDRs are the networks from which clients may read them; empty admits no client.
	MetricsPort         int
	MetricsAllowedCIDRs []string
	// Tags are the operator's for all objects, to which the others come, each for one kind.
	Tags, LoadBalancerTags, ListenerTags, PoolTags, FloatingIPTags []string
}

// StatusAddresses says which addresses of an external Service are published.
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

// HSTS is what annotations say of header Strict-Transport-Security.
type HSTS struct {
	// MaxAge is in seconds, NoHSTS for no header.
	MaxAge                     int
	IncludeSubdomains, Preload bool
}

// NoHSTS is a MaxAge for no header.
const NoHSTS = -1

// NoLimit is a ConnectionLimit for any number of connections.
const NoLimit = -1

// Problem is an annotation that cannot be applied.
type Problem struct {
	// Key is as the user typed it.
	Key, Value string
	// Canonical is the key of the table that it stands for, or, if it is misspelt, is nearest to. It is "" for one of too many
	// unknown keys.
	Canonical string
	// Text says what is wrong and what is right.
	Text string
	// Misspelt reports whether the key is unknown and was probably meant for something that protects.
	Misspelt bool
	// SelectorKnown means that the class is unknown, but an annotation names the selector of the nodes.
	SelectorKnown bool
}

// Concerns reports whether the problem lies with one of these keys of the table, or may do so.
func (p Problem) Concerns(keys ...string) bool {
	return p.Canonical == "" || slices.Contains(keys, p.Canonical)
}

// Error makes a Problem an error that names key and value.
func (p Problem) Error() string {
	return fmt.Sprintf("annotation %s=%q: %s", p.Key, p.Value, p.Text)
}

// Parse reads a Service's annotations, under whichever of Prefixes. Annotations that are not set leave the
// operator's default in place, that of the class which the Service names. Problems come
// back sorted by key, and then the options are not to be acted on.
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

// parse reads annotations by the keys of the table; raw are those that the user typed.
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
		// The ClusterIP decides where the VIP is, and there may be no NodePorts.
		options.SubnetID, options.NetworkID, options.AdditionalSubnetID, options.PortID = defaults.SubnetID, "", "", ""
		options.TargetType = defaults.TargetType
		if defaults.AtClusterIP.Internal {
			// What a Service of type LoadBalancer requested must not keep it public, or from its ClusterIP.
			options.FloatingIP, options.AllowReplacement = "", true
		}
	}
	// An operator who allows internal load balancers only cannot be overruled.
	options.Internal = options.Internal || defaults.Internal
	return options, problems
}

// over returns the options of a Service that has no annotations.
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
	// What stands in the configuration was looked at when that was read.
	options.NodeSelector, _ = value.ParseNodeSelector(defaults.NodeSelector)
	options.SourceRanges, _ = value.ParseCIDRs(strings.Split(defaults.SourceRanges, ","))
	options.MetricsAllowedCIDRs, _ = value.ParseCIDRs(strings.Split(defaults.MetricsAllowedCIDRs, ","))
	options.Tags, _ = value.ParseTags(defaults.Tags)
	options.PodNetworkIDs, _ = value.ParseIDs(value.Network, defaults.PodNetworkIDs)
	return options
}

// withoutOtherNetworks takes away what the operator says of other networks than those
// that the annotations name: a subnet of the one is none of the other.
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
	// A key without a prefix is no problem.
	misspelt := func(u Unknown) bool { return u.Nearest == KeepFloatingIP }
	return options.KeepFloatingIP || slices.ContainsFunc(problems, unreadable) || slices.ContainsFunc(FindUnknown(annotations), misspelt)
}

// overlap is the problem of a look of the health monitor that may not have ended
// when the next begins. It lies with the annotation that is set.
func overlap(annotations map[string]string, o Options) Problem {
	key := Prefix + "health-monitor-timeout"
	if _, there := annotations[key]; !there {
		key = Prefix + "health-monitor-delay"
	}
	return Problem{Key: key, Value: annotations[key], Text: fmt.Sprintf(
		"the timeout of %v must not be above the delay of %v, or probes would overlap", o.MonitorTimeout, o.MonitorDelay)}
}
