// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const head = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'self'">`

// small returns a site without problems, with the files that a test adds.
func small(added map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"index.html":         head + `<h1 id="top">A</h1><a href="/reference/cli.html#plan">plan</a><a href="https://docs.example.com/a?b=c#d">x</a>`,
		"reference/cli.html": head + `<h2 id="plan">plan</h2><a href="../index.html">home</a><a href="#plan">here</a><img src="/a.svg">`,
		"a.svg":              `<svg/>`,
		"style.css":          `a { background: url("/a.svg") }`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range added {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestASiteWithoutProblemsPasses(t *testing.T) {
	got, err := check(small(nil), "/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report{Pages: 2, Internal: 3, External: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEachProblemIsFound(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a page that does not exist", `<a href="/gone.html">x</a>`, `link "/gone.html": there is no gone.html`},
		{"a relative link to nowhere", `<a href="cli.html">x</a>`, `link "cli.html": there is no cli.html`},
		{"an anchor that does not exist", `<a href="/reference/cli.html#gone">x</a>`, `link "/reference/cli.html#gone": reference/cli.html has no heading #gone`},
		{"an anchor of the same page", `<a href="#gone">x</a>`, `link "#gone": new.html has no heading #gone`},
		{"a directory without a page", `<a href="/reference/">x</a>`, `link "/reference/": there is no reference/index.html`},
		{"an image that does not exist", `<img src="/b.svg">`, `link "/b.svg": there is no b.svg`},
		{"an address without a host", `<a href="https:///x">x</a>`, `link "https:///x" is neither a page nor a web address`},
		{"an address with a malformed host", `<a href="https://exa mple.com">x</a>`, `link "https://exa mple.com": parse "https://exa mple.com": invalid character " " in host name`},
		{"an address of one word", `<a href="https://example/">x</a>`, `link "https://example/" is not a web address`},
		{"another scheme", `<a href="javascript:alert(1)">x</a>`, `link "javascript:alert(1)" is neither a page nor a web address`},
		{"a script of another host", `<script src="https://cdn.example.com/a.js"></script>`, `https://cdn.example.com/a.js is loaded from another host`},
		{"a style sheet of another host", `<link rel="stylesheet" href="//cdn.example.com/a.css">`, `//cdn.example.com/a.css is loaded from another host`},
		{"an image of another host", `<img srcset="/a.svg 1x, https://cdn.example.com/a.svg 2x">`, `https://cdn.example.com/a.svg is loaded from another host`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := check(small(map[string]string{"new.html": head + c.page}), "/")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"new.html: " + c.want}, got.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStyleSheetsAndPagesAreRestrictedToTheirOwnHost(t *testing.T) {
	got, err := check(small(map[string]string{
		"new.css":  `@import "https://fonts.example.com/a.css"; a { background: url(//cdn.example.com/a.png) }`,
		"new.html": `<h1>without a policy</h1>`,
	}), "/")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`new.css: @import "https://fonts.example.com/a.css is loaded from another host`,
		`new.css: url(//cdn.example.com/a.png is loaded from another host`,
		`new.html: no Content-Security-Policy restricts it to its own host`,
	}
	if diff := cmp.Diff(want, got.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASiteBelowAPathLinksOnlyBelowIt(t *testing.T) {
	files := fstest.MapFS{
		"index.html": {Data: []byte(head + `<a href="/docs/a.html">x</a><a href="a.html">x</a><a href="/a.html">x</a>`)},
		"a.html":     {Data: []byte(head)},
	}
	got, err := check(files, "/docs/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`index.html: link "/a.html" leads out of the site, which is served at /docs/`}, got.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADirectoryWithoutPagesIsNoSite(t *testing.T) {
	if _, err := check(fstest.MapFS{}, "/"); err == nil {
		t.Error("it is a site")
	}
}

// broken is a site in which the text of one page is replaced.
type broken struct {
	fs.FS
	name, text string
}

func (b broken) ReadFile(name string) ([]byte, error) {
	if name == b.name {
		return []byte(b.text), nil
	}
	return fs.ReadFile(b.FS, name)
}

// TestABrokenLinkOfTheBuiltSiteIsFound breaks links of the site that `make site`
// has built.
func TestABrokenLinkOfTheBuiltSiteIsFound(t *testing.T) {
	site := os.DirFS("../../bin/site")
	const name, link = "troubleshoot.html", `href="/reference/conditions.html"`
	text, err := fs.ReadFile(site, name)
	if err != nil || !strings.Contains(string(text), link) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no %s in %s: %v", link, name, err)
		}
		t.Skip("there is no site that is served at /: run `make site` first")
	}
	for mistake, test := range map[string]struct{ changed, want string }{
		"unknown page": {`href="/reference/condition.html"`,
			`troubleshoot.html: link "/reference/condition.html": there is no reference/condition.html`},
		"unknown heading": {`href="/reference/conditions.html#Gone"`,
			`troubleshoot.html: link "/reference/conditions.html#Gone": reference/conditions.html has no heading #Gone`},
		"heading in another case": {`href="/reference/conditions.html#noip"`,
			`troubleshoot.html: link "/reference/conditions.html#noip": reference/conditions.html has no heading #noip`},
	} {
		t.Run(mistake, func(t *testing.T) {
			got, err := check(broken{site, name, strings.Replace(string(text), link, test.changed, 1)}, "/")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.want}, got.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
