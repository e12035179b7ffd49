// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

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

// required returns a copy of the attributes in which the named ones are mandatory.
func required(of []Attribute, names ...string) []Attribute {
	of = slices.Clone(of)
	for i := range of {
		of[i].required = slices.Contains(names, of[i].name)
	}
	return of
}

func without(of []Attribute, names ...string) []Attribute {
	return slices.DeleteFunc(slices.Clone(of), func(a Attribute) bool { return slices.Contains(names, a.name) })
}

func with(of []Attribute, more ...Attribute) []Attribute { return append(slices.Clone(of), more...) }

// named has the attributes of all resources.
var named = []Attribute{
	{name: "name", longest: 255},
	{name: "admin_state_up", kind: flagKind},
	{name: "tags", kind: textsKind, longest: 255, since: 5},
}

var owned = []Attribute{{name: "project_id", longest: 36}, {name: "tenant_id", longest: 36}}

var persistenceAttributes = []Attribute{
	{name: "type", oneOf: persistenceTypes},
	{name: "cookie_name", longest: 255, pattern: cookieName},
	{name: "persistence_timeout", kind: numberKind, min: -1 << 31, since: 1},
	{name: "persistence_granularity", kind: addressKind, since: 1},
}

// The attributes of members.
var (
	MemberUpdate = with(named,
		Attribute{name: "weight", kind: numberKind, max: 256},
		Attribute{name: "backup", kind: flagKind, since: 1},
		Attribute{name: "monitor_port", kind: numberKind, min: 1, max: 65535},
		Attribute{name: "monitor_address", kind: addressKind},
	)
	memberInPool = required(with(MemberUpdate,
		Attribute{name: "address", kind: addressKind},
		Attribute{name: "protocol_port", kind: numberKind, min: 1, max: 65535},
		Attribute{name: "subnet_id", kind: idKind},
		Attribute{name: "request_sriov", kind: flagKind, since: 30},
	), "address", "protocol_port")
	MemberCreate = with(memberInPool, owned...)
)

// The attributes of health monitors.
var (
	MonitorUpdate = with(named,
		Attribute{name: "delay", kind: numberKind, checked: true},
		Attribute{name: "timeout", kind: numberKind, checked: true},
		Attribute{name: "max_retries", kind: numberKind, min: 1, max: 10, checked: true},
		Attribute{name: "max_retries_down", kind: numberKind, min: 1, max: 10},
		Attribute{name: "http_method", oneOf: monitorMethods},
		Attribute{name: "url_path", check: checkPath},
		Attribute{name: "expected_codes", pattern: expectedCodes},
		Attribute{name: "http_version", kind: decimalKind, oneOf: words("1.0", "1.1"), since: 10},
		Attribute{name: "domain_name", longest: 255, check: checkDomain, since: 10},
	)
	monitorInPool = required(with(MonitorUpdate, Attribute{name: "type", oneOf: monitorTypes, checked: true}),
		"type", "delay", "timeout", "max_retries")
	MonitorCreate = with(monitorInPool, append(owned, Attribute{name: "pool_id", kind: idKind, required: true})...)
)

func checkPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, " \t\r\n") {
		return "Value must be a valid URL Path string"
	}
	return ""
}

// checkDomain checks a domain name like Octavia's regular expression, which uses lookahead and
// lookbehind that Go lacks: labels have up to 63 characters, do not begin or end with a hyphen, and
// may contain an underscore only at the beginning.
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

// The attributes of pools.
var (
	PoolUpdate = with(named,
		Attribute{name: "description", longest: 255},
		Attribute{name: "lb_algorithm", oneOf: algorithms},
		Attribute{name: "session_persistence", kind: objectKind, of: persistenceAttributes},
		Attribute{name: "tls_container_ref", longest: 255, since: 8},
		Attribute{name: "ca_tls_container_ref", longest: 255, since: 8},
		Attribute{name: "crl_container_ref", longest: 255, since: 8},
		Attribute{name: "tls_enabled", kind: flagKind, since: 8},
		Attribute{name: "tls_ciphers", longest: 2048, since: 15},
		Attribute{name: "tls_versions", kind: textsKind, longest: 32, since: 18},
		Attribute{name: "alpn_protocols", kind: textsKind, oneOf: words("h2", "http/1.1", "http/1.0"), since: 24},
	)
	// poolInTree may be a reference by name, so no attribute is mandatory.
	poolInTree = with(without(PoolUpdate, "session_persistence"),
		Attribute{name: "session_persistence", kind: objectKind, of: required(persistenceAttributes, "type")},
		Attribute{name: "protocol", oneOf: poolProtocols},
		Attribute{name: "healthmonitor", kind: objectKind, of: monitorInPool},
		Attribute{name: "members", kind: objectsKind, of: memberInPool},
	)
	PoolCreate = required(with(poolInTree, append(owned,
		Attribute{name: "listener_id", kind: idKind},
		Attribute{name: "loadbalancer_id", kind: idKind},
	)...), "protocol", "lb_algorithm")
)

// LastPosition is the highest position of an L7 policy, which means the end.
const LastPosition = 1<<31 - 1

var (
	policyActions = words("REJECT", "REDIRECT_TO_URL", "REDIRECT_TO_POOL", "REDIRECT_PREFIX")
	redirectCodes = words("301", "302", "303", "307", "308")
	ruleTypes     = words("HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE", "SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD")
	comparisons   = words("REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO")
	oneLine       = regexp.MustCompile(`^[^\r\n]*$`)
)

// The attributes of L7 rules and policies.
var (
	RuleUpdate = with(without(named, "name"),
		Attribute{name: "type", oneOf: ruleTypes, nullable: true},
		Attribute{name: "compare_type", oneOf: comparisons, nullable: true},
		Attribute{name: "key", longest: 255, pattern: oneLine},
		Attribute{name: "value", longest: 255, pattern: oneLine, nullable: true},
		Attribute{name: "invert", kind: flagKind},
	)
	ruleInPolicy = required(RuleUpdate, "type", "compare_type", "value")
	RuleCreate   = with(ruleInPolicy, owned...)

	PolicyUpdate = with(named,
		Attribute{name: "description", longest: 255},
		Attribute{name: "action", oneOf: policyActions, nullable: true},
		Attribute{name: "redirect_pool_id", kind: idKind},
		Attribute{name: "redirect_url", check: checkURL},
		Attribute{name: "redirect_prefix", check: checkURL},
		Attribute{name: "position", kind: numberKind, min: 1, max: LastPosition},
		Attribute{name: "redirect_http_code", kind: numberKind, oneOf: redirectCodes, since: 9},
	)
	PolicyCreate = with(required(PolicyUpdate, "action"), append(owned,
		Attribute{name: "listener_id", kind: idKind, required: true},
		Attribute{name: "rules", kind: objectsKind, of: ruleInPolicy},
	)...)
	policyInTree = with(without(required(PolicyUpdate, "action"), "redirect_pool_id"),
		Attribute{name: "redirect_pool", kind: objectKind, of: poolInTree},
		Attribute{name: "rules", kind: objectsKind, of: ruleInPolicy},
	)
)

func checkURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "Value must be a valid URL string"
	}
	return ""
}

func timeout(name string) Attribute {
	return Attribute{name: name, kind: numberKind, max: maxTimeout, since: 1}
}

// The attributes of listeners.
var (
	ListenerUpdate = with(named,
		Attribute{name: "description", longest: 255},
		Attribute{name: "connection_limit", kind: numberKind, min: -1},
		Attribute{name: "default_pool_id", kind: idKind},
		Attribute{name: "insert_headers", kind: headersKind},
		timeout("timeout_client_data"), timeout("timeout_member_connect"),
		timeout("timeout_member_data"), timeout("timeout_tcp_inspect"),
		Attribute{name: "allowed_cidrs", kind: cidrsKind, since: 12},
		Attribute{name: "default_tls_container_ref", longest: 255},
		Attribute{name: "sni_container_refs", kind: textsKind, longest: 255},
		Attribute{name: "client_ca_tls_container_ref", longest: 255, since: 8},
		Attribute{name: "client_authentication", oneOf: clientAuthModes, since: 8},
		Attribute{name: "client_crl_container_ref", longest: 255, since: 8},
		Attribute{name: "tls_ciphers", longest: 2048, since: 15},
		Attribute{name: "tls_versions", kind: textsKind, longest: 32, since: 17},
		Attribute{name: "alpn_protocols", kind: textsKind, oneOf: words("h2", "http/1.1", "http/1.0"), since: 20},
		Attribute{name: "hsts_include_subdomains", kind: flagKind, since: 27},
		Attribute{name: "hsts_max_age", kind: numberKind, since: 27},
		Attribute{name: "hsts_preload", kind: flagKind, since: 27},
	)
	listenerInTree = required(with(ListenerUpdate,
		Attribute{name: "protocol", oneOf: listenerProtocols, checked: true},
		Attribute{name: "protocol_port", kind: numberKind, min: 1, max: 65535, checked: true},
		Attribute{name: "default_pool", kind: objectKind, of: poolInTree},
		Attribute{name: "l7policies", kind: objectsKind, of: policyInTree},
	), "protocol", "protocol_port")
	ListenerCreate = with(listenerInTree, append(owned, Attribute{name: "loadbalancer_id", kind: idKind, required: true})...)
)

// The attributes of load balancers.
var (
	LoadBalancerUpdate = with(named,
		Attribute{name: "description", longest: 255},
		Attribute{name: "vip_qos_policy_id", kind: idKind, since: 1},
		Attribute{name: "vip_sg_ids", kind: idsKind, since: 29},
	)
	LoadBalancerCreate = with(LoadBalancerUpdate, append(owned,
		Attribute{name: "vip_address", kind: addressKind},
		Attribute{name: "vip_port_id", kind: idKind},
		Attribute{name: "vip_subnet_id", kind: idKind},
		Attribute{name: "vip_network_id", kind: idKind},
		Attribute{name: "provider", longest: 64, since: 6},
		Attribute{name: "flavor_id", kind: idKind, since: 6},
		Attribute{name: "availability_zone", longest: 255, since: 14},
		Attribute{name: "additional_vips", kind: objectsKind, since: 26, of: []Attribute{
			{name: "subnet_id", kind: idKind, required: true},
			{name: "ip_address", kind: addressKind},
		}},
		Attribute{name: "listeners", kind: objectsKind, of: listenerInTree},
		Attribute{name: "pools", kind: objectsKind, of: poolInTree},
	)...)
)

func profileAttributes(data string) []Attribute {
	return []Attribute{{name: "name", longest: 255}, {name: "provider_name", longest: 255}, {name: data, longest: 4096}}
}

// The attributes of flavors, availability zones and their profiles.
var (
	FlavorProfileUpdate = profileAttributes("flavor_data")
	FlavorProfileCreate = required(FlavorProfileUpdate, "name", "provider_name", "flavor_data")
	ZoneProfileUpdate   = profileAttributes("availability_zone_data")
	ZoneProfileCreate   = required(ZoneProfileUpdate, "name", "provider_name", "availability_zone_data")

	FlavorUpdate = []Attribute{{name: "name", longest: 255}, {name: "description", longest: 255}, {name: "enabled", kind: flagKind}}
	FlavorCreate = required(with(FlavorUpdate, Attribute{name: "flavor_profile_id", kind: idKind}), "name", "flavor_profile_id")
	ZoneUpdate   = []Attribute{{name: "description", longest: 255}, {name: "enabled", kind: flagKind}}
	ZoneCreate   = required(append([]Attribute{{name: "name", longest: 255}},
		with(ZoneUpdate, Attribute{name: "availability_zone_profile_id", kind: idKind})...,
	), "name", "availability_zone_profile_id")
)
