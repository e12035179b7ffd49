// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// The characters of headers and cookies.
var (
	headerName   = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+,\\-.^_`|~]+$")
	cookieValue  = regexp.MustCompile("^[a-zA-Z0-9!#$%&'()*+,\\-./:<=>?@\\[\\]^_`{|}~]+$")
	headerValue  = regexp.MustCompile("^[a-zA-Z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\]^_`{|}~\\\\]+$")
	quotedHeader = regexp.MustCompile("^\"[a-zA-Z0-9 \\t!\"#$%&'()*+,\\-./:;<=>?@\\[\\]^_`{|}~\\\\]*\"$")
	nameField    = regexp.MustCompile(`^([a-zA-Z][A-Za-z0-9-]*)$`)
	digits       = regexp.MustCompile(`^[0-9]+$`)
)

// checkCondition refuses invalid conditions.
func checkCondition(c *model.Condition) error {
	if problem := conditionProblem(c); problem != "" {
		return fault.New(http.StatusBadRequest, "Error parsing L7Rule: %s", problem)
	}
	return nil
}

// conditionProblem returns what is wrong with the condition, or "".
func conditionProblem(c *model.Condition) string {
	if c.Value == "" {
		return badRule("L7 rule type requires a value")
	}
	switch c.Kind {
	case "HEADER":
		return keyedProblem(c, isHeaderValue, "header value")
	case "COOKIE":
		return keyedProblem(c, cookieValue.MatchString, "cookie value")
	case "HOST_NAME", "PATH":
		return comparedProblem(c, isHeaderValue, "comparison value")
	case "FILE_TYPE":
		if c.Compare != "REGEX" && c.Compare != "EQUAL_TO" {
			return badRule("invalid comparison type for rule type")
		}
		return comparedProblem(c, isHeaderValue, "comparison value")
	case "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT":
		return certificateProblem(c)
	case "SSL_DN_FIELD":
		return nameProblem(c)
	}
	return badRule("invalid rule type")
}

func badRule(problem string) string { return "Invalid L7 Rule: " + problem }

func isHeaderValue(text string) bool {
	return headerValue.MatchString(text) || quotedHeader.MatchString(text)
}

// keyedProblem checks a condition on a header or cookie.
func keyedProblem(c *model.Condition, fits func(string) bool, what string) string {
	if c.Key == "" {
		return badRule("L7 rule type requires a key")
	}
	if !headerName.MatchString(c.Key) {
		return "Invalid characters in key"
	}
	return comparedProblem(c, fits, what)
}

// comparedProblem checks the value against the type of comparison.
func comparedProblem(c *model.Condition, fits func(string) bool, what string) string {
	if c.Compare == "REGEX" {
		if problem := regexProblem(c.Value); problem != "" {
			return "Unable to parse regular expression: " + problem
		}
		return ""
	}
	if c.Compare == "" {
		return badRule("invalid comparison type for rule type")
	}
	if !fits(c.Value) {
		return "Invalid characters in " + what
	}
	return ""
}

// certificateProblem checks a condition on the presence of a client certificate, or on the result
// of its verification.
func certificateProblem(c *model.Condition) string {
	switch {
	case c.Key != "":
		return badRule(fmt.Sprintf(`L7rule type %s does not use the "key" field.`, c.Kind))
	case c.Kind == "SSL_CONN_HAS_CERT" && strings.ToLower(c.Value) != "true":
		return badRule(fmt.Sprintf("L7rule value %s is not a boolean True string.", c.Value))
	case c.Kind == "SSL_VERIFY_RESULT" && !digits.MatchString(c.Value):
		return badRule("L7rule type SSL_VERIFY_RESULT needs a int value, which is >= 0")
	case c.Compare != "EQUAL_TO":
		return badRule(fmt.Sprintf("L7rule type %s only supports the EQUAL_TO compare type.", c.Kind))
	}
	return ""
}

// nameProblem checks a condition on a field of a certificate's distinguished name.
func nameProblem(c *model.Condition) string {
	if c.Compare == "REGEX" {
		if problem := regexProblem(c.Value); problem != "" {
			return "Unable to parse regular expression: " + problem
		}
	}
	switch {
	case c.Key == "":
		return badRule("L7rule type SSL_DN_FIELD needs to specify a key and a value.")
	case !nameField.MatchString(c.Key):
		return badRule("Invalid L7rule distinguished name field.")
	}
	return ""
}

// regexProblem returns Python's error for a regular expression, or "". It detects common mistakes,
// and accepts what Go does not support, such as lookahead.
func regexProblem(pattern string) string {
	var open []int
	repeatable, repeated := false, false
	for i := 0; i < len(pattern); i++ {
		again := false
		switch pattern[i] {
		case '\\':
			if i+1 == len(pattern) {
				return fmt.Sprintf("bad escape (end of pattern) at position %d", i)
			}
			i++
			repeatable = true
		case '[':
			end := endOfSet(pattern, i)
			if end < 0 {
				return fmt.Sprintf("unterminated character set at position %d", i)
			}
			i, repeatable = end, true
		case '(':
			open = append(open, i)
			repeatable = false
			if strings.HasPrefix(pattern[i+1:], "?") {
				i++
			}
		case ')':
			if len(open) == 0 {
				return fmt.Sprintf("unbalanced parenthesis at position %d", i)
			}
			open, repeatable = open[:len(open)-1], true
		case '*', '+', '?':
			again = true
			switch {
			case repeated && pattern[i] == '?':
				again = false // a lazy repeat
			case repeated:
				return fmt.Sprintf("multiple repeat at position %d", i)
			case !repeatable:
				return fmt.Sprintf("nothing to repeat at position %d", i)
			}
		case '|', '^':
			repeatable = false
		default:
			repeatable = true
		}
		repeated = again
	}
	if len(open) > 0 {
		return fmt.Sprintf("missing ), unterminated subpattern at position %d", open[len(open)-1])
	}
	return ""
}

// endOfSet returns the index of the bracket that closes a set of characters, or -1.
func endOfSet(pattern string, at int) int {
	i := at + 1
	if strings.HasPrefix(pattern[i:], "^") {
		i++
	}
	for first := true; i < len(pattern); i, first = i+1, false {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == ']' && !first:
			return i
		}
	}
	return -1
}
