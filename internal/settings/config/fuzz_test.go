// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/gcfg.v1"
	"pgregory.net/rapid"
)

// knownToGcfg returns a pointer to a struct with all sections and keys of the table, as gcfg requires. Booleans are
// booleans, keys without effect accept anything, and every other value is text, so that gcfg reports errors of syntax,
// of booleans, and of unknown keys.
func knownToGcfg() any {
	var sectionFields []reflect.StructField
	for i, s := range sections {
		var fields []reflect.StructField
		for j, k := range table {
			if k.Section != s.Name {
				continue
			}
			kind := reflect.TypeOf("")
			switch {
			case k.Use == Accepted:
				kind = reflect.TypeOf([]string{})
			case k.Kind == Bool:
				kind = reflect.TypeOf(false)
			}
			fields = append(fields, reflect.StructField{Name: "K" + itoa(j), Type: kind, Tag: reflect.StructTag(`gcfg:"` + k.Name + `"`)})
		}
		section := reflect.StructOf(fields)
		if s.Named {
			section = reflect.MapOf(reflect.TypeOf(""), reflect.PointerTo(section))
		}
		sectionFields = append(sectionFields, reflect.StructField{Name: "S" + itoa(i), Type: section, Tag: reflect.StructTag(`gcfg:"` + s.Name + `"`)})
	}
	return reflect.New(reflect.StructOf(sectionFields)).Interface()
}

// checkFile compares Parse with gcfg and the same table.
func checkFile(t interface{ Errorf(string, ...any) }, text string) {
	c, err := Parse("cloud.conf", []byte(text))
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			if !strings.HasPrefix(line, "cloud.conf:") {
				t.Errorf("an error without a place: %q", line)
			}
		}
		return
	}
	moreThanGcfg := slices.ContainsFunc(c.Notices, func(n Notice) bool { return n.Text == emptyValue || n.Text == anotherCloud })
	if err := gcfg.ReadStringInto(knownToGcfg(), strings.TrimPrefix(text, "\ufeff")); err != nil && !moreThanGcfg {
		t.Errorf("accepted what gcfg refuses: %v", err)
	}
	if c.RequestTimeout <= 0 || c.LoadBalancer.MonitorTimeout > c.LoadBalancer.MonitorDelay || c.LoadBalancer.MonitorTimeout <= 0 {
		t.Errorf("accepted times that cannot be: %+v", c)
	}
	if !c.Global.UseClouds && c.Global.Authentication() == "" {
		t.Errorf("accepted without credentials")
	}
	lines := strings.Count(text, "\n") + 1
	for _, n := range c.Notices {
		if n.Line < 1 || n.Line > lines {
			t.Errorf("a notice of line %d of %d", n.Line, lines)
		}
	}
}

func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/accepted/*.conf")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("")
	f.Add("[Global]\nuse-clouds\nusername = \"a\\\nb\"")
	f.Add("[LoadBalancerClass \"\\\"\"]\nsubnet-id # no value\n[a \"b\"] ; c")
	f.Fuzz(func(t *testing.T, text string) { checkFile(t, text) })
}

func TestRandomFilesAreAcceptedOrRefusedAsByGcfg(t *testing.T) {
	var names []string
	for _, k := range table {
		names = append(names, k.Name, strings.ToUpper(k.Name))
	}
	names = append(names, "unknown", "x")
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(credentials)
		for range rapid.IntRange(0, 6).Draw(t, "sections") {
			s := sections[rapid.IntRange(0, len(sections)-1).Draw(t, "section")]
			if s.Named {
				text.WriteString("[" + s.Name + " \"n\"]\n")
			} else {
				text.WriteString("[" + s.Name + "]\n")
			}
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				key := rapid.SampledFrom(names).Draw(t, "key")
				value := rapid.SampledFrom([]string{"", " = true", " = x", " = 5s", " = 3", " = \"a;b\" # c", " ="}).Draw(t, "value")
				text.WriteString(key + value + "\n")
			}
		}
		checkFile(t, text.String())
	})
}
