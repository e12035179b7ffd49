// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPublicSettingsAreAllButTheLoginAndComments(t *testing.T) {
	const text = `# password of the old cloud: hunter2
[Global]
auth-url = https://keystone.example.com/v3
user-id = u
password = hunter3
[Global "second"]
password = hunter4
[loadbalancer]
create-monitor ; hunter5
subnet-id = 6ba7b810-9dad-11d1-80b4-00c04fd430c8
floating-subnet = "a \"b\" \\d"
cascade-delete = false
[LoadBalancerClass "in \"x\""]
lb-method = SOURCE_IP
[Networking]
public-network-name = a
public-network-name = b
[BlockStorage]
bs-version = v3
`
	got, err := Public([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := `[LoadBalancer]
create-monitor
subnet-id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
floating-subnet = "a \"b\" \\d"
[LoadBalancerClass "in \"x\""]
lb-method = "SOURCE_IP"
[Networking]
public-network-name = "a"
public-network-name = "b"
[BlockStorage]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	whole, err := Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := WithGlobal([]byte(got), whole.Global)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse("cloud.conf", []byte(again))
	if d := cmp.Diff(whole, read, cmpopts.IgnoreFields(Config{}, "Notices"), cmp.Exporter(func(reflect.Type) bool { return true })); err != nil || d != "" {
		t.Errorf("%v, with the login again (-whole +read):\n%s", err, d)
	}
}

func FuzzPublicSettingsMeanTheSameAndShowNoSecret(f *testing.F) {
	const secret = "hunter2"
	f.Add("[LoadBalancer]\nsource-ranges = 10.0.0.0/8 # all\n")
	f.Add("[LoadBalancerClass \"a\"]\nnetwork-id=x\n[Route]\n")
	f.Fuzz(func(t *testing.T, rest string) {
		text := "[Global]\nauth-url = http://127.0.0.1:1/v3\nuser-id = u\npassword = " + secret + "\n" + rest
		whole, err := Parse("cloud.conf", []byte(text))
		if err != nil {
			return
		}
		shown, err := Public([]byte(text))
		if err != nil {
			t.Fatalf("a file that can be read has no public settings: %v", err)
		}
		if strings.Contains(shown, secret) && !strings.Contains(rest, secret) {
			t.Fatalf("a secret is shown:\n%s", shown)
		}
		again, err := WithGlobal([]byte(shown), whole.Global)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse("cloud.conf", []byte(again))
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		whole.Notices, read.Notices = nil, nil
		if d := cmp.Diff(whole, read, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("(-whole +read):\n%s\n%s", d, again)
		}
	})
}
