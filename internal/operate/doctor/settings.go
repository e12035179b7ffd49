// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// settings are the load balancer settings of one section of cloud.conf.
type settings struct {
	section string
	config.LoadBalancer
}

// sections returns the settings of [LoadBalancer], of each class and of [ClusterIP].
func sections(c config.Config) []settings {
	all := []settings{{"[LoadBalancer]", c.LoadBalancer}}
	for _, name := range c.LoadBalancer.ClassNames() {
		class, _ := c.LoadBalancer.Of(name)
		all = append(all, settings{fmt.Sprintf("[LoadBalancerClass %q]", name), class})
	}
	if c.ClusterIP.Enabled {
		at := c.LoadBalancer
		at.AtClusterIP = &config.AtClusterIP{SubnetID: c.ClusterIP.ServiceSubnetID, Provider: c.ClusterIP.Provider, Internal: true}
		inside, _ := at.Of("")
		all = append(all, settings{"[" + config.ClusterIPSection + "]", inside})
	}
	return all
}

// use is a value, and where it is set.
type use struct{ value, where string }

// uses returns the different values of a key, each with the first section that has it.
func uses(c config.Config, key string, value func(config.LoadBalancer) string) (all []use) {
	seen := map[string]bool{"": true}
	for _, s := range sections(c) {
		if v := value(s.LoadBalancer); !seen[v] {
			seen[v] = true
			all = append(all, use{v, s.section + " " + key})
		}
	}
	return all
}

// requested adds the values that Services request by an annotation.
func requested(f facts, all []use, key string) []use {
	seen := map[string]bool{"": true}
	for _, u := range all {
		seen[u.value] = true
	}
	for _, s := range served(f) {
		if v := annotation.Canonical(s.Annotations)[key]; !seen[v] {
			seen[v] = true
			all = append(all, use{v, fmt.Sprintf("annotation %s of Service %s", annotation.TypedKey(s.Annotations, key), name(s))})
		}
	}
	return all
}

// configured returns cloud.conf. If there is none, it skips the check.
func (f facts) configured(r *Result) (config.Config, bool) {
	if f.Config.Kind != Present {
		r.Skip("cloud.conf cannot be used, see check " + string(Configuration))
	}
	return f.Config.Value, f.Config.OK()
}

// served returns the Services that the controller serves.
func served(f facts) (all []corev1.Service) {
	for i := range f.Cluster.Services.Value {
		if s := f.Cluster.Services.Value[i]; f.Policy.Serves(&s) {
			all = append(all, s)
		}
	}
	return all
}

// waiting returns the Services that are served and have no load balancer yet.
func waiting(f facts) (all []corev1.Service) {
	exists := map[string]bool{}
	for _, b := range f.Cloud.Octavia.Balancers.Value {
		exists[b.ID] = true
		if !f.ofAnotherCluster(b) {
			exists[b.Name] = true
		}
	}
	for _, s := range served(f) {
		if !exists[annotation.Value(s.Annotations, annotation.LoadBalancerID)] && !exists[f.Policy.Owner(&s).LoadBalancerName()] {
			all = append(all, s)
		}
	}
	return all
}

// options returns what the Service requests, or false if its annotations are invalid.
func options(f facts, s corev1.Service) (annotation.Options, bool) {
	of := f.services().Of(&s)
	o, problems := of.Spec.Options, of.Spec.Problems
	return o, len(problems) == 0
}

// capabilities returns the capabilities of load balancers with the provider.
func capabilities(f facts, provider string) lb.Capabilities {
	return lb.Capabilities{APIVersion: f.Cloud.APIVersion.Value, Provider: provider, Vendors: f.Config.Value.Vendors}
}

func name(s corev1.Service) string { return s.Namespace + "/" + s.Name }

// VIPNetworks returns the ids of the networks in which VIPs are allocated, as far as the facts show them.
func VIPNetworks(all Facts) (ids []string) {
	f := facts{all}
	for _, s := range sections(f.Config.Value) {
		for _, subnet := range f.vipSubnets(s) {
			if !slices.Contains(ids, subnet.NetworkID) {
				ids = append(ids, subnet.NetworkID)
			}
		}
	}
	return ids
}

// flavors and zones return what cloud.conf and the Services request.
func (f facts) flavors() []use {
	return requested(f, uses(f.Config.Value, "flavor-id", func(l config.LoadBalancer) string { return l.FlavorID }), annotation.FlavorID)
}

func (f facts) zones() []use {
	all := uses(f.Config.Value, "availability-zone", func(l config.LoadBalancer) string { return l.AvailabilityZone })
	return requested(f, all, annotation.AvailabilityZone)
}

// UsesFlavors reports whether cloud.conf or a Service requests a flavor.
func UsesFlavors(f Facts) bool { return len(facts{f}.flavors()) > 0 }

// UsesZones reports whether cloud.conf or a Service requests an availability zone.
func UsesZones(f Facts) bool { return len(facts{f}.zones()) > 0 }
