// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
)

// kept is a keeper of credentials at a simulated cloud, and what it reads and
// logs.
type kept struct {
	*credentialKeeper
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
	c := flags()
	c.cloudConfig = path
	session, _, err := c.connect(t.Context(), started, "test", logr.Discard(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	k.credentialKeeper = newCredentialKeeper(path, started, session, k.log.logger())
	return k
}

// says looks at a file with this text and returns what is logged thereupon.
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

func TestChangesThatOnlyARestartAppliesAreNamedOnce(t *testing.T) {
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

func TestWhatIsWrongWithTheFileIsSaidOnce(t *testing.T) {
	k := newKept(t)
	if said := k.says("[Global]\nauth-ulr = x\n"); !strings.Contains(said, "everything goes on as it was") || !strings.Contains(said, "auth-ulr") {
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

func TestCredentialsThatAreNoGoodAreTriedAgainWithGrowingPauses(t *testing.T) {
	k := newKept(t)
	k.cloud.Recorder().Reset()
	wrong := strings.Replace(k.conf, k.cloud.Credentials().Password, "wrong", 1)
	for range 5 {
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
		if said := k.says(wrong); !strings.Contains(said, "the old ones stay in use") {
			t.Errorf("said %q", said)
		}
	}
	worse := strings.Replace(k.conf, k.cloud.Credentials().Password, "worse", 1)
	if said := k.says(worse); !strings.Contains(said, "no good") || k.retryIn != firstRejected {
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

func TestThatCredentialsExpireIsSaidInTimeAndNotAllTheTime(t *testing.T) {
	k := newKept(t)
	now := time.Now()
	said := func(at time.Time) bool {
		before := k.log.String()
		k.tellExpiry(at)
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

func TestThatKeystoneRefusesTheCredentialsIsSaidOnceAndWhenItEnds(t *testing.T) {
	k := newKept(t)
	person := k.session
	right := k.cloud.Credentials().Password
	k.tellRefusal()
	k.cloud.ExpireTokens()
	k.cloud.Keystone().SetPassword(k.cloud.Credentials().UserID, "another")
	if err := person.Renew(t.Context()); err == nil {
		t.Fatal("the password is still good")
	}
	k.tellRefusal()
	k.tellRefusal()
	if n := strings.Count(k.log.String(), "Keystone refuses the credentials"); n != 1 {
		t.Errorf("said %d times: %s", n, k.log.String())
	}
	k.cloud.Keystone().SetPassword(k.cloud.Credentials().UserID, right)
	if err := person.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.tellRefusal()
	if !strings.Contains(k.log.String(), "takes the credentials again") {
		t.Errorf("said %s", k.log.String())
	}
}
