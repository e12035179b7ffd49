// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nova simulates the part of OpenStack's compute service, Nova v2.1 with microversions,
// that clients read: servers, their interfaces and flavors. Go calls add and remove servers. It
// imports only packages release and wire.
package nova

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// Server is a virtual machine. Its maps and slices are replaced, never changed in
// place.
type Server struct {
	// ID is set by AddServer if it is empty.
	ID        string `json:"uuid"`
	Name      string `json:"display_name"`
	ProjectID string `json:"project_id"`
	UserID    string `json:"user_id"`
	// Status is Nova's, such as ACTIVE, SHUTOFF or ERROR; empty means ACTIVE.
	Status string `json:"vm_state"`
	// Flavor is the name of one of the flavors; empty means the first.
	Flavor string `json:"-"`
	// ImageID is the image from which it was booted; empty means from a volume.
	ImageID    string            `json:"-"`
	Metadata   map[string]string `json:"-"`
	Tags       []string          `json:"tags"`
	Interfaces []Interface       `json:"-"`
	// AccessIPv4 and AccessIPv6 are addresses that the user has set.
	AccessIPv4 string `json:"access_ip_v4"`
	AccessIPv6 string `json:"access_ip_v6"`
	// AvailabilityZone is set to "nova" by AddServer if it is empty. The name may contain spaces.
	AvailabilityZone string `json:"availability_zone"`
	// HostID is the id of the host that the project sees; AddServer sets that of the host compute-1
	// if it is empty.
	HostID string `json:"-"`
	// Created is set by AddServer, unless it is set already. Updated is the time of the last
	// change.
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`

	volumeID string
}

// HostID returns the id of a host that servers of a project show.
func HostID(projectID, host string) string {
	sum := sha256.Sum224([]byte(projectID + host))
	return hex.EncodeToString(sum[:])
}

// Interface is a port of a server.
type Interface struct {
	PortID, NetworkID, NetworkName, MAC string
	// Status is the status of the port; empty means ACTIVE.
	Status   string
	FixedIPs []FixedIP
	// FloatingIPs are the floating IPs of the interface; they are listed with its addresses.
	FloatingIPs []netip.Addr
}

// FixedIP is an address of an interface.
type FixedIP struct {
	SubnetID string
	Address  netip.Addr
}

// SecurityGroup is a security group of a server's ports.
type SecurityGroup struct{ ID, Name, Description, ProjectID string }

// Flavor is a size of server.
type Flavor struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	VCPUs int    `json:"vcpus"`
	RAM   int    `json:"ram"`  // MiB
	Disk  int    `json:"disk"` // GiB
}

// Options configure a Service.
type Options struct {
	// Release is the release of OpenStack that is simulated.
	Release release.Release
	// SecurityGroups returns the security groups of ports; nil means none.
	SecurityGroups func(portIDs ...string) []SecurityGroup
	// Interfaces returns the ports of all servers, by server id; nil means that servers keep the
	// ports with which they were added.
	Interfaces func() map[string][]Interface
	// MaxLimit is the maximum number of servers on a page; 0 means Nova's default, 1000.
	MaxLimit int
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Service is Nova. It is safe for concurrent use.
type Service struct {
	maxMinor int // of the newest microversion, 2.maxMinor
	now      func() time.Time
	groups   func(portIDs ...string) []SecurityGroup
	ports    func() map[string][]Interface
	maxLimit int

	mu      sync.RWMutex
	servers []*Server
	flavors []Flavor
}

// New returns a Nova without servers and with three flavors, m1.small, m1.medium and m1.large.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SecurityGroups == nil {
		o.SecurityGroups = func(...string) []SecurityGroup { return nil }
	}
	if o.MaxLimit == 0 {
		o.MaxLimit = defaultMaxLimit
	}
	return &Service{maxMinor: newestMinors[o.Release], now: o.Now, groups: o.SecurityGroups, ports: o.Interfaces, maxLimit: o.MaxLimit, flavors: []Flavor{
		{ID: "2", Name: "m1.small", VCPUs: 1, RAM: 2048, Disk: 20},
		{ID: "3", Name: "m1.medium", VCPUs: 2, RAM: 4096, Disk: 40},
		{ID: "4", Name: "m1.large", VCPUs: 4, RAM: 8192, Disk: 80},
	}}
}

// AddServer adds a server, or replaces the one with its id, and returns its id.
func (s *Service) AddServer(server Server) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server.ID == "" {
		server.ID = uuid.NewString()
	}
	if server.Status == "" {
		server.Status = "ACTIVE"
	}
	if server.Flavor == "" {
		server.Flavor = s.flavors[0].Name
	}
	if server.Created.IsZero() {
		server.Created = s.now()
	}
	server.Created = server.Created.UTC().Truncate(time.Second)
	server.Updated = server.Created
	if server.AvailabilityZone == "" {
		server.AvailabilityZone = "nova"
	}
	if server.HostID == "" {
		server.HostID = HostID(server.ProjectID, "compute-1")
	}
	server.volumeID = uuid.NewString()
	s.servers = slices.DeleteFunc(s.servers, func(old *Server) bool { return old.ID == server.ID })
	s.servers = append(s.servers, &server)
	return server.ID
}

// Update changes a server with change, for example its name, flavor or status. The id stays. If
// there is no such server or flavor, it fails and changes nothing.
func (s *Service) Update(id string, change func(*Server)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, server := range s.servers {
		if server.ID != id {
			continue
		}
		next := *server
		change(&next)
		next.ID, next.Updated = id, s.now().UTC().Truncate(time.Second)
		if !slices.ContainsFunc(s.flavors, func(f Flavor) bool { return f.Name == next.Flavor }) {
			return fmt.Errorf("update the server %s: there is no flavor %q", id, next.Flavor)
		}
		s.servers[i] = &next
		return nil
	}
	return fmt.Errorf("update the server %s: there is no such server", id)
}

// synchronize updates the ports of all servers.
func (s *Service) synchronize() {
	if s.ports == nil {
		return
	}
	ports := s.ports()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, server := range s.servers {
		next := *server
		next.Interfaces = ports[server.ID]
		s.servers[i] = &next
	}
}

// AddFlavor adds a flavor.
func (s *Service) AddFlavor(f Flavor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flavors = append(s.flavors, f)
}

// RemoveServer removes the server and reports whether it existed.
func (s *Service) RemoveServer(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.servers)
	s.servers = slices.DeleteFunc(s.servers, func(old *Server) bool { return old.ID == id })
	return len(s.servers) < n
}

// Servers returns all servers, in the order in which they were added.
func (s *Service) Servers() []Server {
	s.synchronize()
	s.mu.RLock()
	defer s.mu.RUnlock()
	servers := make([]Server, 0, len(s.servers))
	for _, server := range s.servers {
		servers = append(servers, *server)
	}
	return servers
}

// Counts returns the number of objects of each kind.
func (s *Service) Counts() map[string]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return map[string]int{"servers": len(s.servers), "flavors": len(s.flavors)}
}

// Mux returns Nova's routes.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.listVersions)
	mux.Handle("GET /v2.1", s.versioned(s.showVersion))
	mux.Handle("GET /v2.1/{$}", s.versioned(s.showVersion))
	current := func(handle versioned) http.Handler {
		return s.versioned(func(w http.ResponseWriter, r *http.Request, minor int) {
			s.synchronize()
			handle(w, r, minor)
		})
	}
	for pattern, handler := range map[string]versioned{
		"GET /v2.1/servers":                         s.listServers(false),
		"GET /v2.1/servers/detail":                  s.listServers(true),
		"GET /v2.1/servers/{id}":                    s.showServer,
		"GET /v2.1/servers/{id}/ips":                s.showAddresses,
		"GET /v2.1/servers/{id}/ips/{network}":      s.showAddressesOf,
		"GET /v2.1/servers/{id}/metadata":           s.showMetadata,
		"GET /v2.1/servers/{id}/metadata/{key}":     s.showMetadatum,
		"GET /v2.1/servers/{id}/tags":               s.showTags,
		"GET /v2.1/servers/{id}/os-security-groups": s.listSecurityGroups,
		"GET /v2.1/servers/{id}/os-interface":       s.listInterfaces,
		"GET /v2.1/servers/{id}/os-interface/{nic}": s.showInterface,
		"GET /v2.1/flavors":                         s.listFlavors(false),
		"GET /v2.1/flavors/detail":                  s.listFlavors(true),
		"GET /v2.1/flavors/{id}":                    s.showFlavor,
		"GET /v2.1/flavors/{id}/os-extra_specs":     s.showExtraSpecs,
	} {
		mux.Handle(pattern, current(handler))
	}
	return mux
}

// Public reports whether a route needs no token: only the version documents.
func Public(route string) bool { return route == "/" || route == "/v2.1" || route == "/v2.1/" }

// Unnumbered reports whether an answer has no request id: only the list of versions.
func Unnumbered(route string, _ bool) bool { return route == "/" }
