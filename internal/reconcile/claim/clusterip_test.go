// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func atClusterIPs(t *testing.T, c config.ClusterIP) Policy {
	t.Helper()
	c.Enabled, c.ServiceSubnetID = true, "services"
	selected, err := NewClusterIPs(c)
	if err != nil {
		t.Fatal(err)
	}
	return Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterIPs: selected}
}

func at(clusterIP string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.ClusterIP = clusterIP }
}

func reachedAt(address string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = address }
}

func ofType(kind corev1.ServiceType) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Type, s.Spec.LoadBalancerClass = kind, nil }
}

func labelled(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Labels = map[string]string{key: value} }
}

func TestServicesThatAreServedAtTheirClusterIP(t *testing.T) {
	const ip = "10.96.0.7"
	for name, c := range map[string]struct {
		mode                config.ClusterIP
		explicitOnly        bool
		service             *corev1.Service
		serves, at, release bool
	}{
		"of type ClusterIP":                      {service: served(clusterIP, at(ip)), serves: true, at: true},
		"of type ClusterIP, never seen":          {service: served(clusterIP, at(ip), unmarked), serves: true, at: true},
		"of type NodePort":                       {service: served(ofType(corev1.ServiceTypeNodePort), at(ip)), serves: true, at: true},
		"of type LoadBalancer":                   {service: served(at(ip)), serves: true, at: true},
		"of type LoadBalancer, of another class": {service: served(at(ip), class("other/x")), at: true, release: true},
		"of type LoadBalancer since a moment, without a class, which is not handled": {explicitOnly: true, service: served(at(ip), reachedAt(ip)), at: true, release: true},
		"with a floating IP, without a class, which is not handled any more":         {explicitOnly: true, service: served(at(ip), reachedAt("203.0.113.7")), at: true},
		"not selected, without a class, which is not handled any more":               {explicitOnly: true, mode: config.ClusterIP{Selector: "tier=web"}, service: served(at(ip), reachedAt(ip))},
		"with IPv6":                              {service: served(clusterIP, at("fd00::7")), serves: true, at: true},
		"headless":                               {service: served(clusterIP, at("None")), release: true},
		"without a ClusterIP yet":                {service: served(clusterIP), release: true},
		"of type LoadBalancer without ClusterIP": {service: served(), serves: true},
		"of type ExternalName":                   {service: served(ofType(corev1.ServiceTypeExternalName), at(ip)), release: true},
		"being deleted":                          {service: served(clusterIP, at(ip), deleted), at: true, release: true},
		"selected":                               {mode: config.ClusterIP{Selector: "tier in (web, api)"}, service: served(clusterIP, at(ip), labelled("tier", "api")), serves: true, at: true},
		"not selected":                           {mode: config.ClusterIP{Selector: "tier=web"}, service: served(clusterIP, at(ip)), release: true},
		"not selected, never ours":               {mode: config.ClusterIP{Selector: "tier=web"}, service: served(clusterIP, at(ip), unmarked, func(s *corev1.Service) { s.Finalizers = nil })},
		"of type LoadBalancer, not selected":     {mode: config.ClusterIP{Selector: "tier=web"}, service: served(at(ip)), serves: true},
		"in a selected namespace":                {mode: config.ClusterIP{Namespaces: "shop,default"}, service: served(clusterIP, at(ip)), serves: true, at: true},
		"in another namespace":                   {mode: config.ClusterIP{Namespaces: "shop"}, service: served(clusterIP, at(ip)), release: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := atClusterIPs(t, c.mode)
			p.DefaultClass = !c.explicitOnly
			if got := p.Serves(c.service); got != c.serves {
				t.Errorf("Serves: %t", got)
			}
			if got := p.AtClusterIP(c.service); got != c.at {
				t.Errorf("AtClusterIP: %t", got)
			}
			if got := p.Leaves(c.service); got != c.release {
				t.Errorf("Leaves: %t", got)
			}
			of := p.ConfigOf(c.service, config.LoadBalancer{}).AtClusterIP
			if (of != nil) != c.at || of != nil && of.Internal != (c.service.Spec.Type != corev1.ServiceTypeLoadBalancer) {
				t.Errorf("settings %+v", of)
			}
		})
	}
}

func TestServicesThatHadALoadBalancerAtTheirClusterIP(t *testing.T) {
	const ip = "10.96.0.7"
	replaced := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations[annotation.VIPAddress] = address + " services" }
	}
	for name, c := range map[string]struct {
		service *corev1.Service
		want    bool
	}{
		"never served":                            {service: served(clusterIP, at(ip))},
		"served":                                  {service: served(clusterIP, at(ip), reachedAt(ip)), want: true},
		"served, a copy":                          {service: served(clusterIP, at(ip), reachedAt(ip), func(s *corev1.Service) { s.UID = "uid-2" })},
		"served, at another address":              {service: served(clusterIP, at(ip), reachedAt("10.0.0.9"))},
		"with a floating IP":                      {service: served(at(ip), reachedAt("203.0.113.7"))},
		"with a floating IP, replaced":            {service: served(at(ip), reachedAt("203.0.113.7"), replaced(ip)), want: true},
		"with a floating IP, replaced, elsewhere": {service: served(at(ip), reachedAt("203.0.113.7"), replaced("10.0.0.9"))},
		"headless, with what others wrote to it":  {service: served(clusterIP, at("None"), reachedAt("None"))},
	} {
		if got := atClusterIPs(t, config.ClusterIP{}).WasAtClusterIP(c.service); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestServiceDefaultKubernetesKeepsItsLoadBalancerWhenItIsCreatedAgain(t *testing.T) {
	api := func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "kubernetes", "10.96.0.1" }
	as := func(uid types.UID) func(*corev1.Service) { return func(s *corev1.Service) { s.UID = uid } }
	const lasting, elsewhere = "8032f2a3-4bfe-5f38-adce-5eb3cfa49244", "b1f66f5c-8691-5022-8a05-f06eeea87f04" // uuidgen --sha1 --namespace @url --name c/default/kubernetes/10.96.0.1
	for name, c := range map[string]struct {
		mode    *config.ClusterIP
		drain   bool
		service *corev1.Service
		uid     string
		returns bool
	}{
		"it":                          {service: served(clusterIP, api), uid: lasting},
		"created again":               {service: served(clusterIP, api, as("uid-2")), uid: lasting},
		"at another address":          {service: served(clusterIP, api, at("10.97.0.1")), uid: elsewhere},
		"being deleted":               {service: served(clusterIP, api, deleted), uid: lasting, returns: true},
		"being deleted, drained":      {drain: true, service: served(clusterIP, api, deleted), uid: lasting},
		"being deleted, not selected": {mode: &config.ClusterIP{Selector: "tier=web"}, service: served(clusterIP, api, deleted), uid: lasting},
		"being deleted, mode off":     {mode: &config.ClusterIP{}, service: served(clusterIP, api, deleted), uid: lasting},
		"being deleted, of type LoadBalancer, mode off": {mode: &config.ClusterIP{}, service: served(api, deleted), uid: lasting},
		"another one, being deleted":                    {service: served(clusterIP, at("10.96.0.1"), deleted), uid: "uid-1"},
		"of the same name elsewhere":                    {service: served(clusterIP, api, deleted, func(s *corev1.Service) { s.Namespace = "shop" }), uid: "uid-1"},
	} {
		p := Policy{LoadBalancerClass: ourClass, DefaultClass: true}
		if c.mode == nil {
			p = atClusterIPs(t, config.ClusterIP{})
		} else if c.mode.Selector != "" {
			p = atClusterIPs(t, *c.mode)
		}
		p.ClusterUID, p.Drain = "c", c.drain
		if got := p.Owner(c.service); got.ServiceUID != c.uid || got.Returns != c.returns {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWithoutTheModeNoServiceIsServedAtItsClusterIP(t *testing.T) {
	c, err := NewClusterIPs(config.ClusterIP{ServiceSubnetID: "services"})
	p := Policy{DefaultClass: true, ClusterIPs: c}
	for _, s := range []*corev1.Service{served(at("10.96.0.7")), served(clusterIP, at("10.96.0.7"))} {
		if p.AtClusterIP(s) || p.ConfigOf(s, config.LoadBalancer{}).AtClusterIP != nil || err != nil {
			t.Errorf("%s is served at its ClusterIP, %v", s.Spec.Type, err)
		}
	}
}

func TestWhyAServiceIsNotServedInClusterIPMode(t *testing.T) {
	never := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	for name, c := range map[string]struct {
		service *corev1.Service
		want    string
	}{
		"not selected":                           {served(clusterIP, at("10.96.0.7"), never), "its type is ClusterIP, and [ClusterIP] of cloud.conf does not select it"},
		"of type NodePort, not selected":         {served(ofType(corev1.ServiceTypeNodePort), at("10.96.0.7"), never), "its type is NodePort, and [ClusterIP] of cloud.conf does not select it"},
		"headless":                               {served(clusterIP, at(corev1.ClusterIPNone), labelled("tier", "web"), never), "it is headless: it has no ClusterIP"},
		"of type ExternalName":                   {served(ofType(corev1.ServiceTypeExternalName), labelled("tier", "web"), never), "its type is ExternalName: it has no ClusterIP"},
		"without a ClusterIP yet":                {served(clusterIP, labelled("tier", "web"), never), "it has no ClusterIP yet"},
		"being deleted":                          {served(clusterIP, at("10.96.0.7"), labelled("tier", "web"), deleted, never), "it is being deleted, and has no load balancer finalizer"},
		"of type LoadBalancer, of another class": {served(class("other/x"), labelled("tier", "web"), never), `spec.loadBalancerClass is "other/x", and --load-balancer-class is "kube-octavia.io/octavia"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := atClusterIPs(t, config.ClusterIP{Selector: "tier=web"})
			if p.Serves(c.service) || p.Leaves(c.service) {
				t.Fatal("it is served or released")
			}
			if got := p.WhyNotServed(c.service); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
