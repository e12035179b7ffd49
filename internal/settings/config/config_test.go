// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestDefaultsApplyToMissingKeys(t *testing.T) {
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
		t.Run("["+key.Section+"] "+key.Name, func(t *testing.T) {
			if key.Use != Used {
				if key.field != nil {
					t.Errorf("[%s] %s is %s and has a field", key.Section, key.Name, key.Use)
				}
				return
			}
			if key.Section == vendorSection {
				return // see TestFeaturesThatAProviderLacksAreReadByName
			}
			if key.field == nil {
				t.Errorf("[%s] %s is used and has no field", key.Section, key.Name)
				return
			}
			text := samples[key.Kind]
			if key.Kind == ID || key.Name == "pod-network-ids" {
				text = idA
			}
			if slices.Contains([]string{"source-ranges", "metrics-allowed-cidrs", "address-sort-order"}, key.Name) {
				text = "10.0.0.0/8"
			}
			if len(key.allowed) > 0 {
				text = key.allowed[len(key.allowed)-1]
			}
			if strings.HasSuffix(key.Name, "-endpoint-override") {
				text = "https://a.example.com"
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
			if reflect.DeepEqual(before, after) {
				t.Errorf("[%s] %s = %s changes nothing", key.Section, key.Name, text)
			}
		})
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

var update = flag.Bool("update", false, "write the golden files anew")

func TestFilesOfThePreviousControllerAreRead(t *testing.T) {
	paths, err := filepath.Glob("testdata/accepted/*.conf")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for ends, text := range map[string][]byte{"unix": text, "windows": bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r"), nil), []byte("\n"), []byte("\r\n"))} {
				t.Run("line ends of "+ends, func(t *testing.T) {
					c, err := readAccepted(name, text)
					if err != nil {
						t.Fatalf("line ends of %s: %v", ends, err)
					}
					var notices strings.Builder
					for _, n := range c.Notices {
						notices.WriteString(n.String() + "\n")
					}
					golden(t, strings.TrimSuffix(path, ".conf")+".notices", notices.String())
					golden(t, strings.TrimSuffix(path, ".conf")+".read", settingsOf(t, c))
				})
			}
		})
	}
}

// readAccepted reads a file of the corpus, and with use-clouds the clouds.yaml beside it.
func readAccepted(name string, text []byte) (Config, error) {
	f := readFile(name, text)
	if f.config.Global.UseClouds {
		f.config.Global.CloudsFile = filepath.Join("testdata", "accepted", strings.TrimSuffix(name, ".conf")+".clouds.yaml")
		if err := f.completeFromClouds(); err != nil {
			return Config{}, err
		}
	}
	return f.finish(false)
}

// settingsOf lists the keys that are not the default, with their values. The values of the corpus are invented, so
// secrets are shown.
func settingsOf(t *testing.T, c Config) string {
	t.Helper()
	var defaults Config
	var b strings.Builder
	for _, key := range table {
		if key.field == nil || key.Section == classSection {
			continue
		}
		if err := key.apply(&defaults, key.Default); err != nil {
			t.Fatal(err)
		}
		if !key.equal(&c, &defaults) {
			fmt.Fprintf(&b, "[%s] %s = %v\n", key.Section, key.Name, shown(key.field(&c)))
		}
	}
	for _, name := range c.LoadBalancer.ClassNames() {
		class := Config{LoadBalancer: c.LoadBalancer.Classes[name]}
		for _, key := range classKeys {
			if !key.equal(&c, &class) {
				fmt.Fprintf(&b, "[%s %q] %s = %v\n", key.Section, name, key.Name, shown(key.field(&class)))
			}
		}
	}
	return b.String()
}

// shown returns what a field points to.
func shown(field any) any {
	if secret, ok := field.(*Secret); ok {
		return secret.Reveal()
	}
	return reflect.ValueOf(field).Elem().Interface()
}

// golden compares text with a file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestValuesOfThePreviousControllersFilesMeanTheSame(t *testing.T) {
	read := func(name string) Config {
		text, err := os.ReadFile(filepath.Join("testdata", "accepted", name))
		if err != nil {
			t.Fatal(err)
		}
		return mustParse(t, string(text))
	}
	for what, pair := range map[string][2]any{
		"a password with comment signs":      {Secret("s3cret;#x"), read("minimal.conf").Global.Password},
		"a continued password":               {Secret("one two"), read("windows.conf").Global.Password},
		"a password with quotes":             {Secret(`it's "quoted" \ here`), read("trust.conf").Global.TrusteePassword},
		"a secret that Helm quotes":          {Secret(`with "quotes" and \`), read("helm-chart.conf").Global.ApplicationCredentialSecret},
		"the endpoint type":                  {"internal", read("chart.conf").Global.EndpointType},
		"the last of two values":             {5 * time.Second, read("chart.conf").LoadBalancer.MonitorTimeout},
		"a hexadecimal number":               {2, read("chart.conf").LoadBalancer.MonitorMaxRetries},
		"a capital boolean":                  {true, read("kubespray.conf").LoadBalancer.CreateMonitor},
		"a blank before =":                   {"default", read("kubespray.conf").Global.DomainID},
		"an empty number":                    {1, read("kubespray-application-credential.conf").LoadBalancer.MonitorMaxRetries},
		"an id in capitals without hyphens":  {"87f3e5a7-9c06-4b6d-8f9b-3c2ac7a7a5ef", read("kubespray-in-tree.conf").LoadBalancer.SubnetID},
		"a trust of the user":                {ByTrust, read("magnum.conf").Global.Authentication()},
		"an empty password and a credential": {ByApplicationCredential, read("kops.conf").Global.Authentication()},
		"a comment without a blank":          {Secret("abc"), read("unquoted.conf").Global.Password},
	} {
		t.Run(what, func(t *testing.T) {
			if pair[0] != pair[1] {
				t.Errorf("want %v, got %v", pair[0], pair[1])
			}
		})
	}
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
	want := "cloud.conf:7: [LoadBalancer] cascade-delete: Delete a load balancer and its children in one call. kube-octavia always does so. Remove the key, unless another program reads the file."
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

func TestEmptyValueIsLikeAMissingKey(t *testing.T) {
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

func TestOnlyTheWordTrueSwitchesVerificationOff(t *testing.T) {
	for text, doubtful := range map[string]bool{"yes": true, "True": true, "1": true, "'true'": true, "False": false, "no": false, "0": false, "true": false} {
		t.Run(text, func(t *testing.T) {
			c := mustParse(t, credentials+"tls-insecure = "+text+"\n")
			if c.Global.TLSInsecure != (text == "true") {
				t.Errorf("%v", c.Global.TLSInsecure)
			}
			if noticed := len(c.Notices) > 0; noticed != doubtful {
				t.Errorf("notices %v", c.Notices)
			}
		})
	}
}

func TestZeroOfAMonitorThatIsNotCreatedIsIgnored(t *testing.T) {
	for name, text := range map[string]string{
		"no health monitor":           "monitor-delay = 0\nmonitor-timeout = 0s\nmonitor-max-retries = 0\nmonitor-max-retries-down = 0x0\ncreate-monitor = false\n",
		"a health monitor of a class": "monitor-delay = 0\nmonitor-timeout = 0\nmonitor-max-retries = 0\nmonitor-max-retries-down = 0\n[LoadBalancerClass \"gold\"]\ncreate-monitor = true\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := mustParse(t, credentials+"[LoadBalancer]\n"+text)
			l := c.LoadBalancer
			if l.MonitorDelay != 5*time.Second || l.MonitorTimeout != 3*time.Second || l.MonitorMaxRetries != 1 || l.MonitorMaxRetriesDown != 3 {
				t.Errorf("%s: %+v", text, l)
			}
			if diff := cmp.Diff([]string{"[LoadBalancer] monitor-delay 6", "[LoadBalancer] monitor-timeout 7", "[LoadBalancer] monitor-max-retries 8", "[LoadBalancer] monitor-max-retries-down 9"}, summaries(c.Notices)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultForAZeroFitsTheOtherTimeOfAMonitor(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want [2]time.Duration
	}{
		"no timeout":         {"monitor-delay = 1s\nmonitor-timeout = 0\n", [2]time.Duration{time.Second, time.Second}},
		"no delay":           {"monitor-delay = 0\nmonitor-timeout = 9s\n", [2]time.Duration{9 * time.Second, 9 * time.Second}},
		"last of two delays": {"monitor-delay = 0\nmonitor-delay = 7s\nmonitor-timeout = 6s\n", [2]time.Duration{7 * time.Second, 6 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustParse(t, credentials+"[LoadBalancer]\n"+test.text).LoadBalancer
			if got := [2]time.Duration{l.MonitorDelay, l.MonitorTimeout}; got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestARequestTimeoutOfZeroIsTheDefault(t *testing.T) {
	c := mustParse(t, credentials+"[Metadata]\nrequest-timeout = 0\n")
	if c.RequestTimeout != time.Minute || len(c.Notices) != 1 || c.Notices[0].Kind != Doubtful {
		t.Errorf("%v, %v", c.RequestTimeout, c.Notices)
	}
}

func TestDoubtsAboutTheLoginAreThoseOfItsValues(t *testing.T) {
	c := mustParse(t, "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword = 'hunter2'\nsecret-name = x\ntls-insecure = yes\nregion = 'r'\n[LoadBalancer]\nlb-provider = 'ovn'\n")
	want := []Notice{{File: "cloud.conf", Line: 4, Section: "Global", Key: "password", Kind: Doubtful,
		Text: "The value begins and ends with a single quote, which is part of it.", Do: "Write double quotes instead, or no quotes."}}
	if diff := cmp.Diff(want, c.LoginDoubts()); diff != "" {
		t.Error(diff)
	}
}

func TestAnEndpointMayNameTheProject(t *testing.T) {
	for _, placeholder := range []string{"%(project_id)s", "%(tenant_id)s"} {
		t.Run(placeholder, func(t *testing.T) {
			want := "https://network.example.com/v2/" + placeholder
			if got := mustParse(t, credentials+"network-endpoint-override = "+want+"\n").Global.NetworkEndpoint; got != want {
				t.Errorf("endpoint %q, want %q", got, want)
			}
		})
	}
}
