// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

const unauthorized = "The request you have made requires authentication."

// problem is an error in Keystone's format.
type problem struct {
	status  int
	message string
}

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Keystone uri="http://`+r.Host+`/v3"`)
	}
	body := map[string]any{"code": p.status, "message": p.message, "title": http.StatusText(p.status)}
	if p.status == http.StatusUnauthorized && p.message != unauthorized {
		body["identity"] = map[string]any{} // the other methods of the login: none
	}
	wire.JSON(w, p.status, map[string]any{"error": body})
}

func denied() *problem { return &problem{http.StatusUnauthorized, unauthorized} }

// forbidden returns the refusal of an action; "" is an action that Keystone does not name.
func forbidden(action string) *problem {
	if action != "" {
		action = ": " + action
	}
	return &problem{http.StatusForbidden, "You are not authorized to perform the requested action" + action + "."}
}

func notFound(kind, id string) *problem {
	return &problem{http.StatusNotFound, "Could not find " + kind + ": " + id + "."}
}

func malformed(what string) *problem {
	return &problem{http.StatusBadRequest, what + " The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error."}
}

// invalid returns the refusal of a request that does not match the schema.
func invalid(what string) *problem { return &problem{http.StatusBadRequest, what} }

// readObject decodes the object under a key of the request's body into v, if there is one. It also
// returns the object as it was sent, or nil if there is none.
func readObject(r *http.Request, key string, v any) (any, *problem) {
	var body map[string]json.RawMessage
	if p := readBody(r, &body); p != nil || body[key] == nil {
		return nil, p
	}
	var object any
	if json.Unmarshal(body[key], v) != nil || json.Unmarshal(body[key], &object) != nil {
		return nil, malformed("Expecting to find valid JSON in request body.")
	}
	return object, nil
}

// lacks returns the refusal of an application credential or a trust without a required key. Since 2025.1 the message
// shows what was sent.
func (s *Service) lacks(kind string, asSent any, key string) *problem {
	sentence := "'" + key + "' is a required property"
	if s.release >= release.Epoxy && asSent != nil {
		sentence = "Invalid input for field/attribute " + kind + ". Value: " + wire.Python(asSent) + ". " + sentence
	}
	return invalid(sentence)
}

// unknownToken returns the refusal of a token that is not valid any more, or that the caller may
// not inspect.
func unknownToken() *problem { return &problem{http.StatusNotFound, "Failed to validate token"} }

// conflict returns the refusal of a second object with the same name.
func conflict(what, id string) *problem {
	return &problem{http.StatusConflict, "Conflict occurred attempting to store " + what + " - Duplicate entry found with " + id + "."}
}

// Unauthorized answers a request that lacks a valid token.
func Unauthorized(w http.ResponseWriter, r *http.Request) { denied().write(w, r) }

// readBody decodes the request's body into v.
func readBody(r *http.Request, v any) *problem {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		return malformed("Expecting to find valid JSON in request body.")
	}
	return nil
}

// timestamp writes a time as Keystone does in tokens, which have only whole seconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") + ".000000Z" }

// writeList answers a GET of a list that Keystone never pages.
func writeList(w http.ResponseWriter, r *http.Request, key string, items any) {
	wire.JSON(w, http.StatusOK, listed(r, key, items))
}

// listed returns the body of an answer that is a list.
func listed(r *http.Request, key string, items any) map[string]any {
	return map[string]any{key: items, "links": map[string]any{"self": selfLink(r), "previous": nil, "next": nil}}
}

func selfLink(r *http.Request) string { return "http://" + r.Host + r.URL.RequestURI() }

func links(r *http.Request, path ...string) map[string]string {
	return map[string]string{"self": "http://" + r.Host + "/v3/" + strings.Join(path, "/")}
}

// NotFound answers requests for paths that Keystone does not have.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n") // the client may have gone away
}

func (s *Service) listVersions(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", "http://"+r.Host+"/v3/")
	wire.JSON(w, http.StatusMultipleChoices, map[string]any{"versions": map[string]any{"values": []any{version(r)}}})
}

func (s *Service) showVersion(w http.ResponseWriter, r *http.Request) {
	wire.JSON(w, http.StatusOK, map[string]any{"version": version(r)})
}

func version(r *http.Request) map[string]any {
	return map[string]any{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []any{map[string]string{"rel": "self", "href": "http://" + r.Host + "/v3/"}},
		"media-types": []any{map[string]string{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}
