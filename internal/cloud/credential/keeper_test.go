// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// kept is a Keeper at a simulated cloud, with its file and its log.
type kept struct {
	*Keeper
	t     *testing.T
	cloud *cloudsim.Cloud
	conf  string
	log   *book
	read  int
}

func newKept(t *testing.T) *kept {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kept{t: t, cloud: cloud, conf: cloud.CloudConf(), log: &book{}}
	path := file(t, "cloud.conf", k.conf)
	started, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{
		Config: started.Global, UserAgent: "test", Logger: logr.Discard(), Metrics: prometheus.NewRegistry(),
		Reread: func() (config.Global, error) {
			newer, err := config.Load(path)
			return started.Global.Reloaded(newer.Global), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	k.Keeper = New(path, time.Second, started, session, k.log.logger())
	return k
}

// says makes the Keeper read a file with this text, and returns what it logs.
func (k *kept) says(conf string) string {
	k.t.Helper()
	if err := os.WriteFile(k.path, []byte(conf), 0o600); err != nil {
		k.t.Fatal(err)
	}
	k.look(k.t.Context())
	all := k.log.String()
	news := all[k.read:]
	k.read = len(all)
	if strings.Contains(news, k.cloud.Credentials().Password) {
		k.t.Errorf("a password is shown: %s", news)
	}
	return news
}

// credential creates an application credential that allows all calls.
func (k *kept) credential() openstack.ApplicationCredential {
	k.t.Helper()
	made, err := k.session.CreateApplicationCredential(k.t.Context(), openstack.ApplicationCredential{Name: "today's"})
	if err != nil {
		k.t.Fatal(err)
	}
	return made
}

// olderCredential creates one that allows a single call.
func (k *kept) olderCredential() openstack.ApplicationCredential {
	k.t.Helper()
	c := k.cloud.Credentials()
	provider, err := gophercloudopenstack.AuthenticatedClient(k.t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL, UserID: c.UserID, Password: c.Password, TenantID: c.ProjectID,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	keystone, err := gophercloudopenstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		k.t.Fatal(err)
	}
	made, err := applicationcredentials.Create(k.t.Context(), keystone, c.UserID, applicationcredentials.CreateOpts{
		Name: "older", AccessRules: []applicationcredentials.AccessRule{{Service: "network", Method: http.MethodGet, Path: "/v2.0/ports"}},
	}).Extract()
	if err != nil {
		k.t.Fatal(err)
	}
	return openstack.ApplicationCredential{ID: made.ID, Secret: config.Secret(made.Secret)}
}

// reload makes the session use an application credential.
func (k *kept) reload(c openstack.ApplicationCredential) {
	k.t.Helper()
	if _, err := k.session.Reload(k.t.Context(), k.started.Global.WithApplicationCredential(c.ID, c.Secret)); err != nil {
		k.t.Fatal(err)
	}
}

func TestChangesThatNeedARestartAreLoggedOnce(t *testing.T) {
	k := newKept(t)
	changed := k.conf + "create-monitor = true\nmonitor-delay = 7s\n"
	if said := k.says(changed); !strings.Contains(said, "[LoadBalancer] create-monitor, [LoadBalancer] monitor-delay") {
		t.Errorf("said %q", said)
	}
	if said := k.says(changed); said != "" {
		t.Errorf("said once more: %q", said)
	}
	if said := k.says(k.conf); said != "" {
		t.Errorf("when all is as before: %q", said)
	}
}

func TestAnUnreadableFileIsLoggedOnce(t *testing.T) {
	k := newKept(t)
	if said := k.says("[Global]\nauth-ulr = x\n"); !strings.Contains(said, "keeping the previous configuration") || !strings.Contains(said, "auth-ulr") {
		t.Errorf("said %q", said)
	}
	if said := k.says("[Global]\nauth-ulr = x\n"); said != "" {
		t.Errorf("said once more: %q", said)
	}
	if said := k.says(k.conf); said != "" {
		t.Errorf("of a file that is right again: %q", said)
	}
	if said := k.says("[Global]\nauth-ulr = x\n"); said == "" {
		t.Error("it is wrong again, and nothing is said")
	}
}

func TestRejectedCredentialsAreTriedAgainWithBackoff(t *testing.T) {
	k := newKept(t)
	k.cloud.Recorder().Reset()
	wrong := strings.Replace(k.conf, k.cloud.Credentials().Password, "wrong", 1)
	if said := k.says(wrong); !strings.Contains(said, "keeping the old ones and retrying") {
		t.Errorf("said %q", said)
	}
	for range 4 {
		k.says(wrong)
	}
	if calls := k.cloud.Recorder().Calls(); len(calls) != 1 {
		t.Errorf("%d calls: %v", len(calls), calls)
	}
	for _, pause := range []time.Duration{firstRejected, 2 * firstRejected} {
		if k.retryIn != pause {
			t.Errorf("the pause is %v, not %v", k.retryIn, pause)
		}
		k.retryAt = time.Time{}
		if said := k.says(wrong); said != "" {
			t.Errorf("the same is said once more: %q", said)
		}
	}
	k.cloud.Faults().Add(wire.Fault{Service: cloudsim.Identity, Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable, Times: 1})
	k.retryAt = time.Time{}
	if said := k.says(wrong); !strings.Contains(said, "503") {
		t.Errorf("another reason is not said: %q", said)
	}
	worse := strings.Replace(k.conf, k.cloud.Credentials().Password, "worse", 1)
	if said := k.says(worse); !strings.Contains(said, "do not work") || k.retryIn != firstRejected {
		t.Errorf("others are tried at once: said %q, pause %v", said, k.retryIn)
	}
}

func TestCredentialsOfAnotherKeystoneAreNotSentToThisOne(t *testing.T) {
	k := newKept(t)
	k.cloud.Recorder().Reset()
	other := strings.Replace(k.conf, k.cloud.AuthURL(), "http://127.0.0.1:1", 1)
	if said := k.says(strings.Replace(other, k.cloud.Credentials().Password, "wrong", 1)); !strings.Contains(said, "[Global] auth-url") {
		t.Errorf("said %q", said)
	}
	if calls := k.cloud.Recorder().Calls(); len(calls) > 0 {
		t.Errorf("calls were made: %v", calls)
	}
}

func TestTheExpiryOfCredentialsIsLoggedInTimeAndNotTooOften(t *testing.T) {
	k := newKept(t)
	now := time.Now()
	said := func(at time.Time) bool {
		before := k.log.String()
		k.logExpiry(at)
		return k.log.String() != before
	}
	if said(now) {
		t.Error("they do not expire")
	}
	k.expires, k.kind = now.Add(30*24*time.Hour), config.ByApplicationCredential
	for _, test := range []struct {
		at   time.Duration
		want bool
	}{{0, false}, {22 * 24 * time.Hour, false}, {24 * 24 * time.Hour, true}, {24*24*time.Hour + time.Hour, false}, {25 * 24 * time.Hour, true}, {31 * 24 * time.Hour, true}} {
		if got := said(now.Add(test.at)); got != test.want {
			t.Errorf("after %v: %t", test.at, got)
		}
	}
}

func TestRejectedCredentialsAreLoggedOnceAndWhenAcceptedAgain(t *testing.T) {
	k := newKept(t)
	person := k.session
	right := k.cloud.Credentials().Password
	k.logRefusal()
	k.cloud.ExpireTokens()
	k.cloud.Keystone().SetPassword(k.cloud.Credentials().UserID, "another")
	if err := person.Renew(t.Context()); err == nil {
		t.Fatal("the password is still good")
	}
	k.logRefusal()
	k.logRefusal()
	if n := strings.Count(k.log.String(), "Keystone rejects the credentials"); n != 1 {
		t.Errorf("said %d times: %s", n, k.log.String())
	}
	k.cloud.Keystone().SetPassword(k.cloud.Credentials().UserID, right)
	if err := person.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.logRefusal()
	if !strings.Contains(k.log.String(), "accepts the credentials again") {
		t.Errorf("said %s", k.log.String())
	}
}

func TestCallsThatAreNotAllowedAreLoggedOnce(t *testing.T) {
	k := newKept(t)
	made, old := k.credential(), k.olderCredential()
	const complaint = "was created for an older version"
	k.reload(old)
	for range 3 {
		k.readExpiry(t.Context())
	}
	if n := strings.Count(k.log.String(), complaint); n != 1 {
		t.Errorf("said %d times: %s", n, k.log.String())
	}
	k.reload(made)
	k.readExpiry(t.Context())
	if n := strings.Count(k.log.String(), complaint); n != 1 {
		t.Errorf("said of one that allows all: %s", k.log.String())
	}
	k.reload(old)
	k.readExpiry(t.Context())
	if n := strings.Count(k.log.String(), complaint); n != 2 {
		t.Errorf("it is so again, and was said %d times: %s", n, k.log.String())
	}
}

func TestAnUnknownExpiryIsLoggedOnce(t *testing.T) {
	k := newKept(t)
	k.reload(k.credential())
	var said []string
	k.Keeper.log = funcr.New(func(_, text string) { said = append(said, text) }, funcr.Options{Verbosity: 1})
	k.cloud.Faults().Add(wire.Fault{Service: cloudsim.Identity, Method: http.MethodGet, Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Times: 2})
	for range 2 {
		k.readExpiry(t.Context())
	}
	if len(said) != 1 || !strings.Contains(said[0], "cannot read when") {
		t.Errorf("said %q", said)
	}
}

// book collects the log.
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

// file writes text to a file of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
