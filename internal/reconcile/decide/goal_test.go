// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestRecordedVIPIsRequestedForANewLoadBalancer(t *testing.T) {
	const subnet = "00000000-0000-4000-8000-000000000001"
	configured := lb.VIP{SubnetID: "configured"}
	for name, c := range map[string]struct {
		recorded string
		vip      lb.VIP
		want     lb.VIP
	}{
		"nothing":              {"", configured, configured},
		"no address":           {"x", configured, configured},
		"address":              {"10.0.0.5", configured, lb.VIP{SubnetID: "configured", Address: "10.0.0.5"}},
		"address and subnet":   {"10.0.0.5 " + subnet, configured, lb.VIP{SubnetID: subnet, Address: "10.0.0.5"}},
		"another is requested": {"10.0.0.5", lb.VIP{Address: "10.0.0.6"}, lb.VIP{Address: "10.0.0.6"}},
		"a port is requested":  {"10.0.0.5", lb.VIP{PortID: "port"}, lb.VIP{PortID: "port"}},
	} {
		got := withRecordedVIP(lb.Wanted{LoadBalancer: &lb.LoadBalancer{VIP: c.vip}}, services.Owner(web(annotated(annotation.VIPAddress, c.recorded))))
		if got.LoadBalancer.VIP != c.want {
			t.Errorf("%s: %+v, want %+v", name, got.LoadBalancer.VIP, c.want)
		}
	}
}

func TestTheVIPOfAnotherServiceIsNotRequested(t *testing.T) {
	copied := services.Owner(web(annotated(annotation.VIPAddress, "10.0.0.5"), annotated(annotation.Managed, "uid-of-another kube-octavia.io/octavia")))
	want := lb.VIP{SubnetID: "configured"}
	if got := withRecordedVIP(lb.Wanted{LoadBalancer: &lb.LoadBalancer{VIP: want}}, copied); got.LoadBalancer.VIP != want {
		t.Errorf("%+v", got.LoadBalancer.VIP)
	}
}

func TestStoredCertificateReplacesItsName(t *testing.T) {
	w := lb.Wanted{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{{TLS: &lb.TLS{Certificate: "name"}}, {TLS: &lb.TLS{Certificate: "other"}}, {}}}}
	got := WithCertificate(w, "name", "ref").LoadBalancer.Listeners
	if got[0].TLS.Certificate != "ref" || got[1].TLS.Certificate != "other" || got[2].TLS != nil {
		t.Errorf("%+v", got)
	}
	if w.LoadBalancer.Listeners[0].TLS.Certificate != "name" {
		t.Error("the argument was changed")
	}
}
