// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) securityGroupRuleResource() *resource {
	res := &resource{one: "security_group_rule", many: "security_group_rules", path: "security-group-rules", startsOver: true, missing: s.ruleMissing, admit: s.admitRule, add: s.addRule}
	res.attributes = withStandard(attributes{
		"security_group_id": {post: true, required: true, filter: true, sort: true, check: isString(36)},
		"direction":         {post: true, required: true, filter: true, sort: true, check: isOneOf("ingress", "egress")},
		"ethertype":         {post: true, filter: true, sort: true},
		"protocol":          {post: true, filter: true, sort: true},
		"port_range_min":    {post: true, filter: true, sort: true},
		"port_range_max":    {post: true, filter: true, sort: true},
		"remote_ip_prefix":  {post: true, filter: true, sort: true},
		"remote_group_id":   {post: true, filter: true, sort: true},
		"normalized_cidr":   {filter: true, sort: true},
		"description":       {post: true, put: true, filter: true, sort: true, check: orNull(isString(255))},
	})
	res.together = func(items []values) error {
		for _, v := range items {
			if v.text("security_group_id") != items[0].text("security_group_id") {
				return invalidRule("SecurityGroupNotSingleGroupRules", "Only allowed to update rules for one security profile at a time")
			}
		}
		return nil
	}
	res.find = func(c wire.Identity, id string) (object, bool) {
		if r := s.rules[id]; r != nil && (owns(c, r.project) || owns(c, s.groups[r.group].project)) {
			return r, true
		}
		return nil, false
	}
	// The real service does not implement it.
	res.set = func(wire.Identity, string, values) error {
		return errors.New("security group rules cannot be updated")
	}
	res.remove = func(_ wire.Identity, id string) error { s.removeRule(s.rules[id]); return nil }
	res.show = func(_ wire.Identity, id string) any { return s.viewRule(s.rules[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		s.ensureDefaultGroup(askedProject(c, r))
		var views []*securityGroupRuleView
		for _, rule := range s.rules {
			if owns(c, rule.project) || owns(c, s.groups[rule.group].project) {
				views = append(views, s.viewRule(rule))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	return res
}

// ruleMissing returns the refusal of a rule: a less specific one if the rule exists in another
// project than if it does not exist.
func (s *Service) ruleMissing(id string) *apiError {
	if s.rules[id] != nil {
		return refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	return notFound("SecurityGroupRuleNotFound", "Security group rule %s does not exist", id)
}

func (s *Service) viewRule(r *securityGroupRule) *securityGroupRuleView {
	v := &securityGroupRuleView{
		standardView: r.view(), Description: r.about, SecurityGroupID: r.group, Direction: r.direction, EtherType: r.ethertype, Protocol: orNone(r.protocol),
		PortRangeMin: r.min, PortRangeMax: r.max, RemoteIPPrefix: orNone(r.prefix), RemoteGroupID: orNone(r.remote),
	}
	if s.options.Release >= release.Epoxy {
		v.OfDefault = new(s.defaultGroup[s.groups[r.group].project] == r.group)
	}
	if prefix, err := netip.ParsePrefix(r.prefix); err == nil {
		v.NormalizedCIDR = orNone(prefix.Masked().String())
	}
	return v
}

func (s *Service) newRule(g *securityGroup, r securityGroupRule) *securityGroupRule {
	r.standard = s.newStandard("", g.project, "", "", nil)
	r.revision = 0
	s.ruleNumber++
	r.group, r.number = g.id, s.ruleNumber
	s.rules[r.id] = &r
	g.rules = append(slices.Clip(g.rules), r.id)
	return &r
}

func (s *Service) removeRule(r *securityGroupRule) {
	g := s.groups[r.group]
	g.rules = slices.DeleteFunc(slices.Clone(g.rules), func(id string) bool { return id == r.id })
	s.touch(g)
	delete(s.rules, r.id)
}

// admitRule refuses rules of callers that do not own the group. Since 2025.1 this is checked before the rule itself,
// and answered with 403.
func (s *Service) admitRule(c wire.Identity, v values) error {
	g := s.groups[v.text("security_group_id")]
	if s.options.Release >= release.Epoxy && g != nil && !owns(c, g.project) {
		return forbidden("rule:create_security_group_rule")
	}
	return nil
}

func (s *Service) addRule(c wire.Identity, v values) (string, error) {
	r, err := s.readRule(v)
	if err != nil {
		return "", err
	}
	project := v.text("project_id")
	may := func(id string) bool { return s.groups[id] != nil && (s.groups[id].project == project || c.Admin()) }
	if r.remote != "" && !may(r.remote) {
		return "", groupMissing(r.remote)
	}
	if !may(r.group) {
		return "", groupMissing(r.group)
	}
	g := s.groups[r.group]
	for _, id := range g.rules {
		if other := s.rules[id]; other.key() == r.key() {
			return "", conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", id)
		}
	}
	made := s.newRule(g, *r)
	made.project = project
	s.touch(g)
	return made.id, nil
}

// key returns the same text for two rules with the same meaning.
func (r *securityGroupRule) key() string {
	number := func(n *int) string {
		if n == nil {
			return "+"
		}
		return strconv.Itoa(*n)
	}
	prefix := r.prefix
	if prefix == "0.0.0.0/0" || prefix == "::/0" {
		prefix = ""
	}
	return strings.Join([]string{r.direction, r.ethertype, number(r.min), number(r.max), protocolNumber(r.protocol), r.remote, prefix}, "_")
}

// protocols has Neutron's names of protocols.
var protocols = map[string]int{
	"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "hopopt": 0, "icmp": 1, "igmp": 2, "ip": 0, "ipip": 4, "ipv6-encap": 41, "ipv6-frag": 44,
	"ipv6-icmp": 58, "icmpv6": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43, "ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6,
	"udp": 17, "udplite": 136, "vrrp": 112,
}

// protocolNames has the names in the order of Neutron's error message.
var protocolNames = func() []string {
	names := slices.Sorted(maps.Keys(protocols))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "icmpv6" })
	return slices.Insert(names, slices.Index(names, "ipv6-icmp")+1, "icmpv6")
}()

// protocolNumber returns the number of the protocol, or the name if it is unknown.
func protocolNumber(name string) string {
	if n, ok := protocols[name]; ok {
		return strconv.Itoa(n)
	}
	return name
}

// readRule returns the rule of a request, or an error.
func (s *Service) readRule(v values) (*securityGroupRule, error) {
	r := &securityGroupRule{group: v.text("security_group_id"), direction: v.text("direction"), ethertype: "IPv4", remote: v.text("remote_group_id")}
	about := v.text("description")
	r.about = &about
	if v.has("ethertype") {
		switch strings.ToLower(v.text("ethertype")) {
		case "ipv4":
		case "ipv6":
			r.ethertype = "IPv6"
		default:
			return nil, invalidRule("SecurityGroupRuleInvalidEtherType", "Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", shown(v["ethertype"]))
		}
	}
	if err := s.readProtocol(r, v["protocol"]); err != nil {
		return nil, err
	}
	for name, to := range map[string]**int{"port_range_min": &r.min, "port_range_max": &r.max} {
		if v[name] == nil {
			continue
		}
		n, reason := isInt(0, 65535)(v[name])
		if reason != "" {
			return nil, invalidRule("SecurityGroupInvalidPortValue", "Invalid value for port %s", shown(v[name]))
		}
		port := n.(int)
		*to = &port
	}
	if err := r.readPrefix(v["remote_ip_prefix"]); err != nil {
		return nil, err
	}
	if r.prefix != "" && r.remote != "" {
		return nil, invalidRule("SecurityGroupMultipleRemoteEntites", "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	}
	return r, r.checkPorts()
}

func invalidRule(kind, format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, kind, format, args...)
}

func (s *Service) readProtocol(r *securityGroupRule, v any) error {
	if v == nil {
		return nil
	}
	r.protocol = strings.ToLower(shown(v))
	n, err := strconv.Atoi(protocolNumber(r.protocol))
	if err != nil || n < 0 || n > 255 {
		values := "[None, " + strings.Trim(pythonList(protocolNames), "[]") + "]"
		if s.options.Release >= release.Epoxy {
			values = "(None, 'any', " + strings.Trim(pythonList(protocolNames), "[]") + ")"
		}
		return invalidRule("SecurityGroupRuleInvalidProtocol",
			"Security group rule protocol %s not supported. Only protocol values %s and integer representations [0 to 255] are supported.", shown(v), values)
	}
	if r.ethertype == "IPv6" && (r.protocol == "icmp" || r.protocol == "icmpv6") {
		r.protocol = "ipv6-icmp"
	}
	if r.ethertype == "IPv6" && r.protocol == "1" {
		r.protocol = "58"
	}
	if ipv6Only := slices.Contains([]int{41, 43, 44, 58, 59, 60}, n); ipv6Only && r.ethertype == "IPv4" {
		return invalidRule("SecurityGroupEthertypeConflictWithProtocol", "Invalid ethertype IPv4 for protocol %s.", r.protocol)
	}
	return nil
}

func (r *securityGroupRule) readPrefix(v any) error {
	text, _ := v.(string)
	if text == "" {
		return nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return refuse(http.StatusBadRequest, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", text)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix.Addr().Is4() != (r.ethertype == "IPv4") {
		return invalidRule("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s", r.ethertype, text)
	}
	r.prefix = prefix.String()
	return nil
}

// checkPorts refuses ports of a protocol without ports, and ports in the wrong order.
func (r *securityGroupRule) checkPorts() error {
	if r.min == nil && r.max == nil {
		return nil
	}
	if r.protocol == "" {
		return invalidRule("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	}
	switch protocolNumber(r.protocol) {
	case "6", "17", "33", "132", "136":
		switch {
		case r.min != nil && *r.min == 0 || r.max != nil && *r.max == 0:
			return invalidRule("SecurityGroupInvalidPortValue", "Invalid value for port 0")
		case r.min == nil || r.max == nil || *r.min > *r.max:
			return invalidRule("SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
		case *r.min == 1 && *r.max == 65535:
			r.min, r.max = nil, nil // the complete range is stored as no range
		}
	case "1", "58":
		for field, n := range map[string]*int{"type (port_range_min)": r.min, "code (port_range_max)": r.max} {
			if n != nil && *n > 255 {
				return invalidRule("SecurityGroupInvalidIcmpValue", "Invalid value for ICMP %s", fmt.Sprintf("%s %d. It must be 0 to 255.", field, *n))
			}
		}
		if r.min == nil {
			return invalidRule("SecurityGroupMissingIcmpType", "ICMP code (port-range-max) %d is provided but ICMP type (port-range-min) is missing.", *r.max)
		}
	default:
		return invalidRule("SecurityGroupInvalidProtocolForPort", "Ports cannot be specified for protocol %s. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE.", protocolNumber(r.protocol))
	}
	return nil
}
