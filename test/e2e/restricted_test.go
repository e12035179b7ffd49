// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// restrictedConf returns a cloud.conf with an application credential that may make the calls of the
// table and no others. So all tests prove that the table is complete.
func restrictedConf(t testing.TB, c *cloudsim.Cloud, name string) string {
	t.Helper()
	conf, err := config.Parse("cloud.conf", []byte(c.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	made, err := session.CreateApplicationCredential(t.Context(), openstack.ApplicationCredential{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.WithGlobal([]byte(c.CloudConf()), config.Global{AuthURL: conf.Global.AuthURL, Region: conf.Global.Region,
		EndpointType: conf.Global.EndpointType, ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
	if err != nil {
		t.Fatal(err)
	}
	c.Recorder().Reset()
	return text
}
