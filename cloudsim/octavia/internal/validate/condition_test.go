// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import "testing"

func TestErrorsInRegularExpressionsAreWordedAsInPython(t *testing.T) {
	for name, test := range map[string]struct{ pattern, problem string }{
		"empty":                            {},
		"anchors and alternatives":         {pattern: "^/a(b|c)*$"},
		"lazy repeat":                      {pattern: "a+?"},
		"lookahead":                        {pattern: "(?=a)b"},
		"repeated group without a capture": {pattern: "(?:a)*"},
		"escaped parenthesis":              {pattern: `\(`},
		"bracket first in a set":           {pattern: "[]a]"},
		"bracket first in a negated set":   {pattern: "[^]a]"},
		"escaped bracket in a set":         {pattern: `[\]]`},
		"counted repeat":                   {pattern: "a{2,3}"},
		"group without an end":             {"/(a", "missing ), unterminated subpattern at position 1"},
		"parenthesis without a group":      {"a)", "unbalanced parenthesis at position 1"},
		"set without an end":               {"[a", "unterminated character set at position 0"},
		"repeat at the start":              {"*a", "nothing to repeat at position 0"},
		"repeat at the start of a group":   {"(*)", "nothing to repeat at position 1"},
		"repeat of a repeat":               {"a**", "multiple repeat at position 2"},
		"backslash at the end":             {`a\`, "bad escape (end of pattern) at position 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := regexProblem(test.pattern); got != test.problem {
				t.Errorf("%q: %q, want %q", test.pattern, got, test.problem)
			}
		})
	}
}
