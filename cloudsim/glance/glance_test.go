// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package glance

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestImagesAreListedAndShown(t *testing.T) {
	s := New("ubuntu", "p", time.Now())
	for path, want := range map[string]int{
		"/v2/images": 1, "/v2/images?name=ubuntu": 1, "/v2/images?name=x": 0, "/v2/images?id=in:a," + s.ImageID(): 1, "/v2/images?id=in:a,b": 0, "/v2/images?limit=5&visibility=public": 1,
	} {
		t.Run(path, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.Mux().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			var body struct{ Images []Image }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 200 || len(body.Images) != want {
				t.Errorf("got %d %v %s", w.Code, err, w.Body)
			}
		})
	}
	for path, want := range map[string]int{"/": 300, "/v2/images/" + s.ImageID(): 200, "/v2/images/nothing": 404, "/v2/images?marker=x": 400} {
		t.Run(path, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.Mux().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != want || (want >= 400) != strings.HasPrefix(w.Body.String(), "<html>") {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}
