// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maxBody is the maximum size of request bodies. OpenStack's default limit is 114,688 bytes, but
// the whole tree of a load balancer may be larger.
const maxBody = 16 << 20

// Options configure a service's handler.
type Options struct {
	// Service is the service's type in the catalogue, such as "network".
	Service string
	// Mux has one pattern per route, with the method: "GET /v2.0/ports/{id}".
	Mux *http.ServeMux
	// Handler handles the requests instead of Mux, which then only provides the names of the
	// routes. Handler sets its own request ids. Nil means Mux.
	Handler http.Handler
	// Authenticate returns the identity of a token's owner. If nil, no route needs a token.
	Authenticate func(token string) (Identity, bool)
	// Allowed reports whether a valid token may be used for a request to a service. If not, the
	// answer is that for an invalid token. Nil allows all.
	Allowed func(token, service, method, path string) bool
	// Public reports whether a route (a template, without the method) needs no token; nil means
	// that all need one.
	Public func(route string) bool
	// Unnumbered reports whether answers of a route (a template, without the method) have no
	// request id; refused means that the request had no valid token. Nil means that all answers
	// have one.
	Unnumbered func(route string, refused bool) bool
	// Recorder, Faults and Latency may be nil.
	Recorder *Recorder
	Faults   *Faults
	Latency  *Latency
	// Unauthorized answers a request without a valid token. If nil, the answer is that of
	// OpenStack's token middleware, which names KeystoneURI.
	Unauthorized func(w http.ResponseWriter, r *http.Request)
	KeystoneURI  string
	// NotFound answers requests for paths that match no pattern, and NotAllowed those for paths
	// that have only other methods. If nil, the answer is 404 or 405 with OpenStack's usual
	// {"error": ...} body.
	NotFound, NotAllowed func(w http.ResponseWriter, r *http.Request)
}

// New wraps a service's mux: it assigns request ids, authenticates the caller, applies latency and
// faults, and records the call before the answer is sent.
func New(o Options) http.Handler {
	if o.Recorder == nil {
		o.Recorder = &Recorder{}
	}
	if o.Faults == nil {
		o.Faults = &Faults{}
	}
	if o.Latency == nil {
		o.Latency = &Latency{}
	}
	if o.Public == nil {
		o.Public = func(string) bool { return false }
	}
	if o.Unnumbered == nil {
		o.Unnumbered = func(string, bool) bool { return false }
	}
	if o.Unauthorized == nil {
		o.Unauthorized = o.unauthorized
	}
	if o.NotFound == nil {
		o.NotFound = plainError(http.StatusNotFound, "The resource could not be found.")
	}
	if o.NotAllowed == nil {
		o.NotAllowed = plainError(http.StatusMethodNotAllowed, "The method is not allowed for the requested URL.")
	}
	return &frame{o}
}

func (o Options) unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", "Keystone uri="+strconv.Quote(o.KeystoneURI))
	plainError(http.StatusUnauthorized, "The request you have made requires authentication.")(w, r)
}

func plainError(status int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		JSON(w, status, map[string]any{"error": map[string]any{"code": status, "title": http.StatusText(status), "message": message}})
	}
}

type frame struct{ Options }

const requestIDHeader = "X-Openstack-Request-Id"

var globalRequestID = regexp.MustCompile(`^req-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ServeHTTP carries out one request.
func (f *frame) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := Call{
		Service: f.Service, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		RequestID: "req-" + uuid.NewString(), At: time.Now(),
	}
	if id := r.Header.Get(requestIDHeader); globalRequestID.MatchString(id) {
		call.GlobalRequestID = id
	}
	call.Route = f.routeOf(r)
	if !f.Unnumbered(call.Route, false) {
		w.Header().Set(requestIDHeader, call.RequestID)
	}

	// The whole body is read at once: otherwise net/http does not notice that a client disconnects
	// while its request is held.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		plainError(http.StatusRequestEntityTooLarge, "Request is too large.")(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))

	ctx := context.WithValue(r.Context(), requestIDKey, call.RequestID)
	if f.Authenticate != nil && !f.Public(call.Route) {
		token := r.Header.Get("X-Auth-Token")
		who, ok := f.Authenticate(token)
		if f.Allowed != nil {
			who.Allowed = func(service, method, path string) bool { return f.Allowed(token, service, method, path) }
		}
		if !ok || !who.May(f.Service, r.Method, r.URL.Path) {
			if f.Unnumbered(call.Route, true) {
				w.Header().Del(requestIDHeader)
			}
			f.answer(w, r, &call, f.Unauthorized)
			return
		}
		call.ProjectID = who.ProjectID
		ctx = WithCaller(ctx, who)
	}
	f.act(w, r.WithContext(ctx), &call)
}

// act applies latency and faults to an authorized request.
func (f *frame) act(w http.ResponseWriter, r *http.Request, call *Call) {
	alive := pause(r.Context(), f.Latency.of(f.Service, r.Method, call.Route))
	for _, fault := range f.Faults.take(f.Service, r.Method, call.Route) {
		call.Fault = strings.TrimPrefix(call.Fault+"+"+string(fault.Kind), "+")
		switch fault.Kind {
		case FaultLatency:
			alive = alive && pause(r.Context(), fault.Delay)
		case FaultErrorState:
			r = r.WithContext(WithFaultError(r.Context()))
		case FaultErrorChildren:
			r = r.WithContext(WithFaultErrorOfChildren(r.Context()))
		case FaultHang:
			alive = alive && f.hang(r.Context(), fault)
		default:
			if alive {
				f.disturb(w, r, call, fault)
				return
			}
		}
	}
	if !alive {
		f.record(call, nil)
		reset(w) // otherwise net/http would answer with 200
		return
	}
	f.answer(w, r, call, f.handle)
}

// hang holds the request and reports whether it continues.
func (f *frame) hang(ctx context.Context, fault Fault) bool {
	release, done := f.Faults.holdOn(fault.ID)
	defer done()
	var delay <-chan time.Time
	if fault.Delay > 0 {
		t := time.NewTimer(fault.Delay)
		defer t.Stop()
		delay = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-release:
	case <-delay:
	}
	return true
}

// disturb carries out a request that a fault disturbs.
func (f *frame) disturb(w http.ResponseWriter, r *http.Request, call *Call, fault Fault) {
	switch fault.Kind {
	case FaultStatus:
		f.answer(w, r, call, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for k, v := range fault.Header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(fault.Status)
			_, _ = io.WriteString(w, fault.Body)
		})
	case FaultResetBefore:
		f.record(call, nil)
		reset(w)
	case FaultResetAfter:
		f.record(call, f.run(r, f.handle))
		reset(w)
	case FaultHangAfter:
		a := f.run(r, f.handle)
		f.record(call, a)
		if !f.hang(r.Context(), fault) {
			reset(w)
			return
		}
		a.send(w)
	case FaultGarbage:
		f.answer(w, r, call, func(w http.ResponseWriter, r *http.Request) {
			f.run(r, f.handle)
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><body>It works!</body></html>\n")
		})
	case FaultPartialList:
		f.answer(w, r, call, func(w http.ResponseWriter, r *http.Request) {
			a := f.run(r, f.handle)
			a.leaveOut(fault.Missing)
			a.send(w)
		})
	case FaultHalfBody:
		a := f.run(r, f.handle)
		f.record(call, a)
		a.sendHalf(w)
		reset(w)
	}
}

// answer runs the handler, records the call and sends the answer, in this order: when a client has
// its answer, the call is recorded.
func (f *frame) answer(w http.ResponseWriter, r *http.Request, call *Call, handle http.HandlerFunc) {
	a := f.run(r, handle)
	f.record(call, a)
	a.send(w)
}

func (f *frame) handle(w http.ResponseWriter, r *http.Request) {
	if f.Handler != nil {
		f.Handler.ServeHTTP(w, r)
		return
	}
	if _, pattern := f.Mux.Handler(r); pattern != "" {
		f.Mux.ServeHTTP(w, r)
		return
	}
	// The mux knows the methods of a path; run it without sending its answer.
	probe := newAnswer()
	f.Mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		f.NotAllowed(w, r)
		return
	}
	f.NotFound(w, r)
}

func (f *frame) run(r *http.Request, handle http.HandlerFunc) *answer {
	a := newAnswer()
	handle(a, r)
	return a
}

// record records the call with its answer, which may be nil.
func (f *frame) record(call *Call, a *answer) {
	if a != nil {
		call.Status = a.status
		if id := a.header.Get(requestIDHeader); id != "" {
			call.RequestID = id
		}
	}
	call.Duration = time.Since(call.At)
	f.Recorder.record(*call)
}

// routeOf returns the route template of a request, from the pattern of the mux. A path with an empty segment, where an id is
// missing, has none: the mux would take it for another path.
func (f *frame) routeOf(r *http.Request) string {
	if strings.Contains(r.URL.Path, "//") {
		return ""
	}
	_, pattern := f.Mux.Handler(r)
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	return strings.TrimSuffix(pattern, "{$}")
}
