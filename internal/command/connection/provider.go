// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// checkProviders returns an error of class Invalid if cloud.conf names a provider that Octavia does not have, and logs
// it. The controller runs nevertheless: existing load balancers must follow their nodes, even if no new ones can be
// created.
func checkProviders(ctx context.Context, session *openstack.Session, path string, cloud config.Config, log logr.Logger) error {
	there, err := session.Providers(ctx)
	if err != nil {
		log.Info("cannot check that Octavia has the providers of cloud.conf", "error", err.Error())
		return nil
	}
	wrong := unknownProviders(cloud, there)
	if len(there) == 0 || len(wrong) == 0 {
		return nil
	}
	err = &openstack.Error{Class: openstack.Invalid, Op: "check the providers of " + path,
		Message: fmt.Sprintf("Octavia does not have %s; it has %s", strings.Join(wrong, ", "), strings.Join(there, ", "))}
	log.Info("new load balancers cannot be created with a provider of cloud.conf", "error", err.Error())
	return err
}

// unknownProviders returns the settings of cloud.conf that name a provider that does not exist.
func unknownProviders(cloud config.Config, there []string) []string {
	var wrong []string
	check := func(section, key, provider string) {
		if provider != "" && !slices.Contains(there, provider) {
			wrong = append(wrong, fmt.Sprintf("[%s] %s = %s", section, key, provider))
		}
	}
	check("LoadBalancer", "lb-provider", cloud.LoadBalancer.Provider)
	for _, name := range slices.Sorted(maps.Keys(cloud.LoadBalancer.Classes)) {
		if class := cloud.LoadBalancer.Classes[name]; class.Provider != cloud.LoadBalancer.Provider {
			check(fmt.Sprintf("LoadBalancerClass %q", name), "lb-provider", class.Provider)
		}
	}
	if cloud.ClusterIP.Enabled && cloud.ClusterIP.Provider != cloud.LoadBalancer.Provider {
		check(config.ClusterIPSection, "provider", cloud.ClusterIP.Provider)
	}
	return wrong
}
