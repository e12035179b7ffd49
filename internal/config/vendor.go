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
	Key{Name: "like", allowed: []string{"amphora", lb.ProviderOVN},
		Doc: "Whose ways the provider has. ovn: it forwards packets with the clients' addresses, and balances by SOURCE_IP_PORT alone. Without it: those of amphora, and of ovn for ovn."},
	Key{Name: "lacks", check: featureNames,
		Doc: "What the provider cannot do, separated by commas, whatever the version of Octavia's API: " + strings.Join(lb.FeatureNames(), ", ") + "."},
)

func featureNames(v value) string {
	if _, err := lb.ParseFeatures(v.text); err != nil {
		return "has a part that is not known: " + err.Error()
	}
	return ""
}

// readVendors collects what the file says of providers.
func (f *file) readVendors() {
	for _, s := range f.vendors {
		if s.key == "" {
			continue
		}
		f.readKey(Section{Name: vendorSection}, s)
		if f.config.Vendors == nil {
			f.config.Vendors = map[string]lb.Vendor{}
		}
		of := f.config.Vendors[s.name]
		switch strings.ToLower(s.key) {
		case "like":
			of.Like = s.value
		case "lacks":
			of.Lacks, _ = lb.ParseFeatures(s.value) // readKey has said what is wrong
		}
		f.config.Vendors[s.name] = of
	}
}
