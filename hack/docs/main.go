// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs writes the pages of docs/reference that contain tables of the code, so that pages
// and code always agree. `make generate` runs it, and `make lint` fails when a page is not up to
// date.
//
// The text of a page is in its template; the tables come from the code.
package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:generate go run . ../../docs/reference

//go:embed templates/*.md
var texts embed.FS

// pages has the files that are written, and the functions that return the data of their templates.
var pages = map[string]func() (any, error){
	"annotations.md":     annotations,
	"cloud-conf.md":      cloudConf,
	"cli.md":             commandLine,
	"openstack-calls.md": openStackCalls,
	"versions.md":        versions,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "docs: name the directory to write to")
		os.Exit(1)
	}
	for name := range pages {
		text, err := render(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "docs: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// render returns the text of a page.
func render(name string) (string, error) {
	text, err := template.New(name).Option("missingkey=error").ParseFS(texts, "templates/"+name)
	if err != nil {
		return "", err
	}
	data, err := pages[name]()
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString("<!-- Written by `make generate` from the code and hack/docs/templates/" + name + ". -->\n\n")
	err = text.Execute(&page, data)
	return page.String(), err
}
