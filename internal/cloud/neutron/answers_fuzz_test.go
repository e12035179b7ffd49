// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	_ "embed"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// answers are responses of a Neutron with two networks, a floating IP on a VIP port, a detached one, and some
// ports.
//
//go:embed testdata/answers.json
var answers []byte

var words = strings.Fields("v2.0 floatingips networks subnets ports")

var web = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c1", Namespace: "shop", Name: "web", ServiceUID: "s1"}

// mostCalls limits the calls of the lookups of one input.
const mostCalls = 100

func through(transport http.RoundTripper) *neutron.Client {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport}}
	return neutron.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://neutron.test/v2.0/", Type: "network"}, "own")
}

// FuzzAnswers mutates real responses. Regardless of what is read from them, the plan writes only to floating
// IPs that are detached or on the VIP port.
func FuzzAnswers(f *testing.F) {
	document := mutate.Parse(answers)
	f.Add([]byte{}, byte(0))
	f.Add([]byte{0, 40, 0}, byte(1))
	f.Add([]byte{0, 20, 3, 0, 21, 200, 0, 30, 8}, byte(2))
	f.Fuzz(func(t *testing.T, edits []byte, want byte) {
		cloud := &mutate.Cloud{Document: document.Edit(edits), Words: words}
		client := through(cloud)
		lookUp(t, client)
		var found []lb.FloatingIP
		for _, port := range vipPorts {
			on, err := client.FloatingIPsOn(t.Context(), port)
			if !classified(t, err) {
				found = append(found, on...)
			}
		}
		elsewhere, err := client.FloatingIPsWithAddress(t.Context(), "198.51.100.11")
		if !classified(t, err) {
			found = append(found, elsewhere...)
		}
		if len(cloud.Requests) > mostCalls {
			t.Fatalf("%d calls", len(cloud.Requests))
		}
		for _, port := range vipPorts {
			carryOut(t, client, cloud, port, found, want)
		}
	})
}

// vipPorts are the ports with floating IPs, before any mutation.
var vipPorts = func() []string {
	ids := regexp.MustCompile(`"port_id": "([^"]+)"`).FindAllStringSubmatch(string(answers), -1)
	all := []string{}
	for _, id := range ids {
		all = append(all, id[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}()

func lookUp(t *testing.T, client *neutron.Client) {
	t.Helper()
	network, err := client.ExternalNetwork(t.Context())
	if !classified(t, err) && network == "" {
		t.Error("an external network without an id")
	}
	subnet, err := client.SubnetOfAddress(t.Context(), "10.0.0.2")
	if !classified(t, err) && subnet == "" {
		t.Error("a subnet without an id")
	}
	_, err = client.CIDR(t.Context(), subnet)
	classified(t, err)
	_, err = client.OwnsSubnet(t.Context(), subnet)
	classified(t, err)
	_, err = client.HasProbePort(t.Context(), subnet)
	classified(t, err)
	_, err = client.ExistingPorts(t.Context(), vipPorts)
	classified(t, err)
}

// classified checks that an error has what callers need, and reports whether there is one.
func classified(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if cloud := (*openstack.Error)(nil); !errors.As(err, &cloud) || cloud.Class == "" || cloud.Op == "" || cloud.RetryAfter < 0 {
		t.Fatalf("an error that tells too little: %#v", err)
	}
	return true
}

// carryOut carries out the plans for any floating IP, a specific one, and none.
func carryOut(t *testing.T, client *neutron.Client, cloud *mutate.Cloud, port string, found []lb.FloatingIP, want byte) {
	t.Helper()
	l := lb.LoadBalancer{ID: "lb1", Tags: web.Tags(), ProvisioningStatus: lb.Active, VIP: lb.VIP{PortID: port, Address: "10.0.0.9"}}
	target := lb.Wanted{LoadBalancer: &l, KeepFloatingIP: want&4 != 0}
	switch want % 4 {
	case 0:
		target = lb.Wanted{}
	case 1:
		target.FloatingIP = &lb.FloatingIP{NetworkID: "n1", Description: web.FloatingIPDescription()}
	case 2:
		target.FloatingIP = &lb.FloatingIP{NetworkID: "n1", Description: web.FloatingIPDescription(), Address: "198.51.100.11"}
	}
	reads := len(cloud.Requests)
	for _, op := range diff.New(target, lb.Observed{LoadBalancer: &l, FloatingIPs: found}, web).Ops {
		if !op.Octavia() {
			_, err := client.Apply(t.Context(), op)
			classified(t, err)
		}
	}
	for _, r := range cloud.Requests[reads:] {
		if !allowed(r, port, found) {
			t.Errorf("%s is no write to a floating IP that is ours to write to\nport: %s\nfound: %+v", r, port, found)
		}
	}
}

var write = regexp.MustCompile(`^/v2\.0/floatingips(?:/([0-9A-Za-z_-]+))?$`)

// allowed reports whether a write creates a floating IP, or is for one that is detached or on the port, and deletes
// it only if it was created for the Service.
func allowed(r mutate.Request, port string, found []lb.FloatingIP) bool {
	parts := write.FindStringSubmatch(r.Path)
	if parts == nil || r.Method == http.MethodPost {
		return parts != nil && parts[1] == ""
	}
	return slices.ContainsFunc(found, func(f lb.FloatingIP) bool {
		return f.ID == parts[1] && (f.PortID == "" || f.PortID == port) && (r.Method != http.MethodDelete || web.MadeFloatingIP(f))
	})
}

// FuzzBytes returns the same bytes as the response to all calls, including headers.
func FuzzBytes(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"floatingips\": [{\"id\": \"f1\", \"port_id\": \"p1\"}], \"floatingips_links\": [{\"rel\": \"next\"}]}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n{\"floatingip\": {}}\r\n0\r\n\r\n",
		"HTTP/1.1 409 Conflict\r\nRetry-After: 99999999999\r\n\r\n{\"NeutronError\": {\"type\": \"OverQuota\", \"message\": \"Quota exceeded for resources: ['floatingip'].\", \"detail\": \"\"}}",
		"HTTP/1.1 200 OK\r\n\r\n{\"networks\": [null, {\"id\": 3}], \"subnets\": [], \"ports\": [{\"fixed_ips\": [null]}]}",
		"HTTP/1.1 302 Found\r\nLocation: /v2.0/elsewhere\r\n\r\n",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		client := through(mutate.Raw(answer))
		lookUp(t, client)
		_, err := client.FloatingIPsOn(t.Context(), "p1")
		classified(t, err)
		for _, op := range []diff.Op{
			diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: "n1", PortID: "p1"}}, diff.DeleteFloatingIP{ID: "f1"}, diff.DisassociateFloatingIP{ID: "f1"},
		} {
			made, err := client.Apply(t.Context(), op)
			if _, creates := op.(diff.CreateFloatingIP); !classified(t, err) && creates && made.ID == "" {
				t.Error("created without an id")
			}
		}
	})
}
