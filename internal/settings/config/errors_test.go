// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestProblemsNameFileLineAndSolution(t *testing.T) {
	const auth = "[Global]\nauth-url = https://keystone.example.com/v3\n"
	tests := map[string]struct{ text, want string }{
		"a key with a slip": {
			credentials + "[LoadBalancer]\nflaoting-network-id = x\n",
			`cloud.conf:6: [LoadBalancer] unknown key "flaoting-network-id"; did you mean "floating-network-id"?`,
		},
		"a key like none": {
			credentials + "zzz = x\n",
			`cloud.conf:5: [Global] unknown key "zzz"; all keys of [Global] are listed in docs/reference/cloud-conf.md`,
		},
		"a key of another section": {
			credentials + "lb-method = ROUND_ROBIN\n",
			`cloud.conf:5: [Global] unknown key "lb-method"; it belongs in section [LoadBalancer]`,
		},
		"a section with a slip": {
			credentials + "[LoadBalencer]\nsubnet-id = x\n",
			`cloud.conf:5: unknown section [LoadBalencer]; did you mean [LoadBalancer]?`,
		},
		"a section that takes no name": {
			credentials + `[LoadBalancer "x"]` + "\n",
			`cloud.conf:5: section [LoadBalancer] has no name: write [LoadBalancer], not [LoadBalancer "x"]`,
		},
		"a class without a name": {
			credentials + "[LoadBalancerClass]\n",
			`cloud.conf:5: section [LoadBalancerClass] needs a name: write [LoadBalancerClass "name"]`,
		},
		"a bad boolean": {
			credentials + "[LoadBalancer]\ncreate-monitor = perhaps\n",
			`cloud.conf:6: [LoadBalancer] create-monitor: "perhaps" is not a boolean: write true or false`,
		},
		"a duration without a unit": {
			credentials + "[LoadBalancer]\nmonitor-delay = 60\n",
			`cloud.conf:6: [LoadBalancer] monitor-delay: "60" is not a duration: write a number with its unit, such as 5s or 1m30s`,
		},
		"a part of a second": {
			credentials + "[LoadBalancer]\nmonitor-delay = 1500ms\nmonitor-timeout = 1s\n",
			`cloud.conf:6: [LoadBalancer] monitor-delay: "1500ms" must be whole seconds, at least 1s`,
		},
		"a bad integer": {
			credentials + "[LoadBalancer]\nmax-shared-lb = two\n",
			`cloud.conf:6: [LoadBalancer] max-shared-lb: "two" is not an integer`,
		},
		"too many retries": {
			credentials + "[LoadBalancer]\nmonitor-max-retries = 11\n",
			`cloud.conf:6: [LoadBalancer] monitor-max-retries: "11" must be between 1 and 10`,
		},
		"a negative number of members": {
			credentials + "[LoadBalancer]\nmax-members = -1\n",
			`cloud.conf:6: [LoadBalancer] max-members: "-1" must be 0 or more`,
		},
		"a number of members of a class that is none": {
			credentials + "[LoadBalancerClass \"big\"]\nmax-members = all\n",
			`cloud.conf:6: [LoadBalancerClass] max-members: "all" is not an integer`,
		},
		"an unknown method": {
			credentials + "[LoadBalancer]\nlb-method = round_robin\n",
			`cloud.conf:6: [LoadBalancer] lb-method: "round_robin" is not one of ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT`,
		},
		"a timeout above the delay": {
			credentials + "[LoadBalancer]\nmonitor-timeout = 9s\n",
			`cloud.conf:6: [LoadBalancer] monitor-timeout (9s) must not be above monitor-delay (5s)`,
		},
		"a monitor that never probes": {
			credentials + "[LoadBalancer]\ncreate-monitor = true\nmonitor-delay = 0\n",
			`cloud.conf:7: [LoadBalancer] monitor-delay: "0" must be whole seconds, at least 1s; 0 is possible only with create-monitor = false`,
		},
		"a monitor that never gives up": {
			credentials + "[LoadBalancer]\nmonitor-max-retries-down = 0x0\ncreate-monitor = true\n",
			`cloud.conf:6: [LoadBalancer] monitor-max-retries-down: "0x0" must be between 1 and 10; 0 is possible only with create-monitor = false`,
		},
		"a monitor of a class that never probes": {
			credentials + "[LoadBalancer]\ncreate-monitor = true\n[LoadBalancerClass \"gold\"]\nmonitor-timeout = 0s\n",
			`cloud.conf:8: [LoadBalancerClass "gold"] monitor-timeout: "0s" must be whole seconds, at least 1s; 0 is possible only with create-monitor = false`,
		},
		"an endpoint that is none": {
			credentials + "network-endpoint-override = network:9696\n",
			`cloud.conf:5: [Global] network-endpoint-override: "network:9696" must be an http or https address, such as https://network.example.com:9696`,
		},
		"an endpoint with a placeholder that nothing replaces": {
			credentials + "network-endpoint-override = https://network.example.com/%(user_id)s/%(project_id)s\n",
			`cloud.conf:5: [Global] network-endpoint-override: "https://network.example.com/%(user_id)s/%(project_id)s" must be an http or https address, such as https://network.example.com:9696; only %(project_id)s and %(tenant_id)s are replaced in it`,
		},
		"an auth-url with a placeholder": {
			strings.Replace(credentials, "/v3", "/%(project_id)s/v3", 1),
			`cloud.conf:2: [Global] auth-url is not an http or https address`,
		},
		"a key without a value": {
			credentials + "region\n",
			`cloud.conf:5: [Global] region needs a value: write region = ...`,
		},
		"a certificate that is not in Barbican": {
			credentials + "[LoadBalancer]\ndefault-tls-container-ref = my-certificate\n",
			`cloud.conf:6: [LoadBalancer] default-tls-container-ref: "my-certificate" is not the address of a container or secret in Barbican, such as https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04; for another place set container-store = external`,
		},
		"a certificate of a class that is not in Barbican": {
			credentials + "[LoadBalancerClass \"gold\"]\ndefault-tls-container-ref = my-certificate\n",
			`cloud.conf:6: [LoadBalancerClass "gold"] default-tls-container-ref: "my-certificate" is not the address of a container or secret in Barbican, such as https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04; for another place set container-store = external`,
		},
		"an unknown key of a class without a value": {
			credentials + "[LoadBalancerClass \"gold\"]\nauth-url =\n",
			`cloud.conf:6: [LoadBalancerClass] unknown key "auth-url"; it belongs in section [Global]`,
		},
		"another place for certificates": {
			credentials + "[LoadBalancer]\ncontainer-store = vault\n",
			`cloud.conf:6: [LoadBalancer] container-store: "vault" is not one of barbican, external`,
		},
		"a suffix that is no name": {
			credentials + "[LoadBalancer]\ningress-hostname-suffix = .nip.io\n",
			`cloud.conf:6: [LoadBalancer] ingress-hostname-suffix: ".nip.io" must be a DNS name in lower case, such as nip.io`,
		},
		"a key of another file of OpenStack": {
			credentials + "project-id = p\n",
			`cloud.conf:5: [Global] unknown key "project-id"; write tenant-id instead`,
		},
		"a line that may be a part of a password": {
			"[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword = hunter2\nhunter2\n",
			`cloud.conf:5: [Global] the line is neither a key nor key = value; all keys of [Global] are listed in docs/reference/cloud-conf.md`,
		},
		"the load balancers of Neutron": {
			credentials + "[LoadBalancer]\nlb-version = v1\n",
			`cloud.conf:6: [LoadBalancer] lb-version: "v1" is not supported: the only value is v2`,
		},
		"single quotes": {
			credentials + "[LoadBalancer]\nlb-method = 'SOURCE_IP'\n",
			`cloud.conf:6: [LoadBalancer] lb-method: "'SOURCE_IP'" is not one of ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT; the single quotes are part of the value: use double quotes`,
		},
		"backticks": {
			credentials + "[LoadBalancer]\nmonitor-delay = `5s`\n",
			"cloud.conf:6: [LoadBalancer] monitor-delay: \"`5s`\" is not a duration: write a number with its unit, such as 5s or 1m30s; the backticks are part of the value: use double quotes",
		},
		"an application credential beside an empty password in single quotes": {
			auth + "application-credential-id = a\napplication-credential-secret = hunter2\npassword = ''\n",
			`cloud.conf: [Global] more than one way to authenticate is set (application-credential-*, password): keep one` + "\n" +
				`cloud.conf:5: [Global] password: The value begins and ends with a single quote, which is part of it. Write double quotes instead, or no quotes.`,
		},
		"a password that is a comment": {
			auth + "user-id = u\npassword = #hunter2\n",
			`cloud.conf: [Global] credentials are missing: set password with username or user-id, or application-credential-id with ` +
				`application-credential-secret, or trust-id with trustee-id and trustee-password, or token, or use-clouds` + "\n" +
				`cloud.conf:4: [Global] password: The value is empty: a comment begins at the # or ;. If it belongs to the value, write the value in double quotes.`,
		},
		"an empty file": {"", `cloud.conf: the file is empty: write at least [Global] with auth-url and credentials`},
		"a clouds.yaml": {
			"clouds: {a: {auth: {password: hunter2}}}\n",
			`cloud.conf: the file is a clouds.yaml, not a cloud.conf: write a cloud.conf with [Global], use-clouds = true, clouds-file = PATH and cloud = NAME`,
		},
		"a certificate without its key": {
			credentials + "cert-file = c.pem\n",
			`cloud.conf:5: [Global] cert-file and key-file belong together: set both, or none`,
		},
		"no address": {
			"[Global]\nuser-id = u\npassword = hunter2\n",
			`cloud.conf: [Global] auth-url is missing: set it to the address of Keystone, such as https://keystone.example.com:5000/v3`,
		},
		"an address that is none": {
			"[Global]\nauth-url = keystone:5000\nuser-id = u\npassword = hunter2\n",
			`cloud.conf:2: [Global] auth-url is not an http or https address`,
		},
		"a user without a domain": {
			auth + "username = u\npassword = hunter2\ntenant-name = p\ntenant-domain-id = default\n",
			`cloud.conf: [Global] username needs a domain: set user-domain-name, user-domain-id, domain-name or domain-id`,
		},
		"a project without a domain": {
			auth + "username = u\npassword = hunter2\ntenant-name = p\nuser-domain-id = default\n",
			`cloud.conf: [Global] tenant-name needs a domain: set tenant-domain-name, tenant-domain-id, domain-name or domain-id`,
		},
		"a password without a user": {
			auth + "password = hunter2\n",
			`cloud.conf: [Global] password needs user-id or username`,
		},
		"two users":               {auth + "password = hunter2\nuser-id = u\nusername = u\n", `cloud.conf: [Global] set username or user-id, not both`},
		"two domains":             {auth + "password = hunter2\nusername = u\ndomain-id = d\ndomain-name = d\n", `cloud.conf: [Global] the user's domain is given by id and by name: keep one`},
		"a trust without trustee": {auth + "trust-id = t\ntrustee-password = hunter2\n", `cloud.conf: [Global] trust-id needs trustee-id`},
		"a trust without secret":  {auth + "trust-id = t\ntrustee-id = u\n", `cloud.conf: [Global] trust-id needs trustee-password`},
		"an application credential without secret": {
			auth + "application-credential-id = a\n", `cloud.conf: [Global] an application credential needs application-credential-secret`,
		},
		"an application credential without id": {
			auth + "application-credential-secret = hunter2\n",
			`cloud.conf: [Global] application-credential-secret needs application-credential-id or application-credential-name`,
		},
		"a named application credential without a user": {
			auth + "application-credential-secret = hunter2\napplication-credential-name = a\n",
			`cloud.conf: [Global] application-credential-name needs user-id or username`,
		},
		"two ways": {
			auth + "user-id = u\npassword = hunter2\ntoken = hunter2\n",
			`cloud.conf: [Global] more than one way to authenticate is set (password, token): keep one`,
		},
		"a token with a user": {
			auth + "user-id = u\ntoken = hunter2\n",
			`cloud.conf: [Global] token cannot be combined with a user: remove username and user-id, or use password instead of token`,
		},
		"a broken header":      {"[Global\n", `cloud.conf:1: [Global: the closing bracket is missing: write [Global]`},
		"an open quote":        {credentials + "region = \"x\n", `cloud.conf:5: [Global] region: a double quote is not closed: write region = "..." on one line, with \" for a double quote in the value, \\ for a backslash and \n for a line end; the line is: region = "x`},
		"a key outside":        {"x = y\n", `cloud.conf:1: the line is above the first section: write [Global], or the section to which it belongs, above it`},
		"a stray backslash":    {credentials + "region = a\\b\n", `cloud.conf:5: [Global] region: a backslash needs double quotes: write region = "..." with \\ for each backslash and \" for each double quote of the value; the line is: region = a\b`},
		"a percent in a value": {credentials + "[LoadBalancer]\nmax-shared-lb = 1%d\n", `cloud.conf:6: [LoadBalancer] max-shared-lb: "1%d" is not an integer`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("cloud.conf", []byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error shows a secret")
			}
			if diff := cmp.Diff(Config{}, got); diff != "" {
				t.Errorf("a refused file gives a Config: %s", diff)
			}
		})
	}
}

func TestOneErrorCausesNoSecondOne(t *testing.T) {
	const balancer, class = credentials + "[LoadBalancer]\n", "[LoadBalancerClass \"c\"]\n"
	for name, text := range map[string]string{
		"a delay without a unit":                balancer + "monitor-delay = 60\nmonitor-timeout = 30s\n",
		"a timeout without a unit":              balancer + "monitor-timeout = 60\nmonitor-delay = 1s\n",
		"a misspelt delay":                      balancer + "monitor-dely = 60s\nmonitor-timeout = 30s\n",
		"a delay that a class inherits":         balancer + "monitor-delay = 60\n" + class + "monitor-timeout = 30s\n",
		"a delay of a class":                    credentials + class + "monitor-delay = 60\nmonitor-timeout = 30s\n",
		"a wrong pair that classes inherit":     balancer + "monitor-timeout = 30s\n" + class + "lb-method = SOURCE_IP\n[LoadBalancerClass \"d\"]\n",
		"a store for certificates":              balancer + "container-store = vault\ndefault-tls-container-ref = my-certificate\n",
		"a misspelt store for certificates":     balancer + "container-stor = external\ndefault-tls-container-ref = my-certificate\n",
		"a certificate that a class inherits":   balancer + "default-tls-container-ref = my-certificate\n" + class,
		"a subnet of ClusterIPs":                credentials + "[ClusterIP]\nenabled = true\nservice-subnet-id = services\n",
		"a misspelt password":                   "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npasswrd = hunter2\n",
		"a password in another section":         "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\n[LoadBalancer]\npassword = hunter2\n",
		"a password without a value":            "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword\n",
		"a misspelt user":                       "[Global]\nauth-url = https://keystone.example.com/v3\nuser = u\npassword = hunter2\n",
		"a misspelt domain":                     "[Global]\nauth-url = https://keystone.example.com/v3\nusername = u\npassword = hunter2\ntenant-name = t\ndomain-nam = d\n",
		"a misspelt project domain":             "[Global]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword = hunter2\ntenant-name = t\nproject-domain-id = d\n",
		"a misspelt address":                    "[Global]\nauth-ur = https://keystone.example.com/v3\nuser-id = u\npassword = hunter2\n",
		"a misspelt section of the credentials": "[Globl]\nauth-url = https://keystone.example.com/v3\nuser-id = u\npassword = hunter2\n",
		"a misspelt switch to clouds.yaml":      "[Global]\nuse-cluds = true\ncloud = c\n",
		"a wrong switch to clouds.yaml":         "[Global]\nuse-clouds = perhaps\ncloud = c\n",
		"a misspelt key file":                   credentials + "cert-file = a\nkey-fil = b\n",
		"an empty file":                         "# nothing yet\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("cloud.conf", []byte(text))
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("want one error, got %v", err)
			}
		})
	}
}

func TestProblemsOfCloudsYAMLCauseNoOtherProblems(t *testing.T) {
	for name, lines := range map[string]string{
		"a file that is not there": "clouds-file = /nowhere/clouds.yaml\n",
		"a misspelt file":          "clouds-fil = /nowhere/clouds.yaml\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cloud.conf")
			if err := os.WriteFile(path, []byte("[Global]\nuse-clouds = true\n"+lines), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("want one error, got %v", err)
			}
		})
	}
}

func TestNamesInsteadOfIDsAreRefusedWithACommandThatFindsTheID(t *testing.T) {
	for _, key := range Keys() {
		if key.Kind != ID {
			continue
		}
		section := key.Section
		if section == classSection {
			section += ` "c"`
		}
		for value, part := range map[string]string{
			"public": "show public -f value -c id", "my net": "show NAME -f value -c id", idA + "0": "show " + idA + "0 -f value -c id", "-x": "show NAME -f",
		} {
			t.Run(fmt.Sprintf("[%s] %s = %s", section, key.Name, value), func(t *testing.T) {
				_, err := Parse("cloud.conf", []byte(credentials+"["+section+"]\n"+key.Name+" = "+value+"\n"))
				want := fmt.Sprintf("cloud.conf:6: [%s] %s: %q must be the id of a", key.Section, key.Name, value)
				if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), part) {
					t.Errorf("%v, want %s ... %s", err, want, part)
				}
			})
		}
	}
}

func TestAFileThatCannotBeReadIsAnErrorThatSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(filepath.Join(dir, "cloud.conf"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "no such file or directory: check the path, and in a Pod the volume with the file") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err = Load(dir); err == nil || !strings.HasSuffix(err.Error(), "is a directory: set the path of a file in it, such as "+dir+"/cloud.conf") {
		t.Errorf("a directory: %v", err)
	}
	denied := &fs.PathError{Op: "open", Path: "cloud.conf", Err: syscall.EACCES} // root can read everything
	if got := howToRead("cloud.conf", denied, 65532); !strings.Contains(got, "allow the user with uid 65532 to read it") {
		t.Errorf("a file without permission: %q", got)
	}
	if got := howToRead("cloud.conf", syscall.EIO, 0); got != "" {
		t.Errorf("another error: %q", got)
	}
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	_, err := Parse("cloud.conf", []byte("[Global]\nusernam = u\n[Foo]\nx = y\n[LoadBalancer]\nenabled = perhaps\nlb-provder = ovn\n"))
	want := strings.Join([]string{
		`cloud.conf:2: [Global] unknown key "usernam"; did you mean "username"?`,
		`cloud.conf:3: unknown section [Foo]; all sections are listed in docs/reference/cloud-conf.md`,
		`cloud.conf:6: [LoadBalancer] enabled: "perhaps" is not a boolean: write true or false`,
		`cloud.conf:7: [LoadBalancer] unknown key "lb-provder"; did you mean "lb-provider"?`,
		`cloud.conf: [Global] auth-url is missing: set it to the address of Keystone, such as https://keystone.example.com:5000/v3`,
		`cloud.conf: [Global] credentials are missing: set password with username or user-id, or application-credential-id with ` +
			`application-credential-secret, or trust-id with trustee-id and trustee-password, or token, or use-clouds`,
	}, "\n")
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
