// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// problem is an error answer in the form of Barbican.
type problem struct {
	status      int
	description string
}

func (p *problem) Error() string { return p.description }

func refused(status int, format string, args ...any) error {
	return &problem{status, fmt.Sprintf(format, args...)}
}

func notFound(description string) error { return &problem{http.StatusNotFound, description} }

// notAllowed returns the refusal of an action that the caller may not perform, such as "Secret
// retrieval".
func notAllowed(what string) error {
	return refused(http.StatusForbidden, "%s attempt not allowed - please review your user/project privileges", what)
}

// unfit returns the refusal of a body that does not match the schema. The property is "None" if the
// body as a whole does not match.
func unfit(schema, property, format string, args ...any) error {
	return refused(http.StatusBadRequest, "Provided object does not match schema '%s': %s. Invalid property: '%s'", schema, fmt.Sprintf(format, args...), property)
}

func refuse(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{http.StatusInternalServerError, err.Error()}
	}
	wire.JSON(w, p.status, map[string]any{"code": p.status, "title": http.StatusText(p.status), "description": p.description})
}

// NotFound answers requests for paths that Barbican does not have.
func NotFound(w http.ResponseWriter, r *http.Request) {
	versioned(func(w http.ResponseWriter, _ *http.Request) { refuse(w, notFound("")) }).ServeHTTP(w, r)
}

// wantType refuses a body whose content type is not one of types.
func wantType(r *http.Request, types ...string) error {
	have, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if slices.Contains(types, have) {
		return nil
	}
	return refused(http.StatusUnsupportedMediaType, "Unexpected content type. Expected content types are: ['%s']", strings.Join(types, "', '"))
}

// readBody reads a JSON object.
func readBody(r *http.Request) (map[string]any, error) {
	if err := wantType(r, "application/json"); err != nil {
		return nil, err
	}
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil || body == nil {
		return nil, refused(http.StatusBadRequest, "Malformed JSON")
	}
	return body, nil
}
