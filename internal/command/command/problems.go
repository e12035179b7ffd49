// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
)

// Problems collects the problems of flags, so that all are reported at once.
type Problems []error

// Add adds the problem of a flag, unless it is nil.
func (p *Problems) Add(flag string, value any, problem error) {
	switch {
	case problem == nil:
	case value == true: // as users write it: without a value
		*p = append(*p, fmt.Errorf("--%s %w", flag, problem))
	default:
		*p = append(*p, fmt.Errorf("--%s %v: %w", flag, value, problem))
	}
}

// Require adds the problem of a flag unless it has the right form.
func (p *Problems) Require(right bool, flag string, value any, form string) {
	if !right {
		p.Add(flag, value, errors.New(form))
	}
}

// Err returns all problems as one error, or nil if there are none.
func (p *Problems) Err() error { return errors.Join(*p...) }

// Quoted returns a value in quotes, as in errors.
func Quoted(text string) string { return fmt.Sprintf("%q", text) }
