// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential keeps a session working with the credentials that stand in cloud.conf,
// which may change. It may import config and openstack.
package credential

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// How the credentials are kept.
const (
	// LookInterval lies between two looks at cloud.conf and the files that it
	// names. Their contents are compared: that works with whatever changes files,
	// and costs less than to find out how each kind of mount tells.
	LookInterval = 2 * time.Second
	// proofInterval lies between two proofs that Keystone takes the credentials.
	proofInterval = 10 * time.Minute
	// firstRejected and lastRejected are how long to leave credentials alone that
	// were no good, unless the file changes once more.
	firstRejected = 4 * time.Second
	lastRejected  = 5 * time.Minute
	// expiryNotice is how long before their end credentials are complained about,
	// and noticeInterval how often.
	expiryNotice   = 7 * 24 * time.Hour
	noticeInterval = 12 * time.Hour
)

// Keeper lets a session have the credentials that stand in cloud.conf.
type Keeper struct {
	path    string
	started config.Config
	session *openstack.Session
	log     logr.Logger

	// said is what was complained about last, so that it is said once.
	said string
	// restart is what was said last to need a restart.
	restart string
	// missing is what was said last not to be allowed, and unknown why it could not
	// be told when the credentials expire.
	missing, unknown string
	// rejected are the last credentials that were no good, for why; they are tried
	// again at retryAt, and then after twice as long.
	rejected config.Global
	why      string
	retryAt  time.Time
	retryIn  time.Duration
	// refused is whether Keystone took the credentials in use no more.
	refused bool

	end
}

// end is when the credentials expire, of which kind they are, and when that is said again.
type end struct {
	expires  time.Time
	kind     config.Authentication
	noticeAt time.Time
}

// New returns a Keeper for the file that the session was started with.
func New(path string, started config.Config, session *openstack.Session, log logr.Logger) *Keeper {
	return &Keeper{path: path, started: started, session: session, log: log.WithName("credentials")}
}

// Run keeps the credentials until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	look, proof := time.NewTicker(LookInterval), time.NewTicker(proofInterval)
	defer look.Stop()
	defer proof.Stop()
	k.learn(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-proof.C:
			_ = k.session.Renew(ctx) // tellRefusal says what came of it
			k.learn(ctx)
		case <-look.C:
			k.look(ctx)
		}
		k.tellRefusal()
		k.tellExpiry(time.Now())
	}
}

// look reads cloud.conf and takes over what may change.
func (k *Keeper) look(ctx context.Context) {
	newer, err := config.Load(k.path)
	if err != nil {
		k.complain("cloud.conf has changed and cannot be read; keeping the previous configuration", err)
		return
	}
	if k.tellRestart(newer) {
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
		k.said = ""
		k.reject(g, err)
	case changed:
		k.forget()
		k.log.Info("using the changed credentials of cloud.conf", "authentication", string(g.Authentication()))
		k.learn(ctx)
	default:
		k.forget()
	}
}

// complain says once what is wrong with the file.
func (k *Keeper) complain(message string, err error) {
	if err.Error() == k.said {
		return
	}
	k.said = err.Error()
	k.session.Rejected()
	k.log.Info(message, "error", k.said)
}

// tellRestart says which other changes need a restart. Where Keystone itself is
// another, nothing can be taken over: the credentials are for that one.
func (k *Keeper) tellRestart(newer config.Config) (elsewhere bool) {
	names := strings.Join(k.started.NeedRestart(newer), ", ")
	elsewhere = newer.Global.AuthURL != k.started.Global.AuthURL
	if names == k.restart {
		return elsewhere
	}
	k.restart = names
	if names == "" {
		return elsewhere
	}
	k.log.Info("cloud.conf has changes that need a restart", "keys", names)
	if elsewhere {
		k.session.Rejected()
	}
	return elsewhere
}

// reject puts off the next attempt with credentials that are no good, and says so
// when they are others than before, or no good for another reason.
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
	k.said, k.why, k.rejected = "", "", config.Global{}
}

// tellRefusal says when Keystone stops to take the credentials, and when it takes
// them again.
func (k *Keeper) tellRefusal() {
	refusal := k.session.Refusal()
	switch {
	case refusal != nil && !k.refused:
		k.log.Info("Keystone rejects the credentials; replace them in cloud.conf", "error", refusal.Error())
	case refusal == nil && k.refused:
		k.log.Info("Keystone accepts the credentials again")
	}
	k.refused = refusal != nil
}

// learn finds out when the credentials end and whether they allow all calls. It is
// done again and again, and says only what is new.
func (k *Keeper) learn(ctx context.Context) {
	k.tellMissing()
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

// tellMissing says which calls the access rules of the credentials do not allow.
func (k *Keeper) tellMissing() {
	var names []string
	for _, call := range k.session.MissingRules() {
		names = append(names, call.String())
	}
	missing := strings.Join(names, ", ")
	if missing != k.missing && missing != "" {
		k.log.Info("the application credential was created for an older version and does not allow all calls; create another one with "+
			"`kube-octavia credential rotate`", "missing", missing)
	}
	k.missing = missing
}

// tellExpiry says in time that the credentials end.
func (k *Keeper) tellExpiry(now time.Time) {
	if k.expires.IsZero() || k.expires.Sub(now) > expiryNotice || now.Before(k.noticeAt) {
		return
	}
	k.noticeAt = now.Add(noticeInterval)
	k.log.Info("the credentials expire soon; replace them in cloud.conf", "authentication", string(k.kind),
		"expires", k.expires.Format(time.RFC3339), "in", k.expires.Sub(now).Round(time.Minute).String())
}
