// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube runs a real Kubernetes API on loopback, for tests and for the
// demo: etcd, kube-apiserver, and kube-controller-manager with the few
// controllers that a load balancer depends on. It needs neither root nor a
// container, and a cluster starts in a few seconds.
//
// The binaries are those that `make kube` builds; see AssetsDir. There is no
// kubelet, no scheduler and no kube-proxy: nodes and pods are objects that the
// caller writes, with the status that it gives them.
//
// The package imports client-go and nothing of this project.
package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Administrator is the name of the user whose credentials Config and Kubeconfig
// hold.
const Administrator = "kube-octavia-admin"

// Defaults of Options.
const (
	// DefaultServiceCIDRs leaves room for 65,000 Services of each family.
	// IPv4 comes first, so a Service that does not ask is single stack IPv4.
	DefaultServiceCIDRs = "10.96.0.0/16,fd00:10:96::/112"
	// DefaultNodePortRange is that of Kubernetes: 2,768 ports.
	DefaultNodePortRange = "30000-32767"
	// DefaultStartTimeout bounds Start. A start takes 2 to 4 s on an idle
	// machine; a busy one gets ample time.
	DefaultStartTimeout = 2 * time.Minute
)

// DefaultControllers returns the controllers of kube-controller-manager that a
// cluster runs: those that write EndpointSlices, those that let a namespace
// be made and deleted as usual, and the garbage collector, which removes the
// EndpointSlices of a deleted Service.
func DefaultControllers() []string {
	return []string{
		"endpointslice-controller",
		"endpointslice-mirroring-controller",
		"garbage-collector-controller",
		"namespace-controller",
		"serviceaccount-controller",
	}
}

// Options say how a cluster is run. The zero value is a good one.
type Options struct {
	// AssetsDir holds etcd, kube-apiserver, kube-controller-manager and
	// kubectl. Empty: what AssetsDir() finds.
	AssetsDir string
	// Dir gets the data of etcd, the logs (one file a process) and the keys.
	// It must not hold another cluster. Empty: a new temporary directory,
	// which Stop removes.
	Dir string
	// Controllers are the controllers of kube-controller-manager to run, by
	// the names in its help. Nil: DefaultControllers().
	Controllers []string
	// ServiceCIDRs is the flag --service-cluster-ip-range of kube-apiserver.
	// Empty: DefaultServiceCIDRs.
	ServiceCIDRs string
	// NodePortRange is the flag --service-node-port-range of kube-apiserver.
	// Empty: DefaultNodePortRange. Widen it downwards for thousands of ports,
	// because the ephemeral ports of Linux begin at 32768.
	NodePortRange string
	// AdvertiseAddress is where kube-apiserver says that it is, in the EndpointSlice of Service
	// default/kubernetes. Nothing must be there. Empty: there is no such EndpointSlice.
	AdvertiseAddress string
	// Audited are the users whose requests Requests returns.
	Audited []string
	// StartTimeout bounds Start. Zero: DefaultStartTimeout.
	StartTimeout time.Duration
	// Progress gets what Start does next, such as "kube-apiserver starts". Nil: Start reports nothing.
	Progress func(what string)
}

// Cluster is a running Kubernetes API. It is safe for concurrent use.
type Cluster struct {
	assets    string
	dir       string
	removeDir bool
	server    string // https://127.0.0.1:port
	token     string // of a user in system:masters
	ca        []byte
	serving   []string   // flags of every kube-apiserver
	processes []*process // in the order of their start
}

// Start starts a cluster and returns when its API is ready, the namespaces
// default and kube-system exist and the controllers run. The caller must call
// Stop. If ctx ends or the start fails, nothing is left running, and the error
// says which process failed and ends with the last lines of its log.
//
// The processes are ended by the kernel when the calling process dies without
// having called Stop (on Linux; elsewhere they would stay).
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c, err := newCluster(&opts)
	if err != nil {
		return nil, fmt.Errorf("start a Kubernetes API: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.StartTimeout)
	defer cancel()
	if err := c.start(ctx, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start a Kubernetes API: %w", err), c.Stop())
	}
	return c, nil
}

// newCluster fills in the defaults of opts and creates the directory.
func newCluster(opts *Options) (*Cluster, error) {
	setDefault(&opts.ServiceCIDRs, DefaultServiceCIDRs)
	setDefault(&opts.NodePortRange, DefaultNodePortRange)
	setDefault(&opts.StartTimeout, DefaultStartTimeout)
	if opts.Controllers == nil {
		opts.Controllers = DefaultControllers()
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	c := &Cluster{assets: opts.AssetsDir, dir: opts.Dir}
	var err error
	if c.assets == "" {
		c.assets, err = AssetsDir()
		if err != nil {
			return nil, err
		}
	} else if err := checkAssets(c.assets); err != nil {
		return nil, err
	}
	// The processes run inside the directory, so paths must not be relative.
	c.assets, err = filepath.Abs(c.assets)
	if err != nil {
		return nil, err
	}
	if c.dir != "" {
		return c, os.MkdirAll(c.dir, 0o700)
	}
	c.removeDir = true
	c.dir, err = os.MkdirTemp("", "kube-octavia-kube-")
	return c, err
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Config returns a client configuration of an administrator (group
// system:masters). Each call returns a copy that the caller may change. Its
// rate limits are far above those of client-go, so that a test is not slowed
// down by its own client.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host:            c.server,
		BearerToken:     c.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca},
		QPS:             1000,
		Burst:           2000,
	}
}

// Kubeconfig writes a kubeconfig file of an administrator to path. The file is
// readable by its owner only. Missing directories are made.
func (c *Cluster) Kubeconfig(path string) error { return c.KubeconfigFor(path, c.token) }

// KubeconfigFor is Kubeconfig for the user of the token.
func (c *Cluster) KubeconfigFor(path, token string) error {
	const name = "kube-octavia"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}

// Kubectl returns the path of the kubectl that belongs to the cluster.
func (c *Cluster) Kubectl() string { return filepath.Join(c.assets, kubectlBinary) }

// Dir returns the directory of the cluster's data and logs.
func (c *Cluster) Dir() string { return c.dir }

// Stop ends the processes at once, waits until they are gone and removes the
// cluster's directory if Start made it. Everything in the cluster is lost. The
// error names the processes that had ended before, with the last lines of
// their logs. A second call does nothing.
func (c *Cluster) Stop() error {
	var errs []error
	// In the reverse order, so that no process complains of another's end.
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		errs = append(errs, c.processes[last].stop())
		c.processes = c.processes[:last]
	}
	if c.removeDir {
		errs = append(errs, os.RemoveAll(c.dir))
		c.removeDir = false
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the Kubernetes API: %w", err)
	}
	return nil
}

// run starts one of the cluster's binaries.
func (c *Cluster) run(binary string, args ...string) (*process, error) {
	p, err := startProcess(filepath.Join(c.assets, binary), binary, c.dir, args)
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}
