// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSubnetPatternMatchesByNameAndTags(t *testing.T) {
	subnets := map[string][]string{
		"public-a": {"internet", "a"}, "public-b": {"internet"}, "vpn": {"internal", "a"}, "a.b": nil, "aXb": nil,
	}
	for _, c := range []struct {
		name, tags string
		want       string
	}{
		{"", "", "a.b aXb public-a public-b vpn"},
		{"vpn", "", "vpn"},
		{"public", "", ""},
		{"public-*", "", "public-a public-b"},
		{"*-?", "", "public-a public-b"},
		{"a.b", "", "a.b"},
		{"!public-*", "", "a.b aXb vpn"},
		{"!vpn", "", "a.b aXb public-a public-b"},
		{"~^public-[ab]$", "", "public-a public-b"},
		{"~a.b", "", "a.b aXb"},
		{"!~public", "", "a.b aXb vpn"},
		{"", "internet", "public-a public-b"},
		{"", "internal,internet", "public-a public-b vpn"},
		{"", "&internet,a", "public-a"},
		{"", "!internet", "a.b aXb vpn"},
		{"", "!a, internal", "a.b aXb public-b"},
		{"", "!&internet,a", "a.b aXb public-b vpn"},
		{"public-*", "a", "public-a"},
		{"!public-*", "!&internal,a", "a.b aXb"},
	} {
		t.Run(fmt.Sprintf("name %q, tags %q", c.name, c.tags), func(t *testing.T) {
			means, err := SubnetPattern{Name: c.name, Tags: c.tags}.Matcher()
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				return
			}
			var got []string
			for name, tags := range subnets {
				if means(name, tags) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("name %q, tags %q mean %q, want %q", c.name, c.tags, text, c.want)
			}
		})
	}
}

func TestInvalidSubnetPatternIsAnError(t *testing.T) {
	for _, p := range []SubnetPattern{{Name: "!"}, {Name: "~"}, {Name: "!~"}, {Name: "~("}, {Name: "~[z-a]"}, {Tags: "!"}, {Tags: "&"}, {Tags: "!&"}, {Tags: " , "}} {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			if _, err := p.Matcher(); err == nil {
				t.Errorf("%+v is taken", p)
			}
		})
	}
}

func FuzzSubnetPattern(f *testing.F) {
	f.Add("public-*", "&a,b", "public-a", "a")
	f.Add("!~^x", "!a", "y", "")
	f.Fuzz(func(t *testing.T, name, tags, subnet, tag string) {
		means, err := SubnetPattern{Name: name, Tags: tags}.Matcher()
		if err != nil {
			return
		}
		is := means(subnet, []string{tag})
		if negated, err := (SubnetPattern{Name: "!" + strings.TrimSpace(name)}).Matcher(); err == nil && tags == "" &&
			!strings.HasPrefix(strings.TrimSpace(name), "!") && negated(subnet, nil) == is && strings.TrimSpace(name) != "" {
			t.Errorf("%q and its opposite are the same of %q: %v", name, subnet, is)
		}
	})
}
