// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is how the Linux kernel counts CPU time for programs, on all its
// architectures.
const ticksPerSecond = 100

// CPU returns the CPU time that the controller has used. Only Linux reports it; elsewhere it is 0.
func (p *Process) CPU() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return parseCPU(string(text))
}

// parseCPU adds user and system time of /proc/PID/stat. The name of the program, in
// parentheses, may contain spaces.
func parseCPU(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// Memory returns the resident memory of the controller in MB. Only Linux reports it; elsewhere it
// is 0.
func (p *Process) Memory() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return parseMemory(string(text))
}

// parseMemory reads VmRSS of /proc/PID/status.
func parseMemory(status string) float64 {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, _ := strconv.Atoi(fields[1])
			return float64(kib) * 1024 / 1e6
		}
	}
	return 0
}
