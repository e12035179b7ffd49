// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// startAPIServer runs kube-apiserver on a free port of 127.0.0.1.
func (c *Cluster) startAPIServer(opts Options) (*process, error) {
	port, release, err := reservePort()
	if err != nil {
		return nil, err
	}
	c.server = fmt.Sprintf("https://127.0.0.1:%d", port)
	audit, err := c.auditFlags(opts.Audited)
	if err != nil {
		release()
		return nil, err
	}
	// Without an address, kube-apiserver would look for a default route;
	// and a loopback address is refused as an endpoint of its own Service.
	advertised, reconciler := "127.0.0.1", "none"
	if opts.AdvertiseAddress != "" {
		advertised, reconciler = opts.AdvertiseAddress, "lease"
	}
	c.serving = []string{
		"--etcd-servers=" + etcdSocket,
		"--token-auth-file=" + tokenFile,
		"--authorization-mode=RBAC",
		// Pods can be made without waiting for a namespace's service account.
		"--disable-admission-plugins=ServiceAccount",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + signingKeyFile,
		"--service-account-signing-key-file=" + signingKeyFile,
		"--service-cluster-ip-range=" + opts.ServiceCIDRs,
		"--service-node-port-range=" + opts.NodePortRange,
		"--profiling=false",
	}
	p, err := c.run(apiserverBinary, append(append(audit, c.serving...),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--permit-port-sharing", // with the reservation
		"--cert-dir="+certDir,
		"--advertise-address="+advertised,
		"--endpoint-reconciler-type="+reconciler,
	)...)
	if err != nil {
		release()
		return nil, err
	}
	// The reservation is held to the end: should the server die, no other
	// program answers its clients.
	p.onExit = release
	return p, nil
}

// APIServer is a further kube-apiserver of a cluster, in a network namespace.
type APIServer struct {
	process *process
	ca      []byte
}

// AddAPIServer runs a further kube-apiserver at an address of a network namespace, as ip-netns(8) names it, and returns
// when it has its certificate. It enters itself into the EndpointSlice of Service default/kubernetes. That takes root, and a
// cluster without AdvertiseAddress.
func (c *Cluster) AddAPIServer(ctx context.Context, namespace string, address netip.AddrPort) (*APIServer, error) {
	certificates := certDir + "-" + namespace
	p, err := startProcess("ip", apiserverBinary+"-"+namespace, c.dir, append([]string{"netns", "exec", namespace, filepath.Join(c.assets, apiserverBinary),
		"--bind-address=" + address.Addr().String(),
		fmt.Sprintf("--secure-port=%d", address.Port()),
		"--cert-dir=" + certificates,
		"--advertise-address=" + address.Addr().String(),
		"--endpoint-reconciler-type=lease",
	}, c.serving...))
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	s := &APIServer{process: p}
	return s, p.waitFor(ctx, "to make its certificate", func(context.Context) error {
		if _, err := os.Stat(filepath.Join(c.dir, certificates, "apiserver.key")); err != nil {
			return err
		}
		s.ca, err = os.ReadFile(filepath.Join(c.dir, certificates, "apiserver.crt"))
		return err
	})
}

// CA returns the certificate of the server, which names the first address of the Service range too.
func (s *APIServer) CA() []byte { return s.ca }

// Kill ends the server as a crash would.
func (s *APIServer) Kill() error {
	err := s.process.stop()
	s.process.reported = true
	return err
}
