// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// open connects to the simulator with g, and closes the session at the end of the test.
func (s *simulator) open(t *testing.T, g config.Global, change ...func(*Options)) *Session {
	t.Helper()
	g.AuthURL = s.url
	o := Options{Config: g, Rate: Rate{PerSecond: 10000, Burst: 10000}}
	for _, f := range change {
		f(&o)
	}
	session, err := Connect(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// credential creates an application credential of the user k8s.
func (s *simulator) credential(t *testing.T, name string) config.Global {
	t.Helper()
	made, err := s.open(t, s.byPassword()).CreateApplicationCredential(context.Background(), ApplicationCredential{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return config.Global{AuthURL: s.url, ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}
}

// revoke deletes an application credential.
func (s *simulator) revoke(t *testing.T, g config.Global) {
	t.Helper()
	if err := s.open(t, s.byPassword()).DeleteApplicationCredential(context.Background(), g.ApplicationCredentialID); err != nil {
		t.Fatal(err)
	}
}

// busy makes calls continuously until the test ends, and fails it if a call fails. settle waits for
// the calls in progress.
func busy(t *testing.T, s *Session) (settle, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var underWay sync.RWMutex
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				underWay.RLock()
				if err := get(ctx, s, "lbaas", "loadbalancers"); err != nil && ctx.Err() == nil {
					t.Errorf("a call failed: %v", err)
				}
				underWay.RUnlock()
			}
		})
	}
	settle = func() {
		underWay.Lock()
		defer underWay.Unlock()
	}
	return settle, func() {
		cancel()
		callers.Wait()
	}
}

func TestNoCallFailsWhenCredentialsAreReplacedAndTheOldOnesRevoked(t *testing.T) {
	s := newSimulator(t)
	old := s.credential(t, "first")
	session := s.open(t, old)
	settle, stop := busy(t, session)
	for _, name := range []string{"second", "third", "fourth"} {
		next := s.credential(t, name)
		if changed, err := session.Reload(context.Background(), next); !changed || err != nil {
			t.Fatalf("changed: %t, %v", changed, err)
		}
		s.revoke(t, old)
		// A call fails if its token becomes invalid twice.
		settle()
		s.ExpireTokens()
		if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil {
			t.Error(err)
		}
		old = next
	}
	stop()
}

func TestEachFormOfCredentialsReplacesAnother(t *testing.T) {
	s := newSimulator(t)
	token := s.open(t, s.byPassword()).provider.Token()
	forms := []config.Global{
		s.byPassword(), s.credential(t, "kube-octavia"), {TrustID: s.trust, TrusteeID: s.trustee, TrusteePassword: password},
		{Token: config.Secret(token)}, {Token: config.Secret(token), TenantID: s.project}, s.byPassword(),
	}
	session := s.open(t, forms[0])
	for _, g := range forms[1:] {
		g.AuthURL = s.url
		if changed, err := session.Reload(context.Background(), g); !changed || err != nil {
			t.Errorf("by %s: changed: %t, %v", g.Authentication(), changed, err)
		}
		if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil {
			t.Errorf("by %s: %v", g.Authentication(), err)
		}
	}
}

func TestUnchangedCredentialsAreNotTried(t *testing.T) {
	s := newSimulator(t)
	session := s.open(t, s.byPassword())
	token := session.provider.Token()
	if changed, err := session.Reload(context.Background(), s.byPassword()); changed || err != nil {
		t.Errorf("changed: %t, %v", changed, err)
	}
	if session.provider.Token() != token {
		t.Error("there is another token")
	}
}

func TestRejectedCredentialsDoNotReplaceTheOldOnes(t *testing.T) {
	s := newSimulator(t)
	other := s.AddProject("other")
	s.Assign(s.trustor, other, "member")
	for name, test := range map[string]struct {
		change func(*config.Global)
		class  Class
		says   string
	}{
		"a wrong password": {func(g *config.Global) { g.Password = "wrong" }, Unauthorized, "401"},
		"an application credential": {func(g *config.Global) {
			*g = config.Global{ApplicationCredentialID: "x", ApplicationCredentialSecret: "y"}
		}, Unauthorized, "Could not find Application Credential"},
		"a token that has expired": {func(g *config.Global) { *g = config.Global{Token: "x"} }, Unauthorized, "take over the new credentials"},
		"another project":          {func(g *config.Global) { g.TenantName = "other" }, Invalid, "restart it"},
		"no ca-file":               {func(g *config.Global) { g.CAFile = "/nonexistent" }, Invalid, "ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			session := s.open(t, s.byPassword(), func(o *Options) { o.Metrics = registry })
			g := s.byPassword()
			test.change(&g)
			g.AuthURL = s.url
			changed, err := session.Reload(context.Background(), g)
			if !changed || Classify(err) != test.class || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), password) {
				t.Errorf("changed: %t, class %s: %v", changed, Classify(err), err)
			}
			s.ExpireTokens()
			if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil {
				t.Errorf("with the old ones: %v", err)
			}
			if session.Refusal() != nil {
				t.Errorf("the credentials in use are taken for refused: %v", session.Refusal())
			}
			if rejected := testutil.ToFloat64(session.metrics.rejected); rejected != 1 {
				t.Errorf("the metric says %v", rejected)
			}
		})
	}
}

func TestACallUsesCredentialsThatAreAlreadyInTheConfigurationBeforeItFails(t *testing.T) {
	s := newSimulator(t)
	old, next := s.credential(t, "old"), s.credential(t, "new")
	var reads int
	session := s.open(t, old, func(o *Options) {
		o.Reread = func() (config.Global, error) { reads++; return next, nil }
	})
	s.revoke(t, old)
	if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil || reads != 1 {
		t.Errorf("after %d reads: %v", reads, err)
	}
	s.ExpireTokens()
	if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil || reads != 1 {
		t.Errorf("the second time, after %d reads: %v", reads, err)
	}
}

func TestARefusalIsReportedUntilTheCredentialsAreReplaced(t *testing.T) {
	s := newSimulator(t)
	old := s.credential(t, "old")
	session := s.open(t, old, func(o *Options) {
		o.Reread = func() (config.Global, error) { return config.Global{}, errors.New("cannot be read") }
	})
	s.revoke(t, old)
	err := get(context.Background(), session, "lbaas", "loadbalancers")
	if Classify(err) != Unauthorized || !strings.Contains(describe(err).Advice, "replace the credentials in [Global]") {
		t.Errorf("class %s: %v", Classify(err), describe(err).Message)
	}
	if Classify(session.Refusal()) != Unauthorized {
		t.Errorf("refusal: %v", session.Refusal())
	}
	if changed, err := session.Reload(context.Background(), s.credential(t, "new")); !changed || err != nil || session.Refusal() != nil {
		t.Errorf("changed: %t, %v; refusal: %v", changed, err, session.Refusal())
	}
}

func TestARenewalShowsWhetherUnusedCredentialsStillWork(t *testing.T) {
	s := newSimulator(t)
	g := s.credential(t, "kube-octavia")
	session := s.open(t, g)
	if err := session.Renew(context.Background()); err != nil || session.Refusal() != nil {
		t.Errorf("%v; refusal: %v", err, session.Refusal())
	}
	s.revoke(t, g)
	if err := session.Renew(context.Background()); Classify(err) != Unauthorized || session.Refusal() == nil {
		t.Errorf("%v; refusal: %v", err, session.Refusal())
	}
}

func TestExpiryOfEachFormOfCredentials(t *testing.T) {
	s := newSimulator(t)
	person := s.open(t, s.byPassword())
	at := time.Now().Add(100 * time.Hour).UTC().Truncate(time.Second)
	made, err := person.CreateApplicationCredential(context.Background(), ApplicationCredential{Name: "ends", Expires: at, Roles: []string{"member"}})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := trusts.Create(context.Background(), person.identity(), trusts.CreateOpts{
		Impersonation: true, TrustorUserID: s.trustor, TrusteeUserID: s.trustee, ProjectID: s.project, ExpiresAt: &at, Roles: []trusts.Role{{Name: "member"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		global  config.Global
		expires time.Time
	}{
		"an application credential":            {config.Global{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}, at},
		"one without an end":                   {s.credential(t, "endless"), time.Time{}},
		"a trust":                              {config.Global{TrustID: trust.ID, TrusteeID: s.trustee, TrusteePassword: password}, at},
		"a password, of which nothing is said": {s.byPassword(), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			session := s.open(t, test.global)
			expires, kind, err := session.Expiry(context.Background())
			if err != nil || !expires.Equal(test.expires) || kind != test.global.Authentication() {
				t.Errorf("%s expires %v: %v", kind, expires, err)
			}
			session.NoteExpiry(expires, kind)
			if n := testutil.CollectAndCount(session.metrics.expiry); n != 1 && !expires.IsZero() || n != 0 && expires.IsZero() {
				t.Errorf("%d metrics", n)
			}
		})
	}
	session := s.open(t, config.Global{Token: config.Secret(person.provider.Token())})
	if expires, _, err := session.Expiry(context.Background()); err != nil || expires.Before(time.Now()) || expires.After(time.Now().Add(2*time.Hour)) {
		t.Errorf("a token expires %v: %v", expires, err)
	}
}

func TestKeystoneTimesAreReadInAllForms(t *testing.T) {
	want := time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, text := range map[string]string{
		"microseconds without a zone": `"2040-01-02T03:04:05.000000"`,
		"microseconds":                `"2040-01-02T03:04:05.000000Z"`,
		"seconds":                     `"2040-01-02T03:04:05Z"`,
		"seconds without a zone":      `"2040-01-02T03:04:05"`,
	} {
		t.Run(name, func(t *testing.T) {
			var got keystoneTime
			if err := got.UnmarshalJSON([]byte(text)); err != nil || !time.Time(got).Equal(want) {
				t.Errorf("%s: %v, %v", text, time.Time(got), err)
			}
		})
	}
	var none keystoneTime
	if err := none.UnmarshalJSON([]byte("null")); err != nil || !time.Time(none).IsZero() {
		t.Errorf("null: %v, %v", time.Time(none), err)
	}
}

func TestAnApplicationCredentialIsForTheCallsOfTheTableOnly(t *testing.T) {
	s := newSimulator(t)
	session := s.open(t, s.credential(t, "kube-octavia"))
	if err := get(context.Background(), session, "lbaas", "loadbalancers"); err != nil {
		t.Errorf("a call of the table: %v", err)
	}
	if err := Wrap("read", get(context.Background(), session, "things")); Classify(err) != Unauthorized || !strings.Contains(err.Error(), "access rules do not allow") {
		t.Errorf("another call: %v", err)
	}
	if missing := session.MissingRules(); len(missing) > 0 {
		t.Errorf("its own rules lack %v", missing)
	}
	for _, err := range []error{
		session.DeleteApplicationCredential(context.Background(), s.credentialID),
		func() error {
			_, err := session.CreateApplicationCredential(context.Background(), ApplicationCredential{Name: "more"})
			return err
		}(),
	} {
		if Classify(err) != Invalid || !strings.Contains(err.Error(), "Log in as a user, with a password") {
			t.Errorf("an application credential that manages others: %v", err)
		}
	}
}

func TestApplicationCredentialsAreCreatedReadAndDeleted(t *testing.T) {
	s := newSimulator(t)
	s.Assign(s.trustor, s.project, "member", "reader", "load-balancer_member")
	person := s.open(t, s.byPassword())
	if diff := cmp.Diff([]string{"load-balancer_member", "member", "reader"}, person.Roles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	want := ApplicationCredential{Without: []calls.Feature{calls.FeatureSecurityGroups}, Name: "n", Description: "d", Roles: []string{"load-balancer_member", "reader"}, ProjectID: s.project,
		Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	made, err := person.CreateApplicationCredential(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	read, err := person.ApplicationCredential(context.Background(), made.ID)
	if err != nil || read.Secret != "" {
		t.Errorf("read %+v, %v", read, err)
	}
	want.ID = made.ID
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := person.DeleteApplicationCredential(context.Background(), made.ID); err != nil {
		t.Error(err)
	}
	if _, err := person.ApplicationCredential(context.Background(), made.ID); Classify(err) != Gone {
		t.Errorf("of one that was deleted: %v", err)
	}
}

func TestCallsThatAnOlderApplicationCredentialDoesNotAllowAreListed(t *testing.T) {
	s := newSimulator(t)
	person := s.open(t, s.byPassword())
	if missing := person.MissingRules(); missing != nil {
		t.Errorf("a password lacks %v", missing)
	}
	rules := []applicationcredentials.AccessRule{{Service: "network", Method: "GET", Path: "/v2.0/**"}, {Service: "identity", Method: "GET", Path: "/v3/**"}}
	for _, rule := range accessrule.Rules(nil) {
		if rule.Service == "load-balancer" && rule.Path != "/" && rule.Path != calls.ProvidersPath {
			rule.Path = "/load-balancer" + strings.ReplaceAll(rule.Path, "*", "{id}")
			rules = append(rules, rule)
		}
	}
	made, err := applicationcredentials.Create(context.Background(), person.identity(), s.trustor,
		applicationcredentials.CreateOpts{Name: "old", AccessRules: rules}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	session := s.open(t, config.Global{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: config.Secret(made.Secret)})
	var names []string
	for _, c := range session.MissingRules() {
		names = append(names, c.String())
	}
	want := []string{"GET / of load-balancer", "GET /v2.0/lbaas/providers of load-balancer", "POST /v2.0/floatingips of network", "PUT /v2.0/floatingips/* of network", "PUT /v2.0/floatingips/*/tags of network", "DELETE /v2.0/floatingips/* of network",
		"POST /v2.0/security-groups of network", "DELETE /v2.0/security-groups/* of network", "POST /v2.0/security-group-rules of network",
		"DELETE /v2.0/security-group-rules/* of network", "PUT /v2.0/ports/* of network",
		"GET /v1/secrets of key-manager", "POST /v1/secrets of key-manager", "GET /v1/secrets/* of key-manager", "DELETE /v1/secrets/* of key-manager", "GET /v1/containers/* of key-manager",
		"GET /v1/secrets/*/acl of key-manager", "PUT /v1/secrets/*/acl of key-manager", "GET /v1/containers/*/acl of key-manager", "PUT /v1/containers/*/acl of key-manager",
		"GET /v2.1/servers/detail of compute", "GET /v2.1/servers/* of compute", "GET /v2.1/flavors of compute",
		"PUT /v2.0/routers/* of network", "PUT /v2.0/routers/*/add_extraroutes of network", "PUT /v2.0/routers/*/remove_extraroutes of network",
		"PUT /v2.0/ports/* of network", "PUT /v2.0/ports/*/tags/* of network", "DELETE /v2.0/ports/*/tags/* of network"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if names, err := session.Providers(context.Background()); names != nil || err != nil {
		t.Errorf("providers without the right to ask for them: %v, %v", names, err)
	}
}

func TestAFeatureThatAnApplicationCredentialDoesNotAllowIsNamedWhenItIsUsed(t *testing.T) {
	s := newSimulator(t)
	made, err := s.open(t, s.byPassword()).CreateApplicationCredential(context.Background(),
		ApplicationCredential{Name: "n", Without: []calls.Feature{calls.FeatureSecurityGroups}})
	if err != nil {
		t.Fatal(err)
	}
	session := s.open(t, config.Global{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
	_, err = session.Network().Post(context.Background(), session.Network().ServiceURL("security-groups"), map[string]any{}, new(map[string]any), nil)
	want := "access rules do not allow the call POST /v2.0/security-groups of network, which is for security groups; create another application credential with " +
		"`kube-octavia credential create`, without --without=security-groups"
	if err := Wrap("create a security group", err); Classify(err) != Unauthorized || !strings.Contains(err.Error(), want) {
		t.Errorf("class %s: %v, want %q", Classify(err), err, want)
	}
}
