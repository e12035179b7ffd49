// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// newestMinor is the newest API version that is simulated, 2.newestMinor.
const newestMinor = 30

// usualMinor returns the default API version of a release.
func usualMinor(r release.Release) int {
	if r < release.Epoxy {
		return 26
	}
	return newestMinor
}

// VIPNetwork has the calls that Octavia makes to Neutron, as an admin. It is called without any
// lock of this package.
type VIPNetwork interface {
	validate.Network
	// AllocateVIP creates the VIP port, or uses the one that the request names.
	AllocateVIP(req neutron.VIPRequest) (neutron.VIP, error)
	// ReleaseVIP deletes a VIP port that AllocateVIP created; any other port is kept and released.
	ReleaseVIP(portID string) error
	// SetVIPRules sets the rules of the security group of a VIP's port, as far as the quota of
	// Octavia's project allows, and returns the rules that exist then.
	SetVIPRules(portID string, wanted []neutron.VIPRule) ([]neutron.VIPRule, error)
	// SetVIPGroups sets the port's security groups in addition to that of the VIP.
	SetVIPGroups(portID string, groups []string) error
}

// SecretReader reads certificates from Barbican.
type SecretReader = validate.SecretReader

// Quota limits the objects of a project; -1 means unlimited.
type Quota struct{ LoadBalancers, Listeners, Pools, Members, HealthMonitors int }

// limits returns the quota by resource; nil means no limits.
func (q *Quota) limits() map[string]int {
	if q == nil {
		return nil
	}
	return map[string]int{
		model.LoadBalancerQuota: q.LoadBalancers, model.ListenerQuota: q.Listeners, model.PoolQuota: q.Pools,
		model.MemberQuota: q.Members, model.MonitorQuota: q.HealthMonitors,
	}
}

// Options configure a Service. Only Network is required.
type Options struct {
	// Release is the release of OpenStack that is simulated.
	Release release.Release
	// Network allocates VIPs.
	Network VIPNetwork
	// APIVersion is the newest API version that the service offers, "2.0" to "2.30"; empty means
	// that of the release, 2.26 or, since 2025.1, 2.30. Features of later versions do not exist.
	APIVersion string
	// Provider is the default provider, "amphora" or "ovn"; empty means amphora.
	Provider string
	// BuildTime, UpdateTime and DeleteTime are how long a load balancer stays in PENDING_CREATE,
	// PENDING_UPDATE and PENDING_DELETE. With zero the change is still carried out after the
	// request is answered, but at once. Provider ovn takes a tenth of these times.
	BuildTime, UpdateTime, DeleteTime time.Duration
	// Vary returns the duration of one change, given its usual duration; nil means the usual one.
	// It is called with a lock held.
	Vary func(usual time.Duration) time.Duration
	// DefaultQuota is the quota of projects without their own; nil means unlimited.
	DefaultQuota *Quota
	// StuckChildren leaves the children of a fully populated create in
	// PENDING_CREATE when their load balancer becomes ACTIVE, as Octavia 11.0.0
	// does with amphorae. As there, members and monitors of such a pool cannot be
	// changed, while a PUT of the listener or pool itself is accepted and ends in ACTIVE, and after
	// any change of a pool all listeners are ACTIVE.
	StuckChildren bool
	// MonitorsReport means that SetMemberStatus reports the status of members with a health
	// monitor: they are OFFLINE until then. If it is false, they are ONLINE as soon as they are
	// ACTIVE.
	MonitorsReport bool
	// ReservedIPs are the addresses that members cannot have, like reserved_ips in octavia.conf; nil means Octavia's
	// default, the address of the metadata service.
	ReservedIPs []netip.Addr
	// Secrets reads the certificates of references; nil accepts every reference.
	Secrets SecretReader
	// OnChange is called, without any lock, when a change of a load balancer has ended: it is
	// ACTIVE, in ERROR or deleted. It must not call Close.
	OnChange func(loadBalancerID string)
	// Now is the clock of timestamps; nil means time.Now.
	Now func() time.Time
}

// Service is a simulated Octavia. It is safe for concurrent use.
type Service struct {
	release release.Release
	state   *state.State
	network VIPNetwork
	secrets SecretReader
	minor   atomic.Int32 // of the newest API version; it may change
	// reserved are the addresses that members cannot have.
	reserved []netip.Addr
}

// New returns a Service. Close must be called when it is no longer needed.
func New(o Options) (*Service, error) {
	if o.Network == nil {
		return nil, errors.New("the simulated Octavia needs a Network to allocate VIPs from")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ReservedIPs == nil {
		o.ReservedIPs = []netip.Addr{netip.MustParseAddr("169.254.169.254")}
	}
	s := &Service{
		release: o.Release, network: o.Network, secrets: o.Secrets, reserved: o.ReservedIPs,
		state: state.New(state.Options{
			DefaultQuota: o.DefaultQuota.limits(), StuckChildren: o.StuckChildren, MonitorsReport: o.MonitorsReport,
			WholeTree: o.Release >= release.Epoxy, LateChildren: o.Release >= release.Epoxy, RangesOfOneFamily: o.Release >= release.Epoxy,
			Now: o.Now, Vary: o.Vary, ReleaseVIP: o.Network.ReleaseVIP, SetVIPRules: o.Network.SetVIPRules, SetVIPGroups: o.Network.SetVIPGroups, OnChange: o.OnChange,
		}),
	}
	s.SetTimes(o.BuildTime, o.UpdateTime, o.DeleteTime)
	if err := s.SetOffer(o.APIVersion, o.Provider); err != nil {
		return nil, err
	}
	return s, nil
}

// SetOffer changes Options.APIVersion and Options.Provider. On an error neither changes. Objects
// that use features of a later version stay, but the features are not shown.
func (s *Service) SetOffer(apiVersion, defaultProvider string) error {
	minor, err := s.parseVersion(apiVersion)
	if err != nil {
		return err
	}
	defaultProvider = cmp.Or(defaultProvider, provider.Amphora)
	if !provider.Known(defaultProvider) {
		return fmt.Errorf("unknown provider %q: use amphora or ovn", defaultProvider)
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.state.Provider = defaultProvider
	s.minor.Store(int32(minor))
	return nil
}

func (s *Service) parseVersion(v string) (minor int, err error) {
	if v == "" {
		return usualMinor(s.release), nil
	}
	major, rest, ok := strings.Cut(strings.TrimPrefix(v, "v"), ".")
	minor, err = strconv.Atoi(rest)
	if !ok || major != "2" || err != nil || minor < 0 || minor > newestMinor {
		return 0, fmt.Errorf("cannot simulate Octavia API version %q: use 2.0 to 2.%d", v, newestMinor)
	}
	return minor, nil
}
