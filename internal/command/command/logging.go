// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"sync"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Logging holds the flags for logs.
type Logging struct {
	verbosity int
	format    string
}

// AddFlags adds the flags, with their defaults.
func (l *Logging) AddFlags(flags *pflag.FlagSet) {
	flags.IntVarP(&l.verbosity, "v", "v", 0, "log level: 0 logs changes, 4 also every call to OpenStack")
	flags.StringVar(&l.format, "log-format", "text", "format of the log: text or json")
}

// maxVerbosity is the highest log level.
const maxVerbosity = 9

// Check adds the problems of the flags.
func (l *Logging) Check(p *Problems) {
	p.Require(l.format == "text" || l.format == "json", "log-format", Quoted(l.format), "must be text or json")
	p.Require(l.verbosity >= 0 && l.verbosity <= maxVerbosity, "v", l.verbosity, "must be 0 to 9")
}

// Logger returns the logger of the process, which Kubernetes' libraries use, too. The flags must have been
// checked.
func (l *Logging) Logger(streams IO) logr.Logger {
	encoder := zap.ConsoleEncoder(func(c *zapcore.EncoderConfig) {
		c.EncodeTime, c.EncodeLevel = zapcore.ISO8601TimeEncoder, encodeLevel
	})
	if l.format == "json" {
		encoder = zap.JSONEncoder(func(c *zapcore.EncoderConfig) {
			c.EncodeTime, c.EncodeLevel = zapcore.RFC3339NanoTimeEncoder, encodeLevel
		})
	}
	// zap counts verbosity downwards from info.
	logger := zap.New(zap.WriteTo(streams.Err), zap.Level(zapcore.Level(-l.verbosity)), encoder, zap.StacktraceLevel(zapcore.PanicLevel))
	librariesLog.Do(func() {
		ctrl.SetLogger(logger)
		klog.SetLogger(logr.New(routineSink{logger.GetSink()}))
	})
	return logger
}

// librariesLog guards the global loggers of Kubernetes' libraries. They must not be changed while a
// goroutine logs, so they are set once.
var librariesLog sync.Once

// encodeLevel gives all verbosities above 0 the same name, because zap has no names for most.
func encodeLevel(level zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
	if level < zapcore.InfoLevel {
		level = zapcore.DebugLevel
	}
	out.AppendString(level.String())
}
