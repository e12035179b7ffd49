// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/calltable"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// login is a way to authenticate: what [Global] says, and what is in the files that it names.
type login struct {
	global       config.Global
	certificates certificates
	transport    *http.Transport
}

func newLogin(g config.Global) (login, error) {
	read, err := readCertificates(g)
	if err != nil {
		return login{}, err
	}
	settings, err := read.settings(g)
	if err != nil {
		return login{}, err
	}
	return login{global: g, certificates: read, transport: newTransport(settings)}, nil
}

// next is the login that g describes. It keeps the connections if it trusts the same certificates.
func (l login) next(g config.Global) (login, error) {
	n, err := newLogin(g)
	if err == nil && n.certificates == l.certificates {
		n.transport = l.transport
	}
	return n, err
}

// same reports whether both would send the same to Keystone and trust the same certificates.
func (l login) same(other login) bool {
	return l.global == other.global && l.certificates == other.certificates
}

// accepted is a login that Keystone took, and the token that it gave.
type accepted struct {
	login     login
	result    tokenResult
	projectID string
}

// tokenResult is what Keystone answers, whichever call was made.
type tokenResult interface {
	gophercloud.AuthResult
	ExtractInto(any) error
	ExtractProject() (*tokens.Project, error)
	ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
}

// authenticate gets a token, with a client of its own: nothing of the session changes. Whatever Keystone answers to say that
// it does not take the credentials is of class Unauthorized.
func (s *Session) authenticate(ctx context.Context, l login) (*accepted, error) {
	client, err := gophercloudopenstack.NewClient(l.global.AuthURL)
	if err != nil {
		return nil, &Error{Class: Invalid, Message: "auth-url is not an address"}
	}
	client.HTTPClient, client.UserAgent = s.provider.HTTPClient, s.provider.UserAgent
	options := authOptions(l.global)
	if err := gophercloudopenstack.AuthenticateV3(over(ctx, l.transport), client, &options, gophercloud.EndpointOpts{}); err != nil {
		return nil, asRefusal(err)
	}
	result, ok := client.GetAuthResult().(tokenResult)
	if !ok {
		return nil, errors.New("keystone's answer holds no catalogue")
	}
	project, err := result.ExtractProject()
	if err != nil {
		return nil, err
	}
	a := &accepted{login: l, result: result}
	if project != nil {
		a.projectID = project.ID
	}
	return a, nil
}

// ByPassword reports whether the login is a user's with a password, for whom other services can act whatever the cloud.
func (s *Session) ByPassword() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.login.global.Authentication() == config.ByPassword
}

// CheckExchange looks whether Keystone gives another token for the one in use, as services ask for that act in the caller's
// name: Octavia does, to see to it that it may read a certificate in Barbican. Keystone refuses that to who came with a trust,
// and, in versions that are up to date, with an application credential. The refusal is an error of class Invalid.
func (s *Session) CheckExchange(ctx context.Context) error {
	if s.ByPassword() {
		return nil
	}
	s.mu.Lock()
	g := s.login.global
	s.mu.Unlock()
	client, err := gophercloudopenstack.NewClient(g.AuthURL)
	if err != nil {
		return &Error{Class: Invalid, Message: "auth-url is not an address"}
	}
	client.HTTPClient, client.UserAgent = s.provider.HTTPClient, s.provider.UserAgent
	options := gophercloud.AuthOptions{IdentityEndpoint: g.AuthURL, TokenID: s.provider.Token(), Scope: &gophercloud.AuthScope{ProjectID: s.projectID}}
	if err := gophercloudopenstack.AuthenticateV3(ctx, client, &options, gophercloud.EndpointOpts{}); err != nil {
		e := describe(asRefusal(err))
		if e.Class == Unauthorized {
			e.Class = Invalid
		}
		return &e
	}
	return nil
}

// asRefusal makes Keystone's ways to refuse credentials one class. An application credential or a token that is gone is
// answered with 404, a trust that may not be used with 403.
func asRefusal(err error) error {
	e := describe(err)
	gone := e.Status == http.StatusNotFound && (strings.Contains(e.Message, "Application Credential") || strings.Contains(e.Message, "oken"))
	if gone || e.Status == http.StatusForbidden {
		e.Class = Unauthorized
	}
	return &e
}

// take makes the login that was accepted the session's own. The caller sees to it that nobody else does so meanwhile.
func (s *Session) take(a *accepted) {
	_ = s.provider.SetTokenAndAuthResult(a.result) // it has a token, or it would not have been accepted
	s.connections.replace(a.login.transport)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login, s.refusal = a.login, nil
}

// renew gets another token for all calls that met the expired one. They wait for it, and it must not end with the call that
// happened to be first.
func (s *Session) renew(ctx context.Context) error {
	s.mu.Lock()
	next := s.next
	s.next = nil
	s.mu.Unlock()
	if next != nil {
		s.take(next)
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	got, err := s.again(ctx)
	result := "renewed"
	switch {
	case err == nil:
		s.take(got)
	case Classify(err) == Unauthorized:
		s.refuse(err)
		fallthrough
	default:
		result = "failed"
	}
	s.metrics.renewals.WithLabelValues(result).Inc()
	return err
}

// again authenticates as before, or as the configuration says by now if that fails.
func (s *Session) again(ctx context.Context) (*accepted, error) {
	s.mu.Lock()
	current := s.login
	s.mu.Unlock()
	var got *accepted
	var err error
	if current.global.Authentication() == config.ByToken {
		err = &Error{Class: Unauthorized, Message: "[Global] token cannot be renewed: set a new one, " +
			"or better a password or an application credential"}
	} else if got, err = s.authenticate(ctx, current); err == nil {
		return got, nil
	}
	if fresh, changed := s.readAgain(current); changed {
		if got, second := s.try(ctx, fresh); second == nil {
			s.metrics.reloads.WithLabelValues("replaced").Inc()
			return got, nil
		}
	}
	return nil, err
}

// readAgain reads the configuration, and reports whether it says something new that can be tried.
func (s *Session) readAgain(current login) (login, bool) {
	if s.reread == nil {
		return login{}, false
	}
	g, err := s.reread()
	if err != nil {
		return login{}, false
	}
	fresh, err := current.next(g)
	return fresh, err == nil && !fresh.same(current)
}

// try authenticates with a login that is to take the place of the present one. It must be for the same project: everything
// that the session's users remember is that project's.
func (s *Session) try(ctx context.Context, l login) (*accepted, error) {
	got, err := s.authenticate(ctx, l)
	if err != nil {
		return nil, err
	}
	if got.projectID != s.projectID {
		return nil, &Error{Class: Invalid, Message: fmt.Sprintf("they are for project %q, but the controller uses project %q: restart it "+
			"if that is what you want", got.projectID, s.projectID)}
	}
	return got, nil
}

func (s *Session) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

// Refusal returns why Keystone did not take the credentials when it was asked the last time; nil if it took them, or did not
// answer.
func (s *Session) Refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// Reload makes the credentials and certificates of g, if they are others than those in use, the session's own. They are tried
// first: if Keystone does not take them, everything stays as it is, and the error says why. Calls that are under way end with
// the token that they have; if that is not taken any more, they are made again with the new one. The address of Keystone, the
// region and the kind of endpoints stay what they were: see config.Global.Reloaded.
func (s *Session) Reload(ctx context.Context, g config.Global) (changed bool, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.mu.Lock()
	current := s.login
	s.mu.Unlock()
	fresh, err := current.next(g)
	if err == nil && fresh.same(current) {
		s.metrics.rejected.Set(0)
		return false, nil
	}
	if err != nil {
		err = &Error{Class: Invalid, Message: err.Error(), Err: err}
	} else {
		err = s.replace(ctx, fresh)
	}
	if err != nil {
		s.Rejected()
		return true, Wrap("take over the new credentials in [Global]", err)
	}
	s.metrics.reloads.WithLabelValues("replaced").Inc()
	s.metrics.rejected.Set(0)
	return true, nil
}

// Rejected counts a change of the configuration that was seen and cannot be taken over. Reload does so by itself.
func (s *Session) Rejected() {
	s.metrics.reloads.WithLabelValues("rejected").Inc()
	s.metrics.rejected.Set(1)
}

// replace tries the login and, if Keystone takes it, lets the next renewal take it over. A renewal that is under way may have
// looked for it too early.
func (s *Session) replace(ctx context.Context, fresh login) error {
	got, err := s.try(ctx, fresh)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.next = got
	s.mu.Unlock()
	for s.waiting() {
		if err := s.provider.Reauthenticate(ctx, ""); err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// waiting reports whether a new login is still to be taken over.
func (s *Session) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next != nil
}

// Renew gets a new token although the present one may be good: so it is known whether Keystone still takes the credentials,
// also where no calls are made. A given token is left alone.
func (s *Session) Renew(ctx context.Context) error {
	s.mu.Lock()
	given := s.login.global.Authentication() == config.ByToken
	s.mu.Unlock()
	if given {
		return nil
	}
	return Wrap("authenticate", s.provider.Reauthenticate(ctx, ""))
}

// Expiry returns when the credentials in use end, or the zero time if they do not, or Keystone does not say. Kind is what
// ends.
func (s *Session) Expiry(ctx context.Context) (expires time.Time, kind config.Authentication, err error) {
	s.mu.Lock()
	kind = s.login.global.Authentication()
	s.mu.Unlock()
	result, ok := s.provider.GetAuthResult().(tokenResult)
	if !ok {
		return expires, kind, nil
	}
	var t tokenDocument
	if err := result.ExtractInto(&t); err != nil {
		return expires, kind, Wrap("read the token", err)
	}
	switch kind {
	case config.ByToken:
		return time.Time(t.ExpiresAt), kind, nil
	case config.ByPassword:
		return time.Time(t.User.PasswordExpiresAt), kind, nil
	case config.ByTrust:
		expires, err = s.expiryOf(ctx, "trust", "OS-TRUST", "trusts", t.Trust.ID)
	case config.ByApplicationCredential:
		expires, err = s.expiryOf(ctx, "application_credential", "users", t.User.ID, "application_credentials", t.ApplicationCredential.ID)
	}
	return expires, kind, Wrap("read when the "+string(kind)+" expires", err)
}

// NoteExpiry lets the metric say what Expiry returned.
func (s *Session) NoteExpiry(expires time.Time, kind config.Authentication) {
	s.metrics.expiry.Reset()
	if !expires.IsZero() {
		s.metrics.expiry.WithLabelValues(string(kind)).Set(float64(expires.Unix()))
	}
}

// tokenDocument is what a token says of how it was had.
type tokenDocument struct {
	ExpiresAt keystoneTime `json:"expires_at"`
	User      struct {
		ID                string       `json:"id"`
		PasswordExpiresAt keystoneTime `json:"password_expires_at"`
	} `json:"user"`
	Trust struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
	ApplicationCredential struct {
		ID string `json:"id"`
	} `json:"application_credential"`
}

// expiryOf reads expires_at of an object of Keystone's.
func (s *Session) expiryOf(ctx context.Context, kind string, path ...string) (time.Time, error) {
	var answer map[string]struct {
		ExpiresAt keystoneTime `json:"expires_at"`
	}
	client := s.identity()
	_, err := client.Get(ctx, client.ServiceURL(path...), &answer, nil)
	return time.Time(answer[kind].ExpiresAt), err
}

// identity is the client of Keystone.
func (s *Session) identity() *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{ProviderClient: s.provider, Type: calltable.ServiceIdentity, Endpoint: s.provider.IdentityBase + "v3/"}
}

// keystoneTime is a time as Keystone writes it: with a Z at the end or without, in UTC in any case; null is the zero time.
type keystoneTime time.Time

// UnmarshalJSON takes null and both forms.
func (t *keystoneTime) UnmarshalJSON(text []byte) error {
	bare := strings.TrimSuffix(strings.Trim(string(text), `"`), "Z")
	if bare == "null" || bare == "" {
		return nil
	}
	read, err := time.Parse("2006-01-02T15:04:05.999999", bare)
	*t = keystoneTime(read)
	return err
}
