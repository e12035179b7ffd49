// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding decodes answers of OpenStack, whose releases write the same objects differently. A decoder takes
//
// - keys that it does not know,
// - null for any value, as if the key were missing,
// - a text for a number or a truth value, and the other way round.
//
// A value that still cannot be understood, such as an object in the place of a number, is an error and not the zero value:
// what is unknown is not empty.
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

// Target is where gophercloud puts an answer: it decodes as Unmarshal does.
type Target struct{ into any }

// Into returns the Target that decodes into the value that a pointer points to.
func Into(pointer any) *Target { return &Target{into: pointer} }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Target) UnmarshalJSON(text []byte) error { return Unmarshal(text, t.into) }

// Unmarshal decodes JSON into the value that a pointer points to. Whatever was there before is gone, also after an error.
func Unmarshal(text []byte, pointer any) error {
	target := reflect.ValueOf(pointer).Elem()
	target.SetZero()
	first := json.Unmarshal(text, pointer)
	if first == nil || !json.Valid(text) {
		return first
	}
	// Few answers come to this, so the others are decoded once.
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

// explain says in plain words which value has an unexpected kind.
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

// fit returns a value of JSON with its texts, numbers and truth values in the form that a type wants. What has no such form stays
// as it is.
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

// decodesItself reports whether a type has a decoder of its own.
func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

// fieldType returns the type of the field of a struct to which a key leads, as encoding/json finds it: it does not distinguish
// upper and lower case.
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

// mostExact is the largest integer up to which a float64 holds every integer.
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

// Entries is an object whose keys depend on the release, such as a quota. What has not the form of the others is something else,
// and is left out. So is null.
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
