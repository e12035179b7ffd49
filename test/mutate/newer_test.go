// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestANewerReleaseAddsKeysAndWritesTextsForNumbers(t *testing.T) {
	cloud := &Cloud{Words: []string{"pools"}, Document: Parse([]byte(`{"GET /pools": [{"status": 200, "body":
		{"pools": [{"id": "p1", "port": 80, "up": true, "monitor": null, "headers": {"X-Port": 1}}]}}]}`))}
	newer := Newer{Next: cloud, Open: []string{"headers"}, Choose: func(int) int { return 1 }}
	request, err := http.NewRequest(http.MethodGet, "http://cloud.test/pools", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := newer.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"pools":[{"headers":{"X-Port":1},"id":"p1","monitor":null,"port":"80","up":"true","zz_new_0":""}],"zz_new_0":""}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
