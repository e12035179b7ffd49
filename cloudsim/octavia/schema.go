// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

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
)

// valueType is what an attribute of a request body may be.
type valueType uint8

const (
	textKind valueType = iota
	flagKind
	numberKind
	idKind
	addressKind
	cidrsKind
	textsKind
	headersKind
	objectKind
	objectsKind
	decimalKind
)

// attribute is one attribute of a request body: its type and its limits, as
// Octavia checks them before it looks at anything else.
type attribute struct {
	name     string
	kind     valueType
	since    int // minor API version
	required bool
	longest  int // of texts, 0 is any
	min, max int // of numbers; max 0 is any
	oneOf    []choice
	pattern  *regexp.Regexp
	check    func(string) (problem string)
	of       []attribute // of objects
	// checked says that Octavia itself looks whether a required attribute is null;
	// else its database fails.
	checked bool
	// nullable says that null is taken and checked with the rest.
	nullable bool
}

// nullFault answers null for what must be given. Only an id that is null is
// looked for, and not found.
func (a *attribute) nullFault() *fault {
	if a.checked {
		return invalidOption("None", a.name)
	}
	return faultf(http.StatusInternalServerError, "(MySQLdb._exceptions.OperationalError) (1048, \"Column '%s' cannot be null\")", a.name)
}

// choice is a word of an enumeration, known since an API version.
type choice struct {
	word  string
	since int
}

// values are the attributes of one object in a request, checked. A missing
// attribute is not in the map; null is nil.
type values map[string]any

func (v values) has(name string) bool { _, ok := v[name]; return ok }

// isNull reports whether the attribute was given as null.
func (v values) isNull(name string) bool { x, ok := v[name]; return ok && x == nil }

func (v values) text(name string) string { s, _ := v[name].(string); return s }

// set sets what the attribute gives; null empties it.
func (v values) set(name string, field *string) {
	if v.has(name) {
		*field = v.text(name)
	}
}

func (v values) texts(name string) []string   { s, _ := v[name].([]string); return s }
func (v values) object(name string) values    { o, _ := v[name].(values); return o }
func (v values) objects(name string) []values { o, _ := v[name].([]values); return o }
func (v values) headers() map[string]string {
	h, _ := v["insert_headers"].(map[string]string)
	return h
}

// number returns the attribute, or the default if it is missing or null.
func (v values) number(name string, otherwise int) int {
	if n, ok := v[name].(int); ok {
		return n
	}
	return otherwise
}

// flag returns the attribute, or the default if it is missing. Null is false,
// as with the real service's admin_state_up.
func (v values) flag(name string, otherwise bool) bool {
	if !v.has(name) {
		return otherwise
	}
	b, _ := v[name].(bool)
	return b
}

// parser reads one request body. root names the argument in fault texts, as
// the real service's parser does.
type parser struct {
	minor int
	root  string
	body  any
}

// parse reads {"key": {...}} (or a list of objects) with the given attributes.
func parseBody(minor int, body []byte, root, key string, of []attribute, list bool) (values, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, faultf(http.StatusBadRequest, "Missing argument: %q", root)
	}
	p := parser{minor: minor, root: root}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&p.body); err != nil || dec.More() {
		return nil, errNotJSON
	}
	outer := attribute{name: key, kind: objectKind, of: of}
	if list {
		outer.kind = objectsKind
	}
	v, err := p.object(p.body, []attribute{outer}, nil)
	if err != nil {
		return nil, err
	}
	if list {
		if v[key] == nil {
			return nil, faultf(http.StatusInternalServerError, "'UnsetType' object is not iterable")
		}
		return v, nil
	}
	if v[key] == nil {
		return nil, faultf(http.StatusInternalServerError, "'UnsetType' object has no attribute 'project_id'")
	}
	return v.object(key), nil
}

func (p *parser) object(x any, of []attribute, path []string) (values, error) {
	m, ok := x.(map[string]any)
	if !ok {
		return nil, faultf(http.StatusInternalServerError, "'%s' object has no attribute 'keys'", pythonType(x))
	}
	if err := p.unknown(m, of, path); err != nil {
		return nil, err
	}
	v := make(values, len(m))
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
func (p *parser) unknown(m map[string]any, of []attribute, path []string) error {
	var names []string
	for name := range m {
		if !slices.ContainsFunc(of, func(a attribute) bool { return a.name == name && a.since <= p.minor }) {
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
	return faultf(http.StatusBadRequest, "Unknown attribute%s for argument %s: %s", plural, where, strings.Join(names, ", "))
}

func inputFault(name, value, problem string) *fault {
	return faultf(http.StatusBadRequest, "Invalid input for field/attribute %s. Value: '%s'. %s", name, value, problem)
}

// malformed is the refusal of a value that is not even of the right type; it
// names the whole body.
func (p *parser) malformed(format string, args ...any) *fault {
	return inputFault(p.root, python(p.body), fmt.Sprintf(format, args...))
}

func (p *parser) value(a *attribute, x any, path []string) (any, error) {
	if x == nil {
		return nil, nil
	}
	switch a.kind {
	case flagKind:
		return p.flag(x)
	case numberKind:
		return p.number(a, x)
	case cidrsKind, textsKind:
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

func (p *parser) objects(a *attribute, x any, path []string) (any, error) {
	list, ok := x.([]any)
	if !ok {
		return nil, p.malformed("Value not a valid list: %s", python(x))
	}
	all := make([]values, len(list))
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
	return nil, p.malformed("Value not an unambiguous boolean: %s", plain(x))
}

func (p *parser) number(a *attribute, x any) (any, error) {
	f, err := strconv.ParseFloat(plain(x), 64)
	if b, ok := x.(bool); ok && b {
		f, err = 1, nil
	} else if ok {
		f, err = 0, nil
	}
	if err != nil {
		return nil, p.malformed("invalid literal for int() with base 10: %s", python(x))
	}
	n := int(f)
	if a.oneOf != nil {
		if problem := p.problem(a, plain(x)); problem != "" {
			return nil, inputFault(a.name, plain(x), problem)
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

func (p *parser) texts(a *attribute, x any) (any, error) {
	list, ok := x.([]any)
	if !ok {
		return nil, p.malformed("Value not a valid list: %s", plain(x))
	}
	all := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, inputFault(a.name, python(x), "Value should be string")
		}
		if a.kind == cidrsKind {
			prefix, err := parsePrefix(text)
			if err != nil {
				return nil, inputFault(a.name, python(x), "Value should be IPv4 or IPv6 CIDR format")
			}
			text = prefix.String()
		} else if problem := p.problem(a, text); problem != "" {
			if a.name == "alpn_protocols" {
				problem = "Value should be a valid ALPN protocol ID"
			}
			return nil, inputFault(a.name, python(x), problem)
		}
		all[i] = text
	}
	return all, nil
}

// parsePrefix takes an address for a prefix of its whole length, and ignores
// the bits behind the prefix.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (p *parser) headers(a *attribute, x any) (any, error) {
	m, ok := x.(map[string]any)
	if !ok {
		return nil, p.malformed("Value not a valid dict: %s", plain(x))
	}
	headers := make(map[string]string, len(m))
	for name, value := range m {
		text, ok := value.(string)
		if !ok {
			return nil, inputFault(a.name, python(x), "Value should be string")
		}
		headers[name] = text
	}
	return headers, nil
}

// word reads the kinds that are JSON strings.
func (p *parser) word(a *attribute, x any) (any, error) {
	text, ok := x.(string)
	if a.kind == decimalKind {
		f, err := strconv.ParseFloat(plain(x), 64)
		if err != nil {
			return nil, p.malformed("could not convert string to float: %s", python(x))
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
			text = plain(x)
		}
		return nil, inputFault(a.name, text, problem)
	}
	if a.kind == idKind {
		text = uuid.MustParse(text).String() // problem has parsed it
	}
	return text, nil
}

// problem tells what is wrong with a text, "" if nothing is.
func (p *parser) problem(a *attribute, text string) string {
	switch {
	case a.kind == idKind:
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
