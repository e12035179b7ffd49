// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// answer is a response that is buffered until the faults are applied.
type answer struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}, status: http.StatusOK} }

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.wrote, a.status = true, status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.wrote = true
	return a.body.Write(p)
}

func (a *answer) send(w http.ResponseWriter) {
	a.sendHeader(w)
	_, _ = w.Write(a.body.Bytes()) // the client may have disconnected
}

func (a *answer) sendHeader(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	}
	w.WriteHeader(a.status)
}

// sendHalf announces the whole body and sends its first half.
func (a *answer) sendHalf(w http.ResponseWriter) {
	a.sendHeader(w)
	_, _ = w.Write(a.body.Bytes()[:a.body.Len()/2])
	_ = http.NewResponseController(w).Flush() // fails only if the client has disconnected
}

// leaveOut removes the items with these ids from the lists of a JSON answer.
func (a *answer) leaveOut(ids []string) {
	var body map[string]json.RawMessage
	if json.Unmarshal(a.body.Bytes(), &body) != nil {
		return
	}
	for key, value := range body {
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			continue
		}
		kept := slices.DeleteFunc(items, func(item json.RawMessage) bool {
			var named struct{ ID string }
			return json.Unmarshal(item, &named) == nil && slices.Contains(ids, named.ID)
		})
		encoded, err := json.Marshal(kept)
		if err != nil {
			return // cannot fail: it was JSON before
		}
		body[key] = encoded
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return
	}
	a.body.Reset()
	a.body.Write(encoded)
}

// reset ends the connection with a TCP reset (RST).
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// There is no connection to reset (HTTP/2, or a test's recorder): net/http aborts the
		// answer like this.
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // discards pending data and sends an RST
	}
	_ = conn.Close()
}
