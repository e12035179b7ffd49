// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// Check adds the problems of the flags.
func (o *Options) Check(p *command.Problems) {
	o.CheckCloud(p)
	p.Add("cluster-name", command.Quoted(o.ClusterName), lb.CheckClusterName(o.ClusterName))
	if wrong := validation.IsQualifiedName(o.LoadBalancerClass); len(wrong) > 0 {
		p.Add("load-balancer-class", command.Quoted(o.LoadBalancerClass), fmt.Errorf("must be a name with an optional prefix, such as %s or my-class: %s",
			DefaultLoadBalancerClass, strings.Join(wrong, "; ")))
	}
}

// CheckCloud adds the problems of the flags for the cloud.
func (o *Options) CheckCloud(p *command.Problems) {
	if o.CloudConfig == "" && !o.findsSettings {
		*p = append(*p, errNoCloudConfig)
	}
	namespace, name, both := strings.Cut(o.settings, "/")
	p.Require(o.settings == "" || both && namespace != "" && name != "" && !strings.Contains(name, "/"), "settings", command.Quoted(o.settings), "must be NAMESPACE/NAME of a ConfigMap")
	p.Require(o.settings == "" || o.CloudConfig == "", "settings", command.Quoted(o.settings), "must not be set with --cloud-config, which replaces these settings")
	p.Require(o.cloudRate > 0 && !math.IsInf(o.cloudRate, 0), "cloud-rate", o.cloudRate, "must be above 0: calls per second")
	p.Require(o.cloudBurst > 0, "cloud-burst", o.cloudBurst, "must be 1 or more: calls at once")
}

// adoptValue is a flag that holds a claim.Adoption.
type adoptValue claim.Adoption

// String implements pflag.Value.
func (a *adoptValue) String() string { return string(*a) }

// Set implements pflag.Value.
func (a *adoptValue) Set(text string) error {
	switch claim.Adoption(text) {
	case claim.AdoptTag, claim.AdoptObserve:
		*a = adoptValue(text)
		return nil
	}
	return fmt.Errorf("must be %s or %s", claim.AdoptTag, claim.AdoptObserve)
}

// Type implements pflag.Value.
func (a *adoptValue) Type() string {
	return string(claim.AdoptTag + "|" + claim.AdoptObserve)
}
