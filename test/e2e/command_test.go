// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// planned is what `kube-octavia plan -o json` says of one Service.
type planned struct {
	Namespace, Name string
	LoadBalancerID  string
	Ops             []struct {
		Kind, Text string
		Op         map[string]any
	}
	Refused []struct{ Reason, Message string }
	Error   string
}

// kinds returns those of the planned ops.
func (p planned) kinds() []string {
	var kinds []string
	for _, op := range p.Ops {
		kinds = append(kinds, op.Kind)
	}
	return kinds
}

// plans runs `kube-octavia plan -o json` on the namespace, which must end with the status.
func (s *stage) plans(status int) []planned {
	s.t.Helper()
	got, out, errs := s.run("plan", "--namespace="+s.namespace, "--output=json")
	if got != status {
		s.t.Fatalf("plan ended with status %d, not %d:\n%s%s", got, status, out, errs)
	}
	var list struct{ Items []planned }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.t.Fatalf("%v in:\n%s", err, out)
	}
	return list.Items
}

func TestPlanShowsWhatTheControllerWouldDoAndDoesNothing(t *testing.T) {
	skipOnRealOpenStack(t, "what it reads is what the controller reads")
	s := newStage(t, settings{off: true, conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081))
	refused := s.service("refused", tcp(8080), annotated(internalKey, "maybe"))
	was := []any{web.now(), refused.now()}

	all := s.plans(1) // one is refused
	if len(all) != 2 || all[0].Name != "refused" || all[1].Name != "web" {
		t.Fatalf("plans: %+v", all)
	}
	if len(all[0].Ops) > 0 || len(all[0].Refused) != 1 || all[0].Refused[0].Reason != "InvalidAnnotation" {
		t.Errorf("plan of a Service that is refused: %+v", all[0])
	}
	if d := cmp.Diff([]string{"CreateLoadBalancer", "CreateFloatingIP"}, all[1].kinds()); d != "" {
		t.Errorf("ops (-want +have): %s", d)
	}
	status, text, errs := s.run("plan", "-n", s.namespace, "web")
	if status != 2 || !strings.Contains(text, s.namespace+"/web: no load balancer") || !strings.Contains(text, "1. create load balancer "+web.lbName()) {
		t.Errorf("status %d:\n%s%s", status, text, errs)
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	if d := cmp.Diff(was, []any{web.now(), refused.now()}); d != "" {
		t.Errorf("Services were written to (-was +is): %s", d)
	}

	s.start()
	web.waitUntilProgrammed()
	have := web.tree()
	s.stop()
	status, text, errs = s.run("plan", "-n", s.namespace, "web")
	if status != 0 || !strings.Contains(text, "load balancer "+have.ID+", ACTIVE") || !strings.Contains(text, "nothing to do") {
		t.Errorf("status %d:\n%s%s", status, text, errs)
	}

	s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
	s.eventually(func() error { return s.is("ACTIVE", web) })
	i := slices.IndexFunc(s.plans(1), func(p planned) bool { return p.Name == "web" })
	if kinds := s.plans(1)[i].kinds(); !slices.Contains(kinds, "CreateListener") {
		t.Errorf("a listener is missing, and the plan is %v", kinds)
	}
	web.delete()
	if kinds := s.plans(1)[i].kinds(); !slices.Equal(kinds, []string{"DeleteFloatingIP", "DeleteLoadBalancer"}) {
		t.Errorf("the Service is being deleted, and the plan is %v", kinds)
	}
}

func TestPlanReportsWhatItCannotRead(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	s.service("web", tcp(8080))
	if status, out, errs := s.run("plan", "-n", s.namespace, "other"); status != 1 || !strings.Contains(errs, s.namespace+"/other") {
		t.Errorf("status %d of a Service that is not there:\n%s%s", status, out, errs)
	}
	nowhere := strings.ReplaceAll(s.cloud.CloudConf(), s.cloud.AuthURL(), "http://127.0.0.1:1")
	if err := cloudsim.WriteFile(s.cloudConf(), nowhere); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := s.run("plan", "-n", s.namespace); status != 1 || !strings.Contains(errs, "connect to OpenStack") {
		t.Errorf("status %d without a cloud:\n%s%s", status, out, errs)
	}
	s.writeFiles()
}

func TestCommandsSayWhyThereIsNoServiceToHandle(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{off: true})
	other := s.service("other", tcp(8080), ofClass("example.com/other"))
	named := s.namespace + "/" + other.name
	class := `spec.loadBalancerClass is "example.com/other", and --load-balancer-class is "kube-octavia.io/octavia"`
	for _, c := range []struct {
		name string

		args     []string
		status   int
		out, err string
	}{
		{"all Services of a namespace that does not exist", []string{"plan", "-n", "nope"}, 1, "", `namespace "nope" does not exist`},
		{"a Service of a namespace that does not exist", []string{"plan", "-n", "nope", "web"}, 1, "", `namespace "nope" does not exist`},
		{"a namespace without Services", []string{"plan", "-n", "kube-public"}, 0, "", "there is no Service to handle in namespace kube-public: none is of type LoadBalancer"},
		{"a namespace without Services to handle", []string{"plan", "-n", s.namespace}, 0, "", "there is no Service to handle in namespace " + s.namespace + "; 1 of type LoadBalancer: " + class},
		{"a Service that does not exist", []string{"plan", "-n", s.namespace, "web"}, 1, "", "Service " + s.namespace + "/web does not exist"},
		{"a Service that is not in the default namespace", []string{"plan", "no-such-service"}, 1, "", "Service default/no-such-service does not exist; without --namespace, the command looks in namespace default"},
		{"a Service of another class", []string{"plan", "-n", s.namespace, other.name}, 0, named + ": not handled: " + class, ""},
		{"a Service of another type", []string{"plan", "-n", "default", "kubernetes"}, 0, "default/kubernetes: not handled: its type is ClusterIP and not LoadBalancer", ""},
		{"a Service of another class, as JSON", []string{"plan", "-n", s.namespace, other.name, "-o", "json"}, 0, `"notHandled": "spec.loadBalancerClass is`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			status, out, errs := s.run(c.args...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) || c.out == "" && out != "" || c.err == "" && errs != "" {
				t.Errorf("%v: status %d, printed %q, said %q; want %d, %q, %q", c.args, status, out, errs, c.status, c.out, c.err)
			}
		})
	}
}

func TestControllerDoesNotStartOnAWrongConfiguration(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "cloud.conf")
	for _, c := range []struct {
		name, text string
		args       []string
		parts      []string
	}{
		{"unknown key", "[Global]\nauth-url=http://127.0.0.1:1/v3\n\n[LoadBalancer]\nflaoting-network-id=x\n", nil, []string{conf + ":5", "flaoting-network-id", "floating-network-id"}},
		{"unknown section", "[Global]\nauth-url=http://127.0.0.1:1/v3\n[LoadBalancers]\n", nil, []string{conf + ":3", "LoadBalancers", "LoadBalancer"}},
		{"bad value", "[Global]\nauth-url=http://127.0.0.1:1/v3\n[LoadBalancer]\ncreate-monitor=sometimes\n", nil, []string{conf + ":4", "create-monitor", "sometimes"}},
		{"no file", "", []string{"--cloud-config=" + conf + ".missing"}, []string{conf + ".missing"}},
		{"no flag", "", []string{"--cloud-config="}, []string{"--cloud-config"}},
		{"unknown flag", "", []string{"--sweep=1s"}, []string{"--sweep"}},
		{"bad flag", "", []string{"--concurrency=0"}, []string{"--concurrency 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(conf, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs log
			args := append([]string{"controller", "--cloud-config=" + conf}, c.args...)
			status := cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &errs}, cli.Options{Version: "test"})
			if status != 1 {
				t.Errorf("status %s", strconv.Itoa(status))
			}
			for _, part := range c.parts {
				if !strings.Contains(errs.String(), part) {
					t.Errorf("the error does not name %q: %s", part, errs.String())
				}
			}
		})
	}
}
