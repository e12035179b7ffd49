// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudsyaml reads one cloud of clouds.yaml in the keys of cloud.conf. It imports no other package of the project.
package cloudsyaml

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// cloudEntry is one cloud of clouds.yaml, as far as cloud.conf has keys for it.
type cloudEntry struct {
	Profile      scalar                     `json:"profile"`
	AuthType     scalar                     `json:"auth_type"`
	Auth         map[string]json.RawMessage `json:"auth"`
	RegionName   scalar                     `json:"region_name"`
	EndpointType scalar                     `json:"endpoint_type"`
	Interface    scalar                     `json:"interface"`
	Verify       *bool                      `json:"verify"`
	CACert       scalar                     `json:"cacert"`
	Cert         scalar                     `json:"cert"`
	Key          scalar                     `json:"key"`
}

// authKeys are the keys of auth that cloud.conf has, too: with - for _, and tenant for project.
var authKeys = []string{
	"auth_url", "user_id", "username", "password", "project_id", "project_name", "domain_id", "domain_name",
	"user_domain_id", "user_domain_name", "project_domain_id", "project_domain_name",
	"application_credential_id", "application_credential_name", "application_credential_secret", "trust_id", "token",
}

// scalar is a YAML text, number or boolean: people write passwords without quotes.
type scalar string

// UnmarshalJSON takes what the YAML reader makes of a scalar. Its error does not show the value.
func (s *scalar) UnmarshalJSON(text []byte) error {
	var plain string
	if err := json.Unmarshal(text, &plain); err == nil {
		*s = scalar(plain)
		return nil
	}
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return errors.New("must be text, not a list or a map")
	}
	if string(text) != "null" {
		*s = scalar(text)
	}
	return nil
}

// authTypes lists the auth_type values that mean one of the ways to authenticate.
var authTypes = []scalar{"", "password", "v2password", "v3password", "token", "v2token", "v3token", "v3applicationcredential", "none"}

// Read returns what clouds.yaml says about a cloud, in the keys of [Global] of cloud.conf, and the path of the file that it
// read. The cloud is the one called name, or $OS_CLOUD, or the only one. The file is the one at path, or
// $OS_CLIENT_CONFIG_FILE, or the first one in the usual places. A profile of clouds-public.yaml lies under the cloud, and
// secure.yaml of the same directory lies over it. Errors show no value of the files, which may be a secret.
func Read(path, name string) (settings map[string]string, from string, err error) {
	entry, path, err := find(path, name)
	if err != nil {
		return nil, path, err
	}
	if !slices.Contains(authTypes, entry.AuthType) {
		return nil, path, fmt.Errorf("%s: auth_type %q is not supported: use password, v3applicationcredential or token", path, entry.AuthType)
	}
	settings, err = entry.settings()
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	return settings, path, nil
}

// settings returns the entry in the keys of cloud.conf.
func (e cloudEntry) settings() (map[string]string, error) {
	all := map[string]string{
		"region": string(e.RegionName), "os-endpoint-type": strings.TrimSuffix(string(cmp.Or(e.EndpointType, e.Interface)), "URL"),
		"ca-file": string(e.CACert), "cert-file": string(e.Cert), "key-file": string(e.Key),
	}
	if e.Verify != nil && !*e.Verify {
		all["tls-insecure"] = "true"
	}
	inCloudConf := strings.NewReplacer("project", "tenant", "_", "-")
	for _, key := range authKeys {
		var value scalar
		if raw := e.Auth[key]; raw != nil {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("auth: %s %w", key, err)
			}
		}
		all[inCloudConf.Replace(key)] = string(value)
	}
	return all, nil
}

// find returns the entry of the cloud and the path of the file that has it.
func find(path, name string) (cloudEntry, string, error) {
	var entry cloudEntry
	path, err := cloudsFile(path)
	if err != nil {
		return entry, path, err
	}
	clouds, err := readClouds(path, "clouds")
	if err != nil {
		return entry, path, err
	}
	name = cmp.Or(name, os.Getenv("OS_CLOUD"))
	names := slices.Sorted(maps.Keys(clouds))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if _, ok := clouds[name]; !ok {
		return entry, path, fmt.Errorf("%s has no cloud %q; it has: %s", path, name, strings.Join(names, ", "))
	}
	layers, err := layersOf(path, name, clouds[name])
	if err != nil {
		return entry, path, err
	}
	for _, layer := range layers {
		if err := json.Unmarshal(layer, &entry); err != nil {
			return entry, path, fmt.Errorf("%s: cloud %q cannot be read: check the types of its values", path, name)
		}
	}
	return entry, path, nil
}

// layersOf returns what describes a cloud, from the profile that it builds on to its secrets.
func layersOf(path, name string, own json.RawMessage) ([]json.RawMessage, error) {
	layers := []json.RawMessage{own}
	dir := filepath.Dir(path)
	secure, err := readClouds(filepath.Join(dir, "secure.yaml"), "clouds")
	switch {
	case err == nil && secure[name] != nil:
		layers = append(layers, secure[name])
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	var entry cloudEntry
	if err := json.Unmarshal(own, &entry); err != nil || entry.Profile == "" {
		return layers, nil // a bad entry is reported when the layers are put together
	}
	public, err := readClouds(filepath.Join(dir, "clouds-public.yaml"), "public-clouds")
	if err != nil {
		return nil, fmt.Errorf("cloud %q uses profile %q: %w", name, entry.Profile, err)
	}
	profile, ok := public[string(entry.Profile)]
	if !ok {
		return nil, fmt.Errorf("cloud %q uses profile %q, which clouds-public.yaml does not contain", name, entry.Profile)
	}
	return append([]json.RawMessage{profile}, layers...), nil
}

// cloudsFile returns path, or else the first clouds.yaml that exists in the usual places.
func cloudsFile(path string) (string, error) {
	if path = cmp.Or(path, os.Getenv("OS_CLIENT_CONFIG_FILE")); path != "" {
		return path, nil
	}
	places := []string{"clouds.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "openstack", "clouds.yaml"))
	}
	places = append(places, "/etc/openstack/clouds.yaml")
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			return place, nil
		}
	}
	return "", fmt.Errorf("no clouds.yaml found; looked at %s; set clouds-file", strings.Join(places, ", "))
}

var yamlLine = regexp.MustCompile(`line \d+`)

// readClouds returns the raw entries under key. Its errors show no text of the file, which may hold passwords.
func readClouds(path, key string) (map[string]json.RawMessage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	document := map[string]json.RawMessage{}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML %s", path, yamlLine.FindString(err.Error()))
	}
	clouds := map[string]json.RawMessage{}
	if raw := document[key]; raw != nil {
		if err := json.Unmarshal(raw, &clouds); err != nil {
			return nil, fmt.Errorf("%s: %s is not a map of clouds", path, key)
		}
	}
	return clouds, nil
}
