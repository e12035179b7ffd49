// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudsim simulates an OpenStack on one machine, for tests and demos: Keystone, Neutron,
// Nova, Octavia, Barbican and a small part of Glance. Each has its own HTTP server on loopback. The
// data plane forwards real traffic, delays and faults can be injected, and every call is recorded.
// Nothing remains after Close. It imports the packages below it and none of the product.
package cloudsim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/cloudsim/barbican"
	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/cloudsim/glance"
	"github.com/kube-octavia/kube-octavia/cloudsim/keystone"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Region is the cloud's one region.
const Region = "RegionOne"

// The services' types, as in the catalogue and in recorded calls.
const (
	Identity     = "identity"
	Network      = "network"
	Compute      = "compute"
	LoadBalancer = "load-balancer"
	KeyManager   = "key-manager"
	Image        = "image"
)

// Options configure a Cloud. The zero value is a cloud without nodes, delays or a data plane.
type Options struct {
	// DataPlane makes VIPs and floating IPs forward traffic.
	DataPlane bool
	// BuildTime, UpdateTime and DeleteTime are how long a load balancer is PENDING_CREATE,
	// PENDING_UPDATE and PENDING_DELETE. With zero the operation is still asynchronous, but ends at
	// once.
	BuildTime, UpdateTime, DeleteTime time.Duration
	// Release is the release of OpenStack that is simulated; the zero value is the newest.
	Release release.Release
	// APIVersion is the newest version that Octavia offers, such as "2.10";
	// empty means Octavia's default.
	APIVersion string
	// Provider is the default provider, amphora or ovn; empty means amphora.
	Provider string
	// TokenLifetime is how long tokens are valid; 0 means an hour.
	TokenLifetime time.Duration
	// Password of all users; empty means a random one.
	Password string
	// Listen is the loopback address on which the services listen; empty means 127.0.0.1.
	Listen string
	// Listener listens on an address; nil means net.Listen. With a network in memory, set
	// PrivateCIDR and PublicCIDR, too.
	Listener func(network, address string) (net.Listener, error)
	// Ports of the services; for zero the kernel chooses one.
	Ports Ports
	// Nodes are servers that exist from the start.
	Nodes []Node
	// PrivateCIDR and PublicCIDR are the IPv4 networks of nodes and VIPs, and of floating IPs. If
	// both are empty, which is usual, a block of 127.0.0.0/8 is used that no other cloud on this
	// machine has.
	PrivateCIDR, PublicCIDR string
	// PrivateIPv6CIDR is the IPv6 network of nodes and VIPs; empty means random unique local
	// addresses.
	PrivateIPv6CIDR string
	// MemberAt returns the address at which the data plane reaches a member whose own address is
	// not on loopback, such as that of a simulated Pod; nil means that there are no such members.
	MemberAt func(netip.Addr) netip.Addr
	// Neutron, Nova and Octavia are further options of these services. Start sets the options
	// above, and those that connect the services.
	Neutron neutron.Options
	Nova    nova.Options
	Octavia octavia.Options
	// Logger receives errors inside the simulator; the zero value discards them.
	Logger logr.Logger
}

// Ports are the TCP ports of the services.
type Ports struct{ Identity, Network, LoadBalancer, Compute, KeyManager, Image, Admin int }

// Node is a server that becomes a Kubernetes node.
type Node struct {
	Name string
	// Addresses on the private network; if there are none, the server gets the lowest free one.
	Addresses []netip.Addr
}

// IDs are the ids of the objects that every cloud is started with.
type IDs struct {
	Project, User, OtherProject, OtherUser, AdminProject, AdminUser string
	PublicNetwork, PublicSubnet                                     string
	PrivateNetwork, PrivateSubnet, PrivateSubnetV6                  string
	Router                                                          string
}

// Cloud is a running simulator. It is safe for concurrent use.
type Cloud struct {
	options     Options
	logger      logr.Logger
	block       *block
	private     subnetPlan
	ids         IDs
	credentials map[string]Credentials // by user name
	octaviaUser string                 // the id of Octavia's service user

	services
	servers map[string]*server // by service type, and "admin"

	requests

	settingsMu sync.Mutex
	settings   Settings

	addresses
	closing sync.Once
	closed  error
}

// requests holds what records, delays and fails requests.
type requests struct {
	recorder wire.Recorder
	faults   wire.Faults
	latency  wire.Latency
}

// services are the parts of the cloud.
type services struct {
	keystone *keystone.Service
	nova     *nova.Service
	barbican *barbican.Service
	glance   *glance.Service
	neutron  *neutron.Service
	octavia  *octavia.Service
	plane    *dataplane.Plane // nil without a data plane
}

// addresses guards changes of addresses that must be atomic, and the certificates that load
// balancers present at them.
type addresses struct {
	forwarding sync.Mutex // see forward
	// certificates has those of the data plane, by load balancer and reference; guarded by forwarding.
	certificates map[string]map[string]tls.Certificate
	// missed has the floating IPs of each load balancer, and the protocols for which provider ovn missed that they were
	// attached; guarded by forwarding.
	missed       map[string]map[string][]string
	addingServer sync.Mutex // held while an address is chosen and assigned
}

// Start starts a cloud: a private and a public network with a router between
// them; the project k8s with the user k8s, who has the roles member, reader,
// load-balancer_member and creator, and the user k8s-reader, who has the role
// reader; the project other with its user other; and the user admin. The caller
// must Close it.
func Start(o Options) (*Cloud, error) {
	if o.Listener == nil {
		o.Listener = net.Listen
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(o.Listen); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("the simulator listens on loopback addresses only, not on %q", o.Listen)
	}
	c := &Cloud{options: o, logger: o.Logger, servers: map[string]*server{}, credentials: map[string]Credentials{},
		addresses: addresses{certificates: map[string]map[string]tls.Certificate{}, missed: map[string]map[string][]string{}}}
	if c.logger.GetSink() == nil {
		c.logger = logr.Discard()
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the simulator: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cloud) start() error {
	if err := c.claimAddresses(); err != nil {
		return err
	}
	if err := c.listen(); err != nil {
		return err
	}
	c.keystone = keystone.New(keystone.Options{Release: c.options.Release, TokenLifetime: c.options.TokenLifetime})
	c.addPeople()
	c.addCatalog()
	compute := c.options.Nova
	compute.Release, compute.SecurityGroups, compute.Interfaces = c.options.Release, c.securityGroupsOf, c.interfaces
	c.nova = nova.New(compute)
	c.barbican = barbican.New(barbican.Options{Release: c.options.Release})
	c.glance = glance.New("ubuntu-24.04", c.ids.AdminProject, time.Now())
	if err := c.makeNetworkAndBalancer(); err != nil {
		return err
	}
	if err := c.seedNetworks(); err != nil {
		return err
	}
	for _, node := range c.options.Nodes {
		if _, err := c.AddServer(node.Name, node.Addresses...); err != nil {
			return err
		}
	}
	c.serve()
	return nil
}

func (c *Cloud) claimAddresses() error {
	if (c.options.PrivateCIDR == "") != (c.options.PublicCIDR == "") {
		return errors.New("give both PrivateCIDR and PublicCIDR, or neither")
	}
	if c.options.PrivateCIDR != "" {
		return nil
	}
	var err error
	c.block, err = claim()
	if err == nil {
		c.options.PrivateCIDR, c.options.PublicCIDR = c.block.private(), c.block.public()
	}
	return err
}

func (c *Cloud) listen() error {
	p := c.options.Ports
	for name, port := range map[string]int{Identity: p.Identity, Network: p.Network, LoadBalancer: p.LoadBalancer, Compute: p.Compute, KeyManager: p.KeyManager, Image: p.Image, "admin": p.Admin} {
		s, err := listen(c.options.Listener, c.options.Listen, port)
		if err != nil {
			return err
		}
		c.servers[name] = s
	}
	return nil
}

func (c *Cloud) makeNetworkAndBalancer() error {
	if c.options.DataPlane {
		c.plane = dataplane.New(dataplane.Options{Logger: c.logger, OnMemberStatus: c.setMemberStatus})
	}
	n := c.options.Neutron
	n.Release, n.OnFloatingIP = c.options.Release, c.floatingIPChanged
	c.neutron = neutron.New(n)
	o := c.options.Octavia
	o.Release, o.Network, o.APIVersion, o.Provider = c.options.Release, c.neutron, c.options.APIVersion, c.options.Provider
	o.Secrets = c.barbican.ReaderFor(c.octaviaUser)
	o.BuildTime, o.UpdateTime, o.DeleteTime = c.options.BuildTime, c.options.UpdateTime, c.options.DeleteTime
	c.settings = Settings{
		APIVersion: o.APIVersion, Provider: o.Provider, BuildTime: Duration(o.BuildTime), UpdateTime: Duration(o.UpdateTime),
		DeleteTime: Duration(o.DeleteTime), TokenLifetime: Duration(c.options.TokenLifetime),
	}
	if c.plane != nil {
		o.OnChange, o.MonitorsReport = c.forward, true
	}
	var err error
	c.octavia, err = octavia.New(o)
	return err
}

// serve starts the HTTP server of each service, in its frame.
func (c *Cloud) serve() {
	frame := func(o wire.Options) {
		o.Recorder, o.Faults, o.Latency, o.KeystoneURI = &c.recorder, &c.faults, &c.latency, c.AuthURL()+"/v3"
		o.Authenticate = c.keystone.Authenticate
		if o.Service != Identity || c.options.Release >= release.Epoxy {
			o.Allowed = c.keystone.Allowed
		}
		c.servers[o.Service].serve(wire.New(o))
	}
	frame(wire.Options{Service: Identity, Mux: c.keystone.Mux(), Public: keystone.Public, Unauthorized: keystone.Unauthorized, NotFound: keystone.NotFound})
	frame(wire.Options{Service: Compute, Mux: c.nova.Mux(), Public: nova.Public, Unnumbered: nova.Unnumbered, NotFound: nova.NotFound})
	frame(wire.Options{Service: KeyManager, Mux: c.barbican.Mux(), Public: barbican.Public, Unnumbered: c.barbican.Unnumbered, NotFound: barbican.NotFound})
	frame(wire.Options{Service: Image, Mux: c.glance.Mux(), Public: glance.Public})
	frame(wire.Options{Service: Network, Mux: c.neutron.Mux(), Public: neutron.Public, Unnumbered: neutron.Unnumbered, NotFound: neutron.NotFound, NotAllowed: neutron.NotAllowed})
	frame(wire.Options{Service: LoadBalancer, Mux: c.octavia.Mux(), Public: func(route string) bool { return route == "/" }, Unnumbered: octavia.Unnumbered, NotFound: octavia.NotFound, NotAllowed: octavia.NotAllowed})
	c.servers["admin"].serve(c.adminMux())
}

// Close stops the cloud. When it returns, all addresses are free and no goroutine runs.
func (c *Cloud) Close() error {
	c.closing.Do(func() {
		var errs []error
		for _, s := range c.servers {
			errs = append(errs, s.close())
		}
		if c.octavia != nil {
			c.octavia.Close()
		}
		if c.plane != nil {
			c.plane.Close()
		}
		errs = append(errs, c.block.release())
		c.closed = errors.Join(errs...)
	})
	return c.closed
}
