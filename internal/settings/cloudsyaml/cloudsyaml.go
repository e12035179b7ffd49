// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudsyaml reads one cloud of clouds.yaml as openstacksdk does, and translates it to keys of
// cloud.conf.
package cloudsyaml

import (
	"fmt"
)

// Choice selects the cloud to read.
type Choice struct {
	// Path is the file. Empty means $OS_CLIENT_CONFIG_FILE, or the first one in the default
	// directories.
	Path string
	// Cloud is the name of the entry. Empty means $OS_CLOUD, or the only entry.
	Cloud string
	// Region is the region to use. Empty means that of the entry, or the first one of its list.
	Region string
}

// Cloud has the settings of a cloud in clouds.yaml.
type Cloud struct {
	// Path is the file that was read.
	Path string
	// Settings has the settings by their keys in [Global] of cloud.conf. Keys without a value are
	// not in it.
	Settings map[string]Setting
	// Notices are sorted by line.
	Notices []Notice
}

// Setting is the value of a key, and its place.
type Setting struct {
	// Text may be a secret.
	Text string
	// Source is file, line and key, such as "clouds.yaml:4: [clouds.one] auth.username".
	Source string
}

// Notice is about a key that has no effect, or possibly an unintended one.
type Notice struct {
	// File and Line are the place of the key. Line is counted from 1.
	File string
	Line int
	// Section is the entry, such as "clouds.one", and Key the key in it, such as "auth.username".
	Section, Key string
	// Doubtful means that the key has an effect, but possibly an unintended one.
	Doubtful bool
	// Text describes what was read, without the value, and Do what to do.
	Text, Do string
}

// Read returns the settings of a cloud in clouds.yaml. They override those of the cloud's profile in
// clouds-public.yaml, and secure.yaml overrides them. Errors and notices show no value that may be a secret.
func Read(choice Choice) (Cloud, error) {
	path, entry, err := find(choice)
	if err != nil {
		return Cloud{Path: path}, err
	}
	t := translation{entry: entry, path: path, section: entry.section, used: map[string]bool{}, settings: map[string]Setting{}}
	if err := t.translate(choice.Region); err != nil {
		return Cloud{Path: path}, err
	}
	return Cloud{Path: path, Settings: t.settings, Notices: t.sortedNotices()}, nil
}

// source returns the file, line and key of a value.
func (v value) source(section, key string) string {
	return fmt.Sprintf("%s:%d: [%s] %s", v.file, v.node.Line, section, key)
}
