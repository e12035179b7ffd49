// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestEachFormOfCredentialsReachesKeystone(t *testing.T) {
	secret := func(s config.Secret) config.Secret { return s }
	tests := map[string]struct {
		global config.Global
		want   string
	}{
		"password, all by name": {
			config.Global{Username: "u", Password: "x", TenantName: "p", DomainName: "D", TenantDomainID: "pd"},
			`{"identity": {"methods": ["password"], "password": {"user": {"name": "u", "password": "x", "domain": {"name": "D"}}}},
			  "scope": {"project": {"name": "p", "domain": {"id": "pd"}}}}`,
		},
		"password, all by id": {
			config.Global{UserID: "u", Password: "x", TenantID: "p", DomainID: "d"},
			`{"identity": {"methods": ["password"], "password": {"user": {"id": "u", "password": "x"}}}, "scope": {"project": {"id": "p"}}}`,
		},
		"password, default project": {
			config.Global{UserID: "u", Password: "x"},
			`{"identity": {"methods": ["password"], "password": {"user": {"id": "u", "password": "x"}}}}`,
		},
		"application credential by id": {
			config.Global{ApplicationCredentialID: "a", ApplicationCredentialSecret: secret("x"), Username: "u"},
			`{"identity": {"methods": ["application_credential"], "application_credential": {"id": "a", "secret": "x"}}}`,
		},
		"application credential by name": {
			config.Global{ApplicationCredentialName: "a", ApplicationCredentialSecret: "x", Username: "u", UserDomainName: "D"},
			`{"identity": {"methods": ["application_credential"],
			  "application_credential": {"name": "a", "secret": "x", "user": {"name": "u", "domain": {"name": "D"}}}}}`,
		},
		"trust": {
			config.Global{TrustID: "t", TrusteeID: "u", TrusteePassword: "x", DomainID: "d", TenantID: "p"},
			`{"identity": {"methods": ["password"], "password": {"user": {"id": "u", "password": "x"}}}, "scope": {"OS-TRUST:trust": {"id": "t"}}}`,
		},
		"trust of the user": {
			config.Global{TrustID: "t", Username: "u", DomainID: "d", Password: "x"},
			`{"identity": {"methods": ["password"], "password": {"user": {"name": "u", "password": "x", "domain": {"id": "d"}}}},
			  "scope": {"OS-TRUST:trust": {"id": "t"}}}`,
		},
		"token for another project": {
			config.Global{Token: "x", TenantID: "p"},
			`{"identity": {"methods": ["token"], "token": {"id": "x"}}, "scope": {"project": {"id": "p"}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.connect(func(o *Options) {
				o.Config = test.global
				o.Config.Region = "RegionOne"
				o.Config.AuthURL = c.URL + "/identity"
			})
			var got, want any
			if err := json.Unmarshal([]byte(`{"auth": `+test.want+`}`), &want); err != nil {
				t.Fatal(err)
			}
			if len(c.logins) != 1 {
				t.Fatalf("%d logins", len(c.logins))
			}
			if err := json.Unmarshal(c.logins[0], &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServicesAreFoundInTheCatalogue(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	got := map[string]string{
		"network": s.Network().ServiceURL("ports"), "load balancer": s.LoadBalancer().ServiceURL("lbaas"),
		"project": s.ProjectID(),
	}
	want := map[string]string{
		"network": c.URL + "/network/v2.0/ports", "load balancer": c.URL + "/load-balancer/v2.0/lbaas",
		"project": "p1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConnectErrorsSayWhatToCheck(t *testing.T) {
	tests := map[string]struct {
		change func(*cloud, *config.Global)
		class  Class
		want   string
	}{
		"no Octavia": {
			func(c *cloud, _ *config.Global) { c.catalog = c.catalog[:1] },
			Invalid, "no load-balancer service (Octavia): install Octavia in the cloud (Neutron's own LBaaS, v1 and v2, which OpenStack has not had since its release Train, is not enough), or check that the project may use it",
		},
		"another region": {
			func(_ *cloud, g *config.Global) { g.Region = "RegionThree" },
			Invalid, `no public endpoint of the load-balancer service in region "RegionThree", but in RegionOne (public), RegionTwo (public): check region and os-endpoint-type`,
		},
		"no region": {
			func(_ *cloud, g *config.Global) { g.Region = "" },
			Invalid, "the service catalogue has several regions (RegionOne, RegionTwo), and none is configured: set region in [Global] to the region of the nodes",
		},
		"no project": {
			func(c *cloud, _ *config.Global) { c.project = "" },
			Invalid, "the token is for no project; set tenant-id or tenant-name in [Global]",
		},
		"wrong password": {
			func(c *cloud, _ *config.Global) {
				c.refuse = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Openstack-Request-Id", "req-7")
					answer(w, 401, `{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`)
				}
			},
			Unauthorized, "/identity/v3: 401: The request you have made requires authentication; check in [Global] the user with its domain",
		},
		"not Keystone": {
			func(c *cloud, _ *config.Global) { c.refuse = http.NotFound },
			Invalid, "/identity/v3/auth/tokens; is auth-url the address of Keystone?",
		},
		"no server there": {
			func(_ *cloud, g *config.Global) { g.AuthURL = "http://127.0.0.1:1/v3" },
			Transient, "authenticate at http://127.0.0.1:1/v3: no answer: dial tcp 127.0.0.1:1: connect: connection refused; nothing listens there: check host and port in auth-url",
		},
		"a login page": {
			func(c *cloud, _ *config.Global) {
				c.refuse = func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, "<html>") }
			},
			Transient, "this is a web page, such as those of a dashboard, a login or a proxy; is auth-url the address of Keystone?",
		},
		"no certificate file": {
			func(_ *cloud, g *config.Global) { g.CAFile = "/nonexistent/ca.pem" },
			Invalid, "[Global] ca-file: open /nonexistent/ca.pem: no such file or directory",
		},
		"no certificate in the text": {
			func(_ *cloud, g *config.Global) { g.CAFileContents = "x" },
			Invalid, "[Global] cafilecontents contains no certificate in PEM format",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			g := c.credentials()
			test.change(c, &g)
			s, err := Connect(context.Background(), Options{Config: g})
			if err == nil {
				s.Close()
				t.Fatal("connected")
			}
			var e *Error
			if !errors.As(err, &e) || Classify(err) != test.class {
				t.Errorf("want class %s, got %s (%T)", test.class, Classify(err), err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q in %q", test.want, err)
			}
			if strings.Contains(err.Error(), password) {
				t.Error("the error shows the password")
			}
		})
	}
}

func TestNoRegionIsAnErrorOfItsOwn(t *testing.T) {
	c := newCloud(t)
	g := c.credentials()
	g.Region = ""
	_, err := Connect(context.Background(), Options{Config: g})
	if !errors.Is(err, ErrNoRegion) || errors.Is(err, ErrNoService) {
		t.Error(err)
	}
}

func TestEndpointsOfTheConfigurationOverrideThoseOfTheCatalogue(t *testing.T) {
	c := newCloud(t)
	c.catalog = nil
	s := c.connect(func(o *Options) {
		o.Config.NetworkEndpoint, o.Config.LoadBalancerEndpoint = c.URL+"/n/v2.0", c.URL+"/l/v2.0/lbaas"
		o.Config.ComputeEndpoint, o.Config.KeyManagerEndpoint = c.URL+"/c/v2.1/%(project_id)s", c.URL+"/k"
	})
	nova, err := s.Compute("2.1")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.Network().ServiceURL("ports"), s.LoadBalancer().ServiceURL("lbaas"), nova.ServiceURL("servers"), s.KeyManager().ServiceURL("secrets")}
	want := []string{c.URL + "/n/v2.0/ports", c.URL + "/l/v2.0/lbaas", c.URL + "/c/v2.1/servers", c.URL + "/k/v1/secrets"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRejectedLoginNamesDoubtfulValues(t *testing.T) {
	doubts := []config.Notice{{File: "cloud.conf", Line: 4, Section: "Global", Key: "password", Kind: config.Doubtful, Text: "It ends at the #.", Do: "Use double quotes."}}
	rejected := &Error{Op: "authenticate", Class: Unauthorized, Status: 401, Message: "no. Check the credentials in [Global].", RequestID: "req-7"}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"rejected login": {rejected, "authenticate: 401: no. Check the credentials in [Global]. This may be the cause: cloud.conf:4: [Global] password: It ends at the #. Use double quotes. (request req-7)"},
		"no answer":      {&Error{Class: Transient, Message: "no answer"}, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WithDoubts(test.err, doubts); got.Error() != test.want || Classify(got) != Classify(test.err) {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
	if got := WithDoubts(rejected, nil); got != error(rejected) {
		t.Errorf("without doubts: %v", got)
	}
	if got := WithDoubts(nil, doubts); got != nil {
		t.Errorf("without an error: %v", got)
	}
}

func TestAnExpiredTokenIsRenewedOnceForAllCalls(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.expire()
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if err := get(context.Background(), s, "lbaas", "loadbalancers"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if c.issued != 2 {
		t.Errorf("%d tokens were issued, want 2: the first and one new one", c.issued)
	}
}

func TestARenewalOutlivesTheCallThatStartedIt(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.expire()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	entered, release := make(chan struct{}), make(chan struct{})
	c.setRefuse(func(w http.ResponseWriter, r *http.Request) {
		c.refuse = nil // the lock is held
		close(entered)
		<-release
		c.mu.Unlock()
		defer c.mu.Lock()
		c.serveToken(w, r)
	})
	first := make(chan error, 1)
	go func() { first <- get(ctx, s, "lbaas", "loadbalancers") }()
	<-entered
	cancel()
	close(release)
	if err := <-first; err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	if err := get(context.Background(), s, "lbaas", "loadbalancers"); err != nil {
		t.Error(err)
	}
	if c.issued != 2 {
		t.Errorf("%d tokens were issued, want 2", c.issued)
	}
}

func TestCredentialsThatAreRevokedMakeCallsUnauthorized(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.expire()
	c.setRefuse(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 404, `{"error": {"message": "Could not find credential."}}`)
	})
	err := Wrap("list load balancers", get(context.Background(), s, "lbaas", "loadbalancers"))
	if Classify(err) != Unauthorized {
		t.Errorf("class %s: %v", Classify(err), err)
	}
	if want := "list load balancers: 404: the token could not be renewed: Could not find credential; replace the credentials in [Global]"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q", err)
	}
}

func TestAKeystoneThatIsDownDoesNotMakeCallsUnauthorized(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.expire()
	c.setRefuse(func(w http.ResponseWriter, _ *http.Request) { answer(w, 502, "<html>") })
	err := get(context.Background(), s, "lbaas", "loadbalancers")
	if Classify(err) != Transient {
		t.Errorf("class %s: %v", Classify(err), err)
	}
}

func TestAServiceThatRefusesFreshTokensIsUnauthorized(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.setHandler(func(w http.ResponseWriter, _ *http.Request) { answer(w, 401, `{"message": "no"}`) })
	err := get(context.Background(), s, "lbaas", "loadbalancers")
	if Classify(err) != Unauthorized || c.calls() != 2 {
		t.Errorf("class %s after %d calls: %v", Classify(err), c.calls(), err)
	}
}

func TestAGivenTokenIsUsedAndNotRenewed(t *testing.T) {
	c := newCloud(t)
	s := c.connect(func(o *Options) {
		o.Config = config.Global{AuthURL: c.URL + "/v3", Token: "given", Region: "RegionOne"}
	})
	if err := get(context.Background(), s, "lbaas", "loadbalancers"); err != nil {
		t.Fatal(err)
	}
	c.expire()
	err := Wrap("list load balancers", get(context.Background(), s, "lbaas", "loadbalancers"))
	if Classify(err) != Unauthorized || !strings.Contains(err.Error(), "cannot be renewed: set a new one") {
		t.Errorf("class %s: %v", Classify(err), err)
	}
	if c.issued != 0 {
		t.Errorf("%d tokens were issued", c.issued)
	}
}
