// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/cert"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
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

// newConnector connects to the cloud of a file; told is called for each failure.
func newConnector(t *testing.T, path string, log logr.Logger, told func(error)) *Connector {
	t.Helper()
	started, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	o := *flags()
	o.CloudConfig = path
	c := &Connector{Options: o, Logger: log, Version: "test", Registry: prometheus.NewRegistry(), Config: started, ConfigInterval: timing.Default().CloudConfigInterval,
		Work: func(context.Context, Cloud) error { return nil },
		Tell: func(_ context.Context, err error) { told(err) },
	}
	t.Cleanup(c.Close)
	return c
}

func TestACloudThatDoesNotAnswerMakesTheControllerUnreadyAndIsAskedAgain(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var log book
	c := newConnector(t, file(t, "cloud.conf", goodConf), log.logger(), func(error) { end() })
	if err := c.Start(ctx); err != nil {
		t.Errorf("when the controller was told to stop: %v", err)
	}
	err := c.Connected(nil)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), secret) {
		t.Errorf("unready because of %v", err)
	}
	if err := c.Authorized(nil); err != nil {
		t.Errorf("no cloud has refused the credentials: %v", err)
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
	c := newConnector(t, path, log.logger(), func(err error) {
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
	c.Work = func(context.Context, Cloud) error {
		end()
		return nil
	}
	if err := c.Start(ctx); err != nil {
		t.Error(err)
	}
	if len(failures) != 2 || openstack.Classify(failures[0]) != openstack.Unauthorized || !strings.Contains(failures[0].Error(), "[Global]") {
		t.Errorf("failures %v", failures)
	}
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), "third") {
		t.Errorf("a password is shown: %s", log.String())
	}
	if err := errors.Join(c.Connected(nil), c.Authorized(nil)); err != nil {
		t.Errorf("connected, and unready because of %v", err)
	}
}

// endsAsSoonAsAwaited is a context that ends when a goroutine waits for its end after it was armed.
type endsAsSoonAsAwaited struct {
	context.Context
	armed bool
	end   context.CancelFunc
}

func (c *endsAsSoonAsAwaited) Done() <-chan struct{} {
	if c.armed {
		c.end()
	}
	return c.Context.Done()
}

func TestWithSettingsOfTheControllerTheConnectionLastsUntilItIsEnded(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	c := newConnector(t, file(t, "cloud.conf", cloud.CloudConf()), logr.Discard(), func(err error) { t.Error(err) })
	c.Options.CloudConfig, c.Options.found = "", &found{name: "Secret system/conf", read: func() (config.Config, error) { return c.Config, nil }}
	ctx := &endsAsSoonAsAwaited{}
	ctx.Context, ctx.end = context.WithCancel(t.Context())
	defer ctx.end()
	c.Work = func(context.Context, Cloud) error {
		ctx.armed = true
		return nil
	}
	if err := c.Start(ctx); err != nil || ctx.Err() == nil {
		t.Errorf("it returned %v although its context has not ended", err)
	}
}

func TestALoginForAnotherProjectEndsTheConnection(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	c := newConnector(t, file(t, "cloud.conf", cloud.CloudConf()), logr.Discard(), func(err error) { t.Errorf("went on after %v", err) })
	s := published()
	s.ProjectID = "another"
	c.Options.CloudConfig, c.Options.found = "", &found{settings: s, name: "$OS_CLOUD (dev)", read: func() (config.Config, error) { return c.Config, nil }}
	err = c.Start(t.Context())
	if openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), "the login of $OS_CLOUD (dev) is for project ") || !strings.Contains(err.Error(), "; use a login for that project") {
		t.Errorf("class %s: %v", openstack.Classify(err), err)
	}
}

func TestControllerEndsIfTheCatalogueLacksItsRegion(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	path := file(t, "cloud.conf", strings.Replace(cloud.CloudConf(), `region="RegionOne"`, `region="Elsewhere"`, 1))
	c := newConnector(t, path, logr.Discard(), func(err error) { t.Errorf("went on after %v", err) })
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "connect to OpenStack") || !strings.Contains(err.Error(), "Elsewhere") {
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
	c := newConnector(t, path, logr.Discard(), func(err error) {
		reason = err
		right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
		if err := os.WriteFile(authority, right, 0o600); err != nil {
			t.Error(err)
		}
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	c.Work = func(context.Context, Cloud) error {
		end()
		return nil
	}
	if err := c.Start(ctx); err != nil || c.Connected(nil) != nil {
		t.Errorf("%v, unready because of %v", err, c.Connected(nil))
	}
	if reason == nil || !strings.Contains(reason.Error(), "check ca-file in [Global]") {
		t.Errorf("the first time it failed because of %v", reason)
	}
}

func TestTheReasonWhyTheControllerIsNotReadyNamesTheFile(t *testing.T) {
	c := &Connector{Options: Options{CloudConfig: "/etc/kube-octavia/cloud.conf"}}
	c.fail(&openstack.Error{Class: openstack.Unauthorized, Message: "no"})
	if err := c.Authorized(nil); err == nil || !strings.Contains(err.Error(), "/etc/kube-octavia/cloud.conf") {
		t.Errorf("error %v", err)
	}
}

// anotherAuthority returns the certificate of an authority that has signed nothing.
func anotherAuthority(t *testing.T) string {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKey("another.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(certificate)
}
