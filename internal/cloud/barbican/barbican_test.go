// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cloud is a simulated cloud and a Client for it.
type cloud struct {
	*cloudsim.Cloud
	*barbican.Client
	session *openstack.Session
	t       *testing.T
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	c, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	conf, err := config.Parse("cloud.conf", []byte(c.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	c.Recorder().Reset()
	return cloud{c, barbican.New(session.KeyManager(), never), session, t}
}

// store stores something in Barbican without recording the call, and returns its reference.
func (c cloud) store(kind string, wish map[string]any) lb.SecretRef {
	c.t.Helper()
	body, err := json.Marshal(wish)
	if err != nil {
		c.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/"+kind, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.Barbican().Mux().ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), wire.Identity{
		UserID: c.IDs().User, ProjectID: c.IDs().Project, Roles: []string{"member", "creator"},
	})))
	var answer map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		c.t.Fatalf("%d: %s: %v", w.Code, w.Body, err)
	}
	ref, ok := lb.ParseSecretRef(answer[strings.TrimSuffix(kind, "s")+"_ref"])
	if !ok {
		c.t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return ref
}

func TestAUsableCertificateIsLookedUpOnce(t *testing.T) {
	c := newCloud(t)
	if !c.Available() {
		t.Fatal("the cloud has a Barbican")
	}
	bundle := c.store("secrets", map[string]any{"payload": "AAAA", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"})
	key := c.store("secrets", map[string]any{"name": "key"})
	container := c.store("containers", map[string]any{"type": "certificate", "secret_refs": []any{
		map[string]any{"name": "certificate", "secret_ref": "http://example.com/v1/secrets/" + bundle.ID},
		map[string]any{"name": "private_key", "secret_ref": "http://example.com/v1/secrets/" + key.ID},
	}})
	for range 3 {
		for _, ref := range []lb.SecretRef{bundle, container} {
			if err := c.Check(t.Context(), ref); err != nil {
				t.Errorf("%+v: %v", ref, err)
			}
		}
	}
	calls := c.Recorder().Calls()
	if len(calls) != 2 {
		t.Fatalf("%d calls were made, want one for each", len(calls))
	}
	for _, call := range calls {
		if call.Method != http.MethodGet || strings.Contains(call.Path, "payload") {
			t.Errorf("%s %s", call.Method, call.Path)
		}
	}
}

func TestAnUnusableCertificateIsAnError(t *testing.T) {
	c := newCloud(t)
	const absent = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	text := c.store("secrets", map[string]any{"payload": "hello", "payload_content_type": "text/plain"})
	for name, test := range map[string]struct {
		ref   lb.SecretRef
		class openstack.Class
		words string
	}{
		"no secret":            {lb.SecretRef{Kind: "secrets", ID: absent}, openstack.Gone, absent},
		"no container":         {lb.SecretRef{Kind: "containers", ID: absent}, openstack.Gone, absent},
		"a text":               {text, openstack.Invalid, "text"},
		"an empty secret":      {c.store("secrets", map[string]any{"name": "later"}), openstack.Invalid, "is empty"},
		"a container of texts": {c.store("containers", map[string]any{"type": "generic", "secret_refs": []any{}}), openstack.Invalid, "generic"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // it is not remembered
				c.Recorder().Reset()
				err := c.Check(t.Context(), test.ref)
				if openstack.Classify(err) != test.class || !strings.Contains(err.Error(), test.words) {
					t.Error(err)
				}
				if n := len(c.Recorder().Calls()); n != 1 {
					t.Errorf("%d calls", n)
				}
			}
		})
	}
}

func never() bool { return false }

func TestACloudMayHaveNoBarbican(t *testing.T) {
	var none *barbican.Client
	if none.Available() || barbican.New(nil, nil).Available() {
		t.Error("there is one")
	}
}

// answering is a Barbican with one answer.
type answering []byte

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a)
	return w.Result(), nil
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{`{"secrets": [{"name": null, "secret_ref": "x"}, {"name": "a", "secret_ref": "http://x/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}], "total": 1}`, `{"secrets": [], "total": 7}`, `{"secret_ref": 5}`, `{"secrets": [{}], "total": 999999999}`, `{"type": "certificate"}`, `{"content_types": {"default": "application/octet-stream"}}`, `{"content_types": null}`, `[]`, ``, `{"type": 7}`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, container bool) {
		provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: answering(body)}}
		c := barbican.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://barbican.test/v1/", Type: "key-manager"}, never)
		ref := lb.SecretRef{Kind: "secrets", ID: "1"}
		if container {
			ref.Kind = "containers"
		}
		_, listed := c.Certificates(t.Context(), "c")
		_, stored := c.Store(t.Context(), "name", nil)
		for _, err := range []error{c.Check(t.Context(), ref), listed, stored} {
			var known *openstack.Error
			if err != nil && !errors.As(err, &known) {
				t.Errorf("%T: %v", err, err)
			}
		}
	})
}
