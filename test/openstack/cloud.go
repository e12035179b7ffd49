// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// Cloud is a real OpenStack on this machine, as its bring-up described it.
type Cloud struct {
	// AuthURL is Keystone's address, with its version: http://127.0.0.1:5000/v3.
	AuthURL string `json:"auth_url"`
	Region  string `json:"region"`
	// Project is the id of the project of User, who is no admin. The user admin,
	// of the project admin, has AdminPassword.
	Project       string `json:"project_id"`
	User          string `json:"user"`
	Password      string `json:"password"`
	AdminPassword string `json:"admin_password"`
	// OtherPassword is that of the user other, of the project other;
	// ReaderPassword that of k8s-reader, who may only read in Project.
	OtherPassword  string `json:"other_password"`
	ReaderPassword string `json:"reader_password"`
	// Network is where nodes and VIPs are; it has two subnets, and Router leads
	// from it to PublicNetwork, where floating IPs are.
	PodNetwork    string   `json:"pod_network_id"` // of DataPlane.Pods
	Network       string   `json:"network_id"`
	Subnet        string   `json:"subnet_id"`
	SubnetV6      string   `json:"subnet6_id"`
	PublicNetwork string   `json:"public_network_id"`
	PublicSubnets []string `json:"public_subnet_ids"`
	Router        string   `json:"router_id"`
	// NodeSecurityGroup is that of the servers' ports.
	NodeSecurityGroup string `json:"node_security_group_id"`
	// Provider is Octavia's default provider, amphora or ovn. Amphorae are those
	// of the noop driver: nothing carries packets.
	Provider string `json:"provider"`
	// Release is the OpenStack release: 2022.2, 2025.1, or newest.
	Release string `json:"release"`
	// Patched reports whether Octavia ends what a fully populated create began in the
	// project; Octavia 11 as it was released does not.
	Patched bool `json:"patched"`
	// Image and Flavor are what a server can be made of, LargerFlavor what it can be
	// resized to.
	Image        string `json:"image_id"`
	Flavor       string `json:"flavor_id"`
	LargerFlavor string `json:"larger_flavor_id"`
	// Nodes are the servers, by name.
	Nodes map[string]Server `json:"nodes"`
	// DataPlane is where packets flow; nil where none do.
	DataPlane *DataPlane `json:"data_plane"`
	// State is where the cloud has its state, and Socket where its database answers.
	State  string `json:"state"`
	Socket string `json:"mysql_socket"`
}

// Server is a server of Nova's.
type Server struct {
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	Addresses []netip.Addr `json:"addresses"`
}

// DataPlane names the network namespaces, as ip-netns(8) does, in which the
// cloud's networks can be reached.
type DataPlane struct {
	Prefix string `json:"prefix"`
	// NodeNamespaces are those of the servers, by the servers' names.
	NodeNamespaces map[string]string `json:"node_namespaces"`
	// ClientNamespace is beside the nodes, OutsideNamespace on the public network,
	// where it has OutsideAddresses and InternetAddress, one of another network.
	ClientNamespace  string       `json:"client_namespace"`
	OutsideNamespace string       `json:"outside_namespace"`
	OutsideAddresses []netip.Addr `json:"outside_addresses"`
	InternetAddress  netip.Addr   `json:"internet_address"`
	// Pods are ports for Pods, each in a network namespace of its own.
	Pods []PodPort `json:"pods"`
	// PodsNamespace is for Pods: there any address can be bound and reached.
	PodsNamespace string `json:"pods_namespace"`
}

// PodPort is where a Pod with a port of its own is in the cloud's network for Pods.
type PodPort struct {
	Namespace string     `json:"namespace"`
	Address   netip.Addr `json:"address"`
}

// Load reads what a bring-up wrote into its state directory.
func Load(stateDir string) (*Cloud, error) {
	path := filepath.Join(stateDir, "out", "ids.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no OpenStack was brought up in %s: %w: run `make openstack-up`", stateDir, err)
	}
	c := &Cloud{Provider: "amphora", Release: "2022.2", Patched: true, State: stateDir, Socket: filepath.Join(stateDir, "run", "mysql.sock")}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.AuthURL == "" || c.Project == "" || c.Subnet == "" || c.PublicNetwork == "" {
		return nil, fmt.Errorf("%s does not say where the cloud is and what it has: bring it up again", path)
	}
	return c, nil
}

// CloudConf returns a cloud.conf for the user of the cloud that is reached at authURL, which may be
// that of a proxy.
func (c *Cloud) CloudConf(authURL string) string {
	text := fmt.Sprintf(`[Global]
auth-url="%s"
username="%s"
password="%s"
tenant-id="%s"
domain-name="Default"
region="%s"

[LoadBalancer]
floating-network-id="%s"
subnet-id="%s"
`, authURL, c.User, c.Password, c.Project, c.Region, c.PublicNetwork, c.Subnet)
	if c.Provider != "amphora" {
		text += fmt.Sprintf("lb-provider=%q\n", c.Provider)
	}
	return text
}
