// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/kube-octavia/kube-octavia/internal/cloud/calls"

// openStackCalls returns the tables of calls for the page: those of the controller, and those that
// are made with a user's login.
func openStackCalls() (any, error) {
	own, persons := newTable("service", "call", "what for"), newTable("service", "call", "what for")
	for _, call := range calls.All() {
		row := own
		if !call.Feature.OfController() {
			row = persons
		}
		row.row(call.Service, code(call.Method+" "+call.Path), call.Purpose)
	}
	return map[string]any{"Own": own, "Persons": persons}, nil
}
