// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/inifile"
)

// file is a cloud.conf while it is being parsed.
type file struct {
	name       string
	config     Config
	lines      map[place]int       // line of the last assignment with a value
	refused    map[place]bool      // keys with a problem, which are not checked in combination with others
	classes    []inifile.Statement // headers and assignments of [LoadBalancerClass], which override [LoadBalancer]
	vendors    []inifile.Statement // those of [LoadBalancerProvider]
	zeros      map[place]zero      // values of 0 that are the same as no value
	unreadable bool                // its syntax is invalid, or it is empty, so its keys are unknown
	problems   []error
}

// place is a key in a section. The section has a name if it is a class or a provider. Without a key it is the
// section itself.
type place struct{ section, name, key string }

func newFile(name string) *file {
	return &file{name: name, lines: map[place]int{}, refused: map[place]bool{}, zeros: map[place]zero{}}
}

// readFile applies the defaults and the statements of text. The result contains the problems.
func readFile(name string, text []byte) *file {
	f := newFile(name)
	for _, k := range table {
		if k.Section == classSection {
			continue // the defaults of a class are the values of [LoadBalancer]
		}
		if err := k.apply(&f.config, k.Default); err != nil {
			f.problems = append(f.problems, fmt.Errorf("default of [%s] %s: %w", k.Section, k.Name, err))
		}
	}
	statements, problems := inifile.Parse(text, public)
	for _, p := range problems {
		f.problem(p.Line, "%s", p.Text)
	}
	if len(statements) == 0 && len(problems) == 0 {
		f.problem(0, "the file is empty: write at least [Global] with auth-url and credentials")
	}
	f.unreadable = len(statements) == 0
	for _, s := range statements {
		f.read(s)
	}
	f.fitMonitor()
	f.readClasses()
	f.readVendors()
	return f
}

// public reports whether the value of a key may be shown.
func public(section, key string) bool {
	s, _ := findSection(section)
	k, known := findKey(s.Name, key)
	return known && k.Kind != Password
}

// read applies one statement.
func (f *file) read(s inifile.Statement) {
	section, known := findSection(s.Section)
	header := s.Key == ""
	switch {
	case !known && header:
		near, hint := suggestSection(s.Section)
		f.refused[place{section: near}] = true
		f.problem(s.Line, "unknown section [%s]; %s", s.Section, hint)
	case !known:
		return // reported at the header
	case s.Name != "" && section.Name == globalSection:
		if header {
			f.notice(Key{Section: fmt.Sprintf("%s %q", section.Name, s.Name)}, s.Line, NoEffect, anotherCloud, "Remove the section, unless another program reads the file.")
		}
	case header && s.Name != "" && !section.Named:
		f.problem(s.Line, "section [%s] has no name: write [%s], not [%s %q]", section.Name, section.Name, section.Name, s.Name)
	case header && s.Name == "" && section.Named:
		f.problem(s.Line, "section [%s] needs a name: write [%s \"name\"]", section.Name, section.Name)
	case section.Name == classSection:
		f.classes = append(f.classes, s)
	case section.Name == vendorSection:
		f.vendors = append(f.vendors, s)
	case !header:
		f.readKey(section, s)
	}
}

// anotherCloud is the notice about [Global "name"], a section of the Cinder CSI driver.
const anotherCloud = "A further cloud of the Cinder CSI driver. kube-octavia uses only [Global]."

// looksLikeKey matches the form of all keys of cloud.conf, in any controller.
var looksLikeKey = regexp.MustCompile(`^[a-z]+([-_][a-z0-9]+)*$`)

// readKey applies one assignment in a known section.
func (f *file) readKey(section Section, s inifile.Statement) {
	key, known := findKey(section.Name, s.Key)
	if known {
		f.assign(key, s)
		return
	}
	meant, hint := suggestKey(place{section.Name, s.Name, s.Key})
	f.refused[meant] = true
	if s.Blank && meant.key == "" { // perhaps a part of a password
		f.problem(s.Line, `[%s] the line is neither a key nor key = value; %s`, section.Name, hint)
		return
	}
	if meant.key == "" && !looksLikeKey.MatchString(s.Key) { // perhaps a part of a password, too
		f.problem(s.Line, "[%s] unknown key; %s", section.Name, hint)
		return
	}
	f.problem(s.Line, "[%s] unknown key %q; %s", section.Name, s.Key, hint)
}

// assign sets the value of a known key, or adds a notice or a problem.
func (f *file) assign(key Key, s inifile.Statement) {
	at := place{key.Section, s.Name, key.Name}
	text := s.Value
	delete(f.zeros, at)
	if s.Doubt.Read != "" && (!s.Doubt.OnlySecret || key.Kind == Password) {
		f.notice(key, s.Line, Doubtful, s.Doubt.Read, s.Doubt.Write)
	}
	if s.Blank && key.Kind == Bool {
		text = "true" // a key without a value enables a boolean
	} else if s.Blank {
		f.refused[at] = true
		f.problem(s.Line, "[%s] %s needs a value: write %s = ...", key.Section, key.Name, key.Name)
		return
	} else if text == "" {
		f.setEmpty(key, s)
		return
	}
	if key.Use == Accepted {
		if !key.isDefault(text) {
			f.notice(key, s.Line, NoEffect, key.Doc+" "+key.Instead, cmp.Or(key.do, removeKey))
		}
		return
	}
	if key.isZero(text) {
		f.setZero(key, s)
		return
	}
	if key.Kind == TrueFalse && !isWordForFalse(text) && text != "true" {
		f.notice(key, s.Line, Doubtful, "Only the word true enables it, as in openstack-cloud-controller-manager. It is disabled.", "Write "+key.Name+" = true or remove the key.")
	}
	if err := key.apply(&f.config, text); err != nil {
		f.refused[at] = true
		f.problem(s.Line, "[%s] %s: %w%s", key.Section, key.Name, err, quoteHint(text))
		return
	}
	f.lines[at] = s.Line
}

// setEmpty sets a key without a value to its default.
func (f *file) setEmpty(key Key, s inifile.Statement) {
	if key.Section != classSection && key.Use == Used {
		_ = key.apply(&f.config, key.Default) // readFile reports the error
		delete(f.lines, place{key.Section, s.Name, key.Name})
	}
	if key.Use == Used && !key.isText() {
		f.notice(key, s.Line, NoEffect, emptyValue, "Remove the key, or write a value.")
	}
}

// emptyValue is the notice about a key without a value.
const emptyValue = "The value is empty, which is the same as no value."

// isWordForFalse reports whether a user who writes this value expects it to mean false.
func isWordForFalse(text string) bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(text))
}

// quoteHint returns the end of an error about a value whose quotes are part of it.
func quoteHint(text string) string {
	if quote := inifile.QuotesAround(text); quote != "" {
		return "; the " + quote + "s are part of the value: use double quotes"
	}
	return ""
}

// problem records an error at a line of the file; line 0 means the file as a whole.
func (f *file) problem(line int, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s"+format, append([]any{position(f.name, line)}, args...)...))
}

// finish checks the combination of the keys.
func (f *file) finish(incomplete bool) (Config, error) {
	if !f.unreadable {
		f.validate(incomplete)
	}
	f.sortNotices()
	if err := errors.Join(f.problems...); err != nil {
		return Config{}, err
	}
	return f.config, nil
}

// refusedKey reports whether the file sets one of the keys to an invalid value, so that its value is unknown.
func (f *file) refusedKey(section string, keys ...string) bool {
	return f.refusedIn(section, "", keys...)
}

// refusedIn is refusedKey for a class or a provider.
func (f *file) refusedIn(section, name string, keys ...string) bool {
	return f.refused[place{section: section}] ||
		slices.ContainsFunc(keys, func(key string) bool { return f.refused[place{section, name, key}] })
}

// lineOf returns the line of the first of keys that is set, or 0.
func (f *file) lineOf(section, name string, keys ...string) int {
	for _, key := range keys {
		if line := f.lines[place{section, name, key}]; line > 0 {
			return line
		}
	}
	return 0
}

// position returns "file:line: ", or "file: " for line 0.
func position(file string, line int) string {
	if line == 0 {
		return file + ": "
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}
