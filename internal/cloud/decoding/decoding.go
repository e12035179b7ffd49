// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding decodes answers of OpenStack, whose releases write the same objects differently. A decoder
// accepts - unknown keys,
// - null for any value, like a missing key,
// - a string for a number or a boolean, and vice versa.
//
// A value that still cannot be decoded, such as an object instead of a number, is an error and not the zero value: an
// unknown value is not empty.
package decoding

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Target is the target into which gophercloud decodes an answer. It decodes like Unmarshal.
type Target struct{ into any }

// Into returns the Target that decodes into the value that a pointer points to.
func Into(pointer any) *Target { return &Target{into: pointer} }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Target) UnmarshalJSON(text []byte) error { return Unmarshal(text, t.into) }

// Unmarshal decodes JSON into the value that a pointer points to. The previous value is overwritten, even after an
// error.
func Unmarshal(text []byte, pointer any) error {
	target := reflect.ValueOf(pointer).Elem()
	target.SetZero()
	first := json.Unmarshal(text, pointer)
	if first == nil || !json.Valid(text) {
		return first
	}
	// Few answers need this, so the others are decoded only once.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	fitted, err := json.Marshal(fit(value, target.Type()))
	if err != nil {
		return err
	}
	target.SetZero()
	return explain(json.Unmarshal(fitted, pointer))
}

// explain returns an error that says which value has an unexpected type.
func explain(err error) error {
	var odd *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &odd):
		return err
	case odd.Field == "":
		return fmt.Errorf("unexpected %s", odd.Value)
	}
	return fmt.Errorf("unexpected %s as %s", odd.Value, odd.Field)
}

// fit returns a JSON value with its strings, numbers and booleans converted to what a type requires. Values that cannot
// be converted are unchanged.
func fit(value any, t reflect.Type) any {
	if decodesItself(t) {
		return value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fit(value, t.Elem())
	case reflect.Struct:
		return fitObject(value, func(key string) (reflect.Type, bool) { return fieldType(t, key) })
	case reflect.Map:
		return fitObject(value, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice, reflect.Array:
		elements, _ := value.([]any)
		for i := range elements {
			elements[i] = fit(elements[i], t.Elem())
		}
		return value
	}
	return fitScalar(value, t)
}

func fitObject(value any, typeOf func(key string) (reflect.Type, bool)) any {
	object, _ := value.(map[string]any)
	for key := range object {
		if t, known := typeOf(key); known {
			object[key] = fit(object[key], t)
		}
	}
	return value
}

func fitScalar(value any, t reflect.Type) any {
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return asText(value)
	case kind == reflect.Bool:
		return asTruth(value)
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return asInteger(value)
	case kind == reflect.Float32 || kind == reflect.Float64:
		return asNumber(value)
	}
	return value
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decodesItself reports whether a type has its own decoder.
func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

// fieldType returns the type of the struct field for a key, as encoding/json finds it: case-insensitively.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if !field.Anonymous && strings.EqualFold(name, key) {
			return field.Type, true
		}
	}
	return nil, false
}

func asText(value any) any {
	switch value := value.(type) {
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return value
}

func asTruth(value any) any {
	text, isText := value.(string)
	if !isText {
		return value
	}
	switch strings.ToLower(text) {
	case "true":
		return true
	case "false":
		return false
	}
	return value
}

func asNumber(value any) any {
	text, isText := value.(string)
	if !isText {
		return value
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return value
	}
	return number
}

// mostExact is the largest integer up to which a float64 can represent every integer.
const mostExact = 1 << 53

func asInteger(value any) any {
	var text string
	switch value := value.(type) {
	case string:
		text = strings.TrimSpace(value)
	case json.Number:
		text = value.String()
	default:
		return value
	}
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > mostExact {
		return value
	}
	return int64(number)
}

// Entries is an object whose keys depend on the release, such as a quota. Values of another form, and null, are
// ignored.
type Entries[T any] map[string]T

// UnmarshalJSON implements json.Unmarshaler.
func (e *Entries[T]) UnmarshalJSON(text []byte) error {
	var raw map[string]*json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return explain(err)
	}
	*e = nil
	for key, value := range raw {
		var entry T
		if value == nil || Unmarshal(*value, &entry) != nil {
			continue
		}
		if *e == nil {
			*e = Entries[T]{}
		}
		(*e)[key] = entry
	}
	return nil
}
