// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/deploy"
)

// echoes are refusals of clouds that repeat what they were sent. %s is where they
// do.
var echoes = []struct {
	service, method, route string
	status                 int
	body                   string
}{
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 400, `{"faultcode": "Client", "faultstring": "%s", "debuginfo": null}`},
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 500, `{"faultstring": "%s"}`},
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 503, `{"message": "%s"}`},
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 502, "<html>%s"},
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 200, "%s"},
	{cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/listeners", 201, `{"listener": {"id": "%s"`},
	{cloudsim.Identity, http.MethodPost, "/v3/auth/tokens", 400, `{"error": {"code": 400, "title": "Bad Request", "message": "%s"}}`},
	{cloudsim.Identity, http.MethodPost, "/v3/auth/tokens", 500, `{"error": {"code": 500, "title": "Internal Server Error", "message": "%s"}}`},
	{cloudsim.Identity, http.MethodPost, "/v3/auth/tokens", 401, `{"error": {"code": 401, "title": "Unauthorized", "message": "%s"}}`},
}

// TestSecretsAreNotShownByAnyFailure runs the controller with all logs
// there are, lets the cloud repeat what it was sent in its refusals, and has the
// controller end with a dump of all goroutines. What was shown is searched when
// the stage is taken down.
func TestSecretsAreNotShownByAnyFailure(t *testing.T) {
	simulatorOnly(t, "the refusals are made up")
	program := build(t)
	for _, kind := range []string{"password", "application credential"} {
		t.Run(kind, func(t *testing.T) {
			s := newStage(t, settings{off: true})
			s.deleteLease()
			login := s.cloud.Credentials().Password
			if kind != "password" {
				login = s.authenticateByApplicationCredential()
			} else if err := cloudsim.WriteFile(s.cloudConf(), s.cloud.PasswordConf()); err != nil {
				t.Fatal(err)
			}
			health, metrics := freeAddress(t), freeAddress(t)
			p := s.launch(program, "--v=9", "--leader-elect-resource-namespace="+deploy.Namespace,
				"--health-probe-bind-address="+health, "--metrics-bind-address="+metrics)
			web := s.service("web", tcp(8080))
			web.waitUntilProgrammed()
			for i, echo := range echoes {
				if kind != "password" && echo.service != cloudsim.Identity {
					continue // a call like any other's, with a token
				}
				s.isRepeated(p, web, login, i)
				if t.Failed() {
					t.Fatalf("after %+v", echo)
				}
			}
			s.servesNoProfiles(p, health, metrics)
			s.planWithAllLogs(program)
			p.dump()
		})
	}
}

// isRepeated lets the cloud repeat the credentials in its answer when the Service
// gets one more port, and waits until the controller has got over it.
func (s *stage) isRepeated(p *process, web *service, login string, i int) {
	s.t.Helper()
	echo, marker := echoes[i], fmt.Sprintf("echo-%d", i)
	said := fmt.Sprintf("%s: you sent %s", marker, s.token())
	if echo.service == cloudsim.Identity {
		said = fmt.Sprintf("%s: you sent %s", marker, login)
	}
	s.cloud.Faults().Add(wire.Fault{Service: echo.service, Method: echo.method, Route: echo.route, Kind: wire.FaultStatus,
		Status: echo.status, Body: fmt.Sprintf(echo.body, said), Times: 1})
	if echo.service == cloudsim.Identity {
		s.cloud.ExpireTokens()
	}
	port := int32(9000 + i)
	web.change(tcp(port))
	s.eventually(func() error {
		if left := s.cloud.Faults().List(); len(left) > 0 {
			return fmt.Errorf("no call met the fault %s", marker)
		}
		return nil
	})
	if strings.HasPrefix(echo.body, "{") && echo.status >= 400 {
		s.eventually(func() error {
			if told := p.log.lines(marker); len(told) == 0 || !strings.Contains(told[0], "you sent [redacted]") {
				return fmt.Errorf("what the cloud says of %s is told as %q", marker, told)
			}
			return nil
		})
	}
	s.requireNoSecretShown() // what conditions say goes away
	s.eventually(func() error {
		web.change(touched(fmt.Sprint(len(p.log.String())))) // what is refused for good is tried again late, or when asked for
		if web.tree().listener(fmt.Sprintf("TCP/%d", port)).ID == "" {
			return fmt.Errorf("port %d is not open", port)
		}
		return nil
	})
	web.waitUntilProgrammed()
}

// token returns the one that was issued last.
func (s *stage) token() string {
	s.t.Helper()
	all := slices.DeleteFunc(s.cloud.Secrets(), func(secret string) bool { return !strings.HasPrefix(secret, "gAAAAA") })
	if len(all) == 0 {
		s.t.Fatal("no token was issued")
	}
	return all[len(all)-1]
}

// servesNoProfiles looks at what the controller serves, which is metrics and
// probes, and no profiles.
func (s *stage) servesNoProfiles(p *process, health, metrics string) {
	s.t.Helper()
	page, err := fetch("http://" + metrics + "/metrics")
	if err != nil {
		s.t.Error(err)
	}
	s.shows("/metrics of the process", text(page))
	for _, address := range []string{health, metrics} {
		for _, path := range []string{"", "heap", "goroutine", "cmdline", "profile", "trace"} {
			if _, err := fetch("http://" + address + "/debug/pprof/" + path); err == nil || !strings.Contains(err.Error(), "404") {
				s.t.Errorf("/debug/pprof/%s is served: %v", path, err)
			}
		}
	}
	for _, sign := range []string{"OpenStack call", "Request Body"} {
		if len(p.log.lines(sign)) == 0 {
			s.t.Errorf("the log is not a full one, it has no %q", sign)
		}
	}
}

// planWithAllLogs runs plan with all logs there are.
func (s *stage) planWithAllLogs(program string) {
	s.t.Helper()
	var out log
	s.shows("what plan says", &out)
	plan := exec.Command(program, "plan", "--v=9", "--cloud-config="+s.cloudConf(), "--kubeconfig="+s.adminKubeconfig())
	plan.Stdout, plan.Stderr = &out, &out
	if err := plan.Run(); err != nil || !strings.Contains(out.String(), "nothing to do") {
		s.t.Errorf("plan: %v:\n%s", err, out.String())
	}
}

// dump ends the process with a dump of all goroutines, as a panic would.
func (p *process) dump() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGQUIT); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	if len(p.log.lines("goroutine ")) < 10 {
		p.t.Error("there is no dump of goroutines")
	}
}

// authenticateByApplicationCredential creates an application credential and lets cloud.conf have it
// in place of the password. It returns its secret.
func (s *stage) authenticateByApplicationCredential() (secret string) {
	s.t.Helper()
	conf, secret := s.credentialWith(s.namespace, nil)
	if err := cloudsim.WriteFile(s.cloudConf(), conf); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// credentialWith creates an application credential with access rules, or without any if they are nil. It returns
// a cloud.conf that has it, and its secret.
func (s *stage) credentialWith(name string, rules []applicationcredentials.AccessRule) (conf, secret string) {
	s.t.Helper()
	who := s.cloud.Credentials()
	login := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]string{"id": who.UserID, "password": who.Password}}},
		"scope": map[string]any{"project": map[string]string{"id": who.ProjectID}},
	}}
	token := s.keystone("", "auth/tokens", login, nil).Get("X-Subject-Token")
	var made struct {
		Credential struct{ ID, Secret string } `json:"application_credential"`
	}
	wish := map[string]any{"name": name}
	if rules != nil {
		wish["access_rules"] = rules
	}
	s.keystone(token, "users/"+who.UserID+"/application_credentials", map[string]any{"application_credential": wish}, &made)
	conf = fmt.Sprintf("[Global]\nauth-url=%s/v3\napplication-credential-id=%s\napplication-credential-secret=%s\nregion=%s\n",
		s.cloud.AuthURL(), made.Credential.ID, made.Credential.Secret, who.Region)
	_, rest, _ := strings.Cut(s.cloud.CloudConf(), "[LoadBalancer]")
	return conf + "[LoadBalancer]" + rest, made.Credential.Secret
}

// keystone posts to Keystone and returns the header of its answer.
func (s *stage) keystone(token, path string, body, answer any) http.Header {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.cloud.AuthURL()+"/v3/"+path, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestTimeout}
	resp, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		s.t.Fatalf("POST %s: %s", path, resp.Status)
	}
	if answer != nil {
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
			s.t.Fatal(err)
		}
	}
	return resp.Header
}
