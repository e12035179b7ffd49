// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// Document writes JSON objects directly into a buffer: a list of a thousand load balancers takes
// milliseconds, and fields that were not requested are never computed.
type Document struct {
	buf     []byte
	release release.Release
	minor   int             // the API's minor version
	only    map[string]bool // ?fields=; nil means all. Applies only to the outermost resource.
	comma   bool
}

// NewDocument returns an empty document. fields are the requested fields of the outermost resource;
// none means all.
func NewDocument(r release.Release, minor int, fields []string) *Document {
	d := &Document{release: r, minor: minor}
	if len(fields) > 0 {
		d.only = map[string]bool{}
		for _, f := range fields {
			d.only[f] = true
		}
	}
	return d
}

// one writes a single resource: {"key": {...}}.
func (d *Document) one(key string, render func(*Document)) []byte {
	d.buf = append(d.buf, `{"`+key+`":`...)
	d.open(func() { render(d) })
	return append(d.buf, '}')
}

// many writes the items of a collection: {"key": [...]}, and empty links if links is not empty.
func (d *Document) many(key, links string, n int, item func(d *Document, i int)) []byte {
	d.buf = append(d.buf, `{"`+key+`":[`...)
	d.items(n, item)
	d.buf = append(d.buf, ']')
	if links != "" {
		d.buf = append(d.buf, `,"`+links+`":[]`...)
	}
	return append(d.buf, '}')
}

func (d *Document) items(n int, item func(d *Document, i int)) {
	d.comma = false
	for i := range n {
		d.separate()
		d.open(func() { item(d, i) })
	}
}

// since reports whether the API version is at least 2.minor.
func (d *Document) since(minor int) bool { return d.minor >= minor }

// key begins a member of the open object; it returns false if the field was not requested.
func (d *Document) key(name string) bool {
	if d.only != nil && !d.only[name] {
		return false
	}
	d.separate()
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, name...)
	d.buf = append(d.buf, '"', ':')
	return true
}

func (d *Document) separate() {
	if d.comma {
		d.buf = append(d.buf, ',')
	}
	d.comma = true
}

func (d *Document) raw(name, value string) {
	if d.key(name) {
		d.buf = append(d.buf, value...)
	}
}

func (d *Document) text(name, value string) {
	if d.key(name) {
		d.quote(value)
	}
}

// optional writes null for the empty string.
func (d *Document) optional(name, value string) {
	if value == "" {
		d.raw(name, "null")
		return
	}
	d.text(name, value)
}

func (d *Document) number(name string, value int) {
	if d.key(name) {
		d.buf = strconv.AppendInt(d.buf, int64(value), 10)
	}
}

func (d *Document) flag(name string, value bool) {
	if d.key(name) {
		d.buf = strconv.AppendBool(d.buf, value)
	}
}

func (d *Document) texts(name string, values []string) {
	if !d.key(name) {
		return
	}
	d.buf = append(d.buf, '[')
	for i, v := range values {
		if i > 0 {
			d.buf = append(d.buf, ',')
		}
		d.quote(v)
	}
	d.buf = append(d.buf, ']')
}

// textsOrNull writes null if there are no values.
func (d *Document) textsOrNull(name string, values []string) {
	if len(values) == 0 {
		d.raw(name, "null")
		return
	}
	d.texts(name, values)
}

func (d *Document) id(name string, id uuid.UUID) {
	if d.key(name) {
		d.quoteID(id)
	}
}

func (d *Document) time(name string, seconds int64) {
	if seconds == 0 {
		d.raw(name, "null")
		return
	}
	if d.key(name) {
		d.buf = time.Unix(seconds, 0).UTC().AppendFormat(d.buf, `"2006-01-02T15:04:05"`)
	}
}

// refs writes a list of {"id": ...}.
func (d *Document) refs(name string, n int, id func(i int) uuid.UUID) {
	if !d.key(name) {
		return
	}
	d.buf = append(d.buf, '[')
	for i := range n {
		if i > 0 {
			d.buf = append(d.buf, ',')
		}
		d.buf = append(d.buf, `{"id":`...)
		d.quoteID(id(i))
		d.buf = append(d.buf, '}')
	}
	d.buf = append(d.buf, ']')
}

// list writes an array of n objects, each by one call of item.
func (d *Document) list(name string, n int, item func(i int)) {
	if !d.key(name) {
		return
	}
	d.buf = append(d.buf, '[')
	d.comma = false
	for i := range n {
		d.separate()
		d.object(func() { item(i) })
	}
	d.buf = append(d.buf, ']')
	d.comma = true
}

// nested writes one object as a member.
func (d *Document) nested(name string, fields func()) {
	if d.key(name) {
		d.object(fields)
	}
}

func (d *Document) object(fields func()) {
	only := d.only
	d.only = nil
	d.open(fields)
	d.only = only
}

// open writes an object whose members are subject to ?fields=.
func (d *Document) open(fields func()) {
	d.buf = append(d.buf, '{')
	d.comma = false
	fields()
	d.buf = append(d.buf, '}')
	d.comma = true
}

func (d *Document) quoteID(id uuid.UUID) {
	text, _ := id.MarshalText() // never fails
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, text...)
	d.buf = append(d.buf, '"')
}

func (d *Document) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			d.buf = appendQuoted(d.buf, s)
			return
		}
	}
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, s...)
	d.buf = append(d.buf, '"')
}

// appendQuoted writes any text without HTML escapes, which would make links unreadable.
func appendQuoted(buf []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(buf, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
