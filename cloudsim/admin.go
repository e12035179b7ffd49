// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// adminMux returns the handler of the admin API, which controls the simulator from outside the
// process. It uses JSON, needs no token, and writes durations as text ("1m30s").
//
//	GET    /calls              the recorded calls, filtered by ?service=, ?method=, ?route=
//	GET    /counts             how often each operation ("METHOD route") was called
//	POST   /reset              clear calls and counts
//	GET    /faults             the faults in force
//	POST   /faults             add a fault: kind, service, method, route, status, body,
//	                           header, times, skip, delay; returns it with its id
//	DELETE /faults[/{id}]      remove all faults, or one
//	GET    /latency            how long operations take
//	PUT    /latency            set it: service, method, route, latency ("0s" resets it)
//	DELETE /latency            reset all of them
//	GET    /settings           api_version, provider, build_time, update_time,
//	                           delete_time, token_lifetime
//	PUT    /settings           change those that are given
//	POST   /tokens/expire      make all tokens invalid
//	GET    /servers            the servers: id, name, addresses
//	POST   /servers            add one: name, addresses; returns its id
//	DELETE /servers/{id}       remove one
//	GET    /state              how many objects of each kind there are, by service
//
// A request that cannot be carried out gets 400 or 404 with {"error": "what is wrong"}.
func (c *Cloud) adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]adminHandler{
		"GET /calls":           c.adminCalls,
		"GET /counts":          func(*http.Request) (any, error) { return map[string]any{"counts": c.recorder.Counts()}, nil },
		"POST /reset":          func(*http.Request) (any, error) { c.recorder.Reset(); return nil, nil },
		"GET /faults":          c.adminListFaults,
		"POST /faults":         c.adminAddFault,
		"DELETE /faults":       func(*http.Request) (any, error) { c.faults.Clear(); return nil, nil },
		"DELETE /faults/{id}":  c.adminRemoveFault,
		"GET /latency":         c.adminListLatency,
		"PUT /latency":         c.adminSetLatency,
		"DELETE /latency":      func(*http.Request) (any, error) { c.latency.Clear(); return nil, nil },
		"GET /settings":        func(*http.Request) (any, error) { return c.Settings(), nil },
		"PUT /settings":        c.adminSettings,
		"POST /tokens/expire":  func(*http.Request) (any, error) { c.ExpireTokens(); return nil, nil },
		"GET /servers":         c.adminListServers,
		"POST /servers":        c.adminAddServer,
		"DELETE /servers/{id}": func(r *http.Request) (any, error) { return nil, c.RemoveServer(r.PathValue("id")) },
		"GET /state":           func(*http.Request) (any, error) { return c.State(), nil },
	} {
		mux.Handle(pattern, handle)
	}
	return mux
}

// adminHandler handles one admin request. Its result is encoded as JSON; nil becomes status 204.
type adminHandler func(r *http.Request) (any, error)

// ServeHTTP answers the request.
func (handle adminHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := handle(r)
	switch {
	case errors.Is(err, errNotFound):
		wire.JSON(w, http.StatusNotFound, map[string]string{"error": err.Error()})
	case err != nil:
		wire.JSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		wire.JSON(w, http.StatusOK, answer)
	}
}

// errNotFound means that the path of a request names an object that does not exist.
var errNotFound = errors.New("not found")

// decode reads a request's body and rejects unknown fields.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("invalid request body: %w", err)
	}
	return nil
}

func (c *Cloud) adminCalls(r *http.Request) (any, error) {
	q := r.URL.Query()
	calls := []wire.Call{}
	for _, call := range c.recorder.Calls() {
		if (!q.Has("service") || q.Get("service") == call.Service) && (!q.Has("method") || q.Get("method") == call.Method) && (!q.Has("route") || q.Get("route") == call.Route) {
			calls = append(calls, call)
		}
	}
	return map[string]any{"calls": calls}, nil
}

// adminFault is a fault whose delay is text.
type adminFault struct {
	wire.Fault
	Delay Duration `json:"delay,omitzero"`
}

func (c *Cloud) adminListFaults(*http.Request) (any, error) {
	faults := []adminFault{}
	for _, f := range c.faults.List() {
		faults = append(faults, adminFault{f, Duration(f.Delay)})
	}
	return map[string]any{"faults": faults, "held": c.faults.Held()}, nil
}

func (c *Cloud) adminAddFault(r *http.Request) (any, error) {
	var f adminFault
	if err := decode(r, &f); err != nil {
		return nil, err
	}
	f.Fault.Delay = time.Duration(f.Delay)
	if err := f.Validate(); err != nil {
		return nil, err
	}
	f.ID = c.faults.Add(f.Fault)
	return f, nil
}

func (c *Cloud) adminRemoveFault(r *http.Request) (any, error) {
	if id := r.PathValue("id"); !c.faults.Remove(id) {
		return nil, fmt.Errorf("no fault with the id %s: %w", id, errNotFound)
	}
	return nil, nil
}

// adminLatency is the latency of an operation, as text.
type adminLatency struct {
	wire.Operation
	Latency Duration `json:"latency"`
}

func (c *Cloud) adminListLatency(*http.Request) (any, error) {
	all := []adminLatency{}
	for _, l := range c.latency.List() {
		all = append(all, adminLatency{l.Operation, Duration(l.Latency)})
	}
	return map[string]any{"latency": all}, nil
}

func (c *Cloud) adminSetLatency(r *http.Request) (any, error) {
	var l adminLatency
	if err := decode(r, &l); err != nil {
		return nil, err
	}
	c.latency.Set(l.Operation, time.Duration(l.Latency))
	return c.adminListLatency(r)
}

func (c *Cloud) adminSettings(r *http.Request) (any, error) {
	var change SettingsChange
	if err := decode(r, &change); err != nil {
		return nil, err
	}
	if err := c.Change(change); err != nil {
		return nil, err
	}
	return c.Settings(), nil
}

func (c *Cloud) adminListServers(*http.Request) (any, error) {
	servers := []any{}
	for _, server := range c.nova.Servers() {
		addresses := []netip.Addr{}
		for _, nic := range server.Interfaces {
			for _, ip := range nic.FixedIPs {
				addresses = append(addresses, ip.Address)
			}
		}
		servers = append(servers, map[string]any{"id": server.ID, "name": server.Name, "addresses": addresses})
	}
	return map[string]any{"servers": servers}, nil
}

func (c *Cloud) adminAddServer(r *http.Request) (any, error) {
	var body struct {
		Name      string       `json:"name"`
		Addresses []netip.Addr `json:"addresses"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Name == "" {
		return nil, errors.New("a server needs a name")
	}
	id, err := c.AddServer(body.Name, body.Addresses...)
	if err != nil {
		return nil, err
	}
	return map[string]string{"id": id}, nil
}
