// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is one cloud, merged from several files.
type entry struct {
	section string // such as "clouds.one"
	// keys are the keys of the entry except auth, and auth the keys in auth. In both - is replaced
	// by _.
	keys, auth map[string]value
	// profile is the name of a profile that no file contains.
	profile *value
}

// value is a value in a file.
type value struct {
	node *yaml.Node
	file string
}

// find returns the entry of the cloud, and the path of the file that contains it.
func find(choice Choice) (path string, e entry, err error) {
	path, err = cloudsFile(choice.Path)
	if err != nil {
		return path, e, err
	}
	clouds, err := readEntries(path, "clouds")
	if err != nil {
		return path, e, err
	}
	secure, err := readFirst(path, "OS_CLIENT_SECURE_FILE", "secure", "clouds")
	if err != nil {
		return path, e, err
	}
	name := cmp.Or(choice.Cloud, os.Getenv("OS_CLOUD"))
	names := slices.Sorted(maps.Keys(clouds))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	own, there := clouds[name]
	switch {
	case !there && len(names) == 0:
		return path, e, fmt.Errorf("%s has no entry under clouds", path)
	case !there:
		return path, e, fmt.Errorf("%s has no cloud %q; it has: %s", path, name, strings.Join(names, ", "))
	}
	e = newEntry("clouds." + name)
	profile, err := e.addProfile(path, own)
	if err != nil {
		return path, e, err
	}
	if err := e.add(own, e.section); err != nil {
		return path, e, err
	}
	if over, ok := secure[name]; ok {
		if err := e.add(over, e.section); err != nil {
			return path, e, err
		}
	}
	e.profile = profile
	return path, e, nil
}

func newEntry(section string) entry {
	return entry{section: section, keys: map[string]value{}, auth: map[string]value{}}
}

// add merges an entry of a file, which takes precedence, into e.
func (e entry) add(over value, section string) error {
	keys, err := over.mapping()
	if err != nil {
		return fmt.Errorf("%s:%d: [%s] %w", over.file, over.node.Line, section, err)
	}
	for key, v := range keys {
		if key != "auth" {
			e.keys[key] = v
			continue
		}
		auth, err := v.mapping()
		if err != nil {
			return fmt.Errorf("%s: %w", v.source(section, key), err)
		}
		maps.Copy(e.auth, auth)
	}
	return nil
}

// addProfile adds the profile that the entry of a cloud names. If no file contains the profile, it returns the
// name.
func (e entry) addProfile(path string, own value) (missing *value, err error) {
	keys, err := own.mapping()
	if err != nil {
		return nil, fmt.Errorf("%s:%d: [%s] %w", own.file, own.node.Line, e.section, err)
	}
	v, there := keys["profile"]
	if !there {
		v, there = keys["cloud"] // the old name of the key
	}
	if !there {
		return nil, nil
	}
	name, err := v.text()
	if err != nil || name == "" {
		return nil, nil // translate reports the error
	}
	public, err := readFirst(path, "", "clouds-public", "public-clouds")
	if err != nil {
		return nil, err
	}
	profile, there := public[name]
	if !there {
		return &v, nil
	}
	return nil, e.add(profile, "public-clouds."+name)
}

// suffixes are the suffixes of files that openstacksdk reads.
var suffixes = []string{".yaml", ".yml", ".json"}

// places returns the directories that openstacksdk searches.
func places() []string {
	dirs := []string{"."}
	if dir, err := os.UserConfigDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "openstack"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".config", "openstack"))
	}
	return slices.Compact(append(dirs, "/etc/openstack"))
}

// cloudsFile returns path or, if it is empty, the first clouds.yaml that exists in the default
// directories.
func cloudsFile(path string) (string, error) {
	path = cmp.Or(path, os.Getenv("OS_CLIENT_CONFIG_FILE"))
	if path != "" {
		return Home(path), nil
	}
	var looked []string
	for _, dir := range places() {
		if found := firstFile(dir, "clouds"); found != "" {
			return found, nil
		}
		looked = append(looked, filepath.Join(dir, "clouds.yaml"))
	}
	return "", fmt.Errorf("no clouds.yaml found; searched %s; set clouds-file", strings.Join(looked, ", "))
}

// firstFile returns the path of the file in a directory; "" if there is none.
func firstFile(dir, name string) string {
	for _, suffix := range suffixes {
		path := filepath.Join(dir, name+suffix)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// readFirst returns the entries of the file with this name: that of the variable, or the one beside clouds.yaml, or the
// first one in the default directories.
func readFirst(clouds, variable, name, key string) (map[string]value, error) {
	if path := os.Getenv(variable); variable != "" && path != "" {
		return readEntries(path, key)
	}
	for _, dir := range append([]string{filepath.Dir(clouds)}, places()...) {
		if path := firstFile(dir, name); path != "" {
			return readEntries(path, key)
		}
	}
	return nil, nil
}

var yamlLine = regexp.MustCompile(`line \d+`)

// readEntries returns the entries under a key. Its errors show no text of the file, which may contain
// passwords.
func readEntries(path, key string) (map[string]value, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML %s", path, yamlLine.FindString(err.Error()))
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	top, err := value{node: document.Content[0], file: path}.mappingAsWritten()
	if err != nil {
		return nil, fmt.Errorf("%s: the file %w", path, err)
	}
	under, there := top[key]
	if !there {
		return nil, nil
	}
	entries, err := under.mappingAsWritten()
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %s %w", path, under.node.Line, key, err)
	}
	return entries, nil
}

// Home replaces a ~ at the beginning of a path by the home directory of the user.
func Home(path string) string {
	rest, found := strings.CutPrefix(path, "~")
	if !found || rest != "" && rest[0] != '/' {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return home + rest
}
