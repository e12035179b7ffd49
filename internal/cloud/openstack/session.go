// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack is the session with a cloud: it authenticates and renews tokens, finds the services, limits the
// call rate, gives each call an id, a timeout, a log line and metrics, and classifies failures.
//
// Credentials can be replaced at run time: see Session.Reload and Options.Reread. Package calls lists every call
// of the program. The access rules of an application credential are computed from it.
//
// The packages of the APIs (octavia, neutron, barbican) use the service clients of a Session and pass every error
// through Wrap.
package openstack

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/cloud/catalogue"
	"github.com/kube-octavia/kube-octavia/internal/cloud/ratelimit"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Options configure a Session. Only Config is required.
type Options struct {
	// Config holds the address of Keystone and the credentials.
	Config config.Global
	// RequestTimeout is the time limit of each call, without its wait for the rate limit; 0 means
	// 60 s.
	RequestTimeout time.Duration
	// UserAgent names the program to the cloud: "kube-octavia/1.2.3".
	UserAgent string
	// Logger logs each call at V(4), unless the context of the call has a logger.
	Logger logr.Logger
	// Metrics is the registry; nil registers nothing. Sessions may share it.
	Metrics prometheus.Registerer
	// Rate limits the calls to each service.
	Rate Rate
	// Reread reads the configuration again when a token cannot be renewed: if it has new credentials by then, no
	// call fails. It may be nil.
	Reread func() (config.Global, error)
	// Dial opens the connections; nil uses the network.
	Dial Dial
	// ExamineRefusal finds out with a second login, without a project, whether Keystone rejects the password or the project.
	// Programs that retry automatically must not set it: users with too many failed logins may be locked out.
	ExamineRefusal bool

	clock ratelimit.Clock // set by tests
}

// Session is an authenticated connection to one region of a cloud, for one project. It is safe for concurrent use.
type Session struct {
	provider    *gophercloud.ProviderClient
	services    catalogue.Services
	projectID   string
	metrics     metrics
	connections *connections
	reread      func() (config.Global, error)
	open        context.Context // ends with Close
	close       context.CancelFunc

	reloading sync.Mutex // one Reload at a time
	mu        sync.Mutex // guards the fields below
	login     login      // the login of the token in use
	next      *accepted  // the login that the next renewal uses
	refusal   error      // why Keystone rejected the last login; nil if it did not
}

// Network returns the client of Neutron.
func (s *Session) Network() *gophercloud.ServiceClient { return s.services.Network }

// LoadBalancer returns the client of Octavia.
func (s *Session) LoadBalancer() *gophercloud.ServiceClient { return s.services.LoadBalancer }

// KeyManager returns the client of Barbican, or nil if the cloud has none.
func (s *Session) KeyManager() *gophercloud.ServiceClient { return s.services.KeyManager }

// Compute returns a client of Nova that requests the microversion. The error is of class Invalid and says that the cloud has
// no Nova.
func (s *Session) Compute(microversion string) (*gophercloud.ServiceClient, error) {
	client, err := s.services.Compute(microversion)
	if err != nil {
		return nil, &Error{Class: Invalid, Message: err.Error(), Err: errors.Join(ErrNoService, err)}
	}
	return client, nil
}

// ProjectID returns the id of the session's project.
func (s *Session) ProjectID() string { return s.projectID }

// Close closes idle connections and cancels a token renewal in progress. Later calls fail once the token has
// expired. Close may be called more than once.
func (s *Session) Close() {
	s.close()
	s.connections.current.Load().CloseIdleConnections()
}
