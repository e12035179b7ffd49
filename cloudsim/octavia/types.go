// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const maxTimeout = 24 * 24 * 60 * 60 * 1000 // milliseconds

var (
	cookieName    = regexp.MustCompile(`^[^\s,;\\]+$`)
	domainLabel   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	expectedCodes = regexp.MustCompile(`^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`)
)

func words(w ...string) []choice {
	choices := make([]choice, len(w))
	for i, word := range w {
		choices[i] = choice{word: word}
	}
	return choices
}

var (
	listenerProtocols = append(words("HTTPS", "HTTP", "TERMINATED_HTTPS", "TCP", "UDP"), choice{"SCTP", 23}, choice{"PROMETHEUS", 25})
	poolProtocols     = append(words("TCP", "HTTP", "HTTPS", "PROXY", "UDP"), choice{"PROXYV2", 22}, choice{"SCTP", 23})
	algorithms        = append(words("LEAST_CONNECTIONS", "ROUND_ROBIN", "SOURCE_IP"), choice{"SOURCE_IP_PORT", 13})
	monitorTypes      = append(words("HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO", "UDP-CONNECT"), choice{"SCTP", 23})
	monitorMethods    = words("GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH")
	clientAuthModes   = words("NONE", "OPTIONAL", "MANDATORY")
	persistenceTypes  = words("SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE")
)

// required returns a copy of the attributes in which the named ones must be
// given.
func required(of []attribute, names ...string) []attribute {
	of = slices.Clone(of)
	for i := range of {
		of[i].required = slices.Contains(names, of[i].name)
	}
	return of
}

func without(of []attribute, names ...string) []attribute {
	return slices.DeleteFunc(slices.Clone(of), func(a attribute) bool { return slices.Contains(names, a.name) })
}

func with(of []attribute, more ...attribute) []attribute { return append(slices.Clone(of), more...) }

// named are the attributes that all resources have.
var named = []attribute{
	{name: "name", longest: 255},
	{name: "admin_state_up", kind: flagKind},
	{name: "tags", kind: textsKind, longest: 255, since: 5},
}

var owned = []attribute{{name: "project_id", longest: 36}, {name: "tenant_id", longest: 36}}

var persistenceAttributes = []attribute{
	{name: "type", oneOf: persistenceTypes},
	{name: "cookie_name", longest: 255, pattern: cookieName},
	{name: "persistence_timeout", kind: numberKind, min: -1 << 31, since: 1},
	{name: "persistence_granularity", kind: addressKind, since: 1},
}

var (
	memberUpdate = with(named,
		attribute{name: "weight", kind: numberKind, max: 256},
		attribute{name: "backup", kind: flagKind, since: 1},
		attribute{name: "monitor_port", kind: numberKind, min: 1, max: 65535},
		attribute{name: "monitor_address", kind: addressKind},
	)
	memberInPool = required(with(memberUpdate,
		attribute{name: "address", kind: addressKind},
		attribute{name: "protocol_port", kind: numberKind, min: 1, max: 65535},
		attribute{name: "subnet_id", kind: idKind},
	), "address", "protocol_port")
	memberCreate = with(memberInPool, owned...)
)

var (
	monitorUpdate = with(named,
		attribute{name: "delay", kind: numberKind, checked: true},
		attribute{name: "timeout", kind: numberKind, checked: true},
		attribute{name: "max_retries", kind: numberKind, min: 1, max: 10, checked: true},
		attribute{name: "max_retries_down", kind: numberKind, min: 1, max: 10},
		attribute{name: "http_method", oneOf: monitorMethods},
		attribute{name: "url_path", check: checkPath},
		attribute{name: "expected_codes", pattern: expectedCodes},
		attribute{name: "http_version", kind: decimalKind, oneOf: words("1.0", "1.1"), since: 10},
		attribute{name: "domain_name", longest: 255, check: checkDomain, since: 10},
	)
	monitorInPool = required(with(monitorUpdate, attribute{name: "type", oneOf: monitorTypes, checked: true}),
		"type", "delay", "timeout", "max_retries")
	monitorCreate = with(monitorInPool, append(owned, attribute{name: "pool_id", kind: idKind, required: true})...)
)

func checkPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, " \t\r\n") {
		return "Value must be a valid URL Path string"
	}
	return ""
}

// checkDomain checks a domain name the way of Octavia's regular expression, which
// looks ahead and behind: labels have up to 63 characters, begin and end without
// a hyphen, and may have an underscore at their beginning only.
func checkDomain(name string) string {
	if name == "" {
		return "Value should have a minimum character requirement of 1"
	}
	bare := strings.TrimSuffix(name, ".")
	good := len(bare) <= 253
	for label := range strings.SplitSeq(bare, ".") {
		good = good && domainLabel.MatchString(label)
	}
	if !good {
		return `Value should match the pattern ^(?=.{1,253}\.?$)(?:(?!-|[^.]+_)[A-Za-z0-9-_]{1,63}(?<!-)(?:\.|$))+$`
	}
	return ""
}

var (
	poolUpdate = with(named,
		attribute{name: "description", longest: 255},
		attribute{name: "lb_algorithm", oneOf: algorithms},
		attribute{name: "session_persistence", kind: objectKind, of: persistenceAttributes},
		attribute{name: "tls_container_ref", longest: 255, since: 8},
		attribute{name: "ca_tls_container_ref", longest: 255, since: 8},
		attribute{name: "crl_container_ref", longest: 255, since: 8},
		attribute{name: "tls_enabled", kind: flagKind, since: 8},
		attribute{name: "tls_ciphers", longest: 2048, since: 15},
		attribute{name: "tls_versions", kind: textsKind, longest: 32, since: 18},
		attribute{name: "alpn_protocols", kind: textsKind, oneOf: words("h2", "http/1.1", "http/1.0"), since: 24},
	)
	// poolInTree may be a mere reference by name, so nothing is required here.
	poolInTree = with(without(poolUpdate, "session_persistence"),
		attribute{name: "session_persistence", kind: objectKind, of: required(persistenceAttributes, "type")},
		attribute{name: "protocol", oneOf: poolProtocols},
		attribute{name: "healthmonitor", kind: objectKind, of: monitorInPool},
		attribute{name: "members", kind: objectsKind, of: memberInPool},
	)
	poolCreate = required(with(poolInTree, append(owned,
		attribute{name: "listener_id", kind: idKind},
		attribute{name: "loadbalancer_id", kind: idKind},
	)...), "protocol", "lb_algorithm")
)

// lastPosition is the greatest position of an L7 policy, which stands for the
// end.
const lastPosition = 1<<31 - 1

var (
	policyActions = words("REJECT", "REDIRECT_TO_URL", "REDIRECT_TO_POOL", "REDIRECT_PREFIX")
	redirectCodes = words("301", "302", "303", "307", "308")
	ruleTypes     = words("HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE", "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD")
	comparisons   = words("REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO")
	oneLine       = regexp.MustCompile(`^[^\r\n]*$`)
)

var (
	ruleUpdate = with(without(named, "name"),
		attribute{name: "type", oneOf: ruleTypes, nullable: true},
		attribute{name: "compare_type", oneOf: comparisons, nullable: true},
		attribute{name: "key", longest: 255, pattern: oneLine},
		attribute{name: "value", longest: 255, pattern: oneLine, nullable: true},
		attribute{name: "invert", kind: flagKind},
	)
	ruleInPolicy = required(ruleUpdate, "type", "compare_type", "value")
	ruleCreate   = with(ruleInPolicy, owned...)

	policyUpdate = with(named,
		attribute{name: "description", longest: 255},
		attribute{name: "action", oneOf: policyActions, nullable: true},
		attribute{name: "redirect_pool_id", kind: idKind},
		attribute{name: "redirect_url", check: checkURL},
		attribute{name: "redirect_prefix", check: checkURL},
		attribute{name: "position", kind: numberKind, min: 1, max: lastPosition},
		attribute{name: "redirect_http_code", kind: numberKind, oneOf: redirectCodes, since: 9},
	)
	policyCreate = with(required(policyUpdate, "action"), append(owned,
		attribute{name: "listener_id", kind: idKind, required: true},
		attribute{name: "rules", kind: objectsKind, of: ruleInPolicy},
	)...)
	policyInTree = with(without(required(policyUpdate, "action"), "redirect_pool_id"),
		attribute{name: "redirect_pool", kind: objectKind, of: poolInTree},
		attribute{name: "rules", kind: objectsKind, of: ruleInPolicy},
	)
)

func checkURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "Value must be a valid URL string"
	}
	return ""
}

func timeout(name string) attribute {
	return attribute{name: name, kind: numberKind, max: maxTimeout, since: 1}
}

var (
	listenerUpdate = with(named,
		attribute{name: "description", longest: 255},
		attribute{name: "connection_limit", kind: numberKind, min: -1},
		attribute{name: "default_pool_id", kind: idKind},
		attribute{name: "insert_headers", kind: headersKind},
		timeout("timeout_client_data"), timeout("timeout_member_connect"),
		timeout("timeout_member_data"), timeout("timeout_tcp_inspect"),
		attribute{name: "allowed_cidrs", kind: cidrsKind, since: 12},
		attribute{name: "default_tls_container_ref", longest: 255},
		attribute{name: "sni_container_refs", kind: textsKind, longest: 255},
		attribute{name: "client_ca_tls_container_ref", longest: 255, since: 8},
		attribute{name: "client_authentication", oneOf: clientAuthModes, since: 8},
		attribute{name: "client_crl_container_ref", longest: 255, since: 8},
		attribute{name: "tls_ciphers", longest: 2048, since: 15},
		attribute{name: "tls_versions", kind: textsKind, longest: 32, since: 17},
		attribute{name: "alpn_protocols", kind: textsKind, oneOf: words("h2", "http/1.1", "http/1.0"), since: 20},
		attribute{name: "hsts_include_subdomains", kind: flagKind, since: 27},
		attribute{name: "hsts_max_age", kind: numberKind, since: 27},
		attribute{name: "hsts_preload", kind: flagKind, since: 27},
	)
	listenerInTree = required(with(listenerUpdate,
		attribute{name: "protocol", oneOf: listenerProtocols, checked: true},
		attribute{name: "protocol_port", kind: numberKind, min: 1, max: 65535, checked: true},
		attribute{name: "default_pool", kind: objectKind, of: poolInTree},
		attribute{name: "l7policies", kind: objectsKind, of: policyInTree},
	), "protocol", "protocol_port")
	listenerCreate = with(listenerInTree, append(owned, attribute{name: "loadbalancer_id", kind: idKind, required: true})...)
)

var (
	loadBalancerUpdate = with(named,
		attribute{name: "description", longest: 255},
		attribute{name: "vip_qos_policy_id", kind: idKind, since: 1},
	)
	loadBalancerCreate = with(loadBalancerUpdate, append(owned,
		attribute{name: "vip_address", kind: addressKind},
		attribute{name: "vip_port_id", kind: idKind},
		attribute{name: "vip_subnet_id", kind: idKind},
		attribute{name: "vip_network_id", kind: idKind},
		attribute{name: "provider", longest: 64, since: 6},
		attribute{name: "flavor_id", kind: idKind, since: 6},
		attribute{name: "availability_zone", longest: 255, since: 14},
		attribute{name: "additional_vips", kind: objectsKind, since: 26, of: []attribute{
			{name: "subnet_id", kind: idKind, required: true},
			{name: "ip_address", kind: addressKind},
		}},
		attribute{name: "listeners", kind: objectsKind, of: listenerInTree},
		attribute{name: "pools", kind: objectsKind, of: poolInTree},
	)...)
)

func profileAttributes(data string) []attribute {
	return []attribute{{name: "name", longest: 255}, {name: "provider_name", longest: 255}, {name: data, longest: 4096}}
}

var (
	flavorProfileUpdate = profileAttributes("flavor_data")
	flavorProfileCreate = required(flavorProfileUpdate, "name", "provider_name", "flavor_data")
	zoneProfileUpdate   = profileAttributes("availability_zone_data")
	zoneProfileCreate   = required(zoneProfileUpdate, "name", "provider_name", "availability_zone_data")

	flavorUpdate = []attribute{{name: "name", longest: 255}, {name: "description", longest: 255}, {name: "enabled", kind: flagKind}}
	flavorCreate = required(with(flavorUpdate, attribute{name: "flavor_profile_id", kind: idKind}), "name", "flavor_profile_id")
	zoneUpdate   = []attribute{{name: "description", longest: 255}, {name: "enabled", kind: flagKind}}
	zoneCreate   = required(append([]attribute{{name: "name", longest: 255}},
		with(zoneUpdate, attribute{name: "availability_zone_profile_id", kind: idKind})...,
	), "name", "availability_zone_profile_id")
)
