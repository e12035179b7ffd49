// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// store puts a certificate for a name into Barbican and returns its reference.
func store(t *testing.T, barbican *gophercloud.ServiceClient, name string) (leaf *x509.Certificate, ref string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	bundle, err := pkcs12.Modern.Encode(key, leaf, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := secrets.Create(t.Context(), barbican, secrets.CreateOpts{
		Payload: base64.StdEncoding.EncodeToString(bundle), PayloadContentType: "application/octet-stream", PayloadContentEncoding: "base64",
		SecretType: secrets.OpaqueSecret,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return leaf, secret.SecretRef
}

// TestTLSIsTerminatedWithTheCertificatesInBarbican also deletes their secrets, which does not affect a load balancer
// that has the certificates.
func TestTLSIsTerminatedWithTheCertificatesInBarbican(t *testing.T) {
	c := start(t, cloudsim.Options{DataPlane: true, Nodes: []cloudsim.Node{{Name: "node-1"}}})
	octavia, _ := balancers(t, c)
	barbican := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewKeyManagerV1)
	one, oneRef := store(t, barbican, "one.example")
	two, twoRef := store(t, barbican, "two.example")
	member := webServer(t, c.Nova().Servers()[0].Interfaces[0].FixedIPs[0].Address)
	lb, err := loadbalancers.Create(t.Context(), octavia, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: c.IDs().PrivateSubnet,
		Listeners: []listeners.CreateOpts{{
			Name: "https", Protocol: listeners.ProtocolTerminatedHTTPS, ProtocolPort: front, DefaultTlsContainerRef: oneRef, SniContainerRefs: []string{twoRef},
			InsertHeaders: map[string]string{"X-Forwarded-Proto": "true"},
			DefaultPool: &pools.CreateOpts{Name: "https", Protocol: pools.ProtocolHTTP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: member.Addr().String(), ProtocolPort: int(member.Port())}}},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	becomesActive(t, octavia, lb.ID)

	at := net.JoinHostPort(lb.VipAddress, fmt.Sprint(front))
	answers := func() {
		t.Helper()
		for _, leaf := range []*x509.Certificate{one, two} {
			roots := x509.NewCertPool()
			roots.AddCert(leaf)
			transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: leaf.DNSNames[0]}}
			resp, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Get("https://" + at)
			if err != nil {
				t.Fatalf("%s: %v", leaf.DNSNames[0], err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != "https" {
				t.Errorf("%s: the member saw the scheme %q, %v", leaf.DNSNames[0], body, err)
			}
		}
	}
	eventually(t, "an open port", func() bool {
		conn, err := net.Dial("tcp", at)
		return err == nil && conn.Close() == nil
	})
	answers()
	shown, err := listeners.Get(t.Context(), octavia, listenerOf(t, octavia, lb.ID)).Extract()
	if err != nil || shown.OperatingStatus != "ONLINE" {
		t.Errorf("the listener is %+v, %v", shown, err)
	}

	for _, ref := range []string{oneRef, twoRef} {
		if err := secrets.Delete(t.Context(), barbican, ref[len(ref)-36:]).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	name := "renamed"
	if _, err := loadbalancers.Update(t.Context(), octavia, lb.ID, loadbalancers.UpdateOpts{Name: &name}).Extract(); err != nil {
		t.Fatal(err)
	}
	becomesActive(t, octavia, lb.ID)
	answers()
}

// webServer answers HTTP requests with the scheme that the client used.
func webServer(t *testing.T, address netip.Addr) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto"))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func becomesActive(t *testing.T, octavia *gophercloud.ServiceClient, id string) {
	t.Helper()
	eventually(t, "the load balancer ACTIVE", func() bool {
		got, err := loadbalancers.Get(t.Context(), octavia, id).Extract()
		return err == nil && got.ProvisioningStatus == "ACTIVE"
	})
}

// hasEverything waits until the load balancer is ACTIVE with all listeners. Provider ovn of 2025.1 and later creates
// the listeners after it.
func hasEverything(t *testing.T, octavia *gophercloud.ServiceClient, id string) {
	t.Helper()
	becomesActive(t, octavia, id)
	eventually(t, "the listeners ACTIVE", func() bool {
		pages, err := listeners.List(octavia, listeners.ListOpts{LoadbalancerID: id}).AllPages(t.Context())
		if err != nil {
			return false
		}
		all, err := listeners.ExtractListeners(pages)
		return err == nil && !slices.ContainsFunc(all, func(l listeners.Listener) bool { return l.ProvisioningStatus != "ACTIVE" })
	})
}

// listenerOf returns the id of the only listener of a load balancer.
func listenerOf(t *testing.T, octavia *gophercloud.ServiceClient, id string) string {
	t.Helper()
	lb, err := loadbalancers.Get(t.Context(), octavia, id).Extract()
	if err != nil || len(lb.Listeners) != 1 {
		t.Fatalf("%+v, %v", lb, err)
	}
	return lb.Listeners[0].ID
}
