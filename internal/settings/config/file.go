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

// file is one cloud.conf on its way to a Config.
type file struct {
	name       string
	config     Config
	lines      map[place]int       // line of the last assignment with a value
	refused    map[place]bool      // what has a problem of its own, and takes no part in checks with others
	classes    []inifile.Statement // headers and assignments of [LoadBalancerClass], which come on top of [LoadBalancer]
	vendors    []inifile.Statement // those of [LoadBalancerProvider]
	zeros      map[place]zero      // values of 0 that are the same as no value
	unreadable bool                // its syntax is broken, or it is empty, so nothing is known of its keys
	problems   []error
}

// place is a key in a section, which has a name if it is a class or a provider. Without a key it is the section.
type place struct{ section, name, key string }

func newFile(name string) *file {
	return &file{name: name, lines: map[place]int{}, refused: map[place]bool{}, zeros: map[place]zero{}}
}

// readFile applies defaults and the statements of text. What it finds wrong is in the problems of the result.
func readFile(name string, text []byte) *file {
	f := newFile(name)
	for _, k := range table {
		if k.Section == classSection {
			continue // a class has what [LoadBalancer] has
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
		return // the header said it
	case s.Name != "" && section.Name == globalSection:
		if header {
			f.notice(Key{Section: fmt.Sprintf("%s %q", section.Name, s.Name)}, s.Line, NoEffect, anotherCloud, "Remove the section, unless another program reads the file.")
		}
	case header && s.Name != "" && !section.Named:
		f.problem(s.Line, "section [%s] takes no name: write [%s], not [%s %q]", section.Name, section.Name, section.Name, s.Name)
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

// anotherCloud is the notice about [Global "name"], which the Cinder CSI driver has.
const anotherCloud = "A further cloud of the Cinder CSI driver. kube-octavia uses only [Global]."

// looksLikeKey matches the form that all keys of cloud.conf have, in any controller.
var looksLikeKey = regexp.MustCompile(`^[a-z]+([-_][a-z0-9]+)*$`)

// readKey applies one assignment in a section that is known.
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

// assign gives a known key its value, a notice or a refusal.
func (f *file) assign(key Key, s inifile.Statement) {
	at := place{key.Section, s.Name, key.Name}
	text := s.Value
	delete(f.zeros, at)
	if s.Doubt.Read != "" && (!s.Doubt.OnlySecret || key.Kind == Password) {
		f.notice(key, s.Line, Doubtful, s.Doubt.Read, s.Doubt.Write)
	}
	if s.Blank && key.Kind == Bool {
		text = "true" // a bare key switches a boolean on
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
		f.notice(key, s.Line, Doubtful, "Only the word true switches it on, as in openstack-cloud-controller-manager. It is off.", "Write "+key.Name+" = true or remove the key.")
	}
	if err := key.apply(&f.config, text); err != nil {
		f.refused[at] = true
		f.problem(s.Line, "[%s] %s: %w%s", key.Section, key.Name, err, quoteHint(text))
		return
	}
	f.lines[at] = s.Line
}

// setEmpty gives a key without a value its default.
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

// isWordForFalse reports whether a user who writes this value expects the switch to be off.
func isWordForFalse(text string) bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(text))
}

// quoteHint is the end of an error about a value in quotes that belong to it.
func quoteHint(text string) string {
	if quote := inifile.QuotesAround(text); quote != "" {
		return "; the " + quote + "s are part of the value: use double quotes"
	}
	return ""
}

// problem records an error at a line of the file; line 0 is the file as a whole.
func (f *file) problem(line int, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s"+format, append([]any{position(f.name, line)}, args...)...))
}

// finish checks what the keys say together.
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

// refusedKey reports whether the file sets one of the keys in a way that is refused, so that its value is not known.
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

// position gives "file:line: ", or "file: " for line 0.
func position(file string, line int) string {
	if line == 0 {
		return file + ": "
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}
