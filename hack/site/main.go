// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command site checks the built site of the documentation: each link between its
// pages leads to a page and an anchor that exist, and no page loads anything from
// another host. `make site` builds the site with VitePress, and runs it.
//
// The pages are Markdown files of the repository. navigation.json lists them in order.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	base := flag.String("base", "/", "the path at which the site will be served")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "site: name the directory of the site")
		os.Exit(1)
	}
	found, err := check(os.DirFS(flag.Arg(0)), *base)
	if err != nil {
		fmt.Fprintf(os.Stderr, "site: read %s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
	for _, problem := range found.Problems {
		fmt.Fprintln(os.Stderr, "site: "+problem)
	}
	fmt.Printf("site: %d pages, %d links between them, %d links to other hosts, %d problems\n",
		found.Pages, found.Internal, found.External, len(found.Problems))
	if len(found.Problems) > 0 {
		os.Exit(1)
	}
}
