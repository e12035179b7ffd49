// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// needs says what a feature needs and what this cloud has instead, for messages.
func (in Input) needs(f lb.Feature) string {
	return f.Needs() + "; this cloud has " + in.Capabilities.Lacking(f)
}

// withheld returns what the Service requests and the cloud does not support.
func (in Input) withheld(options annotation.Options, wanted lb.Wanted) (all []lb.Withheld) {
	add := func(reason, format string, args ...any) {
		all = append(all, lb.Withheld{Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	lacks := func(f lb.Feature) bool { return !in.Capabilities.Has(f) }
	if options.Monitor && wanted.KeepMonitors && !in.allMonitored(wanted.LoadBalancer.Listeners) {
		harm := ""
		if in.Capabilities.OVN() {
			harm = ", whose monitors lock load balancers and drop traffic"
		}
		add(ReasonHealthMonitorUnsupported, "health monitors need %s%s. No new ones are created; to accept that, set annotation "+
			"%s, or create-monitor in cloud.conf, to false", in.needs(lb.FeatureMonitor), harm, in.key(annotation.EnableMonitor))
	}
	if in.Spec.SessionAffinity && lacks(lb.FeatureSessionAffinity) {
		add(ReasonSessionAffinityUnsupported, "sessionAffinity ClientIP needs %s. The Service is served without affinity; to accept that, "+
			"set spec.sessionAffinity to None", in.needs(lb.FeatureSessionAffinity))
	}
	sctp := slices.ContainsFunc(in.Spec.Ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolSCTP })
	if sctp && options.Monitor && !wanted.KeepMonitors && lacks(lb.FeatureSCTPMonitor) {
		add(ReasonHealthMonitorUnsupported, "health monitors of SCTP ports need %s. These ports have none; to accept that, for all ports, "+
			"set annotation %s to false", in.needs(lb.FeatureSCTPMonitor), in.key(annotation.EnableMonitor))
	}
	if options.Timeouts != lb.DefaultTimeouts && lacks(lb.FeatureTimeouts) {
		add(ReasonTimeoutsUnsupported, "timeouts need %s. The Service is served without them; to accept that, remove annotation %s",
			in.needs(lb.FeatureTimeouts), strings.Join(in.annotated(annotation.Timeouts...), " and "))
	}
	if options.HSTS.MaxAge != annotation.NoHSTS && lacks(lb.FeatureHSTS) {
		add(ReasonHSTSUnsupported, "HTTP Strict Transport Security needs %s. The Service is served without that header; to accept that, remove annotation %s",
			in.needs(lb.FeatureHSTS), strings.Join(in.annotated(annotation.HSTSMaxAge, annotation.HSTSIncludeSubdomains, annotation.HSTSPreload), " and "))
	}
	if options.ConnectionLimit != annotation.NoLimit && lacks(lb.FeatureConnectionLimit) {
		add(ReasonConnectionLimitUnsupported, "a connection limit needs %s. The Service is served without a limit; to accept that, remove annotation %s",
			in.needs(lb.FeatureConnectionLimit), in.key(annotation.ConnectionLimit))
	}
	if keys := in.annotated(annotation.LoadBalancerTags, annotation.ListenerTags, annotation.PoolTags); len(keys) > 0 && lacks(lb.FeatureTags) {
		add(ReasonTagsUnsupported, "tags need %s. The Service is served without them; to accept that, remove annotation %s",
			in.needs(lb.FeatureTags), strings.Join(keys, " and "))
	}
	if keys := in.annotated(annotation.LoadBalancerTags, annotation.FloatingIPTags); len(keys) > 0 && in.Sharer && in.Found != nil {
		add(ReasonLoadBalancerNotTagged, "load balancer %s and its floating IP were not created for this Service and do not get its tags; "+
			"its own listeners and pools do. To accept that, remove annotation %s", in.Found.ID, strings.Join(keys, " and "))
	}
	const unplaced = "%s %s needs %s. The Service is served without it; to accept that, set annotation %s to an empty value"
	if options.FlavorID != "" && lacks(lb.FeatureFlavors) {
		add(ReasonFlavorUnsupported, unplaced, "flavor", options.FlavorID, in.needs(lb.FeatureFlavors), in.key(annotation.FlavorID))
	}
	if options.AvailabilityZone != "" && lacks(lb.FeatureAvailabilityZones) {
		add(ReasonAvailabilityZoneUnsupported, unplaced, "availability zone", options.AvailabilityZone, in.needs(lb.FeatureAvailabilityZones),
			in.key(annotation.AvailabilityZone))
	}
	return all
}

// refusedMembers says which members are left out because Octavia refuses them, or returns "". Only an operator can
// correct that, so the Service is not refused because of it.
func (in Input) refusedMembers() string {
	if len(in.Refused) == 0 {
		return ""
	}
	all := in
	all.Refused, all.members.known = nil, nil
	var names []string
	said := ""
	for _, port := range in.Spec.Ports {
		for _, m := range all.membersOf(port, false, 0) {
			if text := in.Refused[m.Key()]; text != "" {
				names, said = append(names, fmt.Sprintf("%s (%s)", m.Name, netip.AddrPortFrom(parsed(m.Address), uint16(m.Port)))), max(said, text)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("Octavia refuses these members, so they are left out, and the others take the traffic: %s. It said: %s. They are tried again from time to time",
		some(slices.Compact(names)), said)
}

func parsed(address string) netip.Addr {
	a, _ := netip.ParseAddr(address)
	return a
}

// LeftOut says what is not a member because of its address, or returns "": nodes, and members that Octavia refuses.
func LeftOut(in Input) string {
	if in.Spec == nil {
		return ""
	}
	options := in.Spec.Options
	in.both = in.hasBoth() && len(in.Families()) > 1
	in.chooseMembers(options)
	texts := []string{in.nodesLeftOut(options), in.refusedMembers()}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

func (in Input) nodesLeftOut(options annotation.Options) string {
	if in.Spec.PodTargets() {
		return ""
	}
	var all []string
	for i := range in.Nodes {
		if text := in.leftOut(in.Nodes[i : i+1]); text != "" && options.NodeSelector.Matches(in.Nodes[i].Labels) {
			all = append(all, fmt.Sprintf("%s (%s)", in.Nodes[i].Name, text))
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "not members, because no load balancer can send to their addresses: nodes " + some(all)
}

// leftOut returns the addresses of a node that no member can have, if the node is left out because of them; or "".
func (in Input) leftOut(one []corev1.Node) string {
	var bad []string
	for i, family := range in.served() {
		choice := in.addressChoice(i, family)
		if targets, _ := member.Nodes(one, choice); len(targets) > 0 {
			return ""
		}
		for _, left := range member.Unusable(one, choice) {
			bad = append(bad, left.Text())
		}
	}
	return strings.Join(bad, ", ")
}

// some joins the first of the texts, and counts the others.
func some(texts []string) string {
	const most = 3
	first := slices.Clone(texts[:min(len(texts), most)])
	if more := len(texts) - most; more > 0 {
		first = append(first, fmt.Sprintf("%d others", more))
	}
	return strings.Join(first, ", ")
}

// annotated returns those of the annotations that the Service has, with the keys that the user typed.
func (in Input) annotated(keys ...string) (typed []string) {
	for _, key := range keys {
		if annotation.Value(in.Spec.Annotations, key) != "" {
			typed = append(typed, in.key(key))
		}
	}
	return typed
}

// key returns the key of an annotation as the user typed it, or that of the table.
func (in Input) key(key string) string { return in.Spec.Key(key) }

// allMonitored reports whether all ports already have health monitors, which stay as they are. A PENDING monitor does
// not count: Octavia left it unfinished, and its pool will be replaced by one without a monitor.
func (in Input) allMonitored(ports []lb.Listener) bool {
	return in.Found != nil && !slices.ContainsFunc(ports, func(wanted lb.Listener) bool {
		return wanted.Pool != nil && !slices.ContainsFunc(in.Found.Listeners, func(l lb.Listener) bool {
			return l.Key() == wanted.Key() && l.Pool != nil && l.Pool.Monitor != nil && !l.Pool.Monitor.ProvisioningStatus.Pending()
		})
	})
}

// MetadataPortMissing describes a health monitor that cannot work: the members' subnet has no port from which OVN can
// check the members.
func MetadataPortMissing(subnetID string) lb.Withheld {
	return lb.Withheld{Reason: ReasonMetadataPortMissing, Message: fmt.Sprintf(
		"the load balancer has a health monitor, but the project can see no port in subnet %s from which OVN can check members: neither a metadata port nor one of provider ovn. Without one it drops all traffic "+
			"to the VIP, whatever the statuses say. Ask the cloud operator for a metadata port, or delete the monitor", subnetID)}
}
