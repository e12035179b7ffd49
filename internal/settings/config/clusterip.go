// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ClusterIPSection is the section of cluster-ip mode.
const ClusterIPSection = "ClusterIP"

// ClusterIP is the section [ClusterIP], which selects the Services that get a load balancer at
// their ClusterIP.
type ClusterIP struct {
	// Enabled enables the mode. Then ServiceSubnetID is set.
	Enabled bool
	// ServiceSubnetID is the subnet of the VIPs.
	ServiceSubnetID string
	// Provider is the Octavia provider of new load balancers. Empty means that of LoadBalancer.
	Provider string
	// Selector is a label selector of Services. Empty selects all.
	Selector string
	// Namespaces are names of namespaces, separated by commas. Empty means all.
	Namespaces string
}

// AtClusterIP has the settings of a Service in cluster-ip mode, regardless of its class and
// annotations.
type AtClusterIP struct {
	// SubnetID and Provider are the settings of ClusterIP.
	SubnetID, Provider string
	// Internal is true for Services that do not have type LoadBalancer: they have no floating IP, and the operator's
	// settings for external clients do not apply to them.
	Internal bool
}

// over returns the settings of a Service in cluster-ip mode.
func (a *AtClusterIP) over(l LoadBalancer) LoadBalancer {
	if a == nil {
		return l
	}
	l.AtClusterIP = a
	l.TargetType, l.SubnetID, l.NetworkID, l.AdditionalSubnetID = PodTargets, a.SubnetID, "", ""
	if a.Provider != "" && a.Provider != l.Provider {
		l.Provider = a.Provider
		l.FlavorID, l.AvailabilityZone = "", "" // another provider does not have them
	}
	if a.Internal {
		l.Internal, l.SourceRanges, l.TLSContainer = true, "", ""
	}
	return l
}

// ParseNamespaces parses names of namespaces that are separated by commas, and sorts them. For an empty
// text it returns nil.
func ParseNamespaces(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var names []string
	for part := range strings.SplitSeq(text, ",") {
		name := strings.TrimSpace(part)
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is not the name of a namespace: %s", name, wrong[0])
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// ParseSelector parses a label selector in the syntax of kubectl. An empty one selects everything.
func ParseSelector(text string) (labels.Selector, error) { return labels.Parse(text) }

func labelSelector(v parsed) string { return unreadable(ParseSelector(v.text)) }

func namespaceNames(v parsed) string { return unreadable(ParseNamespaces(v.text)) }

// validateClusterIP checks the combination of the keys of cluster-ip mode.
func (f *file) validateClusterIP(c ClusterIP) {
	if c.Enabled && c.ServiceSubnetID == "" && !f.refusedKey(ClusterIPSection, "service-subnet-id") {
		f.problem(f.lineOf(ClusterIPSection, "", "enabled"), "[%s] enabled needs service-subnet-id, the subnet of the ClusterIPs", ClusterIPSection)
	}
}
