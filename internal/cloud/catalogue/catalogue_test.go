// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

func TestRootOfAServiceIsFoundInUnusualEndpoints(t *testing.T) {
	const hex, uuid = "ea0a0dd4ee5d4c3d8e5d9e1d8e5f1a2b", "ea0a0dd4-ee5d-4c3d-8e5d-9e1d8e5f1a2b"
	for _, test := range []struct{ service, endpoint, projectID, want string }{
		{calls.ServiceLoadBalancer, "https://h:9876", hex, "https://h:9876/"},
		{calls.ServiceLoadBalancer, "https://h:9876/", hex, "https://h:9876/"},
		{calls.ServiceLoadBalancer, "https://h:9876/v2.0/lbaas", hex, "https://h:9876/"},
		{calls.ServiceLoadBalancer, "https://h/load-balancer/v2.0/lbaas/", hex, "https://h/load-balancer/"},
		{calls.ServiceLoadBalancer, "https://h/load-balancer/v2/", hex, "https://h/load-balancer/"},
		{calls.ServiceLoadBalancer, "https://h/load-balancer/v2.0", hex, "https://h/load-balancer/"},
		{calls.ServiceLoadBalancer, "https://h//v2.0//", hex, "https://h/"},
		{calls.ServiceLoadBalancer, "https://h/v2.0/" + hex, hex, "https://h/"},
		{calls.ServiceLoadBalancer, "https://h/v2.0/lbaas/my-project", "my-project", "https://h/"},
		{calls.ServiceLoadBalancer, "https://h/lbaas", hex, "https://h/lbaas/"},
		{calls.ServiceNetwork, "https://h:9696/v2.0", hex, "https://h:9696/"},
		{calls.ServiceNetwork, "https://h/networking/v2/", hex, "https://h/networking/"},
		{calls.ServiceNetwork, " https://h/v1/network ", hex, "https://h/v1/network/"},
		{calls.ServiceNetwork, "https://h/v1/network/v2.0", hex, "https://h/v1/network/"},
		{calls.ServiceNetwork, "https://h/v2.0/lbaas", hex, "https://h/v2.0/lbaas/"},
		{calls.ServiceCompute, "https://h/compute/v2.1", hex, "https://h/compute/"},
		{calls.ServiceCompute, "https://h/compute/v2.1/" + hex, "another", "https://h/compute/"},
		{calls.ServiceCompute, "https://h/compute/v2/" + uuid + "/", uuid, "https://h/compute/"},
		{calls.ServiceCompute, "https://h/v2.1/team-a.prod", "team-a.prod", "https://h/"},
		{calls.ServiceCompute, "https://h/v2.1/AUTH_team", "team", "https://h/"},
		{calls.ServiceCompute, "https://h/v2.1//" + hex, hex, "https://h/"},
		{calls.ServiceCompute, "https://h/v2.1/somebody", hex, "https://h/v2.1/somebody/"},
		{calls.ServiceKeyManager, "https://h/key-manager/v1", hex, "https://h/key-manager/"},
		{calls.ServiceKeyManager, "https://h:9311/v1/" + hex, hex, "https://h:9311/"},
	} {
		t.Run(test.service+" "+strings.TrimSpace(test.endpoint), func(t *testing.T) {
			if got := rootOf(test.service, test.endpoint, test.projectID); got != test.want {
				t.Errorf("%s %s: %s, want %s", test.service, test.endpoint, got, test.want)
			}
		})
	}
}

func TestARootIsItsOwnRootWhateverIsBehindIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := "https://h" + rapid.SampledFrom([]string{"", ":9876", "/a", "/v1/a", "/load-balancer"}).Draw(t, "path") + "/"
		project := rapid.SampledFrom([]string{"p", "ea0a0dd4ee5d4c3d8e5d9e1d8e5f1a2b", "team-a"}).Draw(t, "project")
		service := rapid.SampledFrom([]string{calls.ServiceNetwork, calls.ServiceLoadBalancer, calls.ServiceCompute, calls.ServiceKeyManager}).Draw(t, "service")
		endpoint := root + rapid.SampledFrom([]string{"", "v2", "v2.0", "v2.1", "v1", "v2.1/" + project}).Draw(t, "tail") + rapid.SampledFrom([]string{"", "/", "//"}).Draw(t, "slashes")
		if got := rootOf(service, endpoint, project); got != root || rootOf(service, got, project) != root {
			t.Errorf("%s %s: %s", service, endpoint, got)
		}
	})
}

// entry returns a service with one endpoint in each region, at https://SERVICE.REGION.
func entry(service string, regions ...string) tokens.CatalogEntry {
	e := tokens.CatalogEntry{Type: service}
	for _, r := range regions {
		for _, kind := range []string{"public", "internal"} {
			e.Endpoints = append(e.Endpoints, tokens.Endpoint{Region: r, RegionID: r, Interface: kind, URL: "https://" + service + "." + r + "." + kind})
		}
	}
	return e
}

const network, balancer, nova, barbican = calls.ServiceNetwork, calls.ServiceLoadBalancer, calls.ServiceCompute, calls.ServiceKeyManager

func TestARegionIsChosenOnlyIfThereIsNoOtherOne(t *testing.T) {
	for name, test := range map[string]struct {
		entries []tokens.CatalogEntry
		wanted  Wanted
		want    map[string]string // service -> region of its endpoint
		several []string
	}{
		"one region":                       {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "a"), entry(nova, "a")}, Wanted{}, map[string]string{network: "a", balancer: "a", nova: "a"}, nil},
		"several, none wanted":             {[]tokens.CatalogEntry{entry(network, "b", "a"), entry(balancer, "a", "b")}, Wanted{}, nil, []string{"a", "b"}},
		"several in another order":         {[]tokens.CatalogEntry{entry(balancer, "b", "a"), entry(network, "a", "b")}, Wanted{}, nil, []string{"a", "b"}},
		"several, one wanted":              {[]tokens.CatalogEntry{entry(network, "b", "a"), entry(balancer, "a", "b")}, Wanted{Region: "a"}, map[string]string{network: "a", balancer: "a"}, nil},
		"one in common":                    {[]tokens.CatalogEntry{entry(network, "b", "a"), entry(balancer, "a"), entry(nova, "b", "a")}, Wanted{}, map[string]string{network: "a", balancer: "a", nova: "a"}, nil},
		"a service that is not needed":     {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "a"), entry("object-store", "b", "c")}, Wanted{}, map[string]string{network: "a", balancer: "a"}, nil},
		"each in a region of its own":      {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "b"), entry(nova, "c")}, Wanted{}, map[string]string{network: "a", balancer: "b", nova: "c"}, nil},
		"none in common, several":          {[]tokens.CatalogEntry{entry(network, "a", "c"), entry(balancer, "b")}, Wanted{}, nil, []string{"a", "b", "c"}},
		"the other has the only region":    {[]tokens.CatalogEntry{entry(network, "a", "b"), entry(balancer, "a", "b")}, Wanted{Overrides: map[string]string{balancer: "https://" + balancer + ".x"}}, nil, []string{"a", "b"}},
		"each in its own, Nova in both":    {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "b"), entry(nova, "b", "a")}, Wanted{}, map[string]string{network: "a", balancer: "b", nova: "a"}, nil},
		"both are overridden, Nova is not": {[]tokens.CatalogEntry{entry(nova, "a", "b")}, Wanted{Overrides: map[string]string{balancer: "https://load-balancer.x.public", network: "https://network.y.public"}}, map[string]string{network: "y", balancer: "x"}, nil},
		"both are overridden":              {[]tokens.CatalogEntry{entry(network, "a", "b"), entry(balancer, "a", "b")}, Wanted{Overrides: map[string]string{balancer: "https://load-balancer.x.public", network: "https://network.y.public"}}, map[string]string{network: "y", balancer: "x"}, nil},
		"Barbican in a region of its own":  {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "a"), entry(barbican, "z")}, Wanted{}, map[string]string{network: "a", balancer: "a", barbican: "z"}, nil},
		"Barbican only elsewhere, several": {[]tokens.CatalogEntry{entry(network, "a"), entry(balancer, "a"), entry(barbican, "y", "z")}, Wanted{}, map[string]string{network: "a", balancer: "a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			_, err := Find(&gophercloud.ProviderClient{}, test.entries, test.wanted, func(service, endpoint string) { got[service] = endpoint })
			var several *RegionError
			if test.several != nil {
				if !errors.As(err, &several) {
					t.Fatalf("%v, %v", got, err)
				}
				if diff := cmp.Diff(test.several, several.Regions); diff != "" {
					t.Error(diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for service, region := range test.want {
				want[service] = "https://" + service + "." + region + ".public/"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheOrderOfTheCatalogueChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		regions := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string])
		entries := []tokens.CatalogEntry{entry(network, regions.Draw(t, "network")...), entry(balancer, regions.Draw(t, "balancer")...), entry(nova, regions.Draw(t, "nova")...)}
		find := func(entries []tokens.CatalogEntry) (map[string]string, string) {
			got := map[string]string{}
			_, err := Find(&gophercloud.ProviderClient{}, entries, Wanted{}, func(service, endpoint string) { got[service] = endpoint })
			if err != nil {
				return got, err.Error()
			}
			return got, ""
		}
		first, why := find(entries)
		shuffled := rapid.Permutation(entries).Draw(t, "entries")
		for i := range shuffled {
			shuffled[i].Endpoints = rapid.Permutation(shuffled[i].Endpoints).Draw(t, "endpoints")
		}
		second, whySecond := find(shuffled)
		if diff := cmp.Diff(first, second); diff != "" || why != whySecond {
			t.Fatalf("%s, %s: %s", why, whySecond, diff)
		}
	})
}

func TestAnOverrideStandsForAServiceThatTheCatalogueLacks(t *testing.T) {
	got := map[string]string{}
	services, err := Find(&gophercloud.ProviderClient{}, []tokens.CatalogEntry{entry(network, "a")}, Wanted{ProjectID: "p-1", Overrides: map[string]string{
		balancer: "https://lb.example.com/v2.0/lbaas", nova: "https://nova.example.com/v2.1/%(project_id)s",
	}}, func(service, endpoint string) { got[service] = endpoint })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{network: "https://network.a.public/", balancer: "https://lb.example.com/", nova: "https://nova.example.com/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if base := services.LoadBalancer.ResourceBase; base != "https://lb.example.com/v2.0/" {
		t.Errorf("Octavia is called at %s", base)
	}
}
