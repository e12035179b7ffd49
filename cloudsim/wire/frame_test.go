// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const thingBody = `{"thing":"0123456789"}`

// service is a small service in its frame, on a real connection.
type service struct {
	*httptest.Server
	Options
	ran      atomic.Int32 // how often the handler of a change has completed
	errState atomic.Int32
}

func newService(t *testing.T, change func(*Options)) *service {
	t.Helper()
	s := &service{Options: Options{
		Service: "network", Mux: http.NewServeMux(), Recorder: &Recorder{}, Faults: &Faults{}, Latency: &Latency{},
		KeystoneURI: "http://keystone.test",
	}}
	s.Mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { JSON(w, 300, "versions") })
	s.Mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		JSON(w, 200, map[string]any{"id": r.PathValue("id"), "project": Caller(r.Context()).ProjectID, "request": RequestID(r.Context())})
	})
	s.Mux.HandleFunc("POST /things", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if FaultError(r.Context()) {
			s.errState.Add(1)
		}
		s.ran.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, thingBody)
	})
	if change != nil {
		change(&s.Options)
	}
	s.Server = httptest.NewServer(New(s.Options))
	t.Cleanup(func() {
		s.Faults.Clear()
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

func (s *service) call(t *testing.T, method, path string, header ...string) (*http.Response, string, error) {
	t.Helper()
	return s.callIn(t.Context(), t, method, path, header...)
}

func (s *service) callIn(ctx context.Context, t *testing.T, method, path string, header ...string) (*http.Response, string, error) {
	t.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp, string(read), err
}

func withToken(o *Options) {
	o.Authenticate = func(token string) (Identity, bool) {
		return Identity{UserID: "u", ProjectID: "p", Roles: []string{"member"}}, token == "good"
	}
	o.Public = func(route string) bool { return route == "/" }
}

func TestOnlyPublicRoutesAreServedWithoutAToken(t *testing.T) {
	s := newService(t, withToken)
	for _, tc := range []struct {
		name string

		path, token string
		want        int
	}{
		{"public", "/", "", 300},
		{"private without a token", "/things/1", "", 401},
		{"private with a bad token", "/things/1", "bad", 401},
		{"private with a good token", "/things/1", "good", 200},
		{"unknown path without a token", "/nowhere", "", 401},
		{"unknown path with a good token", "/nowhere", "good", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body, err := s.call(t, "GET", tc.path, "X-Auth-Token", tc.token)
			if err != nil || resp.StatusCode != tc.want {
				t.Errorf("%s with token %q: got %v %v %s, want %d", tc.path, tc.token, resp, err, body, tc.want)
				return
			}
			if got := resp.Header.Get("WWW-Authenticate"); (tc.want == 401) != (got == `Keystone uri="http://keystone.test"`) {
				t.Errorf("%s with token %q: WWW-Authenticate is %q", tc.path, tc.token, got)
			}
		})
	}
}

func TestTokenWhoseAccessRulesDoNotAllowTheRequestIsRefused(t *testing.T) {
	s := newService(t, func(o *Options) {
		withToken(o)
		o.Allowed = func(token, service, method, path string) bool {
			return token == "good" && service == o.Service && method == http.MethodGet && path == "/things/1"
		}
	})
	for path, want := range map[string]int{"/things/1": 200, "/things/2": 401, "/nowhere": 401, "/": 300} {
		t.Run(path, func(t *testing.T) {
			if resp, _, err := s.call(t, "GET", path, "X-Auth-Token", "good"); err != nil || resp.StatusCode != want {
				t.Errorf("got %v %v, want %d", resp, err, want)
			}
		})
	}
}

func TestHandlerGetsTheCallerAndTheRequestID(t *testing.T) {
	s := newService(t, withToken)
	resp, body, err := s.call(t, "GET", "/things/42", "X-Auth-Token", "good")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": "42", "project": "p", "request": resp.Header.Get("X-Openstack-Request-Id")}
	if diff := cmp.Diff(want, got); diff != "" || !globalRequestID.MatchString(want["request"]) {
		t.Errorf("request id %s; (-want +got):\n%s", want["request"], diff)
	}
}

func TestUnknownPathsAre404AndUnknownMethods405(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path string
		want         int
		allow        string
	}{
		"unknown path":        {"GET", "/nowhere", 404, ""},
		"path without DELETE": {"DELETE", "/things/1", 405, "GET, HEAD"},
		"path with only POST": {"GET", "/things", 405, "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			resp, body, err := s.call(t, tc.method, tc.path)
			if err != nil || resp.StatusCode != tc.want || resp.Header.Get("Allow") != tc.allow || !strings.HasPrefix(body, `{"error":`) {
				t.Errorf("%s %s: got %v %v %s", tc.method, tc.path, resp, err, body)
			}
			if counts := s.Recorder.Counts(); counts[tc.method+" "] != 1 {
				t.Errorf("a call that no handler serves must be recorded with an empty route: %v", counts)
			}
		})
	}
}

func TestRecorderKeepsEveryCall(t *testing.T) {
	s := newService(t, withToken)
	const global = "req-11111111-2222-3333-4444-555555555555"
	resp, _, err := s.call(t, "GET", "/things/1?fields=id", "X-Auth-Token", "good", "X-OpenStack-Request-ID", global)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.call(t, "POST", "/things", "X-Auth-Token", "bad", "X-OpenStack-Request-ID", "not an id"); err != nil {
		t.Fatal(err)
	}
	calls := s.Recorder.Calls()
	want := []Call{
		{Service: "network", Method: "GET", Route: "/things/{id}", Path: "/things/1", Query: "fields=id", Status: 200, RequestID: resp.Header.Get("X-Openstack-Request-Id"), GlobalRequestID: global, ProjectID: "p"},
		{Service: "network", Method: "POST", Route: "/things", Path: "/things", Status: 401},
	}
	for i := range calls {
		if calls[i].At.IsZero() || calls[i].Duration < 0 || calls[i].RequestID == "" {
			t.Errorf("call %d lacks its time or id: %+v", i, calls[i])
		}
		calls[i].At, calls[i].Duration = time.Time{}, 0
	}
	calls[1].RequestID = ""
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"GET /things/{id}": 1, "POST /things": 1}, s.Recorder.Counts()); diff != "" {
		t.Error(diff)
	}
	s.Recorder.Reset()
	if len(s.Recorder.Calls()) != 0 || len(s.Recorder.Counts()) != 0 {
		t.Error("Reset must forget everything")
	}
}

func TestRecorderForgetsOldCallsButCountsThemAll(t *testing.T) {
	var r Recorder
	for i := range maxCalls + 10 {
		r.record(Call{Method: "GET", Route: "/x", Status: i})
	}
	calls := r.Calls()
	if len(calls) != maxCalls || calls[0].Status != 10 || calls[maxCalls-1].Status != maxCalls+9 {
		t.Errorf("got %d calls, from %d to %d", len(calls), calls[0].Status, calls[len(calls)-1].Status)
	}
	if got := r.Counts()["GET /x"]; got != maxCalls+10 {
		t.Errorf("counted %d", got)
	}
}

func TestFaultStatusAnswersInsteadOfTheHandler(t *testing.T) {
	s := newService(t, nil)
	s.Faults.Add(Fault{Method: "POST", Route: "/things", Kind: FaultStatus, Status: 503, Body: `{"busy":1}`, Header: map[string]string{"Retry-After": "7"}, Times: 1, Skip: 1})
	var got []int
	for range 3 {
		resp, body, err := s.call(t, "POST", "/things")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == 503 && (body != `{"busy":1}` || resp.Header.Get("Retry-After") != "7") {
			t.Errorf("wrong answer: %v %s", resp.Header, body)
		}
		got = append(got, resp.StatusCode)
	}
	if diff := cmp.Diff([]int{201, 503, 201}, got); diff != "" || s.ran.Load() != 2 {
		t.Errorf("the handler ran %d times; (-want +got):\n%s", s.ran.Load(), diff)
	}
	if len(s.Faults.List()) != 0 {
		t.Error("a fault that is used up must be gone")
	}
}

func TestFaultAffectsOnlyMatchingCalls(t *testing.T) {
	for _, tc := range []struct {
		name string

		fault Fault
		hit   bool
	}{
		{"names nothing", Fault{}, true},
		{"names the service", Fault{Service: "network"}, true},
		{"names another service", Fault{Service: "compute"}, false},
		{"names the method", Fault{Method: "POST"}, true},
		{"names another method", Fault{Method: "GET"}, false},
		{"names the route", Fault{Route: "/things"}, true},
		{"names another route", Fault{Route: "/things/{id}"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t, nil)
			tc.fault.Kind, tc.fault.Status = FaultStatus, 500
			s.Faults.Add(tc.fault)
			resp, _, err := s.call(t, "POST", "/things")
			if err != nil || (resp.StatusCode == 500) != tc.hit {
				t.Errorf("got %v %v", resp, err)
			}
		})
	}
}

func TestResetFaultsCloseTheConnection(t *testing.T) {
	for _, tc := range []struct {
		kind   FaultKind
		ran    int32
		status int
		half   bool
	}{
		{FaultResetBefore, 0, 0, false}, {FaultResetAfter, 1, 201, false}, {FaultHalfBody, 1, 201, true},
	} {
		t.Run(string(tc.kind), func(t *testing.T) {
			s := newService(t, nil)
			s.Faults.Add(Fault{Kind: tc.kind, Times: 1})
			resp, body, err := s.call(t, "POST", "/things")
			if err == nil {
				t.Errorf("the client saw no error but %d %s", resp.StatusCode, body)
			}
			if !tc.half && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("want a reset connection, got %v", err)
			}
			if body != "" && !strings.HasPrefix(thingBody[:len(thingBody)/2], body) {
				t.Errorf("the client got %q, more than half of the body", body)
			}
			if s.ran.Load() != tc.ran {
				t.Errorf("the handler ran %d times, want %d", s.ran.Load(), tc.ran)
			}
			if calls := s.Recorder.Calls(); len(calls) != 1 || calls[0].Status != tc.status || calls[0].Fault != string(tc.kind) {
				t.Errorf("recorded %+v", calls)
			}
			if resp, _, err := s.call(t, "POST", "/things"); err != nil || resp.StatusCode != 201 {
				t.Errorf("the next call must work: %v %v", resp, err)
			}
		})
	}
}

func TestGarbageFaultCarriesOutTheCallAndAnswersNoJSON(t *testing.T) {
	s := newService(t, nil)
	s.Faults.Add(Fault{Kind: FaultGarbage, Times: 1})
	resp, body, err := s.call(t, "POST", "/things")
	if err != nil || resp.StatusCode != 200 || json.Valid([]byte(body)) || s.ran.Load() != 1 {
		t.Errorf("got %v %q %v, handler ran %d times", resp, body, err, s.ran.Load())
	}
}

func TestFaultPartialListLeavesItemsOutOfAGoodAnswer(t *testing.T) {
	s := newService(t, func(o *Options) {
		o.Mux.HandleFunc("GET /things", func(w http.ResponseWriter, _ *http.Request) {
			JSON(w, 200, map[string]any{"things": []any{map[string]string{"id": "a"}, map[string]string{"id": "b"}}, "things_links": []any{}, "more": nil})
		})
	})
	s.Faults.Add(Fault{Kind: FaultPartialList, Missing: []string{"a", "x"}, Times: 3})
	resp, body, err := s.call(t, "GET", "/things")
	if want := `{"more":null,"things":[{"id":"b"}],"things_links":[]}`; err != nil || resp.StatusCode != 200 || body != want || resp.ContentLength != int64(len(want)) {
		t.Errorf("got %v %q %v", resp, body, err)
	}
	if _, body, err := s.call(t, "GET", "/things/a"); err != nil || !strings.Contains(body, `"id":"a"`) {
		t.Errorf("what is no list stays: got %q %v", body, err)
	}
	if _, body, err := s.call(t, "GET", "/"); err != nil || !strings.Contains(body, "versions") {
		t.Errorf("what is no object stays: got %q %v", body, err)
	}
}

func TestFaultErrorStateReachesTheHandlersOfChangesOnly(t *testing.T) {
	s := newService(t, nil)
	s.Faults.Add(Fault{Kind: FaultErrorState, Times: 1})
	for _, call := range [][2]string{{"GET", "/things/1"}, {"POST", "/things"}, {"POST", "/things"}} {
		if _, _, err := s.call(t, call[0], call[1]); err != nil {
			t.Fatal(err)
		}
	}
	if s.errState.Load() != 1 {
		t.Errorf("the handler saw it %d times", s.errState.Load())
	}
}

// held waits until a request is held.
func held(t *testing.T, s *service) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for s.Faults.Held() == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no request is held")
		}
		time.Sleep(time.Millisecond) // between two checks
	}
}

func TestFaultHangEnds(t *testing.T) {
	t.Run("when it is removed, though used up", func(t *testing.T) {
		s := newService(t, nil)
		id := s.Faults.Add(Fault{Kind: FaultHang, Times: 1})
		done := make(chan int, 1)
		go func() {
			resp, _, err := s.call(t, "POST", "/things")
			if err != nil {
				t.Error(err)
				done <- 0
				return
			}
			done <- resp.StatusCode
		}()
		held(t, s)
		if s.ran.Load() != 0 {
			t.Error("the handler ran while the request was held")
		}
		if !s.Faults.Remove(id) {
			t.Error("the fault was not found")
		}
		if got := <-done; got != 201 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("when the client goes away", func(t *testing.T) {
		s := newService(t, nil)
		s.Faults.Add(Fault{Kind: FaultHang})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, err := s.callIn(ctx, t, "POST", "/things")
			done <- err
		}()
		held(t, s)
		cancel()
		if err := <-done; err == nil {
			t.Error("the call went through")
		}
		for deadline := time.Now().Add(20 * time.Second); s.Faults.Held() > 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // between two checks
		}
		if s.ran.Load() != 0 || s.Faults.Held() != 0 {
			t.Errorf("the handler ran %d times, %d requests are held", s.ran.Load(), s.Faults.Held())
		}
	})
	t.Run("when its delay has passed", func(t *testing.T) {
		s := newService(t, nil)
		s.Faults.Add(Fault{Kind: FaultHang, Delay: time.Millisecond})
		if resp, _, err := s.call(t, "POST", "/things"); err != nil || resp.StatusCode != 201 {
			t.Errorf("got %v %v", resp, err)
		}
	})
}

func TestFaultHangAfterHoldsTheAnswerOfACallThatWasCarriedOut(t *testing.T) {
	s := newService(t, nil)
	id := s.Faults.Add(Fault{Kind: FaultHangAfter, Times: 1})
	status := make(chan int)
	go func() {
		resp, _, err := s.call(t, "POST", "/things")
		if err != nil {
			status <- 0
			return
		}
		status <- resp.StatusCode
	}()
	held(t, s)
	if s.ran.Load() != 1 || len(s.Recorder.Calls()) != 1 {
		t.Errorf("the handler ran %d times and %d calls are recorded while the answer is held", s.ran.Load(), len(s.Recorder.Calls()))
	}
	s.Faults.Remove(id)
	if got := <-status; got != 201 {
		t.Errorf("the answer that was let go is %d", got)
	}
}

func TestLatencyIsThatOfTheMostSpecificSetting(t *testing.T) {
	var l Latency
	l.Set(Operation{}, 1)
	l.Set(Operation{Service: "network"}, 2)
	l.Set(Operation{Method: "POST"}, 3)
	l.Set(Operation{Route: "/things"}, 4)
	l.Set(Operation{Service: "network", Method: "POST", Route: "/things"}, 5)
	for _, tc := range []struct {
		name string

		service, method, route string
		want                   time.Duration
	}{
		{"the default", "compute", "GET", "/x", 1},
		{"the service", "network", "GET", "/x", 2},
		{"the service and not the method", "network", "POST", "/x", 3},
		{"the route rather than the service", "network", "GET", "/things", 4},
		{"service, method and route", "network", "POST", "/things", 5},
		{"the route rather than the method", "compute", "POST", "/things", 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := l.of(tc.service, tc.method, tc.route); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	l.Set(Operation{Route: "/things"}, 0)
	if len(l.List()) != 4 || l.of("compute", "GET", "/things") != 1 {
		t.Errorf("a setting of zero must be gone: %v", l.List())
	}
	l.Clear()
	if l.of("network", "POST", "/things") != 0 {
		t.Error("Clear must leave no latency")
	}
}

func TestCallTakesAtLeastItsLatency(t *testing.T) {
	s := newService(t, nil)
	s.Latency.Set(Operation{Method: "POST"}, 3*time.Millisecond)
	s.Faults.Add(Fault{Kind: FaultLatency, Delay: 2 * time.Millisecond})
	if _, _, err := s.call(t, "POST", "/things"); err != nil {
		t.Fatal(err)
	}
	if got := s.Recorder.Calls()[0]; got.Duration < 5*time.Millisecond || got.Fault != "latency" {
		t.Errorf("recorded %+v", got)
	}
}

func TestFaultIsValidated(t *testing.T) {
	for name, f := range map[string]Fault{
		"no kind":                           {},
		"unknown kind":                      {Kind: "nonsense"},
		"a status fault without a status":   {Kind: FaultStatus},
		"a latency fault without a delay":   {Kind: FaultLatency},
		"a partial list that lacks nothing": {Kind: FaultPartialList},
		"negative times":                    {Kind: FaultHang, Times: -1},
		"negative skip":                     {Kind: FaultHang, Skip: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if f.Validate() == nil {
				t.Errorf("%+v must be refused", f)
			}
		})
	}
	for name, f := range map[string]Fault{
		"a status":       {Kind: FaultStatus, Status: 500},
		"a hang":         {Kind: FaultHang},
		"a latency":      {Kind: FaultLatency, Delay: 1},
		"a partial list": {Kind: FaultPartialList, Missing: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := f.Validate(); err != nil {
				t.Errorf("%+v: %v", f, err)
			}
		})
	}
}

func TestTooLargeBodyIsRefused(t *testing.T) {
	s := newService(t, nil)
	resp, err := s.Client().Post(s.URL+"/things", "application/json", bytes.NewReader(make([]byte, maxBody+1)))
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("got %d", resp.StatusCode)
		}
	}
	if s.ran.Load() != 0 {
		t.Error("the handler ran")
	}
}
