// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/cloudsyaml"
	"github.com/kube-octavia/kube-octavia/internal/settings/inifile"
)

// LoadLogin returns the user's own login, found as by OpenStack's clients: the entry cloud of clouds.yaml, or the one
// that OS_CLOUD names; otherwise the variables of an openrc file; otherwise the only entry of clouds.yaml. The region
// is that of an openrc file, if it sets one, or the argument, unless it is empty. getenv reads the environment. Only
// Global and Notices are set.
func LoadLogin(cloud, region string, getenv func(string) string) (Config, error) {
	f := newFile("the login")
	for _, key := range globalKeys {
		if err := key.apply(&f.config, key.Default); err != nil {
			return Config{}, err
		}
	}
	f.config.Global.Region = region
	f.config.Global.Cloud = cmp.Or(cloud, getenv("OS_CLOUD"))
	if f.config.Global.Cloud != "" || getenv("OS_AUTH_URL") == "" {
		f.config.Global.UseClouds = true
		if err := f.completeFromClouds(); err != nil {
			return Config{}, errors.Join(errors.New("no login found: set --os-cloud, --cloud-config or $OS_CLOUD, or source an openrc file"), err)
		}
	} else if err := f.completeFrom(environment(getenv)); err != nil {
		return Config{}, err
	}
	c, err := f.finish(false)
	return Config{Global: c.Global, Notices: c.Notices}, err
}

// variables has the variables of an openrc file, and the keys that they set. If a key has several, the first one that
// is set takes precedence.
var variables = []struct{ name, key string }{
	{"OS_AUTH_URL", "auth-url"},
	{"OS_USER_ID", "user-id"}, {"OS_USERNAME", "username"}, {"OS_PASSWORD", "password"},
	{"OS_PROJECT_ID", "tenant-id"}, {"OS_TENANT_ID", "tenant-id"}, {"OS_PROJECT_NAME", "tenant-name"}, {"OS_TENANT_NAME", "tenant-name"},
	{"OS_USER_DOMAIN_ID", "user-domain-id"}, {"OS_USER_DOMAIN_NAME", "user-domain-name"},
	{"OS_PROJECT_DOMAIN_ID", "tenant-domain-id"}, {"OS_PROJECT_DOMAIN_NAME", "tenant-domain-name"},
	{"OS_DOMAIN_ID", "domain-id"}, {"OS_DOMAIN_NAME", "domain-name"},
	{"OS_APPLICATION_CREDENTIAL_ID", "application-credential-id"}, {"OS_APPLICATION_CREDENTIAL_NAME", "application-credential-name"},
	{"OS_APPLICATION_CREDENTIAL_SECRET", "application-credential-secret"}, {"OS_TOKEN", "token"},
	{"OS_REGION_NAME", "region"}, {"OS_INTERFACE", "os-endpoint-type"}, {"OS_ENDPOINT_TYPE", "os-endpoint-type"},
	{"OS_CACERT", "ca-file"}, {"OS_CERT", "cert-file"}, {"OS_KEY", "key-file"},
}

// environment returns the variables as keys of cloud.conf.
func environment(getenv func(string) string) map[string]cloudsyaml.Setting {
	settings, sources := map[string]string{}, map[string]string{}
	for _, v := range variables {
		if text := getenv(v.name); settings[v.key] == "" && text != "" {
			settings[v.key], sources[v.key] = text, "$"+v.name
		}
	}
	settings["os-endpoint-type"] = strings.TrimSuffix(settings["os-endpoint-type"], "URL")
	switch {
	case settings["username"] != "" && settings["user-id"] != "":
		settings["username"] = "" // openrc files often set both; the id is unique
	case settings["token"] != "" && getenv("OS_AUTH_TYPE") != "password":
		settings["username"], settings["password"] = "", ""
	}
	if settings["user-domain-id"] != "" {
		settings["user-domain-name"] = ""
	}
	if settings["tenant-domain-id"] != "" {
		settings["tenant-domain-name"] = ""
	}
	all := map[string]cloudsyaml.Setting{}
	for key, text := range settings {
		all[key] = cloudsyaml.Setting{Text: text, Source: sources[key]}
	}
	return all
}

// completeFromClouds sets empty keys of [Global] from clouds.yaml.
func (f *file) completeFromClouds() error {
	g := f.config.Global
	cloud, err := cloudsyaml.Read(cloudsyaml.Choice{Path: g.CloudsFile, Cloud: g.Cloud, Region: g.Region})
	if err != nil {
		return fmt.Errorf("%s: [Global] use-clouds: %w", f.name, err)
	}
	for _, n := range cloud.Notices {
		kind := NoEffect
		if n.Doubtful {
			kind = Doubtful
		}
		f.config.Notices = append(f.config.Notices, Notice{File: n.File, Line: n.Line, Section: n.Section, Key: n.Key, Kind: kind, Text: n.Text, Do: n.Do})
	}
	return f.completeFrom(cloud.Settings)
}

// completeFrom sets empty keys of [Global].
func (f *file) completeFrom(settings map[string]cloudsyaml.Setting) error {
	for _, key := range globalKeys {
		s := settings[key.Name]
		if s.Text == "" || f.lineOf(globalSection, "", key.Name) > 0 || f.refusedKey(globalSection, key.Name) {
			continue
		}
		if err := key.apply(&f.config, s.Text); err != nil {
			return fmt.Errorf("%s: %w", s.Source, err)
		}
	}
	return nil
}

// WithGlobal returns the text of a cloud.conf with [Global] replaced by g, including its secrets. All other sections of
// text are unchanged. Comments in [Global] are lost.
func WithGlobal(text []byte, g Global) (string, error) {
	text = bytes.TrimPrefix(text, []byte(inifile.ByteOrderMark))
	statements, problems := inifile.Parse(text, public)
	if len(problems) > 0 {
		return "", fmt.Errorf("the cloud configuration: line %d: %s", problems[0].Line, problems[0].Text)
	}
	var b strings.Builder
	b.WriteString(g.section())
	lines := strings.SplitAfter(string(text), "\n")
	for i, s := range statements {
		if s.Key != "" || strings.EqualFold(s.Section, globalSection) {
			continue
		}
		end := len(lines)
		if next := slices.IndexFunc(statements[i+1:], func(s inifile.Statement) bool { return s.Key == "" }); next >= 0 {
			end = statements[i+1+next].Line - 1
		}
		b.WriteString("\n" + strings.TrimSpace(strings.Join(lines[s.Line-1:end], "")) + "\n")
	}
	return b.String(), nil
}

// section returns [Global] with the values that are not defaults.
func (g Global) section() string {
	c := Config{Global: g}
	var b strings.Builder
	b.WriteString("[Global]\n")
	for _, key := range globalKeys {
		text := ""
		switch p := key.field(&c).(type) {
		case *string:
			text = *p
		case *Secret:
			text = p.Reveal()
		case *bool:
			text = fmt.Sprint(*p)
		}
		if text != key.Default {
			b.WriteString(key.Name + " = " + quote(text) + "\n")
		}
	}
	return b.String()
}

// WithApplicationCredential returns g with the application credential instead of any other way to
// authenticate.
func (g Global) WithApplicationCredential(id string, secret Secret) Global {
	return Global{
		AuthURL: g.AuthURL, Region: g.Region, EndpointType: g.EndpointType, CAFile: g.CAFile, CAFileContents: g.CAFileContents,
		NetworkEndpoint: g.NetworkEndpoint, LoadBalancerEndpoint: g.LoadBalancerEndpoint, ComputeEndpoint: g.ComputeEndpoint, KeyManagerEndpoint: g.KeyManagerEndpoint,
		TLSInsecure: g.TLSInsecure, CertFile: g.CertFile, KeyFile: g.KeyFile,
		ApplicationCredentialID: id, ApplicationCredentialSecret: secret,
	}
}

// quote quotes a value so that it is read unchanged.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}
