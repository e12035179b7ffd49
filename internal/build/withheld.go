// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// monitorWithheld says why health monitors are left out.
func monitorWithheld(can lb.Capabilities) lb.Withheld {
	harm := ""
	if can.OVN() {
		harm = ", whose monitors lock load balancers and drop traffic"
	}
	return lb.Withheld{Reason: ReasonHealthMonitorUnsupported, Message: fmt.Sprintf(
		"health monitors need %s; this cloud has %s%s. "+
			"No new ones are created; to accept that, set annotation loadbalancer.openstack.org/enable-health-monitor, or create-monitor in cloud.conf, to false",
		lb.FeatureMonitor.Needs(), can.Lacking(lb.FeatureMonitor), harm)}
}

// allMonitored reports whether all ports have health monitors already, which are
// left as they are. One that is PENDING was left behind and will be replaced by
// none: monitors that are left alone are never under way.
func (in Input) allMonitored(ports []lb.Listener) bool {
	return in.Found != nil && !slices.ContainsFunc(ports, func(wanted lb.Listener) bool {
		return wanted.Pool != nil && !slices.ContainsFunc(in.Found.Listeners, func(l lb.Listener) bool {
			return l.Key() == wanted.Key() && l.Pool != nil && l.Pool.Monitor != nil && !l.Pool.Monitor.ProvisioningStatus.Pending()
		})
	})
}

// affinityWithheld says that sessionAffinity ClientIP is not carried out.
func affinityWithheld(can lb.Capabilities) lb.Withheld {
	return lb.Withheld{Reason: ReasonSessionAffinityUnsupported, Message: fmt.Sprintf(
		"sessionAffinity ClientIP needs %s; this cloud has %s. "+
			"The Service is served without affinity; to accept that, set spec.sessionAffinity to None",
		lb.FeatureSessionAffinity.Needs(), can.Lacking(lb.FeatureSessionAffinity))}
}

// sctpUnmonitored reports whether SCTP ports are to have health monitors and cannot.
func (in Input) sctpUnmonitored(options annotation.Options) bool {
	return options.Monitor && in.Capabilities.Has(lb.FeatureMonitor) && !in.Capabilities.Has(lb.FeatureSCTPMonitor) &&
		slices.ContainsFunc(in.Service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolSCTP })
}

// settingsWithheld says which settings of listeners are asked for and not carried out.
func (in Input) settingsWithheld(options annotation.Options) []lb.Withheld {
	var withheld []lb.Withheld
	can := in.Capabilities
	if in.sctpUnmonitored(options) {
		withheld = append(withheld, lb.Withheld{Reason: ReasonHealthMonitorUnsupported, Message: fmt.Sprintf(
			"health monitors of SCTP ports need %s; this cloud has %s. These ports have none; "+
				"to accept that, for all ports, set annotation loadbalancer.openstack.org/enable-health-monitor to false",
			lb.FeatureSCTPMonitor.Needs(), can.Lacking(lb.FeatureSCTPMonitor))})
	}
	if options.Timeouts != lb.DefaultTimeouts && !can.Has(lb.FeatureTimeouts) {
		withheld = append(withheld, lb.Withheld{Reason: ReasonTimeoutsUnsupported, Message: fmt.Sprintf(
			"timeouts need %s; this cloud has %s. The Service is served without them; to accept that, remove the annotations %s…",
			lb.FeatureTimeouts.Needs(), can.Lacking(lb.FeatureTimeouts), annotation.TimeoutPrefix)})
	}
	if options.ConnectionLimit != annotation.NoLimit && !can.Has(lb.FeatureConnectionLimit) {
		withheld = append(withheld, lb.Withheld{Reason: ReasonConnectionLimitUnsupported, Message: fmt.Sprintf(
			"a connection limit needs %s; this cloud has %s. The Service is served without a limit; to accept that, remove annotation %s",
			lb.FeatureConnectionLimit.Needs(), can.Lacking(lb.FeatureConnectionLimit), annotation.ConnectionLimit)})
	}
	withheld = append(withheld, in.tagsWithheld()...)
	for _, s := range []struct {
		what, value, key, reason string
		needs                    lb.Feature
	}{
		{"flavor", options.FlavorID, annotation.FlavorID, ReasonFlavorUnsupported, lb.FeatureFlavors},
		{"availability zone", options.AvailabilityZone, annotation.AvailabilityZone, ReasonAvailabilityZoneUnsupported, lb.FeatureAvailabilityZones},
	} {
		if s.value != "" && !can.Has(s.needs) {
			withheld = append(withheld, lb.Withheld{Reason: s.reason, Message: fmt.Sprintf(
				"%s %s needs %s; this cloud has %s. The Service is served without it; to accept that, set annotation %s to an empty value",
				s.what, s.value, s.needs.Needs(), can.Lacking(s.needs), s.key)})
		}
	}
	return withheld
}

// tagsWithheld says which tags that the Service asks for are not set.
func (in Input) tagsWithheld() []lb.Withheld {
	asked := func(keys ...string) (set []string) {
		for _, key := range keys {
			if strings.TrimSpace(in.Service.Annotations[key]) != "" {
				set = append(set, key)
			}
		}
		return set
	}
	var withheld []lb.Withheld
	if keys := asked(annotation.LoadBalancerTags, annotation.ListenerTags, annotation.PoolTags); len(keys) > 0 && !in.Capabilities.Has(lb.FeatureTags) {
		withheld = append(withheld, lb.Withheld{Reason: ReasonTagsUnsupported, Message: fmt.Sprintf(
			"tags need %s; this cloud has %s. The Service is served without them; to accept that, remove annotation %s",
			lb.FeatureTags.Needs(), in.Capabilities.Lacking(lb.FeatureTags), strings.Join(keys, " and "))})
	}
	if keys := asked(annotation.LoadBalancerTags, annotation.FloatingIPTags); len(keys) > 0 && in.Sharer && in.Found != nil {
		withheld = append(withheld, lb.Withheld{Reason: ReasonLoadBalancerNotTagged, Message: fmt.Sprintf(
			"load balancer %s and its floating IP were not created for this Service and do not get its tags; its own listeners and pools do. To accept that, remove annotation %s",
			in.Found.ID, strings.Join(keys, " and "))})
	}
	return withheld
}

// MetadataPortMissing says what a health monitor does that nothing in the
// members' subnet can carry out.
func MetadataPortMissing(subnetID string) lb.Withheld {
	return lb.Withheld{Reason: ReasonMetadataPortMissing, Message: fmt.Sprintf(
		"the load balancer has a health monitor, but the project can see no metadata port in subnet %s, from which provider ovn checks members: without one it drops all traffic "+
			"to the VIP, whatever the statuses say. Ask the cloud operator for a metadata port, or delete the monitor", subnetID)}
}
