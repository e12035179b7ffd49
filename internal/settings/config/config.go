// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads cloud.conf, in the format of openstack-cloud-controller-manager, and the clouds.yaml to which it
// may refer, into one validated Config.
//
// One table has all sections and keys (see Keys): parsing, type checks, defaults, notices and the reference page use
// it. A file is either accepted or refused as a whole. An error lists all problems of the file.
//
// The package has plain data.
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

// Config is a valid cloud.conf. Keys that the file does not set have their defaults.
type Config struct {
	// Global has the address of the cloud and the credentials.
	Global Global
	// LoadBalancer has the cluster-wide settings of load balancers; annotations of a Service may override some.
	LoadBalancer LoadBalancer
	// ClusterIP selects the Services that get a load balancer at their ClusterIP.
	ClusterIP ClusterIP
	// Vendors has the settings of each [LoadBalancerProvider], by provider.
	Vendors map[string]lb.Vendor
	// Networking determines how the addresses of nodes are classified.
	Networking Networking
	// Route has the router of the routes to Pods.
	Route Route
	// RequestTimeout is the time limit of each call to OpenStack. It is positive. In the file it is [Metadata]
	// request-timeout.
	RequestTimeout time.Duration
	// Notices lists settings that have no effect, or possibly an unintended one.
	Notices []Notice
}

// Networking is the section [Networking].
type Networking struct {
	// IPv6Disabled excludes the IPv6 addresses of nodes.
	IPv6Disabled bool
	// PublicNetworks and InternalNetworks are names of networks. Addresses of the former are external. If
	// InternalNetworks is not empty, addresses of all other networks are excluded.
	PublicNetworks, InternalNetworks []string
	// SortOrder has the preferred CIDRs of addresses, in order of preference.
	SortOrder []netip.Prefix
}

// Route is the section [Route].
type Route struct {
	// RouterID is the router that gets the routes to Pods, or empty.
	RouterID string
}

// Global is the section [Global].
type Global struct {
	// AuthURL is the address of Keystone, with or without its version.
	AuthURL string

	// UserID or Username identifies the user; a Username needs a domain (see UserDomain).
	UserID, Username string
	// Password is the user's password.
	Password Secret

	// TenantID or TenantName identifies the project; a TenantName needs a domain (see
	// TenantDomain).
	TenantID, TenantName string
	// DomainID or DomainName is the domain of the user and of the project, unless they have their
	// own.
	DomainID, DomainName string
	// UserDomainID or UserDomainName is the user's own domain.
	UserDomainID, UserDomainName string
	// TenantDomainID or TenantDomainName is the project's own domain.
	TenantDomainID, TenantDomainName string

	// TrustID is the trust to use. TrusteeID and TrusteePassword, or else the user and Password, are the trustee's.
	TrustID, TrusteeID string
	// TrusteePassword is the password of TrusteeID.
	TrusteePassword Secret

	// ApplicationCredentialID, or ApplicationCredentialName together with the user, identifies an application
	// credential.
	ApplicationCredentialID, ApplicationCredentialName string
	// ApplicationCredentialSecret is the secret of the application credential.
	ApplicationCredentialSecret Secret

	// Token is an existing token. It cannot be renewed when it expires.
	Token Secret

	// Region selects the endpoints of one region. Empty means the only region of the service catalogue.
	Region string
	// EndpointType is the interface of the endpoints in the catalogue: public, internal or admin.
	EndpointType string

	// NetworkEndpoint, LoadBalancerEndpoint, ComputeEndpoint and KeyManagerEndpoint are used instead of the endpoints
	// in the service catalogue, unless they are empty. %(project_id)s stands for the id of the project.
	NetworkEndpoint, LoadBalancerEndpoint, ComputeEndpoint, KeyManagerEndpoint string

	// CAFile is a file with the PEM certificates of the CAs that sign the endpoints' certificates.
	CAFile string
	// CAFileContents is the PEM text of such certificates; CAFile takes precedence.
	CAFileContents string
	// TLSInsecure disables the verification of the endpoints' certificates.
	TLSInsecure bool
	// CertFile and KeyFile are the client certificate and its key. Either both are set or none.
	CertFile, KeyFile string

	// UseClouds means that clouds.yaml provides missing values. Load has already added them.
	UseClouds bool
	// CloudsFile is the clouds.yaml to read; empty means the default directories.
	CloudsFile string
	// Cloud is the entry of clouds.yaml to use.
	Cloud string
}

// LoadBalancer is the section [LoadBalancer], as far as this version uses it, or the settings for the Services of a
// class.
type LoadBalancer struct {
	// Classes has, by name, the settings for the Services of each [LoadBalancerClass]. Settings that the class does not
	// have are those of [LoadBalancer]. A class has no classes.
	Classes map[string]LoadBalancer
	// AtClusterIP is set if these are the settings of a Service in cluster-ip mode. No file sets
	// it.
	AtClusterIP *AtClusterIP
	// Enabled is false if the operator wants no load balancers at all.
	Enabled bool
	// Version is empty or "v2".
	Version string
	// Provider is the Octavia provider of new load balancers.
	Provider string
	// Method is the balancing method of pools: one of Methods.
	Method string
	// SubnetID and NetworkID are the subnet and the network of VIPs. If both are empty, the nodes'
	// subnet is used.
	SubnetID, NetworkID string
	// AdditionalSubnetID is the subnet of VIPs of the second IP family. Empty means one of the VIP's network.
	AdditionalSubnetID string
	// MemberSubnetID is the subnet of the members. Empty means the subnet of the VIP.
	MemberSubnetID string
	// FloatingNetworkID and FloatingSubnetID are the network and the subnet of floating IPs. Empty means the external
	// network of the VIP's router.
	FloatingNetworkID, FloatingSubnetID string
	// FloatingSubnets selects subnets of that network if FloatingSubnetID is empty.
	FloatingSubnets value.SubnetPattern
	// FlavorID and AvailabilityZone are Octavia's, for new load balancers. Empty means Octavia's
	// defaults.
	FlavorID, AvailabilityZone string
	// SourceRanges are CIDRs, separated by commas, that may connect to Services without source ranges. Empty admits
	// every client.
	SourceRanges string
	// MetricsAllowedCIDRs are CIDRs, separated by commas, that may read the metrics of load balancers. Empty admits no client.
	MetricsAllowedCIDRs string
	// Tags are tags, separated by commas, of everything that is created for Services.
	Tags string
	// NodeAddressType is the type of the node address that becomes the member: one of NodeAddressTypes,
	// or empty.
	NodeAddressType string
	// NodeSelector is a text for value.ParseNodeSelector, which selects the nodes that become
	// members.
	NodeSelector string
	// MaxMembers is the maximum number of nodes that become members of each pool; 0 means all.
	MaxMembers int
	// TargetType is the type of the members of pools: one of TargetTypes.
	TargetType string
	// PodNetworkIDs are the ids, separated by commas, of the networks in whose subnets Pods have their addresses. Empty
	// means that load balancers reach Pods through a router.
	PodNetworkIDs string
	// TLSContainer is a reference to the certificate with which ports terminate TLS, or empty.
	TLSContainer string
	// ContainerStore is where certificates are stored; see ExternalContainers.
	ContainerStore string
	// CreateMonitor gives each pool a health monitor.
	CreateMonitor bool
	// MonitorDelay and MonitorTimeout are whole seconds, at least 1 s. The timeout does not exceed the delay.
	MonitorDelay, MonitorTimeout time.Duration
	// MonitorMaxRetries and MonitorMaxRetriesDown are 1 to 10 probes.
	MonitorMaxRetries, MonitorMaxRetriesDown int
	// Internal makes every Service internal: with a VIP, but without a floating IP.
	Internal bool
	// MaxShared is the maximum number of Services that share one load balancer, 1 or more. SharedScope determines which
	// load balancers they may share.
	MaxShared   int
	SharedScope string
	// IngressHostname publishes a host name below IngressHostnameSuffix instead of the address, for Services with PROXY
	// ports.
	IngressHostname       bool
	IngressHostnameSuffix string
	// SerialCreate creates a new load balancer without children, and adds the children one by one.
	SerialCreate bool
	// ManageSecurityGroups manages security groups that allow traffic from load balancers to the
	// nodes.
	ManageSecurityGroups bool
	// SecurityGroupMode is ClusterSecurityGroup or ServiceSecurityGroups.
	SecurityGroupMode string
	// SecurityGroupPodPorts also allows traffic from load balancers to Pods at the nodes, to any
	// port.
	SecurityGroupPodPorts bool
}

// The security groups that allow traffic from load balancers to the nodes.
const (
	// ClusterSecurityGroup means one group for the whole cluster.
	ClusterSecurityGroup = "cluster"
	// ServiceSecurityGroups means one group for each Service.
	ServiceSecurityGroups = "service"
)

// The load balancers of other Services that a Service may share.
const (
	// ShareInNamespace means those of Services in its own namespace.
	ShareInNamespace = "namespace"
	// ShareInCluster means those of all Services of the cluster.
	ShareInCluster = "cluster"
	// ShareAny means all load balancers of the project.
	ShareAny = "any"
)

// Load reads, completes and checks the cloud.conf at path. With use-clouds it also reads missing values from
// clouds.yaml. The error joins all problems (errors.Join), each with file, line and key.
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

// howToRead returns the end of an error, which says how to make a file readable for a user.
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

// Parse parses and checks the text of a cloud.conf; name is the name of the file in errors and notices. It does no I/O:
// with use-clouds only Load can check that the credentials are complete. The error has the form of Load's.
func Parse(name string, text []byte) (Config, error) {
	f := readFile(name, text)
	return f.finish(f.config.Global.UseClouds)
}
