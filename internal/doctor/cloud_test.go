// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/calltable"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

func TestConfiguration(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"a key without effect": {
			mistake: func(f *diagnosis.Facts) {
				f.Config.Value.Notices = []config.Notice{{File: "cloud.conf", Line: 3, Section: "BlockStorage", Key: "bs-version", Text: "accepted, but has no effect"}}
			},
			check: diagnosis.Configuration, status: diagnosis.Warning, what: "cloud.conf:3: [BlockStorage] bs-version", do: "Remove the key",
		},
		"load balancers are switched off": {mistake: set(func(l *config.LoadBalancer) { l.Enabled = false }), check: diagnosis.Configuration, status: diagnosis.Error, what: "enabled is false", do: "enabled = true"},
		"no verification of certificates": {mistake: func(f *diagnosis.Facts) { f.Config.Value.Global.TLSInsecure = true }, check: diagnosis.Configuration, status: diagnosis.Warning, what: "tls-insecure is true", do: "ca-file"},
	})
}

func TestCredentials(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"a password": {mistake: login(func(l *diagnosis.Login) { l.Kind = config.ByPassword }), check: diagnosis.Credentials, status: diagnosis.Warning, what: "password of a user", do: "kube-octavia credential create"},
		"a token":    {mistake: login(func(l *diagnosis.Login) { l.Kind = config.ByToken }), check: diagnosis.Credentials, status: diagnosis.Warning, what: "has a token", do: "kube-octavia credential create"},
		"expiry in three days": {
			mistake: login(func(l *diagnosis.Login) { l.Expires = noon.Add(72 * time.Hour) }),
			check:   diagnosis.Credentials, status: diagnosis.Warning, what: "expire at 2026-11-29T12:00:00Z", do: "credential rotate",
		},
		"expired":                    {mistake: login(func(l *diagnosis.Login) { l.Expires = noon }), check: diagnosis.Credentials, status: diagnosis.Error, what: "expired at 2026-11-26", do: "credential rotate"},
		"an expiry in a year":        {mistake: login(func(l *diagnosis.Login) { l.Expires = noon.Add(8760 * time.Hour) }), check: diagnosis.Credentials, status: diagnosis.OK},
		"an expiry that is unknown":  {mistake: login(func(l *diagnosis.Login) { l.ExpiryUnknown = "403" }), check: diagnosis.Credentials, status: diagnosis.Unknown, what: "unknown when the credentials expire: 403", do: "openstack trust show"},
		"access rules that lack one": {mistake: login(func(l *diagnosis.Login) { l.MissingRules = []string{"GET /x"} }), check: diagnosis.Credentials, status: diagnosis.Error, what: "do not allow GET /x", do: "credential rotate"},
		"security groups that are left out, and not used": {
			mistake: login(func(l *diagnosis.Login) { l.Without = []calltable.Feature{calltable.FeatureSecurityGroups} }),
			check:   diagnosis.Credentials, status: diagnosis.OK,
		},
		"Nodes and routes that are left out, and not used": {
			mistake: func(f *diagnosis.Facts) {
				f.Controllers = diagnosis.Controllers{Service: true}
				f.Cloud.Login.Value.Without = calltable.Additional()
			},
			check: diagnosis.Credentials, status: diagnosis.OK, also: []diagnosis.Check{diagnosis.Nodes, diagnosis.Routes},
		},
		"Nodes that are left out": {
			mistake: login(func(l *diagnosis.Login) { l.Without = calltable.Additional()[:1] }),
			check:   diagnosis.Credentials, status: diagnosis.Error, what: "leave out nodes, but --controllers=node,node-lifecycle needs them", do: "credential rotate --with=nodes`",
		},
		"routes that are left out": {
			mistake: login(func(l *diagnosis.Login) { l.Without = calltable.Additional()[1:] }),
			check:   diagnosis.Credentials, status: diagnosis.Error, what: "leave out routes, but --controllers=route needs them", do: "credential rotate --with=routes`",
		},
		"security groups that are left out": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Login.Value.Without = []calltable.Feature{calltable.FeatureSecurityGroups}
				f.Config.Value.LoadBalancer.ManageSecurityGroups = true
			},
			check: diagnosis.Credentials, status: diagnosis.Error, what: "leave out security groups, but [LoadBalancer] manage-security-groups needs them", do: "--without=security-groups", also: []diagnosis.Check{diagnosis.SecurityGroups},
		},
		"only the role reader": {mistake: login(func(l *diagnosis.Login) { l.Roles = []string{"reader"} }), check: diagnosis.Credentials, status: diagnosis.Error, what: "the only roles are reader", do: "openstack role add"},
		"load balancers that may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Octavia.Balancers = diagnosis.Read[[]diagnosis.Balancer]{Missing: diagnosis.Missing{Kind: diagnosis.Denied, Reason: "list loadbalancers: 403"}}
			},
			check: diagnosis.Credentials, status: diagnosis.Error, what: "list loadbalancers: 403", do: "openstack role add", also: []diagnosis.Check{diagnosis.Quotas, diagnosis.LoadBalancers},
		},
		"rejected": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud = diagnosis.Cloud{Login: diagnosis.Read[diagnosis.Login]{Missing: diagnosis.Missing{Kind: diagnosis.Failed, Reason: "authenticate at https://keystone: 401"}}}
				f.Cloud.APIVersion.Kind, f.Cloud.Octavia.Quota.Kind, f.Cloud.Octavia.Providers.Kind, f.Cloud.Octavia.Balancers.Kind = diagnosis.NotAsked, diagnosis.NotAsked, diagnosis.NotAsked, diagnosis.NotAsked
				f.Cloud.Network.Networks.Kind, f.Cloud.Network.Subnets.Kind, f.Cloud.Network.Ports.Kind, f.Cloud.Network.Quota.Kind, f.Cloud.Orphans.Kind = diagnosis.NotAsked, diagnosis.NotAsked, diagnosis.NotAsked, diagnosis.NotAsked, diagnosis.NotAsked
				f.Cloud.Servers.Kind, f.Cloud.Network.PodRouter.Kind = diagnosis.NotAsked, diagnosis.NotAsked
			},
			check: diagnosis.Credentials, status: diagnosis.Error, what: "authenticate at https://keystone: 401", do: "Correct [Global]",
			also: []diagnosis.Check{diagnosis.Catalogue, diagnosis.Clock, diagnosis.Features, diagnosis.Providers, diagnosis.Networks, diagnosis.Addresses, diagnosis.Quotas, diagnosis.SecurityGroups, diagnosis.Orphans, diagnosis.Nodes, diagnosis.Routes},
		},
	})
}

func TestCatalogueAndClock(t *testing.T) {
	noBarbican := login(func(l *diagnosis.Login) { l.Endpoints[2].URL = "" })
	requireDiagnoses(t, map[string]wrong{
		"no Barbican, which nothing uses": {mistake: noBarbican, check: diagnosis.Catalogue, status: diagnosis.OK},
		"no Barbican, which a Service uses": {
			mistake: func(f *diagnosis.Facts) {
				noBarbican(f)
				f.Cluster.Services.Value[0].Annotations[annotation.TLSSecret] = "cert"
			},
			check: diagnosis.Catalogue, status: diagnosis.Error, what: "tls-secret of Service default/web needs it", do: "container-store = external",
		},
		"no Barbican, which cloud.conf uses": {
			mistake: func(f *diagnosis.Facts) {
				noBarbican(f)
				f.Config.Value.LoadBalancer.TLSContainer = "https://barbican/v1/containers/" + server
			},
			check: diagnosis.Catalogue, status: diagnosis.Error, what: "[LoadBalancer] default-tls-container-ref needs it", do: "openstack catalog list",
		},
		"no Nova": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Login.Value.Endpoints[3].URL = ""
				f.Cloud.Servers.Missing = diagnosis.Missing{Kind: diagnosis.NotAsked, Reason: "no Nova"}
			},
			check: diagnosis.Catalogue, status: diagnosis.Error, what: "no compute service (Nova)", do: "remove node and node-lifecycle", also: []diagnosis.Check{diagnosis.Nodes},
		},
		"no Octavia": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Login = diagnosis.Read[diagnosis.Login]{Missing: diagnosis.Missing{Kind: diagnosis.Failed, Reason: "the service catalogue has no load-balancer service"}}
				f.Cloud.NoService = true
			},
			check: diagnosis.Catalogue, status: diagnosis.Error, what: "no load-balancer service", do: "os-endpoint-type", also: []diagnosis.Check{diagnosis.Clock},
		},
		"a clock a minute ahead":   {mistake: login(func(l *diagnosis.Login) { l.LocalTime = noon.Add(time.Minute) }), check: diagnosis.Clock, status: diagnosis.Warning, what: "1m0s ahead", do: "NTP"},
		"a clock an hour behind":   {mistake: login(func(l *diagnosis.Login) { l.LocalTime = noon.Add(-time.Hour) }), check: diagnosis.Clock, status: diagnosis.Error, what: "1h0m0s behind", do: "NTP"},
		"a slow answer":            {mistake: login(func(l *diagnosis.Login) { l.LocalTime, l.Uncertainty = noon.Add(40*time.Second), 20*time.Second }), check: diagnosis.Clock, status: diagnosis.OK},
		"an answer without a Date": {mistake: login(func(l *diagnosis.Login) { l.CloudTime = time.Time{} }), check: diagnosis.Clock, status: diagnosis.Unknown, what: "no Date header", do: "date -u"},
	})
}

func TestFeatures(t *testing.T) {
	ovn := func(f *diagnosis.Facts) {
		f.Config.Value.LoadBalancer.Provider, f.Config.Value.LoadBalancer.Method = lb.ProviderOVN, ""
		f.Cloud.Octavia.Providers.Value = append(f.Cloud.Octavia.Providers.Value, lb.ProviderOVN)
		any := diagnosis.Rule{Direction: "ingress", EtherType: "IPv4"}
		f.Cloud.Network.Groups.Value[0].Rules = append(f.Cloud.Network.Groups.Value[0].Rules, any)
	}
	requireDiagnoses(t, map[string]wrong{
		"source ranges with provider ovn": {
			mistake: func(f *diagnosis.Facts) {
				ovn(f)
				f.Cluster.Services.Value[0].Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			},
			check: diagnosis.Features, status: diagnosis.Error, what: "Service default/web (Unsupported)", do: "kubectl edit service -n default web",
		},
		"session affinity with provider ovn": {
			mistake: func(f *diagnosis.Facts) {
				ovn(f)
				f.Cluster.Services.Value[0].Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			},
			check: diagnosis.Features, status: diagnosis.Warning, what: "SessionAffinityUnsupported", do: "kubectl edit service",
		},
		"a wrong annotation": {
			mistake: func(f *diagnosis.Facts) { f.Cluster.Services.Value[0].Annotations[annotation.MaxMembers] = "many" },
			check:   diagnosis.Features, status: diagnosis.Error, what: "max-members", do: "kubectl edit service",
		},
		"health monitors in an old ovn": {
			mistake: func(f *diagnosis.Facts) { ovn(f); f.Config.Value.LoadBalancer.CreateMonitor = true },
			check:   diagnosis.Features, status: diagnosis.Warning, what: "[LoadBalancer] create-monitor needs Octavia API version", do: "Remove create-monitor",
		},
		"an Octavia without a version": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.APIVersion.Missing = diagnosis.Missing{Kind: diagnosis.Failed, Reason: "ask Octavia for its API versions: 404"}
			},
			check: diagnosis.Features, status: diagnosis.Error, what: "404", do: "openstack endpoint list",
		},
	})
}

func TestProviders(t *testing.T) {
	flavor := func(all ...diagnosis.Offer) func(*diagnosis.Facts) {
		return func(f *diagnosis.Facts) {
			f.Config.Value.LoadBalancer.FlavorID = "flavor-1"
			f.Cloud.Octavia.Flavors = diagnosis.Value(all)
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"an unknown provider": {
			mistake: func(f *diagnosis.Facts) { f.Cloud.Octavia.Providers.Value = []string{"ovn"} },
			check:   diagnosis.Providers, status: diagnosis.Error, what: "lb-provider is amphora, but the providers of the cloud are ovn", do: "openstack loadbalancer provider list",
		},
		"providers that may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Octavia.Providers.Missing = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "list the providers: 401"}
			},
			check: diagnosis.Providers, status: diagnosis.Unknown, what: "401", do: "openstack loadbalancer provider list",
		},
		"a flavor":          {mistake: flavor(diagnosis.Offer{ID: "flavor-1", Enabled: true}), check: diagnosis.Providers, status: diagnosis.OK},
		"an unknown flavor": {mistake: flavor(), check: diagnosis.Providers, status: diagnosis.Error, what: "flavor-id is flavor-1, but there is no such flavor", do: "openstack loadbalancer flavor list"},
		"a disabled flavor": {mistake: flavor(diagnosis.Offer{ID: "flavor-1"}), check: diagnosis.Providers, status: diagnosis.Error, what: "this flavor is disabled", do: "flavor set --enable flavor-1"},
		"an unknown zone of a Service": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Services.Value[0].Annotations[annotation.AvailabilityZone] = "az9"
				f.Cloud.Octavia.Zones = diagnosis.Value([]diagnosis.Offer{{Name: "az1", Enabled: true}})
			},
			check: diagnosis.Providers, status: diagnosis.Error, what: "availability-zone of Service default/web is az9", do: "openstack loadbalancer availabilityzone list",
		},
	})
}

func TestQuotas(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"no load balancers allowed": {mistake: func(f *diagnosis.Facts) { f.Cloud.Octavia.Quota.Value[quotaBalancer] = 0 }, check: diagnosis.Quotas, status: diagnosis.Error, what: "1 of 0 load balancers", do: "openstack loadbalancer quota set --loadbalancer"},
		"none left":                 {mistake: func(f *diagnosis.Facts) { f.Cloud.Octavia.Quota.Value[quotaPool] = 1 }, check: diagnosis.Quotas, status: diagnosis.Warning, what: "1 of 1 pools", do: "openstack loadbalancer quota set --pool"},
		"none left, and one needed": {
			mistake: func(f *diagnosis.Facts) { another(f, nil); f.Cloud.Octavia.Quota.Value[quotaListener] = 1 },
			check:   diagnosis.Quotas, status: diagnosis.Error, what: "1 of 1 listeners, and the Services without a load balancer need 1", do: "quota set --listener",
		},
		"too few floating IPs": {
			mistake: func(f *diagnosis.Facts) {
				another(f, nil)
				f.Cloud.Network.Quota.Value[quotaFloatingIP] = diagnosis.Quota{Limit: 2, Used: 2}
			},
			check: diagnosis.Quotas, status: diagnosis.Error, what: "2 of 2 floating IPs", do: "openstack quota set --floating-ips",
		},
		"an internal Service needs none": {
			mistake: func(f *diagnosis.Facts) {
				another(f, func(s *corev1.Service) {
					s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
				})
				f.Cloud.Network.Quota.Value[quotaFloatingIP] = diagnosis.Quota{Limit: 3, Used: 2}
			},
			check: diagnosis.Quotas, status: diagnosis.OK,
		},
		"no limit": {mistake: func(f *diagnosis.Facts) { f.Cloud.Octavia.Quota.Value[quotaPool] = -1 }, check: diagnosis.Quotas, status: diagnosis.OK},
		"quotas that may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Network.Quota.Missing = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "403"}
			},
			check: diagnosis.Quotas, status: diagnosis.Unknown, what: "403", do: "openstack quota show",
		},
	})
}

func TestLoadBalancersAndOrphans(t *testing.T) {
	balancer := func(edit func(*diagnosis.Balancer)) func(*diagnosis.Facts) {
		return func(f *diagnosis.Facts) { edit(&f.Cloud.Octavia.Balancers.Value[0]) }
	}
	requireDiagnoses(t, map[string]wrong{
		"in ERROR": {mistake: balancer(func(b *diagnosis.Balancer) { b.ProvisioningStatus = lb.Error }), check: diagnosis.LoadBalancers, status: diagnosis.Error, what: "(lb-1) is in ERROR", do: "openstack loadbalancer failover lb-1"},
		"PENDING for an hour": {
			mistake: balancer(func(b *diagnosis.Balancer) {
				b.ProvisioningStatus, b.UpdatedAt = "PENDING_UPDATE", "2026-11-26T11:00:00"
			}),
			check: diagnosis.LoadBalancers, status: diagnosis.Error, what: "PENDING_UPDATE for 1h0m0s", do: "openstack loadbalancer status show lb-1",
		},
		"PENDING for a minute": {mistake: balancer(func(b *diagnosis.Balancer) {
			b.ProvisioningStatus, b.UpdatedAt = "PENDING_UPDATE", "2026-11-26T11:59:00"
		}), check: diagnosis.LoadBalancers, status: diagnosis.OK},
		"with a listener that is PENDING": {
			mistake: balancer(func(b *diagnosis.Balancer) { b.Listeners[0].ProvisioningStatus = "PENDING_CREATE" }),
			check:   diagnosis.LoadBalancers, status: diagnosis.Warning, what: "its listener l is PENDING_CREATE", do: "provider-requires-serial-api-calls",
		},
		"of a cluster whose uid may not be read": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.UID.Missing = diagnosis.Missing{Kind: diagnosis.Denied, Reason: "namespaces is forbidden"}
			},
			check: diagnosis.LoadBalancers, status: diagnosis.Unknown, what: "namespaces is forbidden", do: "kubectl get namespace kube-system",
		},
		"of another cluster, in ERROR": {
			mistake: balancer(func(b *diagnosis.Balancer) {
				b.ProvisioningStatus, b.Tags = lb.Error, []string{lb.ClusterTag("another")}
			}),
			check: diagnosis.LoadBalancers, status: diagnosis.OK,
		},
		"a Service that is not programmed": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Programmed", Status: metav1.ConditionFalse, Reason: "QuotaExceeded", Message: "no more"}}
			},
			check: diagnosis.LoadBalancers, status: diagnosis.Warning, what: "Service default/web is not programmed, reason QuotaExceeded: no more", do: "kubectl describe service",
		},
		"a Service that nobody answers": {
			mistake: func(f *diagnosis.Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Serving", Status: metav1.ConditionFalse, Reason: "NoMembers", Message: "no node is available"}}
			},
			check: diagnosis.LoadBalancers, status: diagnosis.Warning, what: "Service default/web: nothing answers clients, reason NoMembers: no node is available", do: "kubectl describe service",
		},
		"an orphan": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Orphans = diagnosis.Value([]orphan.Object{{Kind: "floatingip", ID: "f", Name: "192.0.2.1", ServiceUID: "gone"}})
			},
			check: diagnosis.Orphans, status: diagnosis.Warning, what: "floatingip f (192.0.2.1) was created for Service uid gone", do: "--orphan-grace-period",
		},
		"a port that was left": {
			mistake: func(f *diagnosis.Facts) {
				f.Cloud.Network.Ports.Value = append(f.Cloud.Network.Ports.Value, diagnosis.Port{ID: "left", Name: "octavia-lb-lb-9", LoadBalancerID: "lb-9"})
			},
			check: diagnosis.Orphans, status: diagnosis.Warning, what: "port left (octavia-lb-lb-9) is the VIP of load balancer lb-9", do: "openstack port delete left",
		},
	})
}
