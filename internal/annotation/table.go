// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// Annotation is one line of the table.
type Annotation struct {
	// Key is the whole key.
	Key string
	// Values says in a word or two what may stand there.
	Values string
	// Default says what holds when the annotation is not set.
	Default string
	// Doc says what it does.
	Doc string
	// Output is set for annotations that are written for the user to read.
	Output bool

	apply func(*Options, string) error
}

// Table is all annotations that are known, in the order of the reference page.
// Those that change what openstack-cloud-controller-manager serves and are not
// served here are refused by name rather than passed over.
var Table = append([]Annotation{
	{
		Key:     "service.beta.kubernetes.io/openstack-internal-load-balancer",
		Values:  "true or false",
		Default: "[LoadBalancer] internal-lb",
		Doc:     "The load balancer has a VIP and no floating IP. Can be changed at any time; the VIP stays.",
		apply:   boolean(func(o *Options) *bool { return &o.Internal }),
	},
	{
		Key:     "service.beta.kubernetes.io/load-balancer-source-ranges",
		Values:  "comma-separated CIDRs",
		Default: "everybody",
		Doc:     "Who may connect, when spec.loadBalancerSourceRanges is empty. Needs Octavia API 2.12 and a provider other than ovn; the Service is refused otherwise.",
		apply: func(o *Options, value string) (err error) {
			o.SourceRanges, err = CIDRs(strings.Split(value, ","))
			return err
		},
	},
	{
		Key:     KeepFloatingIP,
		Values:  "true or false",
		Default: "false",
		Doc:     "The floating IP stays in the project, detached, when the Service is deleted or becomes internal.",
		apply:   boolean(func(o *Options) *bool { return &o.KeepFloatingIP }),
	},
	{
		Key:     Prefix + "enable-health-monitor",
		Values:  "true or false",
		Default: "[LoadBalancer] create-monitor",
		Doc:     "Each pool has a health monitor. With externalTrafficPolicy: Local it looks at the node's health check port and decides which nodes get traffic; without one the members are the nodes that have ready endpoints.",
		apply:   boolean(func(o *Options) *bool { return &o.Monitor }),
	},
	{
		Key:     Prefix + "health-monitor-delay",
		Values:  "seconds, 1 or more",
		Default: "[LoadBalancer] monitor-delay (5s)",
		Doc:     "The time between two looks of the health monitor.",
		apply:   seconds(func(o *Options) *time.Duration { return &o.MonitorDelay }),
	},
	{
		Key:     Prefix + "health-monitor-timeout",
		Values:  "seconds, 1 up to the delay",
		Default: "[LoadBalancer] monitor-timeout (3s)",
		Doc:     "How long one look may take.",
		apply:   seconds(func(o *Options) *time.Duration { return &o.MonitorTimeout }),
	},
	{
		Key:     Prefix + "health-monitor-max-retries",
		Values:  "1 to 10",
		Default: "[LoadBalancer] monitor-max-retries (1)",
		Doc:     "How many good looks bring a member up.",
		apply:   retries(func(o *Options) *int { return &o.MonitorMaxRetries }),
	},
	{
		Key:     Prefix + "health-monitor-max-retries-down",
		Values:  "1 to 10",
		Default: "[LoadBalancer] monitor-max-retries-down (3)",
		Doc:     "How many bad looks take a member down.",
		apply:   retries(func(o *Options) *int { return &o.MonitorMaxRetriesDown }),
	},
	{
		Key:     ConnectionLimit,
		Values:  "-1 up to 2147483647",
		Default: "-1, any number",
		Doc:     "How many connections each port takes at once. Provider ovn does not count them: the Service is served, and condition Accepted says so.",
		apply: func(o *Options, value string) error {
			return whole(&o.ConnectionLimit, value, NoLimit, math.MaxInt32)
		},
	},
	{
		Key:     NodeSelector,
		Values:  "labels: zone=a,disk=ssd,gpu",
		Default: "[LoadBalancer] node-selector",
		Doc:     "Only nodes that have all these labels become members; a key alone stands for any value. Set and empty it selects all nodes. A change of a node's labels is followed at once.",
		apply: func(o *Options, value string) (err error) {
			o.NodeSelector, err = config.ParseNodeSelector(value)
			return err
		},
	},
	{
		Key:     Prefix + "lb-method",
		Values:  strings.Join(config.Methods, ", "),
		Default: "[LoadBalancer] lb-method",
		Doc:     "How each port chooses a node for a new connection. Provider ovn knows SOURCE_IP_PORT only, and takes that when nothing is set here.",
		apply:   method,
	},
	{
		Key:     Prefix + "timeout-client-data",
		Values:  "milliseconds, up to 24 days",
		Default: "50000",
		Doc:     "How long a client may be silent before its connection is closed." + timeoutsNeed,
		apply:   timeout(func(o *Options) *int { return &o.Timeouts.ClientData }),
	},
	{
		Key:     Prefix + "timeout-member-connect",
		Values:  "milliseconds, up to 24 days",
		Default: "5000",
		Doc:     "How long a connection to a node may take to open." + timeoutsNeed,
		apply:   timeout(func(o *Options) *int { return &o.Timeouts.MemberConnect }),
	},
	{
		Key:     Prefix + "timeout-member-data",
		Values:  "milliseconds, up to 24 days",
		Default: "50000",
		Doc:     "How long a node may be silent before its connection is closed." + timeoutsNeed,
		apply:   timeout(func(o *Options) *int { return &o.Timeouts.MemberData }),
	},
	{
		Key:     Prefix + "timeout-tcp-inspect",
		Values:  "milliseconds, up to 24 days",
		Default: "0",
		Doc:     "How long to wait for what is to be looked into before a connection is forwarded." + timeoutsNeed,
		apply:   timeout(func(o *Options) *int { return &o.Timeouts.TCPInspect }),
	},
	{
		Key:     DriftPolicy,
		Values:  "repair, report or ignore",
		Default: "repair",
		Doc:     "What becomes of what somebody else changed in the cloud: it is repaired at the next sweep; or told, in condition Programmed and an event, and left until the Service or its nodes change; or left without a word.",
		apply:   drift,
	},
	{
		Key:    LoadBalancerID,
		Values: "UUID",
		Output: true,
		Doc:    "The Octavia id of the Service's load balancer. Written by kube-octavia; naming somebody else's load balancer is refused.",
		apply: func(o *Options, value string) error {
			o.LoadBalancerID = strings.TrimSpace(value)
			return nil
		},
	},
	{
		Key:    LoadBalancerAddress,
		Values: "IP address",
		Output: true,
		Doc:    "The address at which clients reach the Service. Written by kube-octavia.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Managed,
		Values: "UUID and class",
		Output: true,
		Doc:    "The Service's uid and the controller's --load-balancer-class. Written by kube-octavia before anything is made and removed when everything is gone: by it the Service is known when its type or class has changed. Leave it alone.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    Programmed,
		Values: "text",
		Output: true,
		Doc:    "With drift-policy report or ignore: a digest of what the Service asked for when the cloud last had all of it. By it a controller that was just started tells a change of the Service from a change of the cloud. Leave it alone.",
		apply:  func(*Options, string) error { return nil },
	},
	{
		Key:    VIPAddress,
		Values: "IP address and subnet id",
		Output: true,
		Doc:    "The address that an internal Service keeps while its load balancer, which failed, is replaced. Written by kube-octavia. Remove it if the condition says that somebody took the address, to get another one.",
		apply:  func(*Options, string) error { return nil },
	},
}, notServed("availability-zone", "class", "default-tls-container-ref", "flavor-id",
	"floating-network-id", "floating-subnet", "floating-subnet-id", "floating-subnet-tags", "hostname",
	"member-subnet-id", "network-id", "port-id", "proxy-protocol", "subnet-id", "x-forwarded-for")...)

// timeoutsNeed is what the timeouts' documentation ends with.
const timeoutsNeed = " Needs Octavia API 2.1 and a provider other than ovn; otherwise the Service is served without, and condition Accepted says so."

// longestTimeout is the longest that Octavia takes, 24 days.
const longestTimeout = 24 * 24 * 60 * 60 * 1000

// notServed makes the table's lines of annotations that are refused.
func notServed(names ...string) []Annotation {
	all := make([]Annotation, len(names))
	for i, name := range names {
		all[i] = Annotation{
			Key:    Prefix + name,
			Values: "not supported",
			Doc:    "Known from openstack-cloud-controller-manager and not supported by this version: a Service that sets it is refused.",
			apply: func(*Options, string) error {
				return errors.New("this version does not support the annotation; remove it, or leave the Service to another controller through spec.loadBalancerClass")
			},
		}
	}
	return all
}

func drift(o *Options, value string) error {
	switch policy := Drift(strings.TrimSpace(value)); policy {
	case DriftRepair, DriftReport, DriftIgnore:
		o.Drift = policy
	case "":
	default:
		return errors.New("must be repair, report or ignore")
	}
	return nil
}

func boolean(field func(*Options) *bool) func(*Options, string) error {
	return func(o *Options, value string) error {
		switch strings.TrimSpace(value) {
		case "true":
			*field(o) = true
		case "false":
			*field(o) = false
		case "":
		default:
			return errors.New("must be true or false")
		}
		return nil
	}
}

func seconds(field func(*Options) *time.Duration) func(*Options, string) error {
	return func(o *Options, value string) error {
		n, err := number(value, 1, 24*60*60)
		if n > 0 {
			*field(o) = time.Duration(n) * time.Second
		}
		return err
	}
}

func method(o *Options, value string) error {
	value = strings.TrimSpace(value)
	if value != "" && !slices.Contains(config.Methods, value) {
		return fmt.Errorf("must be one of %s", strings.Join(config.Methods, ", "))
	}
	o.Method = value
	return nil
}

func timeout(field func(*Options) *int) func(*Options, string) error {
	return func(o *Options, value string) error { return whole(field(o), value, 0, longestTimeout) }
}

// whole sets the field to a whole number between low and high, and leaves it for an
// empty value.
func whole(field *int, value string, low, high int) error {
	if strings.TrimSpace(value) == "" {
		return nil
	}
	n, err := number(value, low, high)
	if err == nil {
		*field = n
	}
	return err
}

func retries(field func(*Options) *int) func(*Options, string) error {
	return func(o *Options, value string) error {
		n, err := number(value, 1, 10)
		if n > 0 {
			*field(o) = n
		}
		return err
	}
}

// number reads a whole number between low and high; it is 0 for an empty value.
func number(value string, low, high int) (int, error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
	}
	return n, nil
}

// CIDRs reads source ranges: each is masked to its prefix, empty ones are left
// out, a bare address or anything else is an error.
func CIDRs(values []string) ([]string, error) {
	var cidrs []string
	for _, value := range values {
		value = strings.TrimSpace(value)
		if value == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(value)
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 192.0.2.0/24 or 2001:db8::/32", value)
		}
		cidrs = append(cidrs, prefix.Masked().String())
	}
	return cidrs, nil
}
