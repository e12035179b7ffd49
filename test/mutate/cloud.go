// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cloud is an http.RoundTripper that answers from a document: an object with a
// list of answers for each method and route, such as "GET /v2.0/lbaas/pools/{id}",
// where ids are whatever is not a word of Words. Each answer has a status, headers
// and a body. The last one of a list is given again and again; a route that is
// not there is answered with 404. The document may be malformed in any way.
type Cloud struct {
	Document *Document
	// Words are the fixed parts of the routes.
	Words []string

	mu    sync.Mutex
	asked map[string]int
	// Requests are those that were made, in order, with their escaped paths.
	Requests []Request
}

// Request is one that was made.
type Request struct{ Method, Path string }

// String returns the request's first line.
func (r Request) String() string { return r.Method + " " + r.Path }

// RoundTrip implements http.RoundTripper.
func (c *Cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Requests = append(c.Requests, Request{Method: r.Method, Path: r.URL.EscapedPath()})
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	route := r.Method + " " + c.Route(r.URL.EscapedPath())
	answers := c.Document.get(route)
	if answers == nil || !answers.list || len(answers.children) == 0 {
		return response(r, notFound), nil
	}
	answer := answers.children[min(c.asked[route], len(answers.children)-1)]
	c.asked[route]++
	return response(r, answer), nil
}

// Route returns a path with ids taken out.
func (c *Cloud) Route(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if s != "" && !slices.Contains(c.Words, s) {
			segments[i] = "{id}"
		}
	}
	return strings.Join(segments, "/")
}

var notFound = Parse([]byte(`{"status": 404, "body": {"faultstring": "not found"}}`))

// response builds an answer from its description.
func response(r *http.Request, answer *Document) *http.Response {
	status := http.StatusOK
	if told := answer.get("status"); told != nil {
		if n, err := strconv.Atoi(told.String()); err == nil && n >= 200 && n < 600 {
			status = n
		}
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if headers := answer.get("headers"); headers != nil {
		for i, key := range headers.keys {
			header.Set(key, strings.Trim(headers.children[i].String(), `"`))
		}
	}
	var body []byte
	if told := answer.get("body"); told != nil {
		body = told.json(nil)
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// Raw is an http.RoundTripper that gives the same bytes to each request, as they
// would come over a connection: head, body and all.
type Raw []byte

// RoundTrip implements http.RoundTripper.
func (answer Raw) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
}
