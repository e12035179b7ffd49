// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Newer is an http.RoundTripper that writes the answers of another one as another release may write them: with keys that were
// not there, and with texts for numbers and truth values. They mean the same.
type Newer struct {
	Next http.RoundTripper
	// Open are the keys of objects whose keys users choose, such as the metadata of a server: they get no others.
	Open []string
	// Choose returns a number from 0 to most.
	Choose func(most int) int
}

// Choices returns a Choose that is random, the same for each seed, and safe for concurrent use.
func Choices(seed uint64) func(most int) int {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 0))
	return func(most int) int {
		mu.Lock()
		defer mu.Unlock()
		return source.IntN(most + 1)
	}
}

// RoundTrip implements http.RoundTripper.
func (n Newer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.Next.RoundTrip(r)
	if err != nil || answer.Header.Get("Content-Type") != "application/json" {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		body = n.write(Parse(body)).json(nil)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Del("Content-Length")
	return answer, nil
}

// additions are the values of new keys.
var additions = of([]any{nil, "", "text", "10", 1.0, -1.0, []any{}, []any{"x"}, map[string]any{}, map[string]any{"id": "x"}}).children

// write returns a value as another release writes it.
func (n Newer) write(d *Document) *Document {
	switch {
	case d.text != nil:
		return n.writeScalar(d)
	case d.list:
		return list(n.writeAll(d.children))
	}
	keys, children := slices.Clone(d.keys), n.writeAll(d.children)
	for i, key := range keys {
		if slices.Contains(n.Open, key) {
			children[i] = d.children[i]
		}
	}
	for i := range n.Choose(2) {
		// These are after all names of OpenStack: keys are sorted.
		keys = append(keys, "zz_new_"+strconv.Itoa(i))
		children = append(children, additions[n.Choose(len(additions)-1)])
	}
	return object(keys, children)
}

func (n Newer) writeAll(all []*Document) []*Document {
	written := make([]*Document, len(all))
	for i, d := range all {
		written[i] = n.write(d)
	}
	return written
}

func (n Newer) writeScalar(d *Document) *Document {
	text := string(d.text)
	if text == "null" || text[0] == '"' || n.Choose(1) == 0 {
		return d
	}
	return &Document{text: strconv.AppendQuote(nil, text), size: 1}
}
