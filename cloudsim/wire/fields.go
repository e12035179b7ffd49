// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// fields reads the JSON fields of items of one type by name. Structs are read through their json
// tags, without encoding them; types with their own encoding, and types that are not structs, are
// read from their JSON.
type fields struct {
	index map[string]field // nil if items must be encoded to be read
}

type field struct {
	index     []int
	omitEmpty bool
}

var fieldsByType sync.Map // reflect.Type -> fields

var marshalerType = reflect.TypeFor[json.Marshaler]()

func fieldsOf(t reflect.Type) fields {
	if cached, ok := fieldsByType.Load(t); ok {
		return cached.(fields)
	}
	f := fields{}
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if base.Kind() == reflect.Struct && !base.Implements(marshalerType) && !reflect.PointerTo(base).Implements(marshalerType) {
		f.index = map[string]field{}
		for _, sf := range reflect.VisibleFields(base) {
			name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
			if !sf.IsExported() || name == "-" || sf.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = sf.Name
			}
			f.index[name] = field{index: sf.Index, omitEmpty: strings.Contains(options, "omitempty")}
		}
	}
	fieldsByType.Store(t, f)
	return f
}

// get returns the value of a field as it would be encoded, and whether the item
// has the field.
func (f fields) get(item any, name string) (any, bool) {
	if f.index == nil {
		v, ok := asMap(item)[name]
		return v, ok
	}
	fd, ok := f.index[name]
	if !ok {
		return nil, false
	}
	v := reflect.ValueOf(item)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, false
		}
		v = v.Elem()
	}
	fv, err := v.FieldByIndexErr(fd.index)
	if err != nil || fd.omitEmpty && fv.IsZero() {
		return nil, false
	}
	return fv.Interface(), true
}

// project reduces the item to the named fields.
func (f fields) project(item any, names []string) any {
	if f.index == nil {
		item = asMap(item) // encode once, not once per field
	}
	reduced := make(map[string]any, len(names))
	for _, name := range names {
		if v, ok := f.get(item, name); ok {
			reduced[name] = v
		}
	}
	return reduced
}

func asMap(item any) map[string]any {
	if m, ok := item.(map[string]any); ok {
		return m
	}
	encoded, err := json.Marshal(item)
	if err != nil {
		return nil
	}
	m := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.UseNumber()
	if decoder.Decode(&m) != nil {
		return nil
	}
	return m
}

// text returns a field's value as a query string would write it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer, reflect.Interface:
		if rv.IsNil() {
			return ""
		}
		return text(rv.Elem().Interface())
	case reflect.String:
		return rv.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(rv.Int(), 10)
	case reflect.Bool:
		return strconv.FormatBool(rv.Bool())
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(encoded), `"`)
}

// textEqual compares a field with a query's value. For booleans, OpenStack's own clients send
// Python's True and False.
func textEqual(v any, want string) bool {
	if isNull(v) {
		return false // as in SQL
	}
	if _, isBool := v.(bool); isBool {
		switch strings.ToLower(want) {
		case "true", "1":
			want = "true"
		case "false", "0":
			want = "false"
		}
	}
	return text(v) == want
}

func isNull(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

// textList returns a field's value as a list of strings, such as tags.
func textList(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			list = append(list, text(e))
		}
		return list
	}
	return nil
}
