// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/retry"
)

func TestARequestThatIsNotAnsweredInTimeFails(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"no answer": func(http.ResponseWriter) {},
		"half of an answer": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				begin(w)
				<-r.Context().Done()
			}))
			defer server.Close()
			client := http.Client{Transport: limited{http.DefaultTransport, 20 * time.Millisecond}}
			err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
				answer, err := client.Get(server.URL + "/api/v1/nodes/a")
				if err == nil {
					err = answer.Body.Close()
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "has not answered GET /api/v1/nodes/a within 20ms") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAnAnswerInTimeArrivesWhole(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"kind": "Node"}`) }))
	defer server.Close()
	client := http.Client{Transport: limited{http.DefaultTransport, time.Minute}}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); string(body) != `{"kind": "Node"}` || err != nil {
		t.Errorf("the answer is %q, %v", body, err)
	}
}
