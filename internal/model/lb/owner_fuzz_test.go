// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzOwner gives two Services that differ in their uid, or in the uid of their
// cluster, names of any form. What one made is never the other's.
func FuzzOwner(f *testing.F) {
	f.Add("kubernetes", "shop", "web", "kubernetes", "shop", "web", true)
	f.Add("a_shop", "b", "c", "a", "shop_b", "c", false)
	f.Add(strings.Repeat("ü", 200), "shop", "web", strings.Repeat("ü", 200), "shop", "web", true)
	f.Add(strings.Repeat("0", 54), "0", "00ژ0000000ϖ000000000\u0530", "0", "0", "0", false)
	f.Add("x (kube-octavia.cluster=c1 kube-octavia.service=s1) from cluster x", "shop", "web", "x", "shop", "web", false)
	f.Fuzz(func(t *testing.T, cluster, namespace, name, otherCluster, otherNamespace, otherName string, sameCluster bool) {
		a := Owner{ClusterName: cluster, ClusterUID: "11111111-1111-1111-1111-111111111111", Namespace: namespace, Name: name, ServiceUID: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}
		b := Owner{ClusterName: otherCluster, ClusterUID: a.ClusterUID, Namespace: otherNamespace, Name: otherName, ServiceUID: "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"}
		if !sameCluster {
			b.ClusterUID = "22222222-2222-2222-2222-222222222222"
		}
		texts(t, a)
		made := LoadBalancer{ID: "lb1", Name: a.LoadBalancerName(), Description: a.Description(), Tags: a.Tags()}
		if !a.Claims(made).Ours || !a.OwnsListener(Listener{Tags: a.Tags()}) || !a.OwnsPool(Pool{Name: a.PoolName(3), Tags: a.Tags()}) {
			t.Errorf("%+v does not know what it made", a)
		}
		renamed := made
		renamed.Name, renamed.Description = b.LoadBalancerName(), b.Description()
		for _, l := range []LoadBalancer{made, renamed} {
			if claim := b.Claims(l); claim.Ours || claim.Reason == "" {
				t.Errorf("%+v takes %+v", b, l)
			}
		}
		if b.OwnsListener(Listener{Name: b.ListenerName(0), Tags: a.Tags()}) || b.OwnsPool(Pool{Name: b.PoolName(0), Tags: a.Tags()}) {
			t.Errorf("%+v takes a listener or pool of %+v", b, a)
		}
	})
}

// FuzzFloatingIPDescription holds the descriptions of two Services of the names
// that Kubernetes allows against each other, in clusters of any name.
func FuzzFloatingIPDescription(f *testing.F) {
	f.Add("kubernetes", "kubernetes")
	f.Add("x (kube-octavia.cluster=c1 kube-octavia.service=s1) from cluster x", "x")
	f.Add(strings.Repeat("ü", 200), "")
	f.Fuzz(func(t *testing.T, cluster, otherCluster string) {
		a := Owner{ClusterName: cluster, ClusterUID: "11111111-1111-1111-1111-111111111111", Namespace: "shop", Name: "web", ServiceUID: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}
		b := a
		b.ClusterName, b.ClusterUID, b.ServiceUID = otherCluster, "22222222-2222-2222-2222-222222222222", "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"
		texts(t, a)
		if strings.Contains(cluster+otherCluster, clusterTag) {
			return // an operator who names a cluster so has forged the mark
		}
		f := FloatingIP{Description: a.FloatingIPDescription()}
		if !a.MadeFloatingIP(f) {
			t.Errorf("%+v does not know %q", a, f.Description)
		}
		if b.MadeFloatingIP(f) {
			t.Errorf("%+v takes %q", b, f.Description)
		}
	})
}

// texts looks whether the cloud takes the names, descriptions and tags.
func texts(t *testing.T, o Owner) {
	t.Helper()
	valid := utf8.ValidString(o.ClusterName) && utf8.ValidString(o.Namespace) && utf8.ValidString(o.Name)
	for _, text := range append(o.Tags(), o.LoadBalancerName(), o.Description(), o.FloatingIPDescription(), o.ListenerName(9), o.PoolName(9), o.MonitorName(9)) {
		if text == "" || utf8.RuneCountInString(text) > maxText || valid && !utf8.ValidString(text) {
			t.Errorf("%d characters: %q", utf8.RuneCountInString(text), text)
		}
	}
}

// FuzzServiceOfSecurityGroup reads security groups of Services of any name, in clusters of any
// name, and what any other client may have written. A group made for one cluster is not another's.
func FuzzServiceOfSecurityGroup(f *testing.F) {
	f.Add("kubernetes", "other", "lb-sg-aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa-shop-web", "Security Group for shop/web Service LoadBalancer in cluster x")
	f.Add(" Service LoadBalancer in cluster ", "", "lb-sg-", "Security Group for / Service LoadBalancer in cluster ")
	f.Add(strings.Repeat("ü", 200), strings.Repeat("ü", 199), "", "")
	f.Add(strings.Repeat("\x82", 250), "0", "", "")
	f.Fuzz(func(t *testing.T, cluster, otherCluster, name, description string) {
		o := Owner{ClusterName: cluster, Namespace: "shop", Name: "web", ServiceUID: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}
		read, ok := ServiceOfSecurityGroup(o.SecurityGroupName(), o.SecurityGroupDescription())
		if !ok || read.Namespace != "shop" || read.Name != "web" || !read.MadeInCluster(cluster) {
			t.Errorf("%+v is read as %+v, %v", o, read, ok)
		}
		if uid := SecurityGroupOfService(cluster, o.SecurityGroupName(), o.SecurityGroupDescription()); uid != o.ServiceUID {
			t.Errorf("cluster %q does not know what it made: %q", cluster, uid)
		}
		there := o
		there.ClusterName = otherCluster
		if uid := SecurityGroupOfService(otherCluster, o.SecurityGroupName(), o.SecurityGroupDescription()); uid != "" &&
			there.SecurityGroupDescription() != o.SecurityGroupDescription() {
			t.Errorf("cluster %q takes what %q made", otherCluster, cluster)
		}
		if read, ok := ServiceOfSecurityGroup(name, description); ok && (read.SecurityGroupName() != name || read.ServiceUID == "") {
			t.Errorf("%q is read as %+v", name, read)
		}
	})
}
