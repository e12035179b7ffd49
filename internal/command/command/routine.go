// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"regexp"

	"github.com/go-logr/logr"
)

// routineLevel is the log level of routine messages.
const routineLevel = 4

// routine matches the messages of Kubernetes' route controller that nothing changes: one for each Node, every 10 s, at
// level 0 (k8s.io/cloud-provider v0.36, controllers/route).
var routine = regexp.MustCompile(`^action for Node ".*" with CIDR ".*": "keep"$`)

// routineSink logs routine messages at routineLevel.
type routineSink struct{ logr.LogSink }

// Info implements logr.LogSink.
func (s routineSink) Info(level int, message string, keysAndValues ...any) {
	if routine.MatchString(message) {
		level = max(level, routineLevel)
		if !s.Enabled(level) {
			return
		}
	}
	s.LogSink.Info(level, message, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (s routineSink) WithValues(keysAndValues ...any) logr.LogSink {
	return routineSink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName implements logr.LogSink.
func (s routineSink) WithName(name string) logr.LogSink { return routineSink{s.LogSink.WithName(name)} }
