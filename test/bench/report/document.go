// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Document is one run of the bench.
type Document struct {
	Date    string  `json:"date"`
	Machine Machine `json:"machine"`
	// Cloud describes the cloud and its times.
	Cloud string `json:"cloud"`
	// Controllers are the commands that were measured, by the name of their rows.
	Controllers map[string]string `json:"controllers"`
	Arguments   []string          `json:"arguments"`
	Note        string            `json:"note"`
	Rows        []*Row            `json:"rows"`
}

// Machine is what seconds and megabytes depend on.
type Machine struct {
	OS        string `json:"os"`
	CPUs      int    `json:"cpus"`
	Processor string `json:"processor,omitempty"`
	// LoadAverage is that of the minute before the run: if it is high, others used the machine too.
	LoadAverage string `json:"loadAverageBefore,omitempty"`
}

// New begins a document.
func New(cloud string, controllers map[string]string, arguments []string) *Document {
	d := &Document{
		Date: time.Now().UTC().Format(time.DateOnly), Cloud: cloud, Controllers: controllers, Arguments: arguments,
		Note: "Counts of calls are exact. Seconds, CPU time and memory are those of one run on this machine, " +
			"which the Kubernetes API, the cloud and the controller share.",
		Machine: Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Processor: processor(), LoadAverage: loadAverage()},
	}
	return d
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(d)
}

// Missed has a line for each goal that was not met.
func (d *Document) Missed() []string {
	var lines []string
	for _, r := range d.Rows {
		for _, g := range r.Goals {
			if !g.Met && r.Controller == This {
				lines = append(lines, fmt.Sprintf("%s, %s: %s is %s, goal: at most %s", r.Scenario, r.size(), g.Name, number(g.Value), number(g.AtMost)))
			}
		}
	}
	return lines
}

// loadAverage is that of the last minute, or empty if the system does not report it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// processor returns the model of the first processor, or empty if the system does not report it.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
