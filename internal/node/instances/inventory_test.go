// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestParseProviderID(t *testing.T) {
	for text, want := range map[string]struct {
		id  ProviderID
		err string
	}{
		"":                        {},
		"openstack:///abc":        {id: ProviderID{Server: "abc"}},
		"openstack://region1/abc": {id: ProviderID{Region: "region1", Server: "abc"}},
		"openstack://Region1/ABC": {id: ProviderID{Region: "Region1", Server: "abc"}},
		"/abc":                    {id: ProviderID{Server: "abc"}},
		"abc":                     {err: `provider id "abc": must be openstack:///SERVER or openstack://REGION/SERVER`},
		"openstack://":            {err: "must be openstack:///SERVER"},
		"openstack:///a/b":        {err: "must be openstack:///SERVER"},
		"aws:///eu-1a/i-0":        {err: "the provider id is not one of OpenStack: aws:///eu-1a/i-0"},
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			id, err := ParseProviderID(text)
			if id != want.id || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
				t.Errorf("got %+v, %v", id, err)
			}
			if err == nil && id.Server != "" && strings.HasPrefix(text, "openstack:") && !strings.EqualFold(id.String(), text) {
				t.Errorf("it became %q", id)
			}
		})
	}
	if _, err := ParseProviderID("aws:///x"); !errors.Is(err, ErrOtherCloud) {
		t.Error("another cloud is not told from a typo")
	}
}

func TestANodeIsOfAnotherRegionByItsProviderIDOrElseByItsLabel(t *testing.T) {
	for _, test := range []struct {
		name string

		providerID, label, region string
		own                       bool
	}{
		{"neither names a region", "openstack:///1", "", "R1", true},
		{"label of the own region", "openstack:///1", "R1", "R1", true},
		{"label of another region", "openstack:///1", "R2", "R1", false},
		{"label of another region, short form", "/1", "R2", "R1", false},
		{"unknown own region", "openstack:///1", "R2", "", true},
		{"provider id of the own region", "openstack://R1/1", "R2", "R1", true},
		{"provider id of another region", "openstack://R2/1", "R1", "R1", false},
		{"no provider id", "", "R2", "R1", true},
		{"another cloud", "aws:///1", "R1", "R1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: test.providerID}}
			if test.label != "" {
				node.Labels = map[string]string{corev1.LabelTopologyRegion: test.label}
			}
			if id, err := OwnID(node, test.region); err != nil || (id != nil) != test.own {
				t.Errorf("%+v: %v, %v", test, id, err)
			}
		})
	}
}

func FuzzParseProviderID(f *testing.F) {
	for _, seed := range []string{"", "openstack:///a", "openstack://r/a", "/a", "aws:///b/c", "://", "openstack://///"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseProviderID(text)
		if err != nil || text == "" {
			return
		}
		again, err := ParseProviderID(id.String())
		if err != nil || again != id {
			t.Errorf("%q is %+v, but its text %q is %+v, %v", text, id, id, again, err)
		}
	})
}

func TestAServerIsFoundByItsNameOnlyIfNoOtherCanBeTheNode(t *testing.T) {
	inv := Inventory{Servers: map[string]Server{
		"1": {ID: "1", Name: "node-1"}, "2": {ID: "2", Name: "Node-2"}, "3": {ID: "3", Name: "Twin"}, "4": {ID: "4", Name: "TWIN"}, "5": {ID: "5", Name: "node-1.old"},
		"6": {ID: "6", Name: "exact"}, "7": {ID: "7", Name: "Exact"}, "8": {ID: "8", Name: "same"}, "9": {ID: "9", Name: "same"}, "10": {ID: "10", Name: "Same"},
		"11": {ID: "11", Name: "again", Status: "SOFT_DELETED", HostID: "h"}, "12": {ID: "12", Name: "again", Status: "ACTIVE", HostID: "h"},
		"13": {ID: "13", Name: "retried", Status: "ERROR"}, "14": {ID: "14", Name: "retried", Status: "ACTIVE", HostID: "h"}, "15": {ID: "15", Name: "retried", Status: "BUILD"},
		"16": {ID: "16", Name: "broken", Status: "ERROR", HostID: "h"}, "17": {ID: "17", Name: "broken", Status: "ACTIVE", HostID: "h"},
		"18": {ID: "18", Name: "young", Status: "BUILD"}, "19": {ID: "19", Name: "gone", Status: "DELETED"}, "20": {ID: "20", Name: "Ran", Status: "ACTIVE", HostID: "h"},
		"21": {ID: "21", Name: "ran", Status: "ERROR"},
	}}
	for name, want := range map[string]string{
		"node-1": "1", "node-2": "2", "exact": "6", "again": "12", "retried": "14", "young": "18", "ran": "20",
		"twin":   "2 servers of the project are named twin, so it is unknown which one is the Node: rename or delete all but one of 3, 4",
		"same":   "2 servers of the project are named same, so it is unknown which one is the Node: rename or delete all but one of 8, 9",
		"broken": "2 servers of the project are named broken, so it is unknown which one is the Node: rename or delete all but one of 16, 17",
		"gone":   "no server of the project is named gone: ",
		"node":   "no server of the project is named node: ",
		"node-.": "no server of the project is named node-.: ",
	} {
		t.Run(name, func(t *testing.T) {
			server, err := inv.ByName(name)
			got := server.ID
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestInventoryIsThatOfTheClusterIfItHasAServerOfANode(t *testing.T) {
	inv := Inventory{Servers: map[string]Server{"1": {ID: "1", Name: "node-1"}}}
	node := func(providerID string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{ProviderID: providerID}}
	}
	for name, test := range map[string]struct {
		nodes []*corev1.Node
		want  bool
	}{
		"no Nodes":                {nil, false},
		"Nodes of other projects": {[]*corev1.Node{node("openstack:///2"), node("openstack:///3")}, false},
		"one of many":             {[]*corev1.Node{node("openstack:///2"), node("openstack:///1")}, true},
		"with a region":           {[]*corev1.Node{node("openstack://r/1")}, true},
		"other clouds and none":   {[]*corev1.Node{node("aws:///1"), node("")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inv.HasServerOfAny(test.nodes); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestLabelValues(t *testing.T) {
	for text, want := range map[string]string{
		"nova": "nova", "nova 1": "nova-1", "a / b": "a-b", "-x-": "x", "": "", "ü": "",
		strings.Repeat("a", 62) + ". tail": strings.Repeat("a", 62),
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got := LabelValue(text); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
	if diff := cmp.Diff(map[string]string{"topology.openstack.org/host-id": "3b9f"}, additionalLabels(Server{HostID: "3b9f"})); diff != "" {
		t.Error(diff)
	}
	if got := additionalLabels(Server{}); got != nil {
		t.Error("a server without a host has labels", got)
	}
}

func TestTheInstanceTypeIsAValueOfALabel(t *testing.T) {
	ids := map[string]string{"big one": "big-1", "odd one": "no label!"}
	for name, want := range map[string]string{"m1.small": "m1.small", "big one": "big-1", "odd one": "odd-one", "deleted one": "deleted-one"} {
		t.Run(name, func(t *testing.T) {
			if got := instanceType(name, ids); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
