// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// flags are the command's flags.
type flags struct {
	options    cloudsim.Options
	nodes      []string
	cloudsYAML string
	cloudConf  string
}

func newCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "cloudsim",
		Short: "An OpenStack on one machine: Keystone, Neutron, Nova, Octavia and Barbican, simulated on loopback",
		Long: `cloudsim simulates an OpenStack cloud on loopback: Keystone, Neutron, Nova, Octavia and Barbican, with a
data plane that forwards real traffic (--data-plane). It prints how to reach it and runs until it is interrupted.

The admin API, whose address it prints, controls it: GET /calls and /counts, POST /reset, GET, POST and
DELETE /faults, GET and PUT /latency and /settings, GET and POST /servers, GET /state.`,
		Example: `  cloudsim --data-plane --nodes node-1,node-2 --build-time 5s
  export OS_CLIENT_CONFIG_FILE=... OS_CLOUD=cloudsim   # as it prints
  openstack loadbalancer list`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
		},
	}
	o, set := &f.options, cmd.Flags()
	set.BoolVar(&o.DataPlane, "data-plane", false, "make VIPs and floating IPs forward traffic, on addresses in 127.0.0.0/8")
	set.DurationVar(&o.BuildTime, "build-time", 0, "time a load balancer is in PENDING_CREATE")
	set.DurationVar(&o.UpdateTime, "update-time", 0, "time a load balancer is in PENDING_UPDATE")
	set.DurationVar(&o.DeleteTime, "delete-time", 0, "time a load balancer is in PENDING_DELETE")
	set.TextVar(&o.Release, "release", release.Newest, `release of OpenStack to simulate: 2022.2, 2025.1 or newest`)
	set.StringVar(&o.APIVersion, "api-version", "", `newest Octavia API version to offer, such as "2.10" (default that of the release)`)
	set.StringVar(&o.Provider, "provider", "amphora", "default provider: amphora or ovn")
	set.DurationVar(&o.TokenLifetime, "token-lifetime", 0, "time a token is valid (default 1h)")
	set.StringVar(&o.Password, "password", "", "password of all users (default random at each start)")
	set.StringVar(&o.Listen, "listen", "127.0.0.1", "loopback address to listen on")
	set.IntVar(&o.Ports.Identity, "identity-port", 0, "port of Keystone (0: the kernel chooses)")
	set.IntVar(&o.Ports.Network, "network-port", 0, "port of Neutron")
	set.IntVar(&o.Ports.LoadBalancer, "load-balancer-port", 0, "port of Octavia")
	set.IntVar(&o.Ports.Compute, "compute-port", 0, "port of Nova")
	set.IntVar(&o.Ports.KeyManager, "key-manager-port", 0, "port of Barbican")
	set.IntVar(&o.Ports.Image, "image-port", 0, "port of Glance")
	set.IntVar(&o.Ports.Admin, "admin-port", 0, "port of the admin API")
	set.StringSliceVar(&f.nodes, "nodes", nil, "servers that exist from the start, as name or name=address, separated by commas")
	set.StringVar(&f.cloudsYAML, "clouds-yaml", "", "where to write a clouds.yaml (default a temporary file)")
	set.StringVar(&f.cloudConf, "cloud-conf", "", "where to write a cloud.conf (default nowhere)")
	return cmd
}

// run runs a cloud until the context ends.
func run(ctx context.Context, out, errs io.Writer, f *flags) (err error) {
	f.options.Nodes, err = parseNodes(f.nodes)
	if err != nil {
		return err
	}
	f.options.Logger = funcr.New(func(prefix, args string) { fmt.Fprintln(errs, prefix, args) }, funcr.Options{})
	cloud, err := cloudsim.Start(f.options)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := cloud.Close(); err == nil {
			err = closeErr
		}
	}()

	cloudsYAML := f.cloudsYAML
	if cloudsYAML == "" {
		dir, err := os.MkdirTemp("", "cloudsim-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cloudsYAML = filepath.Join(dir, "clouds.yaml")
	}
	cloudsYAML, err = filepath.Abs(cloudsYAML)
	if err != nil {
		return err
	}
	if err := cloudsim.WriteFile(cloudsYAML, cloud.CloudsYAML()); err != nil {
		return fmt.Errorf("write the clouds.yaml: %w", err)
	}
	if f.cloudConf != "" {
		if err := cloudsim.WriteFile(f.cloudConf, cloud.CloudConf()); err != nil {
			return fmt.Errorf("write the cloud.conf: %w", err)
		}
	}
	announce(out, cloud, cloudsYAML, f.cloudConf)
	<-ctx.Done()
	return nil
}

func announce(out io.Writer, cloud *cloudsim.Cloud, cloudsYAML, cloudConf string) {
	ids := cloud.IDs()
	fmt.Fprintf(out, "# auth URL         %s/v3\n", cloud.AuthURL())
	fmt.Fprintf(out, "# admin URL        %s\n", cloud.AdminURL())
	fmt.Fprintf(out, "# public network   %s\n", ids.PublicNetwork)
	fmt.Fprintf(out, "# private subnet   %s\n", ids.PrivateSubnet)
	if cloudConf != "" {
		fmt.Fprintf(out, "# cloud.conf       %s\n", cloudConf)
	}
	fmt.Fprintf(out, "# clouds.yaml      %s\n%s", cloudsYAML, cloud.CloudsYAML())
	fmt.Fprintf(out, "# to use it:\nexport OS_CLIENT_CONFIG_FILE=%s OS_CLOUD=cloudsim\n", cloudsYAML)
	fmt.Fprintln(out, "# ready")
}

// parseNodes parses "name" and "name=address".
func parseNodes(texts []string) ([]cloudsim.Node, error) {
	var nodes []cloudsim.Node
	for _, text := range texts {
		name, address, given := strings.Cut(text, "=")
		node := cloudsim.Node{Name: name}
		if name == "" {
			return nil, fmt.Errorf("--nodes %q: a node needs a name", text)
		}
		if given {
			ip, err := netip.ParseAddr(address)
			if err != nil {
				return nil, fmt.Errorf("--nodes %q: %w", text, err)
			}
			node.Addresses = append(node.Addresses, ip)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}
