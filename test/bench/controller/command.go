// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs the controller that is measured, as a process of which only the
// command line, the log, the CPU time and the memory are known.
package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Command is a command line with placeholders.
type Command []string

// Values take the places of the placeholders.
type Values struct{ Kubeconfig, CloudConfig, Cluster string }

var placeholders = []string{"{kubeconfig}", "{cloudconfig}", "{cluster}"}

// Parse splits a command line at spaces. It must name the kubeconfig and the cloud.conf.
func Parse(text string) (Command, error) {
	c := Command(strings.Fields(text))
	if len(c) == 0 {
		return nil, errors.New("the command of the controller is empty")
	}
	for _, needed := range placeholders[:2] {
		if !strings.Contains(text, needed) {
			return nil, fmt.Errorf("the command %q does not contain %s", text, needed)
		}
	}
	if at := strings.Index(strings.NewReplacer(placeholders[0], "", placeholders[1], "", placeholders[2], "").Replace(text), "{"); at >= 0 {
		return nil, fmt.Errorf("the command %q contains an unknown placeholder: known are %s", text, strings.Join(placeholders, ", "))
	}
	return c, nil
}

// String returns the command line with its placeholders.
func (c Command) String() string { return strings.Join(c, " ") }

// With returns the command line with further arguments.
func (c Command) With(arguments ...string) Command { return slices.Concat(c, arguments) }

func (c Command) fill(v Values) []string {
	replacer := strings.NewReplacer(placeholders[0], v.Kubeconfig, placeholders[1], v.CloudConfig, placeholders[2], v.Cluster)
	filled := make([]string, len(c))
	for i, argument := range c {
		filled[i] = replacer.Replace(argument)
	}
	return filled
}
