// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `{"pools": [{"id": "p1", "members": [{"id": "m1"}, {"id": "m2"}]}], "links": []}`

func TestEditsDropRepeatReplaceAndMoveValues(t *testing.T) {
	// 0 is the document, 1 links, 2 pools, 3 the pool, 4 its id, 5 its members, 6 the
	// first one, 7 its id, 8 and 9 the second's.
	for name, c := range map[string]struct {
		edits []byte
		want  string
	}{
		"none":             {nil, `{"links":[],"pools":[{"id":"p1","members":[{"id":"m1"},{"id":"m2"}]}]}`},
		"half an edit":     {[]byte{0, 5}, `{"links":[],"pools":[{"id":"p1","members":[{"id":"m1"},{"id":"m2"}]}]}`},
		"a key goes":       {[]byte{0, 5, 0}, `{"links":[],"pools":[{"id":"p1"}]}`},
		"an element goes":  {[]byte{0, 6, 0}, `{"links":[],"pools":[{"id":"p1","members":[{"id":"m2"}]}]}`},
		"an element twice": {[]byte{0, 6, 1}, `{"links":[],"pools":[{"id":"p1","members":[{"id":"m1"},{"id":"m1"},{"id":"m2"}]}]}`},
		"a key twice":      {[]byte{0, 4, 1}, `{"links":[],"pools":[{"id":"p1","members":[{"id":"m1"},{"id":"m2"}]}]}`},
		"another value":    {[]byte{0, 4, 3}, `{"links":[],"pools":[{"id":"","members":[{"id":"m1"},{"id":"m2"}]}]}`},
		"another's value":  {[]byte{0, 7, 224}, `{"links":[],"pools":[{"id":"p1","members":[{"id":"p1"},{"id":"m2"}]}]}`},
		"all of it":        {[]byte{0, 0, 2}, `null`},
		"nothing left":     {[]byte{0, 0, 0}, `null`},
		"one and another":  {[]byte{0, 5, 0, 0, 4, 0}, `{"links":[],"pools":[{}]}`},
		"numbers go round": {[]byte{0, 15, 0}, `{"links":[],"pools":[{"id":"p1"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := Parse([]byte(document))
			text := before.String()
			if diff := cmp.Diff(c.want, before.Edit(c.edits).String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if before.String() != text {
				t.Errorf("the document was changed into %s", before)
			}
		})
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte{0, 5, 0, 0, 3, 1, 0, 2, 40, 0, 1, 200})
	start := Parse([]byte(document))
	f.Fuzz(func(t *testing.T, edits []byte) {
		edited := start.Edit(edits)
		text := []byte(edited.String())
		if !json.Valid(text) {
			t.Fatalf("what came out is no JSON: %s", edited)
		}
		if again := Parse(text); again.size != edited.size {
			t.Errorf("%s holds %d values, and is said to hold %d", edited, again.size, edited.size)
		}
	})
}

func TestCloudAnswersByRouteOneAfterTheOther(t *testing.T) {
	cloud := &Cloud{Words: []string{"pools"}, Document: Parse([]byte(
		`{"GET /pools/{id}": [{"status": 503, "headers": {"Retry-After": "7"}, "body": null}, {"status": 200, "body": {"pool": 1}}]}`))}
	client := http.Client{Transport: cloud}
	for i, want := range []string{"503 7 null", `200  {"pool":1}`, `200  {"pool":1}`} {
		answer, err := client.Get("http://cloud.test/pools/p1")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if got := answer.Status + " " + answer.Header.Get("Retry-After") + " " + string(body); got != want {
			t.Errorf("answer %d is %q, want %q", i, got, want)
		}
	}
	if answer, err := client.Get("http://cloud.test/nothing"); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("%v, %v", answer, err)
	}
	want := []Request{{"GET", "/pools/p1"}, {"GET", "/pools/p1"}, {"GET", "/pools/p1"}, {"GET", "/nothing"}}
	if diff := cmp.Diff(want, cloud.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
