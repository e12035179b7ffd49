// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Requester makes requests to the services of a cloud as one user: a [Client] to a real cloud,
// a [SimulatedClient] to a simulated one.
type Requester interface {
	// Do makes a request to a service; path begins after the host: "/v2.0/ports". An answer
	// of any status is no error.
	Do(ctx context.Context, service, method, path string, body []byte) (Response, error)
}

// StatusError is the answer to a request that failed.
type StatusError struct {
	Method, Path string
	Response
}

// Error returns the status and the text of the answer.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Status, e.Body)
}

// Call makes a request with a body of JSON unless that is nil, and decodes the answer into
// answer unless that is nil. If the request fails, the error is a [StatusError].
func Call(ctx context.Context, c Requester, service, method, path string, body, answer any) error {
	var encoded []byte
	if body != nil {
		var err error
		encoded, err = json.Marshal(body)
		if err != nil {
			return err
		}
	}
	response, err := c.Do(ctx, service, method, path, encoded)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.Status >= http.StatusMultipleChoices {
		return &StatusError{Method: method, Path: path, Response: response}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(response.Body, answer)
}
