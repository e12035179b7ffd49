// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Options configure a Service. The zero value is a usable Neutron with the defaults of the real
// one.
type Options struct {
	// Release is the release of OpenStack that is simulated.
	Release release.Release
	// Now is the clock of created_at and updated_at; nil means time.Now.
	Now func() time.Time
	// Quotas are the limits of projects without a quota of their own, by resource ("floatingip",
	// "port", ...); -1 means no limit. Other resources keep Neutron's defaults: 100 networks, 100
	// subnets, 500 ports, 10 routers, 50 floating IPs, 10 security groups, 100 security group
	// rules.
	Quotas map[string]int
	// MaxPage is the maximum page size; 0 means no limit. With a limit all lists have links.
	MaxPage int
	// MTU of networks; 0 means 1450.
	MTU int
	// TenantsChooseFloatingIPs lets all users create a floating IP with a specific address, which
	// Neutron's default policy reserves for admins.
	TenantsChooseFloatingIPs bool
	// ShowExternalSubnets shows the subnets of external networks to all users; by default only
	// their owners and admins see them, unless the network is shared.
	ShowExternalSubnets bool
	// MaxRoutes limits the extra routes of a router, MaxAddressPairs the allowed address pairs of a
	// port; 0 means Neutron's defaults, 30 and 10.
	MaxRoutes, MaxAddressPairs int
	// Without are the aliases of extensions that this cloud does not have. Without
	// extraroute-atomic, revision-if-match or trunk-details it lacks their behaviour; other
	// extensions are only removed from the list.
	Without []string
	// OnFloatingIP is called, without any lock held, after the floating IPs of
	// the port have changed. May be nil.
	OnFloatingIP func(portID string)
}

// Service is a Neutron. It is safe for concurrent use.
type Service struct {
	options   Options
	resources []*resource

	mu sync.Mutex
	tables
	// vipGroups has the security groups of VIP ports, by port. They belong to serviceProject.
	vipGroups      map[string]string
	serviceProject string
	macs           map[networkMAC]struct{}   // those in use
	quotas         map[string]map[string]int // by project, then resource
	segments       int                       // the last segmentation id
	ruleNumber     int                       // of the last security group rule
	// touched are the ports whose floating IPs the current change affects.
	touched []string
}

// tables has the objects of all projects, by id.
type tables struct {
	networks    map[string]*network
	subnets     map[string]*subnet
	ports       map[string]*port
	routers     map[string]*router
	floatingIPs map[string]*floatingIP
	groups      map[string]*securityGroup
	rules       map[string]*securityGroupRule
	trunks      map[string]*trunk
	// floatingOf has the ids of the floating IPs of a port, in the order of association;
	// defaultGroup a project's default security group; trunkOf the trunk of a parent port or
	// subport.
	floatingOf   map[string][]string
	defaultGroup map[string]string
	trunkOf      map[string]*trunk
}

// New returns an empty Neutron.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MTU == 0 {
		o.MTU = 1450
	}
	if o.MaxRoutes == 0 {
		o.MaxRoutes = defaultMaxRoutes
	}
	if o.MaxAddressPairs == 0 {
		o.MaxAddressPairs = defaultMaxAddressPairs
	}
	s := &Service{
		options: o,
		tables: tables{
			networks: map[string]*network{}, subnets: map[string]*subnet{}, ports: map[string]*port{}, routers: map[string]*router{},
			floatingIPs: map[string]*floatingIP{}, groups: map[string]*securityGroup{}, rules: map[string]*securityGroupRule{},
			floatingOf: map[string][]string{}, defaultGroup: map[string]string{}, trunks: map[string]*trunk{}, trunkOf: map[string]*trunk{},
		},
		vipGroups: map[string]string{},
		macs:      map[networkMAC]struct{}{},
		quotas:    map[string]map[string]int{},
	}
	s.serviceProject = strings.ReplaceAll(uuid.NewString(), "-", "")
	s.resources = []*resource{
		s.networkResource(), s.subnetResource(), s.portResource(), s.routerResource(),
		s.floatingIPResource(), s.securityGroupResource(), s.securityGroupRuleResource(),
	}
	return s
}

// Mux returns the routes of the API. Only GET / needs no token: see Public.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	s.routeVersions(mux)
	for _, res := range s.resources {
		path := "/v2.0/" + res.path
		mux.HandleFunc("GET "+path, s.listing(res))
		mux.HandleFunc("POST "+path, s.creating(res))
		mux.HandleFunc("GET "+path+"/{id}", s.showing(res))
		mux.HandleFunc("PUT "+path+"/{id}", s.updating(res))
		mux.HandleFunc("POST "+path+"/{id}", s.creating(res)) // the id is ignored
		mux.HandleFunc("PUT "+path, s.nothingIn(res))
		mux.HandleFunc("DELETE "+path, s.nothingIn(res))
		mux.HandleFunc("DELETE "+path+"/{id}", s.deleting(res))
		if res.taggable {
			s.routeTags(mux, res)
		}
	}
	s.routeRouterInterfaces(mux)
	s.routeExtraRoutes(mux)
	s.routePortForwardings(mux)
	s.routeTrunks(mux)
	s.routeQuotas(mux)
	s.routeExtensions(mux)
	s.routeAvailability(mux)
	s.routeEmptyLists(mux)
	return mux
}

// nothingIn answers a change of a whole collection with 404, as if the path named an object that
// does not exist.
func (s *Service) nothingIn(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		writeError(w, res.missing("None"))
	}
}

// Counts returns the number of objects of each kind, by the API's names of the collections
// ("ports", "floatingips", ...).
func (s *Service) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{
		"networks": len(s.networks), "subnets": len(s.subnets), "ports": len(s.ports), "routers": len(s.routers),
		"floatingips": len(s.floatingIPs), "security_groups": len(s.groups), "security_group_rules": len(s.rules), "trunks": len(s.trunks),
	}
}

// change runs f with the lock held. Then, without the lock, it reports the floating IPs that f
// changed.
func (s *Service) change(f func() error) error {
	s.mu.Lock()
	err := f()
	touched := s.touched
	s.touched = nil
	s.mu.Unlock()
	if s.options.OnFloatingIP != nil {
		// In this order, because one port loses an address before another one gets it.
		for i, portID := range touched {
			if !slices.Contains(touched[:i], portID) {
				s.options.OnFloatingIP(portID)
			}
		}
	}
	return err
}

// newStandard returns the standard attributes of a new object.
func (s *Service) newStandard(id, project, name, description string, tags []string) standard {
	if id == "" {
		id = uuid.NewString()
	}
	if tags == nil {
		tags = []string{}
	}
	now := s.options.Now().UTC()
	return standard{id: id, name: name, project: project, description: description, tags: tags, revision: 1, created: now, updated: now}
}

// touch records that the object has changed.
func (s *Service) touch(o object) {
	std := o.attributes()
	std.revision++
	std.updated = s.options.Now().UTC()
}

// owns reports whether the caller has the rights of the project.
func owns(c wire.Identity, project string) bool {
	return c.Admin() || project == c.ProjectID && project != ""
}

// mayWrite reports whether the caller's roles allow changes of its project's objects. Since 2025.1 Neutron requires the
// role member; before, every role in the project was sufficient.
func (s *Service) mayWrite(c wire.Identity) bool {
	return s.options.Release < release.Epoxy || c.Admin() || c.HasRole("member")
}

// inOrder returns the values of a map for which keep returns true, ordered by id.
func inOrder[T any](m map[string]T, keep func(T) bool) []T {
	var kept []T
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if keep(m[id]) {
			kept = append(kept, m[id])
		}
	}
	return kept
}
