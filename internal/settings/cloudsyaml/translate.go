// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// translation is the translation of an entry to the keys of cloud.conf.
type translation struct {
	entry         entry
	path, section string
	region        string          // the region that is used, which may be missing in settings
	used          map[string]bool // keys of the entry that have an effect or need no notice; those in auth as auth.KEY
	settings      map[string]Setting
	notices       []Notice
}

// authKeys has keys of [Global], their names in clouds.yaml, of which the last one takes precedence, and whether a key
// outside of auth takes precedence over one in it. All this is as in openstacksdk.
var authKeys = []struct {
	key     string
	names   []string
	outside bool
}{
	{"auth-url", []string{"auth_url"}, false},
	{"username", []string{"user_name", "username"}, false},
	{"user-id", []string{"user_id"}, false},
	{"password", []string{"password"}, false},
	{"tenant-id", []string{"tenant_id", "project_id"}, true},
	{"tenant-name", []string{"tenant_name", "project_name"}, true},
	{"domain-id", []string{"default_domain_id", "domain_id"}, true},
	{"domain-name", []string{"default_domain_name", "domain_name"}, true},
	{"user-domain-id", []string{"user_domain_id"}, true},
	{"user-domain-name", []string{"user_domain_name"}, true},
	{"tenant-domain-id", []string{"project_domain_id"}, true},
	{"tenant-domain-name", []string{"project_domain_name"}, true},
	{"application-credential-id", []string{"application_credential_id"}, false},
	{"application-credential-name", []string{"application_credential_name"}, false},
	{"application-credential-secret", []string{"application_credential_secret"}, false},
	{"trust-id", []string{"trust_id"}, false},
	{"token", []string{"auth_token", "token"}, true},
}

// otherKeys has keys outside of auth, and their names, of which the first one takes precedence.
var otherKeys = []struct {
	key   string
	names []string
}{
	{"os-endpoint-type", []string{"endpoint_type", "interface"}},
	{"ca-file", []string{"cacert"}},
	{"cert-file", []string{"cert"}},
	{"key-file", []string{"key"}},
	{"network-endpoint-override", []string{"network_endpoint_override", "network_endpoint"}},
	{"load-balancer-endpoint-override", []string{"load_balancer_endpoint_override", "load_balancer_endpoint"}},
	{"compute-endpoint-override", []string{"compute_endpoint_override", "compute_endpoint"}},
	{"key-manager-endpoint-override", []string{"key_manager_endpoint_override", "key_manager_endpoint"}},
}

// translate sets settings and notices. region is the wanted region, or empty.
func (t *translation) translate(region string) error {
	if err := t.chooseRegion(region); err != nil {
		return err
	}
	for _, k := range authKeys {
		if err := t.authKey(k.key, k.names, k.outside); err != nil {
			return err
		}
	}
	for _, k := range otherKeys {
		if err := t.otherKey(k.key, k.names); err != nil {
			return err
		}
	}
	if err := t.chooseWay(); err != nil {
		return err
	}
	if err := t.verification(); err != nil {
		return err
	}
	t.adjust()
	if err := t.checkProfile(); err != nil {
		return err
	}
	t.noticeUnused()
	return nil
}

// candidate is one of the possible places of a key.
type candidate struct {
	key string // with the prefix auth. if it is in auth
	value
	content string
}

// authKey reads a key of auth, which openstacksdk also accepts outside of it.
func (t *translation) authKey(key string, names []string, outside bool) error {
	var found []candidate // the last one takes precedence
	for _, name := range names {
		inAuth, ok := t.entry.auth[name]
		beside, okBeside := t.entry.keys[name]
		places := []candidate{{key: "auth." + name, value: inAuth}, {key: name, value: beside}}
		there := []bool{ok, okBeside}
		if !outside {
			slices.Reverse(places)
			slices.Reverse(there)
		}
		for i, c := range places {
			if !there[i] {
				continue
			}
			var err error
			c.content, err = c.text()
			if err != nil {
				return fmt.Errorf("%s: %w", c.source(t.section, c.key), err)
			}
			t.used[c.key] = true
			if c.content != "" {
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	for _, other := range found[:len(found)-1] {
		if other.content != last.content {
			t.notice(other.key, other.value, true, fmt.Sprintf("It differs from %s, which takes precedence.", last.key), "Keep one of the two.")
		}
	}
	t.set(key, last)
	return nil
}

// otherKey reads a key outside of auth.
func (t *translation) otherKey(key string, names []string) error {
	for _, name := range names {
		v, there := t.entry.keys[name]
		if !there {
			continue
		}
		text, err := v.text()
		if err != nil {
			return fmt.Errorf("%s: %w", v.source(t.section, name), err)
		}
		t.used[name] = true
		if _, set := t.settings[key]; !set && text != "" {
			t.set(key, candidate{key: name, value: v, content: text})
		}
	}
	return nil
}

func (t *translation) set(key string, c candidate) {
	t.settings[key] = Setting{Text: c.content, Source: c.source(t.section, c.key)}
}

// text returns the value of a key of [Global].
func (t *translation) text(key string) string { return t.settings[key].Text }

// scalar returns the text of a key outside of auth.
func (t *translation) scalar(key string) (string, error) {
	v, there := t.entry.keys[key]
	if !there {
		return "", nil
	}
	t.used[key] = true
	text, err := v.text()
	if err != nil {
		return "", fmt.Errorf("%s: %w", v.source(t.section, key), err)
	}
	return text, nil
}

// ways has the ways to authenticate, by auth_type, with the key that each one needs.
var ways = map[string]string{
	"password": "password", "v2password": "password", "v3password": "password",
	"token": "token", "v2token": "token", "v3token": "token",
	"v3applicationcredential": "application-credential-secret",
}

// chooseWay drops what the way to authenticate does not use. Without auth_type a password takes precedence over an
// application credential, as in all clients.
func (t *translation) chooseWay() error {
	old, err := t.scalar("auth_plugin")
	if err != nil {
		return err
	}
	kind, err := t.scalar("auth_type")
	if err != nil {
		return err
	}
	kind = cmp.Or(kind, old)
	needed, known := ways[kind]
	text := fmt.Sprintf("The key has no effect with auth_type %s.", kind)
	switch {
	case kind == "" || kind == "none":
		if t.text("password") == "" || t.text("token") != "" {
			return nil
		}
		needed, text = "password", "The key has no effect beside a password, unless auth_type is v3applicationcredential."
	case !known:
		return fmt.Errorf("%s: [%s] auth_type %q is not supported: use password, v3applicationcredential or token", t.path, t.section, kind)
	case t.text(needed) == "":
		return nil // the existing keys may be sufficient
	}
	for _, way := range []struct {
		secret string
		names  []string
	}{
		{"password", nil},
		{"token", nil},
		{"application-credential-secret", []string{"application-credential-id", "application-credential-name"}},
	} {
		if way.secret == needed {
			continue
		}
		for _, key := range append(way.names, way.secret) {
			t.drop(key, text)
		}
	}
	if needed == "token" {
		t.drop("username", text)
		t.drop("user-id", text)
	}
	return nil
}

// drop removes a setting, with a notice.
func (t *translation) drop(key, text string) {
	if _, there := t.settings[key]; !there {
		return
	}
	delete(t.settings, key)
	for _, k := range authKeys {
		if k.key != key {
			continue
		}
		for _, name := range k.names {
			for at, v := range map[string]map[string]value{"auth." + name: t.entry.auth, name: t.entry.keys} {
				if v, there := v[name]; there {
					t.notice(at, v, false, text, removeKey)
				}
			}
		}
	}
}

// adjust changes values as openstacksdk does.
func (t *translation) adjust() {
	for id, name := range map[string]string{"user-id": "username", "tenant-id": "tenant-name", "domain-id": "domain-name",
		"user-domain-id": "user-domain-name", "tenant-domain-id": "tenant-domain-name"} {
		if t.text(id) != "" {
			delete(t.settings, name) // the id is unique, and many files have both
		}
	}
	for _, key := range []string{"ca-file", "cert-file", "key-file"} {
		t.change(key, Home)
	}
	if t.text("cert-file") != "" && t.text("key-file") == "" {
		t.settings["key-file"] = t.settings["cert-file"] // one file contains both
	}
	t.change("os-endpoint-type", func(text string) string { return strings.TrimSuffix(text, "URL") })
	if t.region != "" {
		t.change("auth-url", func(text string) string { return strings.ReplaceAll(text, "{region_name}", t.region) })
	}
}

func (t *translation) change(key string, to func(string) string) {
	if s, there := t.settings[key]; there {
		s.Text = to(s.Text)
		t.settings[key] = s
	}
}

// verification sets tls-insecure.
func (t *translation) verification() error {
	verify, err := t.scalar("verify")
	if err != nil {
		return err
	}
	off := false
	switch strings.ToLower(verify) {
	case "", "true", "yes", "on", "1":
	case "false", "no", "off", "0":
		off = true
		t.set("tls-insecure", candidate{key: "verify", value: t.entry.keys["verify"], content: "true"})
	default:
		v := t.entry.keys["verify"]
		return fmt.Errorf("%s: %q is neither true nor false: set the file with the certificates of the CAs in cacert", v.source(t.section, "verify"), verify)
	}
	insecure, err := t.scalar("insecure")
	if err != nil || insecure == "" {
		return err
	}
	v := t.entry.keys["insecure"]
	word := strings.ToLower(insecure)
	switch {
	case word == "true", v.plain() && (word == "yes" || word == "on"):
		t.set("tls-insecure", candidate{key: "insecure", value: v, content: "true"})
	case !slices.Contains([]string{"false", "no", "off", "0"}, word) && !off:
		t.notice("insecure", v, true, "It is not true, so certificates are verified.", "Write insecure: true if certificates shall not be verified.")
	}
	return nil
}

// checkProfile reports a profile that no file contains.
func (t *translation) checkProfile() error {
	t.used["profile"], t.used["cloud"] = true, true
	if t.entry.profile == nil {
		return nil
	}
	name, _ := t.entry.profile.text()
	if t.text("auth-url") == "" {
		return fmt.Errorf("%s: clouds-public.yaml does not contain the profile %q, and kube-octavia does not have the profiles that are part of openstacksdk: "+
			"set auth_url in auth, and region_name", t.entry.profile.source(t.section, "profile"), name)
	}
	t.notice("profile", *t.entry.profile, false, fmt.Sprintf("clouds-public.yaml does not contain the profile %q, and kube-octavia does not have the profiles that are part of openstacksdk.", name),
		"Write the settings of the profile into the entry, or remove the key.")
	return nil
}

func (t *translation) notice(key string, v value, doubtful bool, text, do string) {
	t.notices = append(t.notices, Notice{File: v.file, Line: v.node.Line, Section: t.section, Key: key, Doubtful: doubtful, Text: text, Do: do})
}

func (t *translation) sortedNotices() []Notice {
	slices.SortStableFunc(t.notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
	})
	return t.notices
}

// allKeys returns the keys of the entry, those in auth as auth.KEY.
func (t *translation) allKeys() map[string]value {
	all := maps.Clone(t.entry.keys)
	for key, v := range t.entry.auth {
		all["auth."+key] = v
	}
	return all
}
