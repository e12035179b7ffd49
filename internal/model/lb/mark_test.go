// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAMarkNamesOneClusterAndOneService(t *testing.T) {
	own := Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	for name, c := range map[string]struct {
		tags []string
		ok   bool
	}{
		"our own":                         {own.Tags(), true},
		"with a stranger's":               {append(own.Tags(), "billing=shop"), true},
		"without the name":                {own.Tags()[1:], true},
		"none":                            {nil, false},
		"no Service":                      {own.Tags()[:2], false},
		"no cluster":                      {[]string{own.Tags()[2]}, false},
		"an empty cluster":                {[]string{"kube-octavia.cluster=", own.Tags()[2]}, false},
		"an empty cluster beside ours":    {append(own.Tags(), "kube-octavia.cluster="), false},
		"an empty one hides no other":     {append(own.Tags(), "kube-octavia.cluster=", "kube-octavia.cluster=other"), false},
		"an empty Service hides no other": {append([]string{"kube-octavia.service="}, append(own.Tags(), "kube-octavia.service=other")...), false},
		"an empty name hides no other":    {append(own.Tags(), "kube_service_", "kube_service_prod_shop_other"), false},
		"two clusters":                    {append(own.Tags(), "kube-octavia.cluster=other"), false},
		"two Services":                    {append(own.Tags(), "kube-octavia.service=other"), false},
		"shared with another Service":     {append(own.Tags(), "kube_service_prod_shop_other"), false},
		"the same mark twice is but once": {append(own.Tags(), own.Tags()...), true},
	} {
		t.Run(name, func(t *testing.T) {
			mark, ok := MarkOf(c.tags)
			if ok != c.ok || ok && mark != (Mark{"c", "s"}) {
				t.Errorf("tags %q: %+v, %t; want %t", c.tags, mark, ok, c.ok)
			}
		})
	}
}

func TestTheDescriptionOfAFloatingIPIdentifiesItsOwnerWhateverTheLengthOfNames(t *testing.T) {
	uid := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}`)
	name := rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		own := Owner{
			ClusterName: rapid.StringMatching(`[a-z0-9 ()=]{1,80}`).Draw(t, "cluster"), ClusterUID: uid.Draw(t, "cluster uid"),
			Namespace: name.Draw(t, "namespace"), Name: name.Draw(t, "name"), ServiceUID: uid.Draw(t, "Service uid"),
		}
		other := own
		other.ServiceUID = uid.Draw(t, "other uid")
		for _, kept := range []bool{false, true} {
			f := FloatingIP{Description: own.FloatingIPDescription()}
			if kept {
				f.Description = own.KeptFloatingIPDescription()
			}
			mark, keeps, ok := MarkOfFloatingIP(f)
			if !ok || keeps != kept || mark != (Mark{own.ClusterUID, own.ServiceUID}) {
				t.Fatalf("%q is read as %+v, kept %t, %t", f.Description, mark, keeps, ok)
			}
			if own.MadeFloatingIP(f) == kept || own.KeptFloatingIP(f) != kept {
				t.Fatalf("%q: made %t, kept %t", f.Description, own.MadeFloatingIP(f), own.KeptFloatingIP(f))
			}
			if other != own && (other.MadeFloatingIP(f) || other.KeptFloatingIP(f)) {
				t.Fatalf("%q is taken for another Service's", f.Description)
			}
		}
	})
}

func TestOtherDescriptionsAreNoMark(t *testing.T) {
	own := Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "web", ServiceUID: "s"}
	ours := own.FloatingIPDescription()
	for _, text := range []string{
		"", "by hand", "copy of " + ours, strings.Replace(ours, "kube-octavia.cluster=c ", "", 1), strings.Replace(ours, "kube-octavia.service=s", "", 1),
		"Floating IP for Kubernetes external service shop/web from cluster prod",
		"Floating IP for Kubernetes external service shop/web from cluster x (kube-octavia.cluster=c kube-octavia.service=s)",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if mark, _, ok := MarkOfFloatingIP(FloatingIP{Description: text}); ok {
				t.Errorf("it is read as %+v", mark)
			}
		})
	}
}
