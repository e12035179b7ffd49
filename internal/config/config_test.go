// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// credentials is a [Global] that is complete, on four lines.
const credentials = "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword = hunter2\n"

// idA and idB are ids of objects in the cloud.
const idA, idB = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", "00000000-0c5d-4e8e-9d43-7b1c2a6f5e04"

func mustParse(t *testing.T, text string) Config {
	t.Helper()
	c, err := Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

func TestDefaultsHoldWhereTheFileIsSilent(t *testing.T) {
	want := Config{
		Global: Global{
			AuthURL: "https://keystone.example.com/v3", UserID: "u", Password: "hunter2", EndpointType: "public",
		},
		LoadBalancer: LoadBalancer{
			Enabled: true, Provider: "amphora", Method: "ROUND_ROBIN", MaxShared: 2, SharedScope: ShareInNamespace,
			TargetType: NodeTargets, MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
			ContainerStore: "barbican", IngressHostnameSuffix: "nip.io", SecurityGroupMode: ClusterSecurityGroup,
		},
		RequestTimeout: time.Minute,
	}
	if diff := cmp.Diff(want, mustParse(t, credentials)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryUsedKeyReachesItsField(t *testing.T) {
	samples := map[Kind]string{String: "x", Password: "x", Bool: "true", TrueFalse: "true", Int: "7", Duration: "42s"}
	for _, key := range Keys() {
		if key.Use != Used {
			if key.field != nil {
				t.Errorf("[%s] %s is %s and has a field", key.Section, key.Name, key.Use)
			}
			continue
		}
		if key.Section == vendorSection {
			continue // see TestWhatAProviderLacksIsReadByItsName
		}
		if key.field == nil {
			t.Errorf("[%s] %s is used and has no field", key.Section, key.Name)
			continue
		}
		text := samples[key.Kind]
		if key.Kind == ID || key.Name == "pod-network-ids" {
			text = idA
		}
		if key.Name == "source-ranges" || key.Name == "metrics-allowed-cidrs" {
			text = "10.0.0.0/8"
		}
		if len(key.allowed) > 0 {
			text = key.allowed[len(key.allowed)-1]
		}
		if key.isDefault(text) {
			text = "false"
		}
		var before, after Config
		if err := key.apply(&before, key.Default); err != nil {
			t.Errorf("[%s] %s default: %v", key.Section, key.Name, err)
		}
		if err := key.apply(&after, text); err != nil {
			t.Errorf("[%s] %s = %s: %v", key.Section, key.Name, text, err)
		}
		if cmp.Equal(before, after) {
			t.Errorf("[%s] %s = %s changes nothing", key.Section, key.Name, text)
		}
	}
}

func TestNoTwoKeysShareAFieldOrAName(t *testing.T) {
	names, fields := map[string]bool{}, map[any]string{}
	var c Config
	for _, key := range Keys() {
		name := strings.ToLower(key.Section + "." + key.Name)
		if names[name] {
			t.Errorf("%s stands twice", name)
		}
		names[name] = true
		if key.Doc == "" {
			t.Errorf("%s has no doc", name)
		}
		if _, ok := findSection(key.Section); !ok {
			t.Errorf("%s is in no section of the list", name)
		}
		if key.field == nil || key.Section == classSection {
			continue // a class is a [LoadBalancer] of its own
		}
		if other := fields[key.field(&c)]; other != "" {
			t.Errorf("%s and %s share a field", name, other)
		}
		fields[key.field(&c)] = name
	}
}

func TestFilesOfThePreviousControllerAreRead(t *testing.T) {
	tests := map[string]struct {
		want    Config
		notices []string
	}{
		"minimal.conf": {want: Config{Global: Global{Username: "k8s", Password: "s3cret;#x", DomainID: "default", Region: "RegionOne"}}},
		"windows.conf": {want: Config{Global: Global{Username: "k8s", Password: "one two"}}},
		"trust.conf":   {want: Config{Global: Global{TrusteePassword: `it's "quoted" \ here`}}},
		"chart.conf": {
			want: Config{
				Global:       Global{EndpointType: "internal"},
				LoadBalancer: LoadBalancer{MonitorTimeout: 5 * time.Second, MonitorMaxRetries: 2},
			},
			notices: []string{
				"[Networking] public-network-name 11", "[Networking] public-network-name 12", "[Networking] internal-network-name 13",
				"[Networking] ipv6-support-disabled 14",
				"[BlockStorage] bs-version 36", "[BlockStorage] ignore-volume-az 37", "[Metadata] search-order 40", "[Route] router-id 44",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Load(filepath.Join("testdata", "accepted", name))
			if err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2]any{
				"password":         {test.want.Global.Password, got.Global.Password},
				"trustee password": {test.want.Global.TrusteePassword, got.Global.TrusteePassword},
				"username":         {test.want.Global.Username, got.Global.Username},
				"domain":           {test.want.Global.DomainID, got.Global.DomainID},
				"endpoint type":    {cmpOr(test.want.Global.EndpointType, "public"), got.Global.EndpointType},
				"monitor timeout":  {cmpOr(test.want.LoadBalancer.MonitorTimeout, 3*time.Second), got.LoadBalancer.MonitorTimeout},
				"monitor retries":  {cmpOr(test.want.LoadBalancer.MonitorMaxRetries, 1), got.LoadBalancer.MonitorMaxRetries},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: want %v, got %v", what, pair[0], pair[1])
				}
			}
			if diff := cmp.Diff(test.notices, summaries(got.Notices), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func cmpOr[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

func summaries(notices []Notice) []string {
	var lines []string
	for _, n := range notices {
		lines = append(lines, strings.TrimSuffix("["+n.Section+"] "+n.Key+" "+itoa(n.Line), " 0"))
	}
	return lines
}

func TestANoticeNamesFileLineAndKey(t *testing.T) {
	c := mustParse(t, credentials+"\n[LoadBalancer]\ncascade-delete = false\n")
	want := "cloud.conf:7: [LoadBalancer] cascade-delete: Delete a load balancer and its children in one call. kube-octavia always does so."
	if len(c.Notices) != 1 || c.Notices[0].String() != want {
		t.Errorf("want %q, got %v", want, c.Notices)
	}
}

func TestASettingThatEqualsItsDefaultGivesNoNotice(t *testing.T) {
	c := mustParse(t, credentials+"[LoadBalancer]\nmax-shared-lb = 0x2\nmanage-security-groups = OFF\nflavor-id =\ndefault-tls-container-ref =\n")
	if len(c.Notices) != 0 {
		t.Errorf("got %v", c.Notices)
	}
}

func TestAnEmptyValueIsAsGoodAsNone(t *testing.T) {
	c := mustParse(t, credentials+"os-endpoint-type =\ntls-insecure =\n[LoadBalancer]\nlb-method = \"\"\nsubnet-id =\n")
	if c.Global.EndpointType != "public" || c.LoadBalancer.Method != "ROUND_ROBIN" || c.Global.TLSInsecure {
		t.Errorf("got %+v", c)
	}
}

func TestTheLastAssignmentOfAKeyCounts(t *testing.T) {
	c := mustParse(t, credentials+"[LoadBalancer]\nsubnet-id = "+idA+"\n[Metadata]\n[loadbalancer]\nSUBNET-ID = "+idB+"\n")
	if c.LoadBalancer.SubnetID != idB {
		t.Errorf("got %q", c.LoadBalancer.SubnetID)
	}
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "cloud.conf"))
	if !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("got %v", err)
	}
}
