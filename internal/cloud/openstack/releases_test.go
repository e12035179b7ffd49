// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// connection has what a session knows about its cloud.
type connection struct {
	Project, Network, LoadBalancer string
	Roles                          []string
	Major, Minor                   int
}

func TestKeystonesOfOtherReleasesMeanTheSame(t *testing.T) {
	g := config.Global{AuthURL: "http://keystone.test/v3", Username: "k8s", Password: password, TenantName: "k8s", DomainName: "Default", EndpointType: "public"}
	read := func(transport http.RoundTripper) (c connection) {
		s, err := connectOver(transport, g)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c = connection{Project: s.ProjectID(), Network: s.Network().Endpoint, LoadBalancer: s.LoadBalancer().Endpoint, Roles: s.Roles()}
		if c.Major, c.Minor, err = s.OctaviaVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Expiry(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answers := func() *mutate.Cloud {
		return &mutate.Cloud{Document: mutate.Parse(realAnswers), Words: strings.Fields("v2 v2.0 v2.1 v3 auth tokens lbaas load-balancer")}
	}
	want := read(answers())
	rapid.Check(t, func(t *rapid.T) {
		newer := mutate.Newer{Next: answers(), Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		if diff := cmp.Diff(want, read(newer)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAFaultIsUnderstoodWhateverItsTypeIs(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want fault
	}{
		"detail is an object":          {`{"NeutronError": {"type": "OverQuota", "message": "no more", "detail": {}}}`, fault{kind: "OverQuota", message: "no more", known: true}},
		"type is a number":             {`{"NeutronError": {"type": 5, "message": "no more"}}`, fault{kind: "NeutronError", message: "no more", known: true}},
		"type is null":                 {`{"NeutronError": {"type": null, "message": "no more", "more": []}}`, fault{kind: "NeutronError", message: "no more", known: true}},
		"another key beside the fault": {`{"extra": 5, "badRequest": {"code": "400", "message": "wrong"}}`, fault{kind: "badRequest", message: "wrong", known: true}},
		"fault code is a number":       {`{"faultcode": 1, "faultstring": "wrong", "debuginfo": {}}`, fault{message: "wrong", known: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseFault(http.StatusConflict, []byte(test.body)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
