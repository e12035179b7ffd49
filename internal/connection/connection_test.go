// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// flags are the options as they are without a command line.
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

func TestASessionKnowsWhatTheCloudCanDo(t *testing.T) {
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
