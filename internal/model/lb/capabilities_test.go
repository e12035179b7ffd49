// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	for _, c := range []struct {
		name string

		v, w Version
		want bool
	}{
		{"later minor version", Version{2, 10}, Version{2, 9}, true},
		{"earlier minor version", Version{2, 9}, Version{2, 10}, false},
		{"same version", Version{2, 5}, Version{2, 5}, true},
		{"later major version", Version{3, 0}, Version{2, 29}, true},
		{"earlier major version", Version{1, 29}, Version{2, 0}, false},
		{"unknown version", Version{}, Version{2, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.v.AtLeast(c.w); got != c.want {
				t.Errorf("%s at least %s: %v, want %v", c.v, c.w, got, c.want)
			}
		})
	}
}

func TestOfTwoDifferentVersionsExactlyOneIsNewer(t *testing.T) {
	version := rapid.Custom(func(t *rapid.T) Version {
		return Version{rapid.IntRange(0, 3).Draw(t, "major"), rapid.IntRange(0, 30).Draw(t, "minor")}
	})
	rapid.Check(t, func(t *rapid.T) {
		v, w := version.Draw(t, "v"), version.Draw(t, "w")
		if both := v.AtLeast(w) && w.AtLeast(v); both != (v == w) {
			t.Fatalf("%s and %s are at least each other: %v", v, w, both)
		}
		if !v.AtLeast(w) && !w.AtLeast(v) {
			t.Fatalf("neither %s nor %s is at least the other", v, w)
		}
	})
}

func TestFeaturesNeedTheirVersionAndProvider(t *testing.T) {
	for _, c := range []struct {
		name    string
		feature Feature
		before  Version
		since   Version
		ovn     bool
	}{
		{"tags", FeatureTags, Version{2, 4}, Version{2, 5}, true},
		{"source ranges", FeatureAllowedCIDRs, Version{2, 11}, Version{2, 12}, false},
		{"TCP and UDP on one port", FeatureTransportsShareAPort, Version{2, 12}, Version{2, 13}, true},
		{"HTTP monitors on UDP", FeatureHTTPMonitorOnUDP, Version{2, 15}, Version{2, 16}, false},
		{"HTTP monitors", FeatureHTTPMonitor, Version{1, 9}, Version{2, 0}, false},
		{"metrics", FeaturePrometheus, Version{2, 24}, Version{2, 25}, false},
		{"additional VIPs", FeatureAdditionalVIPs, Version{2, 25}, Version{2, 26}, false},
		{"source ranges of two families", FeatureDualStackSourceRanges, Version{2, 29}, Version{2, 30}, false},
		{"certificates without a common name", FeatureCertificatesWithoutCommonName, Version{2, 29}, Version{2, 30}, false},
		{"monitors in a create", FeatureCreateWithMonitors, Version{1, 9}, Version{2, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if (Capabilities{APIVersion: c.before, Provider: "amphora"}).Has(c.feature) {
				t.Errorf("version %s has it", c.before)
			}
			if !(Capabilities{APIVersion: c.since, Provider: "amphora"}).Has(c.feature) {
				t.Errorf("version %s lacks it", c.since)
			}
			if got := (Capabilities{APIVersion: Version{2, 29}, Provider: ProviderOVN}).Has(c.feature); got != c.ovn {
				t.Errorf("provider ovn has it: %v, want %v", got, c.ovn)
			}
			needs := c.feature.Needs()
			if !strings.Contains(needs, c.since.String()) || strings.Contains(needs, "ovn") == c.ovn {
				t.Errorf("Needs() = %q, want one that names %s, and ovn only if it lacks the feature", needs, c.since)
			}
		})
	}
	for provider, want := range map[string]bool{ProviderAmphora: false, ProviderOVN: true, "f5": true} {
		t.Run(provider, func(t *testing.T) {
			if got := (Capabilities{APIVersion: Version{2, 13}, Provider: provider}).Has(FeatureSourceIPPort); got != want {
				t.Errorf("provider %s has SOURCE_IP_PORT: %v, want %v", provider, got, want)
			}
		})
	}
	for feature, minor := range map[Feature]int{FeatureMonitor: 27, FeatureSessionAffinity: 27, FeatureCreateWithMonitors: 30} {
		t.Run(features[feature].name, func(t *testing.T) {
			for version, want := range map[Version]bool{{2, minor - 1}: false, {2, minor}: true} {
				if got := (Capabilities{APIVersion: version, Provider: ProviderOVN}).Has(feature); got != want {
					t.Errorf("provider ovn of version %s has feature %v: %v, want %v", version, features[feature].name, got, want)
				}
			}
			if !(Capabilities{APIVersion: Version{2, 0}, Provider: "amphora"}).Has(feature) {
				t.Errorf("amphorae of version 2.0 lack feature %s", features[feature].name)
			}
			if needs, when := feature.Needs(), fmt.Sprintf("2.%d with provider ovn", minor); !strings.Contains(needs, when) {
				t.Errorf("Needs() = %q does not say %s", needs, when)
			}
		})
	}
	if (Capabilities{APIVersion: Version{9, 9}}).Has(Feature(999)) {
		t.Error("an unknown feature is there")
	}
}

func TestCloudConfDeclaresFeaturesThatAProviderLacksAndTheProviderItIsLike(t *testing.T) {
	vendors := map[string]Vendor{"f5": {Lacks: []Feature{FeatureTimeouts}}, "fast": {Like: ProviderOVN}, "ovn": {Lacks: []Feature{FeatureSCTP}}}
	can := func(provider string) Capabilities {
		return Capabilities{APIVersion: Version{2, 29}, Provider: provider, Vendors: vendors}
	}
	for _, c := range []struct {
		provider string
		feature  Feature
		want     bool
	}{
		{"f5", FeatureTimeouts, false},
		{"f5", FeatureSCTP, true},
		{"f5", FeatureAllowedCIDRs, true},
		{"amphora", FeatureTimeouts, true},
		{"fast", FeatureAllowedCIDRs, false},
		{"fast", FeatureSCTP, true},
		{"ovn", FeatureSCTP, false},
		{"ovn", FeatureTimeouts, false},
		{"unheard-of", FeatureTimeouts, true},
	} {
		t.Run(c.provider+" "+features[c.feature].name, func(t *testing.T) {
			if got := can(c.provider).Has(c.feature); got != c.want {
				t.Errorf("provider %s has %s: %v, want %v", c.provider, features[c.feature].name, got, c.want)
			}
		})
	}
	for provider, want := range map[string]bool{"f5": false, "fast": true, "ovn": true, "amphora": false} {
		t.Run(provider, func(t *testing.T) {
			if got := can(provider).OVN(); got != want {
				t.Errorf("provider %s has the ways of ovn: %v, want %v", provider, got, want)
			}
		})
	}
	if said := can("f5").Lacking(FeatureTimeouts); !strings.Contains(said, `lack timeouts according to section [LoadBalancerProvider "f5"] of cloud.conf`) {
		t.Errorf("it is said %q", said)
	}
}

func TestEveryFeatureHasANameOfItsOwn(t *testing.T) {
	for f, is := range features {
		if got, err := ParseFeatures(" " + is.name + ","); err != nil || len(got) != 1 || got[0] != f {
			t.Errorf("%q is read as %v, %v, want %v", is.name, got, err, f)
		}
	}
}

// TestRequirementsAgreeWithHas asks for each feature in the version that its requirement names, and in the one before.
func TestRequirementsAgreeWithHas(t *testing.T) {
	list := Requirements()
	if len(list) != len(features) {
		t.Errorf("%d requirements of %d features", len(list), len(features))
	}
	for i, r := range list {
		f, err := ParseFeatures(r.Name)
		if err != nil || r.Doc == "" {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		amphora := r.Since
		if r.NotAmphora {
			amphora = Version{}
		}
		for provider, since := range map[string]Version{ProviderAmphora: amphora, ProviderOVN: r.OVNSince, "f5": r.Since} {
			if since == (Version{}) {
				since = Version{99, 0}
			}
			before := Version{since.Major, since.Minor - 1}
			for version, want := range map[Version]bool{since: since.Major < 99, before: false} {
				if got := (Capabilities{APIVersion: version, Provider: provider}).Has(f[0]); got != want {
					t.Errorf("provider %s of version %s has %s: %v, want %v", provider, version, r.Name, got, want)
				}
			}
		}
		if i > 0 && !r.Since.AtLeast(list[i-1].Since) {
			t.Errorf("%s of version %s comes after %s of version %s", r.Name, r.Since, list[i-1].Name, list[i-1].Since)
		}
	}
}
