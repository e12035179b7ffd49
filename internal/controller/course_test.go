// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

func TestALoadBalancerIsReplacedOnlyWhereThatIsAskedForAllowedAndPossible(t *testing.T) {
	for name, c := range map[string]struct {
		of   placement
		want course
	}{
		"as it is asked for":                      {placement{suits: true}, keepOn},
		"as it is asked for, and allowed":         {placement{suits: true, allowed: true}, keepOn},
		"not allowed":                             {placement{}, refuse},
		"allowed":                                 {placement{allowed: true}, buildBeside},
		"allowed, and not possible":               {placement{allowed: true, obstacle: "a guest"}, refuse},
		"another one is beside it":                {placement{suits: true, allowed: true, beside: true}, takeOver},
		"the change is taken back":                {placement{suits: true, allowed: true, beside: true, oldSuits: true}, takeBack},
		"the change is taken back to what it was": {placement{allowed: true, beside: true, oldSuits: true}, takeBack},
		"something else is asked for meanwhile":   {placement{allowed: true, beside: true}, takeBack},
		"it is not allowed any more":              {placement{suits: true, beside: true}, takeBack},
		"somebody came to use the old one":        {placement{suits: true, allowed: true, beside: true, obstacle: "a guest"}, takeBack},
		"in the place of one that failed":         {placement{suits: true, succeeds: true}, keepOn},
		"in the place of one that failed, and no more as it is asked for": {placement{allowed: true, succeeds: true}, finishFirst},
	} {
		if got := c.of.course(); got != c.want {
			t.Errorf("%s: course %d, want %d", name, got, c.want)
		}
	}
}

func TestNoCourseGivesUpWhatServesForWhatIsNotAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) bool { return rapid.Bool().Draw(t, name) }
		p := placement{suits: draw("suits"), allowed: draw("allowed"), beside: draw("beside"), oldSuits: draw("oldSuits"), succeeds: draw("succeeds")}
		if draw("obstacle") {
			p.obstacle = "a guest"
		}
		switch c := p.course(); {
		case c == takeOver && (!p.allowed || !p.suits || p.oldSuits || p.obstacle != "" || !p.beside):
			t.Fatalf("%+v takes over", p)
		case c == buildBeside && (!p.allowed || p.obstacle != "" || p.beside || p.succeeds || p.suits):
			t.Fatalf("another one is built beside %+v", p)
		case (c == takeOver || c == takeBack) != p.beside:
			t.Fatalf("course %d of %+v", c, p)
		}
	})
}

func TestWhatIsInTheWayOfAReplacementIsNamed(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	guest := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "api", ServiceUID: "uid-2"}
	old := func(edits ...func(*lb.LoadBalancer)) lb.LoadBalancer {
		l := lb.LoadBalancer{ID: "old", Name: owner.LoadBalancerName(), Tags: owner.Tags(), VIP: lb.VIP{PortID: "port-old", Address: "10.0.0.9"},
			Listeners: []lb.Listener{{ID: "l-1", Tags: owner.Tags()}}}
		for _, edit := range edits {
			edit(&l)
		}
		return l
	}
	tagged := lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 26}}
	for name, c := range map[string]struct {
		old  lb.LoadBalancer
		vips []lb.VIP
		can  lb.Capabilities
		want string
	}{
		"nothing":          {old(), []lb.VIP{{SubnetID: "s"}}, tagged, ""},
		"another port":     {old(), []lb.VIP{{PortID: "port-new"}}, tagged, ""},
		"the same port":    {old(), []lb.VIP{{PortID: "port-old"}}, tagged, "port-old"},
		"the same address": {old(), []lb.VIP{{Address: "10.0.0.9"}}, tagged, "10.0.0.9"},
		"the additional one's": {old(func(l *lb.LoadBalancer) { l.AdditionalVIPs = []lb.VIP{{Address: "fd00::9"}} }),
			[]lb.VIP{{Address: "10.0.0.8"}, {Address: "fd00::9"}}, tagged, "fd00::9"},
		"a guest":              {old(func(l *lb.LoadBalancer) { l.Tags = append(l.Tags, guest.GuestTags()...) }), nil, tagged, guest.LoadBalancerName()},
		"a person's listener":  {old(func(l *lb.LoadBalancer) { l.Listeners[0].Tags = []string{"mine"} }), nil, tagged, "listener l-1"},
		"a cloud without tags": {old(), nil, lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 4}}, "2.5"},
	} {
		got := obstacle(c.old, c.vips, owner, c.can)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
