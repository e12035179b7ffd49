// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// report is the result of a check of a site. Each link counts, even if several have the same
// target.
type report struct {
	Pages    int
	Internal int
	External int
	Problems []string
}

// page has what the check needs from an HTML file.
type page struct {
	anchors map[string]bool
	// links are the targets of links, loads what a browser loads automatically.
	links, loads []string
	// policy is the page's Content-Security-Policy.
	policy string
}

// check checks a site that is served at base.
func check(site fs.FS, base string) (report, error) {
	pages, styles, err := read(site)
	if err != nil {
		return report{}, err
	}
	found := report{Pages: len(pages)}
	if len(pages) == 0 {
		return found, errors.New("the site has no pages")
	}
	c := checker{site: site, base: base, pages: pages}
	for name, p := range pages {
		for _, link := range p.links {
			external, problem := c.link(name, link)
			if external {
				found.External++
			} else {
				found.Internal++
			}
			found.add(name, problem)
		}
		for _, load := range p.loads {
			external, problem := c.link(name, load)
			if external {
				problem = load + " is loaded from another host"
			}
			found.add(name, problem)
		}
		if !strings.Contains(p.policy, "default-src 'self'") {
			found.add(name, "no Content-Security-Policy restricts it to its own host")
		}
	}
	for name, text := range styles {
		for _, load := range remote.FindAllString(text, -1) {
			found.add(name, load+" is loaded from another host")
		}
	}
	slices.Sort(found.Problems)
	found.Problems = slices.Compact(found.Problems)
	return found, nil
}

func (r *report) add(name, problem string) {
	if problem != "" {
		r.Problems = append(r.Problems, name+": "+problem)
	}
}

// remote matches what a style sheet loads from another host.
var remote = regexp.MustCompile(`(?i)(?:url\(\s*|@import\s*)["']?(?:https?:)?//[^"')\s;]*`)

// read reads the pages and the style sheets of a site.
func read(site fs.FS) (map[string]page, map[string]string, error) {
	pages, styles := map[string]page{}, map[string]string{}
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		extension := path.Ext(name)
		if err != nil || entry.IsDir() || extension != ".html" && extension != ".css" {
			return err
		}
		text, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		if extension == ".css" {
			styles[name] = string(text)
			return nil
		}
		pages[name], err = parse(text)
		return err
	})
	return pages, styles, err
}

// parse finds the anchors and links of a page.
func parse(text []byte) (page, error) {
	document, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return page{}, err
	}
	p := page{anchors: map[string]bool{}}
	for node := range document.Descendants() {
		if node.Type == html.ElementNode {
			p.element(node)
		}
	}
	return p, nil
}

func (p *page) element(node *html.Node) {
	attributes := map[string]string{}
	for _, a := range node.Attr {
		attributes[a.Key] = a.Val
	}
	if id := attributes["id"]; id != "" {
		p.anchors[id] = true
	}
	href, hasHref := attributes["href"]
	switch node.Data {
	case "a", "area":
		if hasHref {
			p.links = append(p.links, href)
		}
		return
	case "meta":
		if strings.EqualFold(attributes["http-equiv"], "Content-Security-Policy") {
			p.policy = attributes["content"]
		}
		return
	}
	// All other elements load what they refer to.
	if hasHref {
		p.loads = append(p.loads, href)
	}
	for _, name := range []string{"src", "data", "poster"} {
		if value := attributes[name]; value != "" {
			p.loads = append(p.loads, value)
		}
	}
	for candidate := range strings.SplitSeq(attributes["srcset"], ",") {
		if fields := strings.Fields(candidate); len(fields) > 0 {
			p.loads = append(p.loads, fields[0])
		}
	}
}

// checker knows all pages of a site.
type checker struct {
	site  fs.FS
	base  string
	pages map[string]page
}

// link checks a link on the page from. It only checks that links to other hosts are well formed.
func (c checker) link(from, href string) (external bool, problem string) {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return false, fmt.Sprintf("link %q: %v", href, err)
	}
	switch {
	case u.Scheme == "data" || u.Scheme == "mailto":
		return false, ""
	case u.Host != "":
		if !slices.Contains([]string{"", "http", "https"}, u.Scheme) || !hostname.MatchString(u.Hostname()) {
			problem = fmt.Sprintf("link %q is not a web address", href)
		}
		return true, problem
	case u.Scheme != "":
		return false, fmt.Sprintf("link %q is neither a page nor a web address", href)
	}
	target := (&url.URL{Path: c.base + from}).ResolveReference(u).Path
	name, below := strings.CutPrefix(target, c.base)
	if !below {
		return false, fmt.Sprintf("link %q leads out of the site, which is served at %s", href, c.base)
	}
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	if info, err := fs.Stat(c.site, name); err != nil || info.IsDir() {
		return false, fmt.Sprintf("link %q: there is no %s", href, name)
	}
	if to, isPage := c.pages[name]; isPage && u.Fragment != "" && !to.anchors[u.Fragment] {
		return false, fmt.Sprintf("link %q: %s has no heading #%s", href, name, u.Fragment)
	}
	return false, ""
}

// hostname matches the name of a public host.
var hostname = regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z]{2,}$`)
