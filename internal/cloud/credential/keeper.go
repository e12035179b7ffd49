// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential watches cloud.conf and passes changed credentials to the session.
package credential

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const (
	// proofInterval is how often a token is renewed to check that Keystone still accepts the credentials.
	proofInterval = 10 * time.Minute
	// firstRejected and lastRejected limit the wait before rejected credentials are tried again, unless the file
	// changes.
	firstRejected = 4 * time.Second
	lastRejected  = 5 * time.Minute
	// expiryNotice is how long before the expiry of credentials a notice is logged, and noticeInterval
	// how often.
	expiryNotice   = 7 * 24 * time.Hour
	noticeInterval = 12 * time.Hour
)

// Keeper keeps the credentials of a session in sync with cloud.conf.
type Keeper struct {
	path     string
	interval time.Duration
	started  config.Config
	session  *openstack.Session
	log      logr.Logger

	// What was last logged, so that it is logged only once: an unreadable file, keys that need a restart, features and
	// calls that are not allowed, and why the expiry of the credentials is unknown.
	unreadable, restart, without, missing, unknown string
	// rejected are the last credentials that did not work, with the reason. They are tried again at retryAt, and
	// then after twice as long.
	rejected config.Global
	why      string
	retryAt  time.Time
	retryIn  time.Duration
	// refused is set while Keystone rejects the credentials in use.
	refused bool

	expiry
}

// expiry is when the credentials expire, their kind, and when to log that again.
type expiry struct {
	expires  time.Time
	kind     config.Authentication
	noticeAt time.Time
}

// New returns a Keeper for the file with which the session was started. It reads the file at the
// interval.
func New(path string, interval time.Duration, started config.Config, session *openstack.Session, log logr.Logger) *Keeper {
	return &Keeper{path: path, interval: interval, started: started, session: session, log: log.WithName("credentials")}
}

// Run watches cloud.conf until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	look, proof := time.NewTicker(k.interval), time.NewTicker(proofInterval)
	defer look.Stop()
	defer proof.Stop()
	k.readExpiry(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-proof.C:
			_ = k.session.Renew(ctx) // logRefusal logs the result
			k.readExpiry(ctx)
		case <-look.C:
			k.look(ctx)
		}
		k.logRefusal()
		k.logExpiry(time.Now())
	}
}

// look reads cloud.conf and applies changes of the credentials.
func (k *Keeper) look(ctx context.Context) {
	newer, err := config.Load(k.path)
	if err != nil {
		k.logUnreadable("cloud.conf has changed and cannot be read; keeping the previous configuration", err)
		return
	}
	if k.logRestart(newer) {
		return
	}
	g := k.started.Global.Reloaded(newer.Global)
	if g == k.rejected && time.Now().Before(k.retryAt) {
		return
	}
	changed, err := k.session.Reload(ctx, g)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		k.unreadable = ""
		k.reject(g, openstack.WithDoubts(err, newer.LoginDoubts()))
	case changed:
		k.forget()
		k.log.Info("using the changed credentials of cloud.conf", "authentication", string(g.Authentication()))
		k.readExpiry(ctx)
	default:
		k.forget()
	}
}

// logUnreadable logs once why the file cannot be read.
func (k *Keeper) logUnreadable(message string, err error) {
	if err.Error() != k.unreadable {
		k.unreadable = err.Error()
		k.session.Rejected()
		k.log.Info(message, "error", k.unreadable)
	}
}

// logRestart logs changes that need a restart. If the address of Keystone has changed, no credentials are applied:
// they are for the other Keystone.
func (k *Keeper) logRestart(newer config.Config) (elsewhere bool) {
	names := strings.Join(k.started.NeedRestart(newer), ", ")
	elsewhere = newer.Global.AuthURL != k.started.Global.AuthURL
	if names != k.restart && names != "" {
		k.log.Info("cloud.conf has changes that need a restart", "keys", names)
		if elsewhere {
			k.session.Rejected()
		}
	}
	k.restart = names
	return elsewhere
}

// reject delays the next attempt with credentials that do not work. It logs this if the credentials or the reason
// are new.
func (k *Keeper) reject(g config.Global, err error) {
	why := openstack.Reason(err)
	news := g != k.rejected || why != k.why
	if g != k.rejected {
		k.retryIn = firstRejected / 2
	}
	k.retryIn = min(2*k.retryIn, lastRejected)
	k.rejected, k.why, k.retryAt = g, why, time.Now().Add(k.retryIn)
	if news {
		k.log.Info("the changed credentials of cloud.conf do not work; keeping the old ones and retrying",
			"tryingAgainIn", k.retryIn.String(), "error", err.Error())
	}
}

func (k *Keeper) forget() {
	k.unreadable, k.why, k.rejected = "", "", config.Global{}
}

// logRefusal logs when Keystone begins to reject the credentials, and when it accepts them again.
func (k *Keeper) logRefusal() {
	refusal := k.session.Refusal()
	switch {
	case refusal != nil && !k.refused:
		k.log.Info("Keystone rejects the credentials; replace them in cloud.conf", "error", refusal.Error())
	case refusal == nil && k.refused:
		k.log.Info("Keystone accepts the credentials again")
	}
	k.refused = refusal != nil
}

// readExpiry reads when the credentials expire and whether they allow all calls. It is called repeatedly, and logs
// only what is new.
func (k *Keeper) readExpiry(ctx context.Context) {
	k.logMissing()
	expires, kind, err := k.session.Expiry(ctx)
	if err != nil {
		if why := openstack.Reason(err); why != k.unknown {
			k.unknown = why
			k.log.V(1).Info("cannot read when the credentials expire", "error", err.Error())
		}
		return
	}
	k.unknown = ""
	if !expires.Equal(k.expires) || kind != k.kind {
		k.noticeAt = time.Time{}
	}
	k.expires, k.kind = expires, kind
	k.session.NoteExpiry(expires, kind)
}

// logMissing logs the calls that the access rules of the credentials do not allow.
func (k *Keeper) logMissing() {
	without, others := accessrule.Without(k.session.MissingRules())
	var features, names []string
	for _, f := range without {
		features = append(features, f.Name())
	}
	for _, call := range others {
		names = append(names, call.String())
	}
	left, missing := strings.Join(features, ","), strings.Join(names, ", ")
	if left != k.without && left != "" {
		k.log.Info("the application credential does not allow the calls of some features: neither cloud.conf nor Services can use them", "without", left)
	}
	k.without = left
	if missing != k.missing && missing != "" {
		k.log.Info("the application credential was created for an older version and does not allow all calls; create another one with "+
			"`kube-octavia credential rotate`", "missing", missing)
	}
	k.missing = missing
}

// logExpiry logs that the credentials expire soon.
func (k *Keeper) logExpiry(now time.Time) {
	if k.expires.IsZero() || k.expires.Sub(now) > expiryNotice || now.Before(k.noticeAt) {
		return
	}
	k.noticeAt = now.Add(noticeInterval)
	k.log.Info("the credentials expire soon; replace them in cloud.conf", "authentication", string(k.kind),
		"expires", k.expires.Format(time.RFC3339), "in", k.expires.Sub(now).Round(time.Minute).String())
}
