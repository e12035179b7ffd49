// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// vendorSection is the section that stands once per provider.
const vendorSection = "LoadBalancerProvider"

var vendorKeys = section(vendorSection, Used,
	Key{Name: "like", allowed: []string{lb.ProviderAmphora, lb.ProviderOVN},
		Doc: "The known provider that it resembles. ovn: it forwards packets with the clients' addresses and balances only by SOURCE_IP_PORT. Default: ovn for provider ovn, else amphora."},
	Key{Name: "lacks", check: featureNames,
		Doc: "Features that the provider lacks, separated by commas, independent of the Octavia API version: " + strings.Join(lb.FeatureNames(), ", ") + "."},
)

func featureNames(v value) string {
	if _, err := lb.ParseFeatures(v.text); err != nil {
		return "has an unknown feature: " + err.Error()
	}
	return ""
}

// readVendors collects what the file says of providers.
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
		case "lacks":
			of.Lacks, _ = lb.ParseFeatures(s.Value) // readKey has said what is wrong
		}
		f.config.Vendors[s.Name] = of
	}
}
