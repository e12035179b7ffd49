// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// output is something that users can read.
type output struct {
	name string
	text fmt.Stringer
}

// text is an output that does not grow any more.
type text string

// String returns the text.
func (t text) String() string { return string(t) }

// shows adds to what is searched for secrets when the test ends.
func (s *stage) shows(name string, what fmt.Stringer) {
	s.outputs = append(s.outputs, output{name, what})
}

// visible returns all that the controller and other commands have shown so far: what they wrote,
// what stands in the Services of the stage and in events, and the metrics of this process.
func (s *stage) visible() []output {
	s.t.Helper()
	ctx := context.Background() // the test may have ended
	services, err := s.client.CoreV1().Services(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	events, err := s.client.EventsV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	page := httptest.NewRecorder()
	promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	all := append(slices.Clone(s.outputs), output{"/metrics", text(page.Body.String())})
	for name, list := range map[string]any{"the Services": services.Items, "the events": events.Items} {
		encoded, err := json.Marshal(list)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, output{name, text(encoded)})
	}
	return all
}

// secrets returns all secrets that are in use.
func (s *stage) secrets() []string {
	return append(append(s.cloud.Secrets(), s.keys...), controllerToken(s.t), kubetest.Cluster(s.t).Config().BearerToken)
}

// requireNoSecretShown fails the test if anything that can be read holds a secret.
func (s *stage) requireNoSecretShown() {
	s.t.Helper()
	for _, leak := range leaks(s.visible(), s.secrets()) {
		s.t.Error(leak)
	}
}

// leaks reports which outputs hold secrets, or a good part of one: the first line of each, without
// them.
func leaks(outputs []output, secrets []string) []string {
	var found, pairs []string
	for _, form := range forms(secrets) {
		pairs = append(pairs, form, "<SECRET>")
	}
	hide := strings.NewReplacer(pairs...)
	for _, o := range outputs {
		for line := range strings.Lines(o.text.String()) {
			if hidden := hide.Replace(line); hidden != line {
				found = append(found, o.name+" shows a secret: "+around(strings.TrimSpace(hidden), "<SECRET>"))
				break
			}
		}
	}
	return found
}

// around returns the part of a long line that is near the first such text.
func around(line, what string) string {
	const near = 200
	at := strings.Index(line, what)
	return line[max(at-near, 0):min(at+len(what)+near, len(line))]
}

// telling is the length from which the beginning or the end of a secret reveals too much.
const telling = 24

// forms returns the texts that show a secret: itself, as it is written elsewhere, and its beginning
// and end.
func forms(secrets []string) []string {
	var all []string
	for _, secret := range secrets {
		quoted, _ := json.Marshal(secret) // a string is never refused
		all = append(all, secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)))
		if len(secret) > 2*telling {
			all = append(all, secret[:telling], secret[len(secret)-telling:])
		}
	}
	// The longest first: it is what is hidden where several begin.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.DeleteFunc(slices.Compact(all), func(form string) bool { return form == "" })
}

func TestSecretsAreFoundInAnyOutput(t *testing.T) {
	const password, token = "correct/horse+battery", "gAAAAABmVx0kKz0m3eQv7-0123456789abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJ"
	for name, c := range map[string]struct{ content, want string }{
		"no secret":                   {"level=info msg=done password=[redacted]\n", ""},
		"the password":                {"first\npassword=correct/horse+battery\nlast", "password=<SECRET>"},
		"the password in an address":  {"GET /?password=correct%2Fhorse%2Bbattery\n", "GET /?password=<SECRET>"},
		"the password in a Secret":    {"password: " + base64.StdEncoding.EncodeToString([]byte(password)), "password: <SECRET>"},
		"a token":                     {"X-Auth-Token: " + token, "X-Auth-Token: <SECRET>"},
		"the beginning of a token":    {"X-Auth-Token: " + token[:telling] + "...", "X-Auth-Token: <SECRET>..."},
		"the end of a token":          {"..." + token[len(token)-telling:], "...<SECRET>"},
		"the beginning of all tokens": {"gAAAAAB...", ""},
		"a password and a token":      {password + " " + token, "<SECRET> <SECRET>"},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{"the log shows a secret: " + c.want}
			}
			if d := gocmp.Diff(want, leaks([]output{{"the log", text(c.content)}, {"another", text("")}}, []string{password, token})); d != "" {
				t.Errorf("(-want +got): %s", d)
			}
		})
	}
}
