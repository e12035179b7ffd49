// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// kubernetes is what calls to the Kubernetes API are recorded as.
const kubernetes = "kubernetes"

// The controller's writes to the Kubernetes API.
var kubernetesWrites = []string{
	"PATCH /api/v1/namespaces/{namespace}/services/{name}",
	"PATCH /api/v1/namespaces/{namespace}/services/{name}/status",
	"POST /apis/events.k8s.io/v1/namespaces/{namespace}/events",
	"PATCH /apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}",
	"POST /api/v1/namespaces/{namespace}/events",
	"PATCH /api/v1/namespaces/{namespace}/events/{name}",
	"PUT /api/v1/nodes/{name}",
	"PATCH /api/v1/nodes/{name}",
	"PATCH /api/v1/nodes/{name}/status",
	"DELETE /api/v1/nodes/{name}",
}

// kubeProxy stands in front of a Kubernetes API. Writes are recorded and can be
// made to fail; reads, among them watches, are forwarded as they are.
type kubeProxy struct {
	recorder wire.Recorder
	faults   wire.Faults
	latency  wire.Latency
	// onWrite is called after each write that succeeded, before the controller has the
	// answer.
	onWrite atomic.Pointer[func(method, path string, answer []byte)]

	address   string
	server    *http.Server
	transport http.RoundTripper
	running   sync.WaitGroup
}

// startKubeProxy starts a proxy for the API that the configuration leads to. It
// must be closed.
func startKubeProxy(to *rest.Config) (*kubeProxy, error) {
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, err
	}
	p := &kubeProxy{}
	if p.transport, err = rest.TransportFor(to); err != nil {
		return nil, err
	}
	forward := &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		FlushInterval: -1, // watches
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("the test's proxy has no answer to %s %s: %v", r.Method, r.URL.Path, err), http.StatusBadGateway)
		},
		ErrorLog: stdlog.New(io.Discard, "", 0),
	}
	mux := http.NewServeMux()
	for _, pattern := range kubernetesWrites {
		mux.Handle(pattern, forward)
	}
	writes := wire.New(wire.Options{
		Service: kubernetes, Mux: mux, Handler: p.reportingWrites(forward), Recorder: &p.recorder, Faults: &p.faults, Latency: &p.latency,
		Unnumbered: func(string, bool) bool { return true },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.address = "http://" + l.Addr().String()
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: stdlog.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				forward.ServeHTTP(w, r)
				return
			}
			writes.ServeHTTP(w, r)
		})}
	p.running.Go(func() { _ = p.server.Serve(l) }) // it ends with ErrServerClosed
	return p, nil
}

// reportingWrites calls onWrite after writes that succeeded.
func (p *kubeProxy) reportingWrites(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := &answerKeeper{ResponseWriter: w, status: http.StatusOK}
		to.ServeHTTP(k, r)
		if written := p.onWrite.Load(); k.status < http.StatusMultipleChoices && written != nil {
			(*written)(r.Method, r.URL.Path, k.body)
		}
	})
}

// answerKeeper keeps a copy of the answer.
type answerKeeper struct {
	http.ResponseWriter
	status int
	body   []byte
}

// WriteHeader implements http.ResponseWriter.
func (k *answerKeeper) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (k *answerKeeper) Write(p []byte) (int, error) {
	k.body = append(k.body, p...)
	return k.ResponseWriter.Write(p)
}

// kubeconfig writes a kubeconfig that leads to the proxy.
func (p *kubeProxy) kubeconfig(path string) error {
	const name = "chaos"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: p.address}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	c.CurrentContext = name
	return clientcmd.WriteToFile(*c, path)
}

func (p *kubeProxy) close() error {
	p.faults.Clear()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close() // a watch is still open
	}
	p.running.Wait()
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	return err
}
