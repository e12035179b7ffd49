// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// limited limits the duration of requests, including the whole response. The error is not context.DeadlineExceeded,
// which a timeout in rest.Config would return: RetryOnConflict of client-go, with which Kubernetes' controllers write,
// treats that as success.
type limited struct {
	to    http.RoundTripper
	limit time.Duration
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), l.limit)
	defer cancel()
	answer, err := l.to.RoundTrip(request.WithContext(ctx))
	if err == nil {
		var body []byte
		body, err = io.ReadAll(answer.Body)
		err = errors.Join(err, answer.Body.Close())
		answer.Body = io.NopCloser(bytes.NewReader(body))
	}
	switch {
	case err == nil:
		return answer, nil
	case request.Context().Err() == nil && ctx.Err() != nil:
		return nil, fmt.Errorf("the Kubernetes API has not answered %s %s within %v", request.Method, request.URL.Path, l.limit)
	}
	return nil, err
}
