// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/catalogue"
	"github.com/kube-octavia/kube-octavia/internal/cloud/ratelimit"
	"github.com/kube-octavia/kube-octavia/internal/cloud/redact"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Connect authenticates and finds the services. The error is an *Error that says what to check. Its class is
// Unauthorized if Keystone rejects the credentials, Transient if Keystone cannot be reached, and Invalid if the
// cloud lacks a service.
func Connect(ctx context.Context, o Options) (*Session, error) {
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = time.Minute
	}
	if o.clock == nil {
		o.clock = ratelimit.RealClock{}
	}
	where := withoutPassword(o.Config.AuthURL)
	provider, err := gophercloudopenstack.NewClient(o.Config.AuthURL)
	if err != nil {
		return nil, &Error{Op: "connect to " + where, Class: Invalid, Message: "auth-url is not an address"}
	}
	if o.UserAgent != "" {
		provider.UserAgent.Prepend(o.UserAgent)
	}
	first, err := newLogin(o.Config, o.Dial)
	if err != nil {
		return nil, &Error{Op: "connect to " + where, Class: Invalid, Message: err.Error(), Advice: fileAdvice(err), Err: err}
	}
	s := &Session{provider: provider, connections: newConnections(first.transport), reread: o.Reread}
	s.metrics, err = newMetrics(o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of OpenStack calls: %w", err)
	}
	known := &calls.Routes{}
	known.Add(calls.ServiceIdentity, provider.IdentityBase)
	provider.HTTPClient = http.Client{Transport: o.chain(s, known), CheckRedirect: keepWrites}
	s.open, s.close = context.WithCancel(context.WithoutCancel(ctx))

	got, err := s.authenticate(ctx, first)
	if err != nil {
		s.Close()
		return nil, explainAuthentication(Wrap("authenticate at "+where, s.explainRefusal(ctx, o, first, err)), o.Config.Authentication())
	}
	s.take(got)
	provider.ReauthFunc = s.renew
	if err := s.findServices(o.Config, got, known); err != nil {
		s.Close()
		return nil, Wrap("connect to "+where, err)
	}
	return s, nil
}

// chain returns the transport of all calls. From the outside in, it removes secrets from error responses, sets the
// request id, waits for the rate limit, logs, measures, and limits the time.
func (o Options) chain(s *Session, known *calls.Routes) http.RoundTripper {
	var next http.RoundTripper = attempts{next: s.connections, routes: known, timeout: o.RequestTimeout}
	next = measured{next: next, routes: known, metrics: s.metrics, now: o.clock.Now}
	next = logged{next: next, routes: known, logger: o.Logger, now: o.clock.Now}
	next = &throttled{next: next, routes: known, rate: o.Rate, clock: o.clock, metrics: s.metrics, limiters: map[string]*ratelimit.Limiter{}}
	return redact.New(requestIDs{next: next})
}

// authOptions returns the credentials in gophercloud's form.
func authOptions(g config.Global) gophercloud.AuthOptions {
	o := gophercloud.AuthOptions{IdentityEndpoint: g.AuthURL}
	switch g.Authentication() {
	case config.ByTrust:
		id, password := g.Trustee()
		setUser(&o, g, id)
		o.Password = password.Reveal()
		o.Scope = &gophercloud.AuthScope{TrustID: g.TrustID}
	case config.ByApplicationCredential:
		o.ApplicationCredentialSecret = g.ApplicationCredentialSecret.Reveal()
		o.ApplicationCredentialID = g.ApplicationCredentialID
		if o.ApplicationCredentialID == "" {
			o.ApplicationCredentialName = g.ApplicationCredentialName
			setUser(&o, g, g.UserID)
		}
	case config.ByToken:
		o.TokenID = g.Token.Reveal()
		o.Scope = projectScope(g)
	default:
		setUser(&o, g, g.UserID)
		o.Password = g.Password.Reveal()
		o.Scope = projectScope(g)
	}
	return o
}

// setUser sets the user by id or, without an id, by name and domain.
func setUser(o *gophercloud.AuthOptions, g config.Global, id string) {
	o.UserID = id
	if id != "" {
		return
	}
	o.Username = g.Username
	o.DomainID, o.DomainName = g.UserDomain()
}

// projectScope returns the project by id or, without an id, by name and domain. With an empty scope Keystone
// chooses: the user's default project, or the project of the token.
func projectScope(g config.Global) *gophercloud.AuthScope {
	switch {
	case g.TenantID != "":
		return &gophercloud.AuthScope{ProjectID: g.TenantID}
	case g.TenantName != "":
		id, name := g.TenantDomain()
		return &gophercloud.AuthScope{ProjectName: g.TenantName, DomainID: id, DomainName: name}
	}
	return &gophercloud.AuthScope{}
}

// ErrNoService is wrapped by the error of Connect if Keystone accepts the login, but the service catalogue lacks a service.
var ErrNoService = errors.New("the service catalogue lacks a service")

// ErrNoRegion is wrapped by the error of Connect if Keystone accepts the login, but the service catalogue has several regions and
// none is configured.
var ErrNoRegion = errors.New("no region is configured")

// findServices creates the service clients from the catalogue of the token.
func (s *Session) findServices(g config.Global, got *accepted, known *calls.Routes) error {
	if got.projectID() == "" {
		return &Error{Class: Invalid, Message: "the token is for no project", Advice: "set tenant-id or tenant-name in [Global]"}
	}
	s.projectID = got.projectID()
	var err error
	s.services, err = catalogue.Find(s.provider, got.token.Catalog, catalogue.Wanted{
		Region: g.Region, Type: g.EndpointType, ProjectID: s.projectID,
		Overrides: map[string]string{
			calls.ServiceNetwork: g.NetworkEndpoint, calls.ServiceLoadBalancer: g.LoadBalancerEndpoint,
			calls.ServiceCompute: g.ComputeEndpoint, calls.ServiceKeyManager: g.KeyManagerEndpoint,
		},
	}, known.Add)
	if errors.As(err, new(*catalogue.RegionError)) {
		return &Error{Class: Invalid, Message: err.Error(), Err: errors.Join(ErrNoRegion, err)}
	}
	if err != nil {
		return &Error{Class: Invalid, Message: err.Error(), Err: errors.Join(ErrNoService, err)}
	}
	return nil
}

// withoutPassword returns an address without a password, so that it can be shown.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "Keystone"
	}
	return u.Redacted()
}
