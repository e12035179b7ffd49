// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// reachable is a minimal valid [Global].
const reachable = "[Global]\nauth-url=http://127.0.0.1:5000\nusername=u\npassword=p\ndomain-id=d\n"

func TestFeaturesThatAProviderLacksAreReadByName(t *testing.T) {
	c, err := Parse("cloud.conf", []byte(reachable+"[LoadBalancerProvider \"f5\"]\nlike=amphora\nlacks=timeouts, sctp\nmethods=SOURCE_IP_PORT, SOURCE_IP\n[LoadBalancerProvider \"fast\"]\nLike=ovn\n[LoadBalancerProvider \"plain\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lb.Vendor{"f5": {Like: "amphora", Lacks: []lb.Feature{lb.FeatureTimeouts, lb.FeatureSCTP}, Methods: []lb.Algorithm{lb.SourceIPPort, "SOURCE_IP"}}, "fast": {Like: "ovn"}}
	if d := cmp.Diff(want, c.Vendors); d != "" {
		t.Errorf("vendors (-want +got):\n%s", d)
	}
}

func TestUnknownFeatureOrAlgorithmOfAProviderIsRefusedWithTheKnownOnes(t *testing.T) {
	_, err := Parse("cloud.conf", []byte(reachable+"[LoadBalancerProvider \"f5\"]\nlacks=timeouts,turbo\nlike=haproxy\nmethods=ROUND_ROBIN,RANDOM\n[LoadBalancerProvider]\nlacks=sctp\n"))
	for _, part := range []string{"cloud.conf:7", `"turbo" is not a feature; the features are additional-vips, allowed-cidrs`, `cloud.conf:8`, `"haproxy" is not one of amphora, ovn`, `cloud.conf:9`, `"RANDOM" is not one of ROUND_ROBIN, LEAST_CONNECTIONS`, `cloud.conf:10`, "needs a name"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}
