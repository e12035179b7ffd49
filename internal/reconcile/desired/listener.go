// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// kube-proxy's health check on spec.healthCheckNodePort: 200 on nodes with an endpoint, 503 on others.
const (
	healthCheckMethod = "GET"
	healthCheckPath   = "/healthz"
	healthCheckCodes  = "200"
)

func (in Input) listener(i int, port corev1.ServicePort, options annotation.Options, speaks protocol) lb.Listener {
	return lb.Listener{
		Name:            in.Owner.ListenerName(i),
		Tags:            in.tags(options.Tags, options.ListenerTags),
		Protocol:        speaks.listener,
		Port:            int(port.Port),
		ConnectionLimit: options.ConnectionLimit,
		Timeouts:        in.timeouts(options),
		InsertHeaders:   speaks.headers,
		TLS:             speaks.tls,
		HSTS:            in.hsts(options, speaks),
		Pool:            in.pool(i, port, options, speaks.pool),
	}
}

// hsts returns the header of a port that terminates TLS: browsers ignore it elsewhere, and Octavia refuses it.
func (in Input) hsts(options annotation.Options, speaks protocol) lb.HSTS {
	if options.HSTS.MaxAge == annotation.NoHSTS || speaks.listener != lb.ListenerTerminatedHTTPS || !in.Capabilities.Has(lb.FeatureHSTS) {
		return lb.HSTS{}
	}
	return lb.HSTS{Enabled: true, MaxAgeSeconds: options.HSTS.MaxAge, IncludeSubdomains: options.HSTS.IncludeSubdomains, Preload: options.HSTS.Preload}
}

func (in Input) timeouts(options annotation.Options) *lb.Timeouts {
	if !in.Capabilities.Has(lb.FeatureTimeouts) {
		return nil
	}
	return &options.Timeouts
}

func (in Input) pool(i int, port corev1.ServicePort, options annotation.Options, speaks lb.PoolProtocol) *lb.Pool {
	pool := &lb.Pool{
		Name:        in.Owner.PoolName(i),
		Tags:        in.tags(options.Tags, options.PoolTags),
		Protocol:    speaks,
		Algorithm:   in.algorithm(options),
		Persistence: in.persistence(port.Protocol),
	}
	local, monitorPort := in.local(), 0
	if options.Monitor && in.Capabilities.Has(lb.FeatureMonitor) {
		pool.Monitor = in.monitor(i, port.Protocol, options)
		if pool.Monitor != nil && pool.Monitor.Type == lb.MonitorHTTP {
			// The monitor detects which nodes have endpoints.
			local, monitorPort = false, in.Spec.HealthCheckNodePort
		}
	}
	pool.Members = in.membersOf(port, local, monitorPort)
	return pool
}

// algorithm returns the balancing method of the annotation, or else that of cloud.conf. The method of cloud.conf is for
// all providers, so a provider that does not support it uses its default instead.
func (in Input) algorithm(options annotation.Options) lb.Algorithm {
	if options.Method != "" {
		return lb.Algorithm(options.Method)
	}
	operators, supported := lb.Algorithm(options.OperatorsMethod), in.Capabilities.Methods()
	if len(supported) > 0 && !slices.Contains(supported, operators) {
		return supported[0]
	}
	return operators
}

func (in Input) checkAlgorithm(options annotation.Options) error {
	algorithm := in.algorithm(options)
	if supported := in.Capabilities.Methods(); len(supported) > 0 && !slices.Contains(supported, algorithm) {
		return invalid(ReasonUnsupported, "provider %s does not support balancing method %s, only %s; change or remove annotation %s",
			in.Capabilities.Provider, algorithm, methodNames(supported), in.key(annotation.Method))
	}
	if algorithm != lb.SourceIPPort || in.Capabilities.Has(lb.FeatureSourceIPPort) {
		return nil
	}
	return invalid(ReasonUnsupported, "balancing method %s needs %s; this cloud has %s. Change annotation %s, or lb-method in cloud.conf",
		lb.SourceIPPort, lb.FeatureSourceIPPort.Needs(), in.Capabilities.Lacking(lb.FeatureSourceIPPort), in.key(annotation.Method))
}

func methodNames(all []lb.Algorithm) string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// persistence implements sessionAffinity ClientIP. Octavia has a timeout for UDP and SCTP only.
func (in Input) persistence(protocol corev1.Protocol) *lb.Persistence {
	if !in.Spec.SessionAffinity {
		return nil
	}
	persistence := &lb.Persistence{Type: lb.PersistenceSourceIP}
	if protocol != corev1.ProtocolTCP {
		persistence.TimeoutSeconds = in.Spec.AffinityTimeoutSeconds
	}
	return persistence
}

// monitor returns nil if the cloud has no monitor for the port. The protocol above layer 4 does not matter: the
// monitor checks that the port is open, or asks kube-proxy.
func (in Input) monitor(i int, protocol corev1.Protocol, options annotation.Options) *lb.HealthMonitor {
	monitor := &lb.HealthMonitor{
		Name:           in.Owner.MonitorName(i),
		Tags:           in.tags(),
		Type:           lb.MonitorTCP,
		DelaySeconds:   int(options.MonitorDelay.Seconds()),
		TimeoutSeconds: int(options.MonitorTimeout.Seconds()),
		MaxRetries:     options.MonitorMaxRetries,
		MaxRetriesDown: options.MonitorMaxRetriesDown,
	}
	http := lb.FeatureHTTPMonitor
	switch protocol {
	case corev1.ProtocolUDP:
		monitor.Type, http = lb.MonitorUDPConnect, lb.FeatureHTTPMonitorOnUDP
	case corev1.ProtocolSCTP:
		if !in.Capabilities.Has(lb.FeatureSCTPMonitor) {
			return nil
		}
		monitor.Type = lb.MonitorSCTP
	}
	if in.local() && in.Spec.HealthCheckNodePort > 0 && in.Capabilities.Has(http) {
		monitor.Type = lb.MonitorHTTP
		monitor.HTTPMethod, monitor.URLPath, monitor.ExpectedCodes = healthCheckMethod, healthCheckPath, healthCheckCodes
	}
	return monitor
}

// membersOf returns the Pods, or the NodePorts of the nodes; with local, only of those with an endpoint.
func (in Input) membersOf(port corev1.ServicePort, local bool, monitorPort int) []lb.Member {
	if in.members.pods {
		return in.podMembers(port)
	}
	targets := in.targets(port.Protocol, local)
	members := make([]lb.Member, 0, len(targets))
	for _, t := range targets {
		members = append(members, lb.Member{
			Name:        t.Node,
			Address:     t.Address.String(),
			Port:        int(port.NodePort),
			SubnetID:    in.memberSubnet(t.Address),
			Weight:      1,
			MonitorPort: monitorPort,
		})
	}
	return in.withoutRefused(members)
}

// withoutRefused returns the members without those that Octavia refuses.
func (in Input) withoutRefused(all []lb.Member) []lb.Member {
	if len(in.Refused) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(m lb.Member) bool {
		_, refused := in.Refused[m.Key()]
		return refused
	})
}

// requestedSources returns the ranges that may connect, from the Service or the operator's settings; empty means that
// every client may connect.
func (in Input) requestedSources(options annotation.Options) []string {
	if ranges, _ := value.ParseCIDRs(in.Spec.SourceRanges); len(ranges) > 0 {
		return ranges
	}
	return options.SourceRanges
}

// everyIP is the range of all addresses, by family.
var everyIP = map[corev1.IPFamily]string{corev1.IPv4Protocol: "0.0.0.0/0", corev1.IPv6Protocol: "::/0"}

// restricts reports whether the ranges exclude any address of the families.
func restricts(ranges []string, families []corev1.IPFamily) bool {
	return len(ranges) > 0 && slices.ContainsFunc(families, func(f corev1.IPFamily) bool { return !slices.Contains(ranges, everyIP[f]) })
}

// hasBoth reports whether the load balancer has, or gets, VIPs of both families.
func (in Input) hasBoth() bool { return in.both || in.Found != nil && in.Found.DualStack() }

// sourceRanges returns who may connect, in Octavia's form: only of families that a VIP has. Ranges that cannot be
// enforced are an error, and are never left out. The result is nil in these cases:
//   - the cloud has no source ranges, and none are requested,
//   - the nodes' security group enforces the ranges,
//   - every client may reach VIPs of both families: not every Octavia accepts the ranges of all addresses for these.
func sourceRanges(in Input, options annotation.Options) ([]string, error) {
	ranges, restricted, err := in.sources(options)
	switch {
	case err != nil:
		return nil, err
	case len(options.VIPSecurityGroups) > 0:
		return nil, nil
	case in.hasBoth() && !restricted:
		return nil, nil
	case in.hasBoth() && !in.Capabilities.Has(lb.FeatureDualStackSourceRanges):
		return nil, invalid(ReasonUnsupported, "load balancer %s has addresses of both families; source ranges on it need %s. "+
			"Remove the ranges, restrict the sources elsewhere, or delete the Service and create it again with spec.ipFamilyPolicy SingleStack",
			in.Found.ID, in.needs(lb.FeatureDualStackSourceRanges))
	case in.Capabilities.Has(lb.FeatureAllowedCIDRs):
		return ranges, nil
	case restricted && !in.sourcesBySecurityGroup():
		return nil, invalid(ReasonUnsupported, "source ranges need %s. Remove the ranges, or restrict the sources elsewhere", in.needs(lb.FeatureAllowedCIDRs))
	}
	return nil, nil
}

// sources returns the CIDRs of the Service's first family that may connect, sorted, and whether they exclude any
// client. With VIPs of both families, it returns the CIDRs of both families.
func (in Input) sources(options annotation.Options) (ranges []string, restricted bool, _ error) {
	if _, err := value.ParseCIDRs(in.Spec.SourceRanges); err != nil {
		return nil, true, &Invalid{Reason: ReasonInvalidSourceRanges, Message: "spec.loadBalancerSourceRanges: " + err.Error()}
	}
	return in.reachable(in.requestedSources(options))
}

// reachable returns the CIDRs whose clients can reach the VIP, and whether they exclude any client, as sources does.
func (in Input) reachable(ranges []string) (_ []string, restricted bool, _ error) {
	restricted = restricts(ranges, in.served())
	switch {
	case !restricted:
		return []string{everyIP[in.Family()]}, false, nil
	case in.hasBoth():
		return slices.Compact(slices.Sorted(slices.Values(ranges))), true, nil
	}
	// Clients of the other family cannot reach the VIP.
	ours := slices.DeleteFunc(slices.Clone(ranges), func(r string) bool {
		p, err := netip.ParsePrefix(r)
		return err != nil || p.Addr().Is4() != (in.Family() == corev1.IPv4Protocol)
	})
	if len(ours) == 0 && (in.Capabilities.Has(lb.FeatureAllowedCIDRs) || in.sourcesBySecurityGroup()) {
		return nil, true, invalid(ReasonInvalidSourceRanges, "none of the source ranges %s is %s, so nobody could connect", strings.Join(ranges, ", "), in.Family())
	}
	slices.Sort(ours)
	return slices.Compact(ours), true, nil
}

func (in Input) checkPorts() error {
	can, taken := in.Capabilities, map[int32]corev1.Protocol{}
	for _, p := range in.Spec.Ports {
		switch other, found := taken[p.Port]; {
		case p.NodePort == 0 && !in.members.pods:
			return invalid(ReasonNoNodePort, "port %d has no NodePort to send traffic to; set spec.allocateLoadBalancerNodePorts to true, "+
				"or annotation %s to %s", p.Port, in.key(annotation.TargetType), config.PodTargets)
		case found && !can.Has(lb.FeatureTransportsShareAPort):
			return invalid(ReasonUnsupported, "port %d for %s and %s needs %s; this cloud has version %s",
				p.Port, other, p.Protocol, lb.FeatureTransportsShareAPort.Needs(), can.APIVersion)
		}
		taken[p.Port] = p.Protocol
	}
	return nil
}
