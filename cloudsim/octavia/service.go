// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
)

// newestMinor is the newest API version that is simulated, 2.newestMinor.
const newestMinor = 27

// VIPNetwork is what Octavia asks of Neutron, as an admin. It is called without
// any lock of this package held.
type VIPNetwork interface {
	// AllocateVIP makes the VIP port, or takes the one the request names.
	AllocateVIP(req neutron.VIPRequest) (neutron.VIP, error)
	// ReleaseVIP deletes a VIP port that AllocateVIP made; another port is kept
	// and let go.
	ReleaseVIP(portID string) error
	// Subnet finds a subnet that the project may use.
	Subnet(projectID, id string) (neutron.SubnetInfo, bool)
	// Network reports whether the project may use a network.
	Network(projectID, id string) bool
}

// Options are what New makes a Service of. Only Network is needed.
type Options struct {
	// Network allocates VIPs.
	Network VIPNetwork
	// APIVersion is the newest API version to offer, "2.0" to "2.27" (the
	// default). Features of later versions are unknown to the service.
	APIVersion string
	// Provider is the default provider, "amphora" or "ovn"; empty is amphora.
	Provider string
	// BuildTime, UpdateTime and DeleteTime are how long a load balancer stays in
	// PENDING_CREATE, PENDING_UPDATE and PENDING_DELETE; with zero the change is
	// still carried out after the request is answered, but at once. The provider
	// ovn takes a tenth of these times.
	BuildTime, UpdateTime, DeleteTime time.Duration
	// DefaultQuota is the quota of projects that have none of their own; nil is
	// unlimited.
	DefaultQuota *Quota
	// StuckChildren leaves the children of a fully populated create in
	// PENDING_CREATE when their load balancer becomes ACTIVE, as Octavia 11.0.0
	// does with amphorae. As there, members and monitors of such a pool cannot be
	// changed, while a PUT on the listener or pool itself is taken and ends in
	// ACTIVE, and any change of a pool ends with all listeners ACTIVE.
	StuckChildren bool
	// MonitorsReport says that SetMemberStatus tells how members with a health
	// monitor are doing: they are OFFLINE until then. When false they are ONLINE
	// once they are ACTIVE.
	MonitorsReport bool
	// Secrets reads what certificate references lead to; nil takes every
	// reference.
	Secrets SecretReader
	// OnChange is called, without any lock held, when a change of a load balancer
	// has ended: it is ACTIVE, in ERROR or gone. It must not call Close.
	OnChange func(loadBalancerID string)
	// Now is the clock of timestamps; nil is time.Now.
	Now func() time.Time
}

// Service is a simulated Octavia. It is safe for use by many goroutines.
type Service struct {
	options Options
	minor   atomic.Int32 // of the newest API version; it may change

	mu        sync.RWMutex
	closed    bool
	holdAll   bool
	times     changeTimes
	running   sync.WaitGroup // timers and goroutines of changes
	lbs       map[uuid.UUID]*loadBalancer
	listeners map[uuid.UUID]*listener
	pools     map[uuid.UUID]*pool
	members   map[uuid.UUID]*member
	monitors  map[uuid.UUID]*monitor
	policies  map[uuid.UUID]*l7policy
	rules     map[uuid.UUID]*l7rule
	byPort    map[string]*loadBalancer
	usage     map[string]*usage
	quotas    map[string]*quota
	offers    catalogue
}

// New makes a Service. Close must be called when it is no longer needed.
func New(o Options) (*Service, error) {
	minor, err := parseVersion(o.APIVersion)
	if err != nil {
		return nil, err
	}
	if o.Network == nil {
		return nil, errors.New("the simulated Octavia needs a Network to allocate VIPs from")
	}
	o.Provider = orDefault(o.Provider, amphora)
	if _, ok := providers[o.Provider]; !ok {
		return nil, fmt.Errorf("unknown default provider %q: use amphora or ovn", o.Provider)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{
		options:   o,
		times:     changeTimes{build: o.BuildTime, update: o.UpdateTime, delete: o.DeleteTime},
		lbs:       map[uuid.UUID]*loadBalancer{},
		listeners: map[uuid.UUID]*listener{},
		pools:     map[uuid.UUID]*pool{},
		members:   map[uuid.UUID]*member{},
		monitors:  map[uuid.UUID]*monitor{},
		policies:  map[uuid.UUID]*l7policy{},
		rules:     map[uuid.UUID]*l7rule{},
		byPort:    map[string]*loadBalancer{},
		usage:     map[string]*usage{},
		quotas:    map[string]*quota{},
	}
	s.minor.Store(int32(minor))
	s.offers.init()
	return s, nil
}

func parseVersion(v string) (minor int, err error) {
	if v == "" {
		return newestMinor, nil
	}
	major, rest, ok := strings.Cut(strings.TrimPrefix(v, "v"), ".")
	if minor, err = strconv.Atoi(rest); !ok || major != "2" || err != nil || minor < 0 || minor > newestMinor {
		return 0, fmt.Errorf("cannot simulate Octavia API version %q: use 2.0 to 2.%d", v, newestMinor)
	}
	return minor, nil
}

func (s *Service) version() int { return int(s.minor.Load()) }

// SetOffer changes Options.APIVersion and Options.Provider: both, or none and an
// error. What was made with features of a later version stays, but is not shown.
func (s *Service) SetOffer(apiVersion, provider string) error {
	minor, err := parseVersion(apiVersion)
	if err != nil {
		return err
	}
	provider = orDefault(provider, amphora)
	if _, ok := providers[provider]; !ok {
		return fmt.Errorf("unknown provider %q: use amphora or ovn", provider)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Provider = provider
	s.minor.Store(int32(minor))
	return nil
}

// Close ends all changes under way where they stand and waits for them. The
// service goes on answering, but no change is carried out any more.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	for _, lb := range s.lbs {
		if c := lb.change; c != nil && c.timer != nil && c.timer.Stop() {
			s.running.Done()
		}
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Counts is the number of objects there are.
type Counts struct{ LoadBalancers, Listeners, Pools, Members, HealthMonitors int }

// Counts returns how many objects there are, in all projects.
func (s *Service) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Counts{len(s.lbs), len(s.listeners), len(s.pools), len(s.members), len(s.monitors)}
}

// VIPPortID returns the id of the Neutron port that holds a load balancer's
// VIPs.
func (s *Service) VIPPortID(loadBalancerID string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lb := s.lbs[parseID(loadBalancerID)]
	if lb == nil {
		return "", false
	}
	return lb.port, true
}

// LoadBalancerOfPort returns the id of the load balancer that has its VIPs on a
// Neutron port.
func (s *Service) LoadBalancerOfPort(portID string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lb := s.byPort[portID]
	if lb == nil {
		return "", false
	}
	return lb.id.String(), true
}

func (s *Service) now() int64 { return s.options.Now().Unix() }

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
