// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// valueType is a kind of value.
type valueType[T any] struct {
	// values says in a word or two what may stand there.
	values string
	// parse reads a value without blanks around it. The error says what is right: "must be ...".
	parse func(string) (T, error)
	// emptyCounts is whether an empty value says something. Otherwise it is as good as none.
	emptyCounts bool
}

// set makes a line of the table that writes what it reads to a field.
func set[T any](kind valueType[T], field func(*Options) *T, line Annotation) Annotation {
	line.Values = cmp.Or(line.Values, kind.values)
	line.apply = func(o *Options, text string) error {
		text = strings.TrimSpace(text)
		if text == "" && !kind.emptyCounts {
			return nil
		}
		value, err := kind.parse(text)
		if err == nil {
			*field(o) = value
		}
		return err
	}
	return line
}

var boolean = valueType[bool]{values: "true or false", parse: func(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, errors.New("must be true or false")
	}
	return text == "true", nil
}}

// number is a whole number between low and high.
func number(low, high int) valueType[int] {
	return valueType[int]{values: fmt.Sprintf("%d to %d", low, high), parse: func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		return n, nil
	}}
}

// connections is a limit of connections, as Octavia takes it.
var connections = number(NoLimit, math.MaxInt32)

var retries = number(1, 10)

var seconds = valueType[time.Duration]{values: "seconds, 1 or more", parse: func(text string) (time.Duration, error) {
	n, err := number(1, 24*60*60).parse(text)
	return time.Duration(n) * time.Second, err
}}

// longestTimeout is the longest that Octavia takes, 24 days.
const longestTimeout = 24 * 24 * 60 * 60 * 1000

var timeout = valueType[int]{values: "milliseconds, up to 24 days", parse: number(0, longestTimeout).parse}

// oneOf is one of a few words, in just their spelling.
func oneOf[T ~string](words ...T) valueType[T] {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	list := strings.Join(all, ", ")
	return valueType[T]{values: list, parse: func(text string) (T, error) {
		if !slices.Contains(words, T(text)) {
			return "", fmt.Errorf("must be one of %s", list)
		}
		return T(text), nil
	}}
}

// uuid is the id of an object in the cloud, or nothing, which overrules what the operator chose.
var uuid = valueType[string]{values: "UUID", emptyCounts: true, parse: func(text string) (string, error) {
	if text != "" && !uuidPattern.MatchString(text) {
		return "", errors.New("must be the id of an object, such as 3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04, and not its name")
	}
	return text, nil
}}

// floatingIP is an IPv4 address or the id of a floating IP.
var floatingIP = valueType[string]{values: "IPv4 address or UUID", parse: func(text string) (string, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
		return address.String(), nil
	}
	if !uuidPattern.MatchString(text) {
		return "", errors.New("must be the IPv4 address of a floating IP, such as 203.0.113.7, or its id")
	}
	return text, nil
}}

var uuidPattern = regexp.MustCompile(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})$`)

// name is a name of something that the operator or the cloud has, or nothing.
var name = valueType[string]{values: "name", emptyCounts: true, parse: func(text string) (string, error) {
	if len(text) > longestName {
		return "", fmt.Errorf("must not be longer than %d bytes", longestName)
	}
	return text, nil
}}

// longestName is the longest that OpenStack gives anything.
const longestName = 255

var sourceRanges = valueType[[]string]{values: "comma-separated CIDRs", emptyCounts: true, parse: func(text string) ([]string, error) {
	return config.ParseCIDRs(strings.Split(text, ","))
}}

var nodeSelector = valueType[config.NodeSelector]{values: "labels: zone=a,disk=ssd,gpu", emptyCounts: true, parse: config.ParseNodeSelector}

var subnetName = valueType[string]{values: "name, pattern* or ~regular expression, each also after !", emptyCounts: true,
	parse: func(text string) (string, error) {
		_, err := config.SubnetPattern{Name: text}.Matcher()
		return text, err
	}}

var subnetTags = valueType[string]{values: "a,b for any or &a,b for all, each also after !", emptyCounts: true,
	parse: func(text string) (string, error) {
		_, err := config.SubnetPattern{Tags: text}.Matcher()
		return text, err
	}}

// hostname is a name in the DNS (RFC 1123), as Kubernetes takes it for a load balancer's.
var hostname = valueType[string]{values: "DNS name", parse: func(text string) (string, error) {
	_, err := netip.ParseAddr(text)
	if err == nil || len(validation.IsDNS1123Subdomain(text)) > 0 {
		return "", errors.New("must be a DNS name in lower case, such as www.example.com, and not an address")
	}
	return text, nil
}}
