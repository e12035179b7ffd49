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
	// Strings is text; the key may be repeated and each value counts.
	Strings Kind = "strings"
	// Password is text that is never shown.
	Password Kind = "secret"
	// Bool is true, yes, on, 1 or false, no, off, 0 in any case; the bare key means true.
	Bool Kind = "boolean"
	// TrueFalse is on for the word true alone, and off otherwise, for switches where a misreading is dangerous.
	TrueFalse Kind = "true or false"
	// Int is a decimal number, or a hexadecimal one after 0x.
	Int Kind = "integer"
	// Duration is a Go duration such as 5s or 1m30s.
	Duration Kind = "duration"
)

// Use says what this version does with a key.
type Use string

// The uses of keys.
const (
	// Used keys are acted on.
	Used Use = "used"
	// Accepted keys have no effect. A value other than the default is answered with a Notice.
	Accepted Use = "accepted"
)

// Section is one section of cloud.conf.
type Section struct {
	// Name is how the section is written between brackets; case does not matter.
	Name string
	// Named sections stand once per name: [Name "x"].
	Named bool
	// Doc is a sentence or two for the reference page.
	Doc string
}

// Key is one key of cloud.conf.
type Key struct {
	// Section and Name say where it stands; case does not matter.
	Section, Name string
	// Kind is the type of its value.
	Kind Kind
	// Default is the value it has when it is not set, as one would write it.
	Default string
	// Use says whether this version acts on it.
	Use Use
	// Live keys are acted on while the program runs, when the file changes. Of all others the program goes on with what it
	// read at its start.
	Live bool
	// Doc is a sentence or two for the reference page.
	Doc string
	// Instead says of an Accepted key what kube-octavia does instead.
	Instead string

	object  value.Object        // of a key of kind ID
	allowed []string            // if set, the only values besides the default
	field   func(*Config) any   // a pointer to where its value goes; nil if it goes nowhere
	check   func(parsed) string // what is wanted, if the value is not; may be nil
	// do is what to do with an Accepted key; empty is to remove it.
	do string
	// zero is a notice for a 0, which is the same as no value then; empty if 0 is a value like others. It is not taken like
	// that if the boolean key zeroUnless of the same section, if there is one, is true.
	zero, zeroUnless string
}

// parsed is the text of a setting, read as its kind.
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

// read gives the value that text means for the key, or an error that says what is wanted. It shows no secret.
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

// isZero reports whether text is a 0 that is the same as no value.
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

// apply reads text and stores it in the key's field.
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

// isText reports whether an empty value of the key says something, if only that there is none.
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
