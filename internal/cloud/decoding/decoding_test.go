// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decoding_test

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
)

type head struct {
	ID string `json:"id"`
	Up bool   `json:"up"`
}

// document has a field of each form that occurs in answers of OpenStack.
type document struct {
	head
	Port    int                       `json:"port"`
	Limit   *int                      `json:"limit"`
	Total   float64                   `json:"total"`
	Secure  *bool                     `json:"secure"`
	Source  netip.Prefix              `json:"source"`
	Tags    []string                  `json:"tags"`
	Members []head                    `json:"members"`
	Labels  map[string]string         `json:"labels"`
	Headers map[string]any            `json:"headers"`
	Quota   decoding.Entries[int]     `json:"quota"`
	Details map[string]map[string]int `json:"details"`
	Untagged
}

// Untagged is a struct without names of keys.
type Untagged struct{ Alias string }

var same = cmp.Options{cmp.AllowUnexported(document{}), cmpopts.EquateComparable(netip.Prefix{})}

func pointer[T any](value T) *T { return &value }

func TestTextsNumbersAndBooleansAreConverted(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want document
	}{
		"as documented":               {`{"id": "x", "up": true, "port": 80, "limit": 5}`, document{head: head{ID: "x", Up: true}, Port: 80, Limit: pointer(5)}},
		"texts for numbers":           {`{"port": "80", "limit": " -1 ", "total": "1e3"}`, document{Port: 80, Limit: pointer(-1), Total: 1000}},
		"fractions that are integers": {`{"port": 80.0, "limit": "5.0"}`, document{Port: 80, Limit: pointer(5)}},
		"texts for truth values":      {`{"up": "True", "secure": "false"}`, document{head: head{Up: true}, Secure: pointer(false)}},
		"numbers for texts":           {`{"id": 17, "tags": [1, "two", true], "labels": {"a": 2}}`, document{head: head{ID: "17"}, Tags: []string{"1", "two", "true"}, Labels: map[string]string{"a": "2"}}},
		"deep inside":                 {`{"members": [{"id": 1, "up": "true"}], "details": {"a": {"b": "3"}}}`, document{Members: []head{{ID: "1", Up: true}}, Details: map[string]map[string]int{"a": {"b": 3}}}},
		"what decodes itself":         {`{"port": "80", "source": "10.0.0.0/8"}`, document{Port: 80, Source: netip.MustParsePrefix("10.0.0.0/8")}},
		"any value":                   {`{"port": "80", "headers": {"a": "true", "b": true}}`, document{Port: 80, Headers: map[string]any{"a": "true", "b": true}}},
		"a key in another case":       {`{"PORT": "80", "alias": 5}`, document{Port: 80, Untagged: Untagged{Alias: "5"}}},
		"a quota with other things":   {`{"quota": {"pool": 5, "pools": "6", "project_id": "p", "none": null, "used": {}}}`, document{Quota: decoding.Entries[int]{"pool": 5, "pools": 6}}},
		"a large number":              {`{"limit": "9007199254740993", "port": "1"}`, document{Limit: pointer(9007199254740993), Port: 1}},
		"nothing":                     {`null`, document{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := document{Port: 9999, Tags: []string{"before"}}
			if err := decoding.Unmarshal([]byte(c.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, same); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnexpectedTypesAreErrorsThatNameTheKey(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"text for an integer":                   {`{"port": "eighty"}`, "unexpected string as port"},
		"fraction for an integer":               {`{"port": 80.5}`, "unexpected number 80.5 as port"},
		"text of a large number for an integer": {`{"port": "1e300"}`, "unexpected string as port"},
		"object for an integer":                 {`{"port": {}}`, "unexpected object as port"},
		"text for a boolean":                    {`{"up": "perhaps"}`, "unexpected string as head.up"},
		"object for a list":                     {`{"members": {"id": "x"}}`, "unexpected object as members"},
		"text for a boolean in a list":          {`{"members": [{"up": "sure"}]}`, "unexpected string as members.up"},
		"list for an object":                    {`{"quota": []}`, "unexpected array"},
		"list for the document":                 {`[]`, "unexpected array"},
		"document that is cut off":              {`{`, "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			var got document
			if err := decoding.Unmarshal([]byte(test.text), &got); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestATargetDecodesAnAnswerOfGophercloud(t *testing.T) {
	var got document
	if err := json.NewDecoder(strings.NewReader(`{"port": "80"} `)).Decode(decoding.Into(&got)); err != nil || got.Port != 80 {
		t.Errorf("%+v, %v", got, err)
	}
}

// value generates a value of JSON.
func value() *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.IntRange(-1, 70000).AsAny(), rapid.SampledFrom([]string{"", "5", "true", "x"}).AsAny())
	return rapid.OneOf(scalar, rapid.SliceOfN(scalar, 0, 2).AsAny(), rapid.MapOfN(rapid.SampledFrom([]string{"id", "up", "x"}), scalar, 0, 2).AsAny())
}

var plain = map[string]any{
	"id": "x", "up": true, "port": 80, "limit": 5, "total": 1.5, "secure": false, "source": "10.0.0.0/8", "tags": []string{"a"},
	"members": []any{map[string]any{"id": "m", "up": true}}, "labels": map[string]any{"a": "b"}, "quota": map[string]any{"pool": 1}, "Alias": "y",
}

func decode(t *rapid.T, object map[string]any) (got document, _ error) {
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return got, decoding.Unmarshal(text, &got)
}

func TestUnknownKeysAreIgnoredAndNullIsLikeAMissingKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, without := maps.Clone(plain), maps.Clone(plain)
		for i, key := range rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(plain))), 0, 4).Draw(t, "nulls") {
			object[key] = nil
			delete(without, key)
			object["unknown_"+string(rune('a'+i))] = value().Draw(t, "unknown")
		}
		if rapid.Bool().Draw(t, "another spelling") && object["port"] != nil {
			object["port"] = "80" // so that the second attempt is made
		}
		want, err := decode(t, without)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(t, object)
		if diff := cmp.Diff(want, got, same); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", object, err, diff)
		}
	})
}

// FuzzUnmarshal checks that Unmarshal decodes at least what encoding/json does.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{`{"port": "80", "members": [null, {"id": 1}]}`, `{"quota": {"a": 1, "b": null}}`, `{"source": 5, "tags": "x"}`, `[1]`, `null`, `{"port": 1e400}`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want document
		err := decoding.Unmarshal(text, &got)
		if json.Unmarshal(text, &want) != nil {
			return
		}
		if diff := cmp.Diff(want, got, same); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
