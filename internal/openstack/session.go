// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack is the session with a cloud: it authenticates and keeps doing so, finds the services, holds the calls to
// a rate, gives each call an id, a time limit, a log line and a place in the metrics, and decides what a failure means.
//
// The credentials can be replaced while calls are made: see Session.Reload and Options.Reread. Every call that the project
// makes stands in one table (see Calls), from which the access rules of an application credential follow.
//
// The rooms that know an API (octavia, neutron) build on the service clients of a Session and pass every error through Wrap.
// The package imports config, and nothing else of this project.
package openstack

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// Options are what Connect makes a Session of. Only Config is needed.
type Options struct {
	// Config says where the cloud is and how to authenticate; a Config that config.Load accepted has a sound one.
	Config config.Global
	// RequestTimeout bounds each call; 0 means 60 s. The time that a call waits for its turn is not part of it.
	RequestTimeout time.Duration
	// UserAgent names the program to the cloud: "kube-octavia/1.2.3".
	UserAgent string
	// Logger gets a line for each call at V(4), unless the call's context holds a logger of its own.
	Logger logr.Logger
	// Metrics is where the metrics are registered; nil makes none public. Sessions may share it.
	Metrics prometheus.Registerer
	// Rate bounds the calls to each service.
	Rate Rate
	// Reread reads the configuration once more. It is asked when a token cannot be renewed: new credentials may be there
	// already, and then no call fails. Nil means that there is nothing to read.
	Reread func() (config.Global, error)

	clock clock // tests pass their own time
}

// Session is an authenticated connection to one cloud, one project, one region. It is for use by many goroutines.
type Session struct {
	provider     *gophercloud.ProviderClient
	network      *gophercloud.ServiceClient
	loadBalancer *gophercloud.ServiceClient
	keyManager   *gophercloud.ServiceClient // nil if there is none
	projectID    string
	metrics      metrics
	connections  *connections
	reread       func() (config.Global, error)
	open         context.Context // ends with Close
	close        context.CancelFunc

	reloading sync.Mutex // one Reload at a time
	mu        sync.Mutex // guards what follows
	login     login      // how the token in use was had
	next      *accepted  // what the next renewal is to take over
	refusal   error      // why Keystone refused the last time, nil if it did not
}

// Network returns the client of Neutron.
func (s *Session) Network() *gophercloud.ServiceClient { return s.network }

// LoadBalancer returns the client of Octavia.
func (s *Session) LoadBalancer() *gophercloud.ServiceClient { return s.loadBalancer }

// KeyManager returns the client of Barbican, or nil: not every cloud has one.
func (s *Session) KeyManager() *gophercloud.ServiceClient { return s.keyManager }

// ProjectID returns the id of the project that the session acts in.
func (s *Session) ProjectID() string { return s.projectID }

// Close lets go of idle connections and ends a renewal of the token that is under way. Calls made afterwards fail once the
// token has expired. Close may be called more than once.
func (s *Session) Close() {
	s.close()
	s.connections.current.Load().CloseIdleConnections()
}
