// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/settings/inifile"
)

// zero is a 0 that means no value, and the error if it is not accepted.
type zero struct {
	key     Key
	line    int
	refusal error
}

// setZero sets a key with the value 0 to its default. In a class it gets the value of
// [LoadBalancer].
func (f *file) setZero(key Key, s inifile.Statement) {
	at := place{key.Section, s.Name, key.Name}
	_, refusal := key.read(s.Value)
	if refusal == nil {
		refusal = errors.New("0 is no value")
	}
	f.zeros[at] = zero{key: key, line: s.Line, refusal: refusal}
	delete(f.lines, at)
	if key.Section != classSection {
		_ = key.apply(&f.config, key.Default) // readFile reports the error
	}
}

// fitMonitor adjusts a default that replaces a 0 to the other time of [LoadBalancer].
func (f *file) fitMonitor() {
	lb := &f.config.LoadBalancer
	if lb.MonitorTimeout <= lb.MonitorDelay {
		return
	}
	if _, is := f.zeros[place{section: "LoadBalancer", key: "monitor-timeout"}]; is {
		lb.MonitorTimeout = lb.MonitorDelay
	} else if _, is := f.zeros[place{section: "LoadBalancer", key: "monitor-delay"}]; is {
		lb.MonitorDelay = lb.MonitorTimeout
	}
}

// validateZeros refuses values of 0 that would have an effect.
func (f *file) validateZeros() {
	byLine := func(a, b place) int { return f.zeros[a].line - f.zeros[b].line }
	for _, at := range slices.SortedFunc(maps.Keys(f.zeros), byLine) {
		z := f.zeros[at]
		switch unless := z.key.zeroUnless; {
		case unless == "" || !f.createsMonitors(at) && !f.refusedAt(at, unless):
			f.notice(z.key, z.line, Doubtful, z.key.zero, "Remove the key, or write another value.")
		case !f.refusedAt(at, unless):
			f.problem(z.line, "%s %s: %w; 0 is possible only with %s = false", at.title(), z.key.Name, z.refusal, unless)
		}
	}
}

// createsMonitors reports whether a section enables health monitors.
func (f *file) createsMonitors(at place) bool {
	lb := f.config.LoadBalancer
	if at.section == classSection {
		lb = lb.Classes[at.name]
	}
	return lb.CreateMonitor
}
