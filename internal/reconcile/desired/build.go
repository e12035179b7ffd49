// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the wanted load balancer from a Service, the nodes, the operator's settings and the
// capabilities of the cloud.
//
// It is pure: Kubernetes objects and settings in, package lb's model out.
package desired

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Input is everything that the wanted load balancer depends on.
type Input struct {
	// Spec is what the owner requests; nil means that the input was not gathered.
	Spec *Spec
	// Nodes are all nodes of the cluster, Slices the EndpointSlices of the owner.
	Nodes  []corev1.Node
	Slices []discoveryv1.EndpointSlice
	Gates
	Config       config.LoadBalancer
	Networks     Networks
	Capabilities lb.Capabilities
	// Serial is lb.Wanted.Serial, as far as the cloud requires it: see there.
	Serial bool
	Owner  lb.Owner
	// Found is the existing load balancer, or nil. Only Withheld and errors depend on it.
	Found *lb.LoadBalancer
	Sharing
	// Certificate is the certificate of annotation tls-secret.
	Certificate SecretCertificate

	// Refused are members that Octavia refuses, with what it said. They are left out. Members without a text are not
	// named in the condition.
	Refused map[lb.MemberKey]string

	// SubnetsUnknown means that the subnets of the members' addresses matter, but could not be looked up.
	SubnetsUnknown bool

	// both means that the load balancer serves both families of the Service.
	both    bool
	members choice
}

// Gates are the readiness gates of Pods. They matter only if members are Pods.
type Gates struct {
	// Gated has the addresses of Pods, by the names of the Pods. Their endpoints count as ready whatever the
	// EndpointSlices say: the Pods wait for a readiness gate that is set when their member takes traffic, or the gate
	// was just set. Waiting has those of these Pods whose gate is not set yet.
	Gated   map[string][]netip.Addr
	Waiting map[string]bool
}

// Sharing is what matters if Services share Found.
type Sharing struct {
	// Sharer means that Found was created for another owner. FoundAddress is its address for clients.
	Sharer       bool
	FoundAddress string
	// OwnerExternal means that the owner of Found requests a floating IP.
	OwnerExternal bool
	// OwnerInternal means that the owner of Found requests no floating IP, so that the floating IP on Found will be
	// released.
	OwnerInternal bool
	// WouldExpose are the internal Services with ports on Found, which a floating IP would expose.
	WouldExpose []string
	// WouldCutOff are the other users of Found that need its floating IP.
	WouldCutOff []string
}

// SecretCertificate is the certificate in a Secret.
type SecretCertificate struct {
	// Secret is the name of the Secret.
	Secret string
	// Certificate has no Ref until it is stored.
	lb.Certificate
	// Problem says why clients may reject it, or is empty.
	Problem string
}

// Networks are where addresses are allocated, after all lookups in the cloud.
type Networks struct {
	// VIPSubnetID is the subnet of VIPs. If it is empty, VIPNetworkID is their network.
	VIPSubnetID, VIPNetworkID string
	// AdditionalSubnetID is the subnet of the VIP and the members of the Service's second family, or empty.
	AdditionalSubnetID string
	// MemberSubnetID is the members' subnet of the first family; empty means that Octavia uses the subnet of the VIP.
	MemberSubnetID string
	// MemberCIDR and AdditionalCIDR are the addresses of the members' subnets of each family. They are not valid if
	// no node has several addresses to choose from, or the project does not see the subnet.
	MemberCIDR, AdditionalCIDR netip.Prefix
	// PodSubnets are the subnets of Pods as members. It is empty if a router leads to them.
	PodSubnets []lb.Subnet
	// FloatingNetworkID is the external network; FloatingSubnetIDs are its subnets to try, or empty for any.
	FloatingNetworkID string
	FloatingSubnetIDs []string
	// FloatingIPAddress is the address of the floating IP that an annotation requests.
	FloatingIPAddress string
	// VIPSecurityGroupIDs are the ids of the security groups that an annotation requests for the VIP.
	VIPSecurityGroupIDs []string
}

// NetworksOf returns where addresses are allocated according to the Service and the operator's settings.
func NetworksOf(o annotation.Options) Networks {
	networks := Networks{
		VIPSubnetID:        o.SubnetID,
		VIPNetworkID:       o.NetworkID,
		AdditionalSubnetID: o.AdditionalSubnetID,
		MemberSubnetID:     o.MemberSubnetID,
		FloatingNetworkID:  o.FloatingNetworkID,
		FloatingIPAddress:  o.FloatingIP,

		VIPSecurityGroupIDs: o.VIPSecurityGroups,
	}
	if o.FloatingSubnetID != "" {
		networks.FloatingSubnetIDs = []string{o.FloatingSubnetID}
	}
	return networks
}

// Invalid is the error for a Service that cannot be served as it is written.
type Invalid struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string
	// Message tells the user what to change.
	Message string
	// Exposed means that the Service must not be reachable from outside, but its existing ports are reachable. So they
	// are closed.
	Exposed bool
}

// Error implements error.
func (i *Invalid) Error() string { return i.Message }

func invalid(reason, format string, args ...any) *Invalid {
	return &Invalid{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// The reasons to refuse a Service.
const (
	ReasonInvalidAnnotation = "InvalidAnnotation"
	// ReasonMisspeltAnnotation: an unknown key was probably meant for an annotation that restricts access or keeps
	// something.
	ReasonMisspeltAnnotation  = "MisspeltAnnotation"
	ReasonInvalidAddress      = "InvalidAddress"
	ReasonInvalidSourceRanges = "InvalidSourceRanges"
	ReasonUnsupported         = "Unsupported"
	ReasonNoNodePort          = "NoNodePort"
	ReasonNoSubnet            = "NoSubnet"
	// ReasonServiceSubnetUnusable: the subnet of the ClusterIPs cannot have their load balancers.
	ReasonServiceSubnetUnusable = "ServiceSubnetUnusable"
	// ReasonSharingRefused: the Service cannot share the load balancer that it names.
	ReasonSharingRefused = "SharingRefused"
	// ReasonCertificateUnusable: a reference leads to no certificate.
	ReasonCertificateUnusable = "CertificateUnusable"
	// ReasonSecretForbidden: the controller may not read the Secret that a Service names.
	ReasonSecretForbidden = "SecretForbidden"
	// ReasonRequiresReplacement: the request needs another load balancer than the existing one.
	ReasonRequiresReplacement = "RequiresReplacement"
)

// Refuses reports whether the reason refuses a whole Service, rather than a part of its request.
func Refuses(reason string) bool {
	return slices.Contains([]string{
		ReasonInvalidAnnotation, ReasonMisspeltAnnotation, ReasonInvalidAddress, ReasonInvalidSourceRanges, ReasonUnsupported, ReasonNoNodePort, ReasonNoSubnet, ReasonServiceSubnetUnusable,
		ReasonSharingRefused, ReasonCertificateUnusable, ReasonRequiresReplacement, ReasonDualStackUnsupported,
	}, reason)
}

// The reasons to leave out a part of a request.
const (
	// ReasonHealthMonitorUnsupported: health monitors of this cloud are harmful.
	ReasonHealthMonitorUnsupported = "HealthMonitorUnsupported"
	// ReasonSessionAffinityUnsupported: the provider accepts session persistence without effect.
	ReasonSessionAffinityUnsupported = "SessionAffinityUnsupported"
	// ReasonTimeoutsUnsupported: the cloud has no timeouts that can be set.
	ReasonTimeoutsUnsupported = "TimeoutsUnsupported"
	// ReasonHSTSUnsupported: the cloud cannot add header Strict-Transport-Security.
	ReasonHSTSUnsupported = "HSTSUnsupported"
	// ReasonConnectionLimitUnsupported: the provider accepts a connection limit without effect.
	ReasonConnectionLimitUnsupported = "ConnectionLimitUnsupported"
	// ReasonFlavorUnsupported and ReasonAvailabilityZoneUnsupported: the cloud has no flavors or no availability zones.
	ReasonFlavorUnsupported           = "FlavorUnsupported"
	ReasonAvailabilityZoneUnsupported = "AvailabilityZoneUnsupported"
	// ReasonMetricsUnsupported: the cloud has no metrics listeners, or cannot restrict access to them.
	ReasonMetricsUnsupported = "MetricsUnsupported"
	// ReasonTagsUnsupported: the cloud has no tags.
	ReasonTagsUnsupported = "TagsUnsupported"
	// ReasonLoadBalancerNotTagged: the load balancer was created for another owner.
	ReasonLoadBalancerNotTagged = "LoadBalancerNotTagged"
	// ReasonDualStackUnsupported: the cloud cannot create a load balancer with addresses of both families. The reason
	// is also used to refuse Services that require both families.
	ReasonDualStackUnsupported = "DualStackUnsupported"
	// ReasonSingleStackLoadBalancer: the existing load balancer has addresses of one family.
	ReasonSingleStackLoadBalancer = "SingleStackLoadBalancer"
	// ReasonAdditionalVIPKept: the existing load balancer has addresses of both families, and the Service requests one
	// family.
	ReasonAdditionalVIPKept = "AdditionalVIPKept"
	// ReasonEndpointUnreachable: an endpoint is in no subnet in which Pods are members.
	ReasonEndpointUnreachable = "EndpointUnreachable"
	// ReasonMemberRefused is the reason of an event about a node whose address Octavia refuses as the address of a
	// member.
	ReasonMemberRefused = "MemberRefused"
	// ReasonMetadataPortMissing: because of an existing monitor, OVN drops all traffic: no port in the network can be
	// the source of its checks.
	ReasonMetadataPortMissing = "MetadataPortMissing"
)

// Wanted returns what the Service should have. The error is an *Invalid.
func Wanted(in Input) (lb.Wanted, error) {
	if err := in.Spec.Invalid(); err != nil {
		return lb.Wanted{}, err
	}
	options := in.Spec.Options
	if options.TLSSecret != "" {
		options.TLSContainer = cmp.Or(in.Certificate.Ref, in.Certificate.Name)
		if options.TLSContainer == "" {
			// Without the certificate, the ports would be open without TLS.
			return lb.Wanted{}, invalid(ReasonCertificateUnusable, "the certificate in Secret %s was not read", options.TLSSecret)
		}
	}
	in.Nodes = selected(in.Nodes, options.NodeSelector)
	in.chooseMembers(options)
	both, stack, err := in.dualStack(options)
	if err != nil {
		return lb.Wanted{}, err
	}
	in.both = both
	external := !options.Internal && slices.Contains(in.served(), corev1.IPv4Protocol)
	floating, address, err := in.addresses(options, external)
	if err != nil {
		return lb.Wanted{}, err
	}
	if err := in.checkAccess(options); err != nil {
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
	balancer := in.loadBalancer(options)
	for i, port := range in.Spec.Ports {
		l := in.listener(i, port, options, protocols[i])
		l.AllowedCIDRs = sources
		balancer.Listeners = append(balancer.Listeners, l)
	}
	metrics, noMetrics, err := in.metrics(options)
	if err != nil {
		return lb.Wanted{}, err
	}
	balancer.Listeners = append(balancer.Listeners, metrics...)
	wanted := lb.Wanted{
		LoadBalancer: balancer, KeepFloatingIP: options.KeepFloatingIP, Serial: in.serial(balancer.Listeners),
		MoveMembers:  annotation.Canonical(in.Spec.Annotations)[annotation.MemberSubnetID] != "",
		KeepMonitors: !in.Capabilities.Has(lb.FeatureMonitor),
	}
	wanted.Withheld = slices.Concat(stack, noMetrics, in.withheld(options, wanted), in.unreachable())
	if in.Sharer {
		wanted.KeepAddress = true
		return wanted, nil
	}
	return in.addressed(wanted, options, floating, address, external), nil
}

// check returns an *Invalid if the Service requests something that it cannot have.
func (in Input) check(options annotation.Options, floating string, address netip.Addr, external bool) error {
	if err := in.checkAlgorithm(options); err != nil {
		return err
	}
	if err := in.checkPorts(); err != nil {
		return err
	}
	if err := in.checkPlacement(options); err != nil {
		return err
	}
	if err := in.checkSharing(options, floating, address, external); err != nil {
		return err
	}
	if err := in.checkCutOff(options); err != nil {
		return err
	}
	return in.checkExposure(external)
}

// addressed adds the requested VIP address and floating IP.
func (in Input) addressed(wanted lb.Wanted, options annotation.Options, floating string, address netip.Addr, external bool) lb.Wanted {
	switch {
	case !address.IsValid() || options.PortID != "":
	case FamilyOf(address) == in.Family():
		wanted.LoadBalancer.VIP.Address = address.String()
	default:
		wanted.LoadBalancer.AdditionalVIPs[0].Address = address.String()
	}
	in.atClusterIPs(wanted.LoadBalancer)
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

// choosesMembers are the annotations that, together with the node selector, determine the members.
var choosesMembers = []string{
	annotation.TargetType, annotation.NodeAddressType, annotation.MemberSubnetID, annotation.MaxMembers, annotation.ClassKey,
}

// choosesPods are the annotations among choosesMembers that matter for Pods.
var choosesPods = []string{annotation.TargetType, annotation.MemberSubnetID, annotation.ClassKey}

// MembersOnly returns what a refused Service should have: its existing objects, with pools whose members still follow
// nodes or Pods, whichever they are now. Listeners without a pool stay without one.
func MembersOnly(in Input, observed lb.Observed) lb.Wanted {
	if observed.LoadBalancer == nil {
		return lb.Wanted{KeepFloatingIP: true, KeepAddress: true}
	}
	selector, err := in.Spec.Selector()
	in.Nodes = selected(in.Nodes, selector)
	in.chooseMembers(in.Spec.Options)
	valid := func(keys []string) bool {
		return !in.SubnetsUnknown && !slices.ContainsFunc(in.Spec.Problems, func(p annotation.Problem) bool { return p.Concerns(keys...) })
	}
	sure, podsSure := err == nil && valid(choosesMembers), valid(choosesPods)
	if !sure {
		in.members.subset = member.Subset{} // the existing members are the subset
	}
	kept := *observed.LoadBalancer
	in.both = len(in.Families()) > 1 && kept.DualStack()
	kept.Listeners = nil
	for _, l := range observed.LoadBalancer.Listeners {
		if !in.Owner.OwnsListener(l) {
			continue
		}
		for _, port := range in.Spec.Ports {
			key := lb.ListenerKey{Transport: lb.Transport(port.Protocol), Port: int(port.Port)}
			switch {
			case l.Key() != key || l.Pool == nil:
			case in.hasPods(*l.Pool, port):
				l.Pool = in.followPods(*l.Pool, port, podsSure)
			case port.NodePort != 0:
				l.Pool = in.follow(*l.Pool, port, sure)
			}
		}
		kept.Listeners = append(kept.Listeners, l)
	}
	// A refused Service changes neither its address nor which of two load balancers serves.
	wanted := lb.Wanted{LoadBalancer: &kept, KeepFloatingIP: true, KeepAddress: true, KeepMonitors: !in.Capabilities.Has(lb.FeatureMonitor)}
	if a := in.Config.AtClusterIP; a != nil && a.Internal && !in.Sharer && observed.Predecessor == nil {
		// But a Service must not stay public when it is no longer of type LoadBalancer.
		wanted.KeepAddress, wanted.KeepFloatingIP = false, in.Spec.KeepsFloatingIP()
		return wanted
	}
	for _, f := range observed.FloatingIPs {
		if f.PortID != "" && f.PortID == kept.VIP.PortID {
			wanted.FloatingIP = &f
		}
	}
	return wanted
}

// follow returns the pool with its current members, checked where they were checked before. Members keep their address
// as long as their node has it. If sure is false, it is not known which nodes or addresses are selected. Then there are
// no new members.
func (in Input) follow(pool lb.Pool, port corev1.ServicePort, sure bool) *lb.Pool {
	http := pool.Monitor != nil && pool.Monitor.Type == lb.MonitorHTTP
	monitorPort := 0
	if len(pool.Members) > 0 {
		monitorPort = pool.Members[0].MonitorPort
	} else if http {
		monitorPort = in.Spec.HealthCheckNodePort
	}
	had := pool.Members
	in.members.known = nil
	for _, m := range had {
		if address, err := netip.ParseAddr(m.Address); err == nil {
			in.members.addresses.Keep = append(in.members.addresses.Keep, address)
		}
	}
	in.members.pods = false
	pool.Members = in.membersOf(port, in.local() && !http, monitorPort)
	if !sure {
		pool.Members = slices.DeleteFunc(pool.Members, func(m lb.Member) bool {
			return !slices.ContainsFunc(had, func(h lb.Member) bool { return h.Address == m.Address })
		})
	}
	return &pool
}

// selected returns the nodes that match a selector.
func selected(nodes []corev1.Node, selector value.NodeSelector) []corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool { return !selector.Matches(n.Labels) })
}

// tags returns our tags and custom ones.
func (in Input) tags(custom ...[]string) []string {
	if !in.Capabilities.Has(lb.FeatureTags) {
		return nil
	}
	return lb.WithCustom(in.Owner.Tags(), slices.Concat(custom...))
}

// serial reports whether one call cannot create the load balancer with its children.
func (in Input) serial(listeners []lb.Listener) bool {
	monitored := slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Pool != nil && l.Pool.Monitor != nil })
	return in.Serial || monitored && !in.Capabilities.Has(lb.FeatureCreateWithMonitors)
}

// MayLoseAddress reports whether a create with one call could lose the address that the Service requests for the VIP:
// if Octavia refuses a part because of a quota, it leaves the VIP port behind. Then this port has the address, and no
// later create can use it.
func (in Input) MayLoseAddress(options annotation.Options) bool {
	ip := in.Spec.LoadBalancerIP
	requested := in.Owner.ClusterIP != "" || ip != "" && (options.Internal || strings.Contains(ip, ":")) // otherwise it is a floating IP
	return requested && !in.Capabilities.UnlimitedChildren
}

// local reports whether nodes without an endpoint drop the Service's traffic. That does not matter if Pods are members.
func (in Input) local() bool {
	return !in.members.pods && in.Spec.LocalTraffic
}

// requestedAddresses returns the requested address of the floating IP, from an annotation or spec.loadBalancerIP, and
// the requested address of the VIP, from spec.loadBalancerIP. IPv6 addresses are VIPs: Neutron has no floating IPs for
// them.
func (in Input) requestedAddresses(options annotation.Options, external bool) (floating string, vip netip.Addr, err error) {
	if options.FloatingIP != "" {
		floating = in.Networks.FloatingIPAddress
		if !external {
			return "", vip, invalid(ReasonInvalidAddress,
				"annotation %s requests a floating IP, but only external Services with IPv4 have one; remove it", in.key(annotation.FloatingIP))
		}
	}
	requested := in.Spec.LoadBalancerIP
	if a := in.Config.AtClusterIP; requested == "" || a != nil && a.Internal {
		return floating, vip, nil // of another type than LoadBalancer, it means nothing
	}
	address, err := netip.ParseAddr(requested)
	switch {
	case err != nil || address.Zone() != "":
		return "", vip, invalid(ReasonInvalidAddress, "spec.loadBalancerIP %q is not an IP address", requested)
	case !slices.Contains(in.served(), FamilyOf(address)):
		return "", vip, invalid(ReasonInvalidAddress,
			"spec.loadBalancerIP %s is not an %s address, the IP family of the load balancer", requested, in.Family())
	case !external || !address.Is4():
		return floating, address, nil
	case floating != "" && requested != floating:
		return "", vip, invalid(ReasonInvalidAddress, "annotation %s requests %s, but spec.loadBalancerIP requests %s; remove one of them",
			in.key(annotation.FloatingIP), floating, requested)
	}
	return address.String(), vip, nil
}
