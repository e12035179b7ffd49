// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/controller"
	"github.com/kube-octavia/kube-octavia/internal/credential"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/service"
)

// How long to wait before trying a cloud again at the start: one that does not
// answer, and one that refuses the credentials, the first time and at most. A
// user who fails too often may be locked out. A file that changes ends the wait.
const (
	cloudRetry        = 5 * time.Second
	firstRefusalRetry = time.Minute
	lastRefusalRetry  = 10 * time.Minute
)

// cloudLink is the controller's way to its cloud: it connects once the process
// runs, so that probes and Services tell why if that fails, then starts the
// reconcilers, and from then on sees to it that the credentials are those of
// cloud.conf.
type cloudLink struct {
	options *controllerOptions
	manager manager.Manager
	log     logr.Logger
	version string
	// started is cloud.conf as it was when the process began to work with it.
	started config.Config
	// work starts the reconcilers.
	work func(context.Context, *openstack.Session, config.Config, lb.Capabilities) error
	// tell lets the Services know that there is no cloud, and why.
	tell func(context.Context, error)

	mu      sync.Mutex
	session *openstack.Session // nil before it is connected
	working bool
	failure error // why it is not connected
}

// NeedLeaderElection is false: a replica that waits for its turn has to be able
// to take it.
func (l *cloudLink) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (l *cloudLink) Start(ctx context.Context) error {
	session, can, err := l.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("connect to OpenStack: %w", err)
	}
	l.mu.Lock()
	l.session = session
	l.mu.Unlock()
	l.log.Info("connected to OpenStack", "octaviaAPI", can.APIVersion.String(), "provider", can.Provider,
		"authentication", string(l.started.Global.Authentication()))
	if err := l.work(ctx, session, l.started, can); err != nil {
		return err
	}
	l.mu.Lock()
	l.working = true
	l.mu.Unlock()
	credential.New(l.options.cloudConfig, l.started, session, l.log).Run(ctx)
	return nil
}

// close lets go of the cloud, when nobody makes calls any more.
func (l *cloudLink) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		l.session.Close()
	}
}

// connect authenticates. A cloud that does not answer or does not take the
// credentials is asked again until it does, with what cloud.conf says by then;
// one that lacks what is needed is an error.
func (l *cloudLink) connect(ctx context.Context) (*openstack.Session, lb.Capabilities, error) {
	refusals := firstRefusalRetry
	for {
		if l.started.Global.TLSInsecure {
			l.log.Info("the certificates of the cloud are not verified, because [Global] tls-insecure is true: anyone between " +
				"this controller and the cloud can read the credentials")
		}
		session, can, err := l.options.connect(ctx, l.started, l.version, l.log, metrics.Registry)
		wait := cloudRetry
		switch openstack.Classify(err) {
		case "":
			return session, can, nil
		case openstack.Transient, openstack.Throttled:
			l.log.Info("OpenStack does not answer; trying again", "in", wait.String(), "error", err.Error())
		case openstack.Unauthorized:
			wait = refusals
			refusals = min(2*refusals, lastRefusalRetry)
			l.log.Info("Keystone rejects the credentials; trying again when cloud.conf changes", "orIn", wait.String(), "error", err.Error())
		default:
			return nil, can, err
		}
		l.fail(err)
		if err := l.pause(ctx, wait, err); err != nil {
			return nil, can, err
		}
	}
}

// pause waits, or less if cloud.conf changes. It is read as a whole: nothing of
// it has had an effect yet. Meanwhile all Services get to know of the failure,
// also those that come now, and those of a replica that becomes the leader now.
func (l *cloudLink) pause(ctx context.Context, wait time.Duration, failure error) error {
	end := time.After(wait)
	look := time.NewTicker(credential.LookInterval)
	defer look.Stop()
	complaint := ""
	for {
		l.tell(ctx, failure)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-look.C:
		}
		newer, err := config.Load(l.options.cloudConfig)
		if err != nil {
			if err.Error() != complaint {
				complaint = err.Error()
				l.log.Info("cloud.conf has changed and cannot be read; keeping the previous configuration", "error", complaint)
			}
			continue
		}
		if newer.ClusterIP != l.started.ClusterIP {
			return fmt.Errorf("[%s] of %s has changed, which needs a restart", config.ClusterIPSection, l.options.cloudConfig)
		}
		if !reflect.DeepEqual(newer, l.started) {
			l.started = newer
			l.log.Info("cloud.conf has changed; trying again")
			return nil
		}
	}
}

func (l *cloudLink) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

// connected is the readiness check of that name.
func (l *cloudLink) connected(*http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.working:
		return nil
	case l.failure != nil:
		return fmt.Errorf("not connected to OpenStack: %w", l.failure)
	}
	return errors.New("not connected to OpenStack yet")
}

// authorized is the readiness check of the credentials.
func (l *cloudLink) authorized(*http.Request) error {
	l.mu.Lock()
	failure := l.failure
	if l.session != nil {
		failure = l.session.Refusal()
	}
	l.mu.Unlock()
	if openstack.Classify(failure) != openstack.Unauthorized {
		return nil
	}
	return fmt.Errorf("the credentials are rejected by Keystone; replace them in %s, which is read again when it changes: %w", l.options.cloudConfig, failure)
}

// tellServices lets the Services that are to be served know that there is no
// cloud. Only the replica that would serve them does.
func tellServices(m manager.Manager, others *controller.Others, p *planner.Planner, log logr.Logger) func(context.Context, error) {
	return func(ctx context.Context, failure error) {
		select {
		case <-m.Elected():
		default:
			return
		}
		others.BeforeWriting(ctx)
		if err := service.ReportUnconnected(ctx, m, p, failure); err != nil && ctx.Err() == nil {
			log.Info("cannot report in the conditions of the Services that the cloud is unavailable", "error", err.Error())
		}
	}
}
