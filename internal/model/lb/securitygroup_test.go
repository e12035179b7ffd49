// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var nodes = NodesGroup{ClusterName: "kubernetes", ClusterUID: clusterUID, Class: "kube-octavia.io/octavia"}

func TestSecurityGroupOfTheNodesIsKnownByNameOrDescription(t *testing.T) {
	for _, test := range []struct {
		why               string
		name, description string
		ours              bool
	}{
		{"as it was made", nodes.Name(), nodes.Description(), true},
		{"renamed by hand", "nodes of prod", nodes.Description(), true},
		{"described by hand", nodes.Name(), "ask Ann", true},
		{"no mark at all", "default", "Default security group", false},
		{"another cluster's, copied name", nodes.Name(), NodesGroup{"kubernetes", "other", nodes.Class}.Description(), false},
		{"another class's", NodesGroup{"kubernetes", clusterUID, "other"}.Name(), NodesGroup{"kubernetes", clusterUID, "other"}.Description(), false},
		{"another cluster's tag in its description", nodes.Name(), "see " + ClusterTag("other"), false},
	} {
		t.Run(test.why, func(t *testing.T) {
			if got := nodes.Owns(test.name, test.description); got != test.ours {
				t.Errorf("Owns = %v, want %v", got, test.ours)
			}
		})
	}
}

func TestALongClusterNameDoesNotHideTheIdentityOfTheSecurityGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := nodes
		g.ClusterName = rapid.String().Draw(t, "cluster name")
		if d := g.Description(); len(d) > 255 || !nodes.Owns("", d) {
			t.Errorf("description %q (%d bytes) is not that of the cluster any more", d, len(d))
		}
	})
}

func TestSecurityGroupOfAServiceIsNamedAsOpenstackCloudControllerManagerDoes(t *testing.T) {
	if got, want := web.SecurityGroupName(), "lb-sg-"+serviceUID+"-shop-web"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	if got, want := web.SecurityGroupDescription(), "Security Group for shop/web Service LoadBalancer in cluster kubernetes"; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
	long := web
	long.Name = strings.Repeat("n", 300)
	if got := long.SecurityGroupName(); len(got) != 255 {
		t.Errorf("the name has %d bytes", len(got))
	}
}

func TestSecurityGroupIsThatOfAServiceOfThisCluster(t *testing.T) {
	other := web
	other.ClusterName = "other"
	api := web
	api.Name = "api"
	for _, test := range []struct {
		why               string
		name, description string
		uid               string
		described         bool
	}{
		{"as it is made", web.SecurityGroupName(), web.SecurityGroupDescription(), serviceUID, true},
		{"described by hand", web.SecurityGroupName(), "ask Ann", serviceUID, false},
		{"not described", web.SecurityGroupName(), "", serviceUID, false},
		{"another cluster's", other.SecurityGroupName(), other.SecurityGroupDescription(), "", true},
		{"described as another Service's", web.SecurityGroupName(), api.SecurityGroupDescription(), "", false},
		{"renamed", "web", web.SecurityGroupDescription(), "", false},
		{"without a uid", "lb-sg-shop-web", "", "", false},
		{"a uid and nothing else", "lb-sg-" + serviceUID, "", "", false},
		{"that of the nodes", nodes.Name(), nodes.Description(), "", false},
	} {
		t.Run(test.why, func(t *testing.T) {
			if got := SecurityGroupOfService("kubernetes", test.name, test.description); got != test.uid {
				t.Errorf("Service uid %q, want %q", got, test.uid)
			}
			if got, ok := ServiceOfSecurityGroup(test.name, test.description); ok != test.described || ok && (got.Namespace != web.Namespace || got.ServiceUID != serviceUID) {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
}
