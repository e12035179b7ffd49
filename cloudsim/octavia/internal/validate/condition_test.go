// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import "testing"

func TestMistakesInRegularExpressionsAreToldAsPythonTellsThem(t *testing.T) {
	for pattern, problem := range map[string]string{
		"": "", "^/a(b|c)*$": "", "a+?": "", "(?=a)b": "", "(?:a)*": "", `\(`: "", "[]a]": "", "[^]a]": "", `[\]]`: "", "a{2,3}": "",
		"/(a": "missing ), unterminated subpattern at position 1",
		"a)":  "unbalanced parenthesis at position 1",
		"[a":  "unterminated character set at position 0",
		"*a":  "nothing to repeat at position 0",
		"(*)": "nothing to repeat at position 1",
		"a**": "multiple repeat at position 2",
		`a\`:  "bad escape (end of pattern) at position 1",
	} {
		if got := regexProblem(pattern); got != problem {
			t.Errorf("%q: %q, want %q", pattern, got, problem)
		}
	}
}
