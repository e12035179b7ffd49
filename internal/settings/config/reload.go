// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"slices"
	"time"
)

// Reloaded returns g with the values of newer for keys that may change while the program runs (see
// Key.Live).
func (g Global) Reloaded(newer Global) Global {
	mine, theirs := Config{Global: g}, Config{Global: newer}
	for _, key := range globalKeys {
		if key.Live {
			key.copy(&mine, &theirs)
		}
	}
	return mine.Global
}

// NeedRestart returns the keys, as "[Section] key", whose values differ in newer and that only a restart applies. Keys
// without effect are not included.
func (c Config) NeedRestart(newer Config) []string {
	var names []string
	for _, key := range table {
		if key.field != nil && !key.Live && !key.equal(&c, &newer) {
			names = append(names, "["+key.Section+"] "+key.Name)
		}
	}
	return names
}

// copy sets the key's field of to to that of from.
func (k Key) copy(to, from *Config) {
	switch p := k.field(to).(type) {
	case *string:
		*p = *k.field(from).(*string)
	case *Secret:
		*p = *k.field(from).(*Secret)
	case *bool:
		*p = *k.field(from).(*bool)
	case *int:
		*p = *k.field(from).(*int)
	case *time.Duration:
		*p = *k.field(from).(*time.Duration)
	case *[]string:
		*p = *k.field(from).(*[]string)
	case *[]netip.Prefix:
		*p = *k.field(from).(*[]netip.Prefix)
	}
}

// equal reports whether both have the same value for the key.
func (k Key) equal(a, b *Config) bool {
	switch p := k.field(a).(type) {
	case *string:
		return *p == *k.field(b).(*string)
	case *Secret:
		return *p == *k.field(b).(*Secret)
	case *bool:
		return *p == *k.field(b).(*bool)
	case *int:
		return *p == *k.field(b).(*int)
	case *time.Duration:
		return *p == *k.field(b).(*time.Duration)
	case *[]string:
		return slices.Equal(*p, *k.field(b).(*[]string))
	case *[]netip.Prefix:
		return slices.Equal(*p, *k.field(b).(*[]netip.Prefix))
	}
	return true
}
