// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func checkCatalogue(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok {
		return
	}
	if login := f.Cloud.Login; !login.OK() {
		if f.Cloud.NoRegion {
			r.Found(Error, login.Reason, "The controller does not start, because it might use another region after each start.",
				f.inPlace("Set region in [Global] of cloud.conf to the region of the nodes. `openstack catalog list` shows the regions."))
			return
		}
		if len(f.Cloud.NoService) > 0 {
			for _, lack := range f.Cloud.NoService {
				r.Found(Error, lack.What, "The controller needs Neutron and Octavia.", f.inPlace(lack.Do))
			}
			return
		}
		r.Skip(noLogin)
		return
	}
	region, kind := cmp.Or(c.Global.Region, "any region"), cmp.Or(c.Global.EndpointType, "public")
	for _, e := range f.Cloud.Login.Value.Endpoints {
		if e.URL != "" {
			r.Saw(fmt.Sprintf("%s: %s (%s, %s)", e.Service, e.URL, kind, region))
			continue
		}
		what, who, why, do := f.need(e.Service, c)
		if who == "" {
			r.Saw(e.Service + ": not in the catalogue, and nothing needs it")
			continue
		}
		r.Found(Error, fmt.Sprintf("the service catalogue has no %s service (%s) with a %s endpoint in %s, but %s needs it", e.Service, what, kind, region, who), why,
			"Compare with `openstack catalog list`. "+do)
	}
}

// need returns the name of a service that the catalogue may lack, what needs it, or "", the reason, and what to do.
func (f facts) need(service string, c config.Config) (what, who, why, do string) {
	switch service {
	case calls.ServiceCompute:
		return "Nova", "--controllers", "The controllers of Nodes read the servers of the Nodes from Nova.",
			"If the region and os-endpoint-type in [Global] of cloud.conf are right, remove node and node-lifecycle from --controllers."
	case calls.ServiceKeyManager:
		return "Barbican", usesCertificates(f, c), "Octavia reads certificates from Barbican: without it no port terminates TLS.",
			"If Octavia keeps certificates elsewhere, set container-store = external in [LoadBalancer]; otherwise remove the request."
	}
	return "", "", "", ""
}

// noLogin is the reason why checks of the cloud are skipped.
const noLogin = "no login, see check " + string(Credentials)

// usesCertificates returns the first setting that needs Barbican, or "".
func usesCertificates(f facts, c config.Config) string {
	if c.LoadBalancer.ExternalContainers() {
		return ""
	}
	for _, u := range uses(c, "default-tls-container-ref", func(l config.LoadBalancer) string { return l.TLSContainer }) {
		return u.where
	}
	for _, key := range []string{annotation.TLSSecret, annotation.TLSContainer, annotation.SNIContainers} {
		for _, u := range requested(f, nil, key) {
			return u.where
		}
	}
	return ""
}

// The differences of clocks that matter.
const (
	skewWarning = 30 * time.Second
	skewError   = 5 * time.Minute
)

func checkClock(f facts, r *Result) {
	if _, ok := f.configured(r); !ok {
		return
	}
	login := f.Cloud.Login.Value
	switch {
	case !f.Cloud.Login.OK() && (len(f.Cloud.NoService) > 0 || f.Cloud.NoRegion):
		r.Skip("the service catalogue cannot be used, see check " + string(Catalogue))
		return
	case !f.Cloud.Login.OK():
		r.Skip(noLogin)
		return
	case login.CloudTime.IsZero():
		r.Found(Unknown, "the answers of Keystone have no Date header", "The clocks cannot be compared.", "Compare them manually: `date -u`, and `curl -sI AUTH_URL`.")
		return
	}
	skew := login.LocalTime.Sub(login.CloudTime)
	off := max(skew.Abs()-login.Uncertainty, 0)
	text := fmt.Sprintf("the clock of this machine is %v ahead of that of Keystone", skew.Round(time.Second))
	if skew < 0 {
		text = fmt.Sprintf("the clock of this machine is %v behind that of Keystone", skew.Abs().Round(time.Second))
	}
	const why = "Tokens and certificates are valid only for a time: with a wrong clock they appear expired or not yet valid."
	const do = "Set the clock by NTP, on this machine and on the hosts of the cloud: `timedatectl` and `chronyc tracking` show the state."
	switch {
	case off > skewError:
		r.Found(Error, text, why, do)
	case off > skewWarning:
		r.Found(Warning, text, why, do)
	default:
		r.Saw(fmt.Sprintf("the clocks of this machine and Keystone differ by less than %v", skewWarning))
	}
}
