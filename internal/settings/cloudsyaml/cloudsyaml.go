// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudsyaml reads one cloud of clouds.yaml in the keys of cloud.conf, as openstacksdk reads it.
package cloudsyaml

import (
	"fmt"
)

// Choice says which cloud to read.
type Choice struct {
	// Path is the file. Empty is $OS_CLIENT_CONFIG_FILE, or the first one in the usual places.
	Path string
	// Cloud is the name of the entry. Empty is $OS_CLOUD, or the only entry.
	Cloud string
	// Region is the region of the entry. Empty is that of the entry, or the first one of its list.
	Region string
}

// Cloud is what clouds.yaml says about a cloud.
type Cloud struct {
	// Path is the file that was read.
	Path string
	// Settings are by keys of [Global] of cloud.conf. Keys without a value are not in it.
	Settings map[string]Setting
	// Notices are by line.
	Notices []Notice
}

// Setting is the value of a key, and where it stands.
type Setting struct {
	// Text may be a secret.
	Text string
	// Source is file, line and key, such as "clouds.yaml:4: [clouds.one] auth.username".
	Source string
}

// Notice tells of a key that has no effect, or perhaps another one than was meant.
type Notice struct {
	// File and Line are where it stands. Line counts from 1.
	File string
	Line int
	// Section is the entry, such as "clouds.one", and Key the key in it, such as "auth.username".
	Section, Key string
	// Doubtful means that the key has an effect, but perhaps another one than was meant.
	Doubtful bool
	// Text says what was read, without the value, and Do what to do.
	Text, Do string
}

// Read returns what clouds.yaml says about a cloud. A profile of clouds-public.yaml lies under the cloud, and secure.yaml over
// it. Errors and notices show no value that may be a secret.
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

// source gives file, line and key of a value.
func (v value) source(section, key string) string {
	return fmt.Sprintf("%s:%d: [%s] %s", v.file, v.node.Line, section, key)
}
