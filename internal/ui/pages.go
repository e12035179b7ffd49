// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
)

// bundle is the page, which `make ui` builds from the sources in web.
//
//go:embed web/dist
var bundle embed.FS

// file is a file of the page.
type file struct {
	text      []byte
	mediaType string
	tag       string
}

// newPages returns the handler of the files of the page. Browsers check each time whether they have
// changed.
func newPages() (http.Handler, error) {
	files := map[string]file{}
	entries, err := fs.ReadDir(bundle, "web/dist")
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	for _, e := range entries {
		text, err := bundle.ReadFile("web/dist/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		sum := sha256.Sum256(text)
		files["/"+e.Name()] = file{text, mediaType(e.Name()), `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	files["/"] = files["/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, known := files[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", f.tag)
		if r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(f.text)
	}), nil
}

// mediaType returns the media type of a file of the page. It does not depend on the machine.
func mediaType(name string) string {
	known := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	return cmp.Or(known[path.Ext(name)], "text/plain") + "; charset=utf-8"
}
