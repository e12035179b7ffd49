// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/controller"
	"github.com/kube-octavia/kube-octavia/internal/operate/topologyfacts"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/ui"
)

// uiOptions holds the flags of `kube-octavia ui`.
type uiOptions struct {
	connection      connection.Options
	logging         command.Logging
	address         string
	authentication  string
	certFile        string
	keyFile         string
	refreshInterval time.Duration
}

// The values of --authentication: who may see the topology.
const (
	authenticationNone  = "none"
	authenticationToken = "token"
)

func newUI(streams IO, version string) *cobra.Command {
	var o uiOptions
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page with the load balancers of the cluster's Services",
		Long: "Serves a page that shows Services, load balancers, listeners, pools and members, their status, drift,\n" +
			"pending operations, conditions and events, and follows their changes. It reads the cluster and the\n" +
			"cloud only while the page is open, once for all viewers. Writes nothing, and reads no Secret\n" +
			"but that of the controller, if there is no --cloud-config.\n" +
			settingsUsage,
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := takeSettings(c, streams, &o.connection, o.check); err != nil {
				return err
			}
			return o.run(c.Context(), o.logging.Logger(streams), streams, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.connection.AddAdoptFlag(c.Flags())
	o.connection.AddSettingsFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	c.Flags().StringVar(&o.address, "address", "127.0.0.1:8088", "listen address; other addresses than those of loopback need --authentication=token")
	c.Flags().StringVar(&o.authentication, "authentication", authenticationNone,
		"none: everyone who can reach the address sees the topology; token: requests need a token of the cluster whose user may get the path /topology")
	c.Flags().StringVar(&o.certFile, "tls-cert-file", "", "certificate for HTTPS; it is read again when it changes")
	c.Flags().StringVar(&o.keyFile, "tls-private-key-file", "", "key of this certificate")
	c.Flags().DurationVar(&o.refreshInterval, "refresh-interval", 5*time.Second, "interval for reading the load balancers while the page is open")
	return c
}

func (o *uiOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	p.Require(o.refreshInterval >= time.Second, "refresh-interval", o.refreshInterval, "must be 1s or more")
	p.Require((o.certFile == "") == (o.keyFile == ""), "tls-cert-file", command.Quoted(o.certFile), "set --tls-private-key-file, too, or neither of them")
	p.Require(o.authentication == authenticationNone || o.authentication == authenticationToken, "authentication", command.Quoted(o.authentication),
		"must be "+authenticationNone+" or "+authenticationToken)
	host, _, err := net.SplitHostPort(o.address)
	p.Require(err == nil, "address", command.Quoted(o.address), "must be HOST:PORT, such as 127.0.0.1:8088")
	p.Require(err != nil || o.authentication == authenticationToken || isLoopback(host), "address", o.address,
		"other machines can reach it, and all their users would see the topology: set --authentication="+authenticationToken+", or an address of loopback such as 127.0.0.1:8088")
}

// isLoopback reports whether only this machine can reach the host. Names other than localhost can resolve to
// any address.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// run serves the page until the context ends.
func (o *uiOptions) run(ctx context.Context, log logr.Logger, streams IO, version string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(o.address) // it was checked
		return fmt.Errorf("listen on %s (--address): %w; --address=%s takes a free port", o.address, err, net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return fmt.Errorf("listen on %s (--address): %w", o.address, err)
	}
	defer listener.Close() // in case it is not served
	v, err := o.connection.LookAtCluster(ctx)
	if err != nil {
		return err
	}
	cloud := topologyfacts.NewCloud()
	connector := o.connector(v, cloud, log, version)
	defer connector.Close()

	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	options := ui.Options{Logger: log.WithName("ui"), Serve: (*http.Server).Serve, Source: topologyfacts.New(topologyfacts.Options{
		Policy: v.Policy, Cloud: cloud, Login: o.connection.ConfigName(), LoginFollowed: o.connection.Origin() == config.FromFile, Cluster: v.Cluster.REST, Cache: controller.CacheOptions(v.Config.ClusterIP), Explain: v.Cluster.Explain,
		Interval: o.refreshInterval, Logger: log.WithName("ui"),
	})}
	if o.authentication == authenticationToken {
		options.Filter, err = tokenFilter(v.Cluster.REST)
		if err != nil {
			return v.Cluster.Explain(err)
		}
	}
	scheme := "http"
	if o.certFile != "" {
		watcher, err := certwatcher.New(o.certFile, o.keyFile)
		if err != nil {
			return fmt.Errorf("read the certificate for HTTPS (--tls-cert-file, --tls-private-key-file): %w", err)
		}
		running.Go(func() { _ = watcher.Start(ctx) }) // on an error, the last certificate stays in use
		scheme, options.Serve = "https", serveTLS(watcher)
	}
	var unconnected error // the cloud can never be used, for example because it has no Octavia
	running.Go(func() {
		defer cancel()
		unconnected = connector.Start(ctx)
	})
	streams.Note(fmt.Sprintf("the topology is at %s://%s/", scheme, listener.Addr()))
	err = ui.Serve(ctx, listener, options)
	cancel()
	running.Wait()
	return errors.Join(unconnected, err)
}

// connector connects to the cloud while the page is already served: until then, the page shows the Services and why the
// cloud does not answer.
func (o *uiOptions) connector(v connection.ClusterView, cloud *topologyfacts.Cloud, log logr.Logger, version string) *connection.Connector {
	return &connection.Connector{
		Options: o.connection, Logger: log, Version: version, Registry: prometheus.NewRegistry(), Config: v.Config,
		ConfigInterval: timing.Default().CloudConfigInterval,
		Work: func(_ context.Context, connected connection.Cloud) error {
			cloud.Connected(o.connection.PlannerOptions(v.Reader, v.Reader, connected, v.Policy))
			return nil
		},
		Tell: func(_ context.Context, err error) { cloud.Failed(err) },
	}
}

// serveTLS serves HTTPS with the certificate that the watcher read last.
func serveTLS(watcher *certwatcher.CertWatcher) func(*http.Server, net.Listener) error {
	return func(server *http.Server, listener net.Listener) error {
		server.TLSConfig = &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12}
		return server.ServeTLS(listener, "", "")
	}
}

// tokenFilter admits requests with a token of the cluster whose user may get the path.
func tokenFilter(cluster *rest.Config) (ui.Filter, error) {
	client, err := rest.HTTPClientFor(cluster)
	if err != nil {
		return nil, err
	}
	filter, err := filters.WithAuthenticationAndAuthorization(cluster, client)
	return ui.Filter(filter), err
}
