// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// vendorSection is the section that occurs once per provider.
const vendorSection = "LoadBalancerProvider"

var vendorKeys = section(vendorSection, Used,
	Key{Name: "like", allowed: []string{lb.ProviderAmphora, lb.ProviderOVN},
		Doc: "The known provider that it resembles. ovn: it forwards packets with the clients' addresses. Default: ovn for provider ovn, else amphora."},
	Key{Name: "methods", check: methodNames,
		Doc: "Balancing methods that the provider supports, separated by commas. The first is used where a Service requests none and lb-method is not among them. Set it to `SOURCE_IP_PORT, SOURCE_IP` for release 11 of provider ovn. Default: SOURCE_IP_PORT for a provider like ovn, else all."},
	Key{Name: "lacks", check: featureNames,
		Doc: "Features that the provider lacks, separated by commas, independent of the Octavia API version: " + strings.Join(lb.FeatureNames(), ", ") + "."},
)

func featureNames(v parsed) string {
	if _, err := lb.ParseFeatures(v.text); err != nil {
		return "has an unknown feature: " + err.Error()
	}
	return ""
}

func methodNames(v parsed) string {
	if _, err := parseMethods(v.text); err != nil {
		return err.Error()
	}
	return ""
}

// parseMethods parses balancing methods that are separated by commas.
func parseMethods(text string) ([]lb.Algorithm, error) {
	var all []lb.Algorithm
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if !slices.Contains(Methods, name) {
			return nil, fmt.Errorf("has an unknown balancing method: %q is not one of %s", name, strings.Join(Methods, ", "))
		}
		all = append(all, lb.Algorithm(name))
	}
	return all, nil
}

// readVendors collects the settings of providers.
func (f *file) readVendors() {
	for _, s := range f.vendors {
		if s.Key == "" {
			continue
		}
		f.readKey(Section{Name: vendorSection}, s)
		if f.config.Vendors == nil {
			f.config.Vendors = map[string]lb.Vendor{}
		}
		of := f.config.Vendors[s.Name]
		switch strings.ToLower(s.Key) {
		case "like":
			of.Like = s.Value
		case "methods":
			of.Methods, _ = parseMethods(s.Value) // readKey has reported errors
		case "lacks":
			of.Lacks, _ = lb.ParseFeatures(s.Value) // readKey has reported errors
		}
		f.config.Vendors[s.Name] = of
	}
}
