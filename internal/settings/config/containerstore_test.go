// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

const ref = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

func TestCertificatesAreInBarbicanUnlessTheOperatorSaysElsewhere(t *testing.T) {
	c := mustParse(t, credentials+"[LoadBalancer]\ndefault-tls-container-ref = "+ref+"\n[LoadBalancerClass \"gold\"]\n[LoadBalancerClass \"own\"]\ndefault-tls-container-ref = v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04\n")
	gold, _ := c.LoadBalancer.Of("gold")
	own, _ := c.LoadBalancer.Of("own")
	if c.LoadBalancer.TLSContainer != ref || gold.TLSContainer != ref || own.TLSContainer == ref || c.LoadBalancer.ExternalContainers() {
		t.Errorf("got %q, %q, %q", c.LoadBalancer.TLSContainer, gold.TLSContainer, own.TLSContainer)
	}
	c = mustParse(t, credentials+"[LoadBalancer]\ndefault-tls-container-ref = my-certificate\ncontainer-store = external\n")
	if c.LoadBalancer.TLSContainer != "my-certificate" || !c.LoadBalancer.ExternalContainers() {
		t.Errorf("got %+v", c.LoadBalancer)
	}
}
