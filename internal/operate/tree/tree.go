// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree prints trees of objects as text.
package tree

import "strings"

// Node is a line of a tree, with the lines below it.
type Node struct {
	Text  string
	Below []Node
}

// String returns the node and all nodes below it, one per line.
func (n Node) String() string {
	var b strings.Builder
	b.WriteString(n.Text + "\n")
	write(&b, n.Below, "  ")
	return b.String()
}

func write(b *strings.Builder, nodes []Node, indent string) {
	for i, n := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		b.WriteString(indent + branch + n.Text + "\n")
		write(b, n.Below, indent+below)
	}
}
