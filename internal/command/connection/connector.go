// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/cloud/credential"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The waits before a connection is retried at the start, the first one and the longest: if the
// cloud does not answer, and if it refuses the credentials. Keystone may lock out a user after too
// many failures. A change of cloud.conf ends the wait.
const (
	cloudRetry        = 5 * time.Second
	firstRefusalRetry = time.Minute
	lastRefusalRetry  = 10 * time.Minute
)

// Connector connects a long-running process, the controller or the server of the topology page, to its cloud. It
// connects while the process already runs, so that probes, Services and the page show why it fails. Then it starts the
// work, and keeps the credentials the same as in cloud.conf.
type Connector struct {
	// Options select the cloud and limit the rate of calls.
	Options Options
	Logger  logr.Logger
	// Version is the version of the build.
	Version string
	// Registry is the registry for the metrics of the calls.
	Registry prometheus.Registerer
	// Config is cloud.conf as the process read it at its start.
	Config config.Config
	// ConfigInterval is the time between two reads of cloud.conf.
	ConfigInterval time.Duration
	// Work starts what needs the cloud, such as the reconcilers.
	Work func(context.Context, Cloud) error
	// Tell reports to Services or viewers why the cloud is not connected. It is called repeatedly.
	Tell func(context.Context, error)

	mu      sync.Mutex
	session *openstack.Session // nil until it is connected
	working bool
	failure error // why it is not connected
}

// NeedLeaderElection is false: a replica on standby must be ready to become the leader.
func (c *Connector) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It returns when the context ends, or if the cloud can never be used.
func (c *Connector) Start(ctx context.Context) error {
	cloud, err := c.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("connect to OpenStack: %w", err)
	}
	c.mu.Lock()
	c.session = cloud.Session
	c.mu.Unlock()
	c.Logger.Info("connected to OpenStack", "octaviaAPI", cloud.Capabilities.APIVersion.String(), "provider", cloud.Capabilities.Provider,
		"authentication", string(c.Config.Global.Authentication()))
	if err := c.Work(ctx, cloud); err != nil {
		return err
	}
	c.mu.Lock()
	c.working = true
	c.mu.Unlock()
	if c.Options.CloudConfig == "" { // settings of a controller are not followed
		<-ctx.Done()
		return nil
	}
	credential.New(c.Options.CloudConfig, c.ConfigInterval, c.Config, cloud.Session, c.Logger).Run(ctx)
	return nil
}

// Close closes the session, if there is one. Call it when no goroutine makes calls anymore.
func (c *Connector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		c.session.Close()
	}
}

// connect authenticates. If the cloud does not answer or rejects the credentials, it retries, with
// the current cloud.conf. A cloud that lacks what is needed is an error.
func (c *Connector) connect(ctx context.Context) (Cloud, error) {
	refusals := firstRefusalRetry
	for {
		if c.Config.Global.TLSInsecure {
			c.Logger.Info("the certificates of the cloud are not verified, because [Global] tls-insecure is true: anyone between " +
				"this controller and the cloud can read the credentials")
		}
		cloud, err := c.Options.Connect(ctx, c.Config, c.Version, c.Logger, c.Registry)
		wait := cloudRetry
		switch openstack.Classify(err) {
		case "":
			return cloud, nil
		case openstack.Transient, openstack.Throttled:
			c.Logger.Info("OpenStack does not answer; trying again", "in", wait.String(), "error", err.Error())
		case openstack.Unauthorized:
			wait = refusals
			refusals = min(2*refusals, lastRefusalRetry)
			c.Logger.Info("Keystone rejects the credentials; trying again when cloud.conf changes", "orIn", wait.String(), "error", err.Error())
		default:
			return Cloud{}, err
		}
		c.fail(err)
		if err := c.pause(ctx, wait, err); err != nil {
			return Cloud{}, err
		}
	}
}

// pause waits until the time is over or cloud.conf changes. The whole file is read again, because
// none of it has had an effect yet. Meanwhile the failure is reported to all Services, also to
// those that are created now, and to those of a replica that becomes the leader now.
func (c *Connector) pause(ctx context.Context, wait time.Duration, failure error) error {
	end := time.After(wait)
	look := time.NewTicker(c.ConfigInterval)
	defer look.Stop()
	complaint := ""
	for {
		c.Tell(ctx, failure)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-look.C:
		}
		newer, err := c.Options.LoadConfig()
		if err != nil {
			if err.Error() != complaint {
				complaint = err.Error()
				c.Logger.Info("cloud.conf has changed and cannot be read; keeping the previous configuration", "error", complaint)
			}
			continue
		}
		if newer.ClusterIP != c.Config.ClusterIP {
			return fmt.Errorf("[%s] of %s has changed, which needs a restart", config.ClusterIPSection, c.Options.ConfigName())
		}
		if !reflect.DeepEqual(newer, c.Config) {
			c.Config = newer
			c.Logger.Info("cloud.conf has changed; trying again")
			return nil
		}
	}
}

func (c *Connector) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// Connected is a readiness check: it returns why the reconcilers do not run yet, or nil.
func (c *Connector) Connected(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.working:
		return nil
	case c.failure != nil:
		return fmt.Errorf("not connected to OpenStack: %w", c.failure)
	}
	return errors.New("not connected to OpenStack yet")
}

// Authorized is a readiness check: it returns an error while Keystone rejects the credentials.
func (c *Connector) Authorized(*http.Request) error {
	c.mu.Lock()
	failure := c.failure
	if c.session != nil {
		failure = c.session.Refusal()
	}
	c.mu.Unlock()
	if openstack.Classify(failure) != openstack.Unauthorized {
		return nil
	}
	return fmt.Errorf("the credentials are rejected by Keystone; replace them in %s, which is read again when it changes: %w", c.Options.ConfigName(), failure)
}
