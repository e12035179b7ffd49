// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
)

// origin is scheme and host of an address; empty if it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// rewriter puts the proxy's addresses in place of the cloud's: in the catalogue,
// in version documents, and in links to the next page.
type rewriter struct {
	pattern *regexp.Regexp
	instead map[string]string
}

// newRewriter takes origins, real ones and what to put in their places.
func newRewriter(instead map[string]string) rewriter {
	pattern := ""
	for real := range instead {
		pattern += "|" + regexp.QuoteMeta(real)
	}
	// A port must not match the beginning of a longer one.
	return rewriter{pattern: regexp.MustCompile(`(?:` + pattern[min(1, len(pattern)):] + `)\b`), instead: instead}
}

func (r rewriter) text(text []byte) []byte {
	return r.pattern.ReplaceAllFunc(text, func(found []byte) []byte { return []byte(r.instead[string(found)]) })
}

// response rewrites header and body.
func (r rewriter) response(response *http.Response) error {
	for _, values := range response.Header {
		for i, v := range values {
			values[i] = string(r.text([]byte(v)))
		}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", response.Request.Method, response.Request.URL, err)
	}
	_ = response.Body.Close() // it was read to its end
	body = r.text(body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	if response.Header.Get("Content-Length") != "" {
		response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return nil
}
