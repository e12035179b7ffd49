// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// front is a proxy between the controller and the Kubernetes API that corrupts some of the answers.
// Its clients have the controller's rights, or those of its kubeconfig.
type front struct {
	// kubeconfig leads to it.
	kubeconfig string

	mu    sync.Mutex
	asked func(*http.Request) bool
	how   func(http.ResponseWriter, *http.Request, http.Handler)
	times int
}

// front starts one, which ends with the test.
func (s *stage) front() *front { return s.frontAs(s.kubeconfig()) }

// frontAs starts one that asks with the rights of a kubeconfig.
func (s *stage) frontAs(kubeconfig string) *front {
	s.t.Helper()
	f := &front{kubeconfig: filepath.Join(s.dir, "front")}
	to, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	target, err := url.Parse(to.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	transport, err := rest.TransportFor(to)
	if err != nil {
		s.t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: stdlog.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, forward) }))
	s.t.Cleanup(func() {
		_ = server.Config.Close() // whatever is under way; the controller still runs, and would connect again
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["front"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["front"] = &clientcmdapi.Context{Cluster: "front"}
	config.CurrentContext = "front"
	if err := clientcmd.WriteToFile(*config, f.kubeconfig); err != nil {
		s.t.Fatal(err)
	}
	return f
}

// serve answers one request, in the way of spoil if that applies to it.
func (f *front) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	f.mu.Lock()
	how := f.how
	if f.asked == nil || !f.asked(r) {
		how = nil
	} else {
		f.times++
	}
	f.mu.Unlock()
	if how == nil {
		forward.ServeHTTP(w, r)
		return
	}
	how(w, r, forward)
}

// spoil corrupts the answers to requests from now on; nil ends it.
func (f *front) spoil(asked func(*http.Request) bool, how func(http.ResponseWriter, *http.Request, http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.how, f.times = asked, how, 0
}

// met is how many answers were spoilt in this way.
func (f *front) met() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.times
}

// servicesAsked reports whether the request is the list of all Services that the check for orphans makes. Unlike the requests of
// the cache, it is no watch, and it asks for no version.
func servicesAsked(r *http.Request) bool {
	query := r.URL.Query()
	return r.URL.Path == "/api/v1/services" && !query.Has("watch") && !query.Has("resourceVersion")
}

// systemAsked reports whether the request reads the namespace kube-system, by which the cluster is known.
func systemAsked(r *http.Request) bool { return r.URL.Path == "/api/v1/namespaces/kube-system" }

// cacheFilled reports whether the request fills the cache with Services.
func cacheFilled(r *http.Request) bool { return r.URL.Path == "/api/v1/services" && !servicesAsked(r) }

// answerStatus lets the API answer with this HTTP status and no body.
func answerStatus(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(status) }
}

// onlyNamed lets the API answer with objects of the name only.
func onlyNamed(name string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		query := r.URL.Query()
		query.Set("fieldSelector", "metadata.name="+name)
		r.URL.RawQuery = query.Encode()
		forward.ServeHTTP(w, r)
	}
}

// secondPageFails makes pages of one object, and fails the second.
func secondPageFails(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	query := r.URL.Query()
	if query.Has("continue") {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	query.Set("limit", "1")
	r.URL.RawQuery = query.Encode()
	forward.ServeHTTP(w, r)
}

// halfABody sends the first half of the answer.
func halfABody(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2]) // the controller has gone, if anything
}

// anotherCluster answers with another uid.
func anotherCluster(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	r.Header.Set("Accept", "application/json")
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), []byte(`"uid":"`), []byte(`"uid":"f`), 1))
}
