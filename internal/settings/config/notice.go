// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NoticeKind is the kind of a Notice.
type NoticeKind string

// The kinds of notices.
const (
	// NoEffect is about a setting that changes nothing.
	NoEffect NoticeKind = "no effect"
	// Doubtful is about a setting whose value may be read differently than intended.
	Doubtful NoticeKind = "doubtful"
)

// Notice is about one setting that has no effect, or possibly an unintended one. It shows no value that may be secret.
type Notice struct {
	// File and Line are the place of the setting. Line is counted from 1.
	File string
	Line int
	// Section and Key are its names in the table or in clouds.yaml. Key is empty for a section as a whole.
	Section, Key string
	// Kind is the kind of the notice.
	Kind NoticeKind
	// Text is a sentence for the operator, and Do a sentence that says what to do.
	Text, Do string
}

// String returns the notice as one line: file, line, key and sentences.
func (n Notice) String() string { return n.Place() + ": " + n.Text + " " + n.Do }

// Place returns file, line and key.
func (n Notice) Place() string {
	return position(n.File, n.Line) + strings.TrimSpace(fmt.Sprintf("[%s] %s", n.Section, n.Key))
}

// LoginDoubts returns the notices about the credentials and the address of Keystone whose values may be read
// differently than intended.
func (c Config) LoginDoubts() []Notice {
	var doubts []Notice
	for _, n := range c.Notices {
		if n.Kind == Doubtful && n.ofLogin() {
			doubts = append(doubts, n)
		}
	}
	return doubts
}

// ofLogin reports whether the notice is about a value that the login needs.
func (n Notice) ofLogin() bool {
	if n.Section != globalSection {
		return strings.HasPrefix(n.Key, "auth.") // a key of clouds.yaml
	}
	return n.Key == "auth-url" || slices.ContainsFunc([]string{"user", "password", "tenant-", "domain-", "application-credential-", "trust", "token"},
		func(prefix string) bool { return strings.HasPrefix(n.Key, prefix) })
}

// removeKey is the advice for a key without effect.
const removeKey = "Remove the key, unless another program reads the file."

// notice records a notice about a key of the file.
func (f *file) notice(key Key, line int, kind NoticeKind, text, do string) {
	f.config.Notices = append(f.config.Notices, Notice{File: f.name, Line: line, Section: key.Section, Key: key.Name, Kind: kind, Text: text, Do: do})
}

// sortNotices sorts the notices of this file first, by line.
func (f *file) sortNotices() {
	other := func(n Notice) int {
		if n.File == f.name {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(f.config.Notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
