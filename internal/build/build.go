// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build turns a Service, the nodes, the operator's settings and what
// the cloud can do into the load balancer that the Service is to have.
//
// It is pure: Kubernetes objects and settings as plain data in, package lb's
// model out. It imports annotation, config, lb, securitygroup and target.
package build

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Input is everything that the wanted load balancer depends on.
type Input struct {
	Service *corev1.Service
	// Nodes are all nodes of the cluster, Slices the EndpointSlices of the
	// Service.
	Nodes        []corev1.Node
	Slices       []discoveryv1.EndpointSlice
	Config       config.LoadBalancer
	Networks     Networks
	Capabilities lb.Capabilities
	// Serial is whether the cloud needs what lb.Wanted says of it.
	Serial bool
	Owner  lb.Owner
	// Found is the load balancer that is there, nil when none is. Only what is
	// withheld depends on it.
	Found *lb.LoadBalancer
	// Sharer reports whether that was created for another owner, and FoundAddress the address at
	// which clients reach it.
	Sharer       bool
	FoundAddress string
	// OwnerExternal is whether the Service that Found was made for asks for a floating IP.
	OwnerExternal bool
	// WouldExpose are the internal Services that have ports on Found and that a floating IP
	// for it would open to everybody.
	WouldExpose []string
	// Certificate is the one that annotation tls-secret leads to.
	Certificate SecretCertificate

	// SubnetsUnknown is whether it could not be found out in which subnets the nodes have
	// their addresses, and it matters.
	SubnetsUnknown bool

	// both is whether the load balancer serves both families of the Service.
	both bool
	// addressType and memberSubnetNamed are what is asked for of the nodes' addresses, keep
	// those that are members and stay so as long as the nodes have them.
	addressType       corev1.NodeAddressType
	memberSubnetNamed bool
	keep              []netip.Addr
}

// SecretCertificate is what is known of the certificate in a Secret.
type SecretCertificate struct {
	// Secret is the name of the Secret.
	Secret string
	// Certificate has no Ref as long as it is not stored.
	lb.Certificate
	// Problem says why clients may refuse it, or is empty.
	Problem string
}

// Networks is where addresses are taken from, after everything that had to be
// looked up in the cloud has been.
type Networks struct {
	// VIPSubnetID, or else VIPNetworkID, is where VIPs are.
	VIPSubnetID, VIPNetworkID string
	// AdditionalSubnetID is where VIPs of the Service's second family are, and members of
	// it; empty is nowhere.
	AdditionalSubnetID string
	// MemberSubnetID is the subnet of the members' addresses of the first family; empty
	// lets Octavia take the VIP's.
	MemberSubnetID string
	// MemberCIDR and AdditionalCIDR are the addresses in the subnets of members of each
	// family. Where no node has several to choose from, or the project does not see the
	// subnet, they are not valid.
	MemberCIDR, AdditionalCIDR netip.Prefix
	// FloatingNetworkID is the external network, and FloatingSubnetIDs the parts of it
	// to try, or empty for any.
	FloatingNetworkID string
	FloatingSubnetIDs []string
	// FloatingIPAddress is the address of the floating IP that an annotation asks for.
	FloatingIPAddress string
}

// NetworksOf says where addresses are taken from, as far as the Service and the operator's
// settings say.
func NetworksOf(o annotation.Options) Networks {
	networks := Networks{
		VIPSubnetID:        o.SubnetID,
		VIPNetworkID:       o.NetworkID,
		AdditionalSubnetID: o.AdditionalSubnetID,
		MemberSubnetID:     o.MemberSubnetID,
		FloatingNetworkID:  o.FloatingNetworkID,
		FloatingIPAddress:  o.FloatingIP,
	}
	if o.FloatingSubnetID != "" {
		networks.FloatingSubnetIDs = []string{o.FloatingSubnetID}
	}
	return networks
}

// Invalid is a Service that cannot be served as it is written.
type Invalid struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string
	// Message tells the user what to change.
	Message string
}

// Error makes Invalid an error.
func (i *Invalid) Error() string { return i.Message }

// The reasons for which a Service is refused.
const (
	ReasonInvalidAnnotation   = "InvalidAnnotation"
	ReasonInvalidAddress      = "InvalidAddress"
	ReasonInvalidSourceRanges = "InvalidSourceRanges"
	ReasonUnsupported         = "Unsupported"
	ReasonNoNodePort          = "NoNodePort"
	ReasonNoSubnet            = "NoSubnet"
	// ReasonSharingRefused: the load balancer that the Service names cannot be shared with it.
	ReasonSharingRefused = "SharingRefused"
	// ReasonCertificateUnusable: what a reference leads to is not there, or no certificate.
	ReasonCertificateUnusable = "CertificateUnusable"
	// ReasonSecretForbidden: the controller may not read the Secret that a Service names.
	ReasonSecretForbidden = "SecretForbidden"
	// ReasonRequiresReplacement: the load balancer that is there would have to go.
	ReasonRequiresReplacement = "RequiresReplacement"
)

// Refuses reports whether a Service is refused as a whole for the reason, rather than for a
// part of what it asks for.
func Refuses(reason string) bool {
	switch reason {
	case ReasonInvalidAnnotation, ReasonInvalidAddress, ReasonInvalidSourceRanges, ReasonUnsupported, ReasonNoNodePort, ReasonNoSubnet,
		ReasonSharingRefused, ReasonCertificateUnusable, ReasonRequiresReplacement, ReasonDualStackUnsupported:
		return true
	}
	return false
}

// The reasons for which a part of what a Service asks for is left out.
const (
	// ReasonHealthMonitorUnsupported: health monitors of this cloud do harm.
	ReasonHealthMonitorUnsupported = "HealthMonitorUnsupported"
	// ReasonSessionAffinityUnsupported: the provider takes session persistence and
	// does not carry it out.
	ReasonSessionAffinityUnsupported = "SessionAffinityUnsupported"
	// ReasonTimeoutsUnsupported: the cloud has no timeouts that can be set.
	ReasonTimeoutsUnsupported = "TimeoutsUnsupported"
	// ReasonConnectionLimitUnsupported: the provider takes a limit of connections and
	// does not enforce it.
	ReasonConnectionLimitUnsupported = "ConnectionLimitUnsupported"
	// ReasonFlavorUnsupported and ReasonAvailabilityZoneUnsupported: the cloud has none.
	ReasonFlavorUnsupported           = "FlavorUnsupported"
	ReasonAvailabilityZoneUnsupported = "AvailabilityZoneUnsupported"
	// ReasonMetricsUnsupported: the load balancer cannot tell about itself, or not only to
	// those who may know.
	ReasonMetricsUnsupported = "MetricsUnsupported"
	// ReasonTagsUnsupported: the cloud has no tags.
	ReasonTagsUnsupported = "TagsUnsupported"
	// ReasonLoadBalancerNotTagged: the load balancer was created for another owner.
	ReasonLoadBalancerNotTagged = "LoadBalancerNotTagged"
	// ReasonDualStackUnsupported: there can be no load balancer with addresses of both
	// families. A Service that requires both is refused for it, too.
	ReasonDualStackUnsupported = "DualStackUnsupported"
	// ReasonSingleStackLoadBalancer: the one that is there has addresses of one.
	ReasonSingleStackLoadBalancer = "SingleStackLoadBalancer"
	// ReasonAdditionalVIPKept: it has addresses of both, and the Service asks for one.
	ReasonAdditionalVIPKept = "AdditionalVIPKept"
	// ReasonMetadataPortMissing: a monitor that is there drops all traffic, since
	// nothing in the network can carry its checks out.
	ReasonMetadataPortMissing = "MetadataPortMissing"
)

// Options reads what the Service's annotations say. The error is an *Invalid
// that names every annotation that is wrong.
func Options(service *corev1.Service, defaults config.LoadBalancer) (annotation.Options, error) {
	options, problems := annotation.Parse(service.Annotations, defaults)
	if len(problems) == 0 {
		return options, nil
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return options, &Invalid{ReasonInvalidAnnotation, strings.Join(texts, "; ")}
}

// Wanted returns what the Service is to have. The error is an *Invalid.
func Wanted(in Input) (lb.Wanted, error) {
	options, err := Options(in.Service, in.Config)
	if err != nil {
		return lb.Wanted{}, err
	}
	if options.TLSSecret != "" {
		options.TLSContainer = cmp.Or(in.Certificate.Ref, in.Certificate.Name)
		if options.TLSContainer == "" {
			// Without it ports would be open in the clear.
			return lb.Wanted{}, &Invalid{ReasonCertificateUnusable, fmt.Sprintf("the certificate in Secret %s was not read", options.TLSSecret)}
		}
	}
	in.Nodes = selected(in.Nodes, options.NodeSelector)
	in.prefer(options)
	both, stack, err := in.dualStack(options)
	if err != nil {
		return lb.Wanted{}, err
	}
	in.both = both
	external := !options.Internal && slices.Contains(in.served(), corev1.IPv4Protocol)
	floating, address, err := in.requestedAddresses(options, external)
	if err != nil {
		return lb.Wanted{}, err
	}
	sources, err := sourceRanges(in, options)
	if err != nil {
		return lb.Wanted{}, err
	}
	if err := in.check(options, floating, address, external); err != nil {
		return lb.Wanted{}, err
	}
	protocols, err := in.protocols(options)
	if err != nil {
		return lb.Wanted{}, err
	}
	balancer := in.placed(options)
	for i, port := range in.Service.Spec.Ports {
		l := in.listener(i, port, options, protocols[i])
		l.AllowedCIDRs = sources
		balancer.Listeners = append(balancer.Listeners, l)
	}
	metrics, unmeasured, err := in.metrics(options)
	if err != nil {
		return lb.Wanted{}, err
	}
	balancer.Listeners = append(balancer.Listeners, metrics...)
	wanted := lb.Wanted{
		LoadBalancer: balancer, KeepFloatingIP: options.KeepFloatingIP, Serial: in.serial(balancer.Listeners),
		MoveMembers:  in.Service.Annotations[annotation.MemberSubnetID] != "",
		KeepMonitors: !in.Capabilities.Has(lb.FeatureMonitor),
	}
	wanted.Withheld = slices.Concat(stack, unmeasured, in.withheld(options, wanted))
	if in.Sharer {
		wanted.KeepAddress = true
		return wanted, nil
	}
	return in.addressed(wanted, options, floating, address, external), nil
}

// check refuses what a Service may ask for and cannot have.
func (in Input) check(options annotation.Options, floating string, address netip.Addr, external bool) error {
	if err := in.checkAlgorithm(options); err != nil {
		return err
	}
	if err := checkPorts(in.Service.Spec.Ports, in.Capabilities); err != nil {
		return err
	}
	if err := in.checkPlacement(options); err != nil {
		return err
	}
	if err := in.checkGuest(options, floating, address, external); err != nil {
		return err
	}
	return in.checkOpening(external)
}

// withheld is what the Service asks for and the provider cannot do.
func (in Input) withheld(options annotation.Options, wanted lb.Wanted) (withheld []lb.Withheld) {
	if options.Monitor && wanted.KeepMonitors && !in.allMonitored(wanted.LoadBalancer.Listeners) {
		withheld = append(withheld, monitorWithheld(in.Capabilities))
	}
	if in.Service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP && !in.Capabilities.Has(lb.FeatureSessionAffinity) {
		withheld = append(withheld, affinityWithheld(in.Capabilities))
	}
	return append(withheld, in.settingsWithheld(options)...)
}

// addressed is what is wanted with the VIP's address and the floating IP that are asked for.
func (in Input) addressed(wanted lb.Wanted, options annotation.Options, floating string, address netip.Addr, external bool) lb.Wanted {
	switch {
	case !address.IsValid() || options.PortID != "":
	case familyOf(address) == in.Family():
		wanted.LoadBalancer.VIP.Address = address.String()
	default:
		wanted.LoadBalancer.AdditionalVIPs[0].Address = address.String()
	}
	if external {
		wanted.FloatingIP = &lb.FloatingIP{
			Address:     floating,
			NetworkID:   in.Networks.FloatingNetworkID,
			SubnetIDs:   in.Networks.FloatingSubnetIDs,
			Description: in.Owner.FloatingIPDescription(),
			Tags:        lb.WithCustom(nil, slices.Concat(options.Tags, options.FloatingIPTags)),
		}
	}
	return wanted
}

// MembersOnly returns what is wanted of a Service that cannot be served as it
// is written: what it has, with pools that go on following the nodes. Listeners
// may lack a pool there, which leaves them as they are.
func MembersOnly(in Input, observed lb.Observed) lb.Wanted {
	if observed.LoadBalancer == nil {
		return lb.Wanted{KeepFloatingIP: true, KeepAddress: true}
	}
	selector, err := annotation.Selector(in.Service.Annotations, in.Config)
	in.Nodes = selected(in.Nodes, selector)
	options, problems := annotation.Parse(in.Service.Annotations, in.Config)
	in.prefer(options)
	sure := err == nil && !in.SubnetsUnknown && !slices.ContainsFunc(problems, func(p annotation.Problem) bool {
		return p.Key == annotation.NodeAddressType || p.Key == annotation.MemberSubnetID
	})
	kept := *observed.LoadBalancer
	in.both = len(in.Families()) > 1 && kept.DualStack()
	kept.Listeners = nil
	for _, l := range observed.LoadBalancer.Listeners {
		if !in.Owner.OwnsListener(l) {
			continue
		}
		for _, port := range in.Service.Spec.Ports {
			key := lb.ListenerKey{Transport: lb.Transport(port.Protocol), Port: int(port.Port)}
			if l.Key() == key && l.Pool != nil && port.NodePort != 0 {
				l.Pool = in.follow(*l.Pool, port, sure)
			}
		}
		kept.Listeners = append(kept.Listeners, l)
	}
	wanted := lb.Wanted{LoadBalancer: &kept, KeepFloatingIP: true, KeepMonitors: !in.Capabilities.Has(lb.FeatureMonitor)}
	for _, f := range observed.FloatingIPs {
		if f.PortID != "" && f.PortID == kept.VIP.PortID {
			wanted.FloatingIP = &f
		}
	}
	// Where a Service is reached, and which of two serves, is not for one to change that
	// is refused.
	wanted.KeepAddress = true
	return wanted
}

// follow returns the pool with the members it has to have now, looked at where
// the health monitor looked before. No node changes its address for another that it has,
// and where it is not sure which nodes are selected, or which addresses, there are no new
// ones.
func (in Input) follow(pool lb.Pool, port corev1.ServicePort, sure bool) *lb.Pool {
	http := pool.Monitor != nil && pool.Monitor.Type == lb.MonitorHTTP
	monitorPort := 0
	if len(pool.Members) > 0 {
		monitorPort = pool.Members[0].MonitorPort
	} else if http {
		monitorPort = int(in.Service.Spec.HealthCheckNodePort)
	}
	had := pool.Members
	for _, m := range had {
		if address, err := netip.ParseAddr(m.Address); err == nil {
			in.keep = append(in.keep, address)
		}
	}
	pool.Members = in.members(port, in.local() && !http, monitorPort)
	if !sure {
		pool.Members = slices.DeleteFunc(pool.Members, func(m lb.Member) bool {
			return !slices.ContainsFunc(had, func(h lb.Member) bool { return h.Address == m.Address })
		})
	}
	return &pool
}

// selected are the nodes that a selector asks for.
func selected(nodes []corev1.Node, selector config.NodeSelector) []corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool { return !selector.Matches(n.Labels) })
}

// tags are ours and custom ones.
func (in Input) tags(custom ...[]string) []string {
	if !in.Capabilities.Has(lb.FeatureTags) {
		return nil
	}
	return lb.WithCustom(in.Owner.Tags(), slices.Concat(custom...))
}

// serial reports whether one call cannot make the load balancer with everything
// below it.
func (in Input) serial(listeners []lb.Listener) bool {
	monitored := slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Pool != nil && l.Pool.Monitor != nil })
	return in.Serial || monitored && !in.Capabilities.Has(lb.FeatureCreateWithMonitors)
}

// local reports whether nodes without an endpoint drop the Service's traffic.
func (in Input) local() bool {
	return in.Service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// requestedAddresses are that of the floating IP, which is asked for by annotation or
// spec.loadBalancerIP, and that of a VIP, which only the latter asks for: IPv6 addresses
// are routed as they are, since Neutron has no floating ones.
func (in Input) requestedAddresses(options annotation.Options, external bool) (floating string, vip netip.Addr, err error) {
	if options.FloatingIP != "" {
		if floating = in.Networks.FloatingIPAddress; !external {
			return "", vip, &Invalid{ReasonInvalidAddress, fmt.Sprintf(
				"annotation %s requests a floating IP, but only external Services with IPv4 have one; remove it", annotation.FloatingIP)}
		}
	}
	value := in.Service.Spec.LoadBalancerIP
	if value == "" {
		return floating, vip, nil
	}
	address, err := netip.ParseAddr(value)
	switch {
	case err != nil || address.Zone() != "":
		return "", vip, &Invalid{ReasonInvalidAddress, fmt.Sprintf("spec.loadBalancerIP %q is not an IP address", value)}
	case !slices.Contains(in.served(), familyOf(address)):
		return "", vip, &Invalid{ReasonInvalidAddress, fmt.Sprintf(
			"spec.loadBalancerIP %s is not an %s address, the IP family of the load balancer", value, in.Family())}
	case !external || !address.Is4():
		return floating, address, nil
	case floating != "" && value != floating:
		return "", vip, &Invalid{ReasonInvalidAddress, fmt.Sprintf("annotation %s requests %s, but spec.loadBalancerIP requests %s; remove one of them",
			annotation.FloatingIP, floating, value)}
	}
	return address.String(), vip, nil
}

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}
