// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gopkg.in/gcfg.v1/types"

	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Kind is the type of a key's value.
type Kind string

// The kinds of values.
const (
	// String is any text.
	String Kind = "string"
	// ID is the id of an object in the cloud.
	ID Kind = "id"
	// Strings is text; the key may be repeated, and all values are used.
	Strings Kind = "strings"
	// Password is text that is never shown.
	Password Kind = "secret"
	// Bool is true, yes, on, 1 or false, no, off, 0, case-insensitively; a key without a value
	// means true.
	Bool Kind = "boolean"
	// TrueFalse is true only for the word true, for keys whose misinterpretation is dangerous.
	TrueFalse Kind = "true or false"
	// Int is a decimal number, or a hexadecimal one with the prefix 0x.
	Int Kind = "integer"
	// Duration is a Go duration such as 5s or 1m30s.
	Duration Kind = "duration"
)

// Use is what this version does with a key.
type Use string

// The uses of keys.
const (
	// Used keys have an effect.
	Used Use = "used"
	// Accepted keys have no effect. A value other than the default causes a Notice.
	Accepted Use = "accepted"
)

// Section is one section of cloud.conf.
type Section struct {
	// Name is the name between brackets; case does not matter.
	Name string
	// Named sections occur once per name: [Name "x"].
	Named bool
	// Doc is a sentence or two for the reference page.
	Doc string
}

// Key is one key of cloud.conf.
type Key struct {
	// Section and Name are its place; case does not matter.
	Section, Name string
	// Kind is the type of its value.
	Kind Kind
	// Default is its value if it is not set, as text.
	Default string
	// Use is what this version does with it.
	Use Use
	// Live keys are applied when the file changes while the program runs. Changes of all other keys are applied at the
	// next start.
	Live bool
	// Doc is a sentence or two for the reference page.
	Doc string
	// Instead describes what kube-octavia does instead of an Accepted key.
	Instead string

	object  value.Object        // of a key of kind ID
	allowed []string            // if set, the only values besides the default
	field   func(*Config) any   // a pointer to its field; nil if it has none
	check   func(parsed) string // the requirement that the value does not meet, or ""; may be nil
	// do is the advice for an Accepted key; empty means to remove it.
	do string
	// zero is the notice for a value of 0, which then means no value; it is empty if 0 is an ordinary value. If the
	// boolean key zeroUnless of the same section exists and is true, 0 is not accepted.
	zero, zeroUnless string
}

// parsed is the parsed value of a setting.
type parsed struct {
	text     string
	flag     bool
	number   int
	duration time.Duration
}

// Sections returns the sections of cloud.conf in the order of the reference page.
func Sections() []Section { return slices.Clone(sections) }

// Keys returns all keys of cloud.conf in the order of the reference page.
func Keys() []Key { return slices.Clone(table) }

func findSection(name string) (Section, bool) {
	for _, s := range sections {
		if strings.EqualFold(s.Name, name) {
			return s, true
		}
	}
	return Section{}, false
}

func findKey(section, name string) (Key, bool) {
	for _, k := range table {
		if k.Section == section && strings.EqualFold(k.Name, name) {
			return k, true
		}
	}
	return Key{}, false
}

// read parses a value of the key. Its error describes valid values and shows no secret.
func (k Key) read(text string) (parsed, error) {
	if text == "" && len(k.allowed) > 0 {
		text = k.Default
	}
	v := parsed{text: text}
	var err error
	switch k.Kind {
	case Bool:
		v.flag, err = types.ParseBool(text)
		if err != nil {
			return v, fmt.Errorf("%q is not a boolean: write true or false", text)
		}
	case ID:
		v.text, err = k.object.ParseID(text)
		if err != nil {
			return v, k.unwanted(text, k.object.MustBeNot(text))
		}
	case TrueFalse:
		v.flag = text == "true"
	case Int:
		err = types.ParseInt(&v.number, text, types.Dec|types.Hex)
		if err != nil {
			return v, fmt.Errorf("%q is not an integer", text)
		}
	case Duration:
		v.duration, err = time.ParseDuration(text)
		if err != nil {
			return v, fmt.Errorf("%q is not a duration: write a number with its unit, such as 5s or 1m30s", text)
		}
	}
	if len(k.allowed) > 0 && text != k.Default && !slices.Contains(k.allowed, text) {
		if len(k.allowed) == 1 {
			return v, fmt.Errorf("%q is not supported: the only value is %s", text, k.allowed[0])
		}
		return v, fmt.Errorf("%q is not one of %s", text, strings.Join(k.allowed, ", "))
	}
	if k.check != nil {
		if wanted := k.check(v); wanted != "" {
			return v, k.unwanted(text, wanted)
		}
	}
	return v, nil
}

func (k Key) unwanted(text, wanted string) error {
	if k.Kind == Password {
		return errors.New("the value " + wanted)
	}
	return fmt.Errorf("%q %s", text, wanted)
}

// isZero reports whether text is a 0 that means no value.
func (k Key) isZero(text string) bool {
	if k.zero == "" {
		return false
	}
	if k.Kind == Duration {
		d, err := time.ParseDuration(text)
		return err == nil && d == 0
	}
	var number int
	return types.ParseInt(&number, text, types.Dec|types.Hex) == nil && number == 0
}

// apply parses text and stores the value in the key's field.
func (k Key) apply(c *Config, text string) error {
	v, err := k.read(text)
	if err != nil || k.field == nil {
		return err
	}
	switch p := k.field(c).(type) {
	case *string:
		*p = v.text
	case *Secret:
		*p = Secret(v.text)
	case *bool:
		*p = v.flag
	case *int:
		*p = v.number
	case *time.Duration:
		*p = v.duration
	case *[]string:
		if v.text != "" {
			*p = append(*p, v.text)
		}
	case *[]netip.Prefix:
		*p, err = parseCIDRs(v.text)
	default:
		return fmt.Errorf("no way to store a %T", p)
	}
	return err
}

// isText reports whether an empty value of the key has a meaning.
func (k Key) isText() bool { return slices.Contains([]Kind{String, Strings, ID, Password}, k.Kind) }

// isDefault reports whether text means the same as the key's default.
func (k Key) isDefault(text string) bool {
	v, err := k.read(text)
	def, of := k.read(k.Default)
	if !k.isText() {
		v.text, def.text = "", ""
	}
	return errors.Join(err, of) == nil && v == def
}
