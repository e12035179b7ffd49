// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

func TestAProviderThatTheCloudDoesNotHaveIsFound(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	for name, test := range map[string]struct{ settings, want string }{
		"the default":                           {"", ""},
		"others that it has":                    {"lb-provider = ovn\n[LoadBalancerClass \"x\"]\nlb-provider = amphora\n", ""},
		"one with a slip":                       {"lb-provider = amphoa\n", "Octavia does not have [LoadBalancer] lb-provider = amphoa; it has amphora, "},
		"that of a class":                       {"[LoadBalancerClass \"x\"]\nlb-provider = f5\n", `Octavia does not have [LoadBalancerClass "x"] lb-provider = f5; it has`},
		"that of [LoadBalancer] and of classes": {"lb-provider = f5\n[LoadBalancerClass \"x\"]\nsubnet-id = 2c88a58a-9b5d-4dca-b7e9-113d44d5a797\n", "Octavia does not have [LoadBalancer] lb-provider = f5; it has"},
		"that of ClusterIPs": {"[ClusterIP]\nenabled = true\nprovider = ovm\nservice-subnet-id = 00000000-0000-4000-9000-000000000001\n",
			"Octavia does not have [ClusterIP] provider = ovm; it has"},
		"that of ClusterIPs, switched off": {"[ClusterIP]\nprovider = ovm\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log book
			o := flags()
			o.CloudConfig = "/etc/cloud.conf"
			connected, err := o.Connect(t.Context(), parse(t, cloud.CloudConf()+test.settings), "test", log.logger(), prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			connected.Session.Close()
			err = connected.UnknownProviders
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case openstack.Classify(err) != openstack.Invalid || !strings.HasPrefix(err.Error(), "check the providers of /etc/cloud.conf: ") || !strings.Contains(err.Error(), test.want) || !strings.Contains(log.String(), "cannot be created"):
				t.Errorf("class %s: %v, want %q", openstack.Classify(err), err, test.want)
			}
		})
	}
}

func TestProvidersThatCannotBeListedRefuseNothing(t *testing.T) {
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: calls.ProvidersPath, Kind: wire.FaultStatus, Status: status, Times: 1})
			var log book
			connected, err := flags().Connect(t.Context(), parse(t, cloud.CloudConf()+"lb-provider = amphoa\n"), "test", log.logger(), prometheus.NewRegistry())
			if err != nil {
				t.Errorf("%d: %v", status, err)
				return
			}
			connected.Session.Close()
			if !strings.Contains(log.String(), "cannot check that Octavia has the providers of cloud.conf") {
				t.Errorf("%d: nothing is logged: %s", status, log.String())
			}
		})
	}
}
