// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads cloud.conf, in the dialect that openstack-cloud-controller-manager established, and the clouds.yaml
// that it may point to, into one validated Config.
//
// Every section and key stands in one table (see Keys): parsing, type checks, defaults, notices and the reference page all
// come from it. A file is either understood as a whole or refused as a whole, with all its problems named at once.
//
// The package holds plain data.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Config is a cloud.conf that has been read and found sound. It holds defaults wherever the file is silent.
type Config struct {
	// Global says where the cloud is and how to authenticate there.
	Global Global
	// LoadBalancer holds the cluster-wide settings of load balancers; annotations of a Service may override some.
	LoadBalancer LoadBalancer
	// ClusterIP says which Services get a load balancer at their ClusterIP.
	ClusterIP ClusterIP
	// Vendors holds, by provider, what each [LoadBalancerProvider] says of it.
	Vendors map[string]lb.Vendor
	// Networking says how the addresses of nodes are classified.
	Networking Networking
	// Route says where the routes to Pods are.
	Route Route
	// RequestTimeout bounds each call to OpenStack. It is positive. The file names it [Metadata] request-timeout.
	RequestTimeout time.Duration
	// Notices lists what has no effect, or perhaps another one than was meant.
	Notices []Notice
}

// Networking is the section [Networking].
type Networking struct {
	// IPv6Disabled leaves out the IPv6 addresses of nodes.
	IPv6Disabled bool
	// PublicNetworks and InternalNetworks are names of networks. Addresses of the former are external. If there are names in
	// InternalNetworks, addresses of all other networks are left out.
	PublicNetworks, InternalNetworks []string
	// SortOrder holds the preferred CIDRs of addresses, the first one first.
	SortOrder []netip.Prefix
}

// Route is the section [Route].
type Route struct {
	// RouterID is the router that gets the routes to Pods. Empty is none.
	RouterID string
}

// Global is the section [Global].
type Global struct {
	// AuthURL is the address of Keystone, with or without its version.
	AuthURL string

	// UserID or Username name the user; a Username needs a domain (see UserDomain).
	UserID, Username string
	// Password belongs to the user.
	Password Secret

	// TenantID or TenantName name the project; a TenantName needs a domain (see TenantDomain).
	TenantID, TenantName string
	// DomainID or DomainName are the domain of user and project where these name none of their own.
	DomainID, DomainName string
	// UserDomainID or UserDomainName are the user's own domain.
	UserDomainID, UserDomainName string
	// TenantDomainID or TenantDomainName are the project's own domain.
	TenantDomainID, TenantDomainName string

	// TrustID is the trust to act under. TrusteeID and TrusteePassword, or else the user and Password, are the trustee.
	TrustID, TrusteeID string
	// TrusteePassword belongs to TrusteeID.
	TrusteePassword Secret

	// ApplicationCredentialID, or ApplicationCredentialName together with the user, name an application credential.
	ApplicationCredentialID, ApplicationCredentialName string
	// ApplicationCredentialSecret belongs to the application credential.
	ApplicationCredentialSecret Secret

	// Token is a token made elsewhere. It cannot be renewed when it expires.
	Token Secret

	// Region selects the endpoints of one region. Empty takes the only region of the service catalogue.
	Region string
	// EndpointType is the interface of the catalogue to use: public, internal or admin.
	EndpointType string

	// NetworkEndpoint, LoadBalancerEndpoint, ComputeEndpoint and KeyManagerEndpoint are used instead of the endpoints in the
	// service catalogue. Empty uses those. %(project_id)s stands for the id of the project.
	NetworkEndpoint, LoadBalancerEndpoint, ComputeEndpoint, KeyManagerEndpoint string

	// CAFile is a file of PEM certificates that sign the endpoints' certificates.
	CAFile string
	// CAFileContents is such PEM text itself; CAFile wins over it.
	CAFileContents string
	// TLSInsecure switches the check of the endpoints' certificates off.
	TLSInsecure bool
	// CertFile and KeyFile are the client certificate and its key. Both are set, or none.
	CertFile, KeyFile string

	// UseClouds says that clouds.yaml fills what the section leaves empty. Load has done so already.
	UseClouds bool
	// CloudsFile is the clouds.yaml to read; empty searches the usual places.
	CloudsFile string
	// Cloud is the entry of clouds.yaml to use.
	Cloud string
}

// LoadBalancer is the section [LoadBalancer], as far as this version acts on it, or what holds for the Services of a class.
type LoadBalancer struct {
	// Classes holds, by name, what holds for the Services of each [LoadBalancerClass]: the settings of [LoadBalancer] where
	// the class has none of its own. A class has no classes.
	Classes map[string]LoadBalancer
	// AtClusterIP is set if this holds for a Service in cluster-ip mode. No file sets it.
	AtClusterIP *AtClusterIP
	// Enabled is false where the operator wants no load balancers at all.
	Enabled bool
	// Version is empty or "v2".
	Version string
	// Provider is the Octavia provider of new load balancers.
	Provider string
	// Method is the balancing method of pools: one of Methods.
	Method string
	// SubnetID and NetworkID say where VIPs are made. Both may be empty: then the nodes' subnet is used.
	SubnetID, NetworkID string
	// AdditionalSubnetID is the subnet of VIPs of the second IP family. Empty means one of the VIP's network.
	AdditionalSubnetID string
	// MemberSubnetID is the subnet of the members. Empty means the subnet of the VIP.
	MemberSubnetID string
	// FloatingNetworkID and FloatingSubnetID say where floating IPs are made. Empty means the external network of the VIP's router.
	FloatingNetworkID, FloatingSubnetID string
	// FloatingSubnets says in which subnets of that network, where FloatingSubnetID is empty.
	FloatingSubnets value.SubnetPattern
	// FlavorID and AvailabilityZone are Octavia's, of new load balancers. Empty leaves them to Octavia.
	FlavorID, AvailabilityZone string
	// SourceRanges are CIDRs, separated by commas, that may connect to a Service that names none. Empty admits every client.
	SourceRanges string
	// MetricsAllowedCIDRs are CIDRs, separated by commas, that may read the metrics of load balancers. Empty admits no client.
	MetricsAllowedCIDRs string
	// Tags are tags, separated by commas, of everything that is made for Services.
	Tags string
	// NodeAddressType is which of a node's addresses becomes a member: one of NodeAddressTypes, or empty.
	NodeAddressType string
	// NodeSelector is a text for value.ParseNodeSelector: which nodes become members.
	NodeSelector string
	// MaxMembers is how many nodes become members of each pool, 0 for all.
	MaxMembers int
	// TargetType says what the members of pools are: one of TargetTypes.
	TargetType string
	// PodNetworkIDs are ids of networks, separated by commas, in whose subnets Pods have their addresses. Empty means that
	// load balancers reach Pods through a router.
	PodNetworkIDs string
	// TLSContainer is a reference to the certificate with which ports end TLS, or empty.
	TLSContainer string
	// ContainerStore says where certificates are kept; see ExternalContainers.
	ContainerStore string
	// CreateMonitor gives each pool a health monitor.
	CreateMonitor bool
	// MonitorDelay and MonitorTimeout are whole seconds, at least 1 s, and the timeout is not above the delay.
	MonitorDelay, MonitorTimeout time.Duration
	// MonitorMaxRetries and MonitorMaxRetriesDown are 1 to 10 probes.
	MonitorMaxRetries, MonitorMaxRetriesDown int
	// Internal forces every Service to be internal: a VIP and no floating IP.
	Internal bool
	// MaxShared is how many Services may share one load balancer, 1 or more, and SharedScope which they may name for that.
	MaxShared   int
	SharedScope string
	// IngressHostname publishes, of Services with PROXY ports, a host name below IngressHostnameSuffix in place of the address.
	IngressHostname       bool
	IngressHostnameSuffix string
	// SerialCreate makes a new load balancer alone, and what is below it one by
	// one afterwards.
	SerialCreate bool
	// ManageSecurityGroups lets the nodes in what load balancers send, by a security group.
	ManageSecurityGroups bool
	// SecurityGroupMode is ClusterSecurityGroup or ServiceSecurityGroups.
	SecurityGroupMode string
	// SecurityGroupPodPorts lets in at the nodes what load balancers send to Pods, at any port.
	SecurityGroupPodPorts bool
}

// Which security groups let the nodes in what load balancers send.
const (
	// ClusterSecurityGroup is one for the whole cluster.
	ClusterSecurityGroup = "cluster"
	// ServiceSecurityGroups are one for each Service.
	ServiceSecurityGroups = "service"
)

// Which load balancers of other owners a Service may use.
const (
	// ShareInNamespace is for those of Services of its own namespace.
	ShareInNamespace = "namespace"
	// ShareInCluster is for those of all Services of the cluster.
	ShareInCluster = "cluster"
	// ShareAny is for all of the project.
	ShareAny = "any"
)

// Load reads, completes and checks the cloud.conf at path. With use-clouds it also reads clouds.yaml and takes from it what
// the file leaves empty. The error joins all problems that were found (errors.Join), each naming file, line and key.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the cloud configuration: %w%s", err, howToRead(path, err, os.Getuid()))
	}
	f := readFile(path, text)
	incomplete := false
	if f.config.Global.UseClouds && !f.unreadable {
		incomplete = f.refusedKey(globalSection, "cloud", "clouds-file")
		if !incomplete {
			if err := f.completeFromClouds(); err != nil {
				f.problems, incomplete = append(f.problems, err), true
			}
		}
	}
	return f.finish(incomplete)
}

// howToRead is the end of an error that says how a file becomes readable for a user.
func howToRead(path string, err error, uid int) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ": check the path, and in a Pod the volume with the file"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(": allow the user with uid %d to read it, in a Pod by defaultMode of the volume or fsGroup of the Pod", uid)
	case errors.Is(err, syscall.EISDIR):
		return ": set the path of a file in it, such as " + filepath.Join(path, "cloud.conf")
	}
	return ""
}

// Parse reads and checks the text of a cloud.conf; name stands for the file in errors and notices. It does no I/O: where
// use-clouds is set, whether the credentials are complete remains for Load to say. The error is as that of Load.
func Parse(name string, text []byte) (Config, error) {
	f := readFile(name, text)
	return f.finish(f.config.Global.UseClouds)
}
