// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// valueType is the type of an attribute of a request body.
type valueType uint8

const (
	textKind valueType = iota
	flagKind
	numberKind
	idKind
	addressKind
	cidrsKind
	textsKind
	idsKind
	headersKind
	objectKind
	objectsKind
	decimalKind
)

// Attribute is one attribute of a request body: its type and its limits, which Octavia checks
// before anything else.
type Attribute struct {
	name     string
	kind     valueType
	since    int // minor API version
	required bool
	longest  int // of texts; 0 means no limit
	min, max int // of numbers; max 0 means no limit
	oneOf    []choice
	pattern  *regexp.Regexp
	check    func(string) (problem string)
	of       []Attribute // of objects
	// checked means that Octavia itself checks whether a required attribute is null. Otherwise its
	// database fails.
	checked bool
	// nullable means that null is accepted here, and checked later.
	nullable bool
}

// nullFault returns the fault of null for a required attribute. Only for an id it says that the
// object was not found.
func (a *Attribute) nullFault() *fault.Fault {
	if a.checked {
		return fault.InvalidOption("None", a.name)
	}
	return fault.New(http.StatusInternalServerError, "(MySQLdb._exceptions.OperationalError) (1048, \"Column '%s' cannot be null\")", a.name)
}

// choice is a value of an enumeration, which exists since an API version.
type choice struct {
	word  string
	since int
}

// Values are the checked attributes of one object in a request. A missing attribute is not in the
// map; null is nil.
type Values map[string]any

// Has reports whether the attribute was given.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// IsNull reports whether the attribute was given as null.
func (v Values) IsNull(name string) bool { x, ok := v[name]; return ok && x == nil }

// Text returns the attribute; as for the other types, it is empty if missing or null.
func (v Values) Text(name string) string { s, _ := v[name].(string); return s }

// Set copies the attribute to the field, if it was given; null clears the field.
func (v Values) Set(name string, field *string) {
	if v.Has(name) {
		*field = v.Text(name)
	}
}

// Texts returns an attribute that is a list of strings.
func (v Values) Texts(name string) []string { s, _ := v[name].([]string); return s }

// Object returns an attribute that is an object.
func (v Values) Object(name string) Values { o, _ := v[name].(Values); return o }

// Objects returns an attribute that is a list of objects.
func (v Values) Objects(name string) []Values { o, _ := v[name].([]Values); return o }

// Headers returns the headers to insert.
func (v Values) Headers() map[string]string {
	h, _ := v["insert_headers"].(map[string]string)
	return h
}

// Number returns the attribute, or the default if it is missing or null.
func (v Values) Number(name string, otherwise int) int {
	if n, ok := v[name].(int); ok {
		return n
	}
	return otherwise
}

// Flag returns the attribute, or the default if it is missing. Null is false,
// as with the real service's admin_state_up.
func (v Values) Flag(name string, otherwise bool) bool {
	if !v.Has(name) {
		return otherwise
	}
	b, _ := v[name].(bool)
	return b
}

// parser reads one request body. root is the name of the argument in faults, as in the real
// service's parser.
type parser struct {
	minor int
	root  string
	body  any
}

// Parse reads {"key": {...}} (or a list of objects) with the given attributes.
func Parse(minor int, body []byte, root, key string, of []Attribute, list bool) (Values, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, fault.New(http.StatusBadRequest, "Missing argument: %q", root)
	}
	p := parser{minor: minor, root: root}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&p.body); err != nil || dec.More() {
		return nil, fault.ErrNotJSON
	}
	outer := Attribute{name: key, kind: objectKind, of: of}
	if list {
		outer.kind = objectsKind
	}
	v, err := p.object(p.body, []Attribute{outer}, nil)
	if err != nil {
		return nil, err
	}
	if list {
		if v[key] == nil {
			return nil, fault.New(http.StatusInternalServerError, "'UnsetType' object is not iterable")
		}
		return v, nil
	}
	if v[key] == nil {
		return nil, fault.New(http.StatusInternalServerError, "'UnsetType' object has no attribute 'project_id'")
	}
	return v.Object(key), nil
}

func (p *parser) object(x any, of []Attribute, path []string) (Values, error) {
	m, ok := x.(map[string]any)
	if !ok {
		return nil, fault.New(http.StatusInternalServerError, "'%s' object has no attribute 'keys'", fault.PythonType(x))
	}
	if err := p.unknown(m, of, path); err != nil {
		return nil, err
	}
	v := make(Values, len(m))
	for i := range of {
		a := &of[i]
		given, ok := m[a.name]
		switch {
		case !ok && a.required:
			return nil, inputFault(a.name, "None", "Mandatory field missing.")
		case !ok:
			continue
		case given == nil && a.required && a.kind != idKind && !a.nullable:
			return nil, a.nullFault()
		}
		parsed, err := p.value(a, given, path)
		if err != nil {
			return nil, err
		}
		v[a.name] = parsed
	}
	return v, nil
}

// unknown refuses attributes that the type does not have in this API version.
func (p *parser) unknown(m map[string]any, of []Attribute, path []string) error {
	var names []string
	for name := range m {
		if !slices.ContainsFunc(of, func(a Attribute) bool { return a.name == name && a.since <= p.minor }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	plural := ""
	if len(names) > 1 {
		plural = "s"
	}
	where := strings.Join(append([]string{p.root}, path...), ".")
	return fault.New(http.StatusBadRequest, "Unknown attribute%s for argument %s: %s", plural, where, strings.Join(names, ", "))
}

func inputFault(name, value, problem string) *fault.Fault {
	return fault.New(http.StatusBadRequest, "Invalid input for field/attribute %s. Value: '%s'. %s", name, value, problem)
}

// malformed returns the fault of a value of the wrong type. It quotes the whole body.
func (p *parser) malformed(format string, args ...any) *fault.Fault {
	return inputFault(p.root, wire.Python(p.body), fmt.Sprintf(format, args...))
}

func (p *parser) value(a *Attribute, x any, path []string) (any, error) {
	if x == nil {
		return nil, nil
	}
	switch a.kind {
	case flagKind:
		return p.flag(x)
	case numberKind:
		return p.number(a, x)
	case cidrsKind, textsKind, idsKind:
		return p.texts(a, x)
	case headersKind:
		return p.headers(a, x)
	case objectKind:
		return p.object(x, a.of, append(slices.Clone(path), a.name))
	case objectsKind:
		return p.objects(a, x, append(slices.Clone(path), a.name))
	}
	return p.word(a, x)
}

func (p *parser) objects(a *Attribute, x any, path []string) (any, error) {
	list, ok := x.([]any)
	if !ok {
		return nil, p.malformed("Value not a valid list: %s", wire.Python(x))
	}
	all := make([]Values, len(list))
	for i, item := range list {
		v, err := p.object(item, a.of, path)
		if err != nil {
			return nil, err
		}
		all[i] = v
	}
	return all, nil
}

func (p *parser) flag(x any) (any, error) {
	switch b := x.(type) {
	case bool:
		return b, nil
	case json.Number:
		return b.String() != "0", nil
	case string:
		switch {
		case slices.Contains([]string{"true", "on", "yes", "y", "1", "t"}, b):
			return true, nil
		case slices.Contains([]string{"false", "off", "no", "n", "0", "f"}, b):
			return false, nil
		}
	}
	return nil, p.malformed("Value not an unambiguous boolean: %s", fault.Plain(x))
}

func (p *parser) number(a *Attribute, x any) (any, error) {
	f, err := strconv.ParseFloat(fault.Plain(x), 64)
	if b, ok := x.(bool); ok && b {
		f, err = 1, nil
	} else if ok {
		f, err = 0, nil
	}
	if err != nil {
		return nil, p.malformed("invalid literal for int() with base 10: %s", wire.Python(x))
	}
	n := int(f)
	if a.oneOf != nil {
		if problem := p.problem(a, fault.Plain(x)); problem != "" {
			return nil, inputFault(a.name, fault.Plain(x), problem)
		}
		return n, nil
	}
	switch {
	case n < a.min:
		return nil, inputFault(a.name, strconv.Itoa(n), fmt.Sprintf("Value should be greater or equal to %d", a.min))
	case a.max > 0 && n > a.max:
		return nil, inputFault(a.name, strconv.Itoa(n), fmt.Sprintf("Value should be lower or equal to %d", a.max))
	}
	return n, nil
}

func (p *parser) texts(a *Attribute, x any) (any, error) {
	list, ok := x.([]any)
	if !ok {
		return nil, p.malformed("Value not a valid list: %s", fault.Plain(x))
	}
	all := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, inputFault(a.name, wire.Python(x), "Value should be string")
		}
		if a.kind == cidrsKind {
			prefix, err := ParsePrefix(text)
			if err != nil {
				return nil, inputFault(a.name, wire.Python(x), "Value should be IPv4 or IPv6 CIDR format")
			}
			text = prefix.String()
		} else if problem := p.problem(a, text); problem != "" {
			if a.name == "alpn_protocols" {
				problem = "Value should be a valid ALPN protocol ID"
			}
			return nil, inputFault(a.name, wire.Python(x), problem)
		}
		all[i] = text
	}
	return all, nil
}

// ParsePrefix parses a prefix. An address without a length gets its full length, and host bits are
// ignored.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (p *parser) headers(a *Attribute, x any) (any, error) {
	m, ok := x.(map[string]any)
	if !ok {
		return nil, p.malformed("Value not a valid dict: %s", fault.Plain(x))
	}
	headers := make(map[string]string, len(m))
	for name, value := range m {
		text, ok := value.(string)
		if !ok {
			return nil, inputFault(a.name, wire.Python(x), "Value should be string")
		}
		headers[name] = text
	}
	return headers, nil
}

// word reads the types that are JSON strings.
func (p *parser) word(a *Attribute, x any) (any, error) {
	text, ok := x.(string)
	if a.kind == decimalKind {
		f, err := strconv.ParseFloat(fault.Plain(x), 64)
		if err != nil {
			return nil, p.malformed("could not convert string to float: %s", wire.Python(x))
		}
		text, ok = strconv.FormatFloat(f, 'f', -1, 64), true
		if !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	problem := "Value should be string"
	if ok {
		problem = p.problem(a, text)
	}
	if problem != "" {
		if a.kind != decimalKind {
			text = fault.Plain(x)
		}
		return nil, inputFault(a.name, text, problem)
	}
	if a.kind == idKind {
		text = uuid.MustParse(text).String() // cannot panic: problem has parsed it
	}
	return text, nil
}

// problem returns what is wrong with a text, or "".
func (p *parser) problem(a *Attribute, text string) string {
	switch {
	case a.kind == idKind || a.kind == idsKind:
		if _, err := uuid.Parse(text); err != nil {
			return "Value should be UUID format"
		}
	case a.kind == addressKind:
		if addr, err := netip.ParseAddr(text); err != nil || addr.Zone() != "" {
			return "Value should be IPv4 or IPv6 format"
		}
	case a.longest > 0 && len([]rune(text)) > a.longest:
		return fmt.Sprintf("Value should have a maximum character requirement of %d", a.longest)
	case a.pattern != nil && !a.pattern.MatchString(text):
		return "Value should match the pattern " + a.pattern.String()
	case a.check != nil:
		return a.check(text)
	case a.oneOf != nil:
		var words []string
		for _, c := range a.oneOf {
			if c.since > p.minor {
				continue
			}
			if c.word == text {
				return ""
			}
			words = append(words, c.word)
		}
		return "Value should be one of: " + strings.Join(words, ", ")
	}
	return ""
}
