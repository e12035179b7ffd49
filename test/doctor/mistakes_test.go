// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// written replaces a line of cloud.conf by one that is written as given.
func (s *setup) written(key, line string) {
	s.global(key, "x")
	s.conf = strings.Replace(s.conf, key+`="x"`, line, 1)
}

// credentialThatExpired makes cloud.conf one with an application credential that Keystone does not accept any more.
func credentialThatExpired(s *setup) {
	byCredentialOf(func(*setup) openstack.ApplicationCredential {
		return openstack.ApplicationCredential{Name: "expired", Expires: time.Now().Add(2 * time.Second)}
	})(s)
	conf, err := config.Parse("cloud.conf", []byte(s.conf))
	s.must(err)
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		session, err := openstack.Connect(s.ctx(), openstack.Options{Config: conf.Global})
		if err != nil {
			return
		}
		session.Close()
	}
	s.t.Fatal("the application credential does not expire")
}

// updated is when Octavia says that something was changed.
var updated = regexp.MustCompile(`"updated_at": *"[^"]*"`)

// stuck lets a change of the load balancer never end, and Octavia say that it began two hours ago.
func stuck(s *setup) {
	s.cloud.simulator.Octavia().HoldPending(s.balancer)
	s.do(cloudsim.LoadBalancer, http.MethodPut, listBalancers+"/"+s.balancer, map[string]any{"loadbalancer": map[string]any{"description": "changed"}}, nil)
	began := `"updated_at": "` + time.Now().Add(-2*time.Hour).UTC().Format("2006-01-02T15:04:05") + `"`
	var octavia *url.URL
	aged := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(octavia) }, ModifyResponse: func(r *http.Response) error {
		text, err := io.ReadAll(r.Body)
		text = updated.ReplaceAll(text, []byte(began))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}})
	s.t.Cleanup(aged.Close)
	s.throughProxy(func(_ *http.Response, token map[string]any) {
		for _, entry := range token["catalog"].([]any) {
			if entry := entry.(map[string]any); entry["type"] == cloudsim.LoadBalancer {
				octavia = moveTo(aged.URL, entry["endpoints"].([]any))
			}
		}
	})
}

// moveTo moves endpoints to another host, and returns the host where they were.
func moveTo(address string, endpoints []any) (host *url.URL) {
	for _, e := range endpoints {
		endpoint := e.(map[string]any)
		was, err := url.Parse(endpoint["url"].(string))
		if err != nil {
			return nil
		}
		host = &url.URL{Scheme: was.Scheme, Host: was.Host}
		endpoint["url"] = address + was.Path
	}
	return host
}

var ofMistakes = []situation{
	{name: "An annotation is unknown", arise: annotated("loadbalancer.openstack.org/mx-members", "5"),
		check: doctor.Annotations, status: doctor.Warning, what: "did you mean kube-octavia.io/max-members?", do: "Correct the keys, or remove the annotations"},
	{name: "An annotation that protects something is misspelt", arise: annotated("loadbalancer.openstack.org/keep-floating-ip", "true"),
		check: doctor.Annotations, status: doctor.Error, what: "did you mean loadbalancer.openstack.org/keep-floatingip?", do: "Correct the keys, or remove the annotations"},
	{name: "The application credential has expired", arise: credentialThatExpired,
		check: doctor.Credentials, status: doctor.Error, what: "401", do: "the application credential has expired or was deleted"},
	{name: "A load balancer is PENDING for long", simulator: true, arise: stuck,
		check: doctor.LoadBalancers, status: doctor.Error, what: "has been PENDING_UPDATE for 2h", do: "the operator of the cloud must repair it", lie: "status reset"},
	{name: "A value of cloud.conf is in single quotes", arise: func(s *setup) { s.written("region", "region = '"+s.cloud.login.Region+"'") },
		check: doctor.Configuration, status: doctor.Warning, what: "The value begins and ends with a single quote", do: "Write double quotes instead", lie: "Remove the key", also: []doctor.Check{doctor.Catalogue}},
	{name: "The kubeconfig does not have the context of --context", arise: func(s *setup) { s.args = []string{"--context=prod"} },
		check: doctor.Kubernetes, status: doctor.Error, what: `has no context "prod"`, do: "Set --context to one that it has: c", lie: "Set --kubeconfig"},
	{name: "A password ends at #", simulator: true, arise: byPassword(func(s *setup) {
		whole := s.cloud.login.Password + "#1"
		s.cloud.simulator.Keystone().SetPassword(s.cloud.userID, whole)
		s.written("password", "password = "+whole)
	}), check: doctor.Configuration, status: doctor.Warning, what: "A comment begins at the #", do: "write the value in double quotes", lie: "Remove the key", also: []doctor.Check{doctor.Credentials}},
}
