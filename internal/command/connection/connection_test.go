// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// flags returns the options as they are without a command line.
func flags() *Options {
	c := &Options{}
	c.AddFlags(pflag.NewFlagSet("test", pflag.ContinueOnError))
	return c
}

func parse(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSessionHasTheCapabilitiesOfTheCloud(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{APIVersion: "2.10"})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	conf := parse(t, cloud.CloudConf()+"lb-provider = ovn\n")
	connected, err := flags().Connect(t.Context(), conf, "test", logr.Discard(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Session.Close()
	if diff := cmp.Diff(lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 10}, Provider: "ovn"}, connected.Capabilities); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPasswordInSingleQuotesIsNamedWhenKeystoneRejectsIt(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	password := cloud.Credentials().Password
	for name, test := range map[string]struct{ written, want string }{
		"single quotes": {"'" + password + "'", "The value begins and ends with a single quote, which is part of it."},
		"cut":           {password + "#more", "A comment begins at the # or ; right behind the value."},
		"cut later":     {"x" + password + " #more", "The value ends where a comment begins, at the # or ; behind a blank."},
	} {
		t.Run(name, func(t *testing.T) {
			conf := parse(t, strings.Replace(cloud.CloudConf(), `password="`+password+`"`, "password="+test.written, 1))
			session, err := flags().Login(t.Context(), conf, "test", logr.Discard(), prometheus.NewRegistry())
			if name == "cut" {
				if err != nil {
					t.Fatalf("what is read is the password: %v", err)
				}
				session.Close()
				return
			}
			if err == nil {
				session.Close()
				t.Fatal("logged in")
			}
			if !strings.Contains(err.Error(), "cloud.conf:4: [Global] password: "+test.want) || strings.Contains(err.Error(), password) {
				t.Errorf("%v", err)
			}
		})
	}
}
