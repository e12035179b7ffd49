// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutate changes documents of JSON for fuzz targets: bytes of the fuzzer choose the
// changes of a real answer of a cloud. The result is always JSON, which it would rarely be if
// random bytes of it were changed.
//
// It is for fuzz targets and imports nothing of the project.
package mutate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Document is a value of JSON. It is immutable: an edit returns another one, which shares all
// unchanged parts with it. A fuzz target makes a million of them.
type Document struct {
	keys     []string // of an object, sorted
	children []*Document
	list     bool
	text     []byte // of what is neither an object nor a list
	size     int    // how many values are in it, itself included
}

// Parse reads the JSON of a document, which must be right.
func Parse(text []byte) *Document {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return of(value)
}

func of(value any) *Document {
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		children := make([]*Document, len(keys))
		for i, key := range keys {
			children[i] = of(value[key])
		}
		return object(keys, children)
	case []any:
		children := make([]*Document, len(value))
		for i := range value {
			children[i] = of(value[i])
		}
		return list(children)
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return &Document{text: text, size: 1}
}

func object(keys []string, children []*Document) *Document {
	return &Document{keys: keys, children: children, size: sizeOf(children)}
}

func list(children []*Document) *Document {
	return &Document{children: children, list: true, size: sizeOf(children)}
}

func sizeOf(children []*Document) int {
	size := 1
	for _, child := range children {
		size += child.size
	}
	return size
}

// String returns the document as JSON.
func (d *Document) String() string { return string(d.json(nil)) }

// json appends the document to a text.
func (d *Document) json(text []byte) []byte {
	switch {
	case d.text != nil:
		return append(text, d.text...)
	case d.list:
		text = append(text, '[')
	default:
		text = append(text, '{')
	}
	for i, child := range d.children {
		if i > 0 {
			text = append(text, ',')
		}
		if !d.list {
			text = append(strconv.AppendQuote(text, d.keys[i]), ':')
		}
		text = child.json(text)
	}
	if d.list {
		return append(text, ']')
	}
	return append(text, '}')
}

// get returns what an object has for a key, or nil.
func (d *Document) get(key string) *Document {
	if d == nil {
		return nil
	}
	if i, there := slices.BinarySearch(d.keys, key); there {
		return d.children[i]
	}
	return nil
}

// at returns the value with the number, counted from the outside in and in the
// order of the text.
func (d *Document) at(number int) *Document {
	if number == 0 {
		return d
	}
	i, rest := d.child(number)
	return d.children[i].at(rest)
}

// child returns the child that holds the value with the number, which is not 0,
// and its number there.
func (d *Document) child(number int) (int, int) {
	number--
	for i, c := range d.children {
		if number < c.size {
			return i, number
		}
		number -= c.size
	}
	panic("no such value")
}

// replace returns the document with other values in the place of one: none, one,
// or several where it is in a list.
func (d *Document) replace(number int, by func(*Document) []*Document) []*Document {
	if number == 0 {
		return by(d)
	}
	i, rest := d.child(number)
	instead := d.children[i].replace(rest, by)
	if d.list {
		return []*Document{list(slices.Concat(d.children[:i], instead, d.children[i+1:]))}
	}
	keys := d.keys
	if len(instead) == 0 {
		keys = slices.Delete(slices.Clone(keys), i, i+1)
	} else {
		instead = instead[:1]
	}
	return []*Document{object(keys, slices.Concat(d.children[:i], instead, d.children[i+1:]))}
}

const (
	// editSize is how many bytes one edit takes: two say where, one says what.
	editSize = 3
	// maxEdits bounds the work for one input.
	maxEdits = 16
)

// Edit returns the document with the edits made one after the other.
func (d *Document) Edit(edits []byte) *Document {
	for n := 0; len(edits) >= editSize && n < maxEdits; n++ {
		where, what := int(edits[0])<<8|int(edits[1]), int(edits[2])
		edits = edits[editSize:]
		whole := d
		results := d.replace(where%d.size, func(old *Document) []*Document { return edited(old, what, whole) })
		if len(results) == 0 {
			return null
		}
		d = results[0]
	}
	return d
}

// edited returns what comes in the place of a value: nothing, the value twice, another one, or one
// that stands elsewhere in the document.
func edited(old *Document, what int, whole *Document) []*Document {
	switch {
	case what == 0:
		return nil
	case what == 1:
		return []*Document{old, old}
	case what < 2+len(values):
		return []*Document{values[what-2]}
	}
	return []*Document{whole.at(what * 31 % whole.size)}
}

var null = of(nil)

// values replace other values: those that are hard for decoders, loops and addresses, and Octavia's
// words.
var values = of([]any{
	nil, "", "x", ".", "..", "../../floatingips", "a/b?c=d#e", "ä\u0000\u202e", strings.Repeat("long", 300),
	true, false, 0.0, 1.0, -1.0, 65536.0, 0.5, 1e18, 1e300, []any{}, map[string]any{}, []any{nil},
	"ACTIVE", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR", "DELETED", "UNHEARD_OF",
	"10.0.0.1", "2001:db8::1", "0.0.0.0/0", "TCP", "UDP", "SCTP", "HTTP", "TERMINATED_HTTPS", []any{map[string]any{"rel": "next"}},
	200.0, 300.0, 404.0, 409.0, 503.0,
}).children
