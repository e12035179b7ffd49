// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// fault is the failure that a response body describes.
type fault struct {
	kind    string // Neutron's type of error, such as OverQuota; else the key of the fault, or empty
	message string // one line; never empty
	known   bool   // the body has the form of an OpenStack service
}

// maxMessage limits a message, in bytes. Octavia's validation errors are the longest useful ones.
const maxMessage = 500

// parseFault finds the message in the bodies of Octavia {"faultstring"}, Neutron {"NeutronError": {"type",
// "message"}}, Nova and Keystone {"<kind>": {"message"}}, and WSGI middleware {"message"} or {"title",
// "description"}. For any other body, such as a gateway's page, it returns the status.
func parseFault(status int, body []byte) fault {
	var document map[string]json.RawMessage
	if json.Unmarshal(body, &document) == nil {
		for _, key := range []string{"faultstring", "message", "description", "title"} {
			if message := text(document[key]); message != "" {
				return fault{message: message, known: true}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(document)) {
			value := document[key]
			var inner struct {
				Type    string          `json:"type"`
				Message json.RawMessage `json:"message"`
			}
			if message := text(value); message != "" && key == "NeutronError" {
				return fault{kind: key, message: message, known: true}
			}
			if json.Unmarshal(value, &inner) != nil {
				continue
			}
			if message := text(inner.Message); message != "" {
				if inner.Type != "" {
					key = inner.Type
				}
				return fault{kind: key, message: message, known: true}
			}
		}
	}
	message := http.StatusText(status)
	if message == "" {
		message = "unexpected answer"
	}
	return fault{message: strings.ToLower(message)}
}

// text returns a JSON string as one line of limited length, or "".
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " ..."
	}
	return s
}

// isQuota reports whether Octavia, Neutron or Nova says that a quota is exhausted.
func (f fault) isQuota() bool {
	return f.kind == "OverQuota" || strings.Contains(f.message, "Quota has been met") || strings.Contains(f.message, "Quota exceeded")
}

// namesMissing reports whether Neutron misses an object, or a way to it, that the request names beside the object that it
// is about. The same request fails again.
func (f fault) namesMissing() bool {
	switch f.kind {
	case noWayToExternal, "ExternalNetworkNotFound", "NetworkNotFound", "SubnetNotFound":
		return true
	}
	return false
}

// noWayToExternal is Neutron's error for a floating IP in an external network to which no router of the VIP's subnet leads.
const noWayToExternal = "ExternalGatewayForFloatingIPNotFound"

// isVIPInUse reports whether Neutron has no address for the VIP of a load balancer: the requested one is in use, or all are.
func (f fault) isVIPInUse() bool {
	return strings.Contains(f.message, "already allocated in subnet") || strings.Contains(f.message, "No more IP addresses available on network")
}

// isWrongVIP reports whether Neutron refuses the address of a VIP, or Octavia misses the subnet of the second one.
func (f fault) isWrongVIP() bool {
	return strings.Contains(f.message, "is not a valid IP") || strings.Contains(f.message, "subnet not found (subnet id:")
}

// advice says what to change if the request can only be mended by its author; "" if the message says it.
func (f fault) advice() string {
	if f.kind == noWayToExternal {
		return " Floating IPs are possible only in the external network to which a router of that subnet leads: connect them by a router, or name that network by annotation " +
			"loadbalancer.openstack.org/floating-network-id, or by [LoadBalancer] floating-network-id in cloud.conf"
	}
	return ""
}
