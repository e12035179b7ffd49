// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// login is a way to authenticate: [Global], and the contents of the files that it names.
type login struct {
	global       config.Global
	certificates certificates
	dial         Dial
	transport    *http.Transport
}

func newLogin(g config.Global, dial Dial) (login, error) {
	read, err := readCertificates(g)
	if err != nil {
		return login{}, err
	}
	settings, err := read.settings(g)
	if err != nil {
		return login{}, err
	}
	return login{global: g, certificates: read, dial: dial, transport: newTransport(settings, dial)}, nil
}

// next returns the login for g. It reuses the connections if the certificates are the same.
func (l login) next(g config.Global) (login, error) {
	n, err := newLogin(g, l.dial)
	if err == nil && n.certificates == l.certificates {
		n.transport = l.transport
	}
	return n, err
}

// same reports whether both logins send the same request to Keystone and trust the same
// certificates.
func (l login) same(other login) bool {
	return l.global == other.global && l.certificates == other.certificates
}

// accepted is a login that Keystone accepted, with its token.
type accepted struct {
	login  login
	result tokenResult
	token  struct {
		Project struct {
			ID string `json:"id"`
		} `json:"project"`
		Catalog []tokens.CatalogEntry `json:"catalog"`
	}
}

func (a *accepted) projectID() string { return a.token.Project.ID }

// tokenResult is Keystone's answer to a login of any form.
type tokenResult interface {
	gophercloud.AuthResult
	ExtractInto(any) error
}

// requestToken requests a token from Keystone with a separate client, so that the session does not change. The
// error is of class Unauthorized whenever Keystone rejects the credentials.
func (s *Session) requestToken(ctx context.Context, options gophercloud.AuthOptions) (tokenResult, error) {
	client, err := gophercloudopenstack.NewClient(options.IdentityEndpoint)
	if err != nil {
		return nil, &Error{Class: Invalid, Message: "auth-url is not an address"}
	}
	client.HTTPClient, client.UserAgent = s.provider.HTTPClient, s.provider.UserAgent
	if err := gophercloudopenstack.AuthenticateV3(ctx, client, &options, gophercloud.EndpointOpts{}); err != nil {
		return nil, asRefusal(err)
	}
	result, ok := client.GetAuthResult().(tokenResult)
	if !ok {
		return nil, errors.New("keystone's answer contains no catalogue")
	}
	return result, nil
}

// authenticate logs in, without changing the session.
func (s *Session) authenticate(ctx context.Context, l login) (*accepted, error) {
	result, err := s.requestToken(over(ctx, l.transport), authOptions(l.global))
	if err != nil {
		return nil, err
	}
	a := &accepted{login: l, result: result}
	if err := result.ExtractInto(decoding.Into(&a.token)); err != nil {
		return nil, err
	}
	return a, nil
}

// global returns [Global] of the login in use.
func (s *Session) global() config.Global { return s.current().global }

func (s *Session) current() login {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.login
}

// LoginID returns how the login in use authenticates, and what distinguishes it from others of that kind. Tokens are
// not distinguished.
func (s *Session) LoginID() (kind config.Authentication, id string) {
	g := s.global()
	return g.Authentication(), cmp.Or(g.ApplicationCredentialID, g.ApplicationCredentialName, g.TrustID, g.UserID, g.Username)
}

// asRefusal gives all rejections of credentials the same class. Keystone answers with 404 for a deleted
// application credential or token, and with 403 for a trust that may not be used.
func asRefusal(err error) error {
	e := describe(err)
	gone := e.Status == http.StatusNotFound && (strings.Contains(e.Message, "Application Credential") || strings.Contains(e.Message, "oken"))
	if gone || e.Status == http.StatusForbidden {
		e.Class, e.Advice = Unauthorized, ""
	}
	return &e
}

// take makes the accepted login the session's own. The caller excludes concurrent calls.
func (s *Session) take(a *accepted) {
	_ = s.provider.SetTokenAndAuthResult(a.result) // fails only without a token
	s.connections.replace(a.login.transport)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login, s.refusal = a.login, nil
}

// renew gets a new token for all calls that failed with the expired one and now wait for it. It does not end with
// the context of the first call.
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
	default:
		result = "failed"
		if Classify(err) == Unauthorized {
			s.mu.Lock()
			s.refusal = err
			s.mu.Unlock()
		}
	}
	s.metrics.renewals.WithLabelValues(result).Inc()
	return err
}

// again authenticates as before or, if that fails, with the configuration read again.
func (s *Session) again(ctx context.Context) (*accepted, error) {
	current := s.current()
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

// readAgain reads the configuration again, and reports whether it contains a new login.
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

// try authenticates with a login that will replace the current one. It must be for the same project, because all
// remembered state belongs to that project.
func (s *Session) try(ctx context.Context, l login) (*accepted, error) {
	got, err := s.authenticate(ctx, l)
	if err != nil {
		return nil, err
	}
	if got.projectID() != s.projectID {
		return nil, &Error{Class: Invalid, Message: fmt.Sprintf("they are for project %q, but the controller uses project %q: restart it "+
			"if this is intended", got.projectID(), s.projectID)}
	}
	return got, nil
}

// Refusal returns why Keystone rejected the credentials at the last attempt, or nil if it accepted them or did
// not answer.
func (s *Session) Refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// Reload makes the session use the credentials and certificates of g, if they differ from those in use. They are
// tried first: if Keystone rejects them, nothing changes and the error says why. Calls in progress end with the old
// token; if that is rejected, they are repeated with the new one. The address of Keystone, the region and the
// endpoint type do not change: see config.Global.Reloaded.
func (s *Session) Reload(ctx context.Context, g config.Global) (changed bool, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	current := s.current()
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

// Rejected counts a change of the configuration that cannot be used. Reload calls it itself.
func (s *Session) Rejected() {
	s.metrics.reloads.WithLabelValues("rejected").Inc()
	s.metrics.rejected.Set(1)
}

// replace tries the login and, if Keystone accepts it, makes the next renewal use it. It loops because a renewal in
// progress may have checked for a new login too early.
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

// waiting reports whether a new login is not in use yet.
func (s *Session) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next != nil
}

// Renew gets a new token although the current one may be valid, to check whether Keystone still accepts the
// credentials. It does nothing for a given token.
func (s *Session) Renew(ctx context.Context) error {
	if s.global().Authentication() == config.ByToken {
		return nil
	}
	return Wrap("authenticate", s.provider.Reauthenticate(ctx, ""))
}

// Expiry returns when the credentials in use expire, and their kind. The time is zero if they do not expire, or
// if Keystone does not show when.
func (s *Session) Expiry(ctx context.Context) (expires time.Time, kind config.Authentication, err error) {
	kind = s.global().Authentication()
	var t tokenDocument
	if err := s.readToken(&t); err != nil {
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

// NoteExpiry sets the metric to what Expiry returned.
func (s *Session) NoteExpiry(expires time.Time, kind config.Authentication) {
	s.metrics.expiry.Reset()
	if !expires.IsZero() {
		s.metrics.expiry.WithLabelValues(string(kind)).Set(float64(expires.Unix()))
	}
}

// tokenDocument is a token as Keystone describes it.
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

// readToken reads parts of the description of the token in use. Callers read only what they need, so
// that a part that cannot be read does not hide the others.
func (s *Session) readToken(into any) error {
	result, ok := s.provider.GetAuthResult().(tokenResult)
	if !ok {
		return errors.New("there is no token")
	}
	return result.ExtractInto(decoding.Into(into))
}

// expiryOf reads expires_at of an object in Keystone.
func (s *Session) expiryOf(ctx context.Context, kind string, path ...string) (time.Time, error) {
	var answer decoding.Entries[struct {
		ExpiresAt keystoneTime `json:"expires_at"`
	}]
	client := s.identity()
	if _, err := client.Get(ctx, client.ServiceURL(path...), decoding.Into(&answer), nil); err != nil {
		return time.Time{}, err
	}
	object, there := answer[kind]
	if !there {
		return time.Time{}, Unreadable("", "no "+kind)
	}
	return time.Time(object.ExpiresAt), nil
}

// identity returns the client of Keystone.
func (s *Session) identity() *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{ProviderClient: s.provider, Type: calls.ServiceIdentity, Endpoint: s.provider.IdentityBase + "v3/"}
}

// keystoneTime is a time in UTC as Keystone writes it, with or without a final Z; null is the zero time.
type keystoneTime time.Time

// UnmarshalJSON implements json.Unmarshaler.
func (t *keystoneTime) UnmarshalJSON(text []byte) error {
	bare := strings.TrimSuffix(strings.Trim(string(text), `"`), "Z")
	if bare == "null" || bare == "" {
		return nil
	}
	read, err := time.Parse("2006-01-02T15:04:05.999999", bare)
	*t = keystoneTime(read)
	return err
}
