// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

// Rule says in CEL, the language of a ValidatingAdmissionPolicy, which values are well-formed, as
// far as that is decided by the value alone. It uses what Kubernetes 1.30 has. A rule must not be
// expensive however long a value is: kube-apiserver gives up at a million steps.
type Rule struct {
	// Kind is a word or two that tell the rule from all others.
	Kind string
	// Right says what is right: "must be ...".
	Right string
	// Value is an expression over v, the value without blanks around it. It is true of a
	// well-formed one, and so is what is left empty.
	Value string
	// Part is an expression over p, a part of the value, which is a list separated by commas. It is
	// true of a well-formed part. Blanks around parts, and empty parts, do not count. Very long
	// lists are left to the controller.
	Part string
	// Try is an expression over v that cannot be evaluated if v is malformed, for what CEL
	// finds out in no other way. Whether it is true does not count.
	Try string
	// EmptyCounts is whether the rule is also for an empty value.
	EmptyCounts bool
}

// Comparison is a rule about two annotations that are both set, not empty and well-formed.
type Comparison struct {
	// Keys are those of the two.
	Keys [2]string
	// Right says what is right.
	Right string
	// Value is an expression over a and b, the values without blanks around them.
	Value string
}

// Comparisons are all of them.
var Comparisons = []Comparison{{
	Keys:  [2]string{Prefix + "health-monitor-timeout", Prefix + "health-monitor-delay"},
	Right: "the timeout must not be above the delay, or probes would overlap",
	Value: "int(a) <= int(b)",
}, {
	Keys:  [2]string{XForwardedFor, ProxyProtocol},
	Right: eitherProxyOrHeader(ProxyProtocol),
	Value: `a != "true" || b == "false"`,
}}
