// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	clusterUID = "6f2a1c0e-0d0b-4d1f-9a55-2f7d3c1b8e90"
	serviceUID = "0b8f6a52-7a64-4f0e-8b1d-5f3f9a1c2d3e"
)

var web = Owner{ClusterName: "kubernetes", ClusterUID: clusterUID, Namespace: "shop", Name: "web", ServiceUID: serviceUID}

func TestNamesAreThoseOfOpenstackCloudControllerManager(t *testing.T) {
	got := []string{web.LoadBalancerName(), web.ListenerName(0), web.PoolName(12), web.MonitorName(3), web.Description()}
	want := []string{
		"kube_service_kubernetes_shop_web",
		"listener_0_kube_service_kubernetes_shop_web",
		"pool_12_kube_service_kubernetes_shop_web",
		"monitor_3_kube_service_kubernetes_shop_web",
		"Kubernetes external service shop/web from cluster kubernetes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestALongNameIsCutAt255BytesAndItsChildrenAgain(t *testing.T) {
	long := web
	long.ClusterName = strings.Repeat("c", 300)
	whole := "kube_service_" + long.ClusterName
	if got := long.LoadBalancerName(); got != whole[:255] {
		t.Errorf("LoadBalancerName() = %q (%d bytes), want the first 255 bytes of %q", got, len(got), whole)
	}
	if got, want := long.PoolName(10), ("pool_10_" + whole)[:255]; got != want {
		t.Errorf("PoolName(10) = %q, want %q", got, want)
	}
	if long.PoolName(0) == long.PoolName(1) {
		t.Error("two cut pool names are equal; the index must survive the cut")
	}
}

func TestANameIsNeverCutInTheMiddleOfACharacter(t *testing.T) {
	for width, char := range map[int]string{1: "c", 2: "é", 3: "界", 4: "🐙"} {
		t.Run(fmt.Sprintf("characters of %d bytes", width), func(t *testing.T) {
			for lead := range width {
				o := web
				o.ClusterName = strings.Repeat("x", lead) + strings.Repeat(char, 255/width)
				name := o.LoadBalancerName()
				if !utf8.ValidString(name) {
					t.Errorf("with characters of %d bytes after %d: %q is not valid UTF-8", width, lead, name)
				}
				if len(name) > 255 || len(name) <= 255-width {
					t.Errorf("with characters of %d bytes after %d: %d bytes, want as many whole characters as fit into 255", width, lead, len(name))
				}
			}
		})
	}
}

func TestTagsNameClusterAndServiceAndFitTheLists(t *testing.T) {
	want := []string{
		"kube_service_kubernetes_shop_web",
		"kube-octavia.cluster=" + clusterUID,
		"kube-octavia.service=" + serviceUID,
	}
	if diff := cmp.Diff(want, web.Tags()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	for _, tag := range want[1:] {
		if strings.ContainsAny(tag, ",/") {
			t.Errorf("tag %q has a comma or a slash, which lists and paths cannot take", tag)
		}
	}
	if got := Replaces(append(web.Tags(), ReplacesTag(serviceUID))); got != serviceUID || Replaces(web.Tags()) != "" || strings.ContainsAny(ReplacesTag(got), ",/") {
		t.Errorf("it says that it takes the place of %q", got)
	}
	if got := ServiceUIDOf(web.Tags()); got != serviceUID {
		t.Errorf("ServiceUIDOf(Tags()) = %q, want %q", got, serviceUID)
	}
	if got := ServiceUIDOf([]string{"kube_service_a_b_c", "x"}); got != "" {
		t.Errorf("ServiceUIDOf of tags without one = %q, want none", got)
	}
}

func TestAFloatingIPDescriptionIdentifiesItsOwner(t *testing.T) {
	want := "Floating IP for Kubernetes external service shop/web (kube-octavia.cluster=" + clusterUID +
		" kube-octavia.service=" + serviceUID + ") from cluster kubernetes"
	if got := web.FloatingIPDescription(); got != want {
		t.Errorf("FloatingIPDescription() =\n%q, want\n%q", got, want)
	}
}

func TestAFloatingIPDescriptionIsNeverTooLongAndKeepsItsBeginningAndEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := web
		o.Namespace = rapid.StringMatching(`[a-z][a-z0-9-]{0,61}[a-z0-9]`).Draw(t, "namespace")
		o.Name = rapid.StringMatching(`[a-z][a-z0-9-]{0,61}[a-z0-9]`).Draw(t, "name")
		o.ClusterName = rapid.StringMatching(`[A-Za-z0-9 _.é界-]{1,25}`).Draw(t, "cluster")
		got := o.FloatingIPDescription()
		if len(got) > 255 {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		if prefix := "Floating IP for Kubernetes external service "; !strings.HasPrefix(got, prefix) {
			t.Fatalf("%q does not begin with %q", got, prefix)
		}
		if suffix := " from cluster " + o.ClusterName; !strings.HasSuffix(got, suffix) {
			t.Fatalf("%q does not end with %q", got, suffix)
		}
		if !o.MadeFloatingIP(FloatingIP{Description: got}) {
			t.Fatalf("the owner does not know %q as its own", got)
		}
	})
}

func TestAnOverlongClusterNameIsCutFromTheDescriptionAndTheUIDsStay(t *testing.T) {
	o := web
	o.ClusterName = strings.Repeat("界", 100)
	got := o.FloatingIPDescription()
	if len(got) > 255 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid UTF-8 %v: %q", len(got), utf8.ValidString(got), got)
	}
	if !o.MadeFloatingIP(FloatingIP{Description: got}) {
		t.Errorf("the owner does not know %q as its own", got)
	}
}

func TestOnlyFloatingIPsCreatedForTheServiceAreItsOwn(t *testing.T) {
	of := func(change func(*Owner)) string {
		o := web
		change(&o)
		return o.FloatingIPDescription()
	}
	for name, c := range map[string]struct {
		description string
		want        bool
	}{
		"its own":                                                   {web.FloatingIPDescription(), true},
		"its own, after the cluster was renamed":                    {of(func(o *Owner) { o.ClusterName = "prod" }), true},
		"that of another cluster":                                   {of(func(o *Owner) { o.ClusterUID = "another" }), false},
		"that of another Service":                                   {of(func(o *Owner) { o.ServiceUID = "another" }), false},
		"that of an earlier Service of the same name":               {of(func(o *Owner) { o.ServiceUID = serviceUID + "0" }), false},
		"that of a cluster whose uid begins alike":                  {of(func(o *Owner) { o.ClusterUID = clusterUID + "0" }), false},
		"that of openstack-cloud-controller-manager":                {"Floating IP for Kubernetes external service shop/web from cluster kubernetes", true},
		"openstack-cloud-controller-manager's of another Service":   {"Floating IP for Kubernetes external service shop/web2 from cluster kubernetes", false},
		"openstack-cloud-controller-manager's of another cluster":   {"Floating IP for Kubernetes external service shop/web from cluster kubernetes2", false},
		"openstack-cloud-controller-manager's of another namespace": {"Floating IP for Kubernetes external service web/shop from cluster kubernetes", false},
		"given by hand":                                             {"the shop's address, do not delete", false},
		"by hand, without a description":                            {"", false},
		"by hand, with our description in it":                       {"was: " + web.FloatingIPDescription(), false},
		"one with the prefix and no more":                           {"Floating IP for Kubernetes external service ", false},
		"one with the tags and no service":                          {"Floating IP for Kubernetes external service (kube-octavia.cluster=" + clusterUID + ")", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := web.MadeFloatingIP(FloatingIP{Description: c.description}); got != c.want {
				t.Errorf("MadeFloatingIP(%q) = %v, want %v", c.description, got, c.want)
			}
		})
	}
}

func TestClaimsOfALoadBalancer(t *testing.T) {
	legacy := LoadBalancer{ID: "lb-1", Name: web.LoadBalancerName(), Description: web.Description(), Tags: []string{web.LoadBalancerName()}}
	with := func(change func(*LoadBalancer)) LoadBalancer {
		l := legacy
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		l      LoadBalancer
		want   Claim
		reason string
	}{
		"one with the Service's uid is ours": {
			l: with(func(l *LoadBalancer) { l.Tags = web.Tags() }), want: Claim{Ours: true}},
		"one with the Service's uid is ours whatever its name and description": {
			l: LoadBalancer{ID: "lb-1", Name: "renamed", Description: "mine", Tags: []string{"x", web.Tags()[2], web.Tags()[1]}}, want: Claim{Ours: true}},
		"one of openstack-cloud-controller-manager is adopted": {
			l: legacy, want: Claim{Ours: true, Adopted: true}},
		"one of openstack-cloud-controller-manager without tags is adopted": {
			l: with(func(l *LoadBalancer) { l.Tags = nil }), want: Claim{Ours: true, Adopted: true}},
		"one with another tag set by hand is adopted": {
			l: with(func(l *LoadBalancer) { l.Tags = append(l.Tags, "billing=shop") }), want: Claim{Ours: true, Adopted: true}},
		"one with the right name and no description is adopted": {
			l: with(func(l *LoadBalancer) { l.Description = "" }), want: Claim{Ours: true, Adopted: true}},
		"one that bears the name of old is adopted": {
			l: with(func(l *LoadBalancer) { l.Name, l.Tags = web.LegacyName(), nil }), want: Claim{Ours: true, Adopted: true}},
		"one that bears the name and the description of old is adopted": {
			l: LoadBalancer{ID: "lb-1", Name: web.LegacyName(), Description: "Kubernetes external service " + web.LegacyName()}, want: Claim{Ours: true, Adopted: true}},
		"one that bears the name of old and today's tag is adopted": {
			l: with(func(l *LoadBalancer) { l.Name = web.LegacyName() }), want: Claim{Ours: true, Adopted: true}},
		"one that bears the name of old of another Service is foreign": {
			l: with(func(l *LoadBalancer) { l.Name = "a" + strings.Repeat("0", 31) }), reason: `named "a000`},
		"one with the right name and the tag of another cluster is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = []string{ClusterTag("other")} }), reason: "another cluster (other)"},
		"one with the Service's uid and the tag of another cluster is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = []string{web.Tags()[2], ClusterTag("other")} }), reason: "another cluster (other)"},
		"one with the right name and the tag of another Service of the cluster is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = []string{ClusterTag(clusterUID), "kube-octavia.service=other"} }), reason: "another Service (uid other)"},
		"one that bears the uids of two Services is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = append(web.Tags(), "kube-octavia.service=other") }), reason: "another Service (uid other)"},
		"one that bears the uids of two clusters is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = append(web.Tags(), ClusterTag("other")) }), reason: "another cluster (other)"},
		"one that openstack-cloud-controller-manager shares with another Service is adopted": {
			l: with(func(l *LoadBalancer) { l.Tags = append(l.Tags, "kube_service_kubernetes_shop_api") }), want: Claim{Ours: true, Adopted: true}},
		"one that is shared and lacks the Service's own tag is foreign": {
			l: with(func(l *LoadBalancer) { l.Tags = []string{"kube_service_kubernetes_shop_api"} }), reason: "kube_service_kubernetes_shop_api"},
		"one that an earlier Service of the name has left to others is foreign": {
			l: with(func(l *LoadBalancer) {
				l.Tags = append(l.Tags, "kube_service_kubernetes_shop_api", ClusterTag(clusterUID))
			}), reason: "kube_service_kubernetes_shop_api"},
		"one that is shared and that another cluster has taken over is foreign": {
			l: with(func(l *LoadBalancer) {
				l.Tags = append(l.Tags, "kube_service_kubernetes_shop_api", ClusterTag("other"))
			}), reason: "another cluster (other)"},
		"one that is shared and described as another cluster's is foreign": {
			l: with(func(l *LoadBalancer) {
				l.Tags, l.Description = append(l.Tags, "kube_service_kubernetes_shop_api"), l.Description+"2"
			}), reason: "another cluster (kubernetes2)"},
		"one with another name and no uid is foreign": {
			l: with(func(l *LoadBalancer) { l.Name += "2" }), reason: `named "kube_service_kubernetes_shop_web2"`},
		"one with a name that begins alike is foreign": {
			l: with(func(l *LoadBalancer) { l.Name = "kube_service_kubernetes_shop_we" }), reason: "named"},
		"one with the right name and the description of another cluster is foreign": {
			l: with(func(l *LoadBalancer) { l.Description += "2" }), reason: "another cluster (kubernetes2)"},
		"one with the right name and the description of another Service is foreign": {
			l: with(func(l *LoadBalancer) { l.Description = "Kubernetes external service shop/api from cluster kubernetes" }), reason: "has the description"},
		"one with the right name and a description by hand is foreign": {
			l: with(func(l *LoadBalancer) { l.Description = "the shop's" }), reason: `has the description "the shop's"`},
		"one with the name of old and the description of another cluster is foreign": {
			l: with(func(l *LoadBalancer) { l.Name, l.Description = web.LegacyName(), l.Description+"2" }), reason: "another cluster (kubernetes2)"},
		"one that was created by hand is foreign": {
			l: LoadBalancer{ID: "lb-1", Name: "shop"}, reason: `named "shop"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := web.Claims(c.l)
			if !strings.Contains(got.Reason, c.reason) || (got.Reason == "") != got.Ours {
				t.Errorf("reason %q, want one with %q and none for what is ours", got.Reason, c.reason)
			}
			if !got.Ours && !strings.Contains(got.Reason, "lb-1") {
				t.Errorf("reason %q does not name the load balancer", got.Reason)
			}
			got.Reason = ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALoadBalancerSharedByOCCMIsUsedUnlessItNamesAnotherCluster(t *testing.T) {
	const api = "kube_service_kubernetes_shop_api"
	theirs := LoadBalancer{ID: "lb-1", Name: api, Description: "Kubernetes external service shop/api from cluster kubernetes", Tags: []string{api, web.LoadBalancerName()}}
	for name, c := range map[string]struct {
		change func(*LoadBalancer)
		want   bool
	}{
		"another Service's of the cluster":    {func(*LoadBalancer) {}, true},
		"created by hand":                     {func(l *LoadBalancer) { l.Name, l.Description, l.Tags = "shop", "", []string{web.LoadBalancerName()} }, true},
		"the Service's own, shared":           {func(l *LoadBalancer) { l.Name, l.Description = web.LoadBalancerName(), web.Description() }, true},
		"the Service's own name, and alone":   {func(l *LoadBalancer) { l.Name, l.Tags = web.LoadBalancerName(), []string{web.LoadBalancerName()} }, false},
		"the former name, and alone":          {func(l *LoadBalancer) { l.Name, l.Tags = web.LegacyName(), []string{web.LoadBalancerName()} }, false},
		"without the Service's name":          {func(l *LoadBalancer) { l.Tags = []string{api} }, false},
		"with the uid of another cluster":     {func(l *LoadBalancer) { l.Tags = append(l.Tags, ClusterTag("other")) }, false},
		"with our cluster's uid":              {func(l *LoadBalancer) { l.Tags = append(l.Tags, ClusterTag(clusterUID)) }, true},
		"of another cluster, as it describes": {func(l *LoadBalancer) { l.Description += "2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := theirs
			l.Tags = slices.Clone(l.Tags)
			if c.change(&l); web.MayUse(l) != c.want {
				t.Errorf("got %v", !c.want)
			}
		})
	}
}

func TestTheServiceThatUsesAPortIsFoundByItsNameTag(t *testing.T) {
	for tags, want := range map[string]string{
		"kube_service_kubernetes_shop_api":   "shop/api",
		"kube_service_other_shop_api":        "",
		"kube_service_kubernetes_shop":       "",
		"kube_service_kubernetes_a_shop_api": "",
		"by-hand":                            "",
	} {
		t.Run(tags, func(t *testing.T) {
			if got := web.ServiceNamed([]string{"x", tags}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestLegacyNameIsTheUIDWithoutDashes(t *testing.T) {
	o := Owner{ServiceUID: "6d8f5f1c-3f0e-4c44-9d3c-9f4d5a8ad3a1"}
	if got, want := o.LegacyName(), "a6d8f5f1c3f0e4c449d3c9f4d5a8ad3a"; got != want {
		t.Errorf("LegacyName() = %q, want %q", got, want)
	}
	if got := (Owner{ServiceUID: "short"}).LegacyName(); got != "ashort" {
		t.Errorf("LegacyName() = %q", got)
	}
}

func TestDescriptionNamesTheServiceThatItWasCreatedFor(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want ServiceOfCluster
	}{
		"description of this controller":                        {web.Description(), ServiceOfCluster{web.Namespace, web.Name, web.ClusterName}},
		"cluster name with the words in it":                     {"Kubernetes external service shop/web from cluster a from cluster b", ServiceOfCluster{"shop", "web", "a from cluster b"}},
		"no cluster name":                                       {"Kubernetes external service shop/web from cluster ", ServiceOfCluster{"shop", "web", ""}},
		"description of Kubernetes before it named the Service": {"Kubernetes external service a6d8f5f1c", ServiceOfCluster{}},
		"no namespace":                                          {"Kubernetes external service shop from cluster a", ServiceOfCluster{}},
		"more than a namespace and a name":                      {"Kubernetes external service shop/web/x from cluster a", ServiceOfCluster{}},
		"description by hand":                                   {"the shop's", ServiceOfCluster{}},
		"empty":                                                 {"", ServiceOfCluster{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := DescribedService(test.text)
			if got != test.want || ok != (test.want != ServiceOfCluster{}) {
				t.Errorf("DescribedService(%q) = %+v, %v", test.text, got, ok)
			}
		})
	}
}

func TestListenersOfALoadBalancerBelongToItsServiceUnlessTheirTagsSayOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		tags []string
		want bool
	}{
		"no tags":                              {nil, true},
		"the Service's tags":                   {web.Tags(), true},
		"the name alone":                       {[]string{web.LoadBalancerName()}, true},
		"the Service's uid and another's name": {[]string{"kube_service_old_shop_web", web.Tags()[2]}, true},
		"another Service's name":               {[]string{"kube_service_kubernetes_shop_api"}, false},
		"another Service's uid, and the name":  {[]string{web.LoadBalancerName(), "kube-octavia.service=other"}, false},
		"another cluster's uid, and the name":  {[]string{web.LoadBalancerName(), ClusterTag("other")}, false},
		"two Services' names (shared by tag)":  {[]string{"kube_service_kubernetes_shop_api", web.LoadBalancerName()}, true},
		"a tag set by hand":                    {[]string{"by-hand"}, false},
		"our cluster's uid and no Service's":   {[]string{ClusterTag(clusterUID)}, false},
		"our cluster's uid and the right name": {[]string{web.LoadBalancerName(), ClusterTag(clusterUID)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := web.OwnsListener(Listener{Tags: c.tags}); got != c.want {
				t.Errorf("OwnsListener(tags %v) = %v, want %v", c.tags, got, c.want)
			}
		})
	}
}

func TestDetachedPoolsBelongToTheServiceByTagsOrByTheirFullName(t *testing.T) {
	long := web
	long.ClusterName = strings.Repeat("c", 300)
	for name, c := range map[string]struct {
		owner Owner
		pool  Pool
		want  bool
	}{
		"made for it":                         {web, Pool{Name: "any", Tags: web.Tags()}, true},
		"made for another Service":            {web, Pool{Name: web.PoolName(0), Tags: []string{"kube-octavia.service=other"}}, false},
		"made for another cluster":            {web, Pool{Name: web.PoolName(0), Tags: []string{web.LoadBalancerName(), ClusterTag("other")}}, false},
		"untagged with its name":              {web, Pool{Name: web.PoolName(7)}, true},
		"untagged with its cut name":          {long, Pool{Name: long.PoolName(123)}, true},
		"untagged with another's name":        {web, Pool{Name: "pool_0_kube_service_kubernetes_shop_api"}, false},
		"untagged with a longer name":         {web, Pool{Name: web.PoolName(0) + "2"}, false},
		"untagged with the start of its name": {web, Pool{Name: "pool_0_kube"}, false},
		"untagged with a word for the number": {web, Pool{Name: "pool_x_" + web.LoadBalancerName()}, false},
		"untagged with a number of two kinds": {web, Pool{Name: "pool_00_" + web.LoadBalancerName()}, false},
		"untagged with a negative number":     {web, Pool{Name: "pool_-1_" + web.LoadBalancerName()}, false},
		"untagged and named by hand":          {web, Pool{Name: "canary"}, false},
		"untagged and not named at all":       {web, Pool{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.owner.OwnsPool(c.pool); got != c.want {
				t.Errorf("OwnsPool(%q, tags %v) = %v, want %v", c.pool.Name, c.pool.Tags, got, c.want)
			}
		})
	}
}

func TestAnOlderNameOfTheLoadBalancerDoesNotCountAsASharer(t *testing.T) {
	const older, api = "kube_service_older_shop_web", "kube_service_kubernetes_shop_api"
	l := LoadBalancer{Name: older, Tags: append(web.Tags(), older)}
	for name, c := range map[string]struct {
		tags []string
		want bool
	}{
		"no tags":                          {nil, false},
		"our own":                          {web.Tags(), false},
		"the load balancer's name":         {[]string{older}, false},
		"another Service's name":           {[]string{api}, true},
		"another's name beside our uid":    {append(web.Tags(), api), false},
		"another Service's uid":            {[]string{"kube-octavia.service=other"}, true},
		"another cluster's, with our name": {[]string{ClusterTag("other"), web.LoadBalancerName()}, true},
		"a tag set by hand":                {[]string{"by-hand"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := web.MarkedByAnother(l, c.tags); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if tag := web.SharedBy(l); tag != "" {
		t.Errorf("it passes for shared by %s", tag)
	}
	if tag := web.SharedBy(LoadBalancer{Name: older, Tags: append(l.Tags, api)}); tag != api {
		t.Errorf("it is shared by %q", tag)
	}
}

func TestAnEmptyTagHidesNoOtherOwner(t *testing.T) {
	own := Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	for _, other := range []string{"kube-octavia.cluster=", "kube-octavia.service="} {
		l := LoadBalancer{ID: "lb-1", Name: own.LoadBalancerName(), Tags: []string{other, other + "other", own.LoadBalancerName()}}
		if claim := own.Claims(l); claim.Ours {
			t.Errorf("tags %q: the load balancer passes for the Service's own", l.Tags)
		}
	}
}

func TestTheNameOfASharerIsFoundWithoutItsPorts(t *testing.T) {
	one := Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "one", ServiceUID: "s1"}
	two, abroad := one, one
	two.Name, two.ServiceUID = "two", "s2"
	abroad.ClusterUID, abroad.Name, abroad.ServiceUID = "d", "two", "s9"
	tags := append(one.Tags(), two.SharerTags()...)
	for name, c := range map[string]struct {
		balancer LoadBalancer
		want     Trace
	}{
		"a listener":               {LoadBalancer{Tags: tags, Listeners: []Listener{{Tags: two.Tags()}}}, TraceOfUID},
		"a pool without listener":  {LoadBalancer{Tags: tags, DetachedPools: []Pool{{Tags: two.Tags()}}}, TraceOfUID},
		"a pool, without its name": {LoadBalancer{Tags: one.Tags(), DetachedPools: []Pool{{Tags: two.Tags()}}}, TraceOfUID},
		"its name":                 {LoadBalancer{Tags: tags, Listeners: []Listener{{Tags: one.Tags()}}}, TraceOfName},
		"its name in a listener":   {LoadBalancer{Tags: tags, Listeners: []Listener{{Tags: two.SharerTags()}}}, TraceUnsure},
		"another cluster's":        {LoadBalancer{Tags: tags, Listeners: []Listener{{Tags: abroad.Tags()}}}, NoTrace},
		"no trace":                 {LoadBalancer{Tags: one.Tags()}, NoTrace},
		"its own name, with tags of another cluster": {LoadBalancer{Name: two.LoadBalancerName(), Tags: abroad.Tags()}, NoTrace},
	} {
		t.Run(name, func(t *testing.T) {
			if got := two.TraceOn(c.balancer); got != c.want {
				t.Errorf("got %q, not %q", got, c.want)
			}
		})
	}
	sharers := Cluster{Name: "prod", UID: "c"}.Sharers(LoadBalancer{Name: "by hand", Tags: two.SharerTags()})
	if len(sharers) != 1 || sharers[0].Name != "two" {
		t.Errorf("sharers by their names: %+v", sharers)
	}
}

func TestAFloatingIPIsInheritedWithTheLoadBalancerOfItsService(t *testing.T) {
	one := Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "one", ServiceUID: "s1"}
	two, again, abroad := one, one, one
	two.Name, two.ServiceUID = "two", "s2"
	again.ServiceUID = "s3"
	abroad.ClusterUID = "d"
	balancer := func(tags ...string) LoadBalancer {
		return LoadBalancer{Name: one.LoadBalancerName(), Description: one.Description(), VIP: VIP{PortID: "p"}, Tags: tags}
	}
	left := balancer(ClusterTag("c"), two.LoadBalancerName())
	for name, c := range map[string]struct {
		owner    Owner
		balancer LoadBalancer
		floating FloatingIP
		want     bool
	}{
		"its Service has left":           {two, left, FloatingIP{Description: one.FloatingIPDescription(), PortID: "p"}, true},
		"its Service was created again":  {again, balancer(again.Tags()...), FloatingIP{Description: one.FloatingIPDescription(), PortID: "p"}, true},
		"its Service is there":           {two, balancer(append(one.Tags(), two.SharerTags()...)...), FloatingIP{Description: one.FloatingIPDescription(), PortID: "p"}, false},
		"it was kept":                    {two, left, FloatingIP{Description: one.KeptFloatingIPDescription(), PortID: "p"}, false},
		"created by hand":                {two, left, FloatingIP{Description: "by hand", PortID: "p"}, false},
		"another cluster's":              {two, left, FloatingIP{Description: abroad.FloatingIPDescription(), PortID: "p"}, false},
		"it is attached to another port": {two, left, FloatingIP{Description: one.FloatingIPDescription(), PortID: "q"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.owner.Inherits(c.balancer, c.floating); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
