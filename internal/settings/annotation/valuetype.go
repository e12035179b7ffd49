// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// valueType is a type of value.
type valueType[T any] struct {
	// values describes the possible values in a few words.
	values string
	// parse parses a trimmed value. Its error describes valid values: "must be ...".
	parse func(string) (T, error)
	// emptyCounts means that an empty value has a meaning. Otherwise it is treated like a missing
	// annotation.
	emptyCounts bool
	// rule does the same check as parse in kube-apiserver. Both refuse the same values.
	rule Rule
}

// set returns a line of the table that writes the parsed value to a field.
func set[T any](kind valueType[T], field func(*Options) *T, line Annotation) Annotation {
	line.Values = cmp.Or(line.Values, kind.values)
	line.Rule = kind.rule
	line.Rule.EmptyCounts = kind.emptyCounts
	line.apply = func(o *Options, text string) error {
		text = strings.TrimSpace(text)
		if text == "" && !kind.emptyCounts {
			return nil
		}
		parsed, err := kind.parse(text)
		if err == nil {
			*field(o) = parsed
		}
		return err
	}
	return line
}

var boolean = valueType[bool]{
	values: "true or false",
	rule:   Rule{Kind: "boolean", Right: "must be true or false", Value: `v in ["true", "false"]`},
	parse: func(text string) (bool, error) {
		if text != "true" && text != "false" {
			return false, errors.New("must be true or false")
		}
		return text == "true", nil
	},
}

// number is a whole number between low and high. unit is the unit in messages, or "" if the key
// already names it.
func number(low, high int, unit string) valueType[int] {
	right := fmt.Sprintf("must be a whole number from %d to %d", low, high)
	if unit != "" {
		right = fmt.Sprintf("must be a whole number of %s from %d to %d", unit, low, high)
	}
	return valueType[int]{
		values: fmt.Sprintf("%d to %d", low, high),
		rule: Rule{Kind: fmt.Sprintf("number from %d to %d", low, high), Right: right, Value: fmt.Sprintf(
			`v.matches("^[-+]?0*[0-9]{1,10}$") && int(v) >= %d && int(v) <= %d`, low, high)},
		parse: func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < low || n > high {
				return 0, errors.New(right)
			}
			return n, nil
		},
	}
}

// connections is a connection limit within Octavia's range.
var connections = number(NoLimit, math.MaxInt32, "connections")

// members is a number of members; 0 means all.
var members = number(0, math.MaxInt32, "nodes")

// hstsAge is how long browsers remember the header; 0 makes them forget it.
var hstsAge = func() valueType[int] {
	age := number(0, math.MaxInt32, "seconds")
	age.values, age.rule.Kind = "seconds, 0 or more", "HSTS age"
	return age
}()

var retries = number(1, 10, "health checks")

var secondsOfADay = number(1, 24*60*60, "seconds")

var seconds = valueType[time.Duration]{values: "seconds, 1 or more", rule: secondsOfADay.rule, parse: func(text string) (time.Duration, error) {
	n, err := secondsOfADay.parse(text)
	return time.Duration(n) * time.Second, err
}}

// longestTimeout is the maximum of Octavia, 24 days.
const longestTimeout = 24 * 24 * 60 * 60 * 1000

var milliseconds = number(0, longestTimeout, "milliseconds")

var timeout = valueType[int]{values: "milliseconds, up to 24 days", rule: milliseconds.rule, parse: milliseconds.parse}

// oneOf is one of a few words, in exactly this spelling.
func oneOf[T ~string](words ...T) valueType[T] {
	var all, quoted []string
	for _, w := range words {
		all, quoted = append(all, string(w)), append(quoted, strconv.Quote(string(w)))
	}
	list := strings.Join(all, ", ")
	right := "must be one of " + list
	return valueType[T]{
		values: list,
		rule:   Rule{Kind: list, Right: right, Value: "v in [" + strings.Join(quoted, ", ") + "]"},
		parse: func(text string) (T, error) {
			if !slices.Contains(words, T(text)) {
				return "", errors.New(right)
			}
			return T(text), nil
		},
	}
}

// id is the id of an object in the cloud. An empty value overrides the operator's.
func id(of value.Object) valueType[string] {
	return valueType[string]{
		values: "UUID", emptyCounts: true,
		rule:  Rule{Kind: "id of " + of.Name, Right: of.MustBe(), Value: `v == "" || ` + isID},
		parse: of.ParseID,
	}
}

// floatingIP is an IPv4 address or the id of a floating IP.
var floatingIP = valueType[string]{
	values: "IPv4 address or UUID",
	rule:   Rule{Kind: "floating ip", Right: mustBeFloatingIP, Value: "isIP(v) && ip(v).family() == 4 || " + isID},
	parse: func(text string) (string, error) {
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			return address.String(), nil
		}
		if id, err := value.FloatingIP.ParseID(text); err == nil && id != "" {
			return id, nil
		}
		return "", errors.New(mustBeFloatingIP)
	},
}

const mustBeFloatingIP = "must be the IPv4 address of a floating IP, such as 203.0.113.7, or its id"

// isID does the check of value.Object.ParseID in a Rule.
var isID = "v.size() <= 36 && v.matches(" + strconv.Quote(value.IDPattern) + ")"

// name is the name of an object in the cloud or in the configuration, or empty.
var name = valueType[string]{
	values: "name", emptyCounts: true,
	rule: Rule{Kind: "name", Right: mustBeShort, Value: fmt.Sprintf("bytes(v).size() <= %d", longestName)},
	parse: func(text string) (string, error) {
		if len(text) > longestName {
			return "", errors.New(mustBeShort)
		}
		return text, nil
	},
}

// longestName is the maximum length of a name in OpenStack.
const longestName = 255

var mustBeShort = fmt.Sprintf("must not be longer than %d bytes", longestName)

var sourceRanges = valueType[[]string]{
	values: "comma-separated CIDRs", emptyCounts: true,
	rule: Rule{Kind: "source ranges", Right: "must be CIDRs such as 192.0.2.0/24 or 2001:db8::/32, separated by commas", Part: "isCIDR(p)"},
	parse: func(text string) ([]string, error) {
		return value.ParseCIDRs(strings.Split(text, ","))
	},
}

// securityGroups are ids, normalised as Neutron writes them, and names.
var securityGroups = valueType[[]string]{
	values: "ids or names of security groups, separated by commas",
	rule: Rule{
		Kind: "security groups", Right: mustBeSecurityGroups,
		Value: `!v.matches("^[\\s\\v\\x{85}\\p{Z},]+$")`,
		Part:  fmt.Sprintf("bytes(p).size() <= %d", longestName),
	},
	parse: func(text string) (groups []string, _ error) {
		for _, group := range strings.Split(text, ",") {
			group = strings.TrimSpace(group)
			if len(group) > longestName {
				return nil, errors.New(mustBeSecurityGroups)
			}
			if id, err := value.SecurityGroup.ParseID(group); err == nil {
				group = id
			}
			if group != "" && !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
		if len(groups) == 0 {
			return nil, errors.New(mustBeSecurityGroups)
		}
		return groups, nil
	},
}

var mustBeSecurityGroups = fmt.Sprintf("must be ids or names of security groups, separated by commas, each of at most %d bytes", longestName)

var nodeSelector = valueType[value.NodeSelector]{
	values: "labels: zone=a,disk=ssd,gpu", emptyCounts: true,
	rule: Rule{
		Kind:  "node selector",
		Right: "must be labels such as zone=a,disk=ssd,gpu, each key once",
		// The additional = ensures that there is a second part. A value that contains = gives a fourth part.
		Part: `[(p + "=").split("=")].all(s, s.size() <= 3 && s[0].trim().indexOf("/") <= 253 && s[0].trim().matches("^(` +
			subdomain + `/)?` + label + `$") && s[1].trim().matches("^(` + label + `)?$"))`,
		// Comparing each label with each other is too expensive for many, so long lists are checked
		// only by the controller.
		Value: `v.size() > 4096 || [v.split(",").filter(p, p.trim() != "").map(p, (p + "=").split("="))].all(list,
  list.size() > 32 || list.all(a, list.all(b, a[0].trim() != b[0].trim() || a[1].trim() == b[1].trim())))`,
	},
	parse: value.ParseNodeSelector,
}

// subdomain is a DNS name, and label the name or the value of a label, as in k8s.io/apimachinery/pkg/util/validation,
// but without the maximum length of a subdomain.
const (
	subdomain = `[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	label     = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
)

var subnetName = valueType[string]{
	values: "name, pattern* or ~regular expression; ! negates", emptyCounts: true,
	rule: Rule{
		Kind:  "subnet name",
		Right: "must be a name, a pattern such as public-*, or a regular expression (RE2) after ~",
		Value: `!(v in ["!", "~", "!~"])`,
		Try:   `!v.matches("^!?~") || "".matches(v.substring(v.startsWith("!") ? 2 : 1))`,
	},
	parse: func(text string) (string, error) {
		_, err := value.SubnetPattern{Name: text}.Matcher()
		return text, err
	},
}

var subnetTags = valueType[string]{
	values: "a,b for any or &a,b for all; ! negates", emptyCounts: true,
	rule: Rule{
		Kind:  "subnet tags",
		Right: "must be tags, separated by commas: a leading & requires all of them, a leading ! negates",
		Value: `v == "" || !v.matches("^!?&?[\\s\\v\\x{85}\\p{Z},]*$")`,
	},
	parse: func(text string) (string, error) {
		_, err := value.SubnetPattern{Tags: text}.Matcher()
		return text, err
	},
}

// tags are the user's own tags of objects in the cloud.
var tags = valueType[[]string]{
	values: "tags, separated by commas",
	rule: Rule{
		Kind:  "tags",
		Right: "must be tags of up to 255 characters, separated by commas; none may be empty or begin with kube-octavia. or kube_service_",
		Value: `!v.matches("(^|,)` + blank + `*(,|$)")`,
		Part:  `!p.matches("(^|` + blank + `)(kube-octavia[.]|kube_service_)") && !p.matches("[^\\s\\v\\x{85}\\p{Z}]{256}")`,
	},
	parse: value.ParseTags,
}

// blank matches, in a regular expression of a Rule, a character that Go and kube-apiserver trim.
const blank = `[\\s\\v\\x{85}\\p{Z}]`

// hostname is a DNS name (RFC 1123) that Kubernetes accepts in the status of a Service.
var hostname = valueType[string]{
	values: "DNS name",
	rule:   Rule{Kind: "hostname", Right: mustBeHostname, Value: `v.size() <= 253 && v.matches("^` + subdomain + `$") && !isIP(v)`},
	parse: func(text string) (string, error) {
		_, err := netip.ParseAddr(text)
		if err == nil || len(validation.IsDNS1123Subdomain(text)) > 0 {
			return "", errors.New(mustBeHostname)
		}
		return text, nil
	},
}

const mustBeHostname = "must be a DNS name in lower case, such as www.example.com, not an address"
