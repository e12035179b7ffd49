// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"math/big"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// book collects what is logged.
type book struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *book) logger() logr.Logger {
	return funcr.New(func(_, text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.text.WriteString(text + "\n")
	}, funcr.Options{})
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newLink makes a way to the cloud of a file, told is called for each failure.
func newLink(t *testing.T, path string, log logr.Logger, told func(error)) *cloudLink {
	t.Helper()
	started, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	o := &controllerOptions{connection: *flags()}
	o.cloudConfig = path
	l := &cloudLink{options: o, log: log, version: "test", started: started,
		work: func(context.Context, *openstack.Session, config.Config, lb.Capabilities) error { return nil },
		tell: func(_ context.Context, err error) { told(err) },
	}
	t.Cleanup(l.close)
	return l
}

func TestACloudThatDoesNotAnswerMakesTheControllerUnreadyAndIsAskedAgain(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var log book
	l := newLink(t, file(t, "cloud.conf", goodConf), log.logger(), func(error) { end() })
	if err := l.Start(ctx); err != nil {
		t.Errorf("when the controller was told to stop: %v", err)
	}
	err := l.connected(nil)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), secret) {
		t.Errorf("unready because of %v", err)
	}
	if err := l.authorized(nil); err != nil {
		t.Errorf("nobody has refused the credentials: %v", err)
	}
	if said := log.String(); !strings.Contains(said, "127.0.0.1:1") || strings.Contains(said, secret) {
		t.Errorf("said %q, want the address and no secret", said)
	}
}

func TestACloudThatRefusesTheCredentialsIsAskedAgainWhenTheFileChanges(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{Password: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	path := file(t, "cloud.conf", strings.ReplaceAll(cloud.CloudConf(), "another", secret))
	var failures []error
	var log book
	l := newLink(t, path, log.logger(), func(err error) {
		if len(failures) > 0 && failures[len(failures)-1] == err {
			return // told once more
		}
		failures = append(failures, err)
		text := cloud.CloudConf()
		if len(failures) == 1 {
			text = strings.ReplaceAll(text, "another", "third")
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	l.work = func(context.Context, *openstack.Session, config.Config, lb.Capabilities) error {
		end()
		return nil
	}
	if err := l.Start(ctx); err != nil {
		t.Error(err)
	}
	if len(failures) != 2 || openstack.Classify(failures[0]) != openstack.Unauthorized || !strings.Contains(failures[0].Error(), "[Global]") {
		t.Errorf("failures %v", failures)
	}
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), "third") {
		t.Errorf("a password is shown: %s", log.String())
	}
	if err := errors.Join(l.connected(nil), l.authorized(nil)); err != nil {
		t.Errorf("connected, and unready because of %v", err)
	}
}

func TestACloudThatLacksWhatIsNeededEndsTheController(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	path := file(t, "cloud.conf", strings.Replace(cloud.CloudConf(), `region="RegionOne"`, `region="Elsewhere"`, 1))
	l := newLink(t, path, logr.Discard(), func(err error) { t.Errorf("went on after %v", err) })
	if err := l.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "connect to OpenStack") || !strings.Contains(err.Error(), "Elsewhere") {
		t.Errorf("error %v", err)
	}
}

func TestAnAuthorityThatDidNotSignIsRefusedAndAnotherCAFileHelps(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	origin, err := url.Parse(cloud.AuthURL())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(origin))
	front.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // refused handshakes are part of the test
	front.StartTLS()
	defer front.Close()
	authority := file(t, "ca.pem", anotherAuthority(t))
	conf := strings.Replace(cloud.CloudConf(), "[Global]", "[Global]\nca-file = "+authority, 1)
	path := file(t, "cloud.conf", strings.Replace(conf, cloud.AuthURL(), front.URL, 1))
	var reason error
	l := newLink(t, path, logr.Discard(), func(err error) {
		reason = err
		right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
		if err := os.WriteFile(authority, right, 0o600); err != nil {
			t.Error(err)
		}
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	l.work = func(context.Context, *openstack.Session, config.Config, lb.Capabilities) error {
		end()
		return nil
	}
	if err := l.Start(ctx); err != nil || l.connected(nil) != nil {
		t.Errorf("%v, unready because of %v", err, l.connected(nil))
	}
	if reason == nil || !strings.Contains(reason.Error(), "check ca-file in [Global]") {
		t.Errorf("the first time it failed because of %v", reason)
	}
}

func TestTheReasonWhyTheControllerIsNotReadyNamesTheFile(t *testing.T) {
	l := &cloudLink{options: &controllerOptions{connection: connection{cloudConfig: "/etc/kube-octavia/cloud.conf"}}}
	l.fail(&openstack.Error{Class: openstack.Unauthorized, Message: "no"})
	if err := l.authorized(nil); err == nil || !strings.Contains(err.Error(), "/etc/kube-octavia/cloud.conf") {
		t.Errorf("error %v", err)
	}
}

// anotherAuthority is the certificate of somebody who has signed nothing.
func anotherAuthority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
