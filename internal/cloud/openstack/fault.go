// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
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
				Type    json.RawMessage `json:"type"`
				Message json.RawMessage `json:"message"`
			}
			if message := text(value); message != "" && key == "NeutronError" {
				return fault{kind: key, message: message, known: true}
			}
			if json.Unmarshal(value, &inner) != nil {
				continue
			}
			if message := text(inner.Message); message != "" {
				return fault{kind: cmp.Or(text(inner.Type), key), message: message, known: true}
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

// isQuota reports whether Octavia, Neutron, Nova, Barbican or Keystone says that a quota is exhausted.
func (f fault) isQuota() bool {
	says := func(words string) bool { return strings.Contains(f.message, words) }
	return f.kind == "OverQuota" || says("Quota has been met") || says("Quota exceeded") || says("quota has been reached") ||
		says("Quota reached for") || f.hasAllApplicationCredentials()
}

// hasAllApplicationCredentials reports whether Keystone says that the user has as many application credentials as its option
// user_limit allows. There is no limit by default.
func (f fault) hasAllApplicationCredentials() bool {
	return strings.Contains(f.message, "Unable to create additional application credentials")
}

// namesMissing reports whether Neutron does not find another object to which the request refers, or no way to it. The
// same request would fail again.
func (f fault) namesMissing() bool {
	switch f.kind {
	case noWayToExternal, "ExternalNetworkNotFound", "NetworkNotFound", "SubnetNotFound":
		return true
	}
	return false
}

// noWayToExternal is Neutron's error for a floating IP in an external network to which no router of the VIP's subnet leads.
const noWayToExternal = "ExternalGatewayForFloatingIPNotFound"

// isVIPInUse reports whether Neutron has no address for the VIP of a load balancer: the requested one or all are in
// use.
func (f fault) isVIPInUse() bool {
	return strings.Contains(f.message, "already allocated in subnet") || strings.Contains(f.message, "No more IP addresses available on network")
}

// isWrongVIP reports whether Neutron refuses the address of a VIP, or Octavia does not find the subnet of the
// second one.
func (f fault) isWrongVIP() bool {
	return f.isAddressOutside() || strings.Contains(f.message, "subnet not found (subnet id:")
}

// isAddressOutside reports whether Neutron refuses an address because it is not in the subnet.
func (f fault) isAddressOutside() bool { return strings.Contains(f.message, "is not a valid IP") }

// isUnexplained reports whether Octavia passes on only that Neutron answered with 400, as its provider amphora does
// since it calls Neutron through the OpenStack SDK.
func (f fault) isUnexplained() bool {
	return strings.HasSuffix(f.message, "reports error: BadRequestException: 400")
}

// isUnexplainedConflict reports whether Octavia 16 (2025.1) passes on only that Neutron answered with 409 to the
// request for the port of a VIP. Its provider amphora uses the name of the SDK's error as the message; Octavia 19
// passes on Neutron's message.
func (f fault) isUnexplainedConflict() bool {
	return strings.HasSuffix(f.message, "reports error: ConflictException: 409")
}

// IsSharedPortFault reports whether Octavia failed as Octavia 16 (2025.1) does with a new listener that has a pool, and whose port
// number a listener of another transport has: its check of the port reads the VIP of a load balancer without having loaded it. It
// succeeds if an object of an earlier request is still in memory.
func IsSharedPortFault(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusInternalServerError && e.Message == "'NoneType' object has no attribute 'ip_address'"
}

// OfRequestedVIP explains why a load balancer with a requested address was not created: if Octavia does not pass on why
// Neutron refuses the VIP, the address is the cause.
func OfRequestedVIP(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusInternalServerError || !(fault{message: e.Message}).isUnexplained() {
		return err
	}
	explained := *e
	explained.Class, explained.Advice = Invalid, chooseInSubnet
	return &explained
}

// advice returns what to change, or "" if the message contains it.
func (f fault) advice(answer gophercloud.ErrUnexpectedResponseCode) string {
	switch {
	case f.kind == noWayToExternal:
		return chooseReachable
	case f.isAddressOutside() && strings.HasPrefix(f.message, "Provider "):
		return chooseInSubnet
	case f.isUnexplained():
		return askForCause
	case f.isUnexplainedConflict():
		return findConflict
	case f.hasAllApplicationCredentials():
		return deleteUnused
	case answer.Actual == http.StatusForbidden && !f.isQuota():
		return f.policyAdvice(answer)
	}
	return ""
}

const (
	chooseReachable = "floating IPs are possible only in the external network to which a router of that subnet leads: connect them by a router, or name that network by annotation " +
		"loadbalancer.openstack.org/floating-network-id, or by [LoadBalancer] floating-network-id in cloud.conf"
	chooseInSubnet = "the address that an internal Service names in spec.loadBalancerIP must be in the subnet of its VIP: choose another address, or the subnet of this one by annotation " +
		"loadbalancer.openstack.org/subnet-id or [LoadBalancer] subnet-id in cloud.conf"
	findConflict = "Neutron refused the port of the VIP, and Octavia does not say why: its address is in use, its subnet has no address left, or the project has no quota of " +
		"ports left. See `openstack port list --fixed-ip ip-address=ADDRESS`, `openstack subnet show SUBNET` and `openstack quota show --usage`"
	deleteUnused = "delete those that are not used any more: `openstack application credential list` shows all of the user"
	askForCause  = "Neutron refused a request of Octavia, which does not say why: the operator of the cloud finds the cause in the logs of Neutron and Octavia"
)

// policyAdvice returns how to permit a call that the policy of a service refuses. Neutron names the rules of its
// policy; rules with a third part are for single fields. Octavia's answer is the same for an object of another project.
func (f fault) policyAdvice(answer gophercloud.ErrUnexpectedResponseCode) string {
	for _, field := range fieldRules {
		if strings.Contains(f.message, field.rule) {
			return field.do
		}
	}
	call, known := callOf(answer)
	if !known || call.Service == calls.ServiceIdentity {
		return ""
	}
	assign := fmt.Sprintf("assign a role that may, usually %s: `openstack role add --user USER --project PROJECT ROLE`; "+
		"application credentials keep the roles of their creation, so create another one after that", roleFor(call.Service))
	if strings.Contains(call.Path, "*") && call.Path != calls.QuotaPath {
		return "the object belongs to another project, or the policy of the service does not permit this to the roles of the login. For the latter, " + assign
	}
	return "the policy of the service does not permit this to the roles of the login: " + assign
}

// roleFor returns the roles to which the default policy of a service permits the calls of the
// controller.
func roleFor(service string) string {
	switch service {
	case calls.ServiceLoadBalancer:
		return "member, before 2025.1 load-balancer_member"
	case calls.ServiceKeyManager:
		return "creator or member"
	}
	return "member"
}

// fieldRules are rules for fields that the default policy of Neutron reserves for administrators or owners, and what to do.
var fieldRules = []struct{ rule, do string }{
	{"create_floatingip:floating_ip_address", "only administrators, and since 2025.1 the role manager, may choose the address of a new floating IP: let one create it with `openstack floating ip create --floating-ip-address`, " +
		"or remove the address from the Service; a floating IP that the project already has can be named"},
	{"create_port:fixed_ips", "in the network of another project only its owner may choose the address of a port: choose a network of the project for the VIP, or remove the address from the Service"},
}
