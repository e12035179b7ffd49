// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// logged returns what a logger with these flags writes of one line each at levels 0, 1, 4 and 9 and
// one error.
func logged(t *testing.T, l Logging) string {
	t.Helper()
	var out, errs bytes.Buffer
	log := l.Logger(IO{Out: &out, Err: &errs}).WithName("part").WithValues("service", "ns/web")
	log.Info("level 0", "op", "CreateListener")
	log.V(1).Info("level 1")
	log.V(4).Info("level 4")
	log.V(9).Info("level 9")
	log.Error(errors.New("no answer"), "failed")
	if out.Len() > 0 {
		t.Errorf("logs went to standard output: %q", out.String())
	}
	return errs.String()
}

func TestVerbositySelectsLogMessages(t *testing.T) {
	for verbosity, want := range map[int][]string{
		0: {"level 0", "failed"},
		1: {"level 0", "level 1", "failed"},
		4: {"level 0", "level 1", "level 4", "failed"},
		9: {"level 0", "level 1", "level 4", "level 9", "failed"},
	} {
		t.Run(fmt.Sprintf("-v=%d", verbosity), func(t *testing.T) {
			for _, format := range []string{"text", "json"} {
				t.Run(format, func(t *testing.T) {
					text := logged(t, Logging{verbosity: verbosity, format: format})
					if lines := strings.Count(text, "\n"); lines != len(want) {
						t.Errorf("%d, %s: %d lines, want %d:\n%s", verbosity, format, lines, len(want), text)
					}
					for _, w := range want {
						if !strings.Contains(text, w) {
							t.Errorf("%d, %s: %q is not in\n%s", verbosity, format, w, text)
						}
					}
				})
			}
		})
	}
}

func TestJSONLogsAreOneObjectALine(t *testing.T) {
	for line := range strings.Lines(logged(t, Logging{format: "json"})) {
		var entry struct {
			TS                                     time.Time
			Level, Logger, Msg, Service, Op, Error string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if entry.TS.IsZero() || entry.Logger != "part" || entry.Service != "ns/web" {
			t.Errorf("%s: no time, name or Service", line)
		}
		switch entry.Msg {
		case "level 0":
			if entry.Level != "info" || entry.Op != "CreateListener" {
				t.Errorf("%s: %+v", line, entry)
			}
		case "failed":
			if entry.Level != "error" || entry.Error != "no answer" {
				t.Errorf("%s: %+v", line, entry)
			}
		default:
			t.Errorf("unexpected line %s", line)
		}
	}
}

func TestAnErrorIsLoggedWithoutItsStack(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		if text := logged(t, Logging{format: format}); strings.Contains(text, ".go:") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
