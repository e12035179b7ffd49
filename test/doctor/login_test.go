// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// byPassword makes cloud.conf one with a user and a password.
func byPassword(edit func(*setup)) func(*setup) {
	return func(s *setup) {
		s.conf = s.cloud.conf()
		edit(s)
	}
}

// asNew makes cloud.conf one of a new user with roles in the project.
func asNew(roles ...string) func(*setup) {
	return byPassword(func(s *setup) {
		id := s.addUser("new", "password")
		s.assign(id, s.cloud.project, roles...)
		s.global("username", "new")
		s.global("password", "password")
	})
}

// byCredentialOf makes cloud.conf one with an application credential that `kube-octavia credential` makes.
func byCredentialOf(wish func(*setup) openstack.ApplicationCredential) func(*setup) {
	return func(s *setup) {
		conf, err := config.Parse("cloud.conf", []byte(s.cloud.conf()))
		s.must(err)
		session, err := openstack.Connect(s.ctx(), openstack.Options{Config: conf.Global})
		s.must(err)
		defer session.Close()
		made, err := session.CreateApplicationCredential(s.ctx(), wish(s))
		s.must(err)
		s.finally(func() { s.deleteApplicationCredential(made.ID) })
		s.conf = withCredential(s.cloud.conf(), made.ID, made.Secret.Reveal())
	}
}

// rules are access rules of an application credential, as "network GET /v2.0/ports".
func rules(all ...string) func(*setup) {
	return func(s *setup) {
		list := []any{}
		for _, rule := range all {
			part := strings.Fields(rule)
			list = append(list, map[string]any{"service": part[0], "method": part[1], "path": part[2]})
		}
		s.conf = s.withApplicationCredential(map[string]any{"access_rules": list})
	}
}

// endToken makes cloud.conf one with a token that is no longer valid.
func endToken(s *setup) {
	client, err := openstacktest.Connect(s.ctx(), s.cloud.login)
	s.must(err)
	token := client.Token()
	request, err := http.NewRequestWithContext(s.ctx(), http.MethodDelete, s.cloud.authURL+"/auth/tokens", nil)
	s.must(err)
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("X-Subject-Token", token)
	answer, err := openstacktest.Send(request)
	s.must(err)
	if answer.Status != http.StatusNoContent {
		s.t.Fatalf("revoke a token: %d: %s", answer.Status, answer.Body)
	}
	s.conf = fmt.Sprintf("[Global]\nauth-url=%q\ntoken=%q\ntenant-id=%q\nregion=%q\n", s.cloud.authURL, token, s.cloud.project, cloudsim.Region)
}

var (
	// ofReaders are checks that cannot be made without the right to read load balancers.
	ofReaders = []doctor.Check{doctor.Providers, doctor.Quotas, doctor.LoadBalancers, doctor.Orphans}
	// read are the calls to read that access rules of a test allow.
	read = []string{
		"network GET /v2.0/networks", "network GET /v2.0/subnets", "network GET /v2.0/ports", "network GET /v2.0/routers", "network GET /v2.0/floatingips",
		"network GET /v2.0/security-groups", "network GET /v2.0/quotas/**", "network GET /v2.0/network-ip-availabilities", "load-balancer GET /", "load-balancer GET /v2.0/lbaas/**",
	}
)

// ofAnOlderVersion returns the access rules of a version whose credentials let no Octavia read certificates, and allow
// no security groups of VIPs.
func ofAnOlderVersion() (all []string) {
	for _, rule := range accessrule.Rules(nil) {
		if !strings.HasSuffix(rule.Path, "/acl") && (rule.Method != http.MethodGet || rule.Path != "/v2.0/security-groups/*") {
			all = append(all, rule.Service+" "+rule.Method+" "+rule.Path)
		}
	}
	return all
}

var ofTheLogin = []situation{
	{name: "The password is wrong", arise: byPassword(func(s *setup) { s.global("password", "wrong") }),
		check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "Check in [Global] the user with its domain, and the password", lie: createCredential},
	{name: "The user does not exist", arise: byPassword(func(s *setup) { s.global("username", "nobody") }),
		check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "without the project, too", lie: createCredential},
	{name: "The domain of the user does not exist", arise: byPassword(func(s *setup) { s.global("domain-name", "nowhere") }),
		check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "the user with its domain", lie: createCredential},
	{name: "The project does not exist", arise: byPassword(func(s *setup) { s.global("tenant-id", "00000000000000000000000000000000") }),
		check: doctor.Credentials, status: doctor.Error, what: "Keystone accepts user and password, but not project", do: "Set tenant-id in [Global] to a project in which the user has a role", lie: "the password"},
	{name: "The user has no role in the project", arise: byPassword(func(s *setup) { s.global("tenant-id", s.cloud.other.ProjectID) }),
		check: doctor.Credentials, status: doctor.Error, what: "or the user has no role in it", do: "openstack role add", lie: "the password"},
	{name: "The user has no role in any project", arise: asNew(),
		check: doctor.Credentials, status: doctor.Error, what: "Keystone accepts user and password", do: "no role in any project", lie: "the password"},
	{name: "The application credential does not exist", arise: func(s *setup) { s.global("application-credential-id", "00000000000000000000000000000000") },
		check: doctor.Credentials, status: doctor.Error, what: "Could not find Application Credential", do: createCredential},
	{name: "The secret of the application credential is wrong", arise: func(s *setup) { s.global("application-credential-secret", "wrong") },
		check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "Check application-credential-id and application-credential-secret"},
	{name: "The token has expired", arise: endToken,
		check: doctor.Credentials, status: doctor.Error, what: "Failed to validate token", do: "no token can be renewed"},
	{name: "The trust does not exist", arise: func(s *setup) {
		s.conf = fmt.Sprintf("[Global]\nauth-url=%q\ntrust-id=00000000000000000000000000000000\ntrustee-id=%q\ntrustee-password=%q\nregion=%q\n", s.cloud.authURL, s.cloud.userID, s.cloud.login.Password, cloudsim.Region)
	}, check: doctor.Credentials, status: doctor.Error, what: "401", do: "Check trust-id", lie: createCredential},
	{name: "cloud.conf has a password", arise: byPassword(func(*setup) {}),
		check: doctor.Credentials, status: doctor.Warning, what: "password of a user", do: createCredential},
	{name: "The application credential expires soon", arise: byCredentialOf(func(*setup) openstack.ApplicationCredential {
		return openstack.ApplicationCredential{Name: "soon", Expires: time.Now().Add(time.Hour)}
	}), check: doctor.Credentials, status: doctor.Warning, what: "the credentials expire at", do: "kube-octavia credential rotate", also: []doctor.Check{doctor.Quotas, doctor.Networks}},
	{name: "Access rules allow only what the controller does", arise: byCredentialOf(func(*setup) openstack.ApplicationCredential {
		return openstack.ApplicationCredential{Name: "restricted"}
	}), check: doctor.Quotas, status: doctor.Unknown, what: "read the quota of Neutron: 401", do: "openstack quota show", lie: createCredential, also: []doctor.Check{doctor.Networks}},
	{name: "Access rules of an older version, and a certificate", arise: func(s *setup) {
		rules(ofAnOlderVersion()...)(s)
		s.change(s.web, func(web *corev1.Service) { web.Annotations[annotation.TLSSecret] = "certificate" })
	}, check: doctor.Credentials, status: doctor.Warning, what: "do not allow GET /v1/secrets/*/acl of key-manager", do: "kube-octavia credential rotate", lie: "rejects them",
		also: []doctor.Check{doctor.Quotas, doctor.Networks}},
	{name: "Access rules of an older version", arise: rules(ofAnOlderVersion()...),
		check: doctor.Quotas, status: doctor.Unknown, what: "read the quota of Neutron: 401", do: "openstack quota show", lie: createCredential, also: []doctor.Check{doctor.Networks}},
	{name: "Access rules allow only to read", arise: rules(read...),
		check: doctor.Credentials, status: doctor.Error, what: "do not allow", do: "kube-octavia credential rotate"},
	{name: "Access rules do not allow to list load balancers", arise: rules(read[:len(read)-1]...),
		check: doctor.Credentials, status: doctor.Error, what: "list loadbalancers: 401", do: "Create another application credential with `kube-octavia credential create`", also: ofReaders},
	{name: "The only role is reader", arise: asNew("reader"),
		check: doctor.Credentials, status: doctor.Error, what: "the only roles are reader", do: "openstack role add", also: ofReaders},
	{name: "No role for Octavia", arise: asNew("creator"),
		check: doctor.Credentials, status: doctor.Error, what: "list loadbalancers: 403: Policy does not allow", do: "load-balancer_member", lie: "does not need",
		also: append([]doctor.Check{doctor.Networks, doctor.SecurityGroups}, ofReaders...)}, // Neutron of 2025.1 does not let it read either
	{name: "The clock of this machine is behind", arise: func(s *setup) {
		s.throughProxy(func(answer *http.Response, _ map[string]any) {
			answer.Header.Set("Date", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
		})
	}, check: doctor.Clock, status: doctor.Error, what: "behind that of Keystone", do: "chronyc tracking"},
}
