// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestConfiguration(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"a key without effect": {
			mistake: func(f *Facts) {
				f.Config.Value.Notices = []config.Notice{{File: "cloud.conf", Line: 3, Section: "BlockStorage", Key: "bs-version", Kind: config.NoEffect, Text: "It is for volumes.", Do: "Remove the key."}}
			},
			check: Configuration, status: Warning, what: "cloud.conf:3: [BlockStorage] bs-version", do: "Remove the key",
		},
		"a value that was perhaps not meant": {
			mistake: func(f *Facts) {
				f.Config.Value.Notices = []config.Notice{{File: "cloud.conf", Line: 3, Section: "Global", Key: "password", Kind: config.Doubtful, Text: "The value ends at the #.", Do: "Write the value in double quotes."}}
			},
			check: Configuration, status: Warning, what: "cloud.conf:3: [Global] password: The value ends at the #.", do: "Write the value in double quotes",
		},
		"load balancers are switched off": {mistake: set(func(l *config.LoadBalancer) { l.Enabled = false }), check: Configuration, status: Error, what: "enabled is false", do: "enabled = true"},
		"no verification of certificates": {mistake: func(f *Facts) { f.Config.Value.Global.TLSInsecure = true }, check: Configuration, status: Warning, what: "tls-insecure is true", do: "ca-file"},
	})
}

// from sets the origin of the configuration.
func from(origin config.Origin, name string, then func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		f.ConfigOrigin, f.ConfigPath = origin, name
		then(f)
	}
}

func TestLoginIsNamedByItsSource(t *testing.T) {
	unusable := func(f *Facts) {
		f.Config.Kind = Failed
		f.ConfigProblems = []Problem{{What: "secrets is forbidden", Do: "Correct the file."}}
	}
	refused := func(f *Facts) {
		f.Cloud.Login.Missing = Missing{Kind: Failed, Reason: "authenticate: 401"}
	}
	const secret, environment = "Secret system/conf", "$OS_CLOUD (mine)"
	skipped := []Check{Catalogue, Clock}
	all := slices.DeleteFunc(Names(), func(c Check) bool { return c == Kubernetes || c == OtherControllers })
	requireDiagnoses(t, map[string]wrong{
		"a file that cannot be used":   {mistake: unusable, check: Configuration, status: Error, what: "secrets is forbidden", do: "Correct the file.", why: "The controller does not start.", also: all},
		"a Secret that cannot be read": {mistake: from(config.FromSecret, secret, unusable), check: Configuration, status: Error, what: "secrets is forbidden", do: "set $OS_CLOUD", why: "The controller may work nevertheless: it has the file in its Pod", also: all},
		"an environment that cannot be used": {mistake: from(config.FromEnvironment, environment, unusable), check: Configuration, status: Error, what: "secrets is forbidden", do: "unset the variables OS_*",
			why: "The controller may work nevertheless: it has its own login", also: all},
		"a file that is refused":         {mistake: refused, check: Credentials, status: Error, what: "authenticate: 401", do: "Correct [Global] of cloud.conf.", why: "The controller cannot work with the cloud.", also: skipped},
		"a Secret that is refused":       {mistake: from(config.FromSecret, secret, refused), check: Credentials, status: Error, what: "authenticate: 401", do: "Correct [Global] of Secret system/conf.", why: "The controller has the same login", also: skipped},
		"an environment that is refused": {mistake: from(config.FromEnvironment, environment, refused), check: Credentials, status: Error, what: "authenticate: 401", do: "Correct $OS_CLOUD (mine), or unset the variables OS_*", why: "The controller has its own login", also: skipped},
		"a password of the environment":  {mistake: from(config.FromEnvironment, environment, login(func(l *Login) { l.Kind, l.Roles = config.ByPassword, []string{"reader"} })), check: Credentials, status: Unknown, what: "the controller's own login was not checked", do: "Unset the variables OS_*"},
		"a password of the Secret":       {mistake: from(config.FromSecret, secret, login(func(l *Login) { l.Kind = config.ByPassword })), check: Credentials, status: Warning, what: "password of a user", do: "credential create"},
		"an environment without a CA":    {mistake: from(config.FromEnvironment, environment, func(f *Facts) { f.Config.Value.Global.TLSInsecure = true }), check: Configuration, status: OK, also: []Check{Credentials}},
	})
}

func TestCredentials(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"a password": {mistake: login(func(l *Login) { l.Kind = config.ByPassword }), check: Credentials, status: Warning, what: "password of a user", do: "kube-octavia credential create"},
		"a token":    {mistake: login(func(l *Login) { l.Kind = config.ByToken }), check: Credentials, status: Warning, what: "has a token", do: "kube-octavia credential create"},
		"expiry in three days": {
			mistake: login(func(l *Login) { l.Expires = noon.Add(72 * time.Hour) }),
			check:   Credentials, status: Warning, what: "expire at 2026-11-29T12:00:00Z", do: "credential rotate",
		},
		"expired":                    {mistake: login(func(l *Login) { l.Expires = noon }), check: Credentials, status: Error, what: "expired at 2026-11-26", do: "credential rotate"},
		"an expiry in a year":        {mistake: login(func(l *Login) { l.Expires = noon.Add(8760 * time.Hour) }), check: Credentials, status: OK},
		"an expiry that is unknown":  {mistake: login(func(l *Login) { l.ExpiryUnknown = "403" }), check: Credentials, status: Unknown, what: "unknown when the credentials expire: 403", do: "openstack trust show"},
		"access rules that lack one": {mistake: login(func(l *Login) { l.MissingRules = []string{"GET /x"} }), check: Credentials, status: Error, what: "do not allow GET /x", do: "credential rotate"},
		"access rules without those for certificates, which nothing uses": {
			mistake: login(func(l *Login) { l.MissingOnRequest = grants("GET /x/acl") }), check: Credentials, status: OK,
		},
		"access rules without those for certificates": {
			mistake: func(f *Facts) {
				f.Cloud.Login.Value.MissingOnRequest = grants("GET /x/acl", "PUT /x/acl")
				f.Config.Value.LoadBalancer.TLSContainer = "http://barbican.test/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
			},
			check: Credentials, status: Warning, what: "do not allow GET /x/acl, PUT /x/acl, and [LoadBalancer] default-tls-container-ref needs a certificate", do: "credential rotate",
		},
		"access rules without those for certificates that Octavia's own user reads": {
			mistake: func(f *Facts) {
				f.Cloud.Login.Value.MissingOnRequest = grants("GET /x/acl")
				f.Config.Value.LoadBalancer.TLSContainer, f.Config.Value.LoadBalancer.ContainerStore = "web", "external"
			},
			check: Credentials, status: OK,
		},
		"access rules without those for security groups of VIPs, which nothing requests": {
			mistake: login(func(l *Login) { l.MissingOnRequest = vipGroups("GET /x/groups") }), check: Credentials, status: OK,
		},
		"access rules without those for security groups of VIPs": {
			mistake: func(f *Facts) {
				f.Cloud.APIVersion.Value.Minor = 29
				f.Cloud.Login.Value.MissingOnRequest = vipGroups("GET /x/groups")
				f.Cluster.Services.Value[0].Annotations = map[string]string{annotation.VIPSecurityGroups: "web"}
			},
			check: Credentials, status: Error, what: "do not allow GET /x/groups, which annotation kube-octavia.io/vip-security-groups of Service", do: "credential rotate",
		},
		"security groups that are left out, and not used": {
			mistake: login(func(l *Login) { l.Without = []calls.Feature{calls.FeatureSecurityGroups} }),
			check:   Credentials, status: OK,
		},
		"Nodes and routes that are left out, and not used": {
			mistake: func(f *Facts) {
				f.Controllers = Controllers{Service: true}
				f.Cloud.Login.Value.Without = calls.Additional()
			},
			check: Credentials, status: OK, also: []Check{Nodes, Routes},
		},
		"Nodes that are left out": {
			mistake: login(func(l *Login) { l.Without = calls.Additional()[:1] }),
			check:   Credentials, status: Error, what: "exclude nodes, but --controllers=node,node-lifecycle needs them", do: "credential rotate --with=nodes`",
		},
		"routes that are left out": {
			mistake: login(func(l *Login) { l.Without = calls.Additional()[1:] }),
			check:   Credentials, status: Error, what: "exclude routes, but --controllers=route needs them", do: "credential rotate --with=routes`",
		},
		"security groups that are left out": {
			mistake: func(f *Facts) {
				f.Cloud.Login.Value.Without = []calls.Feature{calls.FeatureSecurityGroups}
				f.Config.Value.LoadBalancer.ManageSecurityGroups = true
			},
			check: Credentials, status: Error, what: "exclude security groups, but [LoadBalancer] manage-security-groups needs them", do: "--without=security-groups", also: []Check{SecurityGroups},
		},
		"only the role reader": {mistake: login(func(l *Login) { l.Roles = []string{"reader"} }), check: Credentials, status: Error, what: "the only roles are reader", do: "openstack role add"},
		"load balancers that may not be read": {
			mistake: func(f *Facts) {
				f.Cloud.Octavia.Balancers = Read[[]Balancer]{Missing: Missing{Kind: Denied, Reason: "list loadbalancers: 403"}}
			},
			check: Credentials, status: Error, what: "list loadbalancers: 403", do: "openstack role add", also: []Check{Quotas, LoadBalancers},
		},
		"rejected": {
			mistake: func(f *Facts) {
				f.Cloud = Cloud{Login: Read[Login]{Missing: Missing{Kind: Failed, Reason: "authenticate at https://keystone: 401"}}}
				f.Cloud.APIVersion.Kind, f.Cloud.Octavia.Quota.Kind, f.Cloud.Octavia.Providers.Kind, f.Cloud.Octavia.Balancers.Kind = NotAsked, NotAsked, NotAsked, NotAsked
				f.Cloud.Network.Networks.Kind, f.Cloud.Network.Subnets.Kind, f.Cloud.Network.Ports.Kind, f.Cloud.Network.Quota.Kind, f.Cloud.Orphans.Kind = NotAsked, NotAsked, NotAsked, NotAsked, NotAsked
				f.Cloud.Servers.Kind, f.Cloud.Network.PodRouter.Kind = NotAsked, NotAsked
			},
			check: Credentials, status: Error, what: "authenticate at https://keystone: 401", do: "Correct [Global]",
			also: []Check{Catalogue, Clock, Features, Providers, Networks, Addresses, Quotas, SecurityGroups, Orphans, Nodes, Routes},
		},
	})
}

func TestCatalogueAndClock(t *testing.T) {
	noBarbican := login(func(l *Login) { l.Endpoints[2].URL = "" })
	requireDiagnoses(t, map[string]wrong{
		"no Barbican, which nothing uses": {mistake: noBarbican, check: Catalogue, status: OK},
		"no Barbican, which a Service uses": {
			mistake: func(f *Facts) {
				noBarbican(f)
				f.Cluster.Services.Value[0].Annotations[annotation.TLSSecret] = "cert"
			},
			check: Catalogue, status: Error, what: "tls-secret of Service default/web needs it", do: "container-store = external",
		},
		"no Barbican, which cloud.conf uses": {
			mistake: func(f *Facts) {
				noBarbican(f)
				f.Config.Value.LoadBalancer.TLSContainer = "https://barbican/v1/containers/" + server
			},
			check: Catalogue, status: Error, what: "[LoadBalancer] default-tls-container-ref needs it", do: "openstack catalog list",
		},
		"no Nova": {
			mistake: func(f *Facts) {
				f.Cloud.Login.Value.Endpoints[3].URL = ""
				f.Cloud.Servers.Missing = Missing{Kind: NotAsked, Reason: "no Nova"}
			},
			check: Catalogue, status: Error, what: "no compute service (Nova)", do: "remove node and node-lifecycle", also: []Check{Nodes},
		},
		"no Octavia": {
			mistake: func(f *Facts) {
				f.Cloud.Login = Read[Login]{Missing: Missing{Kind: Failed, Reason: "the service catalogue has no load-balancer service"}}
				f.Cloud.NoService = []Problem{{What: "the service catalogue has no load-balancer service", Do: "install Octavia, see openstack catalog list"}}
			},
			check: Catalogue, status: Error, what: "no load-balancer service", do: "openstack catalog list", also: []Check{Clock},
		},
		"several regions": {
			mistake: func(f *Facts) {
				f.Cloud.Login = Read[Login]{Missing: Missing{Kind: Failed, Reason: "the service catalogue has several regions (a, b)"}}
				f.Cloud.NoRegion = true
			},
			check: Catalogue, status: Error, what: "several regions (a, b)", do: "Set region in [Global]", also: []Check{Clock},
		},
		"a clock a minute ahead":   {mistake: login(func(l *Login) { l.LocalTime = noon.Add(time.Minute) }), check: Clock, status: Warning, what: "1m0s ahead", do: "NTP"},
		"a clock an hour behind":   {mistake: login(func(l *Login) { l.LocalTime = noon.Add(-time.Hour) }), check: Clock, status: Error, what: "1h0m0s behind", do: "NTP"},
		"a slow answer":            {mistake: login(func(l *Login) { l.LocalTime, l.Uncertainty = noon.Add(40*time.Second), 20*time.Second }), check: Clock, status: OK},
		"an answer without a Date": {mistake: login(func(l *Login) { l.CloudTime = time.Time{} }), check: Clock, status: Unknown, what: "no Date header", do: "date -u"},
	})
}

func TestFeatures(t *testing.T) {
	ovn := func(f *Facts) {
		f.Config.Value.LoadBalancer.Provider, f.Config.Value.LoadBalancer.Method = lb.ProviderOVN, ""
		f.Cloud.Octavia.Providers.Value = append(f.Cloud.Octavia.Providers.Value, lb.ProviderOVN)
		any := Rule{Direction: "ingress", EtherType: "IPv4"}
		f.Cloud.Network.Groups.Value[0].Rules = append(f.Cloud.Network.Groups.Value[0].Rules, any)
	}
	requireDiagnoses(t, map[string]wrong{
		"source ranges with provider ovn": {
			mistake: func(f *Facts) {
				ovn(f)
				f.Cluster.Services.Value[0].Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			},
			check: Features, status: Error, what: "Service default/web (Unsupported)", do: "kubectl edit service -n default web",
		},
		"session affinity with provider ovn": {
			mistake: func(f *Facts) {
				ovn(f)
				f.Cluster.Services.Value[0].Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			},
			check: Features, status: Warning, what: "SessionAffinityUnsupported", do: "kubectl edit service",
		},
		"a wrong annotation": {
			mistake: func(f *Facts) { f.Cluster.Services.Value[0].Annotations[annotation.MaxMembers] = "many" },
			check:   Features, status: Error, what: "max-members", do: "kubectl edit service",
		},
		"health monitors in an old ovn": {
			mistake: func(f *Facts) { ovn(f); f.Config.Value.LoadBalancer.CreateMonitor = true },
			check:   Features, status: Warning, what: "[LoadBalancer] create-monitor needs Octavia API version", do: "Remove create-monitor",
		},
		"an Octavia without a version": {
			mistake: func(f *Facts) {
				f.Cloud.APIVersion.Missing = Missing{Kind: Failed, Reason: "read the API versions of Octavia: 404"}
			},
			check: Features, status: Error, what: "404", do: "openstack catalog show load-balancer",
		},
	})
}

func TestProviders(t *testing.T) {
	flavor := func(all ...Offer) func(*Facts) {
		return func(f *Facts) {
			f.Config.Value.LoadBalancer.FlavorID = "flavor-1"
			f.Cloud.Octavia.Flavors = Value(all)
		}
	}
	requireDiagnoses(t, map[string]wrong{
		"an unknown provider": {
			mistake: func(f *Facts) { f.Cloud.Octavia.Providers.Value = []string{"ovn"} },
			check:   Providers, status: Error, what: "lb-provider is amphora, but the providers of the cloud are ovn", do: "openstack loadbalancer provider list",
		},
		"providers that may not be read": {
			mistake: func(f *Facts) {
				f.Cloud.Octavia.Providers.Missing = Missing{Kind: Denied, Reason: "list the providers: 401"}
			},
			check: Providers, status: Unknown, what: "401", do: "openstack loadbalancer provider list",
		},
		"a flavor":          {mistake: flavor(Offer{ID: "flavor-1", Enabled: true}), check: Providers, status: OK},
		"an unknown flavor": {mistake: flavor(), check: Providers, status: Error, what: "flavor-id is flavor-1, but there is no such flavor", do: "openstack loadbalancer flavor list"},
		"a disabled flavor": {mistake: flavor(Offer{ID: "flavor-1"}), check: Providers, status: Error, what: "this flavor is disabled", do: "flavor set --enable flavor-1"},
		"an unknown zone of a Service": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Annotations[annotation.AvailabilityZone] = "az9"
				f.Cloud.Octavia.Zones = Value([]Offer{{Name: "az1", Enabled: true}})
			},
			check: Providers, status: Error, what: "availability-zone of Service default/web is az9", do: "openstack loadbalancer availabilityzone list",
		},
	})
}

func TestQuotas(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"no load balancers allowed": {mistake: func(f *Facts) { f.Cloud.Octavia.Quota.Value[quotaBalancer] = 0 }, check: Quotas, status: Error, what: "1 of 0 load balancers", do: "openstack loadbalancer quota set --loadbalancer"},
		"none left":                 {mistake: func(f *Facts) { f.Cloud.Octavia.Quota.Value[quotaPool] = 1 }, check: Quotas, status: Warning, what: "1 of 1 pools", do: "openstack loadbalancer quota set --pool"},
		"none left, and one needed": {
			mistake: func(f *Facts) { another(f, nil); f.Cloud.Octavia.Quota.Value[quotaListener] = 1 },
			check:   Quotas, status: Error, what: "1 of 1 listeners, and the Services without a load balancer need 1", do: "quota set --listener",
		},
		"too few floating IPs": {
			mistake: func(f *Facts) {
				another(f, nil)
				f.Cloud.Network.Quota.Value[quotaFloatingIP] = Quota{Limit: 2, Used: 2}
			},
			check: Quotas, status: Error, what: "2 of 2 floating IPs", do: "openstack quota set --floating-ips",
		},
		"an internal Service needs none": {
			mistake: func(f *Facts) {
				another(f, func(s *corev1.Service) {
					s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
				})
				f.Cloud.Network.Quota.Value[quotaFloatingIP] = Quota{Limit: 3, Used: 2}
			},
			check: Quotas, status: OK,
		},
		"no limit": {mistake: func(f *Facts) { f.Cloud.Octavia.Quota.Value[quotaPool] = -1 }, check: Quotas, status: OK},
		"quotas that may not be read": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Quota.Missing = Missing{Kind: Denied, Reason: "403"}
			},
			check: Quotas, status: Unknown, what: "403", do: "openstack quota show",
		},
	})
}

func TestLoadBalancersAndOrphans(t *testing.T) {
	balancer := func(edit func(*Balancer)) func(*Facts) {
		return func(f *Facts) { edit(&f.Cloud.Octavia.Balancers.Value[0]) }
	}
	requireDiagnoses(t, map[string]wrong{
		"in ERROR": {mistake: balancer(func(b *Balancer) { b.ProvisioningStatus = lb.Error }), check: LoadBalancers, status: Error, what: "(lb-1) is in ERROR", do: "openstack loadbalancer failover lb-1"},
		"PENDING for an hour": {
			mistake: balancer(func(b *Balancer) {
				b.ProvisioningStatus, b.UpdatedAt = "PENDING_UPDATE", "2026-11-26T11:00:00"
			}),
			check: LoadBalancers, status: Error, what: "PENDING_UPDATE for 1h0m0s", do: "openstack loadbalancer status show lb-1",
		},
		"PENDING for a minute": {mistake: balancer(func(b *Balancer) {
			b.ProvisioningStatus, b.UpdatedAt = "PENDING_UPDATE", "2026-11-26T11:59:00"
		}), check: LoadBalancers, status: OK},
		"with a listener that is PENDING": {
			mistake: balancer(func(b *Balancer) { b.Listeners[0].ProvisioningStatus = "PENDING_CREATE" }),
			check:   LoadBalancers, status: Warning, what: "its listener l is PENDING_CREATE", do: "provider-requires-serial-api-calls",
		},
		"of a cluster whose uid may not be read": {
			mistake: func(f *Facts) {
				f.Cluster.UID.Missing = Missing{Kind: Denied, Reason: "namespaces is forbidden"}
			},
			check: LoadBalancers, status: Unknown, what: "namespaces is forbidden", do: "kubectl get namespace kube-system",
		},
		"of another cluster, in ERROR": {
			mistake: balancer(func(b *Balancer) {
				b.ProvisioningStatus, b.Tags = lb.Error, []string{lb.ClusterTag("another")}
			}),
			check: LoadBalancers, status: Error, what: "has the name of Service default/web, but belongs to cluster another", do: "kube-octavia cleanup --cloud-config=FILE --cluster-uid=another",
		},
		"of another cluster, with the name of a Service that waits": {
			mistake: func(f *Facts) {
				delete(f.Cluster.Services.Value[0].Annotations, annotation.LoadBalancerID)
				f.Cloud.Octavia.Balancers.Value[0].Tags = []string{lb.ClusterTag("another")}
			},
			check: LoadBalancers, status: Warning, what: "has the name of Service default/web, but belongs to cluster another", do: "If it exists, no action is needed",
		},
		"of another cluster, with the name of a Service that has its own": {
			mistake: func(f *Facts) {
				f.Cloud.Octavia.Balancers.Value = append(f.Cloud.Octavia.Balancers.Value, Balancer{LoadBalancer: lb.LoadBalancer{
					ID: "lb-2", Name: "kube_service_kubernetes_default_web", ProvisioningStatus: lb.Active, Tags: []string{lb.ClusterTag("another")}}})
			},
			check: LoadBalancers, status: OK,
		},
		"that the Service names with blanks": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Annotations[annotation.LoadBalancerID] = " lb-1\n"
			},
			check: LoadBalancers, status: OK,
		},
		"of another cluster, without the name of a Service": {
			mistake: func(f *Facts) {
				f.Cloud.Octavia.Balancers.Value = append(f.Cloud.Octavia.Balancers.Value, Balancer{LoadBalancer: lb.LoadBalancer{
					ID: "lb-2", Name: "kube_service_kubernetes_default_api", ProvisioningStatus: lb.Error, Tags: []string{lb.ClusterTag("another")}}})
			},
			check: LoadBalancers, status: OK,
		},
		"that serves no client": {
			mistake: balancer(func(b *Balancer) { b.OperatingStatus = "ERROR" }),
			check:   LoadBalancers, status: Warning, what: "has operating status ERROR", do: "kubectl get endpointslices",
		},
		"that the project does not have": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Annotations[annotation.LoadBalancerID] = "lb-elsewhere"
				f.Cloud.Octavia.Balancers.Value = nil
			},
			check: LoadBalancers, status: Error, what: "is that of no load balancer of project project", do: "openstack loadbalancer show lb-elsewhere",
			also: []Check{Orphans},
		},
		"of which the project lacks one": {
			mistake: func(f *Facts) {
				another(f, func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = "lb-gone" })
			},
			check: LoadBalancers, status: Warning, what: "it has 1 of the 2 load balancers that Services name", do: "If it was deleted, the controller creates another one",
		},
		"under another cluster name": {
			mistake: func(f *Facts) {
				f.Policy.ClusterName = "prod"
				delete(f.Cluster.Services.Value[0].Annotations, annotation.LoadBalancerID)
				f.Cloud.Octavia.Balancers.Value[0].Description = "Kubernetes external service default/web from cluster kubernetes"
			},
			check: LoadBalancers, status: Warning, what: "--cluster-name is prod, but the load balancers that exist for Service default/web have the cluster name kubernetes", do: "If they are those of this cluster, set --cluster-name=kubernetes",
		},
		"under another cluster name, of this cluster": {
			mistake: func(f *Facts) {
				f.Policy.ClusterName = "prod"
				delete(f.Cluster.Services.Value[0].Annotations, annotation.LoadBalancerID)
				b := &f.Cloud.Octavia.Balancers.Value[0]
				b.Description, b.Tags = "Kubernetes external service default/web from cluster kubernetes", []string{lb.ClusterTag("cluster")}
			},
			check: LoadBalancers, status: Error, what: "--cluster-name is prod", do: "They have the uid of this cluster: set --cluster-name=kubernetes, for the controller and for this command.",
		},
		"under another cluster name, of another cluster": {
			mistake: func(f *Facts) {
				f.Policy.ClusterName = "prod"
				delete(f.Cluster.Services.Value[0].Annotations, annotation.LoadBalancerID)
				b := &f.Cloud.Octavia.Balancers.Value[0]
				b.Description, b.Tags = "Kubernetes external service default/web from cluster kubernetes", []string{lb.ClusterTag("another")}
			},
			check: LoadBalancers, status: OK,
		},
		"Services of another class only": {
			mistake: func(f *Facts) { f.Policy.DefaultClass = false },
			check:   LoadBalancers, status: Warning, what: "no Service is handled; of type LoadBalancer, but not handled: Service default/web, because it has no spec.loadBalancerClass", do: "--handle-default-class=true",
		},
		"two Services that are not programmed for two reasons": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Programmed", Status: metav1.ConditionFalse, Reason: "Rejected", Message: "one"}}
				another(f, func(s *corev1.Service) {
					s.Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Programmed", Status: metav1.ConditionFalse, Reason: "Rejected", Message: "two"}}
				})
			},
			check: LoadBalancers, status: Warning, what: "Service default/new is not programmed, reason Rejected: two", do: "kubectl describe service",
		},
		"a Service that is not accepted": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{
					{Type: "kube-octavia.io/Accepted", Status: metav1.ConditionFalse, Reason: "InvalidAnnotation", Message: "annotation x: must be true or false"},
					{Type: "kube-octavia.io/Programmed", Status: metav1.ConditionFalse, Reason: "NotAccepted", Message: "see condition Accepted"}}
			},
			check: LoadBalancers, status: Warning, what: "reason InvalidAnnotation: annotation x: must be true or false", do: "Reason InvalidAnnotation",
		},
		"a Service that is not programmed": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Programmed", Status: metav1.ConditionFalse, Reason: "QuotaExceeded", Message: "no more"}}
			},
			check: LoadBalancers, status: Warning, what: "Service default/web is not programmed, reason QuotaExceeded: no more", do: "kubectl describe service",
		},
		"a Service that does not serve": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Value[0].Status.Conditions = []metav1.Condition{{Type: "kube-octavia.io/Serving", Status: metav1.ConditionFalse, Reason: "NoMembers", Message: "no node is available"}}
			},
			check: LoadBalancers, status: Warning, what: "Service default/web: nothing answers clients, reason NoMembers: no node is available", do: "kubectl describe service",
		},
		"an orphan": {
			mistake: func(f *Facts) {
				f.Cloud.Orphans = Value([]orphan.Object{{Kind: "floatingip", ID: "f", Name: "192.0.2.1", ServiceUID: "gone"}})
			},
			check: Orphans, status: Warning, what: "floatingip f (192.0.2.1) was created for Service uid gone", do: "--orphan-grace-period",
		},
		"a port that was left": {
			mistake: func(f *Facts) {
				f.Cloud.Network.Ports.Value = append(f.Cloud.Network.Ports.Value, Port{ID: "left", Name: "octavia-lb-lb-9", LoadBalancerID: "lb-9"})
			},
			check: Orphans, status: Warning, what: "port left (octavia-lb-lb-9) is the VIP of load balancer lb-9", do: "openstack port delete left",
		},
	})
}

func grants(denied ...string) map[calls.Feature][]string {
	return map[calls.Feature][]string{calls.FeatureCertificateGrants: denied}
}

func vipGroups(denied ...string) map[calls.Feature][]string {
	return map[calls.Feature][]string{calls.FeatureVIPGroups: denied}
}
