// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentialcommand implements `kube-octavia credential`: it creates, rotates and deletes application
// credentials with the login of the user who runs it.
package credentialcommand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// confKey is the key of cloud.conf in the Secret, and so the name of the file. The Secret is the
// one that the manifests mount.
const (
	confKey       = "cloud.conf"
	defaultSecret = "kube-octavia/cloud-config"
)

// New returns the command with its subcommands.
func New(streams command.IO, version string) *cobra.Command {
	c := &cobra.Command{
		Use:   "credential",
		Short: "Create, rotate and delete the controller's application credential",
		Long: "An application credential lets the controller act for you in one project. You can revoke it separately.\n" +
			"The application credentials that these commands create allow only the controller's calls.\n" +
			"\n" +
			"Log in with your own user and password: with --os-cloud, an entry of clouds.yaml; or with --cloud-config;\n" +
			"or, without these, with $OS_CLOUD or the variables of an openrc file.",
	}
	c.AddCommand(newCreate(streams, version), newRotate(streams, version), newDelete(streams, version))
	return c
}

// person holds the flags for the login of the user who runs the command.
type person struct {
	cloudConfig, cloud string
}

func (p *person) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.cloudConfig, "cloud-config", "", "cloud.conf with your login; with --os-cloud its section [Global] is ignored")
	flags.StringVar(&p.cloud, "os-cloud", "", "entry of clouds.yaml with your login; default: $OS_CLOUD")
}

// login returns the login of the user.
func (p *person) login() (config.Global, error) {
	if p.hasOwnLogin() {
		c, err := config.LoadLogin(p.cloud, "", os.Getenv)
		return c.Global, err
	}
	c, err := config.Load(p.cloudConfig)
	return c.Global, err
}

// hasOwnLogin reports whether the login comes from clouds.yaml or the environment, not from cloud.conf.
func (p *person) hasOwnLogin() bool { return p.cloudConfig == "" || p.cloud != "" }

// connect logs in.
func (p *person) connect(ctx context.Context, g config.Global, version string) (*openstack.Session, error) {
	session, err := openstack.Connect(ctx, openstack.Options{
		Config: g, UserAgent: command.UserAgent(version), Logger: logr.Discard(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		if p.hasOwnLogin() {
			err = openstack.WithPlace(err, "your login")
		}
		return nil, fmt.Errorf("log in: %w", err)
	}
	return session, nil
}

// wish holds the flags that describe a new application credential.
type wish struct {
	name    string
	expires string
	roles   []string
	without []string
	with    []string
}

func (w *wish) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&w.name, "name", "", "name of the application credential; default: kube-octavia- and the time")
	flags.StringVar(&w.expires, "expires", "", "expiry: a duration such as 90d or 12h, a date such as 2030-01-31, or never")
	flags.StringSliceVar(&w.roles, "roles", nil, "roles of the application credential in the project; default: all of yours except admin")
	flags.StringSliceVar(&w.without, "without", nil, "features whose calls the application credential does not allow, because nothing uses them: "+strings.Join(calls.Optional(), ", "))
	flags.StringSliceVar(&w.with, "with", nil, "features whose calls the application credential allows as well, for --controllers of the controller: "+additionalNames())
}

func additionalNames() string {
	var names []string
	for _, f := range calls.Additional() {
		names = append(names, f.Name())
	}
	return strings.Join(names, ", ")
}

// credential returns the application credential that the flags describe.
func (w *wish) credential(session *openstack.Session, now time.Time) (openstack.ApplicationCredential, error) {
	c := openstack.ApplicationCredential{Name: w.name, Roles: w.roles, Description: "for kube-octavia, with access rules"}
	if c.Name == "" {
		c.Name = "kube-octavia-" + now.UTC().Format("20060102-150405.000")
	}
	if len(c.Roles) == 0 {
		c.Roles = slices.DeleteFunc(session.Roles(), func(role string) bool { return role == "admin" })
		if len(c.Roles) == 0 {
			return c, errors.New("your only role in the project is admin: set the controller's roles with --roles")
		}
	}
	var err error
	c.Without, err = w.leftOut(calls.Additional())
	if err != nil {
		return c, err
	}
	c.Expires, err = parseExpiry(w.expires, now)
	return c, err
}

// leftOut returns the features whose calls are not allowed: the same as before, unless the flags change
// that.
func (w *wish) leftOut(before []calls.Feature) ([]calls.Feature, error) {
	without, err := parseFeatures(w.without)
	if err != nil {
		return nil, err
	}
	var with []calls.Feature
	for _, name := range w.with {
		f, _ := calls.FindOptional(name)
		switch {
		case !slices.Contains(calls.Additional(), f):
			return nil, fmt.Errorf("--with %q: must be any of %s; the calls of all other features are allowed unless --without excludes them", name, additionalNames())
		case slices.Contains(without, f):
			return nil, fmt.Errorf("--with and --without both name %s", name)
		}
		with = append(with, f)
	}
	left := without
	for _, f := range before {
		kept := w.without == nil || slices.Contains(calls.Additional(), f)
		if kept && !slices.Contains(with, f) && !slices.Contains(left, f) {
			left = append(left, f)
		}
	}
	return left, nil
}

// parseFeatures parses the value of --without.
func parseFeatures(names []string) ([]calls.Feature, error) {
	var features []calls.Feature
	for _, name := range names {
		f, known := calls.FindOptional(name)
		if !known {
			return nil, fmt.Errorf("--without %q: must be any of %s; the calls of all other features are always needed", name, strings.Join(calls.Optional(), ", "))
		}
		features = append(features, f)
	}
	return features, nil
}

// parseExpiry parses the value of --expires; the zero time means never.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "never" {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		end, err = time.Parse(time.DateOnly, text)
	}
	if days, isDays := strings.CutSuffix(text, "d"); err != nil && isDays {
		var n int
		n, err = strconv.Atoi(days)
		if err == nil {
			end = now.AddDate(0, 0, n)
		}
	}
	if err != nil {
		var d time.Duration
		d, err = time.ParseDuration(text)
		if err == nil {
			end = now.Add(d)
		}
	}
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("--expires %q: must be a duration such as 90d or 12h, a date such as 2030-01-31, or never", text)
	case !end.After(now):
		return time.Time{}, fmt.Errorf("--expires %q: must not be in the past", text)
	}
	return end.UTC(), nil
}

// parseSecretName parses the value of --secret.
func parseSecretName(text string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("--secret %q: must be NAMESPACE/NAME", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// until returns the text for when an application credential expires.
func until(c openstack.ApplicationCredential) string {
	if c.Expires.IsZero() {
		return "it does not expire"
	}
	return "it expires at " + c.Expires.Format(time.RFC3339)
}

func newDelete(streams command.IO, version string) *cobra.Command {
	var p person
	c := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete an application credential",
		Long:  "Deletes one of your application credentials. Clients that still use it are rejected at once.",
		Args:  command.Args,
		RunE: func(c *cobra.Command, args []string) error {
			login, err := p.login()
			if err != nil {
				return err
			}
			session, err := p.connect(c.Context(), login, version)
			if err != nil {
				return err
			}
			defer session.Close()
			if err := session.DeleteApplicationCredential(c.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(streams.Err, "deleted application credential %s\n", args[0])
			return nil
		},
	}
	p.addFlags(c.Flags())
	return c
}
