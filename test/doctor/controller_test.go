// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// ofController makes doctor run without --cloud-config: it finds the settings that the controller publishes, after an edit, and
// its Secret with cloud.conf.
func ofController(edit func(*setup, *installation.Settings)) func(*setup) {
	return func(s *setup) {
		s.finds = true
		public, err := config.Public([]byte(s.conf))
		s.must(err)
		settings := installation.Settings{
			Namespace: "kube-octavia", Secret: "cloud-conf", SecretKey: "cloud.conf", Region: s.cloud.login.Region, ProjectID: s.cloud.project, CloudConf: public,
			Flags: map[string]string{"cluster-name": "kubernetes", "load-balancer-class": "kube-octavia.io/octavia", "handle-default-class": "true", "adopt": "tag",
				"controllers": "service", "cluster-cidr": "", "leader-elect-resource-name": "kube-octavia"},
		}
		if edit != nil {
			edit(s, &settings)
		}
		lease(settings.Namespace, "kube-octavia", 0)(s)
		_, err = s.kube.CoreV1().ConfigMaps(settings.Namespace).Create(s.ctx(), settings.ConfigMap(), metav1.CreateOptions{})
		s.must(err)
		_, err = s.kube.CoreV1().Secrets(settings.Namespace).Create(s.ctx(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud-conf"},
			Data: map[string][]byte{"cloud.conf": []byte(s.conf)}}, metav1.CreateOptions{})
		s.must(err)
	}
}

// openrc sets the variables of an openrc file for the user of a project.
func openrc(user func(*cloud) openstacktest.Login, edit func(map[string]string)) func(*setup) {
	return ofController(func(s *setup, _ *installation.Settings) {
		login := user(s.cloud)
		variables := map[string]string{"OS_AUTH_URL": s.cloud.authURL, "OS_USERNAME": login.User, "OS_PASSWORD": login.Password, "OS_USER_DOMAIN_NAME": "Default",
			"OS_PROJECT_ID": login.ProjectID, "OS_REGION_NAME": login.Region}
		if edit != nil {
			edit(variables)
		}
		for name, value := range variables {
			s.t.Setenv(name, value)
		}
	})
}

func userOfTheProject(c *cloud) openstacktest.Login { return c.login }

func userOfAnotherProject(c *cloud) openstacktest.Login { return c.other }

var ofTheController = []situation{
	{name: "The user may not read the Secret", arise: func(s *setup) { ofController(nil)(s); mayNot("get", "secrets")(s) },
		check: doctor.Configuration, status: doctor.Error, what: `cannot get resource "secrets"`, do: "give this command another login: set $OS_CLOUD", lie: "cloud-conf.md"},
	{name: "The controller does not name its Secret", arise: ofController(func(_ *setup, settings *installation.Settings) { settings.Secret, settings.SecretKey = "", "" }),
		check: doctor.Configuration, status: doctor.Error, what: "--cloud-config-secret of the controller is not set", do: "set $OS_CLOUD", lie: "cloud-conf.md"},
	{name: "The Secret lacks the CA", arise: ofController(func(s *setup, _ *installation.Settings) { s.global("ca-file", "/etc/kube-octavia/ca.crt") }),
		check: doctor.Configuration, status: doctor.Error, what: "the Secret has no key ca.crt", do: "set $OS_CLOUD", lie: "cloud-conf.md"},
	{name: "The Secret has a wrong password", arise: func(s *setup) {
		byPassword(func(s *setup) { s.global("password", "wrong") })(s)
		ofController(nil)(s)
	}, check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "Check in [Global] of Secret kube-octavia/cloud-conf the user with its domain, and the password", lie: createCredential},
	{name: "The login is that of the environment", arise: openrc(userOfTheProject, nil),
		check: doctor.Credentials, status: doctor.Unknown, what: "the controller's own login was not checked", do: "Unset the variables OS_*", lie: createCredential},
	{name: "The environment has a wrong password", arise: openrc(userOfTheProject, func(v map[string]string) { v["OS_PASSWORD"] = "wrong" }),
		check: doctor.Credentials, status: doctor.Error, what: "requires authentication", do: "Check in the environment ($OS_AUTH_URL and others) the user", lie: "[Global]"},
	{name: "The environment has a wrong region", arise: openrc(userOfTheProject, func(v map[string]string) { v["OS_REGION_NAME"] = "nowhere" }),
		check: doctor.Configuration, status: doctor.Error, what: "the login of the environment is for region nowhere, and the controller works in region RegionOne", do: "unset the variables OS_*", lie: "[Global]"},
	{name: "The environment lacks the password", arise: openrc(userOfTheProject, func(v map[string]string) { delete(v, "OS_PASSWORD") }),
		check: doctor.Configuration, status: doctor.Error, what: "read the login of the environment", do: "unset the variables OS_*", lie: "cloud-conf.md"},
	{name: "The environment is for another project", arise: openrc(userOfAnotherProject, nil),
		check: doctor.Credentials, status: doctor.Error, what: "and the controller works in project", do: "nset the variables OS_*", lie: "[Global]"},
}

func TestTheSettingsOfTheControllerNeedNoFlag(t *testing.T) {
	s := newSetup(t, simulated(t))
	ofController(nil)(s)
	for _, r := range s.examine().Checks {
		if r.Status != doctor.OK && r.Check != doctor.Nodes && r.Check != doctor.Routes {
			t.Errorf("check %s is %s: %s %+v", r.Check, r.Status, r.SkippedBecause, r.Findings)
		}
		if seen := fmt.Sprint(r.Seen); r.Check == doctor.Configuration && !strings.Contains(seen, "it is in Secret kube-octavia/cloud-conf") {
			t.Errorf("check %s saw %s", r.Check, seen)
		}
	}
}
