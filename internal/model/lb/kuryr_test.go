// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"strings"
	"testing"
)

// atClusterIP is a Service in cluster-ip mode.
var atClusterIP = Owner{
	ClusterName: "c", ClusterUID: "uid-c", Namespace: "shop", Name: "web", ServiceUID: "uid-web", ClusterIP: "10.96.0.7", ServiceSubnetID: "services",
}

func TestALoadBalancerOfKuryrIsTheServicesByNameAndVIP(t *testing.T) {
	kuryrs := LoadBalancer{ID: "lb-1", Name: "shop/web", Description: "any", Tags: []string{"of-all-objects"}, VIP: VIP{Address: "10.96.0.7", SubnetID: "services"}}
	for name, c := range map[string]struct {
		owner  Owner
		change func(*LoadBalancer)
		ours   bool
		reason string
	}{
		"as Kuryr made it":      {atClusterIP, func(*LoadBalancer) {}, true, ""},
		"at another address":    {atClusterIP, func(l *LoadBalancer) { l.VIP.Address = "10.96.0.8" }, false, "its VIP is 10.96.0.8 in subnet services, and the ClusterIP is 10.96.0.7 in subnet services"},
		"in another subnet":     {atClusterIP, func(l *LoadBalancer) { l.VIP.SubnetID = "others" }, false, "its VIP is 10.96.0.7 in subnet others"},
		"of another Service":    {atClusterIP, func(l *LoadBalancer) { l.Name = "shop/api" }, false, `is named "shop/api"`},
		"of another cluster":    {atClusterIP, func(l *LoadBalancer) { l.Tags = append(l.Tags, ClusterTag("uid-d")) }, false, "uid of another cluster"},
		"not in clusterIP mode": {Owner{ClusterName: "c", ClusterUID: "uid-c", Namespace: "shop", Name: "web", ServiceUID: "uid-web"}, func(*LoadBalancer) {}, false, `is named "shop/web"`},
	} {
		t.Run(name, func(t *testing.T) {
			l := kuryrs
			l.Tags = append([]string{}, kuryrs.Tags...)
			c.change(&l)
			got := c.owner.Claims(l)
			if got.Ours != c.ours || got.Adopted != c.ours || c.ours && !c.owner.Owns(l) || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestListenersAndPoolsOfKuryrAreTheServicesByName(t *testing.T) {
	for name, c := range map[string]struct {
		name string
		tags []string
		ours bool
	}{
		"with a tag of all objects":                  {"shop/web:TCP:80", []string{"of-all-objects"}, true},
		"without tags":                               {"shop/web:TCP:80", nil, true},
		"taken over":                                 {"shop/web:TCP:80", append([]string{"of-all-objects"}, atClusterIP.Tags()...), true},
		"of a Service with a longer name":            {"shop/web2:TCP:80", []string{"of-all-objects"}, false},
		"with the tag of another Service":            {"shop/web:TCP:80", []string{serviceTag + "uid-other"}, false},
		"created by hand, with a tag of all objects": {"mine", []string{"of-all-objects"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := atClusterIP.OwnsListener(Listener{Name: c.name, Tags: c.tags}); got != c.ours {
				t.Errorf("a listener %s: %t", name, got)
			}
			if got := atClusterIP.OwnsPool(Pool{Name: c.name, Tags: c.tags}); got != c.ours {
				t.Errorf("a pool %s: %t", name, got)
			}
		})
	}
}

func TestAFloatingIPOfKuryrIsThatOfTheClusterIPItLeadsTo(t *testing.T) {
	for name, c := range map[string]struct {
		floating FloatingIP
		ours     bool
	}{
		"to the ClusterIP":        {FloatingIP{Description: KuryrFloatingIP, KuryrVIP: "10.96.0.7"}, true},
		"to another ClusterIP":    {FloatingIP{Description: KuryrFloatingIP, KuryrVIP: "10.96.0.8"}, false},
		"detached":                {FloatingIP{Description: KuryrFloatingIP}, false},
		"created by hand":         {FloatingIP{Description: "mine"}, false},
		"of this controller, too": {FloatingIP{Description: atClusterIP.FloatingIPDescription()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := atClusterIP.MadeFloatingIP(c.floating); got != c.ours {
				t.Errorf("got %t", got)
			}
		})
	}
	if (Owner{}).MadeFloatingIP(FloatingIP{Description: KuryrFloatingIP}) {
		t.Error("without cluster-ip mode, a detached floating IP of Kuryr is the Service's")
	}
}

func TestVIPsOfKuryrAreNotWrittenToWhatWasRead(t *testing.T) {
	read := []FloatingIP{{ID: "f-1", Description: KuryrFloatingIP}}
	kept := KeepKuryrVIPs(read, []FloatingIP{{ID: "f-1", KuryrVIP: "10.96.0.10"}})
	if kept[0].KuryrVIP != "10.96.0.10" || read[0].KuryrVIP != "" {
		t.Errorf("kept %+v, read %+v", kept, read)
	}
}
