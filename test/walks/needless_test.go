// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// needless finds what the controller writes to Services although it changes nothing. Each such write costs the API server and all
// that watch as much as another, and a controller that makes one makes it in each pass. A write says which version of the object it
// changes, and the answer which version there is then: the same if nothing was changed.
type needless struct {
	mu     sync.Mutex
	writes []error
}

// check answers requests of the controller as next does, and looks at the writes among them.
func (n *needless) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch && r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/services/") {
			next.ServeHTTP(w, r)
			return
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return // the controller was killed
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		r.Header.Set("Accept", "application/json") // a real API server answers in protobuf otherwise
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		if answer.status == http.StatusOK {
			n.compare(r.Method+" "+r.URL.Path, sent, answer.text.Bytes())
		}
	})
}

// compare notes a write if the version is the same after it. An object that is gone with its last finalizer has no new version.
func (n *needless) compare(what string, sent, answered []byte) {
	var before, after struct {
		Metadata struct {
			ResourceVersion   string
			DeletionTimestamp *string
			Finalizers        []string
		}
	}
	if json.Unmarshal(sent, &before) != nil || json.Unmarshal(answered, &after) != nil {
		n.note(fmt.Errorf("the controller wrote what is no JSON: %s: %s, answered with %s", what, sent, answered))
		return
	}
	gone := after.Metadata.DeletionTimestamp != nil && len(after.Metadata.Finalizers) == 0
	switch version := before.Metadata.ResourceVersion; {
	case version == "":
		n.note(fmt.Errorf("the controller wrote without the version that it changes: %s: %s", what, sent))
	case version == after.Metadata.ResourceVersion && !gone:
		n.note(fmt.Errorf("the controller wrote what changes nothing: %s: %s, and it is %s", what, sent, answered))
	}
}

func (n *needless) note(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes = append(n.writes, err)
}

// take returns the writes since the last call.
func (n *needless) take() (writes []error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	writes, n.writes = n.writes, nil
	return writes
}

// answer keeps what is answered.
type answer struct {
	http.ResponseWriter
	status int
	text   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) {
	a.text.Write(text)
	return a.ResponseWriter.Write(text)
}

// before returns a server in front of a real Kubernetes API that looks at what the controller writes.
func (n *needless) before(config *rest.Config) (*httptest.Server, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // of watches
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	return httptest.NewServer(n.check(proxy)), nil
}
