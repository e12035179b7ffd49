// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// checkFeatures compares what cloud.conf and the Services request with the features of the cloud.
func checkFeatures(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok {
		return
	}
	if api := f.Cloud.APIVersion; api.Kind == NotAsked {
		r.Skip(api.Reason)
		return
	} else if !api.OK() {
		r.Found(Error, api.Reason, "The controller does not start without the API version of Octavia.", api.AdviceOr("check the endpoint: `openstack catalog show load-balancer`"))
		return
	}
	r.Saw(fmt.Sprintf("Octavia API version %s", f.Cloud.APIVersion.Value))
	for _, s := range sections(c) {
		checkSection(f, s, r)
	}
	services := served(f)
	for i := range services {
		checkService(f, &services[i], r)
	}
	if f.Cluster.Services.OK() {
		r.Saw(fmt.Sprintf("Services compared with it: %d", len(services)))
	} else {
		r.Saw("no Services to compare with: " + f.Cluster.Services.Reason)
	}
}

// checkSection checks what a section of cloud.conf requests for all load balancers.
func checkSection(f facts, s settings, r *Result) {
	can := capabilities(f, s.Provider)
	for _, w := range []struct {
		on      bool
		key     string
		feature lb.Feature
	}{
		{s.CreateMonitor, "create-monitor", lb.FeatureMonitor},
		{s.FlavorID != "", "flavor-id", lb.FeatureFlavors},
		{s.AvailabilityZone != "", "availability-zone", lb.FeatureAvailabilityZones},
		{s.TLSContainer != "", "default-tls-container-ref", lb.FeatureTLS},
		{s.SourceRanges != "" && (!can.OVN() || !s.ManageSecurityGroups), "source-ranges", lb.FeatureAllowedCIDRs},
		{s.Tags != "", "tags", lb.FeatureTags},
	} {
		if w.on && !can.Has(w.feature) {
			r.Found(Warning, fmt.Sprintf("%s %s needs %s, but this is %s", s.section, w.key, w.feature.Needs(), can.Lacking(w.feature)),
				"Services are served without it, or refused.", fmt.Sprintf("Remove %s from %s, or use %s.", w.key, s.section, otherCloud(can, w.feature)))
		}
	}
}

// checkService builds the load balancer that the Service requests, as the controller does.
func checkService(f facts, s *corev1.Service, r *Result) {
	of := f.services().Of(s)
	in := desired.Input{Spec: of.Spec, Config: of.Settings(f.Config.Value.LoadBalancer), Owner: of.Identity, Nodes: f.Cluster.Nodes.Value}
	parsed, err := of.Spec.Options, of.Spec.Invalid()
	if err == nil {
		in.Capabilities = capabilities(f, parsed.Provider)
		in.Networks = assumed(desired.NetworksOf(parsed))
		in.Certificate = desired.SecretCertificate{Secret: parsed.TLSSecret, Certificate: lb.Certificate{Name: "certificate of Secret " + parsed.TLSSecret}}
		var wanted lb.Wanted
		wanted, err = desired.Wanted(in)
		for _, w := range wanted.Withheld {
			if strings.HasSuffix(w.Reason, "Unsupported") {
				r.Found(Warning, fmt.Sprintf("Service %s (%s): %s", name(*s), w.Reason, w.Message), "The Service is served without it.", changeService(w.Reason, *s))
			}
		}
	}
	var refused *desired.Invalid
	if errors.As(err, &refused) && aboutFeatures(refused.Reason) {
		r.Found(Error, fmt.Sprintf("Service %s (%s): %s", name(*s), refused.Reason, refused.Message), "The Service is refused.", changeService(refused.Reason, *s))
	}
}

// assumed fills in what the controller looks up in the cloud, so that the result depends only on
// features.
func assumed(n desired.Networks) desired.Networks {
	const looked = "00000000-0000-0000-0000-000000000000"
	for _, id := range []*string{&n.VIPSubnetID, &n.AdditionalSubnetID, &n.MemberSubnetID, &n.FloatingNetworkID} {
		if *id == "" {
			*id = looked
		}
	}
	return n
}

// aboutFeatures reports whether a reason to refuse a Service depends only on the Service, cloud.conf and the features of
// the cloud. The others depend on what exists in the cloud.
func aboutFeatures(reason string) bool {
	return slices.Contains([]string{desired.ReasonInvalidAnnotation, desired.ReasonInvalidSourceRanges, desired.ReasonUnsupported, desired.ReasonDualStackUnsupported}, reason)
}

// otherCloud returns what has the feature that these load balancers lack.
func otherCloud(can lb.Capabilities, feature lb.Feature) string {
	if (lb.Capabilities{APIVersion: can.APIVersion, Provider: lb.ProviderAmphora}).Has(feature) {
		return "a provider that has it: `openstack loadbalancer provider list`"
	}
	return "a cloud with a newer Octavia"
}

// changeService returns what to do about a Service that is refused or partly served for the reason.
func changeService(reason string, s corev1.Service) string {
	edit := fmt.Sprintf("`kubectl edit service -n %s %s`", s.Namespace, s.Name)
	switch reason {
	case desired.ReasonInvalidAnnotation:
		return "Correct the annotations that the message names: " + edit + ". docs/reference/annotations.md has all values."
	case desired.ReasonInvalidSourceRanges:
		return "Correct the source ranges that the message names: " + edit + "."
	case desired.ReasonDualStackUnsupported:
		return "Set spec.ipFamilyPolicy to SingleStack: " + edit + "; or use a cloud or provider with load balancers of both IP families."
	}
	return "Remove the setting that the message names: " + edit + "; or use a cloud or provider that has the feature."
}

// checkProviders checks that configured providers, flavors and availability zones exist.
func checkProviders(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok {
		return
	}
	octavia := f.Cloud.Octavia
	providers := uses(c, "lb-provider", func(l config.LoadBalancer) string { return l.Provider })
	if r.Has(octavia.Providers.Missing, "openstack loadbalancer provider list") {
		r.Saw("providers of the cloud: " + joined(octavia.Providers.Value))
		for _, u := range providers {
			if !slices.Contains(octavia.Providers.Value, u.value) {
				r.Found(Error, fmt.Sprintf("%s is %s, but the providers of the cloud are %s", u.where, u.value, joined(octavia.Providers.Value)),
					"Octavia rejects new load balancers of this provider.", "Set the key to one of them: `openstack loadbalancer provider list`.")
			}
		}
	}
	checkOffers(r, "flavor", f.flavors(), octavia.Flavors, func(o Offer) string { return o.ID })
	checkOffers(r, "availabilityzone", f.zones(), octavia.Zones, func(o Offer) string { return o.Name })
}

// checkOffers checks that the used flavors or zones exist. kind is their name in the openstack client.
func checkOffers(r *Result, kind string, used []use, known Read[[]Offer], key func(Offer) string) {
	list := "openstack loadbalancer " + kind + " list"
	if len(used) == 0 || !r.Has(known.Missing, list) {
		return
	}
	for _, u := range used {
		i := slices.IndexFunc(known.Value, func(o Offer) bool { return key(o) == u.value })
		const why = "Octavia rejects new load balancers with it."
		switch {
		case i < 0:
			r.Found(Error, fmt.Sprintf("%s is %s, but there is no such %s", u.where, u.value, kind), why, "Set it to one of `"+list+"`, or remove it.")
		case !known.Value[i].Enabled:
			r.Found(Error, fmt.Sprintf("%s is %s, but this %s is disabled", u.where, u.value, kind), why,
				fmt.Sprintf("Use another one of `%s`, or ask the operator of the cloud for `openstack loadbalancer %s set --enable %s`.", list, kind, u.value))
		default:
			r.Saw(kind + " " + u.value + " exists and is enabled")
		}
	}
}
