// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// mount is a directory whose files change all at once, as kubelet does it with
// those of a Secret.
type mount struct {
	dir      string
	versions int
}

// write gives the file cloud.conf other contents.
func (m *mount) write(text string) error {
	m.versions++
	version := fmt.Sprintf("..v%d", m.versions)
	if err := cloudsim.WriteFile(filepath.Join(m.dir, version, "cloud.conf"), text); err != nil {
		return err
	}
	next := filepath.Join(m.dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(m.dir, "..data")); err != nil {
		return err
	}
	if m.versions > 1 {
		return nil
	}
	_ = os.Remove(filepath.Join(m.dir, "cloud.conf")) // the stage's own
	return os.Symlink(filepath.Join("..data", "cloud.conf"), filepath.Join(m.dir, "cloud.conf"))
}

// mounts lets the stage's cloud.conf be a file of a mount.
func (s *stage) mounts(text string) *mount {
	s.t.Helper()
	m := &mount{dir: s.dir}
	if err := m.write(text); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// person returns a cloud.conf with the password of the controller's user, and a session with it.
func (s *stage) person() (path string, session *openstack.Session) {
	s.t.Helper()
	path = filepath.Join(s.dir, "person.conf")
	if err := cloudsim.WriteFile(path, s.cloud.PasswordConf()); err != nil {
		s.t.Fatal(err)
	}
	conf, err := config.Load(path)
	if err != nil {
		s.t.Fatal(err)
	}
	session, err = openstack.Connect(s.t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(session.Close) // calls can be made still
	return path, session
}

// credential runs `kube-octavia credential`. Its result holds a secret, so it is
// not among the outputs that are searched for secrets.
func (s *stage) credential(args ...string) (out string, err error) {
	var result bytes.Buffer
	said := &log{}
	s.shows("what credential says", said)
	if status := cli.Run(context.Background(), append([]string{"credential"}, args...), cli.IO{Out: &result, Err: said}, cli.Options{Version: "test"}); status != 0 {
		return "", fmt.Errorf("credential %s: status %d: %s", args[0], status, said)
	}
	return result.String(), nil
}

// newCredential creates an application credential and returns a cloud.conf with it and its id. It
// is deleted when the controller needs it no more.
func (s *stage) newCredential(person string, session *openstack.Session, args ...string) (conf, id string, err error) {
	conf, err = s.credential(append([]string{"create", "--cloud-config=" + person, "--format=conf"}, args...)...)
	if err != nil {
		return "", "", err
	}
	read, err := config.Parse("cloud.conf", []byte(conf))
	id = read.Global.ApplicationCredentialID
	s.withdraw(session, id)
	return conf, id, err
}

// withdraw deletes the application credential at the end, if it exists.
func (s *stage) withdraw(session *openstack.Session, id string) {
	s.afterwards = append(s.afterwards, func() {
		if err := session.DeleteApplicationCredential(context.Background(), id); err != nil && openstack.Classify(err) != openstack.Gone {
			s.t.Error(err)
		}
	})
}

// probe asks one of the controller's probes, such as /readyz/credentials.
func (s *stage) probe(path string) (status int, body string) {
	s.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.controller.health + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// answers200 checks that a probe is content.
func (s *stage) answers200(path string) error {
	if status, body := s.probe(path); status != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", path, status, body)
	}
	return nil
}

// unreadyFor checks that the controller lives and is not ready for this reason.
func (s *stage) unreadyFor(reason string) error {
	status, body := s.probe("/readyz/credentials")
	if status == http.StatusOK || !strings.Contains(body, reason) {
		return fmt.Errorf("/readyz/credentials answers %d: %s", status, body)
	}
	if status, _ := s.probe("/readyz"); status == http.StatusOK {
		return errors.New("/readyz is content")
	}
	return s.answers200("/healthz")
}

// failedOps returns how many writes to the cloud were refused or failed in this process.
func failedOps(t *testing.T) int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	failed := 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			for _, label := range m.Label {
				if f.GetName() == "kube_octavia_ops_total" && label.GetName() == "class" && label.GetValue() != "" {
					failed += m.GetCounter().GetValue()
				}
			}
		}
	}
	return int(failed)
}

// TestNoPassFailsWhenCredentialsAreRotatedUnderLoad changes 20 Services all the
// time while the application credential is replaced five times. The old one is
// revoked as soon as the new one is in use.
func TestNoPassFailsWhenCredentialsAreRotatedUnderLoad(t *testing.T) {
	skipOnRealOpenStack(t, "it is about tokens, which are in the contract")
	s := newStage(t, settings{off: true, podless: true, flags: []string{"--concurrency=4"}})
	person, session := s.person()
	conf, old, err := s.newCredential(person, session)
	if err != nil {
		t.Fatal(err)
	}
	m := s.mounts(conf)
	s.start()
	var services []*service
	for i := range 20 {
		services = append(services, s.service(fmt.Sprintf("web-%d", i), tcp(8080), openTo("192.0.2.0/32")))
	}
	for _, v := range services {
		v.waitUntilProgrammed()
	}
	failedPasses, refusedWrites, ended := s.gauge("controller_runtime_reconcile_errors_total"), failedOps(t), s.gauge("controller_runtime_reconcile_total")

	rotated := make(chan error, 1)
	var over atomic.Bool
	go func() {
		defer over.Store(true)
		rotated <- func() error {
			for round := range 5 {
				conf, id, err := s.newCredential(person, session)
				if err != nil {
					return err
				}
				if err := m.write(conf); err != nil {
					return err
				}
				if err := s.poll(func() error {
					if n := len(s.controller.log.lines("using the changed credentials of cloud.conf")); n <= round {
						return fmt.Errorf("%d rotations were seen", n)
					}
					return nil
				}); err != nil {
					return err
				}
				if _, err := s.credential("delete", old, "--cloud-config="+person); err != nil {
					return err
				}
				old = id
			}
			return nil
		}()
	}()
	rounds := 0
	for ; !over.Load() || rounds < 3; rounds++ {
		cidr := fmt.Sprintf("192.0.2.%d/32", rounds%250+1)
		for _, v := range services {
			v.change(openTo(cidr))
		}
		for _, v := range services {
			v.waitForTree(sources(cidr))
		}
	}
	if err := <-rotated; err != nil {
		t.Fatal(err)
	}
	passes := s.gauge("controller_runtime_reconcile_total") - ended
	t.Logf("%d passes in %d rounds", passes, rounds)
	if passes < len(services)*rounds {
		t.Errorf("only %d passes in %d rounds over %d Services: there was no load", passes, rounds, len(services))
	}
	if n := s.gauge("controller_runtime_reconcile_errors_total") - failedPasses; n > 0 {
		t.Errorf("%d passes failed: %v", n, s.controller.log.lines("Reconciler error"))
	}
	if n := failedOps(t) - refusedWrites; n > 0 {
		t.Errorf("%d writes failed", n)
	}
	for _, v := range services {
		for _, e := range v.events() {
			if strings.Contains(e, "Cloud") {
				t.Errorf("Service %s: %s", v.name, e)
			}
		}
	}
}

func TestControllerWhoseCredentialsAreRevokedIsUnreadyUntilTheyAreReplaced(t *testing.T) {
	skipOnRealOpenStack(t, "services of a real cloud take a token for a minute after it was revoked")
	s := newStage(t, settings{off: true})
	person, session := s.person()
	conf, old, err := s.newCredential(person, session)
	if err != nil {
		t.Fatal(err)
	}
	m := s.mounts(conf)
	s.start()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	if _, err := s.credential("delete", old, "--cloud-config="+person); err != nil {
		t.Fatal(err)
	}
	web.change(tcp(8081))
	c := web.waitForCondition(programmed, conditionFalse, "CloudUnauthorized")
	if !strings.Contains(c.Message, "replace the credentials in [Global] of cloud.conf") {
		t.Errorf("the condition says %q", c.Message)
	}
	s.eventually(func() error { return s.unreadyFor("the credentials are rejected by Keystone") })
	if got := web.address(); got != address {
		t.Errorf("the address %s became %q", address, got)
	}

	// A file that is no good, and then another, change nothing.
	if err := m.write("[Global]\nauth-ulr = x\n"); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error { return s.checkLogged("keeping the previous configuration") })
	if err := m.write(conf); err != nil {
		t.Fatal(err)
	}
	conf, _, err = s.newCredential(person, session)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.write(conf); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error { return s.answers200("/readyz") })
	web.waitUntilProgrammed()
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	s.requireNoFailedRequest(visitor)
}

func TestControllerThatIsStartedWithRevokedCredentialsBecomesReadyWhenTheyAreReplaced(t *testing.T) {
	skipOnRealOpenStack(t, "TestCredentialIsCreatedAndRotatedInItsSecret sees the cloud's part")
	s := newStage(t, settings{off: true})
	person, session := s.person()
	conf, id, err := s.newCredential(person, session)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.DeleteApplicationCredential(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	m := s.mounts(conf)
	s.begin()
	s.eventually(func() error { return s.unreadyFor("the credentials are rejected by Keystone") })
	web := s.service("web", tcp(8080))
	c := web.waitForCondition(programmed, conditionFalse, "CloudUnauthorized")
	t.Log(c.Message)
	if n := s.cloud.count("loadbalancers"); n > 0 {
		t.Errorf("there are %d load balancers", n)
	}
	if conf, _, err = s.newCredential(person, session); err != nil {
		t.Fatal(err)
	}
	if err := m.write(conf); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error { return s.answers200("/readyz") })
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
}

func TestInvalidFileLeavesTheCredentialsInUse(t *testing.T) {
	skipOnRealOpenStack(t, "it is about a file")
	s := newStage(t, settings{off: true})
	good := s.cloud.CloudConf()
	m := s.mounts(good)
	s.start()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	wrong := strings.NewReplacer("application-credential-secret = \"", "application-credential-secret = \"x").Replace(good)
	for i, text := range []string{"[Global", wrong, good + "\n[LoadBalancer]\nmonitor-delay = 7s\n"} {
		if err := m.write(text); err != nil {
			t.Fatal(err)
		}
		s.eventually(func() error {
			return s.checkLogged([]string{"keeping the previous configuration", "keeping the old ones and retrying", "[LoadBalancer] monitor-delay"}[i])
		})
		if rejected := s.gauge("kube_octavia_openstack_configuration_rejected"); rejected != map[bool]int{true: 1}[i < 2] {
			t.Errorf("%d: the metric of rejected configurations is %d", i, rejected)
		}
		s.cloud.ExpireTokens()
		web.change(tcp(int32(9000 + i)))
		web.waitForTree(ports(append([]string{"TCP/8080"}, []string{"TCP/9000", "TCP/9001", "TCP/9002"}[:i+1]...)...))
		if err := s.answers200("/readyz"); err != nil {
			t.Error(err)
		}
	}
	if failed := s.controller.log.lines("Reconciler error"); len(failed) > 0 {
		t.Errorf("passes failed: %v", failed)
	}
}

// checkLogged checks that the controller has logged the text.
func (s *stage) checkLogged(text string) error {
	if len(s.controller.log.lines(text)) == 0 {
		return fmt.Errorf("the controller has not logged %q", text)
	}
	return nil
}

// credentialSecret creates an application credential and the Secret that holds it. inUse returns
// the cloud.conf in the Secret, and the id of the credential in that.
func (s *stage) credentialSecret(person string, flags ...string) (name string, inUse func() (conf, id string)) {
	s.t.Helper()
	name = s.namespace + "/cloud-config"
	text, err := s.credential(append([]string{"create", "--cloud-config=" + person, "--secret=" + name}, flags...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	var manifest corev1.Secret
	if err := yaml.UnmarshalStrict([]byte(text), &manifest); err != nil {
		s.t.Fatal(err)
	}
	secrets := s.client.CoreV1().Secrets(s.namespace)
	if _, err := secrets.Create(s.t.Context(), &manifest, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
		s.t.Fatal(err)
	}
	return name, func() (conf, id string) {
		s.t.Helper()
		held, err := secrets.Get(s.t.Context(), "cloud-config", metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		read, err := config.Parse("cloud.conf", held.Data["cloud.conf"])
		if err != nil {
			s.t.Fatal(err)
		}
		return string(held.Data["cloud.conf"]), read.Global.ApplicationCredentialID
	}
}

// TestCredentialIsCreatedAndRotatedInItsSecret does what docs/credentials.md says.
func TestCredentialIsCreatedAndRotatedInItsSecret(t *testing.T) {
	s := newStage(t, settings{off: true})
	person, session := s.person()
	secret, inUse := s.credentialSecret(person, "--expires=30d")
	conf, first := inUse()
	made, err := session.ApplicationCredential(t.Context(), first)
	if err != nil || made.Expires.IsZero() {
		t.Fatalf("made %+v, %v", made, err)
	}
	m := s.mounts(conf)
	s.start()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitForGauge("kube_octavia_openstack_credential_expiry_timestamp_seconds", int(made.Expires.Unix()))

	rotate := []string{"rotate", "--cloud-config=" + person, "--kubeconfig=" + s.adminKubeconfig(), "--secret=" + secret, "--delete-old-after=0s"}
	if _, err := s.credential(rotate...); err == nil || !strings.Contains(err.Error(), "--expires") {
		t.Errorf("rotated one that expires without a word about when the next does: %v", err)
	}
	if _, still := inUse(); still != first {
		t.Errorf("the Secret was changed by a rotation that failed")
	}
	if _, err := s.credential(append(rotate, "--expires=60d", "--keep-old")...); err != nil {
		t.Fatal(err)
	}
	conf, second := inUse()
	if first == second {
		t.Error("the Secret holds the old one")
	}
	if err := m.write(conf); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error { return s.checkLogged("using the changed credentials of cloud.conf") })
	if _, err := s.credential("delete", first, "--cloud-config="+person); err != nil {
		t.Error(err)
	}
	web.change(tcp(8081))
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	web.waitUntilProgrammed()

	if _, err := s.credential(append(rotate, "--expires=never")...); err != nil {
		t.Fatal(err)
	}
	conf, third := inUse()
	if _, err := session.ApplicationCredential(t.Context(), second); openstack.Classify(err) != openstack.Gone {
		t.Errorf("the old one is there still: %v", err)
	}
	s.withdraw(session, third)
	if err := m.write(conf); err != nil {
		t.Fatal(err)
	}
	web.change(tcp(8082))
	web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082"))
}

func TestApplicationCredentialCannotCreateOthers(t *testing.T) {
	s := newStage(t, settings{off: true})
	person, session := s.person()
	conf, _, err := s.newCredential(person, session)
	if err != nil {
		t.Fatal(err)
	}
	restricted := filepath.Join(s.dir, "restricted.conf")
	if err := cloudsim.WriteFile(restricted, conf); err != nil {
		t.Fatal(err)
	}
	if _, err := s.credential("create", "--cloud-config="+restricted); err == nil || !strings.Contains(err.Error(), "Log in as a user, with a password") {
		t.Errorf("error %v", err)
	}
}
