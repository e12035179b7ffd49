// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/settings/inifile"
)

// zero is a 0 that is the same as no value, and the error if it is not.
type zero struct {
	key     Key
	line    int
	refusal error
}

// setZero gives a key with the value 0 its default. A class has the value of [LoadBalancer] then.
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

// fitMonitor makes a default that replaces a 0 fit to the other time of [LoadBalancer].
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

// validateZeros refuses values of 0 where they would have an effect.
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

// createsMonitors reports whether pools get health monitors in a section.
func (f *file) createsMonitors(at place) bool {
	lb := f.config.LoadBalancer
	if at.section == classSection {
		lb = lb.Classes[at.name]
	}
	return lb.CreateMonitor
}
