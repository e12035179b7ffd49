// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

// Rule describes in CEL, the language of a ValidatingAdmissionPolicy, which values are well-formed,
// as far as the value alone determines that. It uses only what Kubernetes 1.30 supports. A rule
// must be cheap even for very long values: kube-apiserver aborts after a million steps.
type Rule struct {
	// Kind is a short unique name of the rule.
	Kind string
	// Right describes valid values: "must be ...".
	Right string
	// Value is an expression over v, the trimmed value. It is true if the value is well-formed. An
	// empty expression is always true.
	Value string
	// Part is an expression over p, a part of a value that is a list separated by commas. It is
	// true if the part is well-formed. Blanks around parts and empty parts are ignored. Very long
	// lists are checked only by the controller.
	Part string
	// Try is an expression over v that cannot be evaluated if v is malformed, for checks that CEL
	// cannot express otherwise. Its result is ignored.
	Try string
	// EmptyCounts means that the rule also applies to an empty value.
	EmptyCounts bool
}

// Comparison is a rule about two annotations that are both set, not empty and well-formed.
type Comparison struct {
	// Keys are the keys of the two annotations.
	Keys [2]string
	// Right describes valid values.
	Right string
	// Value is an expression over a and b, the trimmed values.
	Value string
}

// Comparisons has all comparisons.
var Comparisons = []Comparison{{
	Keys:  [2]string{Prefix + "health-monitor-timeout", Prefix + "health-monitor-delay"},
	Right: "the timeout must not be above the delay, or probes would overlap",
	Value: "int(a) <= int(b)",
}, {
	Keys:  [2]string{XForwardedFor, ProxyProtocol},
	Right: eitherProxyOrHeader(ProxyProtocol),
	Value: `a != "true" || b == "false"`,
}}
